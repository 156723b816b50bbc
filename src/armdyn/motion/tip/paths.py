"""Paths of the tip: straight lines and arcs, with a rotation on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.tip.inverse_kinematics import position_or_pose

ROUNDING = 1e-12  # m, or of the tip's coordinates where those are larger than 1 m
MOST_TURNS = 10_000


@dataclass(frozen=True)
class TipPath:
    """Poses of the tip over s from 0 to `size`: metres, or radians where the tip only turns.

    The tip goes `straight` per s and, with `bend` (rad per s about `centre` and `axis`), around; it turns by
    `spin` per s, world axes.
    """

    start: np.ndarray  # (4, 4)
    size: float
    straight: np.ndarray  # (3,)
    spin: np.ndarray  # (3,)
    centre: np.ndarray  # (3,)
    bend: np.ndarray  # (3,)

    def poses(self, s: np.ndarray) -> np.ndarray:
        """Poses (N, 4, 4) at s (N,)."""
        found = np.zeros((len(s), 4, 4))
        found[:, 3, 3] = 1.0
        found[:, :3, :3] = Rotation.from_rotvec(s[:, None] * self.spin).as_matrix() @ self.start[:3, :3]
        angle, side, inward = self._circle(s)
        # From the start, not from the centre, which may be far: a nearly straight arc is as exact as a line.
        moved = np.sin(angle) * side + 2 * np.sin(angle / 2) ** 2 * inward
        found[:, :3, 3] = self.start[:3, 3] + moved + s[:, None] * self.straight
        return found

    def slopes(self, s: np.ndarray) -> np.ndarray:
        """Derivatives (N, 6) by s of the tip's position over its orientation."""
        angle, side, inward = self._circle(s)
        move = np.linalg.norm(self.bend) * (np.cos(angle) * side + np.sin(angle) * inward) + self.straight
        return np.column_stack([move, np.broadcast_to(self.spin, move.shape)])

    def _circle(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The angle (N, 1) of the bend, and the radius (3,) at the start: turned by a right angle; inward."""
        rate = float(np.linalg.norm(self.bend))
        axis = self.bend / (rate or 1.0)
        side = np.cross(axis, self.start[:3, 3] - self.centre)
        return rate * s[:, None], side, np.cross(axis, side)


def line(start: np.ndarray, end: Any, displacement: Any, orientation: Any) -> tuple[TipPath, bool | None]:
    """Path from the pose `start` to a point or pose, or by a displacement; and whether orientation counts.

    `orientation`: "auto", "keep", "free" (or None), or a rotation (3, 3) to turn to; a pose as `end` has its
    own. It is None in the answer where the arm decides whether it counts.
    """
    if (end is None) == (displacement is None):
        raise MotionError("line: either an end or a displacement is expected")
    if end is None:
        way, final = check.point("displacement", displacement), None
    else:
        place = position_or_pose("end", end)
        way = (place if place.ndim == 1 else place[:3, 3]) - start[:3, 3]
        final = None if place.ndim == 1 else place[:3, :3]
    counts: bool | None = True
    if orientation is None or isinstance(orientation, str):
        word = orientation or "free"
        if word not in ("auto", "keep", "free"):
            raise MotionError(
                f"orientation: found {shown(word)}; allowed: 'auto', 'keep', 'free', a rotation (3, 3)"
            )
        final = final if word == "auto" else start[:3, :3] if word == "keep" else None
        counts = False if word == "free" else True if final is not None else None
    else:
        final = check.rotation("orientation", orientation)
    turn = np.zeros(3) if final is None else Rotation.from_matrix(final @ start[:3, :3].T).as_rotvec()
    length = float(np.linalg.norm(way))
    if length <= _rounding(start):
        way, length = np.zeros(3), 0.0
    angle = float(np.linalg.norm(turn))
    if angle <= 1e-12:
        turn, angle = np.zeros(3), 0.0
    # Next to a turn, a distance this short is covered too, but s counts radians.
    size = length if length > 1e-6 * angle else angle
    zero = np.zeros(3)
    path = TipPath(start, size, way / (size or 1.0), turn / (size or 1.0), start[:3, 3], zero)
    return path, counts


def arc(
    start: np.ndarray, centre: Any, axis: Any, angle: float, orientation: Any
) -> tuple[TipPath, bool | None]:
    """Path from the pose `start` around an axis through a centre by an angle; and whether orientation counts.

    `orientation`: "auto", "keep", "free" (or None), or "follow", with which the tip turns with the circle.
    """
    counts = {"auto": None, "keep": True, "follow": True, "free": False}
    orientation = "free" if orientation is None else orientation
    check.one_of("orientation", orientation, *counts)
    middle, direction = check.point("centre", centre), check.point("axis", axis)
    length = float(np.linalg.norm(direction))
    if length == 0:
        raise MotionError("axis: found a zero vector; a direction is expected")
    angle = check.number("angle", angle)
    if not abs(angle) <= MOST_TURNS * 2 * np.pi:
        raise MotionError(f"angle: found {angle:g} rad; at most {MOST_TURNS} turns are expected")
    direction = direction / length
    out = start[:3, 3] - middle
    radius = float(np.linalg.norm(out - (out @ direction) * direction))
    if radius <= _rounding(start):
        raise MotionError("circle: the tip is on the axis, so the radius would be zero")
    bend = direction * np.sign(angle) / radius
    length = radius * abs(angle)
    length = length if length > _rounding(start) else 0.0
    spin = bend if orientation == "follow" else np.zeros(3)
    return TipPath(start, length, np.zeros(3), spin, middle, bend), counts[orientation]


def _rounding(start: np.ndarray) -> float:
    """A distance smaller than this [m] is rounding error."""
    return ROUNDING * max(1.0, float(np.abs(start[:3, 3]).max()))
