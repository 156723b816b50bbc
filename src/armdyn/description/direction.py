"""Three numbers -> a unit vector, exactly of length one; and back to small whole numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from armdyn.expression import ZERO, Expression
from armdyn.model.vector import Vector, vector

_LONGEST_ROOT = 1000
_LARGEST_RATIO = 1000
_STEPS = 2**60  # rational directions on a grid with a spacing of 1e-18


def unit_vector(entries: Sequence[Expression]) -> Vector:
    """The vector divided by its length. The sum of its squares must be a rational number other than zero.

    Where the length is the root of a long number, as for a unit vector given in 16 digits, dividing by it
    would carry the root through all equations. Then the nearest direction with rational entries is taken: its
    length is exactly one, and no double can tell it from the one given.
    """
    squares = sum((x * x for x in entries), ZERO)
    length = squares.sqrt()
    radicals = [atom.argument.number for atom in length.atoms() if atom.argument is not None]
    if math.prod(int(r or 1) for r in radicals) <= _LONGEST_ROOT:
        return vector(x / length for x in entries)
    numbers = [Fraction(x.value()) if x.number is None else x.number for x in entries]
    return vector(Expression.of(x) for x in _on_the_sphere(numbers))


def whole_ratios(entries: Sequence[Expression]) -> list[int] | None:
    """Whole numbers in the same ratios (and with the same signs), if there are small ones."""
    largest = max(entries, key=lambda x: abs(x.value()))
    if len(largest.terms) != 1:
        return None
    ratios = [(x / largest).number for x in entries]
    exact = [x for x in ratios if x is not None]
    if len(exact) < len(entries):
        return None
    common = math.lcm(*(x.denominator for x in exact))
    if common > _LARGEST_RATIO:
        return None
    sign = -1 if largest.value() < 0 else 1
    return [int(x * common) * sign for x in exact]


def _on_the_sphere(v: Sequence[Fraction]) -> list[Fraction]:
    """By stereographic projection from the pole opposite to the largest entry, so that −v gives −u."""
    pole = max(range(3), key=lambda i: abs(v[i]))
    sign = 1 if v[pole] > 0 else -1
    far = abs(v[pole]) + _root(sum((x * x for x in v), Fraction(0)))
    u = [Fraction(round(x / far * _STEPS), _STEPS) for x in v]
    u[pole] = Fraction(0)
    square = sum((x * x for x in u), Fraction(0))
    u[pole] = sign * (1 - square) / 2
    return [2 * x / (1 + square) for x in u]


def _root(x: Fraction) -> Fraction:
    """A square root to 40 digits."""
    scale = 10**40 * x.denominator
    return Fraction(math.isqrt(x.numerator * scale * scale // x.denominator), scale)
