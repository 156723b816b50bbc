"""What is wrong with loops, springs, passive and elastic joints, as one sentence for each."""

from __future__ import annotations

from collections.abc import Iterator

from armdyn.expression import ZERO, Expression, ExpressionError
from armdyn.model.closures.loops import LOOP_JOINTS
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel, listed, quoted
from armdyn.model.springs import NO_SPRING, PointSpring


def closure_problems(model: RobotModel) -> Iterator[str]:
    """What no robot may be: a loop or spring between links it does not have, a spring at a fixed joint."""
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
    """For every link the one that moves it: itself, or what fixed joints tie it to."""
    found = {model.root: model.root}
    for link in model.links:
        found[link.name] = found[link.parent] if link.joint == "fixed" else link.name
    return found


def links_around(model: RobotModel, between: tuple[str, str]) -> list[str]:
    """The moving links on the way from one link to the other, whose joints a loop between them holds."""
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
    """What a loop is called in messages."""
    a, b = model.loops[i].between
    return f"closure between {quoted(a)} and {quoted(b)}"


def spring_place(i: int, spring: PointSpring) -> str:
    """What a spring between points is called in messages."""
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
