"""Friction: its terms, once, for the description, the dynamics, the parameter vector and what is above.

Friction acts on a surface: a joint, or a motor that turns with several joints. The speed of a surface is
v = Σ k_j q̇_j along its row. Its friction is a sum of terms, each a coefficient times a function of the speed
and of the direction of sliding s (1, −1, or 0 at rest); joint j feels k_j times it.

A further term is a row of `TERMS`, a field of `Surface` and of `Friction`, and a row of the parameter table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, TypeAlias

from armdyn.expression import ZERO, Expression
from armdyn.expression.functions import sign
from armdyn.model.vector import Scalar

Coulomb: TypeAlias = tuple[Expression, Expression]
Map: TypeAlias = Callable[[Scalar], Scalar]
Row: TypeAlias = tuple[tuple[int, Scalar], ...]  # (j, k_j): v = Σ k_j q̇_j
_HALF = Expression.of(Fraction(1, 2))


@dataclass(frozen=True)
class Term:
    """What a coefficient of friction is multiplied with, and where it may stand."""

    of: Callable[[Scalar, Scalar], Scalar]  # a function of speed and direction: the regressor's column
    referred: Callable[[Scalar], Scalar]  # a motor's coefficient, by its gear k, at the joint
    dry: bool = False  # depends on the direction alone, so that it holds a joint at rest
    brakes: bool = True  # whether a negative coefficient would drive the joint
    at_motors: bool = True  # whether the robot file takes it for motors, too


TERMS: dict[str, Term] = {
    "viscous": Term(lambda speed, direction: speed, lambda k: k * k),
    "coulomb": Term(lambda speed, direction: direction, abs, dry=True),
    "asymmetry": Term(lambda speed, direction: direction * direction, lambda k: k, dry=True, brakes=False),
    "offset": Term(lambda speed, direction: 1, lambda k: k, brakes=False, at_motors=False),
}


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
            total = total + getattr(self, name) * term.of(speed, s)
        return total

    @property
    def coefficients(self) -> dict[str, Scalar]:
        """By term."""
        return {name: getattr(self, name) for name in TERMS}

    def map(self, geometry: Map, parameter: Map) -> Surface:
        """With its row through `geometry` and its coefficients through `parameter`."""
        row = mapped(geometry, self.row)
        return Surface(self.joint, row, **{name: parameter(x) for name, x in self.coefficients.items()})

    def __add__(self, other: Surface) -> Surface:
        """The friction of both, which have the same row."""
        total: dict[str, Any] = {name: x + getattr(other, name) for name, x in self.coefficients.items()}
        return replace(self, **total)

    def at_coordinate(self) -> Surface:
        """Of a surface that moves with one coordinate, the same friction at that coordinate."""
        ((i, k),) = self.row
        if isinstance(k, int) and k == 1:
            return replace(self, joint=i)
        referred: dict[str, Any] = {
            name: TERMS[name].referred(k) * x for name, x in self.coefficients.items()
        }
        return Surface(i, ((i, 1),), **referred)

    @property
    def levels(self) -> tuple[Scalar, Scalar]:
        """Dry friction at positive and at negative speed."""
        return self.asymmetry + self.coulomb, self.asymmetry - self.coulomb

    @property
    def smooth(self) -> Surface:
        """Without dry friction."""
        return self._without(dry=True)

    @property
    def dry(self) -> Surface:
        """Dry friction alone."""
        return self._without(dry=False)

    @property
    def growing(self) -> Surface:
        """What grows with speed alone: neither dry friction nor the offset."""
        return replace(self.smooth, offset=0)

    def _without(self, dry: bool) -> Surface:
        gone: dict[str, Any] = {name: 0 for name, term in TERMS.items() if term.dry is dry}
        return replace(self, **gone)


@dataclass(frozen=True)
class Friction:
    """Friction as a description gives it, exact, of a joint or at a motor's shaft.

    The backward Coulomb value is the torque at negative speed, so it is negative as a rule.
    """

    viscous: Expression = ZERO  # N m s/rad or N s/m
    coulomb: Coulomb = (ZERO, ZERO)  # forward, backward [N m or N]
    offset: Expression = ZERO  # N m or N

    @staticmethod
    def of(coefficients: Mapping[str, Scalar]) -> Friction:
        """With these coefficients, by term; those left out are zero."""
        found = {name: Expression.of(x) for name, x in coefficients.items()}
        s, a = found.pop("coulomb", ZERO), found.pop("asymmetry", ZERO)
        return Friction(coulomb=(a + s, a - s), **found)

    @property
    def coefficients(self) -> dict[str, Expression]:
        """By term: of the Coulomb values, half their difference and half their sum."""
        forward, backward = self.coulomb
        levels = {"coulomb": (forward - backward) * _HALF, "asymmetry": (forward + backward) * _HALF}
        return {name: levels[name] if name in levels else getattr(self, name) for name in TERMS}

    @property
    def entries(self) -> dict[str, Expression]:
        """The numbers as given, in their order, the two Coulomb values apart."""
        forward, backward = self.coulomb
        pair = {"coulomb+": forward, "coulomb-": backward}
        return {"viscous": self.viscous, **pair} | {name: getattr(self, name) for name in SINGLE}

    @property
    def is_zero(self) -> bool:
        return all(x.is_zero for x in self.entries.values())


NO_FRICTION = Friction()
SINGLE = tuple(field.name for field in fields(Friction) if field.name != "coulomb")  # given by one number


def along(row: Row, values: Sequence[Scalar]) -> Scalar:
    """Σ k_j x_j: the angle, speed or acceleration of what turns with several joints (7.22)."""
    total: Scalar = 0
    for j, k in row:
        total = total + k * values[j]
    return total


def mapped(f: Map, row: Row) -> Row:
    return tuple((j, f(k)) for j, k in row)
