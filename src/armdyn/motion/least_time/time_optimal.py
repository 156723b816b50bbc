"""Least time along a path under limits of torque, velocity and acceleration, with friction."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.least_time.dwelling import Intervals, check_holds, with_dwells
from armdyn.motion.least_time.path import PathGrid, path_grid
from armdyn.motion.least_time.reasons import why_not
from armdyn.motion.least_time.rows import PathLimits, PathTorques, between_ends, path_limits, path_torques
from armdyn.motion.least_time.solve import NoWay, best_profile
from armdyn.motion.least_time.timed_path import TimedPath
from armdyn.motion.timing.dwells import checked_dwells, stretched
from armdyn.motion.timing.limits import Limits, limits_for
from armdyn.motion.timing.scaling import rate_within, scaled_within
from armdyn.motion.timing.speed_parts import SteadyWrench, check_timed, loaded_parts, steady_wrench
from armdyn.motion.trajectories.loads import Loaded
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.output import Shown, stage
from armdyn.robot import Robot
from armdyn.robot.friction import dry_surfaces, surface_speeds
from armdyn.robot.joints import JointLimits
from armdyn.robot.motors import ShaftLimits

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
    A dwell is an interval on which s stays where it is (two, where a load changes meanwhile). Where no faster
    motion is found than the given one scaled linearly, it is that one; s̈ is not constant on the intervals
    then, and `acceleration` is the one in their middle.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (K,), not decreasing [s]
    torque: np.ndarray = field(repr=False)  # (K, n) [N m or N]
    s: np.ndarray = field(repr=False)  # (N + 1,)
    speed: np.ndarray = field(repr=False)  # (N + 1,) [1/s]
    acceleration: np.ndarray = field(repr=False)  # (N,) [1/s²]
    limits: JointLimits = field(repr=False)
    excess: float
    motor_limits: ShaftLimits = field(repr=False)

    @property
    def duration(self) -> float:
        """[s]"""
        return self.trajectory.duration


@dataclass(frozen=True)
class _Task:
    """A robot with what it carries, and its limits."""

    loaded: Loaded
    limits: Limits
    wrench: SteadyWrench

    def on(self, grid: PathGrid) -> tuple[PathTorques, PathLimits]:
        torques = path_torques(self.loaded, grid, self.wrench)
        return torques, path_limits(grid, torques, self.limits)

    def torque(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Torques (N, k, n) of states (N, k, n) on intervals around instants t (N,) of the given motion."""
        return self.loaded.evaluate(
            lambda robot, *states: robot.inverse_dynamics(*states, self.wrench), t, q, qd, qdd
        )

    def excess(self, timed: TimedPath) -> np.ndarray:
        """By how much of a limit each interval goes beyond one between its points (N,); ≤ 0: none."""
        ahead, (q, dq, ddq) = timed.grid.between()
        x = between_ends(timed.x, ahead / timed.grid.ahead[:, 4:])[..., None]
        qd, qdd = np.sqrt(x) * dq, x * ddq + timed.u[:, None, None] * dq
        values = (
            self.torque(timed.grid.t[:, 2], q, qd, qdd),
            self.limits.velocities(q, qd),
            self.limits.accelerations(q, qd, qdd),
        )
        share = [rows.share(value).max((1, 2)) for rows, value in zip(self.limits.kinds, values, strict=True)]
        return np.asarray(np.max(share, axis=0) - 1)

    def result(
        self, grid: PathGrid, trajectory: Trajectory, intervals: Intervals, excess: float
    ) -> TimeOptimal:
        found = with_dwells(intervals, grid, trajectory, self.loaded, self.wrench)
        return TimeOptimal(
            trajectory=trajectory,
            t=found.t.ravel(),
            torque=found.torque.reshape(-1, trajectory.n),
            s=found.s,
            speed=found.speed,
            acceleration=found.acceleration,
            limits=self.limits.joint,
            excess=max(excess, 0.0),
            motor_limits=self.limits.motor,
        )


