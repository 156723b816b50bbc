"""Friction torques of the joints, and of the motors whose row couples several joints."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.expression.functions import sign
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def rotor_speed(row: tuple[tuple[int, Scalar], ...], qd: Sequence[Scalar]) -> Scalar:
    """θ̇_m = Σ k_ij q̇_j (7.22); the same sum serves accelerations."""
    total: Scalar = 0
    for j, k in row:
        total = total + k * qd[j]
    return total


def friction_torques(mechanism: Mechanism, qd: Sequence[Scalar]) -> list[Scalar]:
    """F_v q̇ + F_s sgn(q̇) of (7.42), with asymmetry |sgn(q̇)|, offsets and coupled motors' Kᵀ(…)."""
    tau = []
    for f, qd_i in zip(mechanism.friction, qd, strict=True):
        s = sign(qd_i)
        tau.append(f.viscous * qd_i + f.coulomb * s + f.asymmetry * (s * s) + f.offset)
    for m in mechanism.motor_friction:
        speed = rotor_speed(m.row, qd)
        torque = m.viscous * speed + m.coulomb * sign(speed)
        for j, k in m.row:
            tau[j] = tau[j] + k * torque
    return tau
