"""Scaling of motions: least time along a path against TOPP-RA, and linear scaling.

Durations are compared before anything is timed. TOPP-RA knows no viscous friction; the Panda has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline
from timing import Call, race

from armdyn import Robot
from armdyn.motion import Trajectory, scale_to_limits, time_optimal
from armdyn.motion.motion import Motion

TITLE = "Motions, all set-up included"
CLOCK = "wall time"
GRID = 500
ROUNDS = 30
AGREEMENT = 5e-3  # of the duration
PART = 0.31  # of TOPP-RA's time, that ours should take at most
MANY = 64  # paths in one call

Row = tuple[str, float, float | None]


def points(robot: Robot, seed: int = 1) -> np.ndarray:
    """Waypoints within the joints' ranges."""
    rng = np.random.default_rng(seed)
    middle = np.array([0, 0, 0, -1.6, 0, 1.6, 0]) if robot.name == "Panda" else np.zeros(robot.n)
    return np.asarray(rng.uniform(-1, 1, (6, robot.n)) + middle)


def path(waypoints: np.ndarray) -> Trajectory:
    """The spline through waypoints that TOPP-RA has too."""
    knots = np.linspace(0, 1, len(waypoints))
    spline = CubicSpline(knots, waypoints)
    derivatives = [spline, spline.derivative(1), spline.derivative(2)]

    def evaluate(t: np.ndarray, side: str) -> Any:
        return tuple(f(t) for f in derivatives)

    return Trajectory(Motion(waypoints.shape[1], 1.0, evaluate, knots=knots))


def tip_motions(robot: Robot) -> tuple[Trajectory, Trajectory]:
    """A line and a circle of the PUMA's tip."""
    q0 = np.array([0.1, 0.8, -2.6, 0.2, 0.3, 0.1])
    line = Trajectory.line(robot, q0, displacement=[0, 0, -0.2], duration=0.5, acceleration_time=0.1)
    centre = robot.pose(q0)[:3, 3] + [0, 0, 0.05]
    return line, Trajectory.circle(robot, q0, centre, [1, 0, 0], 2 * np.pi, duration=1.0, profile="cubic")


def measure() -> Iterator[Row]:
    """Ours with a part of TOPP-RA's time as the target, where it is installed."""
    panda, puma = Robot.load("panda"), Robot.load("puma560")
    waypoints = points(panda)

    def least_time(robot: Robot, through: np.ndarray) -> Any:
        return time_optimal(robot, path(through), grid=GRID)

    def least_times(several: list[np.ndarray]) -> Any:
        return time_optimal(panda, [path(x) for x in several], grid=GRID)

    given = Trajectory.quintic(waypoints[0], waypoints[1], 1.0)
    line, circle = tip_motions(puma)
    calls = [
        Call(least_time, (panda, waypoints)),
        Call(least_time, (puma, points(puma))),
        Call(scale_to_limits, (panda, given)),
        Call(time_optimal, (puma, line)),
        Call(time_optimal, (puma, circle)),
        Call(least_times, ([points(panda, seed) for seed in range(MANY)],), rows=MANY),
    ]
    if find_spec("toppra"):
        from peers.with_toppra import least_time as theirs

        fast = time_optimal(panda, path(waypoints), grid=GRID)
        peer = theirs(panda.inverse_dynamics, waypoints, fast.limits, GRID)
        apart = abs(fast.duration / peer().duration - 1)
        if not apart <= AGREEMENT:
            raise AssertionError(f"durations differ by {100 * apart:.2g} %")
        calls.append(Call(peer, ()))
    seconds = [1e-9 * ns for ns in race(calls, ROUNDS, shortest=0.03)]
    other = seconds[6] if len(seconds) > 6 else None
    target = None if other is None else PART * other
    yield f"least time, Panda, 7 joints, {GRID} intervals: armdyn", seconds[0], target
    if other is not None:
        yield "the same: TOPP-RA, seidel, interpolation scheme", other, None
    yield f"{MANY} paths of the Panda in one call, {GRID} intervals, all threads: a path", seconds[5], target
    yield f"least time, PUMA 560 with viscous and dry friction, {GRID} intervals: armdyn", seconds[1], None
    yield "linear scaling, Panda, 1 s in steps of 1 ms: armdyn", seconds[2], None
    yield "least time on a tip line, PUMA 560, 1000 intervals: armdyn", seconds[3], None
    yield "least time on a tip circle, PUMA 560, 1000 intervals: armdyn", seconds[4], None
