"""`identify`: from logs to parameters."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np

from armdyn.expression import ArmdynError, shown
from armdyn.identification.consistency import Consistent, OwnBodies, impossible_links
from armdyn.identification.consistency import consistent as possible
from armdyn.identification.coverage import Model, Training
from armdyn.identification.errors import (
    IdentificationError,
    IdentificationWarning,
    NothingPossibleError,
    NothingUsableError,
    check,
    on_one_thread,
)
from armdyn.identification.fit import Fit
from armdyn.identification.intervals import Evidence, Scatter
from armdyn.identification.log import Log, Record
from armdyn.identification.log_files import LogFile
from armdyn.identification.log_set import LogSet, left_out, record_of
from armdyn.identification.look import looked
from armdyn.identification.looking_over import MOVED, seen_to_move
from armdyn.identification.methods import (
    FLOOR,
    METHODS,
    Estimate,
    EstimationData,
    basis_of,
    check_instruments,
    covariance,
    repetition,
)
from armdyn.identification.mistakes import delay_note, mistakes
from armdyn.identification.regression import RANK, Factors, Problem, merge
from armdyn.identification.selection import (
    PLAIN,
    Chosen,
    Friction,
    Request,
    choose_model,
    enough_records,
    long_records,
)
from armdyn.identification.shown import UNSURE, Held, coverage_of, hold, unsure_elsewhere
from armdyn.identification.template import Free, Template, free_parameters, make_template
from armdyn.identification.validation import filtered_error, gathered
from armdyn.identification.validation import validate as validate_fit
from armdyn.progress import Update, progress_bar, stage
from armdyn.remarks import Remark, warn
from armdyn.robot import Robot

# ------------------------------------------------------------------------------------------------------------
# What `identify` was asked for, checked before any work begins.


UNDAMPED = ("sequential", "instrumental")
HOLDING = ("weighted", "robust")  # methods that keep the description where data say less
WORSE = 3.0  # times what is left of a log's own torques: noise alone makes no log too little
EXPLAINED = 1e-4  # of the torques: what a model leaves below it is rounding
ADVICE = 2  # sentences on what to record instead
WAITING = 32  # parts of logs that are with workers at a time
NOTES = 10  # of one log, from all its parts
DEAR = 0.03  # of the error: what bodies that can exist may cost without a word
NAMED = 4  # conditions that make the most of it


def checked(
    robot: Robot,
    logs: Sequence[Log | LogFile],
    *,
    method: Any,
    friction: Any,
    cutoff: Any,
    damping: Any,
    parameters: Any,
    instruments: Any,
    consistent: Any,
    prior: Any,
) -> Request:
    """The request; what is wrong or does not go together is refused."""
    check.one_of("method", method, *METHODS)
    wish = _friction(friction, robot.n)
    add = not (isinstance(friction, str) and friction == "given")
    cutoff = None if cutoff is None else check.positive("cutoff", cutoff)
    damping = _damping(damping, method)
    free = free_parameters(robot, parameters, make_template(robot, add=add))
    possible = _wants_possible(consistent, prior, free)
    if instruments is not None and method != "instrumental":
        raise IdentificationError(f"instruments are for the method 'instrumental'; found {method!r}")
    given = check_instruments(instruments, logs)
    if wish is None and not free.chooses_friction:  # terms that are not estimated are not chosen either
        wish = (Friction(width=None),) * robot.n
    damping = 0.0 if method in UNDAMPED else damping
    return Request(method, cutoff, wish, damping, add and free.adds, free, given, possible, prior)


def _friction(friction: Any, n: int) -> tuple[Friction, ...] | None:
    """Of each joint; None is chosen."""
    if isinstance(friction, str) and friction in ("plain", "given", "choose"):
        one = {"choose": None, "plain": PLAIN, "given": Friction(width=None)}[friction]
        return None if one is None else (one,) * n
    each = (friction,) * n if isinstance(friction, Friction) else friction
    if not isinstance(each, list | tuple) or not all(isinstance(x, Friction) for x in each):
        raise IdentificationError(
            f"friction: found {shown(friction)}; allowed: choose, plain, given, Friction(…)"
        )
    if len(each) != n:
        raise IdentificationError(f"friction: expected {n}, one for each joint; found {len(each)}")
    if len({x.width is None for x in each}) > 1:
        raise IdentificationError("friction: width=None, as described, is for all joints or for none")
    for x in each:
        for name in ("width", "stribeck"):
            share = getattr(x, name)
            if share is not None and not 0 <= check.number(f"friction: {name}", share) < np.inf:
                raise IdentificationError(f"friction: {name}: found {share:g}; zero or more is allowed")
    return tuple(each)


def _damping(damping: Any, method: str) -> float | None:
    if damping is None:
        return None
    found = check.number("damping", damping)
    if not 0 <= found < np.inf:
        raise IdentificationError(f"damping: found {found:g}; zero or more is allowed")
    if method == "damped" and found == 0:
        raise IdentificationError("method 'damped': found damping 0; a positive number, or None to choose it")
    if found and method in UNDAMPED:
        raise IdentificationError(f"method {method!r} has no damping: found {found:g}; leave it out")
    return found


def _wants_possible(consistent: Any, prior: Any, free: Free) -> bool | None:
    """Whether bodies must exist; None: they do unless the solver finds none."""
    if consistent is not None and not isinstance(consistent, bool | np.bool_):
        raise IdentificationError(f"consistent: found {shown(consistent)}; True, False or None is expected")
    if consistent and not free.everything:
        raise IdentificationError("consistent=True estimates all parameters; leave out parameters=")
    wanted = free.everything if consistent is None else bool(consistent)
    if prior is not None and not wanted:
        text = "without them the description is the prior"
        raise IdentificationError(f"prior is for bodies that can exist, and all parameters; {text}")
    return None if wanted and consistent is None else wanted


# ------------------------------------------------------------------------------------------------------------
# `identify`: from logs to parameters.


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
    consistent: bool | None = None,
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
    is "choose", "plain" (viscous, Coulomb, an offset, and a rotor where the description has none), a
    `Friction` or one for each joint, or "given": nothing is added to the description, not even rotors;
    viscous and Coulomb friction are parameters of every joint.
    Where all parameters are estimated, bodies, rotors and friction are such as can exist, with every method:
    they are the nearest to its estimates and, where the data leave them open, to `prior`: "nominal" (the
    description, the default), "geometric", another robot or a vector. `fit.consistency_cost` says by which
    part that raises the error. `consistent=False` takes the estimates as they are; with True, a solver that
    finds nothing is an error and not a note.

    A `LogFile` (`Log.open`) is read block by block, in little memory. `executor` is one of
    `concurrent.futures` or a Dask `Client`: its workers take the logs and blocks; further passes of "robust"
    and "instrumental" run here. The result is the same for any number of workers. `progress`: whether a bar
    is shown; by default on a terminal.
    """
    robot = check.robot(robot)
    train = LogSet.of(robot, logs, samples)
    other = _others(validate, train)
    request = checked(
        robot,
        train.logs,
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
        return _fitted(train, other, request, executor, update)


def _fitted(train: LogSet, other: LogSet | None, request: Request, executor: Any, update: Update) -> Fit:
    """The model chosen, its parameters estimated, and what they are worth."""
    robot = train.robot
    records = enough_records(train)
    _check_motion(train, records)
    with stage("looking the logs over"):
        doubts = _doubts(robot, records)
    with stage("choosing filters and friction"):
        chosen = choose_model(robot, records, request)
    with stage("regression"):
        factors, remarks = collect(train, chosen.problem, executor, update)
    free = request.free.mask(chosen.problem.template)
    _check_enough(train, records, chosen, factors, free)
    with stage("estimating"):
        data = EstimationData(train, chosen, factors, free, request.instruments)
        found = METHODS[request.method](data)
        repeats = _repeats(train, chosen, found, free)
        template = chosen.problem.template
        held = Held.none(template.base, found.x, covariance(found, repeats))
        if request.method in HOLDING:
            held = hold(template, factors, held, found.open)
            _check_shown(train, records, chosen, held, factors)
    with stage("bodies"):
        x, fitted, bodies, noticed = _final(chosen, found, held, request)
        chosen = chosen.loaded_by(x)
        cost = _cost(chosen.problem, found.x, bodies, records)
    with stage("delay"):
        late = delay_note(robot, records)
    notes = [*noticed, *_dear(bodies, cost), *late]
    with stage("errors"):
        fitted_to = gathered(chosen.problem, x, train)
    with stage("coverage"):
        basis = basis_of(found.factors.weighted(found.scale)[:, :-1], free)
        robust = request.method == "robust"
        scatter = Scatter.of(records, chosen.problem, x, found.scale, basis, robust)
        evidence = Evidence(basis, found.open, scatter.halves)
        training = Training.of(records, chosen.problem, x, evidence)
        known = Model(chosen.problem, x, evidence, scatter, training)
    with stage("validation"):
        tried = None if other is None else validate_fit(known, other)
    return Fit(
        robot=fitted,
        described=robot,
        x=x,
        covariance_x=held.covariance,
        open=found.open,
        held=held.which,
        model=chosen,
        method=request.method,
        free=free,
        scale=found.scale,
        repeats=repeats,
        factors=factors,
        singular_values=found.singular_values,
        training_error=fitted_to.error,
        filtered_error=fitted_to.filtered_error,
        residuals=fitted_to.joints(),
        consistent=bodies is not None,
        consistency_cost=cost,
        remarks=(*doubts, *remarks, *map(Remark, notes)),
        training=training,
        scatter=scatter,
        validation=tried,
        logs=train.digests,
    )


def _check_motion(train: LogSet, records: Sequence[Record]) -> None:
    """Refuse logs in which the arm stands in one place: all are looked at where `records` show no motion."""
    if not records or moves(records) or moves(train.records()):
        return
    raise IdentificationError(
        f"{_named(train)}: the arm stands still: no joint is seen to move. "
        "Record a motion of all joints, to and fro, slow and fast; excite (armdyn excite) finds one"
    )


def _named(train: LogSet) -> str:
    return f"{train.logs[0].name}{' and other logs' * (len(train.logs) > 1)}"


def _check_shown(
    train: LogSet,
    records: Sequence[Record],
    chosen: Chosen,
    held: Held,
    factors: Factors,
) -> None:
    """Refuse logs whose model would not predict other motions, though it explains theirs."""
    template, covariance = chosen.problem.template, held.of_data
    parts = [part for record in records for part in chosen.problem.states(record)]
    squares, all_squares = (factors.squares(x).sum() for x in (held.x, 0 * held.x))
    left = float(np.sqrt(squares / max(float(all_squares), 1e-300)))
    unsure = unsure_elsewhere(template, coverage_of(parts), covariance, factors)
    unsure *= max(1.0, EXPLAINED / max(left, FLOOR))
    if unsure > max(UNSURE, WORSE * left):
        worth = f"would be uncertain by {100 * unsure:.0f} %" if unsure < 1 else "would stay unknown"
        here = f"of these, a model leaves {'less than 1' if left < 0.01 else f'{100 * left:.0f}'} %"
        raise _too_little(train, records, f"torques of other motions, as fast, {worth}; {here}")


def _too_little(train: LogSet, records: Sequence[Record], why: str) -> IdentificationError:
    """The refusal of logs that show too little, with what to record instead."""
    found = looked(train, records).advice[:ADVICE]
    advice = "".join(f". {text[0].upper()}{text[1:]}" for text in found)
    more = "look (armdyn look) says more"
    return IdentificationError(f"{_named(train)}: too little for a model: {why}{advice}; {more}")


def _doubts(robot: Robot, records: Sequence[Record]) -> list[Remark]:
    """What the logs probably have wrong; torques that bodies cannot have are refused."""
    found = mistakes(robot, records)
    name = records[0].name if records else ""
    for mistake in found:
        if mistake.certain:
            raise IdentificationError(f"{name}: {mistake.text}")
    doubts = [Remark(mistake.text, "warning", name) for mistake in found]
    warn(doubts, IdentificationWarning, 5)
    return doubts


def moves(records: Iterable[Record]) -> bool:
    """Whether a joint is seen to move among the samples that may enter the fit, or from log to log."""
    places = []
    for record in records:
        q = record.q[record.own]
        if seen_to_move(q).any():
            return True
        places += [np.median(q, axis=0)] if len(q) else []
    return bool(len(places) > 1 and (np.ptp(places, axis=0) > MOVED).any())


def collect(
    logs: LogSet, problem: Problem, executor: Any, update: Update
) -> tuple[Factors, tuple[Remark, ...]]:
    """Triangular factors of all logs, each part added to those before it, and what was noticed in them."""
    total: Factors | None = None
    seen = [dict[Remark, None]() for _ in logs.logs]
    done, size = 0, sum(len(log) for log in logs.logs)
    for (k, rows), (factors, remarks) in in_order(_tasks(logs, problem, executor), executor, WAITING):
        total = merge(total, factors)
        seen[k].update(dict.fromkeys(remarks))
        done += rows
        update(done / size)
    if total is None:
        raise IdentificationError("no sample is left for the fit")
    return total, tuple(x for log, own in zip(logs.logs, seen, strict=True) for x in _told(log.name, own))


def _tasks(logs: LogSet, problem: Problem, executor: Any) -> Iterator[tuple[tuple[int, int], _Task]]:
    """For each part of the logs, whose and how long it is, and what to compute."""
    for k in range(len(logs.logs)):
        for log in logs.parts(k, problem.cutoff):
            if executor is None:
                look = partial(logs.record, k, log)
            else:
                look = partial(record_of, logs.robot, log, logs.mask(k, log))
            yield (k, log.rows.stop - log.rows.start), partial(_factors, problem, log, look)


def _factors(
    problem: Problem, log: Log, look: Callable[[], Record]
) -> tuple[Factors | None, tuple[Remark, ...]]:
    """The factors of a part of a log, and what was noticed in it."""
    try:
        record = look()
    except NothingUsableError as reason:
        return None, (Remark(left_out(log, reason)),)
    return problem.factors(problem.states(record)), record.remarks


def _told(name: str, remarks: Iterable[Remark]) -> list[Remark]:
    """The first remarks on a log, and how many more there are."""
    found = [replace(remark, place=name) for remark in remarks]
    more = f"{len(found) - NOTES} further notes on later parts of it"
    return found if len(found) <= NOTES else [*found[:NOTES], Remark(more, place=name)]


def _check_enough(
    train: LogSet, records: Sequence[Record], chosen: Chosen, factors: Factors, free: np.ndarray
) -> None:
    """Refuse hardly more torques than there are combinations of the parameters that are estimated.

    Behind a filter, two samples for each period of the cut-off are independent.
    """
    R = factors.weighted(factors.sizes())[:, :-1][:, free]
    combinations = int(np.linalg.matrix_rank(R, RANK * np.linalg.norm(R, 2)))
    torques, cutoff = int(factors.rows.sum()), chosen.problem.cutoff
    if torques <= combinations:
        why = f"{torques} torques are too few to tell {combinations} combinations of parameters"
        raise _too_little(train, records, why)
    if cutoff is None:
        return
    rate = max(part.rate for record in records for part in chosen.problem.states(record))
    independent = int(torques * min(1.0, 2 * cutoff / rate))
    if independent < combinations:
        why = f"below {cutoff:.3g} Hz, where the arm moves, it has {independent} independent torques for "
        raise _too_little(train, records, f"{why}{combinations} combinations of parameters")


def _final(
    chosen: Chosen, found: Estimate, held: Held, request: Request
) -> tuple[np.ndarray, Robot, Consistent | None, tuple[str, ...]]:
    """The estimates (p,) as they are, or what is nearest to them that bodies can have; robot and notes."""
    template = chosen.problem.template
    text = "pulls the estimates toward the description; standard errors do not count it"
    damped = [f"a damping of {chosen.damping:g} {text}"] if chosen.damping else []
    notes = (*found.notes, *damped)
    if request.consistent is not False:
        try:
            bodies = _bodies(chosen, found, held, request)
        except NothingPossibleError as reason:
            if request.consistent:
                raise
            notes = (*notes, f"bodies are as estimated, whether they can exist or not: {reason}")
        else:
            return bodies.parameters, bodies.robot, bodies, (*notes, *bodies.notes)
    robot = template.robot.with_parameters(held.x)
    return held.x, robot, None, (*notes, *_impossible(template, held.x, robot, request))


def _bodies(chosen: Chosen, found: Estimate, held: Held, request: Request) -> Consistent:
    """What bodies can have, nearest to the estimates as the method's errors measure it."""
    template = chosen.problem.template
    R = found.factors.weighted(found.scale)
    A, b = R[:, :-1], R[:, -1]
    if request.method in UNDAMPED or held.which.any():  # estimates that are not those of least squares count
        seen = A @ held.x
        A, b = np.vstack([A, np.zeros(A.shape[1])]), np.append(seen, np.linalg.norm(seen - b))
    return possible(
        template.robot,
        A,
        b,
        prior=request.prior,
        speeds=chosen.greatest[: template.robot.n],
        damping=chosen.damping,
        described=template.prior,
    )


def _cost(problem: Problem, x: np.ndarray, bodies: Consistent | None, records: Sequence[Record]) -> float:
    """By which part bodies that can exist raise the error that the estimates x have."""
    if bodies is None or not bodies.causes:
        return 0.0
    free = filtered_error(problem, x, records)
    return filtered_error(problem, bodies.parameters, records) / free - 1 if free else 0.0


def _dear(bodies: Consistent | None, cost: float) -> list[str]:
    """A note on bodies that cost much, and on what of them does."""
    if bodies is None or cost <= DEAR:
        return []
    named = ", ".join(f"{text} ({100 * share:.0f} %)" for text, share in bodies.causes[:NAMED])
    text = f"bodies, rotors and friction that can exist cost {100 * cost:.1f} % of the filtered error"
    reason = "noise breaks these, or something that the arm does and the model has no term for"
    return [f"{text}, most of it by {named}: {reason}"]


def _others(validate: Any, train: LogSet) -> LogSet | None:
    """The logs to validate with; None where none are given."""
    if validate is None:
        return None
    rest = isinstance(validate, str) and validate == "rest"
    return train.rest() if rest else LogSet.of(train.robot, validate)


def _repeats(train: LogSet, chosen: Chosen, found: Estimate, free: np.ndarray) -> np.ndarray:
    """(n,) samples that count as one, from as many states as are enough to see how alike neighbours are."""
    residuals, use = [], []
    for record in long_records(train, chosen.problem.cutoff):
        for part in chosen.problem.states(record):
            residuals.append(part.tau - chosen.problem.seen_torques(part, found.x))
            use.append(part.use)
    return repetition(residuals, use, int(free.sum()) - found.open.shape[1])


def _impossible(template: Template, x: np.ndarray, robot: Robot, request: Request) -> list[str]:
    """A note on bodies that cannot exist, but for known ones."""
    names, reason = impossible_links(robot), ""
    if request.consistent is False:
        reason = ": any numbers were asked for"
    if not request.free.everything:
        reason = ": bodies that can exist are for fits of all parameters"
        own = OwnBodies.of(template.robot)
        moved = (own(x) != own(template.prior)).any(axis=1)
        links = [link.name for link, is_new in zip(robot.model.moving, moved, strict=True) if is_new]
        names = tuple(name for name in names if name in links)
    return [f"no body has the inertia found for {', '.join(names)}{reason}"] if names else []


# ------------------------------------------------------------------------------------------------------------
# At the edge: workers, and many robots in one call.


_Task: TypeAlias = Callable[[], Any]
K = TypeVar("K")


def in_order(tasks: Iterable[tuple[K, _Task]], executor: Any, waiting: int) -> Iterator[tuple[K, Any]]:
    """Each task's key and result, in their order, computed here or by an executor.

    At most `waiting` tasks are with the executor.
    """
    pool = _pool(executor)
    if pool is None:
        yield from ((key, task()) for key, task in tasks)
        return
    jobs: deque[tuple[K, Future[Any]]] = deque()
    try:
        for key, task in tasks:
            jobs.append((key, pool.submit(task)))
            if len(jobs) > waiting:
                first, job = jobs.popleft()
                yield first, job.result()
        while jobs:
            first, job = jobs.popleft()
            yield first, job.result()
    finally:
        for _, job in jobs:
            job.cancel()


def _pool(executor: Any) -> Executor | None:
    """An executor of `concurrent.futures`, or that of a Dask client."""
    if executor is None or isinstance(executor, Executor):
        return executor
    if hasattr(executor, "get_executor"):
        return executor.get_executor(pure=False)  # type: ignore[no-any-return]
    if hasattr(executor, "submit"):
        return executor  # type: ignore[no-any-return]
    raise IdentificationError(
        f"executor: expected one of concurrent.futures or a Dask Client, found {shown(executor)}"
    )


OPTIONS = tuple(
    name
    for name, parameter in inspect.signature(identify).parameters.items()
    if parameter.kind is parameter.KEYWORD_ONLY and name not in ("executor", "progress")
)
EACH = ("validate", "samples")  # options that belong to one robot


def identify_fleet(
    robots: Robot | Mapping[str, Robot],
    logs: Mapping[str, Any],
    *,
    executor: Any = None,
    progress: bool | None = None,
    **options: Any,
) -> dict[str, Fit | ArmdynError]:
    """`identify` for each of many robots: {name: logs} gives {name: Fit}, in the same order.

    `robots` is the description that all of them share, or {name: description}. `options` are those of
    `identify`; `validate` and `samples` are {name: …} here, and may leave robots out. Where a robot's logs
    are refused, the error stands in the place of its fit, and the others are not affected. `executor` (of
    `concurrent.futures`, or a Dask `Client`) takes one robot at a time.
    """
    names = _names(robots, logs, options)
    tasks = [(name, partial(_one, *_task(name, robots, logs, options))) for name in names]
    found: dict[str, Fit | ArmdynError] = {}
    with progress_bar("identify", progress) as update:
        for name, fit in in_order(tasks, executor, len(tasks)):
            found[name] = fit
            update(len(found) / len(tasks))
    return found


def _one(robot: Robot, logs: Any, options: dict[str, Any]) -> Fit | ArmdynError:
    try:
        return identify(robot, logs, progress=False, **options)
    except ArmdynError as problem:
        return problem


def _names(robots: Any, logs: Any, options: dict[str, Any]) -> list[str]:
    """The robots of the fleet; whatever is given by name is looked over."""
    if not isinstance(logs, Mapping) or not logs:
        raise IdentificationError(f"logs: expected {{name: logs}} of each robot, found {shown(logs)}")
    for option in options:
        check.one_of("option", option, *OPTIONS)
    by_name = {option: options[option] for option in EACH if options.get(option) is not None}
    if not isinstance(robots, Robot):
        by_name["robots"] = robots
    for what, given in by_name.items():
        if not isinstance(given, Mapping):
            raise IdentificationError(f"{what}: expected {{name: …}} of each robot, found {shown(given)}")
        for name in given.keys() - logs.keys():
            raise IdentificationError(f"{what}: '{name}' has no logs; there are: {', '.join(map(str, logs))}")
    for name in logs.keys() - by_name.get("robots", logs).keys():
        raise IdentificationError(f"robots: there is no description of '{name}'")
    return list(logs)


def _task(
    name: str, robots: Any, logs: Mapping[str, Any], options: dict[str, Any]
) -> tuple[Robot, Any, dict[str, Any]]:
    own = {key: value[name] for key in EACH if (value := options.get(key)) is not None and name in value}
    shared = {key: value for key, value in options.items() if key not in EACH}
    robot = robots if isinstance(robots, Robot) else robots[name]
    return check.robot(robot), logs[name], shared | own
