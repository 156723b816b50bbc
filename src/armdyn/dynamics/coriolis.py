"""The Coriolis matrix C(q, q̇) of Christoffel symbols (7.44)–(7.45), by a recursion instead of ∂B/∂q.

For particles with Jacobians J, Christoffel's choice is C = Σ m JᵀJ̇. Integrated over a rigid body with
J = J_P + J_O × ρ, column j of joint j meets every body it carries with the wrench

    F_j = m J̇_P + J̇_O × h + J_O × ḣ
    N_j = h × J̇_P + Î J̇_O + (tr(E) 1 − E) J_O,        h = ∫ρ,  ḣ = ∫ρ̇,  E = ∫ρ̇ ρᵀ

and C_ij = J_P,iᵀF_j + J_O,iᵀN_j. The integrals add up over the bodies a joint carries, so one sweep from
the tips to the base gives them for all joints (`Carried`), and a sweep from each joint to the base gives a
row and a column of C: O(n²) in all.

A rotor is particles too. With its locked part in the carrier, its spin leaves

    N_j += ½ Im (k_j ω × z − θ̇ z × J_O,j)      and on its own row      k_i Im (zᵀJ̇_O,j − ½ zᵀ(ω × J_O,j)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from armdyn.dynamics.adaptive import rigid_reference_torques
from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.inertia_matrix import felt_moment
from armdyn.dynamics.kinematics import JointFrame, ancestors, joint_frames
from armdyn.expression.functions import half
from armdyn.model.friction import along
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
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
    multiply,
    neg,
    scale,
    transpose,
    vector,
)


@dataclass(frozen=True)
class Subtree:
    """Integrals over a body and all it carries, about a point that moves with the body, in body axes."""

    inertia: Inertia
    hd: Vector  # ḣ
    E: Matrix  # ∫ρ̇ρᵀ
    spin: Vector  # ½ Σ Im θ̇ z of the rotors

    def __add__(self, other: Subtree) -> Subtree:
        E = vector(add(a, b) for a, b in zip(self.E, other.E, strict=True))
        return Subtree(self.inertia + other.inertia, add(self.hd, other.hd), E, add(self.spin, other.spin))

    def moved(self, p: Vector, pd: Vector) -> Subtree:
        """The same about a point from which the old one is at p, receding with ṗ."""
        m, h = self.inertia.mass, self.inertia.moment
        E = vector(
            add(row, scale(self.hd[i], p), scale(pd[i], add(h, scale(m, p)))) for i, row in enumerate(self.E)
        )
        return Subtree(self.inertia.translated(p), add(self.hd, scale(m, pd)), E, self.spin)

    def turned(self, R: Matrix) -> Subtree:
        """The same in the axes of the parent."""
        E = multiply(multiply(R, self.E), transpose(R))
        return Subtree(self.inertia.rotated(R), apply(R, self.hd), E, apply(R, self.spin))


def _carried_by_body(inertia: Inertia, w: Vector, spin: Vector) -> Subtree:
    """A single rigid body: ρ̇ = ω × ρ, so E = S(ω) ∫ρρᵀ with ∫ρρᵀ = ½tr(Î) 1 − Î."""
    I = inertia.matrix
    t = half(I[0][0] + I[1][1] + I[2][2])
    euler = vector(vector((t if a == b else 0) - I[a][b] for b in range(3)) for a in range(3))
    E = transpose(vector(cross(w, column) for column in euler))  # euler is symmetric: rows are columns
    return Subtree(inertia, cross(w, inertia.moment), E, spin)


def coriolis_matrix(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C with Ḃ − 2C skew-symmetric, rotors included.

    With closed chains it is SᵀC S + SᵀB Ṡ, Christoffel's choice for the coordinates: column i is the torque
    of the reference velocity e_i without gravity and springs.
    """
    if not mechanism.loops:
        return _of_joints(mechanism, q, qd)
    n, still = mechanism.n, [0] * mechanism.n
    bare = replace(mechanism, gravity=ZERO3, springs=(), struts=())
    units = [[int(k == i) for k in range(n)] for i in range(n)]
    columns = [rigid_reference_torques(bare, q, qd, unit, still) for unit in units]
    return [list(row) for row in zip(*columns, strict=True)]


