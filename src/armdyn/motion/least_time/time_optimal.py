"""Least time along a path under limits of torque, velocity and acceleration, with friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.least_time.path import PathGrid, path_grid
from armdyn.motion.least_time.reasons import why_not
from armdyn.motion.least_time.rows import PathLimits, PathTorques, between_ends, path_limits, path_torques
from armdyn.motion.least_time.solve import NoWay, best_profile
from armdyn.motion.least_time.timed_path import TimedPath
from armdyn.motion.timing.scaling import rate_within, scaled_within
from armdyn.motion.timing.speed_parts import SteadyWrench, check_robot, limits_for, speed_parts, steady_wrench
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.output import Shown
from armdyn.robot import Robot
from armdyn.robot.friction import FrictionParts, friction_parts
from armdyn.robot.joints import JointLimits

GRID = 1000  # intervals; costs about 0.1 % of the least time, and twice as many half of that
LEAST = 10
MOST = 1_000_000
EXCESS = 2e-4  # of a limit: intervals that go beyond one by more between their points are cut in two
ROUNDS = 12  # of cutting, at most
ENDLESS = 1e15  # a larger x is not bounded by any limit [1/s²]
SOME = 5  # every fifth interval is used for a first comparison with linear scaling


@dataclass(frozen=True)
class TimeOptimal(Shown):
    """The fastest motion along the path of a given one.

    The path is known by s from 0 to 1, its arc length in joint space with weighted joints. `s` are the N + 1
    ends of intervals on which s̈ is constant, `speed` is ṡ there and `acceleration` s̈ between. At `t` the
    torques are `torque`: at both ends of each interval, so that most instants appear twice, before and after.
    `excess` is by how much of a limit the motion was found to go beyond one between the points of the grid.
    Where no faster motion is found than the given one scaled linearly, it is that one; s̈ is not constant on
    the intervals then, and `acceleration` is the one in their middle.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (K,), not decreasing [s]
    torque: np.ndarray = field(repr=False)  # (K, n) [N m or N]
    s: np.ndarray = field(repr=False)  # (N + 1,)
    speed: np.ndarray = field(repr=False)  # (N + 1,) [1/s]
    acceleration: np.ndarray = field(repr=False)  # (N,) [1/s²]
    limits: JointLimits = field(repr=False)
    excess: float

    @property
    def duration(self) -> float:
        """[s]"""
        return self.trajectory.duration


@dataclass(frozen=True)
class _Task:
    """A robot and its limits."""

    robot: Robot
    friction: FrictionParts
    limits: JointLimits
    wrench: SteadyWrench

    def on(self, grid: PathGrid) -> tuple[PathTorques, PathLimits]:
        torques = path_torques(self.robot, self.friction, grid, self.wrench)
        return torques, path_limits(grid, torques, self.limits)

    def excess(self, timed: TimedPath) -> np.ndarray:
        """By how much of a limit each interval goes beyond one between its points (N,); ≤ 0: none."""
        ahead, (q, dq, ddq) = timed.grid.between()
        x = between_ends(timed.x, ahead / timed.grid.ahead[:, 4:])[..., None]
        qd, qdd = np.sqrt(x) * dq, x * ddq + timed.u[:, None, None] * dq
        torque = self.robot.inverse_dynamics(q, qd, qdd, self.wrench)
        limits = ((torque, self.limits.torque), (qd, self.limits.velocity), (qdd, self.limits.acceleration))
        share = [np.abs(value).max(1) / limit for value, limit in limits]
        return np.asarray(np.max(share, axis=(0, 2)) - 1)


@check.computable()
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
    Friction of every kind, gravity, rotors and a constant `wrench` (6,) of the tip, or {link: (6,)},
    count. `grid` is the number of intervals; where the path demands it, some are cut further.
    """
    check_robot(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration)
    task = _Task(robot, friction_parts(robot), limits, steady_wrench(robot, wrench))
    count = check.whole_number("grid", grid, LEAST)
    if count > MOST:
        raise MotionError(f"grid: found {shown(grid)}; at most {MOST} intervals are possible")
    first = path_grid(trajectory, count, task.friction.rows)
    try:
        timed, torques, excess = _solved(task, first)
    except NoWay as problem:
        scaled = _scaled(task, first, np.inf)
        if scaled is None:
            raise MotionError(why_not(robot, first, task.on(first)[0], limits, problem.found)) from None
        return scaled
    if timed.x.max() > ENDLESS:
        raise MotionError(
            f"{robot.name}: no limit bounds the speed at {100 * timed.grid.nodes[timed.x.argmax()]:.4g} % of "
            "the path; give torque=, velocity= or acceleration="
        )
    result = TimeOptimal(
        trajectory=Trajectory(timed.motion(f"{trajectory.motion.label}, in least time"), trajectory.step),
        t=np.column_stack([timed.times[:-1], timed.times[1:]]).ravel(),
        torque=torques.at_ends(timed.x, timed.u).reshape(-1, robot.n),
        s=timed.grid.nodes,
        speed=np.sqrt(timed.x),
        acceleration=timed.u,
        limits=limits,
        excess=max(excess, 0.0),
    )
    return _scaled(task, first, result.duration) or result


def _scaled(task: _Task, grid: PathGrid, least: float) -> TimeOptimal | None:
    """The given motion scaled linearly, where that takes less than the `least` time; else None.

    Where the given motion has the fastest shape there is, it may win by what the grid costs.
    """
    given, limits = grid.trajectory, task.limits
    if np.abs(given([0.0, given.duration])[1] * grid.weights).max() > 1e-9:
        return None  # it does not begin and end at rest, as the result must
    t = grid.t[::SOME, 2]
    some = Samples(t, *given(t))  # these alone usually show that it takes longer
    rate = rate_within(limits, speed_parts(task.robot, some.q, some.qd, some.qdd, task.wrench), some, np.inf)
    if rate.value <= 0 or given.duration >= least * rate.value:
        return None
    try:
        scaled = scaled_within(task.robot, given, limits, task.wrench, faster=True)
    except MotionError:
        return None
    if scaled.trajectory.duration >= least:
        return None
    c, t = scaled.factor, grid.t[:, [0, 4]]
    ends = zip(given(t[:, 0]), given(t[:, 1], "before"), strict=True)
    q, qd, qdd = (np.stack(x, 1) for x in ends)  # (N, 2, n)
    return TimeOptimal(
        trajectory=scaled.trajectory,
        t=c * t.ravel(),
        torque=np.asarray(task.robot.inverse_dynamics(q, qd / c, qdd / c**2, task.wrench)).reshape(
            -1, given.n
        ),
        s=grid.nodes,
        speed=np.append(grid.speed[:, 0], grid.speed[-1, 4]) / c,
        acceleration=grid.change[:, 2] / c**2,
        limits=limits,
        excess=0.0,
    )


def _solved(task: _Task, grid: PathGrid) -> tuple[TimedPath, PathTorques, float]:
    """The fastest profile, on a grid fine enough to keep the limits between its points; and its excess."""
    found: tuple[TimedPath, PathTorques, float] | None = None
    for _ in range(ROUNDS):
        torques, limits = task.on(grid)
        known = None if found is None else np.interp(grid.s, found[0].grid.nodes, found[0].x)
        try:
            timed = TimedPath(grid, best_profile(limits, known))
        except NoWay:
            if found is None:
                raise
            break  # the result of the coarser grid stays
        excess = task.excess(timed)
        found = timed, torques, float(excess.max())
        if found[2] <= EXCESS:
            break
        grid = grid.halved(excess > EXCESS)
    assert found is not None
    return found
