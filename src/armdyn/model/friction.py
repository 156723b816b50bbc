"""Friction: its terms, once, for description, dynamics, parameter vector and all that uses them.

Friction acts on a surface: a joint, or a motor that turns with several joints. The speed of a surface is
v = Σ k_j q̇_j along its row. Its friction is a sum of terms, each a coefficient times a function of the speed
and of the direction of sliding s = sgn(v) (1, −1, or 0 at rest); joint j feels k_j times it:

    Fv v + Fs s + Fa s² + F0 + Fst exp(−(v/v_s)²) s + Fcu v³ + Fl |τ_r| s

The Stribeck velocity v_s is a fixed number. τ_r is the joint's torque without friction: the last term is the
only one that depends on more than the speed, and the only one in which the torque is not linear in the
parameters (τ_r depends on the others).

A surface may have a width w > 0. Then s is tanh(v/w), in every term: nothing jumps, nothing holds the surface
at rest, and dry friction is part of its smooth friction.

A further term is a row of `TERMS`. All else follows from its function: whether it jumps with the direction
and so holds a joint at rest, with which power of the speed it grows, its unit, what a gear makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import log2
from operator import mul
from typing import Any, Literal, TypeAlias

from armdyn.expression import ZERO, Expression
from armdyn.expression.functions import bell, smooth_sign, sqrt
from armdyn.model.errors import ModelError
from armdyn.model.vector import Scalar

Map: TypeAlias = Callable[[Scalar], Scalar]
Row: TypeAlias = tuple[tuple[int, Scalar], ...]  # (j, k_j): v = Σ k_j q̇_j
_HALF = Expression.of(Fraction(1, 2))
_ONE = Expression.of(1)
_POWERS = {Fraction(1): "", Fraction(2): "²", Fraction(3): "³"}


@dataclass(frozen=True)
class Sliding:
    """The state of a sliding surface, which the terms of friction are functions of."""

    speed: Scalar  # v
    direction: Scalar  # s
    velocity: Scalar = 1  # v_s of the Stribeck term
    load: Scalar = 0  # |τ_r|


@dataclass(frozen=True)
class Term:
    """A row of `TERMS`: what a coefficient is called and multiplied with, and what follows from that.

    `of` is the regressor's column, over any scalar. It is written with |v| as s v, has no numbers with a unit
    (all speeds k times as large make it k^p times as large), and is a product where it depends on the load.
    """

    symbol: str  # of its parameter: Fv of Fv1
    of: Callable[[Sliding], Scalar]
    brakes: bool = True  # whether a negative coefficient would drive the joint
    at_motors: bool = False  # whether motors have it, too
    words: str = ""  # what kind of friction it is, where that is not its key

    def _at(self, speed: int, direction: int, velocity: int = 1, load: int = 1) -> float:
        return float(self.of(Sliding(speed, direction, velocity, load)))

    @cached_property
    def jumps(self) -> bool:
        """Whether it jumps with the direction: dry friction."""
        return self._at(0, 1) != self._at(0, 0) or self._at(0, -1) != self._at(0, 0)

    @cached_property
    def is_even(self) -> bool:
        """Whether it is the same forward and backward."""
        return self._at(1, 1) == self._at(-1, -1)

    @cached_property
    def sticks(self) -> bool:
        """Whether it holds a joint at rest."""
        return self.jumps and not self.is_even

    @cached_property
    def is_paced(self) -> bool:
        """Whether it depends on the Stribeck velocity."""
        return self._at(1, 1, 1) != self._at(1, 1, 2)

    @cached_property
    def is_loaded(self) -> bool:
        """Whether it depends on the joint's torque."""
        return self._at(1, 1, load=1) != self._at(1, 1, load=0)

    @cached_property
    def power(self) -> Fraction:
        """p, where it is k^p times as large if all speeds are k times as large."""
        return Fraction(log2(self._at(2, 1, 2) / self._at(1, 1))).limit_denominator(100)

    @cached_property
    def turns(self) -> bool:
        """Whether it depends on the direction, so that a width changes it."""
        return self._at(1, 1) != self._at(1, 0)

    @property
    def grows(self) -> bool:
        """Whether it grows with speed."""
        return self.power > 0

    @property
    def is_constant(self) -> bool:
        """Whether it is the same at any speed, at rest too."""
        return self.power == 0 and not self.jumps

    @cached_property
    def is_linear(self) -> bool:
        """Whether it is linear in the speed, whatever the direction."""
        return self.power == 1 and self._at(1, 0) == self._at(1, 1)

    @property
    def is_curved(self) -> bool:
        """Whether moving friction is neither linear in the speed nor always as it was when motion began."""
        return self.is_paced or (self.grows and not self.is_linear)

    def referred(self, k: Scalar) -> Scalar:
        """What gear k makes of a motor's coefficient at the joint: a factor |k|^p k, or |k|^(p + 1)."""
        whole, half = divmod(self.power if self.is_even else self.power + 1, 1)
        odd = int(whole) % 2
        factors = [k] * (self.is_even + int(whole) - odd) + [abs(k)] * odd
        return reduce(mul, [*factors, sqrt(abs(k))] if half else factors)

    def unit(self, effort: str, position: str) -> str:
        """Of its coefficient, at a joint with these units of torque and position."""
        effort = "" if self.is_loaded else effort
        power = _POWERS.get(self.power, f"^({self.power})")
        return f"{effort} s{power}/{position}{power}" if self.grows else effort


