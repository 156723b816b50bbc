"""Frames, velocities and Jacobians of the tree of bodies (7.14)–(7.29), (7.93)–(7.101).

Vectors of a body are in the axes of its own frame, as in (7.107)–(7.109), unless a name says `_0`: then
they are in world axes, which are those of the base unless it is placed elsewhere. Deviation from the book: a
joint sits between two constant transforms, so that no algorithm depends on a DH convention; its axis z and,
for a revolute joint, the vector r from the joint to the origin of the body's frame are constant in body axes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from armdyn.expression.functions import cos, sin
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Place
from armdyn.model.vector import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    multiply,
    rotation_about,
    scale,
    sub,
)


@dataclass(frozen=True)
class JointFrame:
    """A joint at a given position: how its body sits on its parent."""

    R: Matrix  # body axes -> parent axes
    z: Vector  # joint axis, body axes
    r: Vector  # from the joint's place on the parent to the body's origin, body axes


def joint_frame(body: Body, q: Scalar) -> JointFrame:
    """R_i^{i−1}, z and r_{i−1,i} of a joint."""
    z = apply_transposed(body.R_after, body.axis)
    r = apply_transposed(body.R_after, body.p_after)
    if body.joint == "revolute":
        R_joint = rotation_about(body.axis, cos(q), sin(q))
        return JointFrame(multiply(multiply(body.R_before, R_joint), body.R_after), z, r)
    return JointFrame(multiply(body.R_before, body.R_after), z, add(r, scale(q, z)))


def joint_frames(mechanism: Mechanism, q: Sequence[Scalar]) -> list[JointFrame]:
    return [joint_frame(body, q_i) for body, q_i in zip(mechanism.bodies, q, strict=True)]


def velocities(
    mechanism: Mechanism, joints: Sequence[JointFrame], qd: Sequence[Scalar]
) -> tuple[list[Vector], list[Vector]]:
    """ω_i and ṗ_i of every body (7.93), (7.94)."""
    w: list[Vector] = []
    v: list[Vector] = []
    for body, joint, qd_i in zip(mechanism.bodies, joints, qd, strict=True):
        w_parent, v_parent = (ZERO3, ZERO3) if body.parent == FIXED_BASE else (w[body.parent], v[body.parent])
        v_joint = add(v_parent, cross(w_parent, body.p_before))
        w_i, v_i = apply_transposed(joint.R, w_parent), apply_transposed(joint.R, v_joint)
        if body.joint == "revolute":
            w_i = add(w_i, scale(qd_i, joint.z))
        else:
            v_i = add(v_i, scale(qd_i, joint.z))
        w.append(w_i)
        v.append(add(v_i, cross(w_i, joint.r)))
    return w, v


@dataclass(frozen=True)
class BaseFrame:
    """A body and its joint in the world: R, origin p, joint axis z and a point c on it.

    The world is the base frame unless the description places the base elsewhere.
    """

    R: Matrix
    p: Vector
    z: Vector
    c: Vector


def base_frames(mechanism: Mechanism, joints: Sequence[JointFrame]) -> list[BaseFrame]:
    frames: list[BaseFrame] = []
    for body, joint in zip(mechanism.bodies, joints, strict=True):
        R_0, p_0 = pose_of(mechanism, frames, body.parent)
        R = multiply(R_0, joint.R)
        c = add(p_0, apply(R_0, body.p_before))
        frames.append(BaseFrame(R, add(c, apply(R, joint.r)), apply(R, joint.z), c))
    return frames


def pose_of(mechanism: Mechanism, frames: Sequence[BaseFrame], body: int) -> tuple[Matrix, Vector]:
    """Orientation and origin of a body, or of the base, in the world."""
    if body == FIXED_BASE:
        return mechanism.R_base, mechanism.p_base
    return frames[body].R, frames[body].p


def ancestors(mechanism: Mechanism, body: int) -> list[int]:
    """The joints between the base and a body, its own first."""
    path = []
    while body != FIXED_BASE:
        path.append(body)
        body = mechanism.bodies[body].parent
    return path


def longest_path(mechanism: Mechanism) -> int:
    """Number of joints in the longest chain from the base."""
    return max(len(ancestors(mechanism, body)) for body in range(len(mechanism.bodies)))


def wrench_at_body(
    mechanism: Mechanism, joints: Sequence[JointFrame], body: int, wrench: Sequence[Scalar]
) -> tuple[Vector, Vector]:
    """Force and moment of h_e (world axes) in the axes of a body."""
    force: Vector = (wrench[0], wrench[1], wrench[2])
    moment: Vector = (wrench[3], wrench[4], wrench[5])
    force, moment = apply_transposed(mechanism.R_base, force), apply_transposed(mechanism.R_base, moment)
    for j in reversed(ancestors(mechanism, body)):
        force, moment = apply_transposed(joints[j].R, force), apply_transposed(joints[j].R, moment)
    return force, moment


def wrenches_on_bodies(
    mechanism: Mechanism, joints: Sequence[JointFrame], wrench: Sequence[Scalar]
) -> Iterator[tuple[Place, Vector, Vector]]:
    """The places where wrenches act, and force and moment there in body axes; those on the base left out."""
    for k, place in enumerate(mechanism.loaded):
        if place.body != FIXED_BASE:
            yield place, *wrench_at_body(mechanism, joints, place.body, wrench[6 * k : 6 * k + 6])


def tip_pose(mechanism: Mechanism, frames: Sequence[BaseFrame]) -> tuple[Matrix, Vector]:
    """Orientation and position of the tip frame in the world."""
    R, p = pose_of(mechanism, frames, mechanism.tip)
    return multiply(R, mechanism.R_tip), add(p, apply(R, mechanism.p_tip))


def point_jacobian(
    mechanism: Mechanism, frames: Sequence[BaseFrame], body: int, p_0: Vector
) -> tuple[list[Vector], list[Vector]]:
    """Columns of J_P and J_O of a point fixed to a body, world axes (7.16)–(7.19), (7.25)–(7.26)."""
    J_P: list[Vector] = [ZERO3] * mechanism.n
    J_O: list[Vector] = [ZERO3] * mechanism.n
    for j in ancestors(mechanism, body):
        z, c = frames[j].z, frames[j].c
        if mechanism.bodies[j].joint == "revolute":
            J_P[j], J_O[j] = cross(z, sub(p_0, c)), z
        else:
            J_P[j] = z
    return J_P, J_O


def rotor_jacobian(mechanism: Mechanism, frames: Sequence[BaseFrame], rotor: int) -> list[Vector]:
    """Columns of J_O of a rotor: its carrier's, and k_j z_m for the joints of its row (7.28)–(7.29)."""
    part = mechanism.rotors[rotor]
    _, J_O = point_jacobian(mechanism, frames, part.carrier, ZERO3)
    R, _ = pose_of(mechanism, frames, part.carrier)
    z_m = apply(R, part.axis)
    for j, k in part.row:
        J_O[j] = add(J_O[j], scale(k, z_m))
    return J_O


def point_velocity(
    mechanism: Mechanism,
    frames: Sequence[BaseFrame],
    w: Sequence[Vector],
    v: Sequence[Vector],
    body: int,
    p_0: Vector,
) -> Vector:
    """Velocity in world axes of a point that moves with a body."""
    if body == FIXED_BASE:
        return ZERO3
    frame = frames[body]
    return add(apply(frame.R, v[body]), cross(apply(frame.R, w[body]), sub(p_0, frame.p)))
