"""How fast a motion can be under the robot's limits: scaled as a whole, and along its path in least time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.motion.least_time.time_optimal import TimeOptimal, time_optimal
from armdyn.motion.timing.limits import Limits, limits_for
from armdyn.motion.timing.scaling import Scaled, scale_to_limits
from armdyn.motion.timing.speed_parts import check_robot
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.motors import shaft_limits

KINDS = ("torque", "velocity", "acceleration")
_AT_LIMIT = 0.999  # of a limit: from here on it counts as reached

T = TypeVar("T")


@dataclass(frozen=True)
class TimingCurves:
    """Torques (N, n) of a motion as given, scaled linearly and in least time, and their limits (n,).

    A limit is that of the joint, or of a motor that drives it alone, whichever is lower.
    """

    robot: Robot
    t: np.ndarray
    torque: np.ndarray  # as given
    duration: float  # as given [s]
    scaled: Scaled | None
    optimal: TimeOptimal | None
    limit: np.ndarray
    motors: bool = False  # whether motors have limits of their own

    @property
    def limited(self) -> bool:
        return bool(np.isfinite(self.limit).any())

    def share(self, timing: Scaled | TimeOptimal) -> float:
        """The largest torque of a timing in parts of its limit."""
        return float((np.abs(timing.torque) / self.limit).max())


def timing_curves(subject: Subject, scaled: Scaled | None, optimal: TimeOptimal | None) -> TimingCurves:
    """The limits are those that the timings were computed with."""
    robot, duration = subject.robot, subject.trajectory.duration
    limits = _limits(robot, optimal or scaled)
    limit, motors = limits.torque.bound[: robot.n], bool(np.isfinite(limits.motor.torque).any())
    return TimingCurves(robot, subject.samples.t, subject.torque, duration, scaled, optimal, limit, motors)


@dataclass(frozen=True)
class PathSpeed:
    """The speed along a path in least time, and where joints and motors are at a limit.

    `names` are the n joints, 1 to n, then the motors that have limits of their own, M and a number.
    """

    names: tuple[str, ...]
    s: np.ndarray  # (N + 1,)
    speed: np.ndarray  # (N + 1,) [1/s]
    at_limit: dict[str, np.ndarray]  # limit -> (N, names): whether it is reached on an interval of the path

    @property
    def has_motors(self) -> bool:
        return self.names[-1].startswith("M")

    @property
    def covered(self) -> float:
        """The part of the path on which some limit is reached."""
        anywhere = np.any([reached.any(1) for reached in self.at_limit.values()], axis=0)
        return float(np.diff(self.s)[anywhere].sum())


def path_speed(robot: Robot, optimal: TimeOptimal) -> PathSpeed:
    check_robot(robot, optimal.trajectory)
    limits = _limits(robot, optimal)
    middle = (optimal.t[0::2] + optimal.t[1::2]) / 2
    q, qd, qdd = optimal.trajectory(middle)
    torque = limits.torque.share(optimal.torque).reshape(len(middle), 2, -1).max(1)
    speeds, accelerations = limits.velocities(q, qd), limits.accelerations(q, qd, qdd)
    shares = (torque, limits.velocity.share(speeds), limits.acceleration.share(accelerations))
    labels = [limit for rows in limits.kinds for limit in rows.limits]
    motors = sorted({limit.index for limit in labels if limit.of_motor})
    place = {index: robot.n + k for k, index in enumerate(motors)}
    reached = {kind: np.zeros((len(middle), robot.n + len(motors)), bool) for kind in KINDS}
    for kind, rows, share in zip(KINDS, limits.kinds, shares, strict=True):
        for limit, x in zip(rows.limits, share.T, strict=True):
            if limit.of_follower:
                continue  # it has no line of its own among the joints
            reached[kind][:, place[limit.index] if limit.of_motor else limit.index] |= x >= _AT_LIMIT
    names = (*(str(j + 1) for j in range(robot.n)), *(f"M{i + 1}" for i in motors))
    return PathSpeed(names, optimal.s, optimal.speed, reached)


def _limits(robot: Robot, timing: TimeOptimal | Scaled | None) -> Limits:
    """The limits of joints and motors that a timing was computed with; without one, those of the robot."""
    if timing is None:
        return limits_for(robot)
    joint, motor = timing.limits, timing.motor_limits
    own = (joint.torque, joint.velocity, joint.acceleration)
    return limits_for(robot, *own, motor_torque=motor.torque, motor_velocity=motor.velocity)


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
