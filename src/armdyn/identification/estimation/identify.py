"""`identify`: from logs to parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from armdyn.identification.blas import on_one_thread
from armdyn.identification.checks import check
from armdyn.identification.consistency import consistent as possible
from armdyn.identification.consistency import impossible_links
from armdyn.identification.errors import IdentificationError
from armdyn.identification.estimation.fit import Fit
from armdyn.identification.estimation.methods import Data, Estimate, estimate
from armdyn.identification.estimation.request import Request, checked
from armdyn.identification.estimation.worth import covariance, repetition
from armdyn.identification.regression.collect import collect
from armdyn.identification.regression.delay import delay_note
from armdyn.identification.regression.factor import Factors
from armdyn.identification.regression.pieces import Piece, Source, moves, sources
from armdyn.identification.regression.solve import RANK
from armdyn.identification.selection.model import Chosen, choose_model, enough_pieces, long_pieces
from armdyn.identification.validation import validation
from armdyn.identification.validation.training import Training
from armdyn.output.progress import Update, progress_bar, stage
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name, joint_units


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
    "instrumental". `parameters` says what is estimated: all, "inertia", "friction", "springs", "payload" (the
    ten of the link that moves the tip), or names and patterns such as ["Fv*", "m6"]; the others are known and
    keep the description's values. `instruments`, for "instrumental", are noise-free motions at the instants
    of the logs.

    `cutoff` [Hz] of the filters, `damping` (of the columns' lengths, toward the description) and friction are
    chosen by cross-validation among the samples that may enter the fit, where they are not given. `friction`
    is "choose", "plain" (viscous, Coulomb, offset), a `Friction`, or "given": nothing is added to the
    description, not even rotors; viscous and Coulomb friction are parameters of every joint.
    `consistent=True` asks for bodies that can exist, near to `prior`: "nominal" (the description, the
    default), "geometric", another robot or a vector. It takes no damping.

    A `LogFile` (`Log.open`) is read block by block, in little memory. `executor` is one of
    `concurrent.futures` or a Dask `Client`: its workers take the logs and blocks; those in Parquet files they
    read themselves; further passes of "robust" and "instrumental" run here. The result is the same for any
    number of workers. `progress`: whether a bar is shown; by default on a terminal.
    """
    robot = check.robot(robot)
    train = sources(logs, samples)
    other = _others(validate, train)
    request = checked(
        robot,
        train,
        method=method,
        friction=friction,
        cutoff=cutoff,
        damping=damping,
        parameters=parameters,
        instruments=instruments,
        consistent=consistent,
        prior=prior,
    )
    with progress_bar("identify", progress) as update:
        return _fitted(robot, train, other, request, method, executor, update)


def _fitted(
    robot: Robot,
    train: Sequence[Source],
    other: Sequence[Source],
    request: Request,
    method: str,
    executor: Any,
    update: Update,
) -> Fit:
    """The model chosen, its parameters estimated, and what they are worth."""
    notes: list[str] = []
    pieces = enough_pieces(robot, train)
    _check_motion(robot, train, pieces)
    with stage("choosing filters and friction"):
        chosen = choose_model(robot, pieces, request.wishes)
    with stage("regression"):
        factors = collect(robot, train, chosen.problem, executor=executor, update=update, notes=notes)
    free = request.free.mask(chosen.problem.template)
    _check_enough(factors, free)
    with stage("estimating"):
        found = estimate(Data(robot, train, chosen, factors, free, request.instruments), method)
        final = _final(chosen, found, request)
    notes += [*final.notes, *delay_note(chosen.problem, pieces), *_load_note(robot)]
    with stage("residuals"):
        residuals, use = _residuals(robot, train, chosen, final.x)
        repeats = repetition(residuals, use, int(free.sum()) - found.open.shape[1])
    training = Training.of(pieces, chosen.problem)
    with stage("validation"):
        tried = validation.validate(robot, chosen.problem, final.x, other, training) if other else None
    return Fit(
        robot=final.robot,
        described=robot,
        x=final.x,
        covariance_x=covariance(found, repeats),
        open=found.open,
        model=chosen,
        method=method,
        free=free,
        scale=found.scale,
        repeats=repeats,
        factors=factors,
        singular_values=found.singular_values,
        training_error=_training_error(factors, final.x),
        consistent=request.consistent,
        notes=tuple(notes),
        training=training,
        validation=tried,
    )


def _check_motion(robot: Robot, logs: Sequence[Source], pieces: Sequence[Piece]) -> None:
    """Refuse logs in which the arm stands in one place; where the pieces show no motion, all is looked at."""
    if not pieces or moves(pieces) or moves(piece for log in logs for piece in log.pieces(robot)):
        return
    travel = np.ptp(np.concatenate([piece.record.q[piece.samples] for piece in pieces]), axis=0)
    j = int(np.argmax(travel))
    most = f"{joint_name(robot, j)} moves most, by {travel[j]:.3g} {joint_units(robot, j).position}"
    raise IdentificationError(
        f"{logs[0].name}{' and other logs' * (len(logs) > 1)}: the arm stands still: {most}. "
        "Record a motion of all joints, to and fro, slow and fast; excite (armdyn excite) finds one"
    )


def _check_enough(factors: Factors, free: np.ndarray) -> None:
    """Refuse no more torques than there are combinations of the parameters that are estimated."""
    R = factors.weighted(factors.sizes())[:, :-1][:, free]
    combinations = int(np.linalg.matrix_rank(R, RANK * np.linalg.norm(R, 2)))
    torques = int(factors.rows.sum())
    if torques <= combinations:
        raise IdentificationError(
            f"{torques} torques are too few to tell {combinations} combinations of parameters; "
            "a longer log is needed"
        )


class _Final(NamedTuple):
    """The parameters of a fit, the robot that has them, and what is to be said."""

    x: np.ndarray  # (p,)
    robot: Robot
    notes: tuple[str, ...]


def _final(chosen: Chosen, found: Estimate, request: Request) -> _Final:
    """The estimates as they are, or what is nearest to them that bodies can have."""
    template = chosen.problem.template
    if not request.consistent:
        robot = template.robot.with_parameters(found.x)
        damped = () if not chosen.damping else (_damping_note(chosen.damping),)
        return _Final(found.x, robot, (*found.notes, *damped, *_impossible(robot)))
    R = found.factors.weighted(found.scale)
    nominal = request.prior is None or (isinstance(request.prior, str) and request.prior == "nominal")
    prior = template.prior if nominal else request.prior
    speeds = chosen.greatest[: template.robot.n]
    bodies = possible(template.robot, R[:, :-1], R[:, -1], prior=prior, speeds=speeds)
    return _Final(bodies.parameters, bodies.robot, (*found.notes, *bodies.notes))


def _damping_note(damping: float) -> str:
    text = "pulls the estimates toward the description; standard errors do not count it"
    return f"a damping of {damping:g} {text}"


def _load_note(robot: Robot) -> list[str]:
    loads = [link.name for link in robot.model.moving if not link.friction.load.is_zero]
    text = "torques are not linear in it, so the fit and its robot go without"
    return [f"load friction of {', '.join(loads)}: {text}"] if loads else []


def _others(validate: Any, train: Sequence[Source]) -> tuple[Source, ...]:
    """The logs to validate with; none where none are given."""
    if validate is None:
        return ()
    return validation.rest(train) if isinstance(validate, str) and validate == "rest" else sources(validate)


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
