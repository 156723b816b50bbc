"""Conventions end here: Denavit–Hartenberg (standard, modified) and plain frames as transforms.

Each function returns (before, axis, after): the link's frame in its parent's is before · joint(q) · after.
"""

from __future__ import annotations

from armdyn.expression import Expression
from armdyn.model.parts import Transform, X, Y, Z
from armdyn.model.vector import Vector

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


def frame(xyz: Vector, rpy: Vector) -> Transform:
    """A pose by position and fixed-axis roll, pitch, yaw: T(xyz) Rz(yaw) Ry(pitch) Rx(roll)."""
    roll, pitch, yaw = rpy
    return (
        Transform.translation(*xyz)
        @ Transform.rotation(Z, yaw)
        @ Transform.rotation(Y, pitch)
        @ Transform.rotation(X, roll)
    )
