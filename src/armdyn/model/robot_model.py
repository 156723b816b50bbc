"""RobotModel: a whole robot as data, the checks that make it one, and the mechanism made of it (`lower`)."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial

from armdyn.expression import ZERO, ArmdynError, Expression, ExpressionError
from armdyn.model.closures import (
    CLOSING_KINDS,
    ROWS,
    ChosenCoordinates,
    ClosingJoint,
    Dependence,
    Relation,
    solve_relations,
    sum_text,
)
from armdyn.model.errors import ModelError
from armdyn.model.friction import TERMS, FrictionCoefficients, Row, Surface, mapped
from armdyn.model.inertia import ZERO6, Inertia, Tensor
from armdyn.model.mechanism import FIXED_BASE, Body, Closing, Mechanism, Place, Rotor, Spring, Strut
from armdyn.model.parts import NO_SPRING, Limits, Link, Motor, PointSpring, RotorModel, Transform
from armdyn.model.vector import IDENTITY, ZERO3, Scalar, Vector, add, apply, scale, vector
from armdyn.names import listed, quoted
from armdyn.remarks import Remark, notes_of

BASE = "base"
_RESERVED = re.compile(
    r"pi|cos|sin|sqrt|abs|inv|base|(c|s|q|qd|qdd|sgn|sgnm|bell|tanh|absr)\d+((_\d+)*|_to_\d+)"
)


@dataclass(frozen=True)
class RobotModel:
    """A tree of links on a base. The order of `links` is the order of the joint variables."""

    name: str
    links: tuple[Link, ...]
    gravity: Vector = ZERO3
    rotors: RotorModel = "exact"
    tip: str = BASE
    tool: Transform = Transform()
    symbols: tuple[tuple[str, Expression | None], ...] = ()
    root: str = BASE  # what the fixed base is called
    base: Transform = Transform()  # where the base stands in the world
    relations: tuple[Relation, ...] = ()  # between joints, which make some of them dependent
    loops: tuple[ClosingJoint, ...] = ()  # further joints between links of the tree
    springs: tuple[PointSpring, ...] = ()  # between points of links
    choice: ChosenCoordinates | None = field(default=None, compare=False)  # what closures leave free
    source: str = field(default="", compare=False)  # the file it came from
    remarks: tuple[Remark, ...] = field(default=(), compare=False)  # what reading changed or left out
    derived: bool = field(default=False, compare=False)  # with a payload, say: bodies are not as described

    def __post_init__(self) -> None:
        for problem in _problems(self):
            raise ModelError(problem)

    @property
    def notes(self) -> tuple[str, ...]:
        """The texts of the remarks: what reading the file changed or left out."""
        return notes_of(self.remarks)

    @cached_property
    def values(self) -> dict[str, float]:
        """The symbols that have a value."""
        return {name: value.value() for name, value in self.symbols if value is not None}

    @cached_property
    def exact_values(self) -> dict[str, Expression]:
        """The same, exactly."""
        return {name: value for name, value in self.symbols if value is not None}

    @cached_property
    def index(self) -> dict[str, int]:
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def moving(self) -> tuple[Link, ...]:
        """The links with a joint that moves."""
        return tuple(link for link in self.links if link.joint != "fixed")

    @cached_property
    def dependence(self) -> Dependence:
        """The moving joints as they follow from the coordinates: q = S x + s₀."""
        passive = {link.name for link in self.moving if not link.actuated}
        return solve_relations([link.name for link in self.moving], self.relations, self.value, passive)

    @cached_property
    def elastic(self) -> tuple[Link, ...]:
        """The links whose motors drive them through a spring."""
        return tuple(link for link in self.moving if link.elastic) if self.rotors != "none" else ()

    @cached_property
    def positions(self) -> tuple[Link, ...]:
        """The moving links whose joints no relation eliminates, then what stands for motors of elastic ones.

        In closed chains some of these follow from the others; without, they are the coordinates.
        """
        own = [self.moving[i] for i in self.dependence.independent] if self.relations else self.moving
        return (*own, *(_motor_link(link) for link in self.elastic))

    @cached_property
    def coordinates(self) -> tuple[Link, ...]:
        """The moving links whose joints are independent: link i of this tuple belongs to coordinate i.

        Without closures and elastic joints, these are all moving links.
        """
        return tuple(self.positions[i] for i in self.choice.free) if self.choice else self.positions

    @property
    def followers(self) -> list[str]:
        """Equations of the joints that follow others, by name: "finger = 0.5*thumb + 0.1"."""
        found, names = [], [link.joint_label for link in self.positions]
        for j, link in enumerate(self.moving):
            if self.relations and j not in self.dependence.independent:
                row, offset = self.dependence.rows[j], self.dependence.offsets[j]
                added_first = sorted(row, key=lambda term: Expression.of(term[1]).terms[0][1] < 0)
                terms = [(names[k], c) for k, c in added_first]
                found.append(f"{link.joint_label} = {sum_text(terms, offset)}")
        return found

    @property
    def n(self) -> int:
        """The number of coordinates."""
        return len(self.coordinates)

    @cached_property
    def mechanism(self) -> Mechanism:
        """The mechanism that algorithms work on, in floats. Free symbols are refused."""
        return lower(self, self.number)

    @property
    def free(self) -> list[str]:
        """The symbols without a value."""
        return [name for name, value in self.symbols if value is None]

    def mechanism_to(self, link: str) -> Mechanism:
        """The same with the frame of a link (without the tool) in the place of the tip frame."""
        return lower(self, self.number, tip=link)

    def mechanism_in(self, symbols: Sequence[str] = ()) -> Mechanism:
        """The mechanism with expressions where numbers depend on these symbols or on free ones."""
        if not symbols and not self.free:
            return self.mechanism
        return lower(self, lambda x: self.number_in(symbols, x)).map(_as_number)

    def number_in(self, symbols: Sequence[str], x: Expression) -> float | Expression:
        """The value of an entry; an expression if it depends on these symbols or on free ones."""
        values = {name: value for name, value in self.exact_values.items() if name not in symbols}
        return x.value(values) if x.symbols() <= values.keys() else x.substitute(values)

    def places(self, links: Sequence[str], symbols: Sequence[str] = ()) -> tuple[Place, ...]:
        """The origins of the frames of links, as places of the mechanism; symbols as in `mechanism_in`."""
        number = partial(self.number_in, symbols) if symbols or self.free else self.number
        found = places_of(self, Converter(number))
        return tuple(Place(body, T.p) for body, T in (found[link] for link in links))

    def number(self, x: object) -> float:
        """The value of an entry of the model."""
        return x.value(self.exact_values) if isinstance(x, Expression) else float(x)  # type: ignore[arg-type]

    def value(self, x: object) -> float | None:
        """The value of an entry, or None while a symbol in it is free."""
        if isinstance(x, Expression) and not x.symbols() <= self.values.keys():
            return None
        return self.number(x)


def _as_number(x: Scalar) -> Scalar:
    """The value of an expression that no symbol is left in."""
    return x.value() if isinstance(x, Expression) and not x.symbols() else x


def _motor_link(link: Link) -> Link:
    """The link that stands for the motor of an elastic joint in tables of coordinates."""
    assert link.motor is not None
    name, label = f"{link.name} motor", f"{link.joint_name} motor" if link.joint_name else ""
    return Link(
        name, link.motor.carrier, link.joint, limits=Limits(torque=link.limits.torque), joint_name=label
    )


def symbol_name_problem(name: str) -> str | None:
    """Words for what is wrong with a symbol's name; None if nothing is."""
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name):
        return "a symbol's name is a letter followed by letters, digits and _, and not a word of Python"
    if _RESERVED.fullmatch(name):
        return "this name is taken (pi, functions, base, and c1 s1 q1 qd1 qdd1 sgn1 … of joints)"
    return None


