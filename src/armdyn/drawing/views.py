"""From where a robot is looked at: a planar arm at right angles to its plane, any other isometrically."""

from __future__ import annotations

from dataclasses import dataclass
from math import cos, radians, sin
from typing import Any

import numpy as np

from armdyn.drawing.errors import check
from armdyn.drawing.skeleton import Skeleton, gravity_in_world, skeleton
from armdyn.robot import Robot

_TOLERANCE = 1e-9
_ELEVATION = radians(24)
_AZIMUTHS = (-60, -30, 30, 60, -120, 120)  # degrees about the vertical; the first that shows most is taken
_OBLIQUE = (-48, 48, 12, -12)  # the same for linkages, whose legs often stand at thirds of a turn
_NAMES = "xyz"


@dataclass(frozen=True)
class View:
    """A parallel projection: `right` and `up` lie in the paper, `towards` points at the reader."""

    right: np.ndarray
    up: np.ndarray
    towards: np.ndarray
    planar: bool
    vertical: np.ndarray  # what is up for the robot, world axes

    @property
    def matrix(self) -> np.ndarray:
        """(2, 3)"""
        return np.array([self.right, self.up])

    def flat(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) on paper, (..., 2)."""
        return np.asarray(points @ self.matrix.T)

    def axis_name(self, direction: np.ndarray) -> str:
        """ "x", "−y", …: the world axis along a direction, or "" where none is."""
        k = int(np.abs(direction).argmax())
        if abs(abs(direction[k]) - 1) > 1e-6:
            return ""
        return ("" if direction[k] > 0 else "−") + _NAMES[k]


def view_of(robot: Robot, arm: Skeleton) -> View:
    """The view of a robot: at its plane where it has one."""
    gravity = gravity_in_world(robot)
    normal = plane_normal(arm)
    if normal is not None:
        return _planar(normal, gravity)
    weight = float(np.linalg.norm(gravity))
    vertical = -gravity / weight if weight > _TOLERANCE else np.array([0.0, 0.0, 1.0])
    azimuths = _OBLIQUE if arm.closings else _AZIMUTHS
    views = [_isometric(vertical, radians(a)) for a in azimuths]
    return max(views, key=lambda view: round(_area(view.flat(arm.points)), 6))


@dataclass(frozen=True)
class Posture:
    """A robot in a posture: joint positions (n,), what is drawn of it, and from where it is seen."""

    q: np.ndarray
    arm: Skeleton
    view: View

    @classmethod
    def of(cls, robot: Robot, q: Any) -> Posture:
        """One posture q (n,), checked."""
        found = check.posture("q", q, robot.n)
        arm = skeleton(robot, found)
        return cls(found, arm, view_of(robot, arm))


def plane_normal(arm: Skeleton) -> np.ndarray | None:
    """The direction at right angles to the plane the arm moves in; None for an arm that moves in space."""
    turning = [joint.axis for joint in arm.joints if joint.revolute]
    sliding = [joint.axis for joint in arm.joints if not joint.revolute]
    normals = turning or [np.cross(sliding[0], axis) for axis in sliding[1:]]
    sizes = [float(np.linalg.norm(x)) for x in normals]
    if max(sizes, default=0.0) < 1e-6:
        return None
    k = int(np.argmax(sizes))
    normal = normals[k] / sizes[k]
    parallel = all(np.abs(np.cross(normal, axis)).max() < 1e-6 for axis in turning)
    across = all(abs(float(normal @ axis)) < 1e-6 for axis in sliding)
    return normal if parallel and across else None


def _planar(normal: np.ndarray, gravity: np.ndarray) -> View:
    """Up is against gravity where gravity lies in the plane, else the world's y or z."""
    if normal[int(np.abs(normal).argmax())] < 0:
        normal = -normal
    within = gravity - normal * float(normal @ gravity)
    weight = float(np.linalg.norm(within))
    if weight > 1e-6:
        up = -within / weight
        right = np.cross(up, normal)
        if right[int(np.abs(right).argmax())] < 0:
            right, normal = -right, -normal
    else:
        x = np.array([1.0, 0.0, 0.0])
        start = x if abs(float(normal @ x)) < 0.9 else np.array([0.0, 1.0, 0.0])
        right = start - normal * float(normal @ start)
        right = right / np.linalg.norm(right)
        up = np.cross(normal, right)
    return View(right, up, normal, True, up)


def _isometric(vertical: np.ndarray, azimuth: float) -> View:
    """Seen from above by `_ELEVATION`, turned by `azimuth` about the vertical."""
    start = np.array([1.0, 0.0, 0.0]) if abs(vertical[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    x = start - vertical * float(vertical @ start)
    x = x / np.linalg.norm(x)
    y = np.cross(vertical, x)
    level = cos(azimuth) * x + sin(azimuth) * y
    towards = cos(_ELEVATION) * level + sin(_ELEVATION) * vertical
    right = np.cross(vertical, level)
    return View(right, np.cross(towards, right), towards, False, vertical)


def _area(points: np.ndarray) -> float:
    """How much of the paper points take: the spread in both directions."""
    spread = np.ptp(points, axis=0)
    scatter = np.linalg.svd(points - points.mean(0), compute_uv=False)
    return float(spread[0] * 0.5 + scatter[-1])


def nice_below(x: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above x."""
    power = 10.0 ** np.floor(np.log10(x))
    return float(max(step for step in (1, 2, 5) if step * power <= x * (1 + 1e-9)) * power)