TERMS: dict[str, Term] = {
    "viscous": Term("Fv", lambda x: x.speed, at_motors=True),
    "coulomb": Term("Fs", lambda x: x.direction, at_motors=True, words="Coulomb"),
    "asymmetry": Term("Fa", lambda x: x.direction * x.direction, brakes=False),
    "offset": Term("F0", lambda x: 1, brakes=False, words="constant"),
    "stribeck": Term(
        "Fst", lambda x: bell(x.speed, x.velocity) * x.direction, brakes=False, words="Stribeck"
    ),
    "cubic": Term("Fcu", lambda x: x.speed * x.speed * x.speed, brakes=False),
    "load": Term("Fl", lambda x: x.load * x.direction, words="load-dependent"),
}
_PAIRED = ("coulomb", "asymmetry", "stribeck")  # which the robot file gives by pairs of numbers
SINGLE = tuple(name for name in TERMS if name not in _PAIRED)  # which it gives by one number
_NOTHING = (0,) * len(TERMS)


@dataclass(frozen=True)
class Surface:
    """A place of friction, with its coefficients; an uncoupled motor's share is in its joint's surface."""

    joint: int  # the joint, or the joint whose motor this is; idlers are counted as such
    row: Row
    values: tuple[Scalar, ...] = _NOTHING  # the coefficients, in the order of `TERMS`
    stribeck_velocity: Scalar = 1  # rad/s or m/s, fixed
    width: Scalar = 0  # of the smooth sign tanh(v/w), in the unit of v, fixed; 0: the sign itself
    part: Literal["joint", "motor", "idler", "damper"] = "joint"  # a damper: of an elastic transmission

    def __getitem__(self, term: str) -> Scalar:
        return self.coefficients[term]

    @property
    def coefficients(self) -> dict[str, Scalar]:
        """By term."""
        return dict(zip(TERMS, self.values, strict=True))

    def with_coefficients(self, coefficients: Mapping[str, Scalar]) -> Surface:
        """The same surface with other coefficients, by term; those left out are zero."""
        return replace(self, values=tuple(coefficients.get(name, 0) for name in TERMS))

    def only(self, kind: Callable[[Term], bool]) -> Surface:
        """The same surface with terms of a kind alone."""
        return self.with_coefficients({name: x for name, x in self.coefficients.items() if kind(TERMS[name])})

    def has(self, kind: Callable[[Term], bool]) -> bool:
        """Whether terms of a kind are not zero."""
        return not all(_is_zero(x) for x in self.only(kind).values)

    def speed(self, qd: Sequence[Scalar]) -> Scalar:
        """v of joint velocities; the same sum serves accelerations."""
        return along(self.row, qd)

    def torque(self, speed: Scalar, direction: Scalar | None = None, load: Scalar = 0) -> Scalar:
        """The friction on the surface; its direction is the (smooth) sign of the speed unless given.

        `load` is |τ_r|, the size of the joint's torque without friction.
        """
        slides = self.sliding(speed, direction, load)
        total: Scalar = 0
        for name, x in self.coefficients.items():
            if not (type(x) is int and x == 0):
                total = total + x * TERMS[name].of(slides)
        return total

    def sliding(self, speed: Scalar, direction: Scalar | None = None, load: Scalar = 0) -> Sliding:
        """The state at this speed, which the terms of friction are functions of."""
        s = smooth_sign(speed, self.width) if direction is None else direction
        return Sliding(speed, s, self.stribeck_velocity, load)

    def map(self, geometry: Map, parameter: Map) -> Surface:
        """With its row, Stribeck velocity and width through `geometry`, coefficients through `parameter`."""
        row, values = mapped(geometry, self.row), tuple(parameter(x) for x in self.values)
        velocity, width = geometry(self.stribeck_velocity), geometry(self.width)
        return Surface(self.joint, row, values, velocity, width, self.part)

    def __add__(self, other: Surface) -> Surface:
        """The friction of both: of the same row, and with one Stribeck velocity and width if both need it."""
        paced = [surface.stribeck_velocity for surface in (self, other) if surface.is_paced]
        velocity = paced[0] if paced else other.stribeck_velocity
        turning = [surface.width for surface in (self, other) if surface.has(lambda term: term.turns)]
        width = turning[0] if turning else other.width
        for what, of, values in (
            ("Stribeck friction of velocities", "velocity", paced),
            ("dry friction of widths", "width", turning),
        ):
            if len(values) == 2 and not abs(values[0] - values[1]) <= 1e-12 * abs(values[0]):
                raise ModelError(
                    f"coordinate {self.row[0][0] + 1} moves joints with {what} "
                    f"{values[0]:g} and {values[1]:g}, seen from it; they cannot be added: "
                    f"one {of} is expected"
                )
        total = tuple(a + b for a, b in zip(self.values, other.values, strict=True))
        return replace(self, values=total, stribeck_velocity=velocity, width=width)

    def at_coordinate(self) -> Surface:
        """The same friction at the coordinate, for a surface that moves with one."""
        ((i, k),) = self.row
        if isinstance(k, int) and k == 1:
            return replace(self, joint=i)
        referred = tuple(TERMS[name].referred(k) * x for name, x in self.coefficients.items())
        velocity, width = self.stribeck_velocity / abs(k), self.width and self.width / abs(k)
        return Surface(i, ((i, 1),), referred, velocity, width)

    @property
    def middle(self) -> Scalar:
        """Between the levels of dry friction of a joint that begins to move forward and backward."""
        return self.dry.only(lambda term: term.is_even).torque(0, 1)

    @property
    def reach(self) -> Scalar:
        """How far these levels are from their middle, without what the load adds: so much holds a joint."""
        return self.dry.only(lambda term: term.sticks and not term.is_loaded).torque(0, 1)

    @property
    def levels(self) -> tuple[Scalar, Scalar]:
        """Dry friction of a joint that begins to move forward or backward, without what its load adds."""
        return self.middle + self.reach, self.middle - self.reach

    @property
    def share(self) -> Scalar:
        """Fl: what part of |τ_r| is friction, of a joint that moves forward."""
        return self.only(lambda term: term.is_loaded).torque(0, 1, 1)

    @cached_property
    def has_load(self) -> bool:
        """Whether its friction depends on the joint's torque."""
        return self.has(lambda term: term.is_loaded)

    @cached_property
    def is_dry(self) -> bool:
        """Whether its friction jumps with the direction."""
        return self.dry.has(lambda term: term.jumps)

    @cached_property
    def is_paced(self) -> bool:
        """Whether its friction depends on the Stribeck velocity."""
        return self.has(lambda term: term.is_paced)

    @cached_property
    def sticks(self) -> bool:
        """Whether its friction can hold a joint at rest."""
        return self.dry.has(lambda term: term.sticks)

    @property
    def is_rounded(self) -> bool:
        """Whether it has a width: then its friction is smooth, that of the dry terms too."""
        return not _is_zero(self.width)

    @property
    def smooth(self) -> Surface:
        """Without dry friction."""
        return self if self.is_rounded else self.only(lambda term: not term.jumps)

    @property
    def dry(self) -> Surface:
        """Dry friction alone."""
        return self.only(lambda term: term.jumps and not self.is_rounded)


