"""Kinetic and potential energy, and the energy regressors β_T, β_U of (7.76).

Both are linear in the parameters of (7.77): per joint, ten of the augmented link and Im of its motor.
"""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.expression.functions import half
from armdyn.model.friction import along
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import ZERO3, Scalar, Vector, apply_transposed, cross, dot

PER_JOINT = 11  # m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz, Im


def kinetic_regressor(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> list[list[Scalar]]:
    """β_T: per joint the coefficients of its eleven parameters in T (7.70)."""
    joints = joint_frames(mechanism, q)
    w, v = velocities(mechanism, joints, qd)
    beta = [[*_body_terms(w_i, v_i), 0] for w_i, v_i in zip(w, v, strict=True)]
    for rotor in mechanism.rotors:
        w_c = ZERO3 if rotor.carrier == FIXED_BASE else w[rotor.carrier]
        speed = along(rotor.row, qd)
        beta[rotor.joint][10] = speed * dot(rotor.axis, w_c) + half(speed * speed)
    return beta


def _body_terms(w: Vector, v: Vector) -> list[Scalar]:
    """½ṗᵀṗ, ṗᵀS(ω) by component, ½ωᵀ(·)ω by tensor entry."""
    x, y, z = w
    return [
        half(dot(v, v)),
        *cross(v, w),
        half(x * x),
        x * y,
        x * z,
        half(y * y),
        y * z,
        half(z * z),
    ]


def potential_regressor(mechanism: Mechanism, q: Sequence[Scalar]) -> list[list[Scalar]]:
    """β_U: per joint the coefficients of its eleven parameters in U (7.75); zero at the base origin."""
    g: list[Vector] = []  # gravity in body axes
    lift: list[Scalar] = []  # −g_0ᵀ p_i
    beta: list[list[Scalar]] = []
    for body, joint in zip(mechanism.bodies, joint_frames(mechanism, q), strict=True):
        if body.parent == FIXED_BASE:
            g_p, lift_p = mechanism.gravity, 0
        else:
            g_p, lift_p = g[body.parent], lift[body.parent]
        g_i = apply_transposed(joint.R, g_p)
        g.append(g_i)
        lift.append(lift_p - dot(g_p, body.p_before) - dot(g_i, joint.r))
        beta.append([lift[-1], -g_i[0], -g_i[1], -g_i[2], 0, 0, 0, 0, 0, 0, 0])
    return beta


def _parameters(mechanism: Mechanism) -> list[list[Scalar]]:
    Im = {rotor.joint: rotor.inertia for rotor in mechanism.rotors}
    return [
        [body.inertia.mass, *body.inertia.moment, *body.inertia.tensor, Im.get(j, 0)]
        for j, body in enumerate(mechanism.bodies)
    ]


def _total(beta: list[list[Scalar]], mechanism: Mechanism) -> Scalar:
    total: Scalar = 0
    for row, values in zip(beta, _parameters(mechanism), strict=True):
        for b, value in zip(row, values, strict=True):
            total = total + b * value
    return total


def kinetic_energy(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Scalar:
    """T (7.4), (7.31)."""
    return _total(kinetic_regressor(mechanism, q, qd), mechanism)


def potential_energy(mechanism: Mechanism, q: Sequence[Scalar]) -> Scalar:
    """U (7.36)."""
    return _total(potential_regressor(mechanism, q), mechanism)