def naming_problems(
    names: Sequence[str], parents: Sequence[str], carriers: Sequence[str], root: str = BASE
) -> Iterator[str]:
    """Problems with the names of links, with their parents and (where not empty) with the carriers of motors.

    These are checked first, because other messages about a link name it and its place in the chain.
    """
    later = set(names)
    known = {root}
    for i, (name, parent) in enumerate(zip(names, parents, strict=True)):
        if name == root:
            yield f"link {i + 1}: the name {quoted(name)} is reserved for the fixed base; choose another"
        elif name in known:
            yield f"two links are named {quoted(name)}; names must differ"
        if parent not in known:
            hint = " (it comes later: a parent must stand before its children)" if parent in later else ""
            found = f"found {quoted(parent)}{hint}; links so far: {listed(sorted(known))}"
            yield f"link {quoted(name)}: parent: {found}"
        known.add(name)
    for name, carrier in zip(names, carriers, strict=True):
        if carrier and carrier not in known:
            found = f"found {quoted(carrier)}; links: {listed(sorted(known))}"
            yield f"link {quoted(name)}: motor.carrier: {found}"


def _problems(model: RobotModel) -> Iterator[str]:
    for name, _ in model.symbols:
        if problem := symbol_name_problem(name):
            yield f"symbol {quoted(name)}: {problem}"
    names = [link.name for link in model.links]
    carriers = [link.motor.carrier if link.motor else "" for link in model.links]
    yield from naming_problems(names, [link.parent for link in model.links], carriers, model.root)
    if not any(link.joint != "fixed" for link in model.links):
        yield "the robot has no moving joint; at least one link needs joint = 'revolute' or 'prismatic'"
    moving = {link.name for link in model.moving}
    for link in model.links:
        if link.joint == "fixed" and not link.friction.is_zero:
            yield f"link {quoted(link.name)}: friction: a fixed joint has none"
        yield from _friction_problems(model, link)
        yield from _limit_problems(model, link, f"link {quoted(link.name)}")
        yield from _motor_problems(model, link, moving)
    if model.tip not in [model.root, *names]:
        yield f"tip: found {quoted(model.tip)}; links: {listed([model.root, *names])}"
    if model.relations:
        try:
            _ = model.dependence
        except ArmdynError as error:
            yield str(error)
        else:
            yield from _loaded_followers(model)
    yield from closure_problems(model)


