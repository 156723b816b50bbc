"""Rotations as quaternions."""

from __future__ import annotations

import math
from fractions import Fraction

from armdyn.description.dh import by_quaternion
from armdyn.description.direction import whole_ratios
from armdyn.description.exporting.decimals import numbers_text
from armdyn.expression import Expression
from armdyn.model.vector import Matrix

_NEAR = 1e-9


def quaternion_text(R: Matrix) -> str:
    """w x y z; in whole numbers where they are small, as readers normalise them."""
    exact = [[Expression.of(x) for x in row] for row in R]
    q = _quaternion([[x.value() for x in row] for row in exact])
    near = [Fraction(x / max(map(abs, q))).limit_denominator(6) for x in q]
    whole = whole_ratios([Expression.of(x) for x in near])
    if whole and [list(row) for row in by_quaternion(near)] == exact:
        return " ".join(map(str, whole))
    return numbers_text(q)


def _quaternion(M: list[list[float]]) -> list[float]:
    """w x y z with w ≥ 0, of length one."""
    w = 1 + M[0][0] + M[1][1] + M[2][2]
    x, y, z = (1 + 2 * M[i][i] - M[0][0] - M[1][1] - M[2][2] for i in range(3))
    a, b, c = M[2][1] - M[1][2], M[0][2] - M[2][0], M[1][0] - M[0][1]
    d, e, f = M[1][0] + M[0][1], M[0][2] + M[2][0], M[2][1] + M[1][2]
    largest = max(w, x, y, z)
    if largest == w:
        q = [w, a, b, c]
    elif largest == x:
        q = [a, x, d, e]
    elif largest == y:
        q = [b, d, y, f]
    else:
        q = [c, e, f, z]
    length = math.hypot(*q)
    first = next((v for v in q if abs(v) > _NEAR * length), 1.0)
    return [v / math.copysign(length, first) for v in q]
