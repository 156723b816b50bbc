"""RobotModel -> Mechanism: what the algorithms of `dynamics/` work on, over any scalar.

Fixed links are merged into the moving body they are welded to; motors into the link that carries them,
rotors locked (augmented links, (7.52)–(7.73)); what is left of a rotor is its axial inertia, its axis and
its transmission row. The three rotor models differ here and nowhere else:

- exact: carrier gets the rotor's mass and tensor; the rotor keeps its axis;
- reflected: carrier gets the rotor's mass only; the axis is zero, which leaves Kᵀ diag(Im) K;
- none: no motor at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from armdyn.expression import Expression
from armdyn.model.friction import TERMS, Row, Surface, mapped
from armdyn.model.inertia import ZERO6, Inertia, Tensor
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Rotor
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import ZERO3, Scalar, Vector, apply, scale, vector


def lower(model: RobotModel, scalar: Callable[[Expression], Scalar], tip: str | None = None) -> Mechanism:
    """The mechanism of a model; `scalar` turns its exact numbers into the scalar wanted.

    With `tip` the frame of that link (without the tool) takes the place of the tip frame.
    """
    convert = Converter(scalar)
    places = places_of(model, convert)
    motors = [(link, link.motor) for link in model.moving if link.motor and model.rotors != "none"]
    inertias = _augmented(model, convert, places, [motor for _, motor in motors])
    joint_of = {link.name: i for i, link in enumerate(model.moving)}
    rows = {link.name: _transmission(link, motor, joint_of) for link, motor in motors}
    S = model.dependence.rows if model.relations else ()
    surfaces = [
        Surface(
            j, ((j, 1),), **joint_friction(model, link), stribeck_velocity=link.friction.stribeck_velocity
        )
        for j, link in enumerate(model.moving)
    ]
    surfaces += [
        Surface(joint_of[link.name], rows[link.name], **motor.friction.coefficients)
        for link, motor in motors
        if has_motor_friction(model, link)
    ]
    tip_body, T_tip = places[model.tip if tip is None else tip]
    if tip is None:
        T_tip = T_tip @ convert.transform(model.tool)
    T_base = convert.transform(model.base)
    return Mechanism(
        bodies=tuple(_body(model, i, convert, places, inertias) for i in range(len(model.moving))),
        rotors=tuple(
            _rotor(model, motor, joint_of[link.name], mapped(convert, rows[link.name]), convert, places)
            for link, motor in motors
        ),
        friction=tuple(_over_coordinates(surface, S).map(convert, convert) for surface in surfaces),
        gravity=convert.vector(model.gravity),
        tip=tip_body,
        R_tip=T_tip.R,
        p_tip=T_tip.p,
        R_base=T_base.R,
        p_base=T_base.p,
        rows=tuple(mapped(convert, row) for row in S),
    )


def is_coupled(motor: Motor) -> bool:
    """Whether the motor's angle depends on more than its own joint."""
    return any(not k.is_zero for _, k in motor.coupling)


class Converter:
    """Exact entries -> scalars; 0, 1 and −1 stay plain integers so that any scalar can drop them."""

    def __init__(self, scalar: Callable[[Expression], Scalar]) -> None:
        self.scalar = scalar

    def __call__(self, x: Scalar) -> Scalar:
        if type(x) is int and -1 <= x <= 1:
            return x
        exact = Expression.of(x)
        number = exact.number
        if number is not None and number.denominator == 1 and -1 <= number.numerator <= 1:
            return int(number)
        return self.scalar(exact)

    def vector(self, v: Vector) -> Vector:
        return vector(self(x) for x in v)

    def transform(self, T: Transform) -> Transform:
        return Transform(vector(self.vector(row) for row in T.R), self.vector(T.p))

    def inertia(self, i: Inertia) -> Inertia:
        return Inertia.of([self(x) for x in i.entries])


Places = dict[str, tuple[int, Transform]]


def places_of(model: RobotModel, convert: Converter) -> Places:
    """For each link, the body it belongs to and its frame in that body's frame."""
    places: Places = {model.root: (FIXED_BASE, Transform())}
    moving = 0
    for link in model.links:
        if link.joint == "fixed":
            body, T = places[link.parent]
            T = T @ convert.transform(link.before) @ convert.transform(link.after)
            places[link.name] = (body, T)
        else:
            places[link.name] = (moving, Transform())
            moving += 1
    return places


