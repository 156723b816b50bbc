"""Rotations as roll, pitch, yaw or as quaternions.

A model keeps the entries of a rotation, exactly: cos(1.5708), say. The angles are found again from these
entries, and are taken only if they give back every entry; then a reader makes the same rotation of them.
Where there are no such angles (a product of two rotations, say), they are numbers.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from armdyn.description.dh import frame
from armdyn.description.exporting.decimals import number_text, whole_ratios
from armdyn.expression import ZERO, Expression
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, vector

_NEAR = 1e-9
_PI = Expression.pi()
_Angles = tuple[float, float, float]


def rpy_of(R: Matrix) -> Vector:
    """Roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll); exact where R has entries of this form."""
    entries = _exact(R)
    if entries == IDENTITY:
        return (ZERO, ZERO, ZERO)
    M = _floats(entries)
    for found in _solutions(M, _Candidates(entries)):
        if _exact(frame(ZERO3, found).R) == entries:
            return found
    return vector(Expression.of(x) for x in _numeric(M))


def quaternion_text(R: Matrix) -> str:
    """w x y z; in whole numbers where they are small, as readers normalise them."""
    q = _quaternion(_floats(R))
    near = [Fraction(x / max(map(abs, q))).limit_denominator(6) for x in q]
    whole = whole_ratios([Expression.of(x) for x in near])
    if whole and _exact(_rotation(near)) == _exact(R):
        return " ".join(map(str, whole))
    return " ".join(number_text(x) for x in q)


def _exact(R: Matrix) -> Matrix:
    return vector(vector(Expression.of(x) for x in row) for row in R)


def _floats(R: Matrix) -> list[list[float]]:
    return [[Expression.of(x).value() for x in row] for row in R]


def _numeric(M: list[list[float]]) -> _Angles:
    """Angles that give M back to rounding, also where the pitch is near a quarter turn."""
    roll = math.atan2(M[2][1], M[2][2])
    c, s = math.cos(roll), math.sin(roll)
    yaw = math.atan2(s * M[0][2] - c * M[0][1], c * M[1][1] - s * M[1][2])
    pitch = math.atan2(-M[2][0], math.cos(yaw) * M[0][0] + math.sin(yaw) * M[1][0])
    return roll, pitch, yaw


class _Candidate(NamedTuple):
    """The angle ±x + turn·π."""

    value: float
    x: Expression
    sign: int
    turn: Fraction

    @property
    def angle(self) -> Expression:
        return self.x * self.sign + _PI * self.turn


class _Candidates:
    """Angles that entries may be cosines and sines of: multiples of π/12, and ±x + kπ/2 of arguments x."""

    def __init__(self, entries: Matrix) -> None:
        arguments = {
            str(atom.argument): atom.argument
            for row in entries
            for x in row
            for atom in x.atoms()
            if atom.kind in ("cos", "sin") and atom.argument is not None
        }
        self.all = [_Candidate(k * math.pi / 12, ZERO, 1, Fraction(k, 12)) for k in range(-12, 13)]
        for _, x in sorted(arguments.items()):
            value = x.value()
            self.all += [
                _Candidate(sign * value + k * math.pi / 2, x, sign, Fraction(k, 2))
                for sign in (1, -1)
                for k in range(-4, 5)
            ]

    def near(self, angle: float) -> list[Expression]:
        """Those with this value, up to whole turns."""
        return [a.angle for a in self.all if _same(a.value, angle)]

    def pairs(self, together: float, sign: int) -> list[tuple[Expression, Expression]]:
        """Those (a, c) with a − sign·c of this value."""
        return [
            (a.angle, c.angle)
            for a in self.all
            for c in self.all
            if _same(a.value - sign * c.value, together)
        ]


def _solutions(M: list[list[float]], candidates: _Candidates) -> Iterator[Vector]:
    """Triples of candidates with the values of the angles, those of decimals first."""
    roll, pitch, yaw = _numeric(M)
    turned = (roll + math.pi, math.pi - pitch, yaw + math.pi)  # the same rotation
    found: list[Vector] = []
    for angles in ((roll, pitch, yaw), turned):
        a, b, c = (candidates.near(angle) for angle in angles)
        found += itertools.product(a, b, c)
    yield from _decimals_first(found)
    if math.hypot(M[2][1], M[2][2]) < _NEAR:  # pitch at a quarter turn: roll and yaw act as one
        sign = 1 if pitch > 0 else -1
        middle = candidates.near(pitch)
        pairs = candidates.pairs(roll - sign * yaw, sign)
        yield from _decimals_first([(a, b, c) for a, c in pairs for b in middle])


def _decimals_first(found: list[Vector]) -> list[Vector]:
    return sorted(found, key=lambda angles: sum(x.number is None for x in angles))


def _same(a: float, b: float) -> bool:
    """Whether two angles differ by whole turns."""
    return abs(math.remainder(a - b, 2 * math.pi)) < _NEAR


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


def _rotation(q: list[Fraction]) -> Matrix:
    w, x, y, z = q
    s = 2 / (w * w + x * x + y * y + z * z)
    return (
        (1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )
