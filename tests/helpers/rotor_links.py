"""Motors as links: every rotor a body of its own on its carrier, geared to the joints by a relation."""

from dataclasses import replace

from armdyn.expression import Expression
from armdyn.model import Inertia, Link, RobotModel, Transform
from armdyn.model.closures import Relation
from armdyn.model.parts import Motor


def rotors_as_links(model: RobotModel) -> RobotModel:
    """The robot without motors and with a further link for each, turned by θ_m = Σ k q.

    The rotor of an elastic joint is not geared: its angle is free, and the spring is left out.
    """
    links, relations = [replace(link, motor=None) for link in model.links], list(model.relations)
    for link in model.moving:
        if motor := link.motor:
            name = f"rotor of {link.name}"
            links.append(rotor_link(name, motor))
            if link in model.elastic:
                continue
            row = [(link.name, motor.gear), *motor.coupling]
            terms = [(name, Expression.of(1)), *((other, -k) for other, k in row)]
            relations.append(Relation(tuple(terms)))
    return replace(model, links=tuple(links), relations=tuple(relations))


def rotor_link(name: str, motor: Motor) -> Link:
    """A body with a tensor of revolution on an axis through its centre of mass."""
    x, y, z = motor.axis
    t, d = motor.transverse, motor.axial - motor.transverse
    tensor = (t + d * x * x, d * x * y, d * x * z, t + d * y * y, d * y * z, t + d * z * z)
    return Link(
        name,
        motor.carrier,
        "revolute",
        before=Transform.translation(*motor.position),
        axis=motor.axis,
        inertia=Inertia.at_com(motor.mass, (0, 0, 0), tensor),
        friction=motor.friction,
    )
