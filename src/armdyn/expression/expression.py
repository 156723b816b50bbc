"""Exact numbers that may contain symbols.

An `Expression` is a sparse polynomial with rational coefficients in *atoms*. An atom is a symbol (`m1`),
the constant pi, a square root of a rational, the cosine or sine of an angle, an absolute value, or the
inverse of a sum. Exponents may be negative. Products are brought to a normal form.

Equal normal forms mean equal values. The converse holds for polynomials in symbols and square roots; two
forms with different function arguments (cos(a+b) and cos(a)cos(b) − sin(a)sin(b)) or inverses of sums may
be equal without being recognised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from numbers import Integral, Rational, Real
from typing import Any

from armdyn.names import listed, shown

# ------------------------------------------------------------------------------------------------------------
# The family of errors.


class ArmdynError(ValueError):
    """Something given to armdyn is wrong; the message says what, where, and what is allowed."""


class ExpressionError(ArmdynError):
    """A text that should be a number or an expression is not one."""


class MissingValueError(ArmdynError):
    """A number is needed, but a symbol in it has no value."""


# ------------------------------------------------------------------------------------------------------------
# A bound on multiplying out, counted while it is done, so that a short text cannot ask for too much.


MAX_PRODUCTS = 100_000  # of terms, in one multiplication outside of any limit: below a second
MAX_BITS = 14_000  # of a numerator or denominator: Python prints no longer ones
MAX_EXPONENT = 256
MAX_DEPTH = 32  # levels of functions inside functions
MAX_SIZE = 20_000  # characters of a function's argument


class TooLargeError(ExpressionError):
    """An expression is too large when multiplied out."""


@dataclass
class _Budget:
    products: int
    left: int
    outer: _Budget | None


_budget: ContextVar[_Budget | None] = ContextVar("armdyn_expression_budget", default=None)


@contextmanager
def limited(products: int) -> Iterator[None]:
    """Bound the products of terms that all multiplications in the block may take together.

    They also count towards the bound of an outer block.
    """
    token = _budget.set(_Budget(products, products, _budget.get()))
    try:
        yield
    finally:
        _budget.reset(token)


def charge(products: int) -> None:
    """Count products of terms, before they are made, and refuse them beyond the bound."""
    budget = _budget.get()
    if budget is None and products > MAX_PRODUCTS:
        _refuse(MAX_PRODUCTS)
    while budget is not None:
        budget.left -= products
        if budget.left < 0:
            _refuse(budget.products)
        budget = budget.outer


def _refuse(products: int) -> None:
    raise TooLargeError(f"too large: multiplied out it takes more than {products} products of terms")


# ------------------------------------------------------------------------------------------------------------
# Atoms, and products of terms in normal form:
#
#     sqrt(n)² = n      sin(x)² = 1 − cos(x)²      abs(x)² = x²      inv(x)⁻¹ = x


_KIND_ORDER = {kind: i for i, kind in enumerate(("pi", "sqrt", "symbol", "cos", "sin", "abs", "inverse"))}
_BITS_PER_PRODUCT = 256  # products of longer numbers count several times,
_ATOMS_PER_PRODUCT = 3  # and so do those of longer monomials

Monomial = tuple[tuple["Atom", int], ...]
Terms = dict[Monomial, Fraction]


@dataclass(frozen=True)
class Atom:
    """A variable of a polynomial: a symbol, pi, or a function of another expression."""

    kind: str
    name: str
    argument: Expression | None = field(default=None, compare=False)  # a symbol or pi, given by `name`

    @staticmethod
    def of(kind: str, argument: Expression) -> Atom:
        """A function of an expression; refused if the expression is too large or too deep."""
        depth = 1 + max((atom.depth for atom in argument.atoms()), default=0)
        if depth > MAX_DEPTH:
            raise TooLargeError(f"too large: functions inside functions, more than {MAX_DEPTH} deep")
        size = sum(8 + len(atom.name) for monomial, _ in argument.terms for atom, _ in monomial)
        if size > MAX_SIZE:
            raise TooLargeError(f"too large: {kind} of an expression with more than {MAX_SIZE} characters")
        return Atom(kind, str(argument), argument)

    @cached_property
    def sort_key(self) -> tuple[int, str]:
        return (_KIND_ORDER[self.kind], self.name)

    @cached_property
    def depth(self) -> int:
        """Depth of functions within functions."""
        if self.argument is None:
            return 0
        return 1 + max((atom.depth for atom in self.argument.atoms()), default=0)

    def __str__(self) -> str:
        if self.kind == "inverse":
            return f"inv({self.name})"
        return f"{self.kind}({self.name})" if self.argument is not None else self.name


def added(*sums: Iterable[tuple[Monomial, Fraction]]) -> Terms:
    """The sum; coefficients of equal monomials are added."""
    total: Terms = {}
    for terms in sums:
        for monomial, coefficient in terms:
            total[monomial] = total[monomial] + coefficient if monomial in total else coefficient
    return total


def multiplied(a: Mapping[Monomial, Fraction], b: Mapping[Monomial, Fraction]) -> Terms:
    """The product in normal form."""
    charge(len(a) * len(b) * (1 + _weight(a) + _weight(b)))
    total: Terms = {}
    for ma, ca in a.items():
        for mb, cb in b.items():
            for monomial, coefficient in _joined(ma, mb, ca * cb).items():
                total[monomial] = total[monomial] + coefficient if monomial in total else coefficient
    if _bits(total.values()) > MAX_BITS:
        raise TooLargeError(f"too large: a number in it has more than {MAX_BITS} bits")
    return total


def power(base: Mapping[Monomial, Fraction], exponent: int) -> Terms:
    """A whole power, not negative."""
    result: Terms = {(): Fraction(1)}
    for _ in range(exponent):
        result = multiplied(result, base)
    return result


def inverted(monomial: Monomial, coefficient: Fraction) -> Terms:
    """The inverse of a single term."""
    return normal_form({atom: -e for atom, e in monomial}, 1 / coefficient)


def normal_form(exponents: Mapping[Atom, int], coefficient: Fraction) -> Terms:
    """A product of powers of atoms in normal form, without squares of roots, sines and absolute values."""
    kept: list[tuple[Atom, int]] = []
    factors: list[Mapping[Monomial, Fraction]] = []
    for atom, e in exponents.items():
        if abs(e) > MAX_EXPONENT:
            raise TooLargeError(f"too large: an exponent beyond {MAX_EXPONENT}")
        argument = atom.argument
        if argument is None or (0 <= e < 2):
            rest = e
        elif atom.kind == "sqrt":
            rest = e % 2
            coefficient = coefficient * (argument.number or Fraction(0)) ** (e // 2)
        elif atom.kind == "sin" and e >= 2:
            rest = e % 2
            factors.append(_power_of_sine_squared(Atom("cos", atom.name, argument), e // 2))
        elif atom.kind == "abs" and e >= 2:
            rest = e % 2
            factors.append(power(dict(argument.terms), e - rest))
        elif atom.kind == "inverse" and e < 0:
            rest = 0
            factors.append(power(dict(argument.terms), -e))
        else:
            rest = e
        if rest:
            kept.append((atom, rest))
    terms: Terms = {tuple(sorted(kept, key=lambda ae: ae[0].sort_key)): coefficient}
    for factor in factors:
        terms = multiplied(terms, factor)
    return terms


def _joined(a: Monomial, b: Monomial, coefficient: Fraction) -> Terms:
    if not a or not b:  # one of them is a number: the other is in normal form already
        return {a or b: coefficient}
    exponents = dict(a)
    for atom, e in b:
        exponents[atom] = exponents.get(atom, 0) + e
    return normal_form(exponents, coefficient)


def _power_of_sine_squared(cosine: Atom, k: int) -> Terms:
    """(1 − cos²)^k."""
    charge(k + 1)
    return {(((cosine, 2 * j),) if j else ()): Fraction((-1) ** j * math.comb(k, j)) for j in range(k + 1)}


def _weight(terms: Mapping[Monomial, Fraction]) -> int:
    """Cost that long numbers and long monomials add to a product."""
    return _bits(terms.values()) // _BITS_PER_PRODUCT + max(map(len, terms), default=0) // _ATOMS_PER_PRODUCT


def _bits(numbers: Iterable[Fraction]) -> int:
    return max((max(x.numerator.bit_length(), x.denominator.bit_length()) for x in numbers), default=0)


# ------------------------------------------------------------------------------------------------------------
# Expressions as floating-point numbers, right to a few units in the last place also where terms cancel.
#
# A sum is first taken in floats, with a bound on its rounding error through all functions. Where the bound is
# too large, because terms cancel, the sum is taken again: in exact fractions where all of it is rational
# (symbols are the decimals they are written as), else in balls of python-flint, which hold the value for
# certain, with more digits until the ball is narrow. sin(x)**16, say, is kept as a polynomial in cos(x) and
# is tiny compared with its terms.


_EPS = 2.0**-53
_ALLOWED = 16 * _EPS  # of rounding, by its bound: what is left is a few times less
_LARGEST_ANGLE = 1e6  # of which cosine and sine are taken in floats
_BITS = (128, 512, 2048, 8192, 32768)  # of balls
_ENOUGH = 60  # bits of a ball that are certain
_TINY, _HUGE = 1e-250, 1e250
_LONGEST_DENOMINATOR = 20_000  # of a common denominator


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
        """True if the common denominator of all terms is short enough for exact fractions."""
        largest: dict[Atom, int] = {}
        for monomial, _ in x.terms:
            for atom, exponent in monomial:
                largest[atom] = max(largest.get(atom, 0), abs(exponent))
        bits = sum(d.bit_length() for d in {c.denominator for _, c in x.terms})
        for atom, exponent in largest.items():
            value = self._fraction(atom)
            if value is not None:
                bits += exponent * max(value.numerator.bit_length(), value.denominator.bit_length())
        return bits <= _LONGEST_DENOMINATOR

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
            return _exact_decimal(value) if isinstance(value, Real) else value.number
        if atom.kind not in ("abs", "inverse") or atom.argument is None:
            return None
        total = self._rational(atom.argument)
        if total is None:
            return None
        return abs(total) if atom.kind == "abs" else 1 / total

    # ---- in balls --------------------------------------------------------------------------------------

    def _in_balls(self, x: Expression) -> float:
        """The value, with as many digits as it takes; zero if thousands of them do not tell it from zero."""
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


def _exact_decimal(x: Any) -> Fraction | None:
    """A Python number as the decimal it is written as: 0.1 is one tenth."""
    if isinstance(x, Integral):
        return Fraction(int(x))
    return Fraction(repr(float(x))) if math.isfinite(x) else None


# ------------------------------------------------------------------------------------------------------------
# Expressions as texts that read as the same expression.


def terms_text(terms: Iterable[tuple[Monomial, Fraction]]) -> str:
    """A sum of terms; "0" without any. Beside 1/12 stands 1/4, and not 0.25."""
    found = list(terms)
    fractions = any(decimal_places(c) is None for _, c in found)
    text = "".join(_signed(_term_text(m, c, fractions)) for m, c in found)
    if not text:
        return "0"
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def decimal_text(x: Fraction) -> str:
    """A rational as people write it: 50, 0.4318, -1/3, 3.3e-05."""
    if x.denominator == 1 and abs(x.numerator) < 10**15:
        return str(x.numerator)
    if abs(x.denominator) < 1000 and abs(x.numerator) < 1000 and decimal_places(x) is None:
        return f"{x.numerator}/{x.denominator}"
    if abs(x) >= 10**300:
        return f"{x.numerator}/{x.denominator}" if x.denominator != 1 else str(x.numerator)
    return f"{x.numerator}/{x.denominator}" if exact_float(x) is None else repr(float(x))


def exact_float(x: Fraction) -> float | None:
    """The float that is written as exactly this decimal, if there is one."""
    try:
        found = float(x)
    except OverflowError:
        return None
    return found if Fraction(repr(found)) == x else None


def decimal_places(x: Fraction) -> int | None:
    """Number of digits of a decimal behind the point; None for a number that does not end."""
    twos = (x.denominator & -x.denominator).bit_length() - 1
    rest, fives = x.denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    return max(twos, fives) if rest == 1 else None


def _term_text(monomial: Monomial, coefficient: Fraction, fractions: bool) -> str:
    factors = [str(a) if e == 1 else f"{a}**{e}" for a, e in monomial]
    if abs(coefficient) != 1 or not factors:
        size = abs(coefficient)
        halves = fractions and size.denominator in (2, 4, 8, 16) and size.numerator < 1000
        factors.insert(0, f"{size.numerator}/{size.denominator}" if halves else decimal_text(size))
    return ("-" if coefficient < 0 else "") + "*".join(factors)


def _signed(term: str) -> str:
    return f" - {term[1:]}" if term.startswith("-") else f" + {term}"


# ------------------------------------------------------------------------------------------------------------
# The class, with its arithmetic.


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
        """The floating-point value; a symbol without a value raises `MissingValueError` naming it.

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

    __repr__ = __str__

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
    """(a, radicals r) with √n = a·Π√r: primes of n that are left over, and a rest without small factors."""
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