def _friction_problems(model: RobotModel, link: Link) -> Iterator[str]:
    """Friction that no joint may have, one sentence for each: forward dynamics would have no answer."""
    where = f"link {quoted(link.name)}: friction"
    velocity, share = model.value(link.friction.stribeck_velocity), model.value(link.friction["load"])
    if velocity is not None and not velocity > 0:
        yield f"{where}.stribeck.velocity: found {velocity:g}; a positive speed is allowed"
    if share is not None and not -1 < share < 1:
        yield f"{where}.load: found {share:g}; zero or more and less than 1 is allowed"
    yield from _width_problems(model, link.friction, where)
    if link.motor is None or link.motor.friction.width.is_zero:
        return
    yield from _width_problems(model, link.motor.friction, f"link {quoted(link.name)}: motor.friction")
    alone = _spun_by(model, link) if link.joint == "fixed" else link.name
    if alone is not None and (link.joint == "fixed" or not (is_coupled(link.motor) or link.elastic)):
        yield (
            f"link {quoted(link.name)}: motor.friction.width: the motor turns with the joint of "
            f"{quoted(alone)} alone and rubs with it; give the width to that joint's friction"
        )


def _width_problems(model: RobotModel, friction: FrictionCoefficients, where: str) -> Iterator[str]:
    width = model.value(friction.width)
    if width is not None and not friction.width.is_zero and not width > 0:
        yield f"{where}.width: found {width:g}; a positive speed is allowed, or 0 itself for the sign"


def _loaded_followers(model: RobotModel) -> Iterator[str]:
    """Joints that follow others have no torque of their own that load friction could depend on."""
    for i, link in enumerate(model.moving):
        if i not in model.dependence.independent and not link.friction["load"].is_zero:
            names = [other.name for other in model.coordinates]
            yield (
                f"link {quoted(link.name)}: friction.load: its joint follows others by a closure; "
                f"joints that may have load friction: {listed(names)}"
            )


def _motor_problems(model: RobotModel, link: Link, moving: set[str]) -> Iterator[str]:
    motor = link.motor
    if motor is None:
        return
    where = f"link {quoted(link.name)}: motor"
    if model.value(motor.gear) == 0:
        yield f"{where}.gear: found 0; any other number is allowed, with its sign"
    for name, _ in motor.coupling:
        if name not in moving or name == link.name:
            others = [other.name for other in model.moving if other.name != link.name]
            yield f"{where}.coupling: found {quoted(name)}; other moving links: {listed(others) or 'none'}"
    for key in ("torque", "velocity", "current"):
        x = model.value(getattr(motor.limits, key) or 0)
        if x is not None and x < 0:
            yield f"{where}.limits.{key}: found {x:g}; zero or positive is allowed"
    if motor.limits.current is not None and model.value(motor.torque_constant) == 0:
        yield f"{where}.torque_constant: found 0; a limit of current needs another number"
    coupled = any(not k.is_zero for _, k in motor.coupling)
    if coupled and not motor.friction["asymmetry"].is_zero:
        yield f"{where}.friction.coulomb: a motor with a coupling takes one value, not a pair"
    yield from _elastic_problems(link, motor, where)
    axis = [model.value(x) for x in motor.axis]
    norm = sum(x * x for x in axis if x is not None)
    if None not in axis and not math.isclose(norm, 1.0, rel_tol=1e-9):
        yield f"{where}.axis: its length is {math.sqrt(norm):g}; a direction is expected"


