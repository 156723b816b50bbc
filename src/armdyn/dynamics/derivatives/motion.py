"""How the bodies move, and how the field of accelerations changes with each joint.

A joint j moves all that it carries. Seen from axes that move along, the points p carried, with velocities u,
then have accelerations that change by

    A + Ω × p + 2 δω × u,

because only the motion of the joint's parent changes its components. With the reference point on the axis of
a revolute joint, its velocity v and acceleration a, and ω̇ × p + ω × (ω × p) = D p,

    revolute     A                  Ω         δω          prismatic    A          Ω    δω
    ∂/∂q_j       a × z − δω × 2v    D z       ω × z                    D z        0    0
    ∂/∂q̇_j       2v × z             2 ω × z   z                        2 ω × z    0    0
    ∂/∂q̈_j       0                  z         0                        z          0    0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armdyn.dynamics.derivatives.moments import Turn
from armdyn.dynamics.derivatives.regrouped import ZERO33, Mass, regrouped
from armdyn.dynamics.kinematics import JointFrame, joint_frames
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import (
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    dot,
    neg,
    scale,
    sub,
)


@dataclass(frozen=True)
class Change:
    """A + Ω × p + 2 δω × u, in body axes; p from the body's reference point."""

    A: Vector = ZERO3
    Omega: Vector = ZERO3
    w: Vector = ZERO3


@dataclass(frozen=True)
class Motion:
    """ω, ω̇, S(ω̇) + S(ω)², and acceleration (gravity included) and twice the velocity of a reference point."""

    w: Vector
    dw: Vector
    D: Matrix
    a: Vector
    v2: Vector

    @property
    def w2(self) -> Vector:
        """2 ω."""
        return scale(2, self.w)


@dataclass(frozen=True)
class Moving:
    """A body in motion, in its own axes."""

    parent: int
    revolute: bool
    joint: JointFrame
    turn: Turn
    d: Vector  # from the parent's reference point to this one, parent axes
    r: Vector  # from the reference point to the origin of the body's frame
    mass: Mass
    motion: Motion
    by_q: Change
    by_qd: Change
    by_qdd: Change

    def felt(self, f: Vector, mu: Vector) -> Scalar:
        """What the joint bears of a force and a moment about the reference point."""
        return dot(self.joint.z, mu if self.revolute else f)


def moving_bodies(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[Moving]:
    """All bodies, from the base on, as (7.107)–(7.109) say."""
    found: list[Moving] = []
    joints, places = joint_frames(mechanism, q), regrouped(mechanism)
    for i, (body, joint, place) in enumerate(zip(mechanism.bodies, joints, places, strict=True)):
        revolute, d = body.joint == "revolute", place.d
        if not revolute:
            d = add(d, scale(q[i], apply(body.R_before, body.axis)))
        at_base = body.parent == FIXED_BASE
        before = Motion(ZERO3, ZERO3, ZERO33, neg(mechanism.gravity), ZERO3)
        if not at_base:
            before = found[body.parent].motion
        make = _turning if revolute else _sliding
        motion, *changes = make(joint, _brought(before, joint, d), qd[i], qdd[i], at_base)
        turn = Turn(body, joint, q[i])
        found.append(Moving(body.parent, revolute, joint, turn, d, place.r, place.mass, motion, *changes))
    return found


def _brought(parent: Motion, joint: JointFrame, d: Vector) -> tuple[Vector, ...]:
    """ω, ω̇, a and 2v of the parent at the point d of it, in the axes of the next body."""
    a, v2 = add(parent.a, apply(parent.D, d)), add(parent.v2, cross(parent.w2, d))
    return tuple(apply_transposed(joint.R, x) for x in (parent.w, parent.dw, a, v2))


def _turning(
    joint: JointFrame, brought: tuple[Vector, ...], qd: Scalar, qdd: Scalar, at_base: bool
) -> tuple[Motion, Change, Change, Change]:
    """The motion behind a revolute joint and what changes it; on the base the axis does not turn: D z = 0."""
    z, (w, dw, a, v2) = joint.z, brought
    e = cross(w, z)
    dw = add(dw, scale(qdd, z), scale(qd, e))
    w = add(w, scale(qd, z))
    motion = Motion(w, dw, _centripetal(w, dw), a, v2)
    by_q = Change(sub(cross(a, z), cross(e, v2)), ZERO3 if at_base else apply(motion.D, z), e)
    return motion, by_q, Change(cross(v2, z), scale(2, e), z), Change(Omega=z)


def _sliding(
    joint: JointFrame, brought: tuple[Vector, ...], qd: Scalar, qdd: Scalar, _: bool
) -> tuple[Motion, Change, Change, Change]:
    """The motion behind a prismatic joint and what changes it."""
    z, (w, dw, a, v2) = joint.z, brought
    e2 = scale(2, cross(w, z))
    a, v2 = add(a, scale(qdd, z), scale(qd, e2)), add(v2, scale(2 * qd, z))
    motion = Motion(w, dw, _centripetal(w, dw), a, v2)
    return motion, Change(apply(motion.D, z)), Change(e2), Change(z)


def _centripetal(w: Vector, dw: Vector) -> Matrix:
    """S(ω̇) + S(ω)²."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (
        (-(yy + zz), xy - dw[2], xz + dw[1]),
        (xy + dw[2], -(xx + zz), yz - dw[0]),
        (xz - dw[1], yz + dw[0], -(xx + yy)),
    )
