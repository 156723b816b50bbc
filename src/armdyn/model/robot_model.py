"""RobotModel: a whole robot as data, and the checks that make it one."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from armdyn.expression import ZERO, ArmdynError, Expression, ExpressionError
from armdyn.model.closures import LOOP_JOINTS, Choice, Dependence, Loop, Relation, solve_relations, sum_text
from armdyn.model.errors import ModelError
from armdyn.model.parts import Limits, Link, Motor, RotorModel, Transform
from armdyn.model.springs import NO_SPRING, PointSpring
from armdyn.model.vector import ZERO3, Scalar, Vector
from armdyn.names import listed, quoted
from armdyn.remarks import Remark, notes_of

if TYPE_CHECKING:
    from armdyn.model.mechanism import Mechanism, Place


BASE = "base"
_RESERVED = re.compile(r"pi|cos|sin|sqrt|abs|inv|base|(c|s|q|qd|qdd|sgn|sgnm|bell|absr)\d+((_\d+)*|_to_\d+)")


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
    loops: tuple[Loop, ...] = ()  # further joints between links of the tree
    springs: tuple[PointSpring, ...] = ()  # between points of links
    choice: Choice | None = field(default=None, compare=False)  # what the closures leave free, once found
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
        from armdyn.model.lowering import lower  # which takes models

        return lower(self, self.number)

    @property
    def free(self) -> list[str]:
        """The symbols without a value."""
        return [name for name, value in self.symbols if value is None]

    def mechanism_to(self, link: str) -> Mechanism:
        """The same with the frame of a link (without the tool) in the place of the tip frame."""
        from armdyn.model.lowering import lower

        return lower(self, self.number, tip=link)

    def mechanism_in(self, symbols: Sequence[str] = ()) -> Mechanism:
        """The mechanism with expressions where numbers depend on these symbols or on free ones."""
        from armdyn.model.lowering import lower

        if not symbols and not self.free:
            return self.mechanism
        return lower(self, lambda x: self.number_in(symbols, x)).map(_as_number)

    def number_in(self, symbols: Sequence[str], x: Expression) -> float | Expression:
        """The value of an entry; an expression if it depends on these symbols or on free ones."""
        values = {name: value for name, value in self.exact_values.items() if name not in symbols}
        return x.value(values) if x.symbols() <= values.keys() else x.substitute(values)

    def places(self, links: Sequence[str], symbols: Sequence[str] = ()) -> tuple[Place, ...]:
        """The origins of the frames of links, as places of the mechanism; symbols as in `mechanism_in`."""
        from armdyn.model.lowering import Converter, places_of
        from armdyn.model.mechanism import Place

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
        if loop.joint not in LOOP_JOINTS:
            allowed = ", ".join(LOOP_JOINTS)
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
