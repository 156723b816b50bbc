"""A robot's friction as arrays, in three parts: what grows with speed, what depends on its sign, the offset.

friction(q̇) = viscous · q̇ + Σ_e a_e f_e(sign(a_e · q̇)) + offset

Dry friction acts on surfaces e: a joint (a_e is a unit vector), or a motor whose transmission couples several
joints (a_e is its row, so that a_e · q̇ is the motor's speed).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from armdyn.model.friction import Surface
from armdyn.robot.robot import Robot


@dataclass(frozen=True)
class FrictionParts:
    """Friction as arrays, for n joints and E surfaces with dry friction."""

    viscous: np.ndarray  # (n, n), symmetric [N m s/rad]
    rows: np.ndarray  # (E, n): speed of a surface = rows @ qd
    forward: np.ndarray  # (E,) torque on the surface at positive speed [N m]
    backward: np.ndarray  # (E,) torque at negative speed, negative as a rule
    offset: np.ndarray  # (n,) torque at any speed
    smooth: tuple[tuple[np.ndarray, Surface], ...]  # (n,) rows and what grows with speed along them

    def growing(self, qd: np.ndarray) -> np.ndarray:
        """Friction (..., n) that grows with speed, at joint velocities (..., n)."""
        total = np.zeros(qd.shape)
        for row, surface in self.smooth:
            speed = qd @ row
            total += np.asarray(surface.torque(speed, np.sign(speed)))[..., None] * row
        return total

    def dry(self, direction: np.ndarray) -> np.ndarray:
        """Coulomb friction (..., n) for velocities with the signs of `direction` (..., n); sign(0) = 0."""
        return self.dry_of(direction @ self.rows.T)

    def dry_of(self, speed: np.ndarray) -> np.ndarray:
        """Coulomb friction (..., n) where the friction surfaces slide with the signs of `speed` (..., E)."""
        levels: np.ndarray = np.where(speed > 0, self.forward, np.where(speed < 0, self.backward, 0.0))
        return np.asarray(levels @ self.rows)


@lru_cache(maxsize=64)  # numbers out of a description take a millisecond
def friction_parts(robot: Robot) -> FrictionParts:
    """The friction of a robot, joints first, then motors with a coupled row; read-only."""
    mechanism, n = robot.mechanism, robot.n
    viscous, offset = np.zeros((n, n)), np.zeros(n)
    dry, smooth = [], []
    for surface in mechanism.friction:
        if not surface.row:  # a joint that relations hold in its place
            continue
        row = np.zeros(n)
        row[[j for j, _ in surface.row]] = [k for _, k in surface.row]
        viscous += surface.viscous * np.outer(row, row)
        offset += surface.offset * row
        if any(surface.levels):
            dry.append((row, *surface.levels))
        if any(surface.growing.coefficients.values()):
            smooth.append((row, surface.growing))
    rows = np.array([row for row, _, _ in dry]).reshape(-1, n)
    forward, backward = (np.array([levels[k] for _, *levels in dry], float) for k in (0, 1))
    for array in (viscous, rows, forward, backward, offset):
        array.flags.writeable = False
    return FrictionParts(viscous, rows, forward, backward, offset, tuple(smooth))
