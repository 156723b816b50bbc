"""The mechanism of a RobotModel, over any scalar: what the algorithms of `dynamics/` work on.

Fixed links are merged into the moving body they are welded to; motors into the link that carries them,
rotors locked (augmented links, (7.52)–(7.73)); what is left of a rotor is its axial inertia, its axis and
its transmission row. The three rotor models differ here and nowhere else:

- exact: carrier gets the rotor's mass and tensor; the rotor keeps its axis;
- reflected: carrier gets the rotor's mass only; the axis is zero, which leaves Kᵀ diag(Im) K;
- none: no motor at all.

The motor of a fixed joint (one that was locked, say) rides on its carrier. Where it is coupled with joints
that move, it still spins: an idler, which has inertia and friction and drives nothing.

The motor of an elastic joint has a position of its own. It is that of a further body without mass, after
those of the links, so that the algorithms know nothing of it: its rotor turns with this body's joint. A motor
that is coupled to an elastic joint turns with the link of that joint, behind the spring.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from armdyn.expression import Expression
from armdyn.model.closures import ROWS, Closing
from armdyn.model.friction import TERMS, Row, Surface, mapped
from armdyn.model.inertia import ZERO6, Inertia, Tensor
from armdyn.model.mechanism import FIXED_BASE, Body, Mechanism, Rotor
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import RobotModel
from armdyn.model.springs import Spring, Strut
from armdyn.model.vector import IDENTITY, ZERO3, Scalar, Vector, add, apply, scale, vector


def lower(model: RobotModel, scalar: Callable[[Expression], Scalar], tip: str | None = None) -> Mechanism:
    """The mechanism of a model; `scalar` turns its exact numbers into the scalar wanted.

    With `tip` the frame of that link (without the tool) takes the place of the tip frame.
    """
    convert = Converter(scalar)
    places = places_of(model, convert)
    motors = [(link, link.motor) for link in model.links if link.motor and model.rotors != "none"]
    inertias = _augmented(model, convert, places, [motor for _, motor in motors])
    joint_of = {link.name: i for i, link in enumerate(model.moving)}
    driver = joint_of | {link.name: len(joint_of) + e for e, link in enumerate(model.elastic)}
    rows = {link.name: _transmission(link, motor, joint_of, driver) for link, motor in motors}
    S = _positions(model)
    surfaces = _surfaces(model, rows, joint_of, driver)
    tip_body, T_tip = places[model.tip if tip is None else tip]
    if tip is None:
        T_tip = T_tip @ convert.transform(model.tool)
    T_base = convert.transform(model.base)
    return Mechanism(
        bodies=(
            *(_body(model, i, convert, places, inertias) for i in range(len(model.moving))),
            *(_massless(link) for link in model.elastic),
        ),
        rotors=(
            *(
                _rotor(model, motor, joint_of[link.name], mapped(convert, rows[link.name]), convert, places)
                for link, motor in motors
                if link.joint != "fixed"
            ),
            *(
                replace(_rotor(model, motor, i, mapped(convert, row), convert, places), part="idler")
                for i, (motor, row) in enumerate((link.motor, rows[link.name]) for link in idlers(model))
                if motor is not None
            ),
        ),
        friction=tuple(_over_coordinates(surface, S).map(convert, convert) for surface in surfaces),
        gravity=convert.vector(model.gravity),
        tip=tip_body,
        R_tip=T_tip.R,
        p_tip=T_tip.p,
        R_base=T_base.R,
        p_base=T_base.p,
        rows=tuple(mapped(convert, row) for row in S),
        springs=tuple(spring.map(convert, convert) for spring in _springs(model, joint_of, driver)),
        struts=_struts(model, convert, places),
        loops=_loops(model, convert, places),
        free=model.choice.free if model.choice else (),
        driven=driven_positions(model) if model.loops else (),
    )


def damping(link: Link) -> Expression:
    """Damping of the transmission of an elastic joint."""
    assert link.motor is not None
    return link.motor.damping


def stiffness(link: Link) -> Expression:
    """Stiffness of the transmission of an elastic joint."""
    assert link.motor is not None
    assert link.motor.stiffness is not None
    return link.motor.stiffness


def idlers(model: RobotModel) -> tuple[Link, ...]:
    """The fixed links whose motors spin all the same, with other joints that they are coupled with."""
    found = [link for link in model.links if link.joint == "fixed" and link.motor is not None]
    spinning = [link for link in found if link.motor is not None and is_coupled(link.motor)]
    return tuple(spinning) if model.rotors != "none" else ()


def _surfaces(
    model: RobotModel, rows: dict[str, Row], joint_of: dict[str, int], driver: dict[str, int]
) -> list[Surface]:
    """Surfaces over joints: of joints, of motors whose friction is not part of these, of dampers."""
    found = []
    for j, link in enumerate(model.moving):
        own = Surface(j, ((j, 1),), stribeck_velocity=link.friction.stribeck_velocity)
        found.append(own.with_coefficients(joint_friction(model, link)))
    found += [Surface(driver[link.name], ((driver[link.name], 1),)) for link in model.elastic]
    for link in model.moving:
        if link.motor is not None and has_motor_friction(model, link):
            values = link.motor.friction.values
            found.append(Surface(joint_of[link.name], rows[link.name], values, part="motor"))
    for i, link in enumerate(idlers(model)):
        if link.motor is not None and has_idler_friction(model, link):
            found.append(Surface(i, rows[link.name], link.motor.friction.values, part="idler"))
    for link in model.elastic:
        if not damping(link).is_zero:
            row = _twist(link, joint_of, driver)
            own = Surface(joint_of[link.name], row, part="damper")
            found.append(own.with_coefficients({"viscous": damping(link)}))
    return found


def _positions(model: RobotModel) -> tuple[Row, ...]:
    """S: how joints follow from positions where there are relations; motors of elastic joints come last."""
    if not model.relations:
        return ()
    first = len(model.dependence.independent)
    return (*model.dependence.rows, *(((first + e, 1),) for e in range(len(model.elastic))))


def driven_positions(model: RobotModel) -> tuple[int, ...]:
    """Positions that something drives: joints that are not passive; of elastic ones, the motors.

    The link of an elastic joint is among them where the motor of another joint is coupled to it.
    """
    motors = [link.motor for link in model.moving if link.motor is not None]
    coupled = {name for motor in motors for name, k in motor.coupling if not k.is_zero}
    loose = {link.name for link in model.elastic} - coupled
    return tuple(i for i, link in enumerate(model.positions) if link.actuated and link.name not in loose)


def _massless(link: Link) -> Body:
    """The body that stands for the motor of an elastic joint: it turns or slides, and has no mass."""
    assert link.joint != "fixed"
    return Body(FIXED_BASE, link.joint, IDENTITY, ZERO3, (0, 0, 1), IDENTITY, ZERO3, Inertia())


def _twist(link: Link, joint_of: dict[str, int], driver: dict[str, int]) -> Row:
    """q − θ of an elastic joint, over joints."""
    return ((joint_of[link.name], 1), (driver[link.name], -1))


def _springs(model: RobotModel, joint_of: dict[str, int], driver: dict[str, int]) -> list[Spring]:
    """Springs at joints, then elastic transmissions; joints at s₀ of q = S y + s₀ stand at 0 there."""
    shifts = model.dependence.offsets if model.relations else [0] * len(model.moving)
    found = []
    for i, link in enumerate(model.moving):
        if not link.spring.is_zero:
            k = link.spring.stiffness
            found.append(Spring(i, ((i, 1),), k, k * link.spring.rest, shift=shifts[i]))
    for link in model.elastic:
        i, row = joint_of[link.name], _twist(link, joint_of, driver)
        found.append(Spring(i, row, stiffness(link), 0, "elastic", shifts[i]))
    return found


def _struts(model: RobotModel, convert: Converter, places: Places) -> tuple[Strut, ...]:
    found = []
    for number, spring in enumerate(model.springs):
        (a, T_a), (b, T_b) = (places[name] for name in spring.between)
        p_a, p_b = (
            add(T.p, apply(T.R, convert.vector(p))) for T, p in zip((T_a, T_b), spring.at, strict=True)
        )
        preload = spring.stiffness * spring.rest - spring.force
        found.append(Strut(number, (a, b), (p_a, p_b), convert(spring.stiffness), convert(preload)))
    return tuple(found)


def _loops(model: RobotModel, convert: Converter, places: Places) -> tuple[Closing, ...]:
    """Closing joints with the rows that were chosen, or with all where nothing is chosen yet."""
    found = []
    weight = convert(1 / Fraction(model.choice.size)) if model.choice else 1
    for i, loop in enumerate(model.loops):
        (a, T_a), (b, T_b) = (places[name] for name in loop.between)
        frame_a, frame_b = (T @ convert.transform(at) for T, at in zip((T_a, T_b), loop.at, strict=True))
        rows = model.choice.rows[i] if model.choice else ROWS[loop.joint]
        found.append(Closing((a, b), (frame_a.R, frame_b.R), (frame_a.p, frame_b.p), rows, weight))
    return tuple(found)


def is_coupled(motor: Motor) -> bool:
    """True if the motor's angle depends on more than its own joint."""
    return any(not k.is_zero for _, k in motor.coupling)


