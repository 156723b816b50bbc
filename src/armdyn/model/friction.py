"""Friction: its terms, once, for the description, the dynamics, the parameter vector and what is above.

Friction acts on a surface: a joint, or a motor that turns with several joints. The speed of a surface is
v = Σ k_j q̇_j along its row. Its friction is a sum of terms, each a coefficient times a function of the speed
and of the direction of sliding s (1, −1, or 0 at rest); joint j feels k_j times it:

    Fv v + Fs s + Fa s² + F0 + Fst exp(−(v/v_s)²) s + Fcu v³ + Fl |τ_r| s

The Stribeck velocity v_s is a fixed number. τ_r is the joint's torque without friction: the last term is the
only one that depends on more than the speed, and the only one in which the torque is not linear in the
parameters (τ_r depends on the others).

A further term is a row of `TERMS`, a field of `Surface` and of `Friction`, and a row of the parameter table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from armdyn.expression import ZERO, Expression
from armdyn.expression.functions import bell, sign
from armdyn.model.errors import ModelError
from armdyn.model.vector import Scalar

Coulomb: TypeAlias = tuple[Expression, Expression]
Map: TypeAlias = Callable[[Scalar], Scalar]
Row: TypeAlias = tuple[tuple[int, Scalar], ...]  # (j, k_j): v = Σ k_j q̇_j
_HALF = Expression.of(Fraction(1, 2))
_ONE = Expression.of(1)


@dataclass(frozen=True)
class Sliding:
    """How a surface slides: what the terms of friction are functions of."""

    speed: Scalar  # v
    direction: Scalar  # s
    velocity: Scalar = 1  # v_s of the Stribeck term
    load: Scalar = 0  # |τ_r|


@dataclass(frozen=True)
class Term:
    """What a coefficient of friction is multiplied with, and where it may stand."""

    of: Callable[[Sliding], Scalar]  # what its coefficient is multiplied with: the regressor's column
    referred: Callable[[Scalar], Scalar]  # a motor's coefficient, by its gear k, at the joint
    dry: bool = False  # jumps with the direction, so that it holds a joint at rest
    brakes: bool = True  # whether a negative coefficient would drive the joint
    at_motors: bool = True  # whether the robot file takes it for motors, too


TERMS: dict[str, Term] = {
    "viscous": Term(lambda x: x.speed, lambda k: k * k),
    "coulomb": Term(lambda x: x.direction, abs, dry=True),
    "asymmetry": Term(lambda x: x.direction * x.direction, lambda k: k, dry=True, brakes=False),
    "offset": Term(lambda x: 1, lambda k: k, brakes=False, at_motors=False),
    "stribeck": Term(
        lambda x: bell(x.speed, x.velocity) * x.direction, abs, dry=True, brakes=False, at_motors=False
    ),
    "cubic": Term(
        lambda x: x.speed * x.speed * x.speed, lambda k: k * k * k * k, brakes=False, at_motors=False
    ),
    # Only joints that are coordinates have it, so that it is never referred by another factor than 1.
    "load": Term(lambda x: x.load * x.direction, abs, dry=True, at_motors=False),
}


@dataclass(frozen=True)
class Surface:
    """Where friction acts, and its coefficients; an uncoupled motor's share is in its joint's surface."""

    joint: int  # the joint, or the joint whose motor this is; idlers are counted as such
    row: Row
    viscous: Scalar = 0  # N m s/rad or N s/m
    coulomb: Scalar = 0  # N m or N: half the difference of the levels forward and backward
    asymmetry: Scalar = 0  # half their sum
    offset: Scalar = 0  # at any speed
    stribeck: Scalar = 0  # N m or N: what Coulomb friction has more near rest
    cubic: Scalar = 0  # N m s³/rad³ or N s³/m³
    load: Scalar = 0  # of |τ_r|: no unit
    stribeck_velocity: Scalar = 1  # rad/s or m/s, fixed
    part: Literal["joint", "motor", "idler", "damper"] = "joint"  # a damper: of an elastic transmission

    def speed(self, qd: Sequence[Scalar]) -> Scalar:
        """v of joint velocities; the same sum serves accelerations."""
        return along(self.row, qd)

    def torque(self, speed: Scalar, direction: Scalar | None = None, load: Scalar = 0) -> Scalar:
        """The friction on the surface; its direction is the sign of the speed unless given.

        `load` is |τ_r|, the size of the joint's torque without friction.
        """
        slides = self.sliding(speed, direction, load)
        total: Scalar = 0
        for name, x in self.coefficients.items():
            if not (type(x) is int and x == 0):
                total = total + x * TERMS[name].of(slides)
        return total

    def sliding(self, speed: Scalar, direction: Scalar | None = None, load: Scalar = 0) -> Sliding:
        """What the terms of friction are functions of."""
        s = sign(speed) if direction is None else direction
        return Sliding(speed, s, self.stribeck_velocity, load)

    @property
    def has_load(self) -> bool:
        """Whether its friction depends on the joint's torque."""
        return not (type(self.load) is int and self.load == 0)

    @property
    def coefficients(self) -> dict[str, Scalar]:
        """By term."""
        return {name: getattr(self, name) for name in TERMS}

    def map(self, geometry: Map, parameter: Map) -> Surface:
        """With its row and Stribeck velocity through `geometry`, its coefficients through `parameter`."""
        row = mapped(geometry, self.row)
        coefficients: dict[str, Any] = {name: parameter(x) for name, x in self.coefficients.items()}
        velocity = geometry(self.stribeck_velocity)
        return Surface(self.joint, row, **coefficients, stribeck_velocity=velocity, part=self.part)

    def with_coefficients(self, coefficients: Mapping[str, Scalar]) -> Surface:
        """The same surface with other coefficients, by term; those left out are zero."""
        new: dict[str, Any] = {name: coefficients.get(name, 0) for name in TERMS}
        return replace(self, **new)

    def __add__(self, other: Surface) -> Surface:
        """The friction of both, which have the same row, and one Stribeck velocity if both have that term."""
        velocity = self.stribeck_velocity if self.stribeck else other.stribeck_velocity
        if self.stribeck and other.stribeck and not _same(velocity, other.stribeck_velocity):
            raise ModelError(
                f"coordinate {self.row[0][0] + 1} moves joints with Stribeck friction of velocities "
                f"{velocity:g} and {other.stribeck_velocity:g}, seen from it; they cannot be added: "
                "one velocity is expected"
            )
        total: dict[str, Any] = {name: x + getattr(other, name) for name, x in self.coefficients.items()}
        return replace(self, **total, stribeck_velocity=velocity)

    def at_coordinate(self) -> Surface:
        """Of a surface that moves with one coordinate, the same friction at that coordinate."""
        ((i, k),) = self.row
        if isinstance(k, int) and k == 1:
            return replace(self, joint=i)
        referred: dict[str, Any] = {
            name: TERMS[name].referred(k) * x for name, x in self.coefficients.items()
        }
        velocity = self.stribeck_velocity / abs(k)
        return Surface(i, ((i, 1),), **referred, stribeck_velocity=velocity)

    @property
    def levels(self) -> tuple[Scalar, Scalar]:
        """Dry friction of a joint that begins to move forward or backward, without what its load adds."""
        level = self.coulomb + self.stribeck
        return self.asymmetry + level, self.asymmetry - level

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
        """What grows with speed: neither dry friction nor the offset."""
        return replace(self.smooth, offset=0)

    def _without(self, dry: bool) -> Surface:
        gone: dict[str, Any] = {name: 0 for name, term in TERMS.items() if term.dry is dry}
        return replace(self, **gone)


