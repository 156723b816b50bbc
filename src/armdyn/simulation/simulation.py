"""`simulate`: direct dynamics over time (section 7.6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.kernels.arrays import Numbers, array, host, is_cupy, like, on_device, zeros
from armdyn.model.errors import ModelError
from armdyn.motion.loads import Carried, Loaded
from armdyn.motion.motion import check_loads
from armdyn.motion.trajectory import Trajectory
from armdyn.progress import Update, progress_bar
from armdyn.remarks import Remark, warn
from armdyn.robot import Robot
from armdyn.simulation.actuation import Actuation, actuation
from armdyn.simulation.controller import Controller, with_model
from armdyn.simulation.errors import (
    SimulationError,
    SimulationWarning,
    Where,
    check,
    memory_of,
    of_states,
)
from armdyn.simulation.fixed_steps import integrate_fixed
from armdyn.simulation.integrand import WORKS, check_friction, joined, split
from armdyn.simulation.limits import Limits, Watch, limits_text, watch_of
from armdyn.simulation.run import Run, speeds_text
from armdyn.simulation.trace import Stop, TimeGrid, Trace, at_least
from armdyn.simulation.variable_steps import Effort, integrate_variable

# ------------------------------------------------------------------------------------------------------------
# Simulation of an arm that picks up and puts down loads: one leg after the other, each with its own robot.
#
# A load that is taken up moves with the arm already, so velocities do not jump. A sampled controller is
# sampled anew at the beginning of every leg; its memory goes on. An arm of a batch that stops has NaN in
# later legs.


@dataclass(frozen=True)
class Leg:
    """A part of a simulation during which the arm carries the same."""

    robot: Robot
    start: float  # s
    driven: Actuation  # its time begins with the leg

    def after(self, run: Run) -> Leg:
        """The leg with the controller's memory from the one before."""
        law = self.driven.law
        if law is None or not law.controller.remembered:
            return self
        memory = run.memory[-1].reshape(-1, law.controller.remembered)
        return replace(self, driven=replace(self.driven, torque=replace(law, memory=memory)))


def loaded_robot(robot: Robot, loads: Any, torque: Any, duration: float) -> Loaded:
    """The robot with its loads: `loads`, or "target": those of the motion that a controller follows.

    Loads that end with this motion are carried on afterwards, given either way.
    """
    target = getattr(torque, "target", None)
    followed = target if isinstance(target, Trajectory) else None
    if isinstance(loads, str) and loads == "target":
        return Loaded(robot, (), duration) if followed is None else followed.loaded(robot)
    if not isinstance(loads, Sequence) or not all(isinstance(one, Carried) for one in loads):
        raise SimulationError(
            f"loads: found {type(loads).__name__}; expected 'target', or the loads of a trajectory, () for "
            "none"
        )
    last = max((one.end for one in loads), default=0.0)
    ends = max(duration, last) if followed is None or last > followed.duration else followed.duration
    return Loaded(robot, check_loads(loads, ends), ends)


def legs_of(loaded: Loaded, driven: Actuation) -> list[Leg]:
    """The legs; one where the arm carries the same all the time.

    A controller knows what the motion that it follows carries.
    """
    model = _model(driven.controller)
    changes = np.append(loaded.boundaries, [] if model is None else model.boundaries)
    inner = np.unique(changes[(changes > 0) & (changes < driven.duration)]).tolist()
    found = []
    for start, end in pairwise([0.0, *inner, driven.duration]):
        own = driven if model is None else _with_model(driven, _robot_at(model, start, end))
        own = own.later(start, end - start) if inner else own
        found.append(Leg(_robot_at(loaded, start, end), start, own))
    return found


def _model(controller: Controller | None) -> Loaded | None:
    """The controller's model with the loads of its target."""
    target = getattr(controller, "target", None)
    if controller is None or not isinstance(target, Trajectory) or not target.loads:
        return None
    return target.loaded(controller.robot)


def _robot_at(loaded: Loaded, start: float, end: float) -> Robot:
    return loaded.robots[int(loaded.index(np.array([(start + end) / 2]))[0])]


