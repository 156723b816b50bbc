"""Friction torques of the joints, and of the motors whose row couples several joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from armdyn.dynamics.closures import Following
from armdyn.expression.functions import load, sign
from armdyn.model.errors import ModelError
from armdyn.model.friction import Row
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def friction_torques(
    mechanism: Mechanism,
    qd: Sequence[Scalar],
    directions: Sequence[Scalar | None] | None = None,
    rigid: Sequence[Scalar] | None = None,
    q: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """F_v q̇ + F_s sgn(q̇) of (7.42) with the further terms of `model/friction.py`, and coupled motors' Kᵀ(…).

    `directions` are those in which the surfaces slide, one each; by default the signs of their speeds, smooth
    ones where they have a width.
    `rigid` are the torques τ_r without friction; without them load friction is left out. In a robot with
    closed chains the joints that follow rub too, depending on the posture q.
    """
    if mechanism.loops:
        following = at_posture(mechanism, q)
        opened = mechanism.without_loops()
        loads = None if rigid is None else dict(zip(mechanism.free, rigid, strict=True))
        return following.gathered(friction_on_positions(opened, following.velocities(qd), directions, loads))
    return friction_on_positions(mechanism, qd, directions, None if rigid is None else dict(enumerate(rigid)))


def at_posture(mechanism: Mechanism, q: Sequence[Scalar] | None) -> Following:
    """The mechanism at posture q; friction in closed chains depends on how their joints follow."""
    if q is None:
        raise ModelError("q: the friction of a robot with loops depends on its posture; give q")
    return Following(mechanism, q)


def friction_on_positions(
    mechanism: Mechanism,
    qd: Sequence[Scalar],
    directions: Sequence[Scalar | None] | None,
    rigid: Mapping[int, Scalar] | None,
) -> list[Scalar]:
    """Friction over the positions of joints, which move with q̇."""
    tau: list[Scalar] = [0] * mechanism.n
    for e, surface in enumerate(mechanism.friction):
        size: Scalar = 0
        if rigid is not None and surface.has_load:
            ((i, _),) = surface.row
            size = load(rigid[i], i)
        torque = surface.torque(surface.speed(qd), None if directions is None else directions[e], size)
        for j, k in surface.row:
            tau[j] = tau[j] + k * torque
    return tau


def rows_of_friction(mechanism: Mechanism, q: Sequence[Scalar]) -> list[Row]:
    """The rows of the surfaces over coordinates; with closed chains they depend on the posture q."""
    if not mechanism.loops:
        return [surface.row for surface in mechanism.friction]
    following, found = Following(mechanism, q), []
    for surface in mechanism.friction:
        own: list[Scalar] = [0] * mechanism.positions
        for j, k in surface.row:
            own[j] = k
        entries = enumerate(following.gathered(own))
        found.append(tuple((i, k) for i, k in entries if not (type(k) is int and k == 0)))
    return found


def load_factors(mechanism: Mechanism, qd: Sequence[Scalar], torques: Sequence[Scalar]) -> list[Scalar]:
    """1 + Fl s sgn(τ_r): factors (n) by which load friction multiplies the torques τ_r without friction.

    τ − other friction = τ_r + Fl |τ_r| s has the sign of τ_r, as Fl < 1. So either may be given, and
    τ_r = (τ − other friction)/factor.
    """
    factors: list[Scalar] = [1] * mechanism.n
    for surface in mechanism.friction:
        if surface.has_load:
            ((i, k),) = surface.row
            if mechanism.loops:  # load friction is that of coordinates only
                i = mechanism.free.index(i)
                surface = replace(surface, row=((i, k),))
            way = surface.sliding(surface.speed(qd)).direction
            factors[i] = 1 + surface.share * (way * sign(torques[i]))
    return factors


def without_friction(mechanism: Mechanism) -> Mechanism:
    """The mechanism without friction."""
    return replace(mechanism, friction=tuple(f.with_coefficients({}) for f in mechanism.friction))


def has_load(mechanism: Mechanism) -> bool:
    """True if friction of some joint depends on its torque."""
    return any(surface.has_load for surface in mechanism.friction)


def rigid_of(
    mechanism: Mechanism,
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    q: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """The torques τ_r that are left of torques τ without all friction; closed chains need the posture q."""
    rest = [t - f for t, f in zip(tau, friction_torques(mechanism, qd, q=q), strict=True)]
    if not has_load(mechanism):
        return rest
    return [
        u if type(x) is int and x == 1 else u / x
        for u, x in zip(rest, load_factors(mechanism, qd, rest), strict=True)
    ]
