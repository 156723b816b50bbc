"""Kinetic and potential energy, and the energy regressors β_T, β_U of (7.76).

Both are linear in the parameters of (7.77): those of the augmented links, and Im of the motors. Springs store
energy too, linear in their parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.closures import of_joints
from armdyn.dynamics.kinematics import joint_frames, velocities
from armdyn.dynamics.springs import spring_energies
from armdyn.expression.functions import half
from armdyn.model.friction import along
from armdyn.model.inertia import ENTRIES
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.parameters import Parameter, parameter_values, symbol
from armdyn.model.vector import ZERO3, Scalar, Vector, apply_transposed, cross, dot

_BODY = [symbol("body", entry) for entry in ENTRIES]


@of_joints(2, "anything")
def kinetic_regressor(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]
) -> dict[Parameter, Scalar]:
    """β_T: the coefficient of each parameter in T (7.70)."""
    joints = joint_frames(mechanism, q)
    w, v = velocities(mechanism, joints, qd)
    beta: dict[Parameter, Scalar] = {}
    for j in range(mechanism.n):
        beta |= {Parameter(name, j): b for name, b in zip(_BODY, _body_terms(w[j], v[j]), strict=True)}
    for rotor in mechanism.rotors:
        w_c = ZERO3 if rotor.carrier == FIXED_BASE else w[rotor.carrier]
        speed = along(rotor.row, qd)
        its = Parameter(symbol(rotor.part, "inertia"), rotor.joint)
        beta[its] = speed * dot(rotor.axis, w_c) + half(speed * speed)
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


@of_joints(1, "anything")
def potential_regressor(mechanism: Mechanism, q: Sequence[Scalar]) -> dict[Parameter, Scalar]:
    """β_U: the coefficient of each mass, first moment and spring in U (7.75).

    A mass at the world's origin has no energy, nor has a spring at q = 0, one between points at length 0.
    """
    g: list[Vector] = []  # gravity in body axes
    lift: list[Scalar] = []  # −g_0ᵀ p_i
    beta: dict[Parameter, Scalar] = {}
    at_base = -dot(mechanism.gravity, apply_transposed(mechanism.R_base, mechanism.p_base))
    for j, (body, joint) in enumerate(zip(mechanism.bodies, joint_frames(mechanism, q), strict=True)):
        if body.parent == FIXED_BASE:
            g_p, lift_p = mechanism.gravity, at_base
        else:
            g_p, lift_p = g[body.parent], lift[body.parent]
        g_i = apply_transposed(joint.R, g_p)
        g.append(g_i)
        lift.append(lift_p - dot(g_p, body.p_before) - dot(g_i, joint.r))
        terms = (lift[-1], -g_i[0], -g_i[1], -g_i[2])
        beta |= {Parameter(name, j): b for name, b in zip(_BODY, terms, strict=False)}
    return beta | spring_energies(mechanism, q)


def _total(beta: dict[Parameter, Scalar], mechanism: Mechanism) -> Scalar:
    values = parameter_values(mechanism)
    total: Scalar = 0
    for parameter, b in beta.items():
        total = total + b * values[parameter]
    return total


def kinetic_energy(mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar]) -> Scalar:
    """T (7.4), (7.31)."""
    return _total(kinetic_regressor(mechanism, q, qd), mechanism)


def potential_energy(mechanism: Mechanism, q: Sequence[Scalar]) -> Scalar:
    """U (7.36), with the energy of springs."""
    return _total(potential_regressor(mechanism, q), mechanism)
