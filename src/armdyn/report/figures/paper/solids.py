"""Joint symbols as small solids, seen through a view: the outline and the faces turned to the reader."""

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull

from armdyn.report.findings.drawn.skeleton import JointPlace
from armdyn.report.findings.drawn.views import View

_CIRCLE = np.linspace(0, 2 * np.pi, 41)[:-1]


def joint_faces(joint: JointPlace, view: View, radius: float) -> list[np.ndarray]:
    """Polygons on paper, farthest first: a cylinder for a revolute joint, a sleeve for a prismatic one."""
    if joint.revolute:
        return cylinder(joint.point, joint.axis, view, radius, 1.1 * radius)
    return _box(sleeve_centre(joint, radius), joint.axis, view, 1.7 * radius, 0.85 * radius)


def sleeve_centre(joint: JointPlace, radius: float) -> np.ndarray:
    """Half-way along the slider's rod, unless that is too short to show."""
    rod = joint.slider - joint.point
    return joint.point + rod / 2 if np.linalg.norm(rod) > 4 * radius else joint.point


def cylinder(
    centre: np.ndarray, axis: np.ndarray, view: View, radius: float, half: float
) -> list[np.ndarray]:
    """Its outline, and the end that is turned to the reader."""
    u, v = _across(axis, view)
    ring = radius * (np.outer(np.cos(_CIRCLE), u) + np.outer(np.sin(_CIRCLE), v))
    ends = [view.flat(centre + sign * half * axis + ring) for sign in (-1, 1)]
    facing = float(axis @ view.towards)
    faces = [_hull(np.vstack(ends))]
    if abs(facing) > 0.02:
        faces.append(ends[facing > 0])
    return faces


def ball(centre: np.ndarray, view: View, radius: float) -> list[np.ndarray]:
    """A sphere: its outline."""
    ring = np.outer(np.cos(_CIRCLE), view.right) + np.outer(np.sin(_CIRCLE), view.up)
    return [view.flat(centre + 0.9 * radius * ring)]


def _box(centre: np.ndarray, axis: np.ndarray, view: View, half: float, side: float) -> list[np.ndarray]:
    u, v = _across(axis, view)
    edges = (half * axis, side * u, side * v)
    faces = []
    for k in range(3):
        n, a, b = edges[k], edges[(k + 1) % 3], edges[(k + 2) % 3]
        facing = float(n @ view.towards)
        if abs(facing) > 1e-6 * half:
            middle = centre + (n if facing > 0 else -n)
            corners = np.array([middle + a + b, middle - a + b, middle - a - b, middle + a - b])
            faces.append(view.flat(corners))
    return faces


def _across(axis: np.ndarray, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors at right angles to the axis, the first in the paper where there is a choice."""
    u = np.cross(axis, view.towards)
    if np.linalg.norm(u) < 1e-6:
        u = view.right - axis * float(axis @ view.right)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def _hull(points: np.ndarray) -> np.ndarray:
    scale = float(np.ptp(points, axis=0).max())
    if min(np.ptp(points, axis=0)) < 1e-9 * scale:
        return points
    return np.asarray(points[ConvexHull(points, qhull_options="QJ Pp").vertices])
