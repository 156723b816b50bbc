"""A robot's joints: their names, units and limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from armdyn.expression import Expression
from armdyn.robot.robot import Robot


@dataclass(frozen=True)
class Units:
    """How a kind of joint is measured, and what its torque is called."""

    position: str
    torque: str
    effort: str

    @property
    def velocity(self) -> str:
        return f"{self.position}/s"

    @property
    def acceleration(self) -> str:
        return f"{self.position}/s²"

    def __iter__(self) -> Iterator[str]:
        """Of position, velocity, acceleration, torque."""
        return iter((self.position, self.velocity, self.acceleration, self.torque))


UNITS = {"revolute": Units("rad", "N m", "torque"), "prismatic": Units("m", "N", "force")}


def joint_units(robot: Robot, joint: int) -> Units:
    return UNITS[robot.model.moving[joint].joint]


def torque_unit(robot: Robot, joint: int) -> str:
    return joint_units(robot, joint).torque


def joint_name(robot: Robot, joint: int) -> str:
    """How messages call a joint: its number, counted from one, and its link."""
    return f"joint {joint + 1} ('{robot.model.moving[joint].name}')"


def joint_descriptions(robot: Robot) -> list[str]:
    """How files call the joints: the link and what its joint does."""
    return [f"{link.name} ({link.joint})" for link in robot.model.moving]


def revolute_joints(robot: Robot) -> np.ndarray:
    """(n,): whether a joint turns; the others slide."""
    return np.array([link.joint == "revolute" for link in robot.model.moving])


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