def _augmented(model: RobotModel, convert: Converter, places: Places, motors: list[Motor]) -> list[Inertia]:
    """The inertia of each augmented link about its frame's origin (7.71)."""
    total = [Inertia() for _ in model.moving]
    for link in model.links:
        body, T = places[link.name]
        if body != FIXED_BASE:
            inertia = convert.inertia(link.inertia)
            total[body] = total[body] + (inertia if link.joint != "fixed" else inertia.placed(T.R, T.p))
    for motor in motors:
        body, T = places[motor.carrier]
        if body != FIXED_BASE:
            rotor = locked_rotor(motor, with_tensor=model.rotors == "exact")
            total[body] = total[body] + convert.inertia(rotor).placed(T.R, T.p)
    return total


def locked_rotor(motor: Motor, with_tensor: bool) -> Inertia:
    """A rotor that does not spin, as a body in its carrier's frame; its tensor is It 1 + (Im − It) z zᵀ."""
    if not with_tensor:
        return Inertia.at_com(motor.mass, motor.position, ZERO6)
    x, y, z = motor.axis
    t, d = motor.transverse, motor.axial - motor.transverse
    tensor: Tensor = (t + d * x * x, d * x * y, d * x * z, t + d * y * y, d * y * z, t + d * z * z)
    return Inertia.at_com(motor.mass, motor.position, tensor)


def _over_coordinates(surface: Surface, S: tuple[Row, ...]) -> Surface:
    """Friction that acts on a row of joints, on the coordinates that move these."""
    return replace(surface, row=product(surface.row, S)) if S else surface


def product(row: Row, S: Sequence[Row]) -> Row:
    """A row over joints as one over coordinates: row · S, exactly; empty where nothing moves it."""
    found: dict[int, Scalar] = {}
    for j, k in row:
        for i, factor in S[j]:
            found[i] = found.get(i, 0) + k * factor
    return tuple(sorted((i, k) for i, k in found.items() if not Expression.of(k).is_zero))


def _shifted(link: Link, offset: Expression) -> Link:
    """The link whose joint at 0 stands where the old one stood at s₀ of q = S x + s₀.

    A sliding joint keeps its place on the parent, about which its moment counts.
    """
    if offset.is_zero:
        return link
    if link.joint == "prismatic":
        return replace(link, after=Transform.translation(*scale(offset, link.axis)) @ link.after)
    return replace(link, before=link.before @ Transform.rotation(link.axis, offset))


def _body(model: RobotModel, i: int, convert: Converter, places: Places, inertias: list[Inertia]) -> Body:
    link = model.moving[i]
    if model.relations:
        link = _shifted(link, model.dependence.offsets[i])
    parent, T = places[link.parent]
    before = T @ convert.transform(link.before)
    after = convert.transform(link.after)
    assert link.joint != "fixed"
    return Body(
        parent, link.joint, before.R, before.p, convert.vector(link.axis), after.R, after.p, inertias[i]
    )


def _transmission(link: Link, motor: Motor, joint_of: dict[str, int]) -> Row:
    entries = {joint_of[link.name]: motor.gear}
    entries.update({joint_of[name]: k for name, k in motor.coupling if not k.is_zero})
    return tuple(sorted(entries.items()))


def _rotor(
    model: RobotModel,
    motor: Motor,
    joint: int,
    row: Row,
    convert: Converter,
    places: Places,
) -> Rotor:
    carrier, T = places[motor.carrier]
    axis = apply(T.R, convert.vector(motor.axis)) if model.rotors == "exact" else ZERO3
    return Rotor(joint, carrier, axis, convert(motor.axial), row)


def joint_friction(model: RobotModel, link: Link) -> dict[str, Expression]:
    """By term, exact: the joint's own friction and, referred to it by the gear, an uncoupled motor's."""
    own = link.friction.coefficients
    motor = link.motor
    if motor is None or model.rotors == "none" or is_coupled(motor):
        return own
    for name, x in motor.friction.coefficients.items():
        if not x.is_zero:
            own[name] = own[name] + TERMS[name].referred(motor.gear) * x
    return own


def has_motor_friction(model: RobotModel, link: Link) -> bool:
    """Whether the link's motor has friction that cannot be referred to one joint."""
    motor = link.motor
    present = motor is not None and model.rotors != "none"
    return present and motor is not None and is_coupled(motor) and not motor.friction.is_zero
