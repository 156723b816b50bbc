"""Quotients of constants: the field over which parameters are combined.

A quotient is a numerator over a denominator, polynomials in the constants of the geometry, in normal form:
the denominator has no roots (√p, sin β) and nothing in common with the numerator.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.engine.size import SizeError
from armdyn.exact.printing.printer import collected
from armdyn.expression import ZERO, Expression

_ONE = Fraction(1)
_MAX_PRODUCTS = 20_000  # of terms, in one multiplication
_MAX_WORK = 2_000_000  # of terms, in all


class Field:
    """The quotients of a ring's constants."""

    def __init__(self, ring: Ring) -> None:
        self.ring = ring
        self.work = 0  # products of terms so far
        self.roots = ring.squares()
        self.one = Quotient(self, ring.one.p, ring.one.p)
        self._atoms = {ring.index[str(a)]: Expression({((a, 1),): _ONE}) for a in ring.constants}

    def of(self, numerator: Any, denominator: Any = None) -> Quotient:
        """Of FLINT polynomials, brought to normal form."""
        ring = self.ring
        above = ring.reduce(numerator)
        below = ring.one.p if denominator is None else ring.reduce(denominator)
        for i in self.roots:
            if below.degrees()[i]:
                other = self._conjugate(below, i)
                above, below = self.product(above, other), self.product(below, other)
        return Quotient(self, *self._cancelled(above, below))

    def product(self, x: Any, y: Any) -> Any:
        """x · y, as long as the whole does not get too long."""
        self.work += len(x) * len(y)
        if self.work > _MAX_WORK or len(x) * len(y) > _MAX_PRODUCTS:
            raise SizeError(
                "the combinations of this robot's parameters are too long to be written exactly: its "
                'geometry has too many constants; route="numeric" finds them in numbers'
            )
        return self.ring.reduce(x * y)

    def _conjugate(self, x: Any, i: int) -> Any:
        """With the sign of a root changed."""
        parts = collected(Poly(self.ring, x), [i])
        total = self.ring.context.constant(0)
        for outer, part in parts.items():
            root = self.ring.gen(self.ring.names[i]).p ** int(outer[i])
            total = total + part.p * root * (-1 if outer[i] % 2 else 1)
        return total

    def _cancelled(self, above: Any, below: Any) -> tuple[Any, Any]:
        """Without common factors; the denominator's leading coefficient is one."""
        if above.is_zero():
            return above, self.ring.one.p
        if not below.is_constant():
            common = below
            for part in collected(Poly(self.ring, above), list(self.roots)).values():
                common = common.gcd(part.p)
            above, below = _divided(above, common), _divided(below, common)
        lead = below.leading_coefficient()
        return above / lead, below / lead

    def expression(self, x: Quotient) -> Expression:
        """A quotient as an exact number of descriptions."""
        above, below = x.above, x.below
        for i, square in self.roots.items():  # sin/(1 − cos²) is 1/sin
            quotient, rest = divmod(below, square)
            root = self.ring.gen(self.ring.names[i]).p
            if not square.is_constant() and rest.is_zero() and divmod(above, root)[1].is_zero():
                above, below = _divided(above, root), quotient * root
        return self._written(above) / self._written(below)

    def _written(self, polynomial: Any) -> Expression:
        total = ZERO
        for exponents, coefficient in Poly(self.ring, polynomial).terms().items():
            term = Expression.of(coefficient)
            for i, e in enumerate(exponents):
                if e:
                    term = term * self._atoms[i] ** int(e)
            total = total + term
        return total


@dataclass(frozen=True)
class Quotient:
    """An element of the field."""

    field: Field
    above: Any
    below: Any

    def __bool__(self) -> bool:
        return not self.above.is_zero()

    def __sub__(self, other: Quotient) -> Quotient:
        product = self.field.product
        above = product(self.above, other.below) - product(other.above, self.below)
        return self.field.of(above, product(self.below, other.below))

    def __mul__(self, other: Quotient) -> Quotient:
        if not self or not other:
            return self.field.of(self.field.ring.zero.p)
        product = self.field.product
        return self.field.of(product(self.above, other.above), product(self.below, other.below))

    def __truediv__(self, other: Quotient) -> Quotient:
        product = self.field.product
        return self.field.of(product(self.above, other.below), product(self.below, other.above))

    @property
    def size(self) -> int:
        """How long it is to write."""
        return len(self.above) + len(self.below)


def _divided(x: Any, y: Any) -> Any:
    """x / y, without remainder."""
    return divmod(x, y)[0]
