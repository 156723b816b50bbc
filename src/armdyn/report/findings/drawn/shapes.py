"""Plain shapes as triangles: tubes, balls, boxes and cones, from which the solids of an arm are made."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np


class Mesh(NamedTuple):
    """Corners (V, 3) [m] and triangles (F, 3) of their numbers, seen from outside counter-clockwise."""

    vertices: np.ndarray
    triangles: np.ndarray


def together(meshes: Sequence[Mesh]) -> Mesh:
    """Several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    triangles = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.vstack([mesh.vertices for mesh in meshes]), np.vstack(triangles))


def across(axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors u and v at right angles to a unit vector, with u × v along it."""
    least = np.eye(3)[int(np.abs(axis).argmin())]
    u = np.cross(least, axis)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def cone(
    start: np.ndarray, end: np.ndarray, first: float, last: float, sides: int = 20, caps: bool = True
) -> Mesh:
    """A tube from one point to another that is `first` thick at its start and `last` at its end (radii)."""
    along = end - start
    u, v = across(along / np.linalg.norm(along))
    turn = np.arange(sides) * (2 * np.pi / sides)
    ring = np.outer(np.cos(turn), u) + np.outer(np.sin(turn), v)
    vertices = [start + first * ring, end + last * ring]
    k, following = np.arange(sides), np.roll(np.arange(sides), -1)
    triangles = [
        np.column_stack([k, following, sides + following]),
        np.column_stack([k, sides + following, sides + k]),
    ]
    if caps:
        vertices.append(np.array([start, end]))
        triangles.append(np.column_stack([np.full(sides, 2 * sides), following, k]))
        triangles.append(np.column_stack([np.full(sides, 2 * sides + 1), sides + k, sides + following]))
    return Mesh(np.vstack(vertices), np.vstack(triangles))


def cylinder(centre: np.ndarray, axis: np.ndarray, radius: float, half: float, sides: int = 28) -> Mesh:
    """A cylinder about a unit vector; it reaches `half` to either side of its centre."""
    return cone(centre - half * axis, centre + half * axis, radius, radius, sides)


def ball(centre: np.ndarray, radius: float, sides: int = 16) -> Mesh:
    """A sphere in `sides` meridians and half as many bands."""
    bands = sides // 2
    latitude = np.linspace(-np.pi / 2, np.pi / 2, bands + 1)[1:-1]
    turn = np.arange(sides) * (2 * np.pi / sides)
    rings = [
        np.column_stack([np.cos(a) * np.cos(turn), np.cos(a) * np.sin(turn), np.full(sides, np.sin(a))])
        for a in latitude
    ]
    poles = np.array([[0.0, 0.0, -1.0], [0.0, 0.0, 1.0]])
    vertices = centre + radius * np.vstack([*rings, poles])
    k, following = np.arange(sides), np.roll(np.arange(sides), -1)
    south, last = len(rings) * sides, (len(rings) - 1) * sides
    triangles = [np.column_stack([np.full(sides, south), following, k])]
    for band in range(len(rings) - 1):
        low, high = band * sides, (band + 1) * sides
        triangles.append(np.column_stack([low + k, low + following, high + following]))
        triangles.append(np.column_stack([low + k, high + following, high + k]))
    triangles.append(np.column_stack([np.full(sides, south + 1), last + k, last + following]))
    return Mesh(vertices, np.vstack(triangles))


def box(centre: np.ndarray, axis: np.ndarray, half: float, side: float) -> Mesh:
    """A box that reaches `half` along a unit vector to either side, and `side` across it."""
    u, v = across(axis)
    signs = np.array([(a, b, c) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
    vertices = centre + signs @ np.array([half * axis, side * u, side * v])
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [corner for a, b, c, d in faces for corner in ((a, b, c), (a, c, d))]
    return Mesh(vertices, np.array(triangles))


def rod(points: np.ndarray, radius: float) -> list[Mesh]:
    """A bent rod through points (P, 3), round at its corners and ends."""
    pieces = [cone(a, b, radius, radius, 14, caps=False) for a, b in pairwise(points)]
    return [*pieces, *(ball(point, radius, 14) for point in points)]
