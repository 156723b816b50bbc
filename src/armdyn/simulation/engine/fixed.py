"""Fixed steps of fourth-order Runge–Kutta, compiled; by NumPy where torques are functions of Python.

Dry friction at the joints: a joint that passes zero speed within a step is brought to rest at the step's end,
and one whose friction does not suffice to hold it starts at the beginning of the next. So the motion near
such an instant has an error of the order of the step, elsewhere of its fourth power.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from armdyn.kernels.loops.integrator import Integrator, Signals
from armdyn.kernels.loops.integrator_layout import Layout, Watch
from armdyn.kernels.loops.stepping import take_steps
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.grid import Grid, Stretch
from armdyn.simulation.engine.integrand import Drive, dry_joints, make_integrator, works_of
from armdyn.simulation.engine.limits import PositionLimits
from armdyn.simulation.engine.trace import SPEED_LIMIT, Stop, Trace
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.progress import Update
from armdyn.simulation.run import Event, Kind, LimitPassed

Batch: TypeAlias = tuple[int, ...]
CHUNK = 2_000_000_000  # operations between two reports of progress, less than a second's
SIGNALS = 2**24  # numbers that signals may take at a time
OF_FIRST_ORDER = (
    "dry friction: fixed steps are of fourth order only while every joint keeps sliding or sticking; where "
    "a joint stops, starts or reverses they are of first order"
)


def integrate_fixed(
    robot: Robot,
    q0: np.ndarray,
    qd0: np.ndarray,
    grid: Grid,
    actuation: Actuation,
    limits: PositionLimits,
    update: Update,
) -> Trace:
    """All arms (arms, n) over the grid."""
    mechanism = robot.mechanism
    if any(m.coulomb for m in mechanism.coupled_friction):
        joint = next(m.joint for m in mechanism.coupled_friction if m.coulomb)
        raise SimulationError(
            f"method: the motor of {joint_name(robot, joint)} has dry friction and turns with several "
            "joints; 'rk4' cannot let it stick, 'adaptive' can"
        )
    drive = actuation.drive()
    integrator = _integrator(robot, drive, limits.watch)
    layout, joints = integrator.layout, dry_joints(mechanism)
    state = integrator.start(q0, qd0, np.sign(qd0[:, joints]))
    saved = np.empty((grid.samples + 1, len(q0), layout.saved))
    saved[0] = state[:, : layout.saved]
    if actuation.is_recordable:
        _compiled(integrator, state, saved, grid, actuation, update)
    else:
        _by_python(integrator, drive, state, saved, grid, actuation, update)
    n, first, works = robot.n, layout.quadratures, works_of(mechanism, drive)
    columns = {name: saved[..., first + k] for k, name in enumerate(works)}
    trace = Trace(saved[..., :n], saved[..., n : 2 * n], columns)
    trace.events += _events(robot, joints, grid.t, saved[..., 2 * n : first], actuation.batch)
    trace.stops += _stops(state, layout, works, grid, limits)
    trace.notes += [OF_FIRST_ORDER] if joints else []
    trace.passed += _passed(limits, state[:, layout.passed :], grid, actuation.batch)
    return trace


@lru_cache(maxsize=64)
def _integrator(robot: Robot, drive: Drive, watch: Watch) -> Integrator:
    """The compiled integrator, made once for a robot, a drive and the limits to be watched."""
    return make_integrator(robot.mechanism, drive, watch)


def _in_pieces(
    advance: Callable[[Stretch, np.ndarray], None],
    most: int,
    alive: np.ndarray,
    saved: np.ndarray,
    grid: Grid,
    update: Update,
) -> None:
    """Call advance(steps, rows) until the end, or until every arm has stopped.

    The work is cut into several calls so that progress can be reported and the user can interrupt it.
    """
    done = 0
    for stretch in grid.stretches(most):
        advance(stretch, saved[stretch.rows])
        done += stretch.steps
        update(done / grid.steps)
        if not alive.any():
            saved[stretch.rows.stop :] = np.nan
            return


def _compiled(
    integrator: Integrator,
    state: np.ndarray,
    saved: np.ndarray,
    grid: Grid,
    actuation: Actuation,
    update: Update,
) -> None:
    """One call for all steps, or for as many as are done in about a second."""
    constants, layout = actuation.constants(), integrator.layout

    def advance(stretch: Stretch, rows: np.ndarray) -> None:
        signals = Signals(constants, *_signal(actuation, stretch))
        integrator.advance(state, signals, rows, stretch.every, stretch.h, SPEED_LIMIT)

    by_time = CHUNK // max(1, 4 * len(state) * integrator.programs.rate.operations)
    by_size = SIGNALS // max(1, 2 * len(state) * layout.signal)
    most = max(1, min(by_time, by_size))
    _in_pieces(advance, most, state[:, layout.saved], saved, grid, update)


def _signal(actuation: Actuation, stretch: Stretch) -> tuple[np.ndarray, bool]:
    """Signals at every step, or at every half step where they are not linear in between."""
    grid, times = stretch.grid, stretch.halves()
    sampled = [s.sampled for s in (actuation.torque, actuation.wrench) if s.sampled is not None]
    linear = sampled and grid.is_even and all(len(s.rows) == grid.steps + 1 for s in sampled)
    if linear and actuation.torque.controller is None:
        return actuation.signals(times[::2]), False
    signal = actuation.signals(times)
    return signal, len(signal) > 1


def _by_python(
    integrator: Integrator,
    drive: Drive,
    state: np.ndarray,
    saved: np.ndarray,
    grid: Grid,
    actuation: Actuation,
    update: Update,
) -> None:
    """Torques are asked for at every stage; the states of all arms go through one kernel."""
    layout, names = integrator.layout, [name for name, _ in drive.signals]
    asked = {"tau": actuation.torques, "wrench": actuation.wrenches}

    def advance(stretch: Stretch, rows: np.ndarray) -> None:
        times = stretch.halves()

        def at(step: int, half: int, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            t = float(times[2 * step + half])
            return np.concatenate([asked[name](t, q, qd) for name in names], axis=-1)

        take_steps(integrator.bodies, layout, state, at, rows, stretch.every, stretch.h, SPEED_LIMIT)

    _in_pieces(advance, 100, state[:, layout.saved], saved, grid, update)


def _events(robot: Robot, joints: list[int], t: np.ndarray, modes: np.ndarray, batch: Batch) -> list[Event]:
    """Changes of mode from one kept state to the next."""
    before, after = modes[:-1], modes[1:]
    with np.errstate(invalid="ignore"):
        changed = (before != after) & np.isfinite(after)
    events = []
    for k, arm, e in zip(*np.nonzero(changed), strict=True):
        kind: Kind = "stick" if after[k, arm, e] == 0 else "slip" if before[k, arm, e] == 0 else "reverse"
        events.append(Event(float(t[k + 1]), joint_name(robot, joints[e]), kind, _place(int(arm), batch)))
    return events


def _passed(limits: PositionLimits, instants: np.ndarray, grid: Grid, batch: Batch) -> list[LimitPassed]:
    """The joints that left their ranges, from the integrator's columns (arms, watched)."""
    found = []
    for arm, k in zip(*np.nonzero(instants), strict=True):
        instant = float(instants[arm, k])
        time, joint = grid.time(abs(instant) - 1.0), limits.watch.joints[k].joint
        found.append(limits.passed(joint, instant > 0, time, _place(int(arm), batch)))
    return sorted(found, key=lambda one: one.time)


def _stops(
    state: np.ndarray, layout: Layout, works: tuple[str, ...], grid: Grid, limits: PositionLimits
) -> list[Stop]:
    """Arms that diverged or were stopped, with their last state."""
    n, stops = layout.n, []
    for k in np.flatnonzero(state[:, layout.saved] == 0):
        x = state[k]
        time = grid.time(x[layout.saved + 1])
        reason, kept = f"it diverged at t = {time:.6g} s", None
        passed = _passed(limits, x[None, layout.passed :], grid, ())
        if passed and limits.watch.stops:
            reason = passed[0].text
            kept = dict(zip(works, x[layout.quadratures : layout.saved].tolist(), strict=True))
        stops.append(Stop(int(k), time, x[:n], x[n : 2 * n], reason, kept))
    return stops


def _place(arm: int, batch: Batch) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(arm, batch)) if batch else ()
