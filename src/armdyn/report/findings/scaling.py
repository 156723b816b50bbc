"""How fast a motion can be under the robot's limits: scaled as a whole, and along its path in least time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.motion.least_time.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.timing.speed_parts import check_robot
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.motors import shaft_limits

_AT_LIMIT = 0.999  # of a limit: from here on it counts as reached

T = TypeVar("T")


@dataclass(frozen=True)
class TimingCurves:
    """Torques (N, n) of a motion as given, scaled linearly and in least time, and their limits (n,)."""

    robot: Robot
    t: np.ndarray
    torque: np.ndarray  # as given
    duration: float  # as given [s]
    scaled: Scaled | None
    optimal: TimeOptimal | None
    limit: np.ndarray

    @property
    def limited(self) -> bool:
        return bool(np.isfinite(self.limit).any())

    def share(self, timing: Scaled | TimeOptimal) -> float:
        """The largest torque of a timing in parts of its limit."""
        return float((np.abs(timing.torque) / self.limit).max())


def timing_curves(subject: Subject, scaled: Scaled | None, optimal: TimeOptimal | None) -> TimingCurves:
    """The limits are those that the timings were computed with."""
    used = optimal or scaled
    limit = subject.limits.torque if used is None else used.limits.torque
    robot, duration = subject.robot, subject.trajectory.duration
    return TimingCurves(robot, subject.samples.t, subject.torque, duration, scaled, optimal, limit)


@dataclass(frozen=True)
class PathSpeed:
    """The speed along a path in least time, and where each joint is at a limit."""

    joints: int
    s: np.ndarray  # (N + 1,)
    speed: np.ndarray  # (N + 1,) [1/s]
    at_limit: dict[str, np.ndarray]  # limit -> (N, n): whether it is reached on an interval of the path


def path_speed(robot: Robot, optimal: TimeOptimal) -> PathSpeed:
    check_robot(robot, optimal.trajectory)
    middle = (optimal.t[0::2] + optimal.t[1::2]) / 2
    _, qd, qdd = optimal.trajectory(middle)
    tau = np.abs(optimal.torque).reshape(-1, 2, robot.n).max(1)
    found = {"torque": tau, "velocity": np.abs(qd), "acceleration": np.abs(qdd)}
    reached = {name: x >= _AT_LIMIT * getattr(optimal.limits, name) for name, x in found.items()}
    return PathSpeed(robot.n, optimal.s, optimal.speed, reached)


@dataclass(frozen=True)
class ScalingFinding:
    """A motion against the limits; `curves` is None where there is nothing to compare."""

    limited: bool  # whether any torque, velocity or acceleration is, of a joint or a motor
    still: bool  # whether the motion stands still
    problems: tuple[tuple[str, str], ...]  # what cannot be computed, and why
    curves: TimingCurves | None
    path: PathSpeed | None  # in least time


def find_scaling(subject: Subject) -> ScalingFinding:
    limits, trajectory = subject.limits, subject.trajectory
    own = (limits.torque, limits.velocity, limits.acceleration)
    limited = any(np.isfinite(x).any() for x in own) or shaft_limits(subject.robot.model).any
    still = not np.ptp(subject.samples.q, axis=0).any()
    if still or not limited:
        return ScalingFinding(limited, still, (), None, None)
    problems: list[tuple[str, str]] = []

    def attempt(what: str, work: Callable[[], T]) -> T | None:
        try:
            return work()
        except ArmdynError as problem:
            problems.append((what, str(problem)))
            return None

    robot, wrench = subject.robot, subject.wrench
    scaled = attempt(
        "Scaling the motion linearly",
        lambda: scale_to_limits(robot, trajectory, wrench=wrench, faster=True),
    )
    optimal = attempt("The path in least time", lambda: time_optimal(robot, trajectory, wrench=wrench))
    curves = timing_curves(subject, scaled, optimal) if scaled or optimal else None
    path = path_speed(robot, optimal) if optimal else None
    return ScalingFinding(limited, still, tuple(problems), curves, path)
