"""Volume, centroid and second moments of a polyhedron, by the divergence theorem: exact but for rounding.

Each triangle a b c and a point in the middle of the body span a tetrahedron of signed volume d/6,
d = a·(b × c) with corners taken from that point. Over it the integral of x is d/24 s, and that of x xᵀ is
d/120 (s sᵀ + a aᵀ + b bᵀ + c cᵀ), with s = a + b + c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from armdyn.model.meshes.surface import Surface

_BLOCK = 1 << 16  # triangles at a time


@dataclass(frozen=True)
class Moments:
    """Of the volume: its size, its centroid, and ∫ x xᵀ dV / V about the centroid, in the file's unit."""

    volume: float
    centroid: np.ndarray  # (3,)
    spread: np.ndarray  # (3, 3)


def moments(surface: Surface) -> Moments:
    """Integrated about the middle of the body, then about its centroid: far bodies keep their digits."""
    low, high = surface.bounds
    middle = (low + high) / 2
    volume, first, _ = _about(surface, middle)
    centre = middle + first / volume
    volume, first, second = _about(surface, centre)
    rest = first / volume  # of rounding
    return Moments(volume, centre + rest, second / volume - np.outer(rest, rest))


def _about(surface: Surface, origin: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, ∫ x dV and ∫ x xᵀ dV, with x taken from `origin`."""
    rows, columns = np.triu_indices(3)
    parts: list[np.ndarray] = []
    for i in range(0, len(surface.triangles), _BLOCK):
        corners = surface.points[surface.triangles[i : i + _BLOCK]] - origin
        a, b, c = (np.ascontiguousarray(corners[:, k].T) for k in range(3))
        s = a + b + c
        d = (a * np.cross(b, c, axis=0)).sum(axis=0)
        second = sum(p[rows] * p[columns] for p in (a, b, c, s))
        parts.append(np.concatenate([d[None], d * s, d * second]).sum(axis=1))
    total = np.array([math.fsum(column) for column in zip(*parts, strict=True)])
    tensor = np.empty((3, 3))
    tensor[rows, columns] = tensor[columns, rows] = total[4:] / 120
    return total[0] / 6, total[1:4] / 24, tensor
