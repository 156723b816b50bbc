"""Transforms -> what a description calls them: angles, DH rows, roll-pitch-yaw, directions; exact or None.

Each answer is checked by building the transform again: what is returned gives the same entries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

from armdyn.description import dh
from armdyn.description.direction import unit_vector
from armdyn.expression import ZERO, Atom, Expression
from armdyn.model.parts import Link, Transform
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector

_PI = Expression.pi()
_TURNS = sorted(  # the angles whose cosines and sines are exact, those near zero first
    {Fraction(k, 6) for k in range(-5, 7)} | {Fraction(k, 4) for k in range(-3, 5)},
    key=lambda t: (abs(t), -t),
)
_KNOWN = {(x.cos(), x.sin()): x for x in (_PI * turn for turn in _TURNS)}
_MOST_ANGLES = 50  # that are tried in pairs
_LARGEST = 1000  # of the whole numbers that a direction is written in


def angle_of(c: Expression, s: Expression) -> Expression | None:
    """The angle with this cosine and this sine, if they are those of an angle that can be told."""
    if (c, s) in _KNOWN:
        return _KNOWN[c, s]
    return next((x for x in _candidates(c) if x.cos() == c and x.sin() == s), None)


def _candidates(x: Expression) -> Iterator[Expression]:
    """Angles whose cosine or sine may be ±x: x is then a single cosine or sine."""
    if len(x.terms) != 1:
        return
    monomial, coefficient = x.terms[0]
    if abs(coefficient) == 1 and len(monomial) == 1 and monomial[0][1] == 1:
        yield from _near(monomial[0][0])


def _near(atom: Atom) -> Iterator[Expression]:
    """The argument of a cosine or sine, its negative, and both with quarter turns added."""
    if atom.kind in ("cos", "sin") and atom.argument is not None:
        for quarter in (0, 1, -1, 2):
            for argument in (atom.argument, -atom.argument):
                yield argument + _PI * Fraction(quarter, 2)


def _entry(x: object) -> Expression:
    return Expression.of(x)


# ---- Denavit–Hartenberg rows -------------------------------------------------------------------------------

Row = dict[str, Expression]  # a, alpha, d, theta


def dh_row(link: Link) -> Row | None:
    """The row of standard DH of a link."""
    if link.before != Transform():
        return None
    R, (x, y, z) = link.after.R, map(_entry, link.after.p)
    theta, alpha = angle_of(_entry(R[0][0]), _entry(R[1][0])), angle_of(_entry(R[2][2]), _entry(R[2][1]))
    if theta is None or alpha is None:
        return None
    c, s = theta.cos(), theta.sin()
    row = {"a": y / s if c.is_zero else x / c, "alpha": alpha, "d": z, "theta": theta}
    return row if dh.standard(**row) == (link.before, link.axis, link.after) else None


def mdh_row(link: Link) -> Row | None:
    """The row of modified DH of a link."""
    if link.after != Transform():
        return None
    R, (x, y, z) = link.before.R, map(_entry, link.before.p)
    theta, alpha = angle_of(_entry(R[0][0]), -_entry(R[0][1])), angle_of(_entry(R[2][2]), -_entry(R[1][2]))
    if theta is None or alpha is None:
        return None
    c, s = alpha.cos(), alpha.sin()
    row = {"a": x, "alpha": alpha, "d": -y / s if c.is_zero else z / c, "theta": theta}
    return row if dh.modified(**row) == (link.before, link.axis, link.after) else None


# ---- roll, pitch, yaw --------------------------------------------------------------------------------------


def rpy_of(R: Matrix) -> Vector | None:
    """Roll, pitch and yaw of a rotation."""
    if R == IDENTITY:
        return ZERO3
    sine = -_entry(R[2][0])
    found = next((rpy for pitch in _pitches(sine) for rpy in _with_pitch(R, pitch)), None)
    return found or _at_quarter_pitch(R, sine)


def _pitches(sine: Expression) -> Iterator[Expression]:
    """Angles with this sine."""
    yield from (x for (_, s), x in _KNOWN.items() if s == sine)
    yield from (x for x in _candidates(sine) if x.sin() == sine)


def _with_pitch(R: Matrix, pitch: Expression) -> Iterator[Vector]:
    """The angles, where the cosine of the pitch is not zero."""
    if pitch.cos().is_zero:
        return
    angles = _angles_in(R)
    roll = _scaled_angle(pitch.cos(), _entry(R[2][2]), _entry(R[2][1]), angles)
    yaw = _scaled_angle(pitch.cos(), _entry(R[0][0]), _entry(R[1][0]), angles)
    if roll is not None and yaw is not None and _turned(roll, pitch, yaw) == R:
        yield roll, pitch, yaw


def _angles_in(R: Matrix) -> list[Expression]:
    """The angles that a matrix is made of, if it is one of a few rotations by angles."""
    atoms = sorted({a for row in R for x in row for a in _entry(x).atoms()}, key=lambda a: a.sort_key)
    return list(dict.fromkeys(x for atom in atoms for x in _near(atom)))


def _scaled_angle(k: Expression, x: Expression, y: Expression, angles: list[Expression]) -> Expression | None:
    """The angle with k cos = x and k sin = y, of those that are known or given."""
    found = angle_of(x / k, y / k)
    if found is not None:
        return found
    return next((a for a in (*_KNOWN.values(), *angles) if k * a.cos() == x and k * a.sin() == y), None)


def _at_quarter_pitch(R: Matrix, sine: Expression) -> Vector | None:
    """The angles at a pitch of ±π/2, where only the sum or difference of roll and yaw counts."""
    if abs(sine) != 1:
        return None
    pitch = sine * _PI / 2
    roll = angle_of(_entry(R[1][1]), -_entry(R[1][2]))
    if roll is not None and _turned(roll, pitch, ZERO) == R:
        return roll, pitch, ZERO
    angles = [*_KNOWN.values(), *_angles_in(R)]
    parts = [(x, x.cos(), x.sin()) for x in angles if len(angles) <= _MOST_ANGLES]
    for (r, cr, sr), (y, cy, sy) in product(parts, parts):
        if sine * sy * sr + cy * cr == R[1][1] and _turned(r, pitch, y) == R:
            return r, pitch, y
    return None


def _turned(roll: Expression, pitch: Expression, yaw: Expression) -> Matrix:
    return dh.frame(ZERO3, (roll, pitch, yaw)).R


# ---- directions --------------------------------------------------------------------------------------------


def direction_of(axis: Vector) -> Vector:
    """A shorter vector along an axis where there is one, in small whole numbers; else the axis itself."""
    entries = [_entry(x) for x in axis]
    largest = max(entries, key=lambda x: abs(x.value()) if not x.symbols() else 0.0)
    if largest.is_zero or len(largest.terms) != 1:
        return axis
    parts = [(x / largest).number for x in entries]
    ratios = [x for x in parts if x is not None]
    if len(ratios) < 3:
        return axis
    scale = math.lcm(*(x.denominator for x in ratios)) * (-1 if _is_negative(largest) else 1)
    if abs(scale) > _LARGEST:
        return axis
    x, y, z = (Expression.of(ratio * scale) for ratio in ratios)
    return (x, y, z) if unit_vector((x, y, z)) == axis else axis


def _is_negative(x: Expression) -> bool:
    return x.terms[0][1] < 0