@dataclass(frozen=True)
class Friction:
    """Friction as a description gives it, exact, of a joint or at a motor's shaft.

    The backward Coulomb value is the torque at negative speed, so it is negative as a rule. The Stribeck
    level adds to the size of both at rest and fades with speed; it and the cubic coefficient may be negative.
    """

    viscous: Expression = ZERO  # N m s/rad or N s/m
    coulomb: Coulomb = (ZERO, ZERO)  # forward, backward [N m or N]
    offset: Expression = ZERO  # N m or N
    stribeck: Expression = ZERO  # the level [N m or N]
    stribeck_velocity: Expression = _ONE  # rad/s or m/s
    cubic: Expression = ZERO  # N m s³/rad³ or N s³/m³
    load: Expression = ZERO  # of the torque without friction

    @staticmethod
    def of(coefficients: Mapping[str, Scalar], stribeck_velocity: Expression = _ONE) -> Friction:
        """With these coefficients, by term; those left out are zero."""
        found = {name: Expression.of(x) for name, x in coefficients.items()}
        s, a = found.pop("coulomb", ZERO), found.pop("asymmetry", ZERO)
        return Friction(coulomb=(a + s, a - s), stribeck_velocity=stribeck_velocity, **found)

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
        single = {name: getattr(self, name) for name in SINGLE}
        return {"viscous": self.viscous, **pair, **single, "stribeck": self.stribeck}

    @property
    def is_zero(self) -> bool:
        return all(x.is_zero for x in self.entries.values())


NO_FRICTION = Friction()
_PAIRS = ("coulomb", "stribeck", "stribeck_velocity")
SINGLE = tuple(field.name for field in fields(Friction) if field.name not in _PAIRS)  # given by one number


def along(row: Row, values: Sequence[Scalar]) -> Scalar:
    """Σ k_j x_j: the angle, speed or acceleration of what turns with several joints (7.22)."""
    total: Scalar = 0
    for j, k in row:
        total = total + k * values[j]
    return total


def _same(a: Scalar, b: Scalar) -> bool:
    return bool(abs(a - b) <= 1e-12 * abs(a))


def mapped(f: Map, row: Row) -> Row:
    return tuple((j, f(k)) for j, k in row)
