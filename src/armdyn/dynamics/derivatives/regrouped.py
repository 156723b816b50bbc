"""Where the bodies are and what they weigh, so that few operations are needed.

Torques do not change when a joint's reference point slides along its axis, nor when a part of a body that its
joint does not move goes over to the parent: of a revolute joint the masses on its axis, of a prismatic one
what only turns. So a body on a revolute joint keeps no mass, no first moment and no ∫ z² dm along the axis,
one on a prismatic joint no tensor. These are the usual regroupings that lead to base parameters. What goes to
the base is gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.dynamics.derivatives.moments import along_axis, outer, plus, second_moment, symmetric, turned
from armdyn.dynamics.kinematics import joint_frames
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import (
    IDENTITY,
    ZERO3,
    Matrix,
    Scalar,
    Vector,
    add,
    apply,
    apply_transposed,
    dot,
    scale,
    sub,
    vector,
)

ZERO33: Matrix = (ZERO3, ZERO3, ZERO3)


@dataclass(frozen=True)
class Mass:
    """∫ dm, ∫ p dm and ∫ p pᵀ dm, about a body's reference point, in body axes."""

    m: Scalar = 0
    h: Vector = ZERO3
    J: Matrix = ZERO33

    def __add__(self, other: Mass) -> Mass:
        return Mass(self.m + other.m, add(self.h, other.h), plus(self.J, other.J))

    def __sub__(self, other: Mass) -> Mass:
        J = (sub(a, b) for a, b in zip(self.J, other.J, strict=True))
        return Mass(self.m - other.m, sub(self.h, other.h), vector(J))

    def placed(self, R: Matrix, d: Vector) -> Mass:
        """Turned by R, then moved by d."""
        h = apply(R, self.h)
        moved = (symmetric(turned(R, self.J)), outer(h, d), outer(d, h), outer(scale(self.m, d), d))
        return Mass(self.m, add(h, scale(self.m, d)), symmetric(plus(*moved)))


@dataclass(frozen=True)
class Placed:
    """A body seen from its reference point, which is fixed to it; of a revolute joint it is on the axis."""

    d: Vector  # from the parent's reference point to this one where a prismatic joint is at 0, parent axes
    r: Vector  # from the reference point to the origin of the body's frame, body axes
    mass: Mass


def regrouped(mechanism: Mechanism) -> list[Placed]:
    """The bodies with reference points and masses that serve best."""
    joints = joint_frames(mechanism, [0] * mechanism.n)
    places = _places(mechanism)
    masses = []
    for body, (_, r) in zip(mechanism.bodies, places, strict=True):
        own = Mass(body.inertia.mass, body.inertia.moment, second_moment(body.inertia))
        masses.append(own.placed(IDENTITY, r))
    for i in reversed(range(mechanism.n)):
        body, z = mechanism.bodies[i], joints[i].z
        still = _on_axis(masses[i], z) if body.joint == "revolute" else Mass(J=masses[i].J)
        masses[i] = masses[i] - still
        if body.parent != FIXED_BASE:
            masses[body.parent] = masses[body.parent] + still.placed(joints[i].R, places[i][0])
    return [Placed(d, r, mass) for (d, r), mass in zip(places, masses, strict=True)]


def _on_axis(mass: Mass, z: Vector) -> Mass:
    """Masses on the axis z that have its mass, and first and second moment along the axis."""
    along = scale(dot(z, mass.h), z)
    return Mass(mass.m, along, symmetric(outer(scale(dot(z, apply(mass.J, z)), z), z)))


def _places(mechanism: Mechanism) -> list[tuple[Vector, Vector]]:
    """d and r of each body.

    On a revolute axis along one of the parent's axes the reference point is the one next to the parent's:
    this makes an entry of d zero. That of a prismatic joint is the parent's when the joint is at 0.
    """
    found: list[tuple[Vector, Vector]] = []
    for body in mechanism.bodies:
        d = body.p_before if body.parent == FIXED_BASE else add(found[body.parent][1], body.p_before)
        r = apply_transposed(body.R_after, body.p_after)
        axis = apply(body.R_before, body.axis)
        if body.joint == "revolute":
            slid = dot(axis, d) if along_axis(axis) is not None else 0
            d, r = sub(d, scale(slid, axis)), add(r, scale(slid, apply_transposed(body.R_after, body.axis)))
        else:
            before = apply_transposed(body.R_after, apply_transposed(body.R_before, d))
            d, r = ZERO3, add(r, before)
        found.append((d, r))
    return found
