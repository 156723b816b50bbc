"""Conventions end here: Denavit–Hartenberg (standard, modified), plain frames and quaternions as transforms.

`standard` and `modified` return (before, axis, after): the link's frame in its parent's is
before · joint(q) · after. `standard_parts` and `modified_parts` find the row of such a transform again,
`rpy_of` the angles of a rotation, `unit_vector` and `whole_ratios` have directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

from armdyn.expression import ZERO, Atom, Expression
from armdyn.model.parts import Transform, X, Y, Z
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, vector

Placement = tuple[Transform, Vector, Transform]


def standard(a: Expression, alpha: Expression, d: Expression, theta: Expression) -> Placement:
    """Standard DH: Rz(ϑ) Tz(d) Tx(a) Rx(α), the joint on the z axis of the parent's frame."""
    after = (
        Transform.rotation(Z, theta)
        @ Transform.translation(0, 0, d)
        @ Transform.translation(a, 0, 0)
        @ Transform.rotation(X, alpha)
    )
    return Transform(), Z, after


def modified(a: Expression, alpha: Expression, d: Expression, theta: Expression) -> Placement:
    """Modified DH (Craig): Rx(α_{i−1}) Tx(a_{i−1}) Rz(ϑ) Tz(d), the joint on the link's own z axis."""
    before = (
        Transform.rotation(X, alpha)
        @ Transform.translation(a, 0, 0)
        @ Transform.rotation(Z, theta)
        @ Transform.translation(0, 0, d)
    )
    return before, Z, Transform()


FORMULAS = {"dh": standard, "mdh": modified}


# ---- rows found again --------------------------------------------------------------------------------------

_CosSin = tuple[Expression, Expression]


class DhParts(NamedTuple):
    """Parts of a DH row: lengths, and the cosines and sines of its angles."""

    a: Expression
    alpha: _CosSin
    d: Expression
    theta: _CosSin


def standard_parts(T: Transform) -> DhParts | None:
    """A transform as Rz(ϑ) Tz(d) Tx(a) Rx(α), exactly; None where it is not."""
    R, (x, y, z) = _entries(T)
    c, s = R[0][0], R[1][0]
    if not (R[2][0].is_zero and (c * y - s * x).is_zero):
        return None
    return DhParts(c * x + s * y, (R[2][2], R[2][1]), z, (c, s))


def modified_parts(T: Transform) -> DhParts | None:
    """A transform as Rx(α) Tx(a) Rz(ϑ) Tz(d), exactly; None where it is not."""
    R, (x, y, z) = _entries(T)
    c, s = R[2][2], -R[1][2]
    if not (R[0][2].is_zero and (c * y + s * z).is_zero):
        return None
    return DhParts(x, (c, s), c * z - s * y, (R[0][0], -R[0][1]))


PARTS = {"dh": standard_parts, "mdh": modified_parts}


def _entries(T: Transform) -> tuple[list[list[Expression]], list[Expression]]:
    return [[Expression.of(x) for x in row] for row in T.R], [Expression.of(x) for x in T.p]


# ---- frames ------------------------------------------------------------------------------------------------


def frame(xyz: Vector, rpy: Vector) -> Transform:
    """A pose by position and fixed-axis roll, pitch, yaw: T(xyz) Rz(yaw) Ry(pitch) Rx(roll)."""
    angles = [Expression.of(angle) for angle in rpy]
    turning = [(axis, angle) for axis, angle in zip((X, Y, Z), angles, strict=True) if not angle.is_zero]
    if not turning:
        return Transform(IDENTITY, xyz)
    if len(turning) == 1:
        return Transform(Transform.rotation(*turning[0]).R, xyz)
    return Transform(_rotation(*angles), xyz)


