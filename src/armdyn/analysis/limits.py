"""The limits of a robot's joints as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.expression import Expression
from armdyn.robot import Robot


@dataclass(frozen=True)
class JointLimits:
    """Limits of the n moving joints, (n,) each; infinite where the description gives none.

    `torque`, `velocity`, `acceleration` and `jerk` bound magnitudes.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    torque: np.ndarray


def joint_limits(robot: Robot) -> JointLimits:
    """The limits in a robot's description [rad or m, and per s, s², s³; N m or N]."""
    model, moving = robot.model, robot.model.moving

    def magnitudes(found: list[Expression | None]) -> np.ndarray:
        return np.array([np.inf if x is None else model.number(x) for x in found])

    ranges = [link.limits.position for link in moving]
    return JointLimits(
        lower=np.array([-np.inf if r is None else model.number(r[0]) for r in ranges]),
        upper=np.array([np.inf if r is None else model.number(r[1]) for r in ranges]),
        velocity=magnitudes([link.limits.velocity for link in moving]),
        acceleration=magnitudes([link.limits.acceleration for link in moving]),
        jerk=magnitudes([link.limits.jerk for link in moving]),
        torque=magnitudes([link.limits.torque for link in moving]),
    )


def joint_name(robot: Robot, joint: int) -> str:
    """How messages call a joint: its number, counted from one, and its link."""
    return f"joint {joint + 1} ('{robot.model.moving[joint].name}')"


def torque_unit(robot: Robot, joint: int) -> str:
    return "N m" if robot.model.moving[joint].joint == "revolute" else "N"
