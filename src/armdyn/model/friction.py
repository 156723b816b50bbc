"""Friction, over any scalar: what acts on a surface (a joint, or a motor that turns with several joints).

The speed of a surface is v = Σ k_j q̇_j along its row. Its friction is a sum of terms, each a coefficient
times a function of the speed and of the direction of sliding s (1, −1, or 0 at rest); joint j feels k_j times
it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from armdyn.expression.functions import sign
from armdyn.model.vector import Scalar

Map: TypeAlias = Callable[[Scalar], Scalar]
Row: TypeAlias = tuple[tuple[int, Scalar], ...]  # (j, k_j): v = Σ k_j q̇_j

# What a coefficient is multiplied with: a function of speed and direction. One row a term.
TERMS: dict[str, Callable[[Scalar, Scalar], Scalar]] = {
    "viscous": lambda speed, direction: speed,
    "coulomb": lambda speed, direction: direction,
    "asymmetry": lambda speed, direction: direction * direction,
    "offset": lambda speed, direction: 1,
}
DRY = ("coulomb", "asymmetry")  # the terms that depend on the direction alone: they stick at rest


@dataclass(frozen=True)
class Surface:
    """Where friction acts, and its coefficients; an uncoupled motor's share is in its joint's surface."""

    joint: int  # the joint, or the joint whose motor this is
    row: Row
    viscous: Scalar = 0  # N m s/rad or N s/m
    coulomb: Scalar = 0  # N m or N: half the difference of the levels forward and backward
    asymmetry: Scalar = 0  # half their sum
    offset: Scalar = 0  # at any speed

    def speed(self, qd: Sequence[Scalar]) -> Scalar:
        """v of joint velocities; the same sum serves accelerations."""
        return along(self.row, qd)

    def torque(self, speed: Scalar, direction: Scalar | None = None) -> Scalar:
        """The friction on the surface; its direction is the sign of the speed unless given."""
        s = sign(speed) if direction is None else direction
        total: Scalar = 0
        for name, term in TERMS.items():
            total = total + getattr(self, name) * term(speed, s)
        return total

    def map(self, geometry: Map, parameter: Map) -> Surface:
        """With its row through `geometry` and its coefficients through `parameter`."""
        return Surface(
            self.joint, mapped(geometry, self.row), **{name: parameter(getattr(self, name)) for name in TERMS}
        )

    @property
    def levels(self) -> tuple[Scalar, Scalar]:
        """Dry friction at positive and at negative speed."""
        return self.asymmetry + self.coulomb, self.asymmetry - self.coulomb

    @property
    def smooth(self) -> Surface:
        """Without dry friction."""
        without: dict[str, Any] = dict.fromkeys(DRY, 0)
        return replace(self, **without)

    @property
    def dry(self) -> Surface:
        """Dry friction alone."""
        without: dict[str, Any] = {name: 0 for name in TERMS if name not in DRY}
        return replace(self, **without)


def along(row: Row, values: Sequence[Scalar]) -> Scalar:
    """Σ k_j x_j: the angle, speed or acceleration of what turns with several joints (7.22)."""
    total: Scalar = 0
    for j, k in row:
        total = total + k * values[j]
    return total


def mapped(f: Map, row: Row) -> Row:
    return tuple((j, f(k)) for j, k in row)
