"""Quaternions and axes of MJCF as exact rotations and unit vectors.

MuJoCo normalises both, so that only the ratios of their entries count. Ratios of small whole numbers are
recognised: quat="1 -1 0 0" is a quarter turn, exactly. Of any other quaternion the decimals that are written
are taken; the rotation made of them is exactly orthogonal. With `snap`, a rotation whose entries are within
`CLOSE` of one by multiples of π/12 becomes that one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from armdyn.description.angles import numeric_rpy
from armdyn.description.dh import by_quaternion, frame
from armdyn.description.direction import unit_vector
from armdyn.description.importing.snap import snap_text, snapped_direction
from armdyn.expression import Expression
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, vector

_LARGEST = 1000  # of whole numbers that are recognised by their ratios
_ROUNDING = 5e-16
CLOSE = 1e-5  # of the entries of a rotation: what five digits of a quaternion or of an angle leave


def exact_numbers(values: Sequence[float]) -> list[Expression]:
    """Doubles as the shortest decimals that they can be written as."""
    return [Expression.of(float(x) + 0.0) for x in values]


def given(written: Sequence[float], compiled: Sequence[float]) -> list[float]:
    """The entries as written, if MuJoCo has only normalised them, else as it has them."""
    length = math.hypot(*written)
    if not (math.isfinite(length) and length > 0):
        return list(compiled)
    same = all(abs(a / length - b) <= 4 * _ROUNDING for a, b in zip(written, compiled, strict=True))
    return list(written) if same else list(compiled)


def rotation(quaternion: Sequence[float]) -> Matrix:
    """The rotation of w x y z, which need not have length one."""
    q = _ratios(quaternion) or [Expression.of(float(v)).number or Fraction(0) for v in quaternion]
    return by_quaternion(q) if any(q[1:]) else IDENTITY


def inertial_rotation(quaternion: Sequence[float]) -> Matrix:
    """The same for the axes of a tensor: floats where it is no simple rotation, as numbers would get long."""
    R = rotation(quaternion)
    return R if _ratios(quaternion) else vector(vector(x.value() for x in row) for row in R)


def snapped_rotation(R: Matrix) -> tuple[Matrix, str] | None:
    """The rotation by multiples of π/12 that R stands for, and what changed; None where nothing does."""
    M = [[Expression.of(x).value() for x in row] for row in R]
    angles = numeric_rpy(M, flat=10 * CLOSE)
    exact = [Expression.pi() * Fraction(round(angle / (math.pi / 12)), 12) for angle in angles]
    turned = frame(ZERO3, vector(exact)).R
    pairs = [
        (Expression.of(a), Expression.of(b))
        for u, v in zip(turned, R, strict=True)
        for a, b in zip(u, v, strict=True)
    ]
    off = max(abs(a.value() - b.value()) for a, b in pairs)
    if off > CLOSE or all(a == b for a, b in pairs):
        return None
    rounded = [Expression.of(float(f"{angle:.7g}")) for angle in angles]
    return turned, f"rotation by roll, pitch, yaw: {snap_text(rounded, exact)}"


def direction(axis: Sequence[float], snap: bool = False) -> tuple[Vector, str]:
    """A unit vector, and what snapping changed."""
    entries = [Expression.of(x) for x in _ratios(axis) or ()] or exact_numbers(axis)
    if snap and (exact := snapped_direction(exact_numbers(axis))) is not None and not _ratios(axis):
        return exact, snap_text(entries, exact)
    return unit_vector(entries), ""


def _ratios(values: Sequence[float]) -> list[Fraction] | None:
    """The entries over the largest one, where these are ratios of small whole numbers."""
    largest = max(abs(float(x)) for x in values)
    found = [Fraction(float(x) / largest).limit_denominator(_LARGEST) for x in values]
    close = all(abs(float(r) - float(x) / largest) <= _ROUNDING for r, x in zip(found, values, strict=True))
    return found if close else None
