"""Fixed steps of fourth-order Runge–Kutta, compiled; by NumPy where torques are functions of Python.

Dry friction at the joints: a joint that passes zero speed within a step is brought to rest at the step's end,
and one whose friction does not suffice to hold it starts at the beginning of the next. So the motion near
such an instant has an error of the order of the step, elsewhere of its fourth power.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from armdyn.analysis.limits import joint_name
from armdyn.kernels.integrator import Integrator, Signals
from armdyn.kernels.stepping import take_steps
from armdyn.model import lower
from armdyn.robot import Robot
from armdyn.simulation.actuation import Actuation
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.integrand import Drive, dry_joints, make_integrator, works_of
from armdyn.simulation.progress import Update
from armdyn.simulation.run import Event, Kind
from armdyn.simulation.trace import SPEED_LIMIT, Grid, Stop, Trace

CHUNK = 2_000_000_000  # operations between two reports of progress, less than a second's
SIGNALS = 2**24  # numbers that signals may take at a time


def integrate_fixed(
    robot: Robot, q0: np.ndarray, qd0: np.ndarray, grid: Grid, actuation: Actuation, update: Update
) -> Trace:
    """All arms (arms, n) over the grid."""
    mechanism = lower(robot.model, robot.model.number)
    if any(m.coulomb for m in mechanism.motor_friction):
        joint = next(m.joint for m in mechanism.motor_friction if m.coulomb)
        raise SimulationError(
            f"method: the motor of {joint_name(robot, joint)} has dry friction and turns with several "
            "joints; 'rk4' cannot let it stick, 'adaptive' can"
        )
    drive = actuation.drive()
    integrator = _integrator(robot, drive)
    joints = dry_joints(mechanism)
    state = integrator.start(q0, qd0, np.sign(qd0[:, joints]))
    saved = np.empty((grid.samples + 1, len(q0), integrator.layout.saved))
    saved[0] = state[:, : integrator.layout.saved]
    if actuation.is_recordable:
        _compiled(integrator, state, saved, grid, actuation, update)
    else:
        _by_python(integrator, drive, state, saved, grid, actuation, update)
    n, first = robot.n, integrator.layout.quadratures
    works = {name: saved[..., first + k] for k, name in enumerate(works_of(mechanism, drive))}
    trace = Trace(saved[..., :n], saved[..., n : 2 * n], works)
    trace.events += _events(robot, joints, grid.t, saved[..., 2 * n : first], actuation.batch)
    trace.stops += _stops(state, n, integrator.layout.saved, grid)
    return trace


@lru_cache(maxsize=64)
def _integrator(robot: Robot, drive: Drive) -> Integrator:
    """Recorded once for a robot and a drive."""
    return make_integrator(lower(robot.model, robot.model.number), drive)


def _pieces(grid: Grid, most: int) -> Iterator[tuple[int, slice, int]]:
    """Calls of at most `most` steps: their first step, the rows they write, and the steps to each row.

    A row that takes more steps is written by several calls; what the last writes stays.
    """
    if most >= grid.every:
        samples = most // grid.every
        for start in range(0, grid.samples, samples):
            stop = min(start + samples, grid.samples)
            yield start * grid.every, slice(start + 1, stop + 1), grid.every
        return
    for row in range(grid.samples):
        for step in range(0, grid.every, most):
            yield row * grid.every + step, slice(row + 1, row + 2), min(most, grid.every - step)


def _in_pieces(
    advance: Callable[[int, np.ndarray, int], None],
    most: int,
    state: np.ndarray,
    saved: np.ndarray,
    grid: Grid,
    update: Update,
) -> None:
    """advance(first step, rows, steps to a row) to the end, or until no arm is left; between calls progress
    is told and an interrupt is heard."""
    alive = state[:, -2]
    for first, rows, every in _pieces(grid, most):
        advance(first, saved[rows], every)
        update((first + every * (rows.stop - rows.start)) / (grid.samples * grid.every))
        if not alive.any():
            saved[rows.stop :] = np.nan
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
    constants = actuation.constants()

    def advance(first: int, rows: np.ndarray, every: int) -> None:
        signals = Signals(constants, *_signal(actuation, grid, first, every * len(rows)))
        integrator.advance(state, signals, rows, every, grid.h, SPEED_LIMIT)

    arms, signal = len(state), integrator.layout.signal
    by_time = CHUNK // max(1, 4 * arms * integrator.programs.rate.operations)
    by_size = SIGNALS // max(1, 2 * arms * signal)
    _in_pieces(advance, max(1, min(by_time, by_size)), state, saved, grid, update)


def _signal(actuation: Actuation, grid: Grid, first: int, steps: int) -> tuple[np.ndarray, bool]:
    """Signals at every step, or at every half step where they are not linear in between."""
    sampled = [s.sampled for s in (actuation.torque, actuation.wrench) if s.sampled is not None]
    linear = sampled and all(len(s.rows) == grid.samples * grid.every + 1 for s in sampled)
    if linear and actuation.torque.controller is None:
        return actuation.signals(grid.halves(first, steps)[::2]), False
    signal = actuation.signals(grid.halves(first, steps))
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
    h, names = grid.h, [name for name, _ in drive.signals]
    asked = {"tau": actuation.torques, "wrench": actuation.wrenches}

    def advance(first: int, rows: np.ndarray, every: int) -> None:
        def at(step: int, half: int, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
            t = (first + step + half / 2) * h
            return np.concatenate([asked[name](t, q, qd) for name in names], axis=-1)

        take_steps(integrator.bodies, integrator.layout, state, at, rows, every, h, SPEED_LIMIT)

    _in_pieces(advance, 100, state, saved, grid, update)


def _events(
    robot: Robot, joints: list[int], t: np.ndarray, modes: np.ndarray, batch: tuple[int, ...]
) -> list[Event]:
    """Changes of mode from one kept state to the next."""
    before, after = modes[:-1], modes[1:]
    with np.errstate(invalid="ignore"):
        changed = (before != after) & np.isfinite(after)
    events = []
    for k, arm, e in zip(*np.nonzero(changed), strict=True):
        kind: Kind = "stick" if after[k, arm, e] == 0 else "slip" if before[k, arm, e] == 0 else "reverse"
        place = tuple(int(i) for i in np.unravel_index(arm, batch)) if batch else ()
        events.append(Event(float(t[k + 1]), joint_name(robot, joints[e]), kind, place))
    return events


def _stops(state: np.ndarray, n: int, columns: int, grid: Grid) -> list[Stop]:
    """Arms that diverged, with their last state."""
    return [
        Stop(int(k), float(state[k, columns + 1] * grid.h), state[k, :n], state[k, n : 2 * n], "it diverged")
        for k in np.flatnonzero(state[:, columns] == 0)
    ]
