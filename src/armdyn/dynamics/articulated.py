"""Forward dynamics by articulated bodies, O(n), with rotors on their joint's parent link.

Featherstone's recursion, extended to exact rotors: a rotor of joint i on its parent p adds k Im z to what the
joint's acceleration does to the parent, and k² Im to what it does to itself. With a_p the parent's acceleration

    q̈_i = (u_i − w_iᵀ a_p)/d_i,   w_i = Xᵀ Iᴬ s + k Im z,   d_i = sᵀ Iᴬ s + k² Im,   u_i = τ_i − sᵀ(pᴬ + Iᴬ c)

and the parent carries Iᴬ_p += Xᵀ Iᴬ X − w wᵀ/d,  pᴬ_p += Xᵀ(pᴬ + Iᴬ c) + w u/d + k Im q̇ ω_p × z. Spatial
vectors are linear over angular, about the origin of the body's frame, in its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armdyn.dynamics.friction import friction_torques
from armdyn.dynamics.kinematics import JointFrame, ancestors, joint_frames
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.vector import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    neg,
    scale,
    sub,
    transpose,
)

Spatial = tuple[Vector, Vector]  # (force, moment) or (linear, angular acceleration)


@dataclass(frozen=True)
class Articulated:
    """A symmetric 6×6 inertia [[M, H], [Hᵀ, J]] that maps (linear, angular) to (force, moment)."""

    M: Matrix
    H: Matrix
    J: Matrix

    @staticmethod
    def of(inertia: Inertia) -> Articulated:
        m, (x, y, z) = inertia.mass, inertia.moment
        M: Matrix = ((m, 0, 0), (0, m, 0), (0, 0, m))
        H: Matrix = ((0, z, -y), (-z, 0, x), (y, -x, 0))  # force of an angular acceleration: α × h
        return Articulated(M, H, inertia.matrix)

    def __call__(self, a: Spatial) -> Spatial:
        linear, angular = a
        force = add(apply(self.M, linear), apply(self.H, angular))
        return force, add(apply_transposed(self.H, linear), apply(self.J, angular))

    def __add__(self, other: Articulated) -> Articulated:
        return Articulated(_sum(self.M, other.M), _sum(self.H, other.H), _sum(self.J, other.J))

    def less(self, w: Spatial, factor: Scalar) -> Articulated:
        """This − factor · w wᵀ."""
        f, n = w
        sf, sn = scale(factor, f), scale(factor, n)
        return Articulated(
            _minus_outer(self.M, sf, f, True), _minus_outer(self.H, sf, n), _minus_outer(self.J, sn, n, True)
        )

    def turned(self, R: Matrix) -> Articulated:
        return Articulated(_rotated(R, self.M, True), _rotated(R, self.H), _rotated(R, self.J, True))

    def moved(self, p: Vector) -> Articulated:
        """About an origin from which the old one is at p: Xᵀ(·)X with X = [[1, −S(p)], [0, 1]]."""
        columns = transpose(self.M)
        MS = transpose(tuple(neg(x) for x in _times_skew(self.M, p)))  # type: ignore[arg-type]
        del columns
        H = _sum(self.H, transpose(MS))
        SH = tuple(cross(p, column) for column in transpose(H))  # S(p) H by columns
        SHt = tuple(cross(p, row) for row in self.H)  # S(p) Hᵀ by columns of Hᵀ, that is rows of H
        J = tuple(
            tuple(self.J[i][j] + SH[j][i] - _skew_right(self.H, p)[j][i] * 0 for j in range(3)) for i in range(3)
        )
        del SHt
        return Articulated(self.M, H, J)  # type: ignore[arg-type]
