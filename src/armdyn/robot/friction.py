"""A robot's friction as arrays, by how it depends on speed, for whole motions at once.

friction(q̇) = viscous · q̇ + cubic(q̇) + Σ_e a_e f_e(sign(a_e · q̇)) + fading(q̇) + offset

Dry friction acts on surfaces e: a joint (a_e is a unit vector), or a motor whose transmission couples several
joints (a_e is its row, so that a_e · q̇ is the motor's speed). f_e are the levels at which a surface begins to
slide. `fading` is what Stribeck friction has less than at rest, once a surface slides. Load friction
Fl |τ_r| sign(q̇) comes on top: τ_r are the joints' torques without friction.

In a robot with loops the surfaces of joints that follow move with the coordinates by rows that depend on the
posture: a_e(q) = (row over positions) S(q). Then rows, `viscous` and `offset` have the axes of q in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.robot.robot import Robot


def speeds_of(rows: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """rows @ qd (..., E), for rows (E, n) or, one set for each state, (..., E, n)."""
    return np.asarray(qd @ rows.T if rows.ndim == 2 else np.einsum("...ej,...j->...e", rows, qd))


def gathered(rows: np.ndarray, torques: np.ndarray) -> np.ndarray:
    """What torques (..., E) on surfaces are at the coordinates (..., n): rowsᵀ times them."""
    return np.asarray(torques @ rows if rows.ndim == 2 else np.einsum("...ej,...e->...j", rows, torques))


@dataclass(frozen=True)
class Terms:
    """A friction term of E surfaces: a coefficient each."""

    rows: np.ndarray  # (E, n), with loops (..., E, n): speed of a surface = rows @ qd
    coefficient: np.ndarray  # (E,)
    velocity: np.ndarray  # (E,) of Stribeck friction [rad/s or m/s]; else 1

    def speed(self, qd: np.ndarray) -> np.ndarray:
        """Of the surfaces (..., E), at joint velocities (..., n)."""
        return speeds_of(self.rows, qd)


@dataclass(frozen=True)
class FrictionParts:
    """Friction as arrays, for n joints and E surfaces with dry friction."""

    viscous: np.ndarray  # (n, n), symmetric [N m s/rad]; with loops (..., n, n), and so rows and offset
    rows: np.ndarray  # (E, n): speed of a surface = rows @ qd
    forward: np.ndarray  # (E,) torque on the surface as it begins to move forward [N m]
    backward: np.ndarray  # (E,) torque as it begins to move backward, negative as a rule
    load: np.ndarray  # (E,) Fl, not zero for joints only
    offset: np.ndarray  # (n,) torque at any speed
    cubic: Terms
    stribeck: Terms

    @property
    def is_plain(self) -> bool:
        """Whether all of it is dry, linear in speed or constant."""
        return not (len(self.cubic.rows) or len(self.stribeck.rows) or self.load.any())

    def growing(self, qd: np.ndarray) -> np.ndarray:
        """Friction (..., n) that grows with speed, viscous and cubic, at joint velocities (..., n)."""
        return np.asarray(self.linear(qd) + self.cubed(qd))

    def linear(self, qd: np.ndarray) -> np.ndarray:
        """Viscous friction (..., n)."""
        return gathered(self.viscous, qd)  # it is symmetric

    def speed(self, qd: np.ndarray) -> np.ndarray:
        """Of the surfaces with dry friction (..., E), at joint velocities (..., n)."""
        return speeds_of(self.rows, qd)

    def cubed(self, qd: np.ndarray) -> np.ndarray:
        """Cubic friction (..., n)."""
        return gathered(self.cubic.rows, self.cubic.coefficient * self.cubic.speed(qd) ** 3)

    def fading(self, qd: np.ndarray) -> np.ndarray:
        """Stribeck friction (..., n) less that of surfaces that begin to slide in the same directions."""
        terms, speed = self.stribeck, self.stribeck.speed(qd)
        faded = np.expm1(-((speed / terms.velocity) ** 2))
        return gathered(terms.rows, terms.coefficient * np.sign(speed) * faded)

    def dry(self, direction: np.ndarray) -> np.ndarray:
        """Dry friction (..., n) near rest, for velocities with the signs of `direction` (..., n)."""
        return self.dry_of(self.speed(direction))

    def dry_of(self, speed: np.ndarray) -> np.ndarray:
        """Dry friction (..., n) where the surfaces begin to slide with the signs of `speed` (..., E)."""
        levels: np.ndarray = np.where(speed > 0, self.forward, np.where(speed < 0, self.backward, 0.0))
        return gathered(self.rows, levels)

    def shares(self, speed: np.ndarray) -> np.ndarray:
        """Fl s (..., n): what part of |τ_r| load friction is, for the signs s of `speed` (..., E)."""
        return gathered(self.rows, self.load * np.sign(speed))

    def shares_of(self, qd: np.ndarray) -> np.ndarray:
        """Fl s (..., n) at joint velocities (..., n)."""
        return self.shares(self.speed(qd))

    def rigid(self, loaded: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """τ_r (..., n) of τ_r + Fl |τ_r| s: of torques less all friction but that of the load."""
        if not self.load.any():
            return loaded
        return np.asarray(loaded / (1 + self.shares_of(qd) * np.sign(loaded)))


def friction_parts(robot: Robot, q: Any = None, *, moved_as: Robot | None = None) -> FrictionParts:
    """The friction of a robot, joints first, then motors with a coupled row; read-only.

    With loops it is that at q (..., n); of other robots q is not looked at. `moved_as` is a robot with the
    same geometry whose assembly is compiled already.
    """
    if not robot.mechanism.loops:
        return _of_positions(robot)
    if q is None:
        raise ModelError("q: the friction of a robot with loops depends on its posture; give q")
    found, S = _of_positions(robot), (moved_as or robot).assembly.rates(q)
    cubic, stribeck = (replace(terms, rows=terms.rows @ S) for terms in (found.cubic, found.stribeck))
    return replace(
        found,
        viscous=np.swapaxes(S, -1, -2) @ found.viscous @ S,
        rows=found.rows @ S,
        offset=found.offset @ S,
        cubic=cubic,
        stribeck=stribeck,
    )


def dry_surfaces(robot: Robot) -> int:
    """How many surfaces have dry friction."""
    return len(_of_positions(robot).rows)


def surface_speeds(robot: Robot) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """A function of q and q̇ (..., n): the speeds (..., E) of the surfaces with dry friction."""
    rows = _of_positions(robot).rows
    if not robot.mechanism.loops:
        return lambda _, qd: speeds_of(rows, qd)
    return lambda q, qd: speeds_of(rows, robot.assembly.velocities(q, qd))


@lru_cache(maxsize=64)  # numbers out of a description take a millisecond
def _of_positions(robot: Robot) -> FrictionParts:
    """The friction over positions: those of the coordinates, with loops also those that follow."""
    mechanism = robot.mechanism
    n = mechanism.positions
    viscous, offset = np.zeros((n, n)), np.zeros(n)
    dry, cubic, stribeck = [], [], []
    for surface in mechanism.friction:
        if not surface.row:  # a joint that relations hold in its place
            continue
        row = np.zeros(n)
        row[[j for j, _ in surface.row]] = [k for _, k in surface.row]
        viscous += surface.viscous * np.outer(row, row)
        offset += surface.offset * row
        if any(surface.levels) or surface.stribeck or surface.load:
            dry.append((row, *surface.levels, surface.load))
        if surface.cubic:
            cubic.append((row, surface.cubic, 1.0))
        if surface.stribeck:
            stribeck.append((row, surface.stribeck, surface.stribeck_velocity))
    rows, forward, backward, load = _columns(dry, n, 3)
    for array in (viscous, rows, forward, backward, load, offset):
        array.flags.writeable = False
    further = (Terms(*_columns(found, n, 2)) for found in (cubic, stribeck))
    return FrictionParts(viscous, rows, forward, backward, load, offset, *further)


def _columns(found: Sequence[tuple[Any, ...]], n: int, numbers: int) -> tuple[np.ndarray, ...]:
    """Rows (E, n), and each of the numbers beside them (E,)."""
    rows = np.array([entry[0] for entry in found]).reshape(-1, n)
    return rows, *(np.array([entry[1 + k] for entry in found], float) for k in range(numbers))
