"""`identify`: from logs to parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.consistency import consistent as possible
from armdyn.identification.consistency import impossible_links
from armdyn.identification.errors import IdentificationError
from armdyn.identification.estimation.fit import Fit
from armdyn.identification.estimation.instrumental import WIDER, check_instruments
from armdyn.identification.estimation.methods import Data, check_method, estimate
from armdyn.identification.estimation.worth import covariance, repetition
from armdyn.identification.regression.collect import collect
from armdyn.identification.regression.delay import delay_note
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.free import Free, free_parameters
from armdyn.identification.regression.pieces import Source, sources
from armdyn.identification.regression.solve import RANK
from armdyn.identification.regression.template import make_template
from armdyn.identification.selection.choice import DAMPED, DAMPINGS, Friction
from armdyn.identification.selection.model import Chosen, Wishes, choose_model, enough_pieces, long_pieces
from armdyn.identification.validation import validation
from armdyn.identification.validation.training import Training
from armdyn.robot import Robot
from armdyn.simulation.progress import progress_bar


@on_one_thread
def identify(
    robot: Robot,
    logs: Any,
    *,
    validate: Any = None,
    samples: Any = None,
    method: str = "weighted",
    friction: Any = "choose",
    cutoff: float | None = None,
    damping: float | None = None,
    parameters: Any = None,
    instruments: Any = None,
    consistent: bool = False,
    prior: Any = None,
    executor: Any = None,
    progress: bool | None = None,
) -> Fit:
    """The parameters of a robot from logs of its motion.

    `logs` is a `Log`, a `LogFile` or a list of them; `samples` (N,) bool, or a list of masks, says which of
    their samples may enter the fit. `validate` are other logs on which the fit is tried, or "rest": the
    samples that `samples` leaves out. `fit.validation` says how it did.

    `method` is "weighted" least squares (the default), "ordinary", "robust", "damped", "sequential" or
    "instrumental". `parameters` says what is estimated: all, "inertia", "friction", "payload" (the ten of the
    link that moves the tip), or names and patterns such as ["Fv*", "m6"]; the others are known and keep the
    description's values. `instruments`, for "instrumental", are noise-free motions at the logs' instants.

    `cutoff` [Hz] of the filters, `damping` (of the columns' lengths, toward the description) and friction are
    chosen by cross-validation among the samples that may enter the fit, where they are not given. `friction`
    is "choose", "plain" (viscous, Coulomb, offset), a `Friction`, or "given": only what the description has.
    `consistent=True` asks for bodies that can exist, near to `prior`: "nominal" (the description, the
    default), "geometric", another robot or a vector. It takes no damping.

    A `LogFile` (`Log.open`) is read block by block, in little memory. `executor` is one of
    `concurrent.futures` or a Dask `Client`: its workers take the logs and blocks; those in Parquet files they
    read themselves. The result is the same for any number of workers. `progress`: whether a bar is shown; by
    default on a terminal.
    """
    robot = check.robot(robot)
    train = sources(logs, samples)
    other = _others(validate, train)
    (wish,) = _friction_wish(friction)
    cutoff, damping = _checked(cutoff, damping)
    if not isinstance(consistent, bool | np.bool_):
        raise IdentificationError(f"consistent: found {shown(consistent)}; True or False is expected")
    if prior is not None and not consistent:
        raise IdentificationError("prior is for consistent=True; without it the description is the prior")
    given_only = isinstance(friction, str) and friction == "given"
    free = free_parameters(robot, parameters, make_template(robot, add=not given_only))
    check_method(method, damping, consistent, free.everything)
    if instruments is not None and method != "instrumental":
        raise IdentificationError(f"instruments are for the method 'instrumental'; found {method!r}")
    given = check_instruments(instruments, train)
    wishes = _wishes(cutoff, wish, damping, free, method, add=not given_only)
    chosen = choose_model(robot, train, wishes)
    notes: list[str] = []
    with progress_bar("identify", progress) as update:
        factors = collect(robot, train, chosen.problem, executor=executor, update=update, notes=notes)
    mask = free.mask(chosen.problem.template)
    _check_enough(factors, mask)
    found = estimate(Data(robot, train, chosen, factors, mask, given), method)
    pieces = enough_pieces(robot, train)
    notes += [*found.notes, *delay_note(chosen.problem, pieces), *_load_note(robot)]
    x, final = found.x, chosen.problem.template.robot
    if consistent:
        R = found.factors.weighted(found.scale)
        n = robot.n
        bodies = possible(final, R[:, :-1], R[:, -1], prior=_prior(chosen, prior), speeds=chosen.greatest[:n])
        x, final = bodies.parameters, bodies.robot
        notes += bodies.notes
    else:
        final = final.with_parameters(x)
        notes += _impossible(final)
    residuals, use = _residuals(robot, train, chosen, x)
    repeats = repetition(residuals, use, int(mask.sum()) - found.open.shape[1])
    training = Training.of(pieces, chosen.problem)
    return Fit(
        robot=final,
        described=robot,
        x=x,
        covariance_x=covariance(found, repeats),
        open=found.open,
        model=chosen,
        method=method,
        free=mask,
        scale=found.scale,
        repeats=repeats,
        factors=factors,
        singular_values=found.singular_values,
        training_error=_training_error(factors, x),
        consistent=consistent,
        notes=tuple(notes),
        training=training,
        validation=validation.validate(robot, chosen.problem, x, other, training) if other else None,
    )


def _check_enough(factors: Factors, free: np.ndarray) -> None:
    """Refuse fewer torques than combinations of parameters that they depend on."""
    R = factors.weighted(np.maximum(factors.sizes(), 1e-300))[:, :-1]
    combinations, torques = (
        int(np.linalg.matrix_rank(R, RANK * np.linalg.norm(R, 2))),
        int(factors.rows.sum()),
    )
    if torques <= combinations:
        raise IdentificationError(
            f"{torques} torques are too few to tell {combinations} combinations of parameters; "
            "a longer log is needed"
        )


def _load_note(robot: Robot) -> list[str]:
    loads = [link.name for link in robot.model.moving if not link.friction.load.is_zero]
    text = "torques are not linear in it, so the fit and its robot go without"
    return [f"load friction of {', '.join(loads)}: {text}"] if loads else []


def _others(validate: Any, train: Sequence[Source]) -> tuple[Source, ...]:
    """The logs to validate with; none where none are given."""
    if validate is None:
        return ()
    return validation.rest(train) if isinstance(validate, str) and validate == "rest" else sources(validate)


def _wishes(
    cutoff: float | None, wish: Friction | None, damping: float | None, free: Free, method: str, add: bool
) -> Wishes:
    """What is fixed: terms that are not estimated are not chosen either; some methods have no damping."""
    if wish is None and not free.chooses_friction:
        wish = Friction()
    if method in ("sequential", "instrumental"):
        damping = 0.0
    dampings = DAMPED if method == "damped" else DAMPINGS
    wider = WIDER if method == "instrumental" else 1.0
    return Wishes(cutoff, wish, damping, add and free.adds, free, dampings, wider)


def _friction_wish(friction: Any) -> tuple[Friction | None]:
    if isinstance(friction, Friction):
        for name in ("width", "stribeck"):
            share = getattr(friction, name)
            if share is not None and not 0 <= check.number(f"friction: {name}", share) < np.inf:
                raise IdentificationError(f"friction: {name}: found {share:g}; zero or more is allowed")
        return (friction,)
    if isinstance(friction, str) and friction in ("plain", "given", "choose"):
        return (None if friction == "choose" else Friction(),)
    raise IdentificationError(
        f"friction: found {shown(friction)}; allowed: choose, plain, given, Friction(…)"
    )


def _checked(cutoff: Any, damping: Any) -> tuple[float | None, float | None]:
    if cutoff is not None:
        cutoff = check.positive("cutoff", cutoff)
    if damping is not None:
        damping = check.number("damping", damping)
        if not 0 <= damping < np.inf:
            raise IdentificationError(f"damping: found {damping:g}; zero or more is allowed")
    return cutoff, damping


def _prior(chosen: Chosen, prior: Any) -> Any:
    return (
        chosen.problem.template.prior
        if prior is None or (isinstance(prior, str) and prior == "nominal")
        else prior
    )


def _residuals(
    robot: Robot, logs: Sequence[Source], chosen: Chosen, x: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Of as many states as are enough to see how alike neighbours are, stretch by stretch."""
    residuals, use = [], []
    for piece in long_pieces(robot, logs, chosen.problem.cutoff):
        for part in chosen.problem.parts(piece):
            residuals.append(part.tau - chosen.problem.seen_torques(part, x))
            use.append(part.use)
    return residuals, use


def _training_error(factors: Factors, x: np.ndarray) -> float:
    size = factors.squares(np.zeros_like(x)).sum()
    return float(np.sqrt(factors.squares(x).sum() / size)) if size else float("nan")


def _impossible(robot: Robot) -> list[str]:
    names = impossible_links(robot)
    if not names:
        return []
    text = "the data leave it open; identify(…, consistent=True) finds bodies that exist"
    return [f"no body has the inertia found for {', '.join(names)}: {text}"]
