"""Forces in closed chains: what the closing joints transmit, what the joints bear, what several drives share.

With t the torques that the tree of joints would need for the motion, friction and springs included, and u
what the drives give,

    t = u + Aᵀλ    in all positions,    so that    A_dᵀ λ = t_d − u_d    in those that follow.

λ are forces and moments of the rows kept, in the axes of frame a: what the first link exerts on the second.
The rows left out follow from the others; which share of a force they bear, rigid bodies do not tell, and it
counts as zero. More drives than coordinates (redundant actuation): of all u with Sᵀu = τ, the smallest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.dynamics.closures import Following
from armdyn.dynamics.forward import solve
from armdyn.dynamics.friction import friction_on_positions
from armdyn.dynamics.newton_euler import inverse_dynamics, joint_wrenches, rigid_torques
from armdyn.model.mechanism import Mechanism, Place
from armdyn.model.vector import Scalar, Vector, apply, neg


def actuator_torques(mechanism: Mechanism, q: Sequence[Scalar], tau: Sequence[Scalar]) -> list[Scalar]:
    """Torques u at the driven positions, in their order: the smallest u with Sᵀu = τ."""
    found = _given(Following(mechanism, q), tau)
    return [found[i] for i in mechanism.driven]


def _given(following: Following, tau: Sequence[Scalar]) -> list[Scalar]:
    """u over all positions: S_a (S_aᵀ S_a)⁻¹ τ on those driven, 0 on the others."""
    mechanism = following.mechanism
    found: list[Scalar] = [0] * mechanism.positions
    if set(mechanism.driven) <= set(mechanism.free):
        for i, t in zip(mechanism.free, tau, strict=True):
            found[i] = t
        return found
    n = mechanism.n
    units = [following.velocities([int(k == i) for k in range(n)]) for i in range(n)]  # the columns of S
    acting = sorted({*mechanism.driven, *mechanism.free})
    square = [[sum(a[i] * b[i] for i in acting) for b in units] for a in units]
    (share,) = solve(square, [tau])
    for i in acting:
        found[i] = sum(unit[i] * x for unit, x in zip(units, share, strict=True))
    return found


def loop_wrenches(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """λ, six for each closing joint: force over moment of link one on link two, in the axes of frame a."""
    found = iter(_multipliers(mechanism, q, qd, qdd, wrench))
    return [[next(found) if i in loop.kept else 0 for i in range(6)] for loop in mechanism.loops]


def _multipliers(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None,
) -> list[Scalar]:
    following = Following(mechanism, q)
    opened = mechanism.without_loops()
    y, yd, ydd = following.moved((q, qd, qdd))
    rigid = rigid_torques(opened, y, yd, ydd, wrench)
    tau = inverse_dynamics(mechanism, q, qd, qdd, wrench)
    loads = dict(zip(mechanism.free, rigid_torques(mechanism, q, qd, qdd, wrench), strict=True))
    friction = friction_on_positions(opened, yd, None, loads)
    given = _given(following, tau)
    rest = [rigid[d] + friction[d] - given[d] for d in following.dependent]
    return following.factor.solve_transposed(rest)


def wrenches_in_joints(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    qdd: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """f_i over μ_i of every moving joint; in a closed chain with what the closing joints transmit."""
    if not mechanism.loops:
        return joint_wrenches(mechanism, q, qd, qdd, wrench)
    following = Following(mechanism, q)
    transmitted = loop_wrenches(mechanism, q, qd, qdd, wrench)
    places = list(mechanism.loaded) if wrench is not None else []
    exerted = list(wrench) if wrench is not None else []
    for loop, (a, _), numbers in zip(mechanism.loops, following.chains, transmitted, strict=True):
        force: Vector = apply(a.R, (numbers[0], numbers[1], numbers[2]))
        moment: Vector = apply(a.R, (numbers[3], numbers[4], numbers[5]))
        places += [Place(body, p) for body, p in zip(loop.tied, loop.p, strict=True)]
        exerted += [*force, *moment, *neg(force), *neg(moment)]
    return joint_wrenches(replace(mechanism, places=tuple(places)), q, qd, qdd, exerted)
