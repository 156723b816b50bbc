"""Each body with all it carries: what a change of its motion takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from armdyn.dynamics.derivatives.moments import outer, plus, without_trace
from armdyn.dynamics.derivatives.motion import Change, Moving
from armdyn.model.friction import along
from armdyn.model.inertia import Inertia, matrix_tensor
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import (
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    multiply,
    scale,
    transpose,
    vector,
)


@dataclass(frozen=True)
class Composite:
    """Integrals over a body and all it carries, about its reference point, in body axes.

    Velocities are counted twice, as the accelerations 2 δω × u have them.
    """

    inertia: Inertia
    P: Vector  # ∫ 2u dm
    H: Matrix  # tr(G) 1 − G with G = ∫ 2u pᵀ dm; the spin of rotors adds −S(Im θ̇ z_m)
    f: Vector  # ∫ a dm
    n: Vector  # ∫ p × a dm

    def __add__(self, other: Composite) -> Composite:
        return Composite(
            self.inertia + other.inertia,
            add(self.P, other.P),
            plus(self.H, other.H),
            add(self.f, other.f),
            add(self.n, other.n),
        )

    def on_parent(self, body: Moving) -> Composite:
        """The same about the parent's reference point, in its axes."""
        R, d = body.joint.R, body.d
        tensor = matrix_tensor(body.turn(self.inertia.matrix))
        inertia = Inertia(self.inertia.mass, apply(R, self.inertia.moment), tensor).translated(d)
        P, f = apply(R, self.P), apply(R, self.f)
        H = plus(body.turn(self.H), without_trace(outer(P, d)))
        return Composite(inertia, P, H, f, add(apply(R, self.n), cross(d, f)))

    def wrench(self, change: Change) -> tuple[Vector, Vector]:
        """Force and moment that a change of all accelerations takes: ∫ δa dm and ∫ p × δa dm."""
        m, h = self.inertia.mass, self.inertia.moment
        f = add(scale(m, change.A), cross(change.Omega, h), cross(change.w, self.P))
        n = add(cross(h, change.A), apply(self.inertia.matrix, change.Omega), apply(self.H, change.w))
        return f, n

    def along(self, body: Moving) -> Vector:
        """y: what the joint of this body bears of 2 δω × u is yᵀδω."""
        z = body.joint.z
        return apply_transposed(self.H, z) if body.revolute else cross(self.P, z)


def composites(
    mechanism: Mechanism, bodies: Sequence[Moving], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> Iterator[tuple[int, Composite]]:
    """(i, the composite of body i with the rotors on it), from the last body to the first."""
    carried: dict[int, Composite] = {}
    for i in reversed(range(len(bodies))):
        body, total = bodies[i], _own(bodies[i])
        for rotor in mechanism.rotors:
            if rotor.carrier == i:
                spin, rate = (scale(rotor.inertia * along(rotor.row, x), rotor.axis) for x in (qd, qdd))
                moment = add(rate, cross(body.motion.w, spin))
                total = replace(total, H=plus(total.H, _minus_cross(spin)), n=add(total.n, moment))
        if i in carried:
            total = total + carried.pop(i)
        yield i, total
        if body.parent != FIXED_BASE:
            moved = total.on_parent(body)
            carried[body.parent] = carried[body.parent] + moved if body.parent in carried else moved


def _own(body: Moving) -> Composite:
    """A body alone: its points have the accelerations a + D p and the velocities v + ω × p."""
    m, h, J, x = body.mass.m, body.mass.h, body.mass.J, body.motion
    P = add(scale(m, x.v2), cross(x.w2, h))
    turning = transpose(vector(cross(column, x.w2) for column in J))  # −S(2ω) J, which has no trace
    H = plus(without_trace(outer(x.v2, h)), turning)
    K = multiply(x.D, J)  # ∫ D p pᵀ dm
    about = (K[2][1] - K[1][2], K[0][2] - K[2][0], K[1][0] - K[0][1])
    f, n = add(scale(m, x.a), apply(x.D, h)), add(about, cross(h, x.a))
    return Composite(Inertia(m, h, matrix_tensor(without_trace(J))), P, H, f, n)


def _minus_cross(a: Vector) -> Matrix:
    """−S(a)."""
    return ((0, a[2], -a[1]), (-a[2], 0, a[0]), (a[1], -a[0], 0))
