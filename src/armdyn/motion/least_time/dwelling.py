"""Dwells of a motion in least time: whether the arm can be held there, and the intervals that they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.least_time.reasons import too_much
from armdyn.motion.timing.limits import Limits
from armdyn.motion.timing.speed_parts import SteadyWrench
from armdyn.motion.trajectories.loads import Loaded
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot


@dataclass(frozen=True)
class Intervals:
    """A path in N intervals: when they begin and end, the torques there, and s, ṡ and s̈."""

    t: np.ndarray  # (N, 2) [s]
    torque: np.ndarray  # (N, 2, n) [N m or N]
    s: np.ndarray  # (N + 1,)
    speed: np.ndarray  # (N + 1,) [1/s]
    acceleration: np.ndarray  # (N,) [1/s²]


def check_holds(loaded: Loaded, trajectory: Trajectory, wrench: SteadyWrench, limits: Limits) -> None:
    """Refuse dwells on which the arm is too heavy to be held, with whatever it carries then."""
    for start, end in trajectory.dwells:
        t = _cut(start, end, loaded.boundaries)
        torque = _held(loaded, trajectory, t, wrench)
        share = limits.torque.share(torque)
        if (share > 1).any():
            part, row = (int(k) for k in np.unravel_index(np.argmax(share), share.shape))
            place = f"at the dwell from {t[part, 0]:.6g} to {t[part, 1]:.6g} s of the given motion"
            cause = "gravity at rest, without friction, needs"
            raise MotionError(too_much(loaded.robot, limits, torque[part], row, place, cause))


def with_dwells(
    moving: Intervals, grid: PathGrid, timed: Trajectory, task: Loaded, wrench: SteadyWrench
) -> Intervals:
    """The intervals with those of the dwells among them: s stays, and the arm is held.

    `timed` is the motion found. Where a load changes during a dwell, it is two intervals.
    """
    places = np.flatnonzero(grid.pauses > 0)
    if not places.size:
        return moving
    arrives, leaves = np.append(0.0, moving.t[:, 1]), np.append(moving.t[:, 0], timed.duration)
    loaded = timed.loaded(task.robot)
    cuts = [_cut(arrives[i], leaves[i], loaded.boundaries) for i in places]
    at, t = np.repeat(places, [len(cut) for cut in cuts]), np.concatenate(cuts)
    torque = _held(loaded, timed, t, wrench)
    return Intervals(
        t=np.insert(moving.t, at, t, axis=0),
        torque=np.insert(moving.torque, at, torque[:, None], axis=0),
        s=np.insert(moving.s, at, moving.s[at]),
        speed=np.insert(moving.speed, at, 0.0),
        acceleration=np.insert(moving.acceleration, at, 0.0),
    )


def _cut(start: float, end: float, boundaries: np.ndarray) -> np.ndarray:
    """From start to end (k, 2), cut at the boundaries between."""
    t = np.concatenate([[start], boundaries[(boundaries > start) & (boundaries < end)], [end]])
    return np.column_stack([t[:-1], t[1:]])


def _held(loaded: Loaded, trajectory: Trajectory, t: np.ndarray, wrench: SteadyWrench) -> np.ndarray:
    """Torques (k, n) that hold the arm in its postures from t[:, 0] to t[:, 1]."""
    middle = t.mean(1)

    def held(robot: Robot, q: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q), wrench))

    return loaded.evaluate(held, middle, trajectory(middle)[0])
