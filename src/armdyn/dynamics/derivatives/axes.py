"""A mechanism with its bodies in the axes of their joints.

The frame of a body may be turned against its joint, by the angle α of a DH table, say. In the axes of the
joint, z is what the description says, most often one of them.
"""

from __future__ import annotations

from dataclasses import replace

from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Place, Rotor
from armdyn.model.vector import IDENTITY, Matrix, Vector, apply, multiply


def in_joint_axes(mechanism: Mechanism) -> Mechanism:
    """The same bodies, rotors and loaded places; the tip and all that is not moved by joints are left out."""
    turns = [body.R_after for body in mechanism.bodies]

    def turned(body: int, v: Vector) -> Vector:
        return v if body == FIXED_BASE else apply(turns[body], v)

    def moved(body: Body, own: Matrix) -> Body:
        R = body.R_before if body.parent == FIXED_BASE else multiply(turns[body.parent], body.R_before)
        p = turned(body.parent, body.p_before)
        return Body(
            body.parent, body.joint, R, p, body.axis, IDENTITY, body.p_after, body.inertia.rotated(own)
        )

    def carried(rotor: Rotor) -> Rotor:
        return replace(rotor, axis=turned(rotor.carrier, rotor.axis))

    return replace(
        mechanism,
        bodies=tuple(moved(body, own) for body, own in zip(mechanism.bodies, turns, strict=True)),
        rotors=tuple(carried(rotor) for rotor in mechanism.rotors),
        places=tuple(Place(place.body, turned(place.body, place.p)) for place in mechanism.loaded),
    )
