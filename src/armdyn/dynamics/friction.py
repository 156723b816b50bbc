"""Friction torques of the joints, and of the motors whose row couples several joints."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def friction_torques(
    mechanism: Mechanism, qd: Sequence[Scalar], directions: Sequence[Scalar] | None = None
) -> list[Scalar]:
    """F_v q̇ + F_s sgn(q̇) of (7.42), with asymmetry |sgn(q̇)|, offsets and coupled motors' Kᵀ(…).

    `directions` are those in which the surfaces slide, one each; by default the signs of their speeds.
    """
    tau: list[Scalar] = [0] * mechanism.n
    for e, surface in enumerate(mechanism.friction):
        torque = surface.torque(surface.speed(qd), None if directions is None else directions[e])
        for j, k in surface.row:
            tau[j] = tau[j] + k * torque
    return tau
