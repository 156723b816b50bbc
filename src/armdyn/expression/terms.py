"""Terms of polynomials in atoms, in normal form, and their products, with a bound on multiplying out.

sqrt(n)² = n      sin(x)² = 1 − cos(x)²      abs(x)² = x²      inv(x)⁻¹ = x
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from armdyn.expression.errors import ExpressionError

if TYPE_CHECKING:
    from armdyn.expression.expression import Expression


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
# Atoms, and products of terms in normal form.


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
