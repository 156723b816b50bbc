"""What the tip can do in a posture: ellipsoids of its accelerations, velocities and forces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.analysis.ellipsoid import Ellipsoid
from armdyn.analysis.manipulability import dynamic_manipulability, force_ellipsoid, velocity_ellipsoid
from armdyn.report.findings.drawn.views import nice_below
from armdyn.report.findings.subject import Posture, Subject
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits


@dataclass(frozen=True)
class AccelerationEllipsoids:
    """Accelerations of the tip at rest [m/s²] for torques of unit norm."""

    posture: Posture
    shifted: Ellipsoid  # (7.148), with gravity
    still: Ellipsoid  # without it
    reachable: Ellipsoid | None  # all that the torques of a redundant arm reach
    unit: str  # of the torques

    @property
    def shift(self) -> float:
        """By how much gravity moves the ellipsoid [m/s²]."""
        return float(np.linalg.norm(self.shifted.centre))


def acceleration_ellipsoids(robot: Robot, posture: Posture, weights: Any) -> AccelerationEllipsoids:
    """`weights`: "torque_limits", a number, or one for each joint [N m or N]; None chooses them."""
    q = posture.q
    weights, unit = _unit(robot, q, weights)
    shifted = dynamic_manipulability(robot, q, weights=weights)
    still = dynamic_manipulability(robot, q, weights=weights, gravity=False)
    redundant = robot.n > shifted.m
    reachable = dynamic_manipulability(robot, q, weights=weights, kind="reachable") if redundant else None
    return AccelerationEllipsoids(posture, shifted, still, reachable, unit)


def _unit(robot: Robot, q: np.ndarray, weights: Any) -> tuple[Any, str]:
    """Weights of the torques, and what the legend calls them."""
    if weights is None and np.isfinite(joint_limits(robot).torque).all():
        weights = "torque_limits"
    if isinstance(weights, str):
        return weights, "torques of norm 1 in units of their limits"
    if weights is None:
        size = float(np.linalg.norm(robot.gravity(q)))
        weights = nice_below(2 * size) if size > 0 else 1.0
    if np.ndim(weights) == 0:
        return weights, f"torques of norm {weights:g} N m or N"
    return weights, "torques of norm 1 in units of the joints' strengths"


@dataclass(frozen=True)
class KinematicEllipsoids:
    """Velocities and forces of the tip for joint velocities and torques of unit norm."""

    posture: Posture
    velocity: Ellipsoid
    force: Ellipsoid

    @property
    def bounded(self) -> bool:
        """Whether the force ellipsoid is one: the structure bears no force by itself."""
        return bool(np.isfinite(self.force.lengths).all())

    @property
    def anisotropy(self) -> float:
        """The largest velocity over the smallest; infinite where the tip cannot move in some direction."""
        shortest = float(self.velocity.lengths.min())
        return float(self.velocity.lengths.max()) / shortest if shortest > 0 else float("inf")


def kinematic_ellipsoids(robot: Robot, posture: Posture) -> KinematicEllipsoids:
    q = posture.q
    return KinematicEllipsoids(posture, velocity_ellipsoid(robot, q), force_ellipsoid(robot, q))


@dataclass(frozen=True)
class EllipsoidsFinding:
    """The ellipsoids half-way through the motion, and what the torques are measured by."""

    acceleration: AccelerationEllipsoids
    kinematic: KinematicEllipsoids
    strength: str
    elastic: bool  # joints, which are taken as rigid


def find_ellipsoids(subject: Subject) -> EllipsoidsFinding:
    """Of the arm with rigid joints: behind elastic ones torques accelerate no link at once."""
    robot = subject.robot_half_way.with_rigid_joints()
    posture = replace(subject.middle, q=subject.middle.q[: robot.n])
    weights, strength = _strength(subject, robot)
    return EllipsoidsFinding(
        acceleration_ellipsoids(robot, posture, weights),
        kinematic_ellipsoids(robot, posture),
        strength,
        bool(subject.robot.model.elastic),
    )


def _strength(subject: Subject, rigid: Robot) -> tuple[Any, str]:
    """The torques that count as one unit: the limits, or else the largest of the motion."""
    if np.isfinite(joint_limits(rigid).torque).all():
        return "torque_limits", "torques of unit norm when each is divided by its limit"
    tau = np.abs(_rigid_torque(subject, rigid)).max(0)
    if not tau.max() > 0:
        return 1.0, "torques of unit norm"
    return (
        np.maximum(tau, 1e-3 * tau.max()),
        "torques of unit norm when each is divided by its largest value in the motion above",
    )


def _rigid_torque(subject: Subject, rigid: Robot) -> np.ndarray:
    """The torques of the motion (N, n); behind elastic joints those that the motors give in their place."""
    torque, links = subject.torque[:, : rigid.n].copy(), [link.name for link in rigid.model.coordinates]
    for i, link in enumerate(subject.robot.model.elastic):
        if link.name in links:
            torque[:, links.index(link.name)] += subject.torque[:, rigid.n + i]
    return torque