def _elastic_problems(link: Link, motor: Motor, where: str) -> Iterator[str]:
    """Friction that an elastic joint cannot have."""
    if motor.stiffness is None:
        return
    if link.joint == "fixed":
        yield f"{where}.stiffness: a fixed joint is not elastic; leave it out"
    if not motor.friction["asymmetry"].is_zero:
        yield f"{where}.friction.coulomb: the motor of an elastic joint takes one value, not a pair"
    if not link.friction["load"].is_zero:
        yield (
            f"link {quoted(link.name)}: friction.load: no torque acts on the link of an elastic joint, "
            "so it cannot rub by its torque; 0 is allowed"
        )


def _limit_problems(model: RobotModel, link: Link, where: str) -> Iterator[str]:
    limits = link.limits
    if link.joint == "fixed" and limits != Limits():
        yield f"{where}: limits: a fixed joint has none"
    if limits.position is not None:
        low, high = (model.value(x) for x in limits.position)
        if low is not None and high is not None and low > high:
            yield f"{where}: limits.position: found [{low:g}, {high:g}]; the lower limit comes first"
    for key in ("velocity", "acceleration", "jerk", "torque"):
        x = model.value(getattr(limits, key) or 0)
        if x is not None and x < 0:
            yield f"{where}: limits.{key}: found {x:g}; zero or positive is allowed"


# ------------------------------------------------------------------------------------------------------------
# Problems of closures, springs, passive and elastic joints, one sentence for each.


def closure_problems(model: RobotModel) -> Iterator[str]:
    """Closures and springs that no robot may have, one sentence for each, such as between unknown links."""
    for link in model.links:
        yield from _joint_problems(link, f"link {quoted(link.name)}")
    welded = bodies_of(model)
    for i, loop in enumerate(model.loops):
        where = loop_place(model, i)
        yield from _end_problems(model, loop.between, where)
        a, b = loop.between
        if a in welded and welded.get(a) == welded.get(b):
            yield f"{where}: between: {quoted(a)} and {quoted(b)} are one body; a loop joins two that move"
        if loop.joint not in CLOSING_KINDS:
            allowed = ", ".join(CLOSING_KINDS)
            yield f"{where}: joint: found {quoted(str(loop.joint))}; allowed: {allowed}"
    names = [spring.name for spring in model.springs if spring.name]
    for i, spring in enumerate(model.springs):
        yield from _end_problems(model, spring.between, spring_place(i, spring))
        if names.count(spring.name) > 1:
            yield f"two springs are named {quoted(spring.name)}; names must differ"


def bodies_of(model: RobotModel) -> dict[str, str]:
    """The link that moves each link, by name: itself, or the one that fixed joints tie it to."""
    found = {model.root: model.root}
    for link in model.links:
        found[link.name] = found[link.parent] if link.joint == "fixed" else link.name
    return found


def links_around(model: RobotModel, between: tuple[str, str]) -> list[str]:
    """The moving links on the way from one link to the other, whose joints a closure between them ties."""
    above = {link.name: link.parent for link in model.links}
    ways = []
    for name in between:
        way = []
        while name in above:
            way.append(name)
            name = above[name]
        ways.append(way)
    moving = {link.name for link in model.moving}
    once = {*ways[0]} ^ {*ways[1]}  # what is common to both ways moves both ends
    return [name for way in ways for name in way if name in once and name in moving]


def loop_place(model: RobotModel, i: int) -> str:
    """Name of a closing joint in messages."""
    a, b = model.loops[i].between
    return f"closure between {quoted(a)} and {quoted(b)}"


def spring_place(i: int, spring: PointSpring) -> str:
    """Name of a spring between points in messages."""
    return f"spring {i + 1} ({quoted(spring.name)})" if spring.name else f"spring {i + 1}"


def _end_problems(model: RobotModel, between: tuple[str, str], where: str) -> Iterator[str]:
    names = [model.root, *model.index]
    for name in between:
        if name not in names:
            yield f"{where}: between: found {quoted(name)}; links: {listed(names)}"
    if between[0] == between[1]:
        yield f"{where}: between: found {quoted(between[0])} twice; two different links are allowed"


def _joint_problems(link: Link, where: str) -> Iterator[str]:
    if link.joint == "fixed":
        if link.spring != NO_SPRING:
            yield f"{where}: spring: a fixed joint has none"
        if not link.actuated:
            yield f"{where}: actuated: a fixed joint does not move; leave it out"
        if not link.guess.is_zero:
            yield f"{where}: guess: a fixed joint does not move; leave it out"
    motor = link.motor
    if motor is None:
        return
    if not link.actuated and motor.stiffness is not None:
        yield f"{where}: motor.stiffness: a joint that nothing drives (actuated = false) is not elastic"
    if motor.stiffness is None and not motor.damping.is_zero:
        yield f"{where}: motor.damping: given without motor.stiffness, beside which it acts"