class Converter:
    """Makes scalars of exact entries; 0, 1 and −1 stay plain integers so that any scalar can drop them."""

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
    """The body of each link, by name, and the link's frame in that body's frame."""
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


def _transmission(link: Link, motor: Motor, joint_of: dict[str, int], driver: dict[str, int]) -> Row:
    """θ_m over joints: its own, or the motor's position where that is elastic, and links it is coupled to.

    A motor of a fixed joint has no joint of its own.
    """
    entries = {driver[link.name]: motor.gear} if link.joint != "fixed" else {}
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
    """Friction of a joint by term, exact: its own, and that of motors that turn with it alone."""
    own = link.friction.coefficients
    motor = link.motor
    if model.rotors == "none" or link.joint == "fixed":
        return own
    turning = [] if motor is None or is_coupled(motor) or link.elastic else [(motor, motor.gear)]
    turning += [
        (idler.motor, dict(idler.motor.coupling)[link.name])
        for idler in idlers(model)
        if idler.motor is not None and _spun_by(model, idler) == link.name
    ]
    for rubbing, gear in turning:
        for name, x in rubbing.friction.coefficients.items():
            if not x.is_zero:
                own[name] = own[name] + TERMS[name].referred(gear) * x
    return own


def _spun_by(model: RobotModel, idler: Link) -> str | None:
    """The link whose rigid joint alone spins an idler; None where there are several, or it is elastic."""
    assert idler.motor is not None
    names = [name for name, k in idler.motor.coupling if not k.is_zero]
    return names[0] if len(names) == 1 and names[0] not in [x.name for x in model.elastic] else None


def has_idler_friction(model: RobotModel, idler: Link) -> bool:
    """True if an idler has friction that cannot be referred to one joint."""
    assert idler.motor is not None
    return not idler.motor.friction.is_zero and _spun_by(model, idler) is None


def has_motor_friction(model: RobotModel, link: Link) -> bool:
    """True if the link's motor has friction that cannot be referred to one joint."""
    motor = link.motor
    present = motor is not None and model.rotors != "none"
    if motor is None or not present or motor.friction.is_zero:
        return False
    return is_coupled(motor) or link.elastic
