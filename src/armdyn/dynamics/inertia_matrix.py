"""The inertia matrix B(q), three ways: composite bodies, unit accelerations (7.6), Jacobians (7.32)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.kinematics import (
    JointFrame,
    ancestors,
    base_frames,
    joint_frames,
    point_jacobian,
    pose_of,
    rotor_jacobian,
)
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.model.inertia import Inertia
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Scalar, Vector, add, apply, cross, dot, scale

SquareMatrix = list[list[Scalar]]


@of_joints(1, "square")
def inertia_matrix(mechanism: Mechanism, q: Sequence[Scalar]) -> SquareMatrix:
    """B by composite bodies, O(n²): joint i accelerates all it carries as one body.

    The wrench this takes is felt by the joints before it. A rotor adds k_i k_j Im and, through the moment
    Im k_i z_m on its carrier, k_i Im z_mᵀJ_O,j.
    """
    joints = joint_frames(mechanism, q)
    B: SquareMatrix = [[0] * mechanism.n for _ in range(mechanism.n)]
    for i, composite in enumerate(composites_about_joints(mechanism, joints)):
        z = joints[i].z
        if mechanism.bodies[i].joint == "revolute":
            f, mu = cross(z, composite.moment), apply(composite.matrix, z)
        else:
            f, mu = scale(composite.mass, z), cross(composite.moment, z)
        for j, felt in _felt(mechanism, joints, i, f, mu):
            B[i][j] = B[j][i] = felt
    for rotor in mechanism.rotors:
        for i, k in rotor.row:
            moment = scale(rotor.inertia * k, rotor.axis)
            for j, felt in felt_moment(mechanism, joints, rotor.carrier, moment):
                B[i][j] = B[i][j] + felt
                B[j][i] = B[j][i] + felt
            for j, k_j in rotor.row:
                B[i][j] = B[i][j] + rotor.inertia * (k * k_j)
    return B


def composites_about_joints(mechanism: Mechanism, joints: Sequence[JointFrame]) -> list[Inertia]:
    """Each body with all it carries, about its joint's place on the parent, in body axes."""
    total = [body.inertia for body in mechanism.bodies]
    for i in reversed(range(mechanism.n)):
        body = mechanism.bodies[i]
        total[i] = total[i].translated(joints[i].r)
        if body.parent != FIXED_BASE:
            total[body.parent] = total[body.parent] + total[i].placed(joints[i].R, body.p_before)
    return total


def _felt(
    mechanism: Mechanism, joints: Sequence[JointFrame], i: int, f: Vector, mu: Vector
) -> Iterator[tuple[int, Scalar]]:
    """Torques (j, τ_j) at joint i and the joints before it of a wrench about joint i, body axes."""
    for j in ancestors(mechanism, i):
        body = mechanism.bodies[j]
        if j != i:
            mu = add(mu, cross(joints[j].r, f))
        yield j, dot(joints[j].z, mu if body.joint == "revolute" else f)
        f, mu = apply(joints[j].R, f), apply(joints[j].R, mu)
        mu = add(mu, cross(body.p_before, f))


def felt_moment(
    mechanism: Mechanism, joints: Sequence[JointFrame], body: int, moment: Vector
) -> Iterator[tuple[int, Scalar]]:
    """Torques (j, τ_j) at the joints before a body, its own included, of a pure moment on it."""
    for j in ancestors(mechanism, body):
        if mechanism.bodies[j].joint == "revolute":
            yield j, dot(joints[j].z, moment)
        moment = apply(joints[j].R, moment)


def inertia_by_unit_accelerations(mechanism: Mechanism, q: Sequence[Scalar]) -> SquareMatrix:
    """B column by column as section 7.6 describes: Newton–Euler at rest with q̈_i = 1.

    Without gravity and springs.
    """
    still = [0] * mechanism.n
    weightless = Mechanism(**{**vars(mechanism), "gravity": ZERO3, "springs": (), "struts": ()})
    columns = []
    for i in range(mechanism.n):
        unit = [1 if j == i else 0 for j in range(mechanism.n)]
        columns.append(rigid_torques(weightless, q, still, unit))
    return [list(row) for row in zip(*columns, strict=True)]


@of_joints(1, "square")
def inertia_by_jacobians(mechanism: Mechanism, q: Sequence[Scalar]) -> SquareMatrix:
    """B from the Jacobians of links and rotors (7.32), in the parameters of the augmented links (7.70).

    A rotor's tensor is part of its carrier's, so of J_O^{(m)ᵀ} I_m J_O^{(m)} only what its spin adds is left.
    """
    joints = joint_frames(mechanism, q)
    frames = base_frames(mechanism, joints)
    n = mechanism.n
    B: SquareMatrix = [[0] * n for _ in range(n)]
    for i, (body, frame) in enumerate(zip(mechanism.bodies, frames, strict=True)):
        inertia = body.inertia.rotated(frame.R)
        J_P, J_O = point_jacobian(mechanism, frames, i, frame.p)
        for a in range(n):
            f = add(scale(inertia.mass, J_P[a]), cross(J_O[a], inertia.moment))
            mu = add(cross(inertia.moment, J_P[a]), apply(inertia.matrix, J_O[a]))
            for b in range(n):
                B[a][b] = B[a][b] + dot(f, J_P[b]) + dot(mu, J_O[b])
    for r, rotor in enumerate(mechanism.rotors):
        _, J_c = point_jacobian(mechanism, frames, rotor.carrier, ZERO3)
        J_m = rotor_jacobian(mechanism, frames, r)
        z = apply(pose_of(mechanism, frames, rotor.carrier)[0], rotor.axis)
        k = dict(rotor.row)
        for a in range(n):
            for b in range(n):
                spin = dot(J_m[a], z) * dot(J_m[b], z) - dot(J_c[a], z) * dot(J_c[b], z)
                reflected = k.get(a, 0) * k.get(b, 0) * (1 - dot(z, z))  # z = 0 in the reflected model
                B[a][b] = B[a][b] + rotor.inertia * (spin + reflected)
    return B
