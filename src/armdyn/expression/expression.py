"""Exact numbers that may contain symbols.

An `Expression` is a sparse polynomial with rational coefficients in *atoms*. An atom is a symbol (`m1`),
the constant pi, a square root of a rational, the cosine or sine of an angle, an absolute value, or the
inverse of a sum. Exponents may be negative. Products are brought to the normal form of `terms`.

Equal normal forms mean equal values. The converse holds for polynomials in symbols and square roots; two
forms with different function arguments (cos(a+b) and cos(a)cos(b) − sin(a)sin(b)) or inverses of sums may
be equal without being recognised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache
from numbers import Integral, Rational, Real
from typing import Any

from armdyn.expression.errors import ExpressionError, MissingValueError
from armdyn.expression.evaluation import Evaluation
from armdyn.expression.messages import listed, shown
from armdyn.expression.terms import Atom, Monomial, added, inverted, multiplied, power
from armdyn.expression.text import terms_text
from armdyn.expression.work import MAX_BITS, charge

_FACTORING = 200  # cost of factoring a long number, in products of terms
_MAX_POWER_OF_TEN = 1000
_SHORT = 10**40  # factors below this keep numbers short


class Expression:
    """An exact number that may contain symbols. Immutable, hashable, compared by value."""

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[Monomial, Fraction], ...]
    _hash: int  # computed when first asked for

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        kept = [(m, c) for m, c in terms.items() if c]
        if len(kept) > 1:
            kept.sort(key=lambda mc: [(a.sort_key, -e) for a, e in mc[0]])
        self.terms = tuple(kept)

    # ---- making ----------------------------------------------------------------------------------------

    @staticmethod
    def of(x: object) -> Expression:
        """The expression for a Python number; decimals are exact (0.1 is 1/10, not the nearest double)."""
        if isinstance(x, Expression):
            return x
        if type(x) is int and x in _KEPT:
            return _KEPT[x]
        if type(x) is float and math.isfinite(x):
            return _decimal(x)
        if isinstance(x, bool) or not isinstance(x, (Real, Decimal)):
            raise ExpressionError(f"expected a number or an expression, found {shown(x)}")
        if isinstance(x, (Integral, Rational)):
            exact = Fraction(int(x.numerator), int(x.denominator))
            if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > MAX_BITS:
                raise ExpressionError(f"expected a number of at most {MAX_BITS} bits, found a longer one")
            return _rational(exact)
        if not math.isfinite(x) or (isinstance(x, Decimal) and abs(x.adjusted()) > _MAX_POWER_OF_TEN):
            raise ExpressionError(f"expected a finite number, found {x}")
        return _rational(Fraction(x)) if isinstance(x, Decimal) else _decimal(float(x))

    @staticmethod
    def symbol(name: str) -> Expression:
        return _atomic(Atom("symbol", name))

    @staticmethod
    def pi() -> Expression:
        return _atomic(Atom("pi", "pi"))

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def is_zero(self) -> bool:
        return not self.terms

    @property
    def number(self) -> Fraction | None:
        """The rational number this is, or None when it contains an atom."""
        if not self.terms:
            return _ZERO
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    def atoms(self) -> set[Atom]:
        return {atom for monomial, _ in self.terms for atom, _ in monomial}

    def symbols(self) -> set[str]:
        """The names of all symbols in it, also those inside functions."""
        names: set[str] = set()
        if self.number is not None:
            return names
        for atom in self.atoms():
            if atom.kind == "symbol":
                names.add(atom.name)
            elif atom.argument is not None:
                names |= atom.argument.symbols()
        return names

    def value(self, symbols: Mapping[str, float | Expression] | None = None) -> float:
        """Its floating-point value; a symbol without a value raises `MissingValueError` naming it.

        Symbols are the decimals they are written as, so that `1 - m` is 0.1 at m = 0.9, and no rounding is
        left where terms cancel.
        """
        try:
            number = self.number
            return float(number) if number is not None else Evaluation(self, symbols or {}).number(self)
        except ZeroDivisionError:
            raise ExpressionError(f"'{self}' divides by zero with the symbols' values") from None
        except OverflowError:
            raise ExpressionError("its value is larger than 1e300") from None

    def __float__(self) -> float:
        """The value of an expression without symbols; with symbols, `value` takes theirs."""
        if names := sorted(self.symbols()):
            raise MissingValueError(
                f"'{str(self)[:60]}' is not a number: it has the symbol{'s' if len(names) > 1 else ''} "
                f"{listed(names)}; .value({{'{names[0]}': …}}) takes values"
            )
        return self.value()

    def substitute(self, values: Mapping[str, Expression]) -> Expression:
        """The expression with symbols replaced, exactly, also inside functions."""
        if not self.symbols() & values.keys():
            return self
        total = ZERO
        for monomial, coefficient in self.terms:
            product = Expression.of(coefficient)
            for atom, exponent in monomial:
                product = product * _substituted(atom, values) ** exponent
            total = total + product
        return total

    # ---- arithmetic ------------------------------------------------------------------------------------

    def __add__(self, other: object) -> Expression:
        other = _operand(other)
        if other is None:
            return NotImplemented
        if not self.terms or not other.terms:
            return self if not other.terms else other
        return Expression(added(self.terms, other.terms))

    __radd__ = __add__

    def __neg__(self) -> Expression:
        return Expression({m: -c for m, c in self.terms})

    def __sub__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else self + (-other)

    def __rsub__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else other + (-self)

    def __mul__(self, other: object) -> Expression:
        other = _operand(other)
        if other is None:
            return NotImplemented
        if not self.terms or not other.terms:
            return ZERO
        for x, y in ((self, other), (other, self)):
            number = x.number
            if number is not None and number.denominator < _SHORT > abs(number.numerator):
                return y if number == 1 else Expression({m: c * number for m, c in y.terms})
        return Expression(multiplied(dict(self.terms), dict(other.terms)))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else self * other._inverse()

    def __rtruediv__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else other * self._inverse()

    def __pow__(self, exponent: int) -> Expression:
        base = self if exponent >= 0 else self._inverse()
        return Expression(power(dict(base.terms), abs(exponent)))

    def _inverse(self) -> Expression:
        if not self.terms:
            raise ExpressionError("division by zero")
        if len(self.terms) == 1:
            return Expression(inverted(*self.terms[0]))
        lead = self.terms[0][1]
        monic = self * _rational(1 / lead)
        return _atomic(Atom.of("inverse", monic)) * _rational(1 / lead)

    # ---- functions -------------------------------------------------------------------------------------

    def cos(self) -> Expression:
        return _cos_sin(self)[0]

    def sin(self) -> Expression:
        return _cos_sin(self)[1]

    def sqrt(self) -> Expression:
        """Exact for rationals (√(8/9) = 2/3·√2); of anything else there is none."""
        number = self.number
        if number is None or number < 0:
            raise ExpressionError(f"sqrt takes a fraction that is not negative, as 2 or 8/9; found '{self}'")
        outside, radicals = square_part(number.numerator * number.denominator)
        root = _rational(Fraction(outside, number.denominator))
        for radical in radicals:
            root = root * _atomic(Atom.of("sqrt", Expression.of(radical)))
        return root

    def __abs__(self) -> Expression:
        number = self.number
        if number is not None:
            return Expression.of(abs(number))
        sign, argument = _leading_sign(self)
        return _atomic(Atom.of("abs", argument)) if sign else self

    # ---- comparing and printing ------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, float):  # the number a float is, not the decimal it prints as: as hash has it
            return self.number == other
        other = _operand(other)
        return NotImplemented if other is None else self.terms == other.terms

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            number = self.number
            self._hash = hash(self.terms if number is None else number)  # equal numbers hash equal
            return self._hash

    def __str__(self) -> str:
        return terms_text(self.terms)

    def __repr__(self) -> str:
        return f"Expression('{self}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Expression, (dict(self.terms),))


def _rational(x: Fraction) -> Expression:
    return Expression({(): x})


@lru_cache(1024)
def _decimal(x: float) -> Expression:
    """The decimal that a float is written as."""
    return _rational(Fraction(Decimal(repr(x))))


def _atomic(atom: Atom) -> Expression:
    return Expression({((atom, 1),): Fraction(1)})


def _operand(x: object) -> Expression | None:
    if isinstance(x, Expression):
        return x
    if isinstance(x, bool):
        return None
    return Expression.of(x) if type(x) is int or isinstance(x, (Real, Decimal)) else None


def _substituted(atom: Atom, values: Mapping[str, Expression]) -> Expression:
    if atom.kind == "symbol":
        return values.get(atom.name, _atomic(atom))
    if atom.argument is None:
        return _atomic(atom)
    x = atom.argument.substitute(values)
    functions: dict[str, Callable[[Expression], Expression]] = {
        "sqrt": Expression.sqrt,
        "cos": Expression.cos,
        "sin": Expression.sin,
        "abs": abs,
        "inverse": lambda d: ONE / d,
    }
    return functions[atom.kind](x)


def _leading_sign(x: Expression) -> tuple[int, Expression]:
    """(±1, y) with x = ±y and the leading coefficient of y positive; (0, x) for zero."""
    if not x.terms:
        return 0, x
    return (-1, -x) if x.terms[0][1] < 0 else (1, x)


def square_part(n: int) -> tuple[int, list[int]]:
    """(a, radicals) with √n = a·Π√r: the primes of n that are left over, and what has no small factor."""
    if n.bit_length() > 64:
        charge(_FACTORING)
    a, b, radicals = 1, n, list[int]()
    for p in _primes():
        if p * p > b:
            break
        count = 0
        while b % p == 0:
            b, count = b // p, count + 1
        a *= p ** (count // 2)
        radicals += [p] * (count % 2)
    root = math.isqrt(b)
    if root * root == b:
        return a * root, radicals
    return a, [*radicals, b]


@cache
def _primes() -> tuple[int, ...]:
    """The primes below 10 000."""
    sieve = [True] * 10_000
    for p in range(2, 100):
        if sieve[p]:
            sieve[p * p :: p] = [False] * len(sieve[p * p :: p])
    return tuple(p for p in range(2, 10_000) if sieve[p])


def _cos_sin(angle: Expression) -> tuple[Expression, Expression]:
    """cos and sin: exact at multiples of π/4 and π/6, quarter turns taken out of sums, else atoms."""
    pi_monomial: Monomial = ((Atom("pi", "pi"), 1),)
    turns = dict(angle.terms).get(pi_monomial, Fraction(0))
    rest = angle - Expression({pi_monomial: turns})
    quarter, remainder = divmod(turns * 2, 1)
    remainder = remainder / 2  # in units of π, 0 ≤ remainder < 1/2
    if rest.is_zero and remainder in _EXACT:
        c, s = _EXACT[remainder]()
    else:
        sign, argument = _leading_sign(rest + Expression({pi_monomial: remainder}))
        if sign < 0 and remainder:  # of x, that of π/2 − x, which has between 0 and 1/2 of π again
            argument = argument + Expression({pi_monomial: Fraction(1, 2)})
            s, c = _atomic(Atom.of("cos", argument)), _atomic(Atom.of("sin", argument))
        else:
            c = _atomic(Atom.of("cos", argument)) if sign else ONE
            s = _atomic(Atom.of("sin", argument)) * sign if sign else ZERO
    for _ in range(int(quarter) % 4):
        c, s = -s, c
    return c, s


def _root(n: int, d: int) -> Expression:
    return Expression.of(Fraction(n, d)).sqrt()


_EXACT: dict[Fraction, Callable[[], tuple[Expression, Expression]]] = {
    Fraction(0): lambda: (ONE, ZERO),
    Fraction(1, 6): lambda: (_root(3, 4), Expression.of(Fraction(1, 2))),
    Fraction(1, 4): lambda: (_root(1, 2), _root(1, 2)),
    Fraction(1, 3): lambda: (Expression.of(Fraction(1, 2)), _root(3, 4)),
}


_ZERO = Fraction(0)
_KEPT: dict[int, Expression] = {}  # the whole numbers that matrices are full of
_KEPT.update({k: Expression.of(k) for k in (-1, 0, 1, 2)})
ZERO: Expression = _KEPT[0]
ONE: Expression = _KEPT[1]
