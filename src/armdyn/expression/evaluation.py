"""Expressions as floating-point numbers, right to a few units in the last place also where terms cancel.

A sum is first taken in floats, with a bound of what rounding does to it, through all functions. Where that is
too much, because terms cancel, it is taken again: in exact fractions where all of it is rational (symbols are
the decimals they are written as), else in balls of python-flint, which hold the value for certain, with more
digits until the ball is narrow. sin(x)**16, say, is kept as a polynomial in cos(x) and is tiny compared with
its terms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from armdyn.expression.errors import MissingValueError
from armdyn.expression.messages import listed
from armdyn.expression.terms import Atom, Monomial

if TYPE_CHECKING:
    from armdyn.expression.expression import Expression

_EPS = 2.0**-53
_ALLOWED = 16 * _EPS  # of rounding, by its bound: what is left is a few times less
_LARGEST_ANGLE = 1e6  # of which cosine and sine are taken in floats
_BITS = (128, 512, 2048, 8192, 32768)  # of balls
_ENOUGH = 60  # bits of a ball that are certain
_TINY, _HUGE = 1e-250, 1e250
_MAX_BITS = 20_000  # of a common denominator


class Evaluation:
    """Values of expressions for one set of symbol values."""

    def __init__(self, whole: Expression, symbols: Mapping[str, float | Expression]) -> None:
        self.whole, self.symbols = whole, symbols
        self._floats: dict[Atom, tuple[float, float]] = {}
        self._fractions: dict[Atom, Fraction | None] = {}

    def number(self, x: Expression) -> float:
        """The value of `whole`."""
        exact = x.number
        if exact is not None:
            return float(exact)
        total, error = self._estimate(x)
        if error <= _ALLOWED * abs(total) < math.inf:
            return total
        known = self._rational(x)
        return self._in_balls(x) if known is None else float(known)

    # ---- in floats -------------------------------------------------------------------------------------

    def _estimate(self, x: Expression) -> tuple[float, float]:
        """A sum in floats and a bound of its error; infinite where a product leaves their range."""
        total = size = error = 0.0
        for monomial, coefficient in x.terms:
            product, relative = self._product(monomial, coefficient)
            total, size = total + product, size + abs(product)
            error += abs(product) * relative
        return total, error + _EPS * size * (len(x.terms) - 1)

    def _product(self, monomial: Monomial, coefficient: Fraction) -> tuple[float, float]:
        """A term and the bound of its relative error."""
        try:
            product, relative = float(coefficient), _EPS
            for atom, exponent in monomial:
                value, error = self._float(atom)
                if value == error == 0 and exponent > 0:
                    return 0.0, 0.0
                product *= value**exponent
                if not _TINY < abs(product) < _HUGE:
                    return 0.0, math.inf
                relative += abs(exponent) * error / abs(value) + (_EPS if exponent == 1 else 2 * _EPS)
        except (OverflowError, ZeroDivisionError):
            return 0.0, math.inf
        return product, relative

    def _float(self, atom: Atom) -> tuple[float, float]:
        if atom not in self._floats:
            self._floats[atom] = self._atom(atom)
        return self._floats[atom]

    def _atom(self, atom: Atom) -> tuple[float, float]:
        """A value and the bound of its error."""
        if atom.kind == "symbol":
            value = self._symbol(atom.name)
            x = float(value) if isinstance(value, Real) else value.value()
            return x, _EPS * abs(x)
        if atom.argument is None:
            return math.pi, _EPS * math.pi
        number = atom.argument.number
        x, error = self._estimate(atom.argument) if number is None else (float(number), 0.0)
        error += _EPS * abs(x)
        if not error < abs(x) / 2 and atom.kind != "cos":
            return 0.0, math.inf
        match atom.kind:
            case "sqrt":
                return math.sqrt(x), 2 * _EPS * math.sqrt(x)
            case "abs":
                return abs(x), error
            case "cos" | "sin" if abs(x) < _LARGEST_ANGLE and error < 1:
                y, slope = (math.cos(x), math.sin(x)) if atom.kind == "cos" else (math.sin(x), math.cos(x))
                return y, error * (abs(slope) + error) + 2 * _EPS * abs(y)
            case "inverse":
                return 1.0 / x, 2 * error / x**2
        return 0.0, math.inf

    # ---- in fractions ----------------------------------------------------------------------------------

    def _rational(self, x: Expression) -> Fraction | None:
        """The exact value of a sum of rational atoms, where it is of reasonable length; else None."""
        if any(self._fraction(inner) is None for inner in x.atoms()) or not self._small_enough(x):
            return None
        total = Fraction(0)
        for monomial, coefficient in x.terms:
            for inner, exponent in monomial:
                coefficient *= (self._fraction(inner) or Fraction(0)) ** exponent
            total += coefficient
        return total

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
        total = self._rational(atom.argument)
        if total is None:
            return None
        return abs(total) if atom.kind == "abs" else 1 / total

    # ---- in balls --------------------------------------------------------------------------------------

    def _in_balls(self, x: Expression) -> float:
        """With as many digits as it takes; what cannot be told from zero with thousands of them is zero."""
        from flint import ctx  # takes a while to import, and is hardly ever needed

        for bits in _BITS:
            with ctx.workprec(bits):
                found = self._ball(x)
                if found.is_finite() and found.rel_accuracy_bits() >= _ENOUGH:
                    value = float(found.mid())
                    if math.isinf(value):
                        raise OverflowError
                    return value
        if not found.is_finite():
            raise ZeroDivisionError
        return 0.0

    def _ball(self, x: Expression) -> Any:
        from flint import arb

        total = arb(0)
        for monomial, coefficient in x.terms:
            product = _ball_of(coefficient)
            for atom, exponent in monomial:
                product *= self._atom_ball(atom) ** exponent
            total += product
        return total

    def _atom_ball(self, atom: Atom) -> Any:
        from flint import arb

        if atom.kind == "symbol":
            exact, value = self._fraction(atom), self._symbol(atom.name)
            if exact is not None:
                return _ball_of(exact)
            if isinstance(value, Real):  # not finite
                raise OverflowError
            return self._ball(value)
        if atom.argument is None:
            return arb.pi()
        x = self._ball(atom.argument)
        match atom.kind:
            case "sqrt":
                return x.sqrt()
            case "cos":
                return x.cos()
            case "sin":
                return x.sin()
            case "abs":
                return abs(x)
        return 1 / x


def _ball_of(x: Fraction) -> Any:
    from flint import arb, fmpq

    return arb(fmpq(x.numerator, x.denominator))


def _decimal(x: Any) -> Fraction | None:
    """A Python number as the decimal it is written as: 0.1 is one tenth."""
    if isinstance(x, Integral):
        return Fraction(int(x))
    return Fraction(repr(float(x))) if math.isfinite(x) else None