@lru_cache(256)
def _rotation(roll: Expression, pitch: Expression, yaw: Expression) -> Matrix:
    """Rz(yaw) Ry(pitch) Rx(roll), multiplied out."""
    (cr, sr), (cp, sp), (cy, sy) = ((angle.cos(), angle.sin()) for angle in (roll, pitch, yaw))
    a, b = cy * sp, sy * sp
    return (
        (cy * cp, a * sr - sy * cr, a * cr + sy * sr),
        (sy * cp, b * sr + cy * cr, b * cr - cy * sr),
        (-sp, cp * sr, cp * cr),
    )


def by_quaternion(q: Sequence[Fraction]) -> Matrix:
    """The rotation of w x y z, which need not have length one: exactly orthogonal."""
    w, x, y, z = q
    s = 2 / (w * w + x * x + y * y + z * z)
    rows = (
        (1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )
    return vector(vector(Expression.of(entry) for entry in row) for row in rows)


# ------------------------------------------------------------------------------------------------------------
# Unit vectors of three numbers, exactly of length one; and back to small whole numbers.


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
    """Unit vector, by stereographic projection from the pole opposite to the largest entry: −v gives −u."""
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


# ------------------------------------------------------------------------------------------------------------
# Angles of rotations: an angle by its cosine and sine, roll-pitch-yaw by the matrix.
#
# A model keeps the entries of a rotation, exactly: cos(1.5708), say. The angles are found again from these
# entries, and are returned only if they give back every entry; then a reader makes the same rotation of them.
# Where there are none (products of two rotations, say), the answer is None, and `numeric_rpy` has numbers.


PI = Expression.pi()
_MOST_ANGLES = 60  # that are tried in pairs


# ---- an angle by its cosine and sine -----------------------------------------------------------------------


def angle_of(c: Expression, s: Expression) -> Expression | None:
    """The angle with this cosine and this sine: a multiple of π/12, or that inside them; None for others."""
    found = _common().get((c, s))
    if found is not None:
        return found
    return next((x for x in _inside(c) if x.cos() == c and x.sin() == s), None)


def wrapped(angle: Expression) -> Expression:
    """The angle less whole turns, in (−π, π]; with free symbols, only its multiple of π counts."""
    turns = _turns_in(angle) if angle.symbols() else Fraction(angle.value() / math.pi)
    whole = math.ceil((turns - 1) / 2 - Fraction(1, 10**12))
    return angle - PI * (2 * whole) if whole else angle


@cache
def _common() -> dict[tuple[Expression, Expression], Expression]:
    """The multiples of π/12 in one turn by their cosine and sine, those near zero first."""
    turns = sorted((Fraction(k, 12) for k in range(-11, 13)), key=lambda t: (abs(t), -t))
    return {(x.cos(), x.sin()): x for x in (PI * turn for turn in turns)}


def _inside(x: Expression) -> Iterator[Expression]:
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
                yield argument + PI * Fraction(quarter, 2)


def _turns_in(angle: Expression) -> Fraction:
    """The multiple of π that is written in an angle."""
    return sum((c for m, c in angle.terms if [(a.kind, e) for a, e in m] == [("pi", 1)]), Fraction(0))


# ---- roll, pitch, yaw --------------------------------------------------------------------------------------


def rpy_of(R: Matrix) -> Vector | None:
    """The exact roll, pitch and yaw with R = Rz(yaw) Ry(pitch) Rx(roll), or None.

    There are two such triples; decimals and plain multiples of π are preferred to sums of both.
    """
    entries = vector(vector(Expression.of(x) for x in row) for row in R)
    if entries == IDENTITY:
        return ZERO3
    sine = -entries[2][0]
    found = [rpy for pitch in _pitches(sine) for rpy in _with_pitch(entries, pitch)]
    return min(found, key=_length) if found else _at_quarter_pitch(entries, sine)


def numeric_rpy(M: Sequence[Sequence[float]], flat: float = 0.0) -> tuple[float, float, float]:
    """Roll, pitch and yaw in floats that give M back to rounding, also near a pitch of a quarter turn.

    Where the pitch is closer to a quarter turn than `flat`, it is taken as that, and yaw is 0.
    """
    if math.hypot(M[2][1], M[2][2]) < flat:
        sign = 1 if M[2][0] < 0 else -1
        return math.atan2(sign * M[0][1], M[1][1]), sign * math.pi / 2, 0.0
    roll = math.atan2(M[2][1], M[2][2])
    c, s = math.cos(roll), math.sin(roll)
    yaw = math.atan2(s * M[0][2] - c * M[0][1], c * M[1][1] - s * M[1][2])
    pitch = math.atan2(-M[2][0], math.cos(yaw) * M[0][0] + math.sin(yaw) * M[1][0])
    return roll, pitch, yaw


def _length(angles: Vector) -> tuple[int, int]:
    """Number of angles that are neither a decimal nor a multiple of π; then, of those that are no decimal."""
    return sum(len(x.terms) > 1 for x in angles), sum(x.number is None for x in angles)


def _pitches(sine: Expression) -> Iterator[Expression]:
    """Angles with this sine."""
    yield from (x for (_, s), x in _common().items() if s == sine)
    yield from (x for x in _inside(sine) if x.sin() == sine)


def _with_pitch(R: Matrix, pitch: Expression) -> Iterator[Vector]:
    """The angles, where the cosine of the pitch is not zero."""
    if pitch.cos().is_zero:
        return
    angles = _angles_in(R)
    roll = _scaled_angle(pitch.cos(), R[2][2], R[2][1], angles)
    yaw = _scaled_angle(pitch.cos(), R[0][0], R[1][0], angles)
    if roll is not None and yaw is not None and _turned(roll, pitch, yaw) == R:
        yield roll, pitch, yaw


def _angles_in(R: Matrix) -> list[Expression]:
    """The angles that a matrix is made of, if it is one of a few rotations by angles."""
    atoms = sorted({a for row in R for x in row for a in x.atoms()}, key=lambda a: a.sort_key)
    return list(dict.fromkeys(x for atom in atoms for x in _near(atom)))


def _scaled_angle(k: Expression, x: Expression, y: Expression, angles: list[Expression]) -> Expression | None:
    """The angle with k cos = x and k sin = y: a multiple of π/12, one inside x, or one of those given."""
    found = angle_of(x / k, y / k)
    if found is not None:
        return found
    common = _common().values()
    return next((a for a in (*common, *angles) if k * a.cos() == x and k * a.sin() == y), None)


def _at_quarter_pitch(R: Matrix, sine: Expression) -> Vector | None:
    """The angles at a pitch of ±π/2, where only the sum or difference of roll and yaw counts."""
    if abs(sine) != 1:
        return None
    pitch = sine * PI / 2
    roll = angle_of(R[1][1], -R[1][2])
    if roll is not None and _turned(roll, pitch, ZERO) == R:
        turns = PI * _turns_in(roll) if len(roll.terms) > 1 else ZERO
        apart = roll - turns, pitch, -sine * turns  # plainer, where the turns are quarters
        return apart if _turned(*apart) == R else (roll, pitch, ZERO)
    angles = [*_common().values(), *_angles_in(R)]
    if len(angles) > _MOST_ANGLES:
        return None
    plain = [x for x in angles if len(x.terms) <= 1]
    return _pair(R, pitch, plain) or _pair(R, pitch, angles)


def _pair(R: Matrix, pitch: Expression, angles: list[Expression]) -> Vector | None:
    """Two of some angles that are roll and yaw at a pitch of ±π/2."""
    sine = pitch.sin()
    parts = [(x, x.cos(), x.sin()) for x in angles]
    for (r, cr, sr), (y, cy, sy) in product(parts, parts):
        if sine * sy * sr + cy * cr == R[1][1] and _turned(r, pitch, y) == R:
            return r, pitch, y
    return None


def _turned(roll: Expression, pitch: Expression, yaw: Expression) -> Matrix:
    return frame(ZERO3, (roll, pitch, yaw)).R
