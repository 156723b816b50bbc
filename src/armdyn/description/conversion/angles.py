"""Angles by their cosine and sine, exact where these are; and numbers rounded to what a double holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from armdyn.description.angles import PI, angle_of, wrapped
from armdyn.expression import ONE, ZERO, Atom, Expression
from armdyn.expression.terms import Monomial
from armdyn.model.parts import Transform
from armdyn.model.vector import Vector, rotation_about, transpose


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
        found = angle_of(c, s)
        return Angle(c, s, None if found is None else wrapped(found))

    @property
    def value(self) -> Expression:
        """The angle; in decimals where it is not known exactly. Symbols must not be in it then."""
        if self.known is not None:
            return self.known
        return Expression.of(math.atan2(self.s.value(), self.c.value()))

    def __add__(self, other: Angle) -> Angle:
        if self.known is not None and other.known is not None:
            return Angle.of(wrapped(self.known + other.known))
        return Angle.from_pair(self.c * other.c - self.s * other.s, self.s * other.c + self.c * other.s)

    def __neg__(self) -> Angle:
        return Angle(self.c, -self.s, None if self.known is None else wrapped(-self.known))

    def about(self, axis: Vector) -> Transform:
        """The rotation by it about x, y or z."""
        return Transform(rotation_about(axis, self.c, self.s))


NO_ANGLE = Angle(ONE, ZERO, ZERO)
HALF_TURN = Angle(-ONE, ZERO, PI)


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
