"""Rounded angles and directions -> exact ones, where it is plain what was meant; each change is listed.

An angle is taken for a multiple of π/12 where it is closer to it than `CLOSE`, or where it is that multiple
rounded or cut off to the digits that are written, three of them at least: 1.57, 1.5708, 3.14159 and
1.57079637 are meant, 1.5705 and 0.5 are not, as somebody measured or chose them. An entry of a direction is
treated likewise, and a direction is snapped as a whole: the exact entries must have length one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from armdyn.expression import ZERO, Expression, decimal_places, decimal_text
from armdyn.model.vector import Vector, vector

CLOSE = 1e-6  # rad: what single precision leaves of an angle
_LEAST_DIGITS = 3
_MOST = 100.0  # rad: angles beyond are left alone
_SQUARES = [Fraction(0), Fraction(1, 6), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
_SQUARES += [Fraction(3, 4), Fraction(1)]  # of the entries of directions that have a short exact form


def snapped_angle(x: Expression) -> Expression | None:
    """The multiple of π/12 that an angle stands for; None where it is exact already or stands for itself."""
    number = x.number
    if number is None or number == 0 or abs(number) > _MOST:
        return None
    k = round(float(number) / (math.pi / 12))
    if not _stands_for(number, k * math.pi / 12):
        return None
    return Expression.pi() * Fraction(k, 12) if k else ZERO


def snapped_direction(entries: Sequence[Expression]) -> Vector | None:
    """The exact unit vector that three rounded numbers stand for; None where there is none."""
    numbers = [x.number for x in entries]
    exact = [number for number in numbers if number is not None]
    if len(exact) < 3 or sum(number * number for number in exact) == 1:
        return None
    options = [
        [square for square in _SQUARES if _stands_for(abs(number), math.sqrt(square))] for number in exact
    ]
    for squares in product(*options):
        if sum(squares) == 1:
            roots = [Expression.of(square).sqrt() for square in squares]
            return vector(root * (-1 if number < 0 else 1) for root, number in zip(roots, exact, strict=True))
    return None


def snap_text(before: Sequence[Expression], after: Sequence[Expression]) -> str:
    """What was changed into what."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    return ", ".join(f"{_shown(old)} -> {new}" for old, new in pairs)


def _shown(x: Expression) -> str:
    number = x.number
    return str(x) if number is None else decimal_text(number)


def _stands_for(x: Fraction, exact: float) -> bool:
    """Whether a decimal is this number, rounded or cut off to the digits that are written."""
    off = abs(float(x) - exact)
    if off <= CLOSE:
        return True
    places = decimal_places(x)
    if places is None or exact == 0:
        return False
    above, step = abs(float(x)) - abs(exact), 10.0**-places
    if not -step < above <= step / 2 or float(x) * exact < 0:  # cut off to rounded up
        return False
    return len(str(abs(x.numerator * 10**places // x.denominator)).lstrip("0")) >= _LEAST_DIGITS
