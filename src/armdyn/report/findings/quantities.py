"""Joints by kind, and the names and units of what is drawn about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.analysis.arrays import joint_arrays
from armdyn.motion.timing.speed_parts import check_robot
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.report.errors import ReportError
from armdyn.robot import Robot

POINTS = 400  # samples of a curve on paper


@dataclass(frozen=True)
class Kind:
    """The joints of one kind and their units."""

    name: str
    joints: tuple[int, ...]
    position: str
    torque: str
    effort: str  # what a torque is called here

    @property
    def units(self) -> tuple[str, str, str, str]:
        """Of position, velocity, acceleration, torque."""
        return self.position, f"{self.position}/s", f"{self.position}/s²", self.torque


def joint_kinds(robot: Robot) -> list[Kind]:
    """The kinds of joints a robot has, revolute first."""
    of = {
        kind: tuple(i for i, link in enumerate(robot.model.moving) if link.joint == kind)
        for kind in ("revolute", "prismatic")
    }
    kinds = [
        Kind("revolute", of["revolute"], "rad", "N m", "torque"),
        Kind("prismatic", of["prismatic"], "m", "N", "force"),
    ]
    return [kind for kind in kinds if kind.joints]


def effort_label(robot: Robot, joint: int) -> str:
    """ "torque [N m]" or "force [N]"."""
    revolute = robot.model.moving[joint].joint == "revolute"
    return "torque [N m]" if revolute else "force [N]"


def joint_label(robot: Robot, joint: int) -> str:
    return f"joint {joint + 1}" if robot.n <= 3 else str(joint + 1)


def posture(robot: Robot, q: Any) -> np.ndarray:
    """One posture (n,), checked."""
    (found,) = joint_arrays(robot, q=q)
    if found.ndim != 1:
        raise ReportError(f"q: found shape {found.shape}; one posture ({robot.n},) is expected")
    return found


def on_paper(robot: Robot, trajectory: Trajectory) -> Samples:
    """Samples of a robot's motion for drawing: about `POINTS` of them, and both sides of every jump."""
    check_robot(robot, trajectory)
    return trajectory.samples(trajectory.duration / POINTS)


def tip_motion(robot: Robot, samples: Samples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Position, velocity and acceleration (N, 3) of the tip: J q̇ and J q̈ + J̇ q̇."""
    J = np.asarray(robot.jacobian(samples.q))[:, :3]
    J_dot = np.asarray(robot.jacobian_dot(samples.q, samples.qd))[:, :3]
    velocity = np.einsum("tij,tj->ti", J, samples.qd)
    acceleration = np.einsum("tij,tj->ti", J, samples.qdd) + np.einsum("tij,tj->ti", J_dot, samples.qd)
    return np.asarray(robot.pose(samples.q))[:, :3, 3], velocity, acceleration


def joint_title(robot: Robot, joint: int) -> str:
    """The joint's number and, where the figures' font has its letters, its link."""
    name = robot.model.moving[joint].name
    drawable = name.isprintable() and all(ord(c) < 0x250 for c in name)
    shown = name if len(name) <= 32 else name[:31] + "…"
    return f"joint {joint + 1}, {shown}" if drawable else f"joint {joint + 1}"
