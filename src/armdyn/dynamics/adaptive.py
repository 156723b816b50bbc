"""The regressor of adaptive control (Slotine and Li, 1987): Y π = B q̈_r + C q̇_r + g + springs + friction.

C(q, q̇) is the matrix of Christoffel symbols (7.44)–(7.45). These are symmetric in their last two indices, so
C(q, q̇) q̇_r is the symmetric bilinear form of the quadratic form C(q, q̇) q̇ that Newton–Euler computes. The
recursion (7.107)–(7.114) is linear in accelerations, and every velocity in it is part of a product of two.
So one pass is enough, with each product of velocities made symmetric in the two motions:

    w wᵀ  becomes  P = ½ (w uᵀ + u wᵀ),   w, u the angular velocities that q̇ and q̇_r give.

With it ω̇ × r + ω × (ω × r) is A r with A = S(ω̇) + P − tr(P) 1, and ω × Î ω has the components
(Î P)_kj − (Î P)_jk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.kinematics import JointFrame, joint_frames
from armdyn.dynamics.newton_euler import backward
from armdyn.dynamics.regressor import UNIT_TENSORS, Column, columns_of, felt, with_friction
from armdyn.dynamics.springs import spring_columns, with_springs
from armdyn.expression.functions import half
from armdyn.model.friction import along
from armdyn.model.inertia import ENTRIES, Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.parameters import Parameter
from armdyn.model.vector import (
    IDENTITY,
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    multiply,
    neg,
    scale,
    transpose,
    vector,
)


def adaptive_regressor(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qd_r: Sequence[Scalar],
    qdd_r: Sequence[Scalar],
    layout: Sequence[Parameter],
    sliding: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Y, n×p: a column for each parameter of the layout.

    The columns of friction are those of `regressor`, by q̇; dry friction goes by the velocities `sliding` if
    they are given. The columns of load friction are zero.
    """
    Y = _of_inertias(mechanism, q, qd, qd_r, qdd_r, layout)
    return with_friction(Y, mechanism, layout, q, qd, sliding)


@of_joints(4, "torques")
def _of_inertias(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qd_r: Sequence[Scalar],
    qdd_r: Sequence[Scalar],
    layout: Sequence[Parameter],
) -> list[list[Scalar]]:
    """Y with zeros in the columns of friction."""
    joints = joint_frames(mechanism, q)
    motions = _forward(mechanism, joints, qd, qd_r, qdd_r)
    wrenches = [dict(zip(ENTRIES, motion.unit_wrenches(), strict=True)) for motion in motions]

    def of_body(body: int, entry: str) -> Column:
        return felt(mechanism, joints, body, *wrenches[body][entry])

    def of_rotor(rotor: Rotor) -> Column:
        rate, torque = _rotor(rotor, motions, qd, qd_r, qdd_r)
        yield from felt(mechanism, joints, rotor.carrier, ZERO3, rate)
        for j, k in rotor.row:
            yield j, k * torque

    return columns_of(mechanism, layout, of_body, of_rotor, spring_columns(mechanism, q, layout))


@of_joints(4, "torques")
def rigid_reference_torques(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qd_r: Sequence[Scalar],
    qdd_r: Sequence[Scalar],
) -> list[Scalar]:
    """B q̈_r + C(q, q̇) q̇_r + g + springs with the mechanism's parameters, by a backward pass: O(n)."""
    joints = joint_frames(mechanism, q)
    motions = _forward(mechanism, joints, qd, qd_r, qdd_r)
    pairs = [motion.wrench(body.inertia) for motion, body in zip(motions, mechanism.bodies, strict=True)]
    f, n = [f for f, _ in pairs], [n for _, n in pairs]
    rotors = [(rotor, *_rotor(rotor, motions, qd, qd_r, qdd_r)) for rotor in mechanism.rotors]
    for rotor, rate, _ in rotors:
        if rotor.carrier != FIXED_BASE:
            n[rotor.carrier] = add(n[rotor.carrier], scale(rotor.inertia, rate))
    _, tau = backward(mechanism, joints, f, n)
    for rotor, _, torque in rotors:
        for j, k in rotor.row:
            tau[j] = tau[j] + k * (rotor.inertia * torque)
    return with_springs(mechanism, q, tau)


