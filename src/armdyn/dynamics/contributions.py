"""Torques by what causes them: the terms of (7.42), by inverse dynamics of mechanisms with one of them each.

Inverse dynamics at rest gives B q̈, and c_ijj q̇_j² where coordinate j moves alone; Coriolis torques are what
velocities cause beyond that. So the causes add up to the torque of the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.dynamics.friction import friction_torques, has_load
from armdyn.dynamics.newton_euler import gravity_torques, rigid_torques
from armdyn.dynamics.springs import spring_torques
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import ZERO3, Scalar

CAUSES = (
    "inertia",
    "centrifugal",
    "Coriolis",
    "gravity",
    "springs",
    "viscous friction",  # what grows with speed, cubic friction included
    "dry friction",  # Coulomb, Stribeck and load friction, and offsets
    "tip wrench",  # what the wrenches given are at the joints, those of links too
)


def contributions(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Torques (8, n) of a motion by cause, in the order of `CAUSES`; rotors are part of the first three."""
    n = mechanism.n
    still: list[Scalar] = [0] * n
    bare = replace(mechanism, gravity=ZERO3, springs=(), struts=())
    growing = replace(mechanism, friction=tuple(x.only(lambda term: term.grows) for x in mechanism.friction))
    others = replace(
        mechanism, friction=tuple(x.only(lambda term: not term.grows) for x in mechanism.friction)
    )
    loaded = rigid_torques(mechanism, q, qd, qdd, wrench) if has_load(mechanism) else None
    moving = rigid_torques(bare, q, qd, still)
    alone = [rigid_torques(bare, q, [qd[j] if k == j else 0 for k in range(n)], still) for j in range(n)]
    centrifugal = [sum(column[i] for column in alone) for i in range(n)]
    return [
        rigid_torques(bare, q, still, qdd),
        centrifugal,
        [a - b for a, b in zip(moving, centrifugal, strict=True)] if n > 1 else still,
        gravity_torques(mechanism, q),
        spring_torques(mechanism, q),
        friction_torques(growing, qd, q=q),
        friction_torques(others, qd, rigid=loaded, q=q),
        still if wrench is None else rigid_torques(bare, q, still, still, wrench),
    ]
