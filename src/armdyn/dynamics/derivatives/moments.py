"""Second moments ∫ x yᵀ dm of bodies as 3×3 matrices, and how a joint turns them."""

from __future__ import annotations

from armdyn.dynamics.kinematics import JointFrame
from armdyn.expression.functions import cos, half, sin
from armdyn.model.inertia import Inertia, matrix_tensor
from armdyn.model.mechanism import Body
from armdyn.model.vector import Matrix, Scalar, Vector, add, multiply, transpose, vector


def plus(*matrices: Matrix) -> Matrix:
    return vector(add(*rows) for rows in zip(*matrices, strict=True))


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return vector(vector(x * y for y in b) for x in a)


def without_trace(M: Matrix) -> Matrix:
    """tr(M) 1 − M: an inertia tensor from ∫ p pᵀ dm."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = M
    return ((yy + zz, -xy, -xz), (-yx, xx + zz, -yz), (-zx, -zy, xx + yy))


def second_moment(inertia: Inertia) -> Matrix:
    """∫ p pᵀ dm = ½ tr(I) 1 − I."""
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = inertia.matrix
    return (
        (half(yy + zz - xx), -xy, -xz),
        (-xy, half(xx + zz - yy), -yz),
        (-xz, -yz, half(xx + yy - zz)),
    )


def turned(R: Matrix, M: Matrix) -> Matrix:
    """R M Rᵀ."""
    return multiply(multiply(R, M), transpose(R))


def symmetric(M: Matrix) -> Matrix:
    """A symmetric matrix by its upper half: the lower one is computed no second time."""
    xx, xy, xz, yy, yz, zz = matrix_tensor(M)
    return ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))


class Turn:
    """How a joint turns matrices of its body into those in the parent's axes: R M Rᵀ.

    About an axis of the joint's frame this takes few operations: the plane's part of M is turned by

        t = s (M_aa − M_bb) + c (M_ab + M_ba):  M_aa − s t,  M_bb + s t,  c t − M_ba,  c t − M_ab.
    """

    def __init__(self, body: Body, joint: JointFrame, q: Scalar) -> None:
        self._body, self._R = body, joint.R
        self._k = along_axis(body.axis) if body.joint == "revolute" else None
        if self._k is not None:
            self._c, self._s = cos(q), body.axis[self._k] * sin(q)

    def __call__(self, M: Matrix) -> Matrix:
        if self._k is None:
            return turned(self._R, M)
        return turned(self._body.R_before, self._in_plane(turned(self._body.R_after, M), self._k))

    def _in_plane(self, M: Matrix, k: int) -> Matrix:
        c, s = self._c, self._s
        a, b = (k + 1) % 3, (k + 2) % 3
        t = s * (M[a][a] - M[b][b]) + c * (M[a][b] + M[b][a])
        found = [list(row) for row in M]
        found[a][a], found[b][b] = M[a][a] - s * t, M[b][b] + s * t
        found[a][b], found[b][a] = c * t - M[b][a], c * t - M[a][b]
        found[a][k], found[b][k] = c * M[a][k] - s * M[b][k], s * M[a][k] + c * M[b][k]
        found[k][a], found[k][b] = c * M[k][a] - s * M[k][b], s * M[k][a] + c * M[k][b]
        return vector(vector(row) for row in found)


def along_axis(v: Vector) -> int | None:
    """Which axis of its frame a vector lies along; None where that is not plain from the numbers."""
    found = [k for k, x in enumerate(v) if not (isinstance(x, (int, float)) and x == 0)]
    return found[0] if len(found) == 1 else None