@of_joints(2, "square")
def _of_joints(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """C of the joints."""
    joints = joint_frames(mechanism, q)
    w = _angular_velocities(mechanism, joints, qd)
    carried = _carried_about_joints(mechanism, joints, w, qd)
    C: list[list[Scalar]] = [[0] * mechanism.n for _ in range(mechanism.n)]
    for i in range(mechanism.n):
        column = _column_wrench(mechanism, joints, w, carried[i], i)
        row = _row_functional(mechanism, joints, carried[i], i)
        _spread_column(mechanism, joints, C, i, *column)
        _spread_row(mechanism, joints, w, qd, C, i, *row)
    _add_rotors(mechanism, joints, w, C)
    return C


def _angular_velocities(
    mechanism: Mechanism, joints: Sequence[JointFrame], qd: Sequence[Scalar]
) -> list[Vector]:
    w: list[Vector] = []
    for body, joint, qd_i in zip(mechanism.bodies, joints, qd, strict=True):
        w_i = ZERO3 if body.parent == FIXED_BASE else apply_transposed(joint.R, w[body.parent])
        w.append(add(w_i, scale(qd_i, joint.z)) if body.joint == "revolute" else w_i)
    return w


def _joint_rate(mechanism: Mechanism, joint: JointFrame, w: Vector, i: int, qd: Sequence[Scalar]) -> Vector:
    """Rate of the vector r from the joint to the body's origin: ω × r, and the slide of a prismatic joint."""
    rate = cross(w, joint.r)
    return rate if mechanism.bodies[i].joint == "revolute" else add(rate, scale(qd[i], joint.z))


def _carried_about_joints(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    w: Sequence[Vector],
    qd: Sequence[Scalar],
) -> list[Subtree]:
    """The bodies that each joint carries, taken together, about the joint's place on the parent."""
    spins: list[Vector] = [ZERO3] * mechanism.n
    for rotor in mechanism.rotors:
        if rotor.carrier != FIXED_BASE:
            momentum = scale(half(rotor.inertia * along(rotor.row, qd)), rotor.axis)
            spins[rotor.carrier] = add(spins[rotor.carrier], momentum)
    total = [
        _carried_by_body(body.inertia, w_i, spin)
        for body, w_i, spin in zip(mechanism.bodies, w, spins, strict=True)
    ]
    for i in reversed(range(mechanism.n)):
        body, joint = mechanism.bodies[i], joints[i]
        total[i] = total[i].moved(joint.r, _joint_rate(mechanism, joint, w[i], i, qd))
        if body.parent != FIXED_BASE:
            p, pd = body.p_before, cross(w[body.parent], body.p_before)
            total[body.parent] = total[body.parent] + total[i].turned(joint.R).moved(p, pd)
    return total


def _trace(E: Matrix) -> Scalar:
    return E[0][0] + E[1][1] + E[2][2]


def _column_wrench(
    mechanism: Mechanism, joints: Sequence[JointFrame], w: Sequence[Vector], c: Subtree, j: int
) -> tuple[Vector, Vector]:
    """F_j, N_j of joint j's own column on all it carries, about the joint."""
    z = joints[j].z
    zd = cross(w[j], z)
    if mechanism.bodies[j].joint == "prismatic":
        return scale(c.inertia.mass, zd), cross(c.inertia.moment, zd)
    F = add(cross(zd, c.inertia.moment), cross(z, c.hd))
    N = add(apply(c.inertia.matrix, zd), scale(_trace(c.E), z), neg(apply(c.E, z)), cross(z, c.spin))
    return F, N


def _row_functional(
    mechanism: Mechanism, joints: Sequence[JointFrame], c: Subtree, i: int
) -> tuple[Vector, Vector, Vector]:
    """(α, β, γ) with C_ij = αᵀJ̇_P,j + βᵀJ̇_O,j + γᵀJ_O,j for the columns of joints before i."""
    z = joints[i].z
    m, h = c.inertia.mass, c.inertia.moment
    if mechanism.bodies[i].joint == "prismatic":
        return scale(m, z), cross(h, z), cross(c.hd, z)
    gamma = add(scale(_trace(c.E), z), neg(apply_transposed(c.E, z)), cross(c.spin, z))
    return cross(z, h), apply(c.inertia.matrix, z), gamma


def _spread_column(
    mechanism: Mechanism, joints: Sequence[JointFrame], C: list[list[Scalar]], j: int, F: Vector, N: Vector
) -> None:
    """C_ij for i = j and the joints i before it: each feels the wrench of column j."""
    for i in ancestors(mechanism, j):
        body = mechanism.bodies[i]
        if i != j:
            N = add(N, cross(joints[i].r, F))
        C[i][j] = dot(joints[i].z, N if body.joint == "revolute" else F)
        F, N = apply(joints[i].R, F), apply(joints[i].R, N)
        N = add(N, cross(body.p_before, F))


def _spread_row(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    w: Sequence[Vector],
    qd: Sequence[Scalar],
    C: list[list[Scalar]],
    i: int,
    alpha: Vector,
    beta: Vector,
    gamma: Vector,
) -> None:
    """C_ij for the joints j before i: the functional is carried to joint j and meets its column there."""
    for j in ancestors(mechanism, i):
        body, joint = mechanism.bodies[j], joints[j]
        if j != i:
            rate = _joint_rate(mechanism, joint, w[j], j, qd)
            beta, gamma = add(beta, cross(joint.r, alpha)), add(gamma, cross(rate, alpha))
            zd = cross(w[j], joint.z)
            if body.joint == "revolute":
                C[i][j] = dot(zd, beta) + dot(joint.z, gamma)
            else:
                C[i][j] = dot(zd, alpha)
        alpha, beta, gamma = (apply(joint.R, x) for x in (alpha, beta, gamma))
        if body.parent != FIXED_BASE:
            p, pd = body.p_before, cross(w[body.parent], body.p_before)
            beta, gamma = add(beta, cross(p, alpha)), add(gamma, cross(pd, alpha))


def _add_rotors(
    mechanism: Mechanism,
    joints: Sequence[JointFrame],
    w: Sequence[Vector],
    C: list[list[Scalar]],
) -> None:
    """The terms with k_j (a column) and k_i (a row); the gyroscopic ones are in `Carried.spin`."""
    for rotor in mechanism.rotors:
        if rotor.carrier == FIXED_BASE:
            continue
        turning = cross(w[rotor.carrier], rotor.axis)  # ω × z
        for i, k in rotor.row:
            column = scale(half(rotor.inertia * k), turning)
            for j, felt in felt_moment(mechanism, joints, rotor.carrier, column):
                C[j][i] = C[j][i] + felt
            beta, gamma = scale(rotor.inertia * k, rotor.axis), column
            for j in ancestors(mechanism, rotor.carrier):
                if mechanism.bodies[j].joint == "revolute":
                    z = joints[j].z
                    C[i][j] = C[i][j] + dot(cross(w[j], z), beta) + dot(z, gamma)
                beta, gamma = apply(joints[j].R, beta), apply(joints[j].R, gamma)