def _with_model(driven: Actuation, robot: Robot) -> Actuation:
    """The actuation with another model in the controller."""
    law = driven.law
    if law is None:
        return driven
    return replace(driven, torque=replace(law, controller=with_model(law.controller, robot)))


def joined_legs(robot: Robot, loaded: Loaded, legs: Sequence[Leg], runs: Sequence[Run]) -> Run:
    """One run of the runs of legs; where a leg begins, its first instant takes the place of the last one."""
    if len(legs) == 1:
        return runs[0] if not loaded.loads else replace(runs[0], robot=robot, carried=loaded)

    def joined_rows(parts: list[Any]) -> np.ndarray:
        return np.concatenate([*(x[:-1] for x in parts[:-1]), parts[-1]])

    def column(name: str) -> np.ndarray:
        return joined_rows([getattr(run, name) for run in runs])

    def work(name: str) -> np.ndarray:
        parts: list[Any] = []
        done: Any = 0.0
        for run in runs:
            parts.append(getattr(run, name) + done)
            done = parts[-1][-1]
        return joined_rows(parts)

    def later(name: str) -> tuple[Any, ...]:
        pairs = zip(legs, runs, strict=False)
        return tuple(x._replace(time=x.time + leg.start) for leg, run in pairs for x in getattr(run, name))

    t = [leg.start + run.t for leg, run in zip(legs, runs, strict=False)]
    names = ["q", "qd", "tau", "memory", *(["closed"] if runs[0].closed is not None else [])]
    columns: dict[str, Any] = {name: column(name) for name in names}
    columns |= {name: work(name) for name in ("torque_work", "wrench_work", "dissipated")}
    wrenches: list[Any] = [run.wrench for run in runs]
    if isinstance(wrenches[0], dict):
        columns["wrench"] = {link: joined_rows([x[link] for x in wrenches]) for link in wrenches[0]}
    elif wrenches[0] is not None:
        columns["wrench"] = joined_rows(wrenches)
    return replace(
        runs[-1],
        robot=robot,
        t=np.concatenate([*(x[:-1] for x in t[:-1]), t[-1]]),
        **columns,
        events=later("events"),
        limits_passed=_first(later("limits_passed")),
        remarks=tuple(dict.fromkeys(remark for run in runs for remark in run.remarks)),
        carried=loaded,
    )


def _first(passed: tuple[Any, ...]) -> tuple[Any, ...]:
    """The first time that each joint of each arm passes a limit."""
    found: dict[tuple[Any, ...], Any] = {}
    for one in passed:
        found.setdefault((one.joint, one.limit, one.arm), one)
    return tuple(found.values())


# ------------------------------------------------------------------------------------------------------------
# The check that energies of a run add up. It finds steps that blow up while every number stays finite.


OFF = 0.05  # of the energy exchanged: if more is unexplained, the motion is wrong
ROUNDING = 1e-9  # of the energies themselves: unexplained energy allowed where hardly any is exchanged
ROUNDING_OF_SINGLE = 1e-3  # in float32, where it adds up over the steps
STATES = 200_000  # energies are checked at about so many states, and at no fewer than LEAST instants
LEAST = 20


class Imbalance(NamedTuple):
    """An arm whose energies do not add up."""

    arm: int
    time: float  # the first instant checked at which they do not [s]
    unexplained: float  # the largest value over the run [J]
    exchanged: float  # among motion, height, torques, tip and friction [J]