@dataclass(frozen=True)
class FrictionCoefficients:
    """Friction as a description gives it, exact, of a joint or at a motor's shaft.

    The Stribeck level adds to the size of Coulomb friction at rest and fades with speed; it and the cubic
    coefficient may be negative.
    """

    values: tuple[Expression, ...] = (ZERO,) * len(TERMS)  # the coefficients, in the order of `TERMS`
    stribeck_velocity: Expression = _ONE  # rad/s or m/s
    width: Expression = ZERO  # rad/s or m/s, of tanh(v/w) in the place of the sign; 0: the sign

    @staticmethod
    def of(
        coefficients: Mapping[str, Scalar], stribeck_velocity: Expression = _ONE, width: Expression = ZERO
    ) -> FrictionCoefficients:
        """With these coefficients, by term; those left out are zero."""
        values = tuple(Expression.of(coefficients.get(name, 0)) for name in TERMS)
        return FrictionCoefficients(values, stribeck_velocity, width)

    def __getitem__(self, term: str) -> Expression:
        return self.coefficients[term]

    @property
    def coefficients(self) -> dict[str, Expression]:
        """By term."""
        return dict(zip(TERMS, self.values, strict=True))

    def replaced(
        self, coefficients: Mapping[str, Scalar], velocity: Expression | None = None
    ) -> FrictionCoefficients:
        """With some coefficients in the place of what they were."""
        velocity = velocity or self.stribeck_velocity
        return FrictionCoefficients.of({**self.coefficients, **coefficients}, velocity, self.width)

    @property
    def coulomb(self) -> tuple[Expression, Expression]:
        """Coulomb friction at positive and at negative speed; the second is negative as a rule."""
        return self["asymmetry"] + self["coulomb"], self["asymmetry"] - self["coulomb"]

    @property
    def is_zero(self) -> bool:
        return all(x.is_zero for x in self.values)

    @property
    def table(self) -> dict[str, Any]:
        """The numbers as the robot file has them, zeros included; Stribeck's and the width only if given."""
        table: dict[str, Any] = {name: self[name] for name in SINGLE}
        table["coulomb"] = self["coulomb"] if self["asymmetry"].is_zero else list(self.coulomb)
        if not self["stribeck"].is_zero or self.stribeck_velocity != _ONE:
            table["stribeck"] = {"level": self["stribeck"], "velocity": self.stribeck_velocity}
        if not self.width.is_zero:
            table["width"] = self.width
        return table


NO_FRICTION = FrictionCoefficients()


def levels(forward: Expression, backward: Expression) -> dict[str, Expression]:
    """The coefficients of Coulomb friction that is `forward` at positive and `backward` at negative speed."""
    return {"coulomb": (forward - backward) * _HALF, "asymmetry": (forward + backward) * _HALF}


def along(row: Row, values: Sequence[Scalar]) -> Scalar:
    """Σ k_j x_j: angle, speed or acceleration of a shaft that turns with several joints (7.22)."""
    total: Scalar = 0
    for j, k in row:
        total = total + k * values[j]
    return total


def mapped(f: Map, row: Row) -> Row:
    return tuple((j, f(k)) for j, k in row)


def _is_zero(x: Scalar) -> bool:
    return isinstance(x, int | float) and x == 0