@dataclass(frozen=True)
class _Moving:
    """Motion of a body, in its own axes."""

    w: Vector  # by q̇
    u: Vector  # by q̇_r
    dw: Vector
    a: Vector  # of its origin, gravity included
    P: Matrix  # ½ (w uᵀ + u wᵀ)
    A: Matrix  # a point at r accelerates by A r more than the origin

    @staticmethod
    def of(w: Vector, u: Vector, dw: Vector, a: Vector, r: Vector = ZERO3) -> _Moving:
        """The motion of a body whose origin is at r from a point of it with acceleration a."""
        P = _symmetric(w, u)
        trace = P[0][0] + P[1][1] + P[2][2]
        spin = (neg(cross(e, dw)) for e in IDENTITY)  # the columns of S(ω̇)
        columns = (add(s, p, scale(-trace, e)) for s, p, e in zip(spin, P, IDENTITY, strict=True))
        A = transpose(vector(columns))
        return _Moving(w, u, dw, add(a, apply(A, r)), P, A)

    def wrench(self, inertia: Inertia) -> tuple[Vector, Vector]:
        """Force and moment about the origin that move a body."""
        f = add(scale(inertia.mass, self.a), apply(self.A, inertia.moment))
        turned = add(apply(inertia.matrix, self.dw), _axial(multiply(inertia.matrix, self.P)))
        return f, add(turned, cross(inertia.moment, self.a))

    def unit_wrenches(self) -> list[tuple[Vector, Vector]]:
        """Force and moment about the origin of a body with one of its parameters 1 and the others 0."""
        wrenches = [(self.a, ZERO3)]
        wrenches += [(f, cross(e, self.a)) for e, f in zip(IDENTITY, transpose(self.A), strict=True)]
        wrenches += [(ZERO3, add(apply(U, self.dw), _axial(multiply(U, self.P)))) for U in UNIT_TENSORS]
        return wrenches


def _rotor(
    rotor: Rotor,
    motions: Sequence[_Moving],
    qd: Sequence[Scalar],
    qd_r: Sequence[Scalar],
    qdd_r: Sequence[Scalar],
) -> tuple[Vector, Scalar]:
    """Rate of the spin's momentum (7.113) and torque (7.114) of a rotor with inertia 1."""
    w, u, dw = ZERO3, ZERO3, ZERO3
    if rotor.carrier != FIXED_BASE:
        carrier = motions[rotor.carrier]
        w, u, dw = carrier.w, carrier.u, carrier.dw
    acceleration = along(rotor.row, qdd_r)
    turning = add(scale(along(rotor.row, qd), u), scale(along(rotor.row, qd_r), w))
    rate = add(scale(acceleration, rotor.axis), cross(_half(turning), rotor.axis))
    return rate, acceleration + dot(rotor.axis, dw)


def _forward(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    qd: Sequence[Scalar],
    qd_r: Sequence[Scalar],
    qdd_r: Sequence[Scalar],
) -> list[_Moving]:
    """(7.107)–(7.109) with two velocities."""
    motions: list[_Moving] = []
    base = _Moving.of(ZERO3, ZERO3, ZERO3, neg(mechanism.gravity))
    for i, (body, joint) in enumerate(zip(mechanism.bodies, joints, strict=True)):
        before = base if body.parent == FIXED_BASE else motions[body.parent]
        a_joint = add(before.a, apply(before.A, body.p_before))
        w, u, dw, a = (apply_transposed(joint.R, x) for x in (before.w, before.u, before.dw, a_joint))
        turning = cross(add(scale(qd_r[i], w), scale(qd[i], u)), joint.z)
        if body.joint == "revolute":
            dw = add(dw, scale(qdd_r[i], joint.z), _half(turning))
            w, u = add(w, scale(qd[i], joint.z)), add(u, scale(qd_r[i], joint.z))
        else:
            a = add(a, scale(qdd_r[i], joint.z), turning)
        motions.append(_Moving.of(w, u, dw, a, joint.r))
    return motions


def _symmetric(w: Vector, u: Vector) -> Matrix:
    """½ (w uᵀ + u wᵀ)."""
    xy, xz, yz = (half(w[i] * u[j] + w[j] * u[i]) for i, j in ((0, 1), (0, 2), (1, 2)))
    x, y, z = (w[i] * u[i] for i in range(3))
    return ((x, xy, xz), (xy, y, yz), (xz, yz, z))


def _axial(M: Matrix) -> Vector:
    return (M[2][1] - M[1][2], M[0][2] - M[2][0], M[1][0] - M[0][1])


def _half(v: Vector) -> Vector:
    return vector(half(x) for x in v)
