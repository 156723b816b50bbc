"""Angles by their cosine and sine, exact where these are; and numbers rounded to what a double holds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from armdyn.expression import ONE, ZERO, Atom, Expression
from armdyn.expression.terms import Monomial
from armdyn.model.parts import Transform
from armdyn.model.vector import Vector, rotation_about, transpose

PI = Expression.pi()
_TURNS = range(-11, 13)  # of π/12


@dataclass(frozen=True)
class Angle:
    """Cosine and sine, and the angle itself where it is known exactly."""

    c: Expression
    s: Expression
    known: Expression | None

    @staticmethod
    def of(angle: Expression) -> Angle:
        return Angle(angle.cos(), angle.sin(), angle)

    @staticmethod
    def from_pair(c: Expression, s: Expression) -> Angle:
        """The angle whose cosine and sine these are: a multiple of π/12, or one of those inside them."""
        for angle in _candidates(c, s):
            if angle.cos() == c and angle.sin() == s:
                return Angle(c, s, _wrapped(angle))
        return Angle(c, s, None)

    @property
    def value(self) -> Expression:
        """The angle; in decimals where it is not known exactly. Symbols must not be in it then."""
        if self.known is not None:
            return self.known
        return Expression.of(math.atan2(self.s.value(), self.c.value()))

    def __add__(self, other: Angle) -> Angle:
        if self.known is not None and other.known is not None:
            return Angle.of(_wrapped(self.known + other.known))
        return Angle.from_pair(self.c * other.c - self.s * other.s, self.s * other.c + self.c * other.s)

    def __neg__(self) -> Angle:
        return Angle(self.c, -self.s, None if self.known is None else _wrapped(-self.known))

    def about(self, axis: Vector) -> Transform:
        """The rotation by it about x, y or z."""
        return Transform(rotation_about(axis, self.c, self.s))


NO_ANGLE = Angle(ONE, ZERO, ZERO)
HALF_TURN = Angle(-ONE, ZERO, PI)


def _candidates(c: Expression, s: Expression) -> Iterator[Expression]:
    common = _common().get((c, s))
    if common is not None:
        yield common
        return
    inside = {atom.argument for x in (c, s) for atom in x.atoms() if atom.kind in ("cos", "sin")}
    for angle in sorted((x for x in inside if x is not None), key=str):
        for quarter in range(4):
            for sign in (1, -1):
                yield angle * sign + PI * Fraction(quarter, 2)


@cache
def _common() -> dict[tuple[Expression, Expression], Expression]:
    """The multiples of π/12 in one turn."""
    angles = [PI * Fraction(k, 12) for k in _TURNS]
    return {(angle.cos(), angle.sin()): angle for angle in angles}


def _wrapped(angle: Expression) -> Expression:
    """Less whole turns, so that it lies in (−π, π]; one with free symbols only by its multiple of π."""
    if angle.symbols():
        turns = sum((c for m, c in angle.terms if [(a.kind, e) for a, e in m] == [("pi", 1)]), Fraction(0))
    else:
        turns = Fraction(angle.value() / math.pi)
    whole = math.ceil((turns - 1) / 2 - Fraction(1, 10**12))
    return angle - PI * (2 * whole) if whole else angle


def rounded(x: object) -> Expression:
    """A number in decimals, noise below 1e-15 dropped.

    Symbols and functions of them stay; their factors become decimals.
    """
    sums: dict[Monomial, Fraction] = {}
    for monomial, coefficient in Expression.of(x).terms:
        kept = tuple((atom, e) for atom, e in monomial if _holds_symbols(atom))
        for atom, e in monomial:
            if not _holds_symbols(atom):
                coefficient *= Fraction(Expression({((atom, 1),): Fraction(1)}).value()) ** e
        sums[kept] = sums.get(kept, Fraction(0)) + coefficient
    large = {m: float(c) for m, c in sums.items() if abs(c) >= Fraction(1, 10**15)}
    return Expression({m: Expression.of(c).number or Fraction(0) for m, c in large.items()})


def _holds_symbols(atom: Atom) -> bool:
    return atom.kind == "symbol" or (atom.argument is not None and bool(atom.argument.symbols()))


def inverse(T: Transform) -> Transform:
    """The inverse of a rigid transform."""
    R = transpose(T.R)
    (x, y, z) = (sum((r * p for r, p in zip(row, T.p, strict=True)), ZERO) for row in R)
    return Transform(R, (-x, -y, -z))