def imbalances(run: Run) -> list[Imbalance]:
    """The arms (numbered through the whole batch) whose energies do not add up.

    The energy exchanged is the sum of the largest values so far of kinetic energy, change of potential
    energy, and the works of torques, wrench and friction.
    """
    arms = int(np.prod(run.q.shape[1:-1]))
    count = min(len(run.t), max(LEAST, STATES // arms))
    rows = np.unique(np.linspace(0, len(run.t) - 1, count).round().astype(int))
    names = ["q", "qd", "torque_work", "wrench_work", "dissipated"]
    names += ["closed"] if run.closed is not None else []
    seen = replace(run, t=run.t[rows], **{name: getattr(run, name)[rows] for name in names})
    brought = run.load_energy[rows]
    with np.errstate(all="ignore"):

        def flat(x: np.ndarray) -> np.ndarray:
            return array(np.abs(x).reshape(len(rows), arms))

        unexplained, kinetic, potential = (
            flat(x) for x in (seen.unexplained(brought), seen.kinetic, seen.potential)
        )
        works = [flat(x) for x in (seen.torque_work, seen.wrench_work, seen.dissipated)]
        parts = [kinetic, flat(seen.potential - seen.potential[0] - brought), *works]
        one, *others = map(_largest_so_far, parts)
        exchanged = sum(others, start=one)
        rounding = ROUNDING if run.q.dtype == np.float64 else ROUNDING_OF_SINGLE
        allowed = OFF * exchanged + rounding * _largest_so_far(kinetic + potential)
        worst = _largest_so_far(unexplained)[-1]
    found = []
    for arm in np.flatnonzero(host(worst > allowed[-1])):
        first = int(np.flatnonzero(host(unexplained[:, arm] > allowed[:, arm]))[0])
        time = float(seen.t[first])
        found.append(Imbalance(int(arm), time, float(worst[arm]), float(exchanged[-1, arm])))
    return found


def _largest_so_far(x: np.ndarray) -> np.ndarray:
    """Largest values so far, over the rows (N, arms); NaN counts for nothing."""
    if not is_cupy(x):
        return np.asarray(np.fmax.accumulate(x, axis=0))
    found, step = x, 1
    while step < len(found):  # CuPy accumulates sums only
        found = np.concatenate([found[:step], np.fmax(found[step:], found[:-step])])
        step *= 2
    return found


# ------------------------------------------------------------------------------------------------------------
# A `Run` from the result of an integration: shapes, applied torques, messages.


Method: TypeAlias = Literal["adaptive", "rk4"]


def make_run(robot: Robot, method: Method, grid: TimeGrid, driven: Actuation, trace: Trace) -> Run:
    """The trace in the shape of the batch, without instants that no arm reached."""
    n, batch, held = robot.n, driven.batch, trace.held
    memory = zeros(trace.states, (*trace.states.shape[:2], 0)) if trace.memory is None else trace.memory
    reached = host(np.isfinite(trace.states[..., :n]).all(axis=-1).any(axis=-1))
    count = int(np.flatnonzero(reached)[-1]) + 1
    t, states = np.array(grid.t[:count]), trace.states[:count]
    if not batch and (stop := next(iter(trace.stops), None)) and stop.at_limit and stop.time > t[-1]:
        t, states = np.append(t, stop.time), np.concatenate([states, like(states, stop.state)[None, None]])
        held = None if held is None else np.concatenate([held[:count], like(held, stop.held)[None, None]])
        last = memory[0, 0] if stop.memory is None else like(memory, stop.memory)
        memory = np.concatenate([memory[:count], last[None, None]])
    q, qd = states[..., :n], states[..., n : 2 * n]
    y = _positions(robot, states)
    followers = split(robot, y)[1]
    tau = driven.torque.values(t, q, qd, followers, method == "adaptive") if held is None else held[: len(t)]
    tau = np.where(np.isnan(q), np.nan, like(q, tau))
    wrenches = [
        _by_instant(source.values(t, q, qd, followers, method == "adaptive"), q, batch)
        for source in driven.wrenches
        if source.kind
    ]
    works = dict.fromkeys(WORKS, np.where(np.isnan(q[..., 0]), np.nan, 0.0))
    works |= {name: states[..., -1 - k] for k, name in enumerate(reversed(trace.works))}
    shape = (len(t), *batch)
    q, qd, tau = (x.reshape(*shape, n) for x in (q, qd, tau))
    memory = np.where(np.isnan(q[..., :1]).reshape(len(t), -1, 1), np.nan, memory[: len(t)])
    torque, wrench, friction = (works[name].reshape(shape) for name in WORKS)
    return Run(
        *(robot, t, q, qd, tau, torque, wrench, friction),
        events=tuple(sorted(trace.events, key=lambda event: event.time)),
        limits_passed=tuple(sorted(trace.passed, key=lambda passed: passed.time)),
        remarks=tuple(trace.remarks),
        memory=memory.reshape(*shape, memory.shape[-1]),
        closed=y.reshape(*shape, y.shape[-1]) if robot.model.loops else None,
        wrench=dict(zip(driven.links, wrenches, strict=True)) if driven.links else next(iter(wrenches), None),
    )


def _by_instant(wrench: Any, q: np.ndarray, batch: tuple[int, ...]) -> np.ndarray:
    """A wrench, (N or none, arms or 1, 6) at states (N, arms, n), for each instant and arm of the batch."""
    found = like(q, wrench)
    found = found if found.ndim == 3 else found[None]
    arms = batch if found.shape[1] > 1 else (1,) * len(batch)
    return np.broadcast_to(found.reshape(len(found), *arms, 6), (len(q), *batch, 6))


def _positions(robot: Robot, states: np.ndarray) -> np.ndarray:
    """All positions of states; between two steps the chains are closed here."""
    n = robot.n
    y = joined(robot, states[..., :n], states[..., 2 * n : n + robot.mechanism.positions])
    return array(robot.assembly(states[..., :n], near=y)) if robot.model.loops else y


def judged(run: Run, method: Method, grid: TimeGrid, stops: list[Stop]) -> Run:
    """The run, marked as not completed if arms stopped, or if the energies of another do not add up."""
    batch = run.q.shape[1:-1]
    run = replace(run, completed=not stops, message=_message(stops, batch, run.q.shape[-1]))
    said = {stop.arm for stop in stops if not stop.at_limit}
    found = [one for one in imbalances(run) if one.arm not in said]
    if not found:
        return run
    texts = [_arm(one.arm, batch) + _unexplained(one) for one in found[:3]]
    if len(found) > len(texts):
        texts.append(f"and {len(found) - len(texts)} more")
    cure = (
        f"steps of {min(grid.step, grid.output):g} s are too long" if method == "rk4" else "rtol is too large"
    )
    message = "; ".join([run.message] * bool(run.message) + texts) + f"; {cure}, or torques jump too often"
    return replace(run, completed=False, message=message)


def _unexplained(one: Imbalance) -> str:
    return (
        f"the energies do not add up from about t = {one.time:.6g} s on: "
        f"{one.unexplained:.2g} J of {one.exchanged:.2g} J exchanged are unexplained"
    )


def _message(stops: list[Stop], batch: tuple[int, ...], n: int) -> str:
    """Words for when, where and why arms stopped: the first three, and how many more."""
    shown = []
    for stop in stops[:3]:
        state = f"q = {_text(stop.state[:n])}, qd = {_text(stop.state[n : 2 * n])}"
        shown.append(f"{_arm(stop.arm, batch)}{stop.reason} at t = {stop.instant:.6g} s, {state}")
    if len(stops) > len(shown):
        shown.append(f"and {len(stops) - len(shown)} more")
    return "; ".join(shown)


def _arm(arm: int, batch: tuple[int, ...]) -> str:
    return f"arm {tuple(int(i) for i in np.unravel_index(arm, batch))}: " if batch else ""


def _text(x: np.ndarray) -> str:
    return "[" + ", ".join(f"{v:.6g}" for v in x) + "]"


# ------------------------------------------------------------------------------------------------------------
# `simulate` itself.


MOST_STEPS = 2**40


def simulate(
    robot: Robot,
    q0: Numbers,
    qd0: Numbers,
    duration: float,
    torque: Any = None,
    *,
    wrench: Any = None,
    method: Method = "adaptive",
    step: float = 1e-3,
    output: float | None = None,
    rtol: float = 1e-10,
    atol: float = 1e-12,
    max_steps: int | None = None,
    limits: Limits = "warn",
    loads: Any = "target",
    progress: bool | Update | None = None,
) -> Run:
    """The motion of a robot from q0, qd0 (one number or (..., n)) for `duration` seconds.

    `torque` is None, torques (..., n), torques over time (T, ..., n) (evenly spaced from 0 to `duration`,
    linear in between: an array with one axis more than the states), a function of (t, q, qd) or a controller.
    `wrench` (..., 6), (T, ..., 6) or a function is what the tip exerts on its surroundings, world axes; or a
    mapping {link: one of these} what several links exert, each at the origin of its frame.
    "adaptive" calls functions with the state of one arm, "rk4" with that of all arms (..., n); these arrays
    are read-only. "adaptive" may miss a pulse shorter than both three times `output` and a hundredth of the
    duration. The torques of a controller with a sampling `rate` are held from one sample to the next, and so
    is its memory, if it has one.

    Methods: "adaptive", of order 8 to `rtol` and `atol`, arm by arm, in at most `max_steps` steps each
    (default: 50 000 plus 20 000 per second); "rk4", fixed steps of `step`, compiled, all arms at once, of
    fourth order, but with dry friction of first order where a joint stops, starts or reverses. States are
    kept every `output` seconds (default: `step`) and at the end; fixed steps are shortened so that a whole
    number of them fits in between. With a sampled controller, a whole number of them fits the sampling
    period, too; where a sample still falls within a step (because of `output`), it is taken at the start of
    the next one.

    `loads` is what the arm picks up and puts down: those of a trajectory (`trajectory.loads`), () for none,
    or "target", those of the motion that the controller follows. The controller always knows the loads of the
    motion that it follows: other `loads` show what a wrong payload does. A load that is taken up moves with
    the arm already; one that ends with that motion is carried on. Where loads change, states are kept and a
    sampled controller is sampled anew.

    With closed chains the coordinates start in the assembly mode of the robot's first posture. q0 may also
    be all positions (..., positions), as `robot.assembly` gives them: that is the mode then. The chains stay
    closed. Where a joint stops following the coordinates, a singular posture, the arm stops.

    Dry friction sticks: a joint at rest stays there until the torque on it exceeds the friction's level. When
    a joint passes a position limit, `limits` decides: a SimulationWarning ("warn"), the arm stops there
    ("stop"), or nothing ("ignore"). A motor that exceeds its limit of velocity gives a SimulationWarning,
    unless limits are ignored. A motion that diverges, that takes too many steps or whose energies do
    not add up is not `completed` and gives a SimulationWarning; what was computed is kept.

    CuPy arrays q0 and qd0 are simulated on their GPU, with the method "rk4", one thread for each arm; the
    run then has CuPy arrays, all but `t`. Torques and wrenches are arrays of either library, or a controller;
    a function of Python cannot be called from there. It computes in float64, or in float32 where both are
    float32. It returns when the arms are there.

    `progress`: whether a bar is shown on stderr, None on a terminal only; or a function that is told the part
    that is done, from 0 to 1, for each stretch between changes of load.
    """
    check.robot(robot)
    check.one_of("method", method, "adaptive", "rk4")
    watch = watch_of(robot, limits)
    check_friction(robot)
    most = None if max_steps is None else check.whole_number("max_steps", max_steps, least=1)
    effort = Effort(check.positive("rtol", rtol), check.positive("atol", atol), most)
    integration = _Integration(method, step, output, watch, effort, progress)
    with on_device(q0 if is_cupy(q0) else qd0):
        q, qd = _states(robot, q0, qd0, method)
        batch, n = q.shape[:-1], robot.n
        where = Where(q if is_cupy(q) else None)
        driven = actuation(robot, batch, check.positive("duration", duration), torque, wrench, where)
        grid = _grid(driven.duration, step, output, method, driven.period)
        _check_size(grid, q, 2 * n + robot.mechanism.positions + 3 + driven.memory.shape[-1])
        starts = q.reshape(-1, robot.mechanism.positions), qd.reshape(-1, n)
        watch.check_start(robot, starts[0])
        loaded = loaded_robot(robot, loads, torque, driven.duration)
        legs = legs_of(loaded, driven)
        runs, stops = integration.run_all(legs, *starts)
        run = judged(joined_legs(robot, loaded, legs, runs), method, grid, stops)
        speeds = run.speeds_passed if limits != "ignore" else ()
    texts = [limits_text(run.limits_passed, batch)] if run.limits_passed and limits == "warn" else []
    texts += [speeds_text(speeds, batch)] if speeds else []
    texts += [run.message] if not run.completed else []
    warn([Remark(text, "warning") for text in texts], SimulationWarning, 2)
    return run


@dataclass(frozen=True)
class _Integration:
    """Settings by which a leg is integrated."""

    method: Method
    step: float
    output: float | None
    watch: Watch
    effort: Effort
    progress: bool | Update | None

    def run_all(self, legs: Sequence[Leg], q: np.ndarray, qd: np.ndarray) -> tuple[list[Run], list[Stop]]:
        """The runs of the legs, one after the other, until no arm is left; and the arms that stopped."""
        runs, stops = list[Run](), list[Stop]()
        for leg in legs:
            run, found = self.run(leg.after(runs[-1]) if runs else leg, q, qd)
            runs.append(run)
            stops += found
            if len(stops) == len(q):
                break
            q, qd = run.positions[-1].reshape(q.shape), run.qd[-1].reshape(qd.shape)
        return runs, stops

    def run(self, leg: Leg, q: np.ndarray, qd: np.ndarray) -> tuple[Run, list[Stop]]:
        """The run of a leg from states (arms, n), and the arms that stop in it, at instants of the whole run.

        With closed chains q is all positions (arms, positions).

        Arms whose states are NaN have stopped before.
        """
        robot, driven, method = leg.robot, leg.driven, self.method
        grid = _grid(driven.duration, self.step, self.output, method, driven.period)
        with progress_bar(f"simulating {robot.name}", self.progress) as update:
            if method == "rk4":
                trace = integrate_fixed(robot, q, qd, grid, driven, self.watch, update)
            else:
                trace = integrate_variable(robot, q, qd, grid, driven, self.watch, self.effort, update)
        run = make_run(robot, method, grid, driven, trace)
        return run, [replace(stop, instant=stop.instant + leg.start) for stop in trace.stops]


def _states(robot: Robot, q0: Any, qd0: Any, method: Method) -> tuple[np.ndarray, np.ndarray]:
    """Positions (all, with closed chains) and velocities for each arm; on a GPU if one of them is there."""
    where = of_states(q0, qd0, method)
    first = where.floats("q0", q0) if _is_posture(robot, q0) else where.wide("q0", q0, robot.n)
    arrays = [where.finite("q0", first), where.finite("qd0", where.wide("qd0", qd0, robot.n))]
    try:
        batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    except ValueError:
        raise SimulationError(f"q0, qd0: shapes {arrays[0].shape} and {arrays[1].shape} differ") from None
    q, qd = (np.broadcast_to(x, (*batch, x.shape[-1])).copy() for x in arrays)
    if not q.size:
        raise SimulationError(f"q0, qd0: found shape {q.shape}; at least one arm is expected")
    return (_assembled(robot, q) if robot.model.loops else q), qd


def _is_posture(robot: Robot, q0: Any) -> bool:
    """True if q0 are all positions of a robot with closed chains."""
    return bool(robot.model.loops) and np.shape(q0)[-1:] == (robot.mechanism.positions,)


def _assembled(robot: Robot, q: np.ndarray) -> np.ndarray:
    try:
        return array(robot.assembly(q))
    except ModelError as error:
        raise SimulationError(f"q0: {str(error).removeprefix('q: ')}") from None


def _grid(duration: float, step: Any, output: Any, method: Method, period: float | None) -> TimeGrid:
    """Grid of instants; with fixed steps, a whole number of them fits the period of a sampled controller."""
    most = check.positive("step", step)
    if method == "rk4" and period is not None:
        most = period / at_least(period, most)
    kept = min(most if output is None else check.positive("output", output), duration)
    least = min(most, kept) if method == "rk4" else kept
    if not duration / least <= MOST_STEPS:
        raise SimulationError(f"step: {duration:g} s in steps of {least:g} s are too many")
    return TimeGrid(duration, kept, most)


def _check_size(grid: TimeGrid, q: np.ndarray, columns: int) -> None:
    """Refuse sizes that do not fit the memory, before it is taken: that of the GPU if q is there."""
    arms = int(np.prod(q.shape[:-1]))
    size = q.dtype.itemsize * (grid.samples + 1) * arms * columns
    there = memory_of(q)
    if there is not None and size > there:
        count = f"{grid.samples + 1:,} instants of {arms} arm{'s' * (arms > 1)}"
        raise SimulationError(
            f"output: {count} would take {size / 2**30:,.0f} GiB; this {'GPU' if is_cupy(q) else 'machine'} "
            f"has {there / 2**30:,.0f} GiB. "
            "A longer `output` takes less"
        )