@check.computable()
@stage("least time")
def time_optimal(
    robot: Robot,
    trajectory: Trajectory,
    *,
    grid: int = GRID,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    motor_torque: Any = None,
    motor_velocity: Any = None,
    wrench: Any = None,
) -> TimeOptimal:
    """The same path in least time, from rest to rest.

    The limits are the robot's own unless given here (one number, or one per joint; infinite for none), those
    of the motors at their shafts included (`motor_torque`, `motor_velocity`: one number, or one per motor).
    Friction of every kind, gravity, rotors and a constant `wrench` (6,) of the tip, or {link: (6,)},
    count, and so does what the arm carries while it carries it. Declared dwells last as long as they did;
    from one to the next the motion is from rest to rest. `grid` is the number of intervals; where the path
    demands it, some are cut further.
    """
    check_timed(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration, motor_torque, motor_velocity)
    wrench = steady_wrench(robot, wrench)
    task = _Task(trajectory.loaded(robot), limits, wrench)
    count = check.whole_number("grid", grid, LEAST)
    if count > MOST:
        raise MotionError(f"grid: found {shown(grid)}; at most {MOST} intervals are possible")
    if len(checked_dwells(trajectory)):
        check_holds(task.loaded, trajectory, wrench, limits)
    first = path_grid(trajectory, count, surface_speeds(robot) if dry_surfaces(robot) else None)
    try:
        timed, torques, excess = _solved(task, first)
    except NoWay as problem:
        scaled = _scaled(task, first, np.inf)
        if scaled is None:
            raise MotionError(why_not(robot, first, *task.on(first), limits, problem.found)) from None
        return scaled
    if timed.x.max() > ENDLESS:
        raise MotionError(
            f"{robot.name}: no limit bounds the speed at {100 * timed.grid.nodes[timed.x.argmax()]:.4g} % of "
            "the path; give torque=, velocity= or acceleration="
        )
    faster = _scaled(task, first, timed.duration)
    if faster is not None:
        return faster
    motion = timed.motion(f"{trajectory.motion.label}, in least time")
    ends = torques.at_ends(timed.x, timed.u)
    found = Intervals(timed.times, ends, timed.grid.nodes, np.sqrt(timed.x), timed.u)
    return task.result(timed.grid, Trajectory(motion, trajectory.step), found, excess)


def _scaled(task: _Task, grid: PathGrid, least: float) -> TimeOptimal | None:
    """The given motion scaled linearly, where that takes less than the `least` time; else None.

    Where the given motion has the fastest shape there is, it may win by what the grid costs.
    """
    given, limits, robot = grid.trajectory, task.limits, task.loaded.robot
    if np.abs(given([0.0, given.duration])[1] * grid.weights).max() > 1e-9:
        return None  # it does not begin and end at rest, as the result must
    t = grid.t[::SOME, 2]
    some = Samples(t, *given(t))  # these alone usually show that it takes longer
    parts = loaded_parts(task.loaded, t, (some.q, some.qd, some.qdd), task.wrench)
    rate, rests = rate_within(limits, parts, some, np.inf), grid.pauses.sum()
    if rate.value <= 0 or given.duration - rests >= (least - rests) * rate.value:
        return None
    try:
        scaled = scaled_within(robot, given, limits, task.wrench, faster=True)
    except MotionError:
        return None
    if scaled.trajectory.duration >= least:
        return None
    c, t = scaled.factor, grid.t[:, [0, 4]]
    ends = zip(given(t[:, 0]), given(t[:, 1], "before"), strict=True)
    q, qd, qdd = (np.stack(x, 1) for x in ends)  # (N, 2, n)
    found = Intervals(
        t=stretched(given, c)[1](t.ravel()).reshape(t.shape),
        torque=task.torque(grid.t[:, 2], q, qd / c, qdd / c**2),
        s=grid.nodes,
        speed=np.append(grid.speed[:, 0], grid.speed[-1, 4]) / c,
        acceleration=grid.change[:, 2] / c**2,
    )
    return task.result(grid, scaled.trajectory, found, 0.0)


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
