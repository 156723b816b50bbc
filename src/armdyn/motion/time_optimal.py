"""Least time along a path under limits of torque, velocity and acceleration, with friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.analysis.friction import FrictionParts, friction_parts
from armdyn.analysis.limits import JointLimits
from armdyn.motion.errors import MotionError
from armdyn.motion.scaling import scale_to_limits
from armdyn.motion.speed_parts import check_robot, limits_for, tip_wrench
from armdyn.motion.time_optimal_motion import TimedPath
from armdyn.motion.time_optimal_path import PathGrid, path_grid
from armdyn.motion.time_optimal_reasons import why_not
from armdyn.motion.time_optimal_rows import PathLimits, PathTorques, path_limits, path_torques
from armdyn.motion.time_optimal_solve import NoWay, best_profile, scaled_profile
from armdyn.motion.trajectory import Trajectory
from armdyn.robot import Robot

GRID = 500
EXCESS = 2e-4  # of a limit: intervals that go beyond one by more between their points are cut in two
ROUNDS = 6


@dataclass(frozen=True)
class TimeOptimal:
    """The fastest motion along the path of a given one.

    The path is known by s from 0 to 1, its arc length in joint space with weighted joints. `s` are the N + 1
    ends of intervals on which s̈ is constant, `speed` is ṡ there and `acceleration` s̈ between. `t` (2N,) are
    the instants of the starts and ends of the intervals, in turn, and `torque` the torques there.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (2N,) [s]
    torque: np.ndarray = field(repr=False)  # (2N, n) [N m or N]
    s: np.ndarray = field(repr=False)  # (N + 1,)
    speed: np.ndarray = field(repr=False)  # (N + 1,) [1/s]
    acceleration: np.ndarray = field(repr=False)  # (N,) [1/s²]
    limits: JointLimits = field(repr=False)

    @property
    def duration(self) -> float:
        """[s]"""
        return self.trajectory.duration


@dataclass(frozen=True)
class _Task:
    """A robot and what it must keep to."""

    robot: Robot
    friction: FrictionParts
    limits: JointLimits
    wrench: np.ndarray | None

    def on(self, grid: PathGrid) -> tuple[PathTorques, PathLimits]:
        torques = path_torques(self.robot, self.friction, grid, self.wrench)
        return torques, path_limits(grid, torques, self.limits)


def time_optimal(
    robot: Robot,
    trajectory: Trajectory,
    *,
    grid: int = GRID,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    wrench: Any = None,
) -> TimeOptimal:
    """The same path in least time, from rest to rest.

    The limits are the robot's own unless given here (one number, or one per joint; infinite for none).
    Viscous and dry friction, gravity, rotors and a constant `wrench` (6,) of the tip count. `grid` is the
    number of intervals; where the path demands it, some are cut further.
    """
    check_robot(robot, trajectory)
    if not isinstance(grid, int) or grid < 10:
        raise MotionError(f"grid: found {grid!r}; a number of intervals, at least 10, is expected")
    limits = limits_for(robot, torque, velocity, acceleration)
    task = _Task(robot, friction_parts(robot), limits, tip_wrench(wrench))
    first = path_grid(trajectory, int(grid), task.friction.rows)
    try:
        path, torques, x = _solved(task, first)
    except NoWay as problem:
        scaled = _scaled(task, first, np.inf)
        if scaled is None:
            raise MotionError(why_not(robot, first, task.on(first)[0], limits, problem.found)) from None
        return scaled
    timed = TimedPath(path, x)
    result = TimeOptimal(
        Trajectory(timed.motion(f"{trajectory.motion.label}, in least time"), trajectory.step),
        np.column_stack([timed.times[:-1], timed.times[1:]]).ravel(),
        torques.at(timed.at_points, timed.u)[:, [0, 4]].reshape(-1, robot.n),
        path.nodes,
        np.sqrt(x),
        timed.u,
        limits,
    )
    return _scaled(task, first, result.duration) or result


def _scaled(task: _Task, grid: PathGrid, least: float) -> TimeOptimal | None:
    """The given motion scaled linearly, where that takes less than the `least` time; else None.

    It cannot but by what the grid costs: the given motion may be the fastest there is.
    """
    given = grid.trajectory
    _, rate = scaled_profile(grid, task.on(grid)[1])
    starts_and_ends = np.abs(given([0.0, given.duration])[1]).max() <= 1e-9 * np.abs(given.qd).max()
    if not starts_and_ends or not rate or given.duration / rate > 1.01 * least:
        return None
    given_limits = {name: getattr(task.limits, name) for name in ("torque", "velocity", "acceleration")}
    try:
        scaled = scale_to_limits(task.robot, given, wrench=task.wrench, faster=True, **given_limits)
    except MotionError:
        return None
    if scaled.trajectory.duration >= least:
        return None
    speed = np.append(grid.speed[:, 0], grid.speed[-1, 4]) / scaled.factor
    acceleration = grid.change[:, 2] / scaled.factor**2
    return TimeOptimal(
        scaled.trajectory, scaled.t, scaled.torque, grid.nodes, speed, acceleration, task.limits
    )


def _solved(task: _Task, grid: PathGrid) -> tuple[PathGrid, PathTorques, np.ndarray]:
    """The fastest x, on a grid fine enough to keep the limits between its points too."""
    for _ in range(ROUNDS):
        torques, limits = task.on(grid)
        x = best_profile(grid, limits)
        finer = grid.split(np.ones(len(grid.s), bool))
        _, between = task.on(finer)
        at = np.interp(finer.s, grid.nodes, x)
        u = np.repeat(TimedPath(grid, x).u, 2)
        beyond = between.excess(at, u).reshape(-1, 2).max(1) > EXCESS
        if not beyond.any():
            break
        grid = grid.split(beyond)
    return grid, torques, x
