"""An ellipsoid with a centre, for any leading axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.analysis.errors import AnalysisError, check
from armdyn.output import Shown


@dataclass(frozen=True)
class Ellipsoid(Shown):
    """Velocities, accelerations or forces of the tip (m rows) for joint velocities or torques of unit norm.

    `kind` names the set and `description` describes it. A length is 0 along a direction in which the tip
    cannot move, and infinite along a force that the structure bears by itself.
    """

    kind: str
    description: str
    names: tuple[str, ...]  # the rows, such as x, y
    centre: np.ndarray  # (..., m)
    axes: np.ndarray  # (..., m, m): unit vectors in columns
    lengths: np.ndarray  # (..., m): semi-axes, the longest first
    to_joints: np.ndarray  # (..., n, m): joint velocities or torques for a point, relative to the centre

    @property
    def m(self) -> int:
        return len(self.names)

    @property
    def measure(self) -> np.ndarray:
        """(...): the product of the semi-axes, proportional to the volume."""
        return np.asarray(self.lengths.prod(-1))

    def points(self, directions: Any) -> np.ndarray:
        """Surface points (..., k, m) for unit vectors (k, m) of the sphere the ellipsoid is made from."""
        directions = self._rows("directions", directions)
        if not np.isfinite(self.lengths).all():
            raise AnalysisError(
                f"{self.kind}: the ellipsoid is not bounded at {_first(~np.isfinite(self.lengths))}; "
                "its surface cannot be drawn there"
            )
        scaled = self.axes * self.lengths[..., None, :]
        return np.asarray(self.centre[..., None, :] + directions @ scaled.swapaxes(-1, -2))

    def boundary(self, k: int = 200) -> np.ndarray:
        """k points of the surface (..., k, m): around an ellipse (the last one is the first again), or spread
        over an ellipsoid."""
        if k < 2:
            raise AnalysisError(f"k: found {k}; at least 2 points are expected")
        return self.points(_sphere(self.m, k))

    def joints(self, points: Any) -> np.ndarray:
        """Joint velocities or torques (..., k, n) for points (..., k, m): of unit norm on the surface, of
        smaller norm inside."""
        points = self._rows("points", points)
        return np.asarray((points - self.centre[..., None, :]) @ self.to_joints.swapaxes(-1, -2))

    def __repr__(self) -> str:
        many = f", {self.lengths.shape[:-1]} of them" if self.lengths.ndim > 1 else ""
        return f"<Ellipsoid {self.kind} ({', '.join(self.names)}): {self.description}{many}>"

    def _rows(self, name: str, value: Any) -> np.ndarray:
        """`value` as (..., k, m) that fits the ellipsoids; (m,) is one row."""
        rows = np.atleast_2d(check.numbers(name, value, self.m))
        check.fit_together((*self.centre.shape[:-1], 1), **{name: rows})
        return rows


def _first(mask: np.ndarray) -> str:
    where = tuple(int(i) for i in np.argwhere(mask)[0][:-1])
    return f"sample {where}" if where else "this posture"


def _sphere(m: int, k: int) -> np.ndarray:
    """k unit vectors (k, m)."""
    if m == 1:
        return np.where(np.arange(k) < (k + 1) // 2, 1.0, -1.0)[:, None]
    if m == 2:
        angle = np.linspace(0, 2 * np.pi, k)
        return np.stack([np.cos(angle), np.sin(angle)], -1)
    if m == 3:  # equal steps along the axis, golden angle around it
        height = 1 - (2 * np.arange(k) + 1) / k
        angle = np.pi * (3 - np.sqrt(5)) * np.arange(k)
        radius = np.sqrt(1 - height**2)
        return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], -1)
    found = np.random.default_rng(0).normal(size=(k, m))
    return np.asarray(found / np.linalg.norm(found, axis=-1, keepdims=True))
