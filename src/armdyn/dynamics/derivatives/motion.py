"""How the bodies move, and how the field of accelerations changes with each joint.

A joint j moves all that it carries. Seen from axes that move along, the points p carried, with velocities u,
then have accelerations that change by

    A + Ω × p + 2 δω × u,

because only the motion of the joint's parent changes its components. With the reference point on the axis of
a revolute joint, its velocity v and acceleration a, and ω̇ × p + ω × (ω × p) = D p,

               A               Ω         δω                              A          Ω          δω
    ∂/∂q_j     a × z − δω × 2v   D z       ω × z      prismatic joint    D z        0          0
    ∂/∂q̇_j     2v × z            2 ω × z   z                             2 ω × z    0          0
    ∂/∂q̈_j     0                 z         0                             z          0          0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from armdyn.dynamics.derivatives.moments import Turn
from armdyn.dynamics.derivatives.regrouped import Mass, regrouped
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
    neg,
    scale,
    sub,
)


@dataclass(frozen=True)
class Change:
    """A + Ω × p + 2 δω × u, in body axes; p from the body's reference point."""

    A: Vector = ZERO3
    O: Vector = ZERO3
    w: Vector = ZERO3


@dataclass(frozen=True)
class Moving:
    """A body in motion, in its own axes. Velocities of points are counted twice, as Coriolis does."""

    parent: int
    revolute: bool
    joint: JointFrame
    turn: Turn
    d: Vector  # from the parent's reference point to this one, parent axes
    r: Vector  # from the reference point to the origin of the body's frame
    mass: Mass
    w: Vector  # ω
    D: Matrix  # S(ω̇) + S(ω)²
    a: Vector  # acceleration of the reference point, gravity included
    w2: Vector  # 2 ω
    v2: Vector  # 2 v of the reference point
    by_q: Change
    by_qd: Change
    by_qdd: Change

    def felt(self, f: Vector, mu: Vector) -> Scalar:
        """What the joint bears of a force and a moment about the reference point."""
        z, x = self.joint.z, mu if self.revolute else f
        return z[0] * x[0] + z[1] * x[1] + z[2] * x[2]


def moving_bodies(
    mechanism: Mechanism, q: Sequence[Scalar], qd: Sequence[Scalar], qdd: Sequence[Scalar]
) -> list[Moving]:
    """All bodies, from the base on (7.107)–(7.109), about other points."""
    found: list[Moving] = []
    dw: list[Vector] = []
    joints, places = joint_frames(mechanism, q), regrouped(mechanism)
    for i, (body, joint, place) in enumerate(zip(mechanism.bodies, joints, places, strict=True)):
        revolute, z, d = body.joint == "revolute", joint.z, place.d
        if not revolute:
            d = add(d, scale(q[i], apply(body.R_before, body.axis)))
        if body.parent == FIXED_BASE:
            w, dw_i, a, v2 = ZERO3, ZERO3, neg(mechanism.gravity), ZERO3
        else:
            p = found[body.parent]
            w, dw_i = p.w, dw[body.parent]
            a, v2 = add(p.a, apply(p.D, d)), add(p.v2, cross(p.w2, d))
        w, dw_i, a, v2 = (apply_transposed(joint.R, x) for x in (w, dw_i, a, v2))
        e = cross(w, z)
        if revolute:
            dw_i = add(dw_i, scale(qdd[i], z), scale(qd[i], e))
            w = add(w, scale(qd[i], z))
        w2 = scale(2, w)
        e2 = cross(w2, z)
        if not revolute:
            a, v2 = add(a, scale(qdd[i], z), scale(qd[i], e2)), add(v2, scale(2 * qd[i], z))
        D = _centripetal(w, dw_i)
        if revolute:
            changes = (
                Change(sub(cross(a, z), cross(e, v2)), apply(D, z), e),
                Change(cross(v2, z), e2, z),
                Change(O=z),
            )
        else:
            changes = (Change(apply(D, z)), Change(e2), Change(z))
        turn = Turn(body, joint, q[i])
        moving = (body.parent, revolute, joint, turn, d, place.r, place.mass, w, D, a, w2, v2)
        found.append(Moving(*moving, *changes))
        dw.append(dw_i)
    return found


def _centripetal(w: Vector, dw: Vector) -> Matrix:
    """S(ω̇) + S(ω)²."""
    x, y, z = w
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    return (
        (-(yy + zz), xy - dw[2], xz + dw[1]),
        (xy + dw[2], -(xx + zz), yz - dw[0]),
        (xz - dw[1], yz + dw[0], -(xx + yy)),
    )