def spring_overflows(model: RobotModel) -> Iterator[str]:
    """Springs whose parameters no float can hold."""
    at_joints = [(f"link {quoted(x.name)}: spring", x.spring) for x in model.links if not x.spring.is_zero]
    between = [(spring_place(i, spring), spring) for i, spring in enumerate(model.springs)]
    products = [(where, spring.stiffness * spring.rest) for where, spring in at_joints]
    products += [(where, spring.stiffness * spring.rest - spring.force) for where, spring in between]
    for where, x in products:
        try:
            model.value(x)
        except ExpressionError as error:
            yield f"{where}: stiffness times rest: {error}"


def impossible_springs(model: RobotModel) -> Iterator[str]:
    """Springs that push away from rest: refused in descriptions, allowed in identified parameters."""
    yield from spring_overflows(model)
    for link in model.links:
        where = f"link {quoted(link.name)}"
        yield from _negative(model, f"{where}: spring.stiffness", link.spring.stiffness)
        if link.motor is not None:
            yield from _negative(model, f"{where}: motor.stiffness", link.motor.stiffness or ZERO)
            yield from _negative(model, f"{where}: motor.damping", link.motor.damping)
            if link.motor.stiffness is not None and model.value(link.motor.stiffness) == 0:
                yield f"{where}: motor.stiffness: found 0; a positive number is allowed, or none at all"
            if link.elastic and model.value(link.motor.axial) == 0:
                yield f"{where}: motor.inertia: found 0; the motor of an elastic joint needs a positive one"
    for i, spring in enumerate(model.springs):
        yield from _negative(model, f"{spring_place(i, spring)}: stiffness", spring.stiffness)
        yield from _negative(model, f"{spring_place(i, spring)}: rest", spring.rest)


def _negative(model: RobotModel, where: str, x: Expression) -> Iterator[str]:
    value = model.value(x)
    if value is not None and value < 0:
        yield f"{where}: found {value:g}; zero or positive is allowed"


# ------------------------------------------------------------------------------------------------------------
# The mechanism of a model, over any scalar: what the algorithms of `dynamics/` work on.
#
# Fixed links are merged into the moving body they are welded to; motors into the link that carries them,
# rotors locked (augmented links, (7.52)–(7.73)); what is left of a rotor is its axial inertia, its axis and
# its transmission row. The three rotor models differ here and nowhere else:
#
# - exact: carrier gets the rotor's mass and tensor; the rotor keeps its axis;
# - reflected: carrier gets the rotor's mass only; the axis is zero, which leaves Kᵀ diag(Im) K;
# - none: no motor at all.
#
# The motor of a fixed joint (one that was locked, say) rides on its carrier. Where it is coupled with joints
# that move, it still spins: an idler, which has inertia and friction and drives nothing.
#
# The motor of an elastic joint has a position of its own. It is that of a further body without mass, after
# those of the links, so that the algorithms know nothing of it: its rotor turns with this body's joint. A
# motor that is coupled to an elastic joint turns with the link of that joint, behind the spring.


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
        own = Surface(
            j, ((j, 1),), stribeck_velocity=link.friction.stribeck_velocity, width=link.friction.width
        )
        found.append(own.with_coefficients(joint_friction(model, link)))
    found += [Surface(driver[link.name], ((driver[link.name], 1),)) for link in model.elastic]
    for link in model.moving:
        if link.motor is not None and has_motor_friction(model, link):
            own = Surface(joint_of[link.name], rows[link.name], width=link.motor.friction.width, part="motor")
            found.append(own.with_coefficients(link.motor.friction.coefficients))
    for i, link in enumerate(idlers(model)):
        if link.motor is not None and has_idler_friction(model, link):
            own = Surface(i, rows[link.name], width=link.motor.friction.width, part="idler")
            found.append(own.with_coefficients(link.motor.friction.coefficients))
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


def rotor_alone(model: RobotModel, mechanism: Mechanism, link: Link) -> Rotor:
    """The rotor of the motor of a link in the model's mechanism; one that nothing spins has no row."""
    if link.joint != "fixed":
        place = ("rotor", model.moving.index(link))
    else:
        place = ("idler", idlers(model).index(link) if link in idlers(model) else -1)
    found = [rotor for rotor in mechanism.rotors if (rotor.part, rotor.joint) == place]
    return found[0] if found else Rotor(-1, mechanism.tip, ZERO3, 0, ())


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
