"""Exact numbers as the decimals of a file, so that reading them again gives equal numbers wherever it can.

Decimals up to 40 digits are written in full. Anything else becomes the shortest decimal that reads as the
same double. Directions keep their ratios, so that a reader makes the same unit vector of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from armdyn.description.direction import whole_ratios
from armdyn.expression import Expression, decimal_places, exact_float
from armdyn.model.vector import Scalar, Vector

_MOST_DIGITS = 40
_DIRECTION_DIGITS = 25  # enough to find the point of the grid that description/direction.py took


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


def _decimal(x: Fraction) -> str:
    return _digits(x) or _shortest(float(x))


def _digits(x: Fraction) -> str | None:
    """A rational as a decimal, if it is one of not too many digits."""
    short = exact_float(x)
    if short is not None:
        return _shortest(short)
    places = decimal_places(x)
    if places is None:
        return None
    whole = abs(x.numerator) * 10**places // x.denominator
    if len(str(whole)) > _MOST_DIGITS:
        return None
    return f"{'-' if x < 0 else ''}{whole}" + (f"e-{places}" if places else "")


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
