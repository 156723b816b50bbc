"""Conventions end here: Denavit–Hartenberg (standard, modified), plain frames and quaternions as transforms.

`standard` and `modified` return (before, axis, after): the link's frame in its parent's is
before · joint(q) · after. `standard_parts` and `modified_parts` find the row of such a transform again.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from armdyn.expression import Expression
from armdyn.model.parts import Transform, X, Y, Z
from armdyn.model.vector import IDENTITY, Matrix, Vector, vector

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


class Parts(NamedTuple):
    """Parts of a DH row: lengths, and the cosines and sines of its angles."""

    a: Expression
    alpha: _CosSin
    d: Expression
    theta: _CosSin


def standard_parts(T: Transform) -> Parts | None:
    """A transform as Rz(ϑ) Tz(d) Tx(a) Rx(α), exactly; None where it is not."""
    R, (x, y, z) = _entries(T)
    c, s = R[0][0], R[1][0]
    if not (R[2][0].is_zero and (c * y - s * x).is_zero):
        return None
    return Parts(c * x + s * y, (R[2][2], R[2][1]), z, (c, s))


def modified_parts(T: Transform) -> Parts | None:
    """A transform as Rx(α) Tx(a) Rz(ϑ) Tz(d), exactly; None where it is not."""
    R, (x, y, z) = _entries(T)
    c, s = R[2][2], -R[1][2]
    if not (R[0][2].is_zero and (c * y + s * z).is_zero):
        return None
    return Parts(x, (c, s), c * z - s * y, (R[0][0], -R[0][1]))


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
