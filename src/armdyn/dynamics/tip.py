"""Poses of the bodies and the tip, the tip's geometric Jacobian and its time derivative, over coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.dynamics.closures import Following, inner, of_joints
from armdyn.dynamics.kinematics import (
    ancestors,
    base_frames,
    joint_frames,
    point_jacobian,
    point_velocity,
    pose_of,
    rotor_jacobian,
    tip_pose,
    velocities,
)
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Matrix, Scalar, Vector, add, apply, cross, sub


@of_joints(1, "anything")
def pose(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The homogeneous transform of the tip frame, 4×4."""
    return _transform(*tip_pose(mechanism, base_frames(mechanism, joint_frames(mechanism, q))))


@of_joints(1, "anything")
def poses(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[list[Scalar]]]:
    """The homogeneous transforms of the frames of all links behind moving joints, then that of the base."""
    frames = base_frames(mechanism, joint_frames(mechanism, q))
    bodies = (*range(mechanism.joints), FIXED_BASE)
    return [_transform(*pose_of(mechanism, frames, body)) for body in bodies]


def _transform(R: Matrix, p: Vector) -> list[list[Scalar]]:
    return [[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [0, 0, 0, 1]]


@of_joints(1, "columns")
def jacobian(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The geometric Jacobian of the tip frame, 6×n: linear rows over angular rows, world axes."""
    frames = base_frames(mechanism, joint_frames(mechanism, q))
    _, p = tip_pose(mechanism, frames)
    return _rows(*point_jacobian(mechanism, frames, mechanism.tip, p))


@of_joints(1, "columns")
def jacobian_at_rotor(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The Jacobian of a rotor, 6×n (7.25)–(7.29): the only one of the mechanism, whose centre is the tip."""
    frames = base_frames(mechanism, joint_frames(mechanism, q))
    _, p = tip_pose(mechanism, frames)
    J_P, _ = point_jacobian(mechanism, frames, mechanism.tip, p)
    return _rows(J_P, rotor_jacobian(mechanism, frames, 0))


def loaded_jacobian(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """The Jacobians of the places where wrenches act, one below the other: power is −hᵀ J q̇."""
    rows: list[list[Scalar]] = []
    for place in mechanism.loaded:
        rows += jacobian(replace(mechanism, tip=place.body, p_tip=place.p), q)
    return rows


def jacobian_dot(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """Time derivative of the Jacobian, 6×n. With closed chains it is J̇ S + J Ṡ, that of J S."""
    found = _with_joints_moving(mechanism, q, qd)
    if not mechanism.loops:
        return found
    following = Following(mechanism, q)
    opened = mechanism.without_loops()
    J, yd = jacobian(opened, q), following.velocities(qd)
    for i in range(mechanism.n):
        unit = following.velocities([int(k == i) for k in range(mechanism.n)])
        rate = following.rate(yd, unit)
        for row, of_positions in zip(found, J, strict=True):
            row[i] = row[i] + inner(of_positions, rate)
    return found


@of_joints(2, "columns")
def _with_joints_moving(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]
) -> list[list[Scalar]]:
    """J̇ of the joints, 6×n: each column differentiated, ż_j = ω × z_j."""
    joints = joint_frames(mechanism, q)
    frames = base_frames(mechanism, joints)
    _, p = tip_pose(mechanism, frames)
    w, v = velocities(mechanism, joints, qd)
    pd = point_velocity(mechanism, frames, w, v, mechanism.tip, p)
    Jd_P: list[Vector] = [ZERO3] * mechanism.n
    Jd_O: list[Vector] = [ZERO3] * mechanism.n
    for j in ancestors(mechanism, mechanism.tip):
        z, c = frames[j].z, frames[j].c
        parent = mechanism.bodies[j].parent
        zd = cross(apply(frames[j].R, w[j]), z)
        if mechanism.bodies[j].joint == "revolute":
            cd = point_velocity(mechanism, frames, w, v, parent, c)
            Jd_P[j] = add(cross(zd, sub(p, c)), cross(z, sub(pd, cd)))
            Jd_O[j] = zd
        else:
            Jd_P[j] = zd
    return _rows(Jd_P, Jd_O)


def _rows(columns_P: Sequence[Vector], columns_O: Sequence[Vector]) -> list[list[Scalar]]:
    return [[column[i] for column in columns] for columns in (columns_P, columns_O) for i in range(3)]
