"""Exact numbers that may contain symbols.

An `Expression` is a sparse polynomial with rational coefficients in *atoms*. An atom is a symbol (`m1`),
the constant pi, a square root of a rational, the cosine or sine of an angle, an absolute value, or the
inverse of a sum. Exponents may be negative. Products are brought to a normal form by

    sqrt(n)² = n      sin(x)² = 1 − cos(x)²      abs(x)² = x²

Equal normal forms mean equal values. The converse holds for polynomials in symbols and square roots; two
forms with different function arguments (cos(a+b) and cos(a)cos(b) − sin(a)sin(b)) or inverses of sums may
be equal without being recognised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Rational, Real
from typing import Any

from armdyn.expression.errors import ExpressionError, MissingValueError

_KIND_ORDER = {kind: i for i, kind in enumerate(("pi", "sqrt", "symbol", "cos", "sin", "abs", "inverse"))}

Monomial = tuple[tuple["Atom", int], ...]


@dataclass(frozen=True)
class Atom:
    """What a polynomial is a polynomial in: a symbol, pi, or a function of another expression."""

    kind: str
    name: str
    argument: Expression | None = None

    @cached_property
    def sort_key(self) -> tuple[int, str]:
        return (_KIND_ORDER[self.kind], self.name)

    def __str__(self) -> str:
        if self.kind == "inverse":
            return f"inv({self.argument})"
        return f"{self.kind}({self.argument})" if self.argument is not None else self.name

    def value(self, lookup: Callable[[str], float]) -> float:
        """Its floating-point value, symbols by `lookup`."""
        if self.kind == "symbol":
            return lookup(self.name)
        if self.argument is None:
            return math.pi
        x = self.argument._value(lookup)
        functions: dict[str, Callable[[float], float]] = {
            "sqrt": math.sqrt,
            "cos": math.cos,
            "sin": math.sin,
            "abs": abs,
            "inverse": lambda d: 1.0 / d,
        }
        return functions[self.kind](x)


class Expression:
    """An exact number that may contain symbols. Immutable, hashable, compared by value."""

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[Monomial, Fraction], ...]

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        kept = [(m, c) for m, c in terms.items() if c]
        kept.sort(key=lambda mc: [(a.sort_key, -e) for a, e in mc[0]])
        self.terms = tuple(kept)
        number = self.number
        self._hash = hash(self.terms if number is None else number)  # equal numbers hash equal

    # ---- making ----------------------------------------------------------------------------------------

    @staticmethod
    def of(x: object) -> Expression:
        """The expression for a Python number; decimals are exact (0.1 is 1/10, not the nearest double)."""
        if isinstance(x, Expression):
            return x
        if isinstance(x, bool) or not isinstance(x, (Real, Decimal)):
            raise ExpressionError(f"expected a number or an expression, found {x!r}")
        if isinstance(x, Integral):
            return Expression({(): Fraction(int(x))})
        if isinstance(x, Rational):
            return Expression({(): Fraction(int(x.numerator), int(x.denominator))})
        if not math.isfinite(x):
            raise ExpressionError(f"expected a finite number, found {x}")
        return Expression({(): Fraction(repr(float(x)) if not isinstance(x, Decimal) else x)})

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
            return Fraction(0)
        if len(self.terms) == 1 and not self.terms[0][0]:
            return self.terms[0][1]
        return None

    def atoms(self) -> set[Atom]:
        return {atom for monomial, _ in self.terms for atom, _ in monomial}

    def symbols(self) -> set[str]:
        """The names of all symbols in it, also those inside functions."""
        names: set[str] = set()
        for atom in self.atoms():
            if atom.kind == "symbol":
                names.add(atom.name)
            elif atom.argument is not None:
                names |= atom.argument.symbols()
        return names

    def value(self, symbols: Mapping[str, float] | None = None) -> float:
        """Its floating-point value; a symbol without a value raises `MissingValueError` naming it."""
        known = symbols or {}

        def lookup(name: str) -> float:
            if name not in known:
                raise MissingValueError(
                    f"symbol '{name}' has no value, so '{self}' is not a number; "
                    f"symbols with a value: {', '.join(sorted(known)) or 'none'}"
                )
            return known[name]

        try:
            return self._value(lookup)
        except ZeroDivisionError:
            raise ExpressionError(f"'{self}' divides by zero with the symbols' values") from None
        except OverflowError:
            raise ExpressionError("its value is larger than 1e300") from None

    def _value(self, lookup: Callable[[str], float]) -> float:
        number = self.number
        if number is not None:
            return float(number)
        total = 0.0
        for monomial, coefficient in self.terms:
            product = float(coefficient)
            for atom, exponent in monomial:
                product *= atom.value(lookup) ** exponent
            total += product
        return total

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
        terms = dict(self.terms)
        for monomial, coefficient in other.terms:
            terms[monomial] = terms.get(monomial, Fraction(0)) + coefficient
        return Expression(terms)

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
        terms: dict[Monomial, Fraction] = {}
        for ma, ca in self.terms:
            for mb, cb in other.terms:
                for monomial, coefficient in _product(ma, mb):
                    terms[monomial] = terms.get(monomial, Fraction(0)) + ca * cb * coefficient
        return Expression(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else self * other._inverse()

    def __rtruediv__(self, other: object) -> Expression:
        other = _operand(other)
        return NotImplemented if other is None else other * self._inverse()

    def __pow__(self, exponent: int) -> Expression:
        base = self if exponent >= 0 else self._inverse()
        result = ONE
        for _ in range(abs(exponent)):
            result = result * base
        return result

    def _inverse(self) -> Expression:
        if not self.terms:
            raise ExpressionError("division by zero")
        if len(self.terms) == 1:
            monomial, coefficient = self.terms[0]
            inverted: Iterable[tuple[Monomial, Fraction]] = [((), Fraction(1))]
            for atom, exponent in monomial:
                inverted = [
                    (m, c * k) for mono, c in inverted for m, k in _product(mono, ((atom, -exponent),))
                ]
            return Expression(dict(inverted)) * Expression.of(1 / coefficient)
        lead = self.terms[0][1]
        monic = self * Expression.of(1 / lead)
        return _atomic(Atom("inverse", str(monic), monic)) * Expression.of(1 / lead)

    # ---- functions -------------------------------------------------------------------------------------

    def cos(self) -> Expression:
        return _cos_sin(self)[0]

    def sin(self) -> Expression:
        return _cos_sin(self)[1]

    def sqrt(self) -> Expression:
        """Exact for rationals (√(8/9) = 2/3·√2); of anything else only numbers can be taken."""
        number = self.number
        if number is None or number < 0:
            raise ExpressionError(f"sqrt takes a non-negative number, found '{self}'")
        outside, radicals = _square_part(number.numerator * number.denominator)
        root = Expression.of(Fraction(outside, number.denominator))
        for radical in radicals:
            root = root * _atomic(Atom("sqrt", str(radical), Expression.of(radical)))
        return root

    def __abs__(self) -> Expression:
        number = self.number
        if number is not None:
            return Expression.of(abs(number))
        sign, argument = _leading_sign(self)
        return _atomic(Atom("abs", str(argument), argument)) if sign else self

    # ---- comparing and printing ------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if isinstance(other, float):  # the number a float is, not the decimal it prints as: as hash has it
            return self.number == other
        other = _operand(other)
        return NotImplemented if other is None else self.terms == other.terms

    def __hash__(self) -> int:
        return self._hash

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = "".join(_signed(_term_text(m, c)) for m, c in self.terms)
        return text[3:] if text.startswith(" + ") else "-" + text[3:]

    def __repr__(self) -> str:
        return f"Expression('{self}')"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Expression, (dict(self.terms),))


def _atomic(atom: Atom) -> Expression:
    return Expression({((atom, 1),): Fraction(1)})


def _operand(x: object) -> Expression | None:
    if isinstance(x, Expression):
        return x
    if isinstance(x, bool):
        return None
    return Expression.of(x) if isinstance(x, (Real, Decimal)) else None


def _product(a: Monomial, b: Monomial) -> Iterator[tuple[Monomial, Fraction]]:
    """The normal form of a product of two monomials, term by term."""
    exponents = dict(a)
    for atom, e in b:
        exponents[atom] = exponents.get(atom, 0) + e
    yield from _normal_form(exponents, Fraction(1))


def _normal_form(exponents: dict[Atom, int], coefficient: Fraction) -> Iterator[tuple[Monomial, Fraction]]:
    for atom, e in exponents.items():
        argument = atom.argument
        if argument is None or (0 <= e < 2 and atom.kind != "inverse"):
            continue
        if atom.kind == "sqrt":
            n = argument.number or Fraction(0)
            yield from _normal_form({**exponents, atom: e % 2}, coefficient * n ** (e // 2))
            return
        if e >= 2 and atom.kind == "sin":
            cosine = Atom("cos", atom.name, argument)
            lower = {**exponents, atom: e - 2}
            yield from _normal_form(lower, coefficient)
            yield from _normal_form({**lower, cosine: exponents.get(cosine, 0) + 2}, -coefficient)
            return
        if e >= 2 and atom.kind == "abs":
            rest = Expression(dict(_normal_form({**exponents, atom: e - 2}, coefficient)))
            yield from (rest * argument * argument).terms
            return
        if e < 0 and atom.kind == "inverse":
            rest = Expression(dict(_normal_form({**exponents, atom: 0}, coefficient)))
            yield from (rest * argument**-e).terms
            return
    kept = sorted(((a, e) for a, e in exponents.items() if e), key=lambda ae: ae[0].sort_key)
    yield tuple(kept), coefficient


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


def _square_part(n: int) -> tuple[int, list[int]]:
    """(a, radicals) with √n = a·Π√r: the primes of n that are left over, and what has no small factor."""
    a, b, radicals, p = 1, n, list[int](), 2
    while b and p * p <= b and p < 10_000:
        count = 0
        while b % p == 0:
            b, count = b // p, count + 1
        a *= p ** (count // 2)
        radicals += [p] * (count % 2)
        p += 1
    root = math.isqrt(b)
    if root * root == b:
        return a * root, radicals
    return a, [*radicals, b]


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
        c = _atomic(Atom("cos", str(argument), argument)) if sign else ONE
        s = _atomic(Atom("sin", str(argument), argument)) * sign if sign else ZERO
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


def decimal_text(x: Fraction) -> str:
    """A rational as people write it: 50, 0.4318, -1/3, 3.3e-05."""
    if x.denominator == 1 and abs(x.numerator) < 10**15:
        return str(x.numerator)
    if abs(x.denominator) < 1000 and abs(x.numerator) < 1000 and not _is_decimal(x.denominator):
        return f"{x.numerator}/{x.denominator}"
    if abs(x) >= 10**300:
        return f"{x.numerator}/{x.denominator}" if x.denominator != 1 else str(x.numerator)
    text = repr(float(x))
    return text if Fraction(text) == x else f"{x.numerator}/{x.denominator}"


def _is_decimal(denominator: int) -> bool:
    for p in (2, 5):
        while denominator % p == 0:
            denominator //= p
    return denominator == 1


def _term_text(monomial: Monomial, coefficient: Fraction) -> str:
    factors = [str(a) if e == 1 else f"{a}**{e}" for a, e in monomial]
    if abs(coefficient) != 1 or not factors:
        factors.insert(0, decimal_text(abs(coefficient)))
    return ("-" if coefficient < 0 else "") + "*".join(factors)


def _signed(term: str) -> str:
    return f" - {term[1:]}" if term.startswith("-") else f" + {term}"


ZERO: Expression = Expression({})
ONE: Expression = Expression.of(1)
