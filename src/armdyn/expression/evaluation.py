"""Expressions as floating-point numbers, right to a few units in the last place also where terms cancel.

A sum is first taken in floats. Where its terms cancel or overflow it is taken again in exact fractions:
symbols are the decimals they are written as, and only irrational atoms (pi, roots, cosines and sines) stay
floats, each product of them with one exact coefficient. Where these cancel too, they are computed to more
digits: sin(x)**16, say, is kept as a polynomial in cos(x) and is tiny compared with its terms.

Angles are rounded before their cosines and sines are taken, so those of very large angles are less exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from armdyn.expression.errors import MissingValueError
from armdyn.expression.functions import cos, sin, sqrt
from armdyn.expression.messages import listed
from armdyn.expression.terms import Atom, Monomial

if TYPE_CHECKING:
    from armdyn.expression.expression import Expression

_CANCELLED = 4.0  # cancellation: the magnitudes of the terms over their sum
_CANCELLED_BADLY = 1000.0
_DIGITS = (50, 200, 800)
_TINY, _HUGE = 1e-250, 1e250
_MAX_BITS = 20_000  # of a common denominator


class Evaluation:
    """Values of expressions for one set of symbol values."""

    def __init__(self, whole: Expression, symbols: Mapping[str, float | Expression]) -> None:
        self.whole, self.symbols = whole, symbols
        self._floats: dict[Atom, float] = {}
        self._fractions: dict[Atom, Fraction | None] = {}

    def number(self, x: Expression) -> float:
        """The value of `whole` or of a part of it."""
        exact = x.number
        if exact is not None:
            return float(exact)
        total = size = 0.0
        good = True
        for monomial, coefficient in x.terms:
            product = self._product(monomial, coefficient)
            good = good and product is not None
            total, size = total + (product or 0.0), size + abs(product or 0.0)
        if good and size <= _CANCELLED * abs(total) < math.inf:
            return total
        return self._carefully(x)

    def _product(self, monomial: Monomial, coefficient: Fraction) -> float | None:
        """A term in floats; None where a product on the way is near the ends of their range."""
        try:
            product = float(coefficient)
            for atom, exponent in monomial:
                product *= self._float(atom) ** exponent
                if not _TINY < abs(product) < _HUGE:
                    return None
        except OverflowError:
            return None
        return product

    def _carefully(self, x: Expression) -> float:
        """Exact coefficients for each product of irrational atoms."""
        exact = self._small_enough(x)
        sums: dict[Monomial, Fraction] = {}
        for monomial, coefficient in x.terms:
            rest = []
            for atom, exponent in monomial:
                value = self._fraction(atom) if exact else None
                if value is None:
                    rest.append((atom, exponent))
                else:
                    coefficient *= value**exponent
            key = tuple(rest)
            sums[key] = sums.get(key, Fraction(0)) + coefficient
        terms = []
        for monomial, coefficient in sums.items():
            product = float(coefficient)
            for atom, exponent in monomial:
                product *= self._float(atom) ** exponent
            terms.append(product)
        total = math.fsum(terms)
        if not math.isfinite(total):
            raise OverflowError
        if any(sums) and _CANCELLED_BADLY * abs(total) < sum(map(abs, terms)):
            return self._with_digits(x)
        return total

    def _with_digits(self, x: Expression) -> float:
        """The sum in as many digits as the cancellation of its irrational terms needs."""
        import mpmath  # comes with SymPy; hardly ever needed

        for digits in _DIGITS:
            with mpmath.workdps(digits):
                total, size = self._sum_in_digits(x)
                if size < abs(total) * mpmath.mpf(10) ** (digits - 20):
                    return float(total)
        return 0.0

    def _sum_in_digits(self, x: Expression) -> tuple[Any, Any]:
        """The sum, and the sum of magnitudes."""
        import mpmath

        terms = []
        for monomial, coefficient in x.terms:
            product = mpmath.mpf(coefficient.numerator) / coefficient.denominator
            for atom, exponent in monomial:
                product *= self._atom_in_digits(atom) ** exponent
            terms.append(product)
        return mpmath.fsum(terms), mpmath.fsum(terms, absolute=True)

    def _atom_in_digits(self, atom: Atom) -> Any:
        import mpmath

        if atom.kind == "symbol":
            exact = self._fraction(atom)
            if exact is not None:
                return mpmath.mpf(exact.numerator) / exact.denominator
            value = self._symbol(atom.name)
            return mpmath.mpf(value) if isinstance(value, Real) else self._sum_in_digits(value)[0]
        if atom.argument is None:
            return +mpmath.pi
        x = self._sum_in_digits(atom.argument)[0]
        functions = {"sqrt": mpmath.sqrt, "cos": mpmath.cos, "sin": mpmath.sin, "abs": abs}
        return functions[atom.kind](x) if atom.kind in functions else 1 / x

    def _small_enough(self, x: Expression) -> bool:
        """Whether the common denominator of all terms is short enough for exact fractions."""
        largest: dict[Atom, int] = {}
        for monomial, _ in x.terms:
            for atom, exponent in monomial:
                largest[atom] = max(largest.get(atom, 0), abs(exponent))
        bits = sum(d.bit_length() for d in {c.denominator for _, c in x.terms})
        for atom, exponent in largest.items():
            value = self._fraction(atom)
            if value is not None:
                bits += exponent * max(value.numerator.bit_length(), value.denominator.bit_length())
        return bits <= _MAX_BITS

    def _float(self, atom: Atom) -> float:
        if atom not in self._floats:
            self._floats[atom] = self._atom(atom)
        return self._floats[atom]

    def _atom(self, atom: Atom) -> float:
        if atom.kind == "symbol":
            value = self._symbol(atom.name)
            return float(value) if isinstance(value, Real) else value.value()
        if atom.argument is None:
            return math.pi
        x = self.number(atom.argument)
        match atom.kind:
            case "sqrt":
                return math.sqrt(x)
            case "cos":
                return math.cos(x)
            case "sin":
                return math.sin(x)
            case "abs":
                return abs(x)
        return 1.0 / x

    def _symbol(self, name: str) -> Any:
        if name not in self.symbols:
            known = listed(sorted(self.symbols)) or "none"
            raise MissingValueError(
                f"symbol '{name}' has no value, so '{self.whole}' is not a number; "
                f"symbols with a value: {known}"
            )
        return self.symbols[name]

    def _fraction(self, atom: Atom) -> Fraction | None:
        """The exact value of an atom that is rational and of reasonable length, else None."""
        if atom not in self._fractions:
            self._fractions[atom] = self._exact(atom)
        return self._fractions[atom]

    def _exact(self, atom: Atom) -> Fraction | None:
        if atom.kind == "symbol":
            value = self._symbol(atom.name)
            return _decimal(value) if isinstance(value, Real) else value.number
        if atom.kind not in ("abs", "inverse") or atom.argument is None:
            return None
        x = atom.argument
        if any(self._fraction(inner) is None for inner in x.atoms()) or not self._small_enough(x):
            return None
        total = Fraction(0)
        for monomial, coefficient in x.terms:
            for inner, exponent in monomial:
                coefficient *= (self._fraction(inner) or Fraction(0)) ** exponent
            total += coefficient
        return abs(total) if atom.kind == "abs" else 1 / total


def over_scalars(x: Expression, symbols: Mapping[str, Any]) -> Any:
    """The expression over any scalar that its symbols are given in; such as one that records."""
    total: Any = 0
    for monomial, coefficient in x.terms:
        term: Any = int(coefficient) if coefficient.denominator == 1 else float(coefficient)
        for atom, exponent in monomial:
            factor = _scalar(atom, symbols)
            for _ in range(abs(exponent)):
                term = term * factor if exponent > 0 else term / factor
        total = total + term
    return total


def _scalar(atom: Atom, symbols: Mapping[str, Any]) -> Any:
    if atom.kind == "symbol":
        return symbols[atom.name]
    if atom.argument is None:
        return math.pi
    argument = over_scalars(atom.argument, symbols)
    functions = {"sqrt": sqrt, "cos": cos, "sin": sin, "abs": abs}
    return functions[atom.kind](argument) if atom.kind in functions else 1 / argument


def _decimal(x: Any) -> Fraction | None:
    """A Python number as the decimal it is written as: 0.1 is one tenth."""
    if isinstance(x, Integral):
        return Fraction(int(x))
    return Fraction(repr(float(x))) if math.isfinite(x) else None
