"""Exact numbers as the decimals of a file, so that reading them again gives equal numbers wherever it can.

Decimals up to 40 digits are written in full. Anything else becomes the shortest decimal that reads as the
same double. Directions keep their ratios, so that a reader makes the same unit vector of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from armdyn.expression import Expression
from armdyn.model.vector import Scalar, Vector

_MOST_DIGITS = 40
_DIRECTION_DIGITS = 25  # enough to find the point of the grid that description/direction.py took
_LARGEST_RATIO = 1000


def number_text(x: Scalar) -> str:
    """A number without symbols."""
    found = Expression.of(x)
    exact = found.number
    return _decimal(exact) if exact is not None else _shortest(found.value())


def numbers_text(v: Iterable[Scalar]) -> str:
    """Numbers with blanks between them."""
    return " ".join(number_text(x) for x in v)


def direction_text(u: Vector) -> str:
    """A unit vector; its length is one to 17 digits, its ratios are exact where they are short."""
    entries = [Expression.of(x) for x in u]
    if whole := whole_ratios(entries):
        length = math.sqrt(sum(n * n for n in whole))
        scale = Fraction(repr(1 / length))
        root = math.isqrt(sum(n * n for n in whole))
        if root * root == sum(n * n for n in whole):
            exact = [Fraction(n, root) for n in whole]
            if all(_digits(x) is not None for x in exact):
                return " ".join(map(_decimal, exact))
        return " ".join(_decimal(n * scale) for n in whole)
    return " ".join(_rounded(x) for x in entries)


def whole_ratios(entries: Sequence[Expression]) -> list[int] | None:
    """Whole numbers in the same ratios (and with the same signs), if there are small ones."""
    largest = max(entries, key=lambda x: abs(x.value()))
    if largest.is_zero:
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


def _decimal(x: Fraction) -> str:
    return _digits(x) or _shortest(float(x))


def _digits(x: Fraction) -> str | None:
    """A rational as a decimal, if it is one of not too many digits."""
    short = _shortest(float(x))
    if Fraction(short) == x:
        return short
    twos, fives = (_exponent(x.denominator, p) for p in (2, 5))
    if 2**twos * 5**fives != x.denominator:
        return None
    places = max(twos, fives)
    whole = abs(x.numerator) * 10**places // x.denominator
    if len(str(whole)) > _MOST_DIGITS:
        return None
    return f"{'-' if x < 0 else ''}{whole}" + (f"e-{places}" if places else "")


def _exponent(n: int, p: int) -> int:
    count = 0
    while n % p == 0:
        n, count = n // p, count + 1
    return count


def _shortest(x: float) -> str:
    text = repr(x + 0.0)  # no minus zero
    return text.removesuffix(".0")


def _rounded(x: Expression) -> str:
    """To more digits than a double has."""
    exact = x.number
    if exact is None:
        return number_text(x)
    scale = 10**_DIRECTION_DIGITS
    return _decimal(Fraction(round(exact * scale), scale))
