"""Robots cut and welded: joints locked where they stand, links dropped with all that hangs on them.

A locked joint is a fixed one. Its motor stays with it and rides on its carrier with its rotor locked; where
the motor is coupled with joints that move, these still spin it. Joints that closures tie to locked ones are
locked too, where the closures leave them no freedom.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from armdyn.expression import ZERO, ArmdynError, Expression, shown
from armdyn.model.arguments import number
from armdyn.model.closures.loops import Loop
from armdyn.model.closures.problems import bodies_of, links_around
from armdyn.model.closures.relations import Relation, settled
from armdyn.model.errors import ModelError
from armdyn.model.lowering import Converter, places_of
from armdyn.model.parts import Link, Motor, Transform
from armdyn.model.robot_model import RobotModel, listed, quoted
from armdyn.model.vector import IDENTITY, scale

_APART = 1e-6  # m or rad: how far the ends of a loop may be apart where locked joints close it


def link_named(model: RobotModel, name: object, where: str) -> Link:
    """A moving link by the name of its joint or by its own; joints come first, as they are meant."""
    if isinstance(name, str) and name:
        for key in ("joint_name", "name"):
            found = [link for link in model.moving if getattr(link, key) == name]
            if found:
                return found[0]
        if any(name in (link.joint_name, link.name) for link in model.links):
            raise ModelError(f"{where}: joint {quoted(name)} is fixed; moving joints: {_moving(model)}")
    found_text = quoted(name) if isinstance(name, str) else shown(name)
    raise ModelError(f"{where}: there is no joint or link {found_text}; moving joints: {_moving(model)}")


def by_joint(model: RobotModel, given: object, where: str) -> dict[str, object]:
    """A table by joints or links as one by links."""
    if not isinstance(given, Mapping):
        raise ModelError(f"{where}: expected a table by joint, found {shown(given)}")
    found: dict[str, object] = {}
    for name, value in given.items():
        link = link_named(model, name, where)
        if link.name in found:
            label = quoted(link.joint_label)
            raise ModelError(f"{where}: joint {label} is given twice, by its own name and its link's")
        found[link.name] = value
    return found


def _moving(model: RobotModel) -> str:
    return listed(
        [
            link.name if link.joint_label == link.name else f"{link.joint_name} (link {link.name})"
            for link in model.moving
        ]
    )


# ---- locking -----------------------------------------------------------------------------------------------


def lock_positions(model: RobotModel, given: object) -> dict[str, Expression]:
    """The positions asked for, by link: numbers, or expressions in the robot's symbols."""
    found: dict[str, Expression] = {}
    for name, position in by_joint(model, given, "lock").items():
        where = f"lock: joint {quoted(model.links[model.index[name]].joint_label)}"
        found[name] = number(where, position)
        known = dict(model.symbols)
        if unknown := sorted(found[name].symbols() - known.keys()):
            raise ModelError(
                f"{where}: unknown symbol '{unknown[0]}'; the robot's: {listed(list(known)) or 'none'}"
            )
        try:
            model.value(found[name])
        except ArmdynError as error:
            raise ModelError(f"{where}: {error}") from None
    return found


def locked(model: RobotModel, positions: object) -> RobotModel:
    """The robot with joints fixed at positions [rad or m], by the names of joints or links."""
    return _welded(model, lock_positions(model, positions))


def chain_to(model: RobotModel, tip: object, positions: object = None) -> RobotModel:
    """The robot whose tip is the frame of a link, with the joints beside the chain to it welded.

    They stand at 0, with loops where their assembly begins, unless `positions` says otherwise. Joints that
    closures tie to the chain move on. A tool on the link stays; one on another link is gone.
    """
    if not isinstance(tip, str) or tip not in model.index:
        names = listed(list(model.index))
        raise ModelError(f"tip: {shown(tip)} is no link below the base {quoted(model.root)}; links: {names}")
    asked = lock_positions(model, positions or {})
    at, beside = dict(asked), _beside(model, tip)
    if len(beside) == len(model.moving):
        raise ModelError(f"tip: no joint moves {quoted(tip)}; moving joints: {_moving(model)}")
    independent = {model.moving[i].name for i in model.dependence.independent}
    for link in beside:  # one after the other, as closures may hold some of them already
        if link.name in independent and link.name not in _settled(model, at)[0]:
            at[link.name] = link.guess
    welded = _welded(model, at, {link.name for link in beside} - asked.keys())
    return replace(welded, tip=tip, tool=model.tool if tip == model.tip else Transform())


def _beside(model: RobotModel, tip: str) -> list[Link]:
    """The moving links beside the chain to the tip, but for those that closures tie to it."""
    above = {link.name: link.parent for link in model.links}
    tied = set()
    name = tip
    while name in above:
        tied.add(name)
        name = above[name]
    groups = [{name for name, _ in relation.coefficients} for relation in model.relations]
    groups += [set(links_around(model, loop.between)) for loop in model.loops]
    moving = {link.name for link in model.moving}
    tied &= moving
    for _ in groups:  # groups may be tied by way of others
        for group in groups:
            tied |= group if tied & group else set()
    return [link for link in model.moving if link.name not in tied]


def _settled(
    model: RobotModel, at: Mapping[str, Expression]
) -> tuple[dict[str, Expression], tuple[Relation, ...]]:
    passive = {link.name for link in model.moving if not link.actuated}
    try:
        return settled(model.relations, at, model.value, passive)
    except ModelError as error:
        raise ModelError(f"lock: {error}") from None


def _welded(model: RobotModel, asked: Mapping[str, Expression], beside: Collection[str] = ()) -> RobotModel:
    """The robot with joints fixed; of those `beside` the chain to the tip nobody asked where they stand."""
    standing, relations = _settled(model, asked)
    if not standing:
        return model
    if all(link.name in standing for link in model.moving):
        raise ModelError(
            f"lock: the robot would have no moving joint: {listed([x.joint_label for x in model.moving])} "
            "would stand still"
        )
    links = tuple(_standing(link, standing) for link in model.links)
    bare = replace(model, links=links, relations=relations, loops=(), springs=(), choice=None)
    bodies = bodies_of(bare)
    apart = {pair for pair in _pairs(model) if bodies[pair[0]] != bodies[pair[1]]}
    notes = [*_lock_notes(model, standing, asked, beside)]
    for loop in model.loops:
        if loop.between not in apart:
            if not set(links_around(model, loop.between)) <= set(beside):
                _refuse_gap(bare, loop)
            notes.append(
                f"the closure between {quoted(loop.between[0])} and {quoted(loop.between[1])} "
                "is left out: locked joints make them one body"
            )
    return replace(
        bare,
        loops=tuple(loop for loop in model.loops if loop.between in apart),
        springs=tuple(spring for spring in model.springs if spring.between in apart),
        notes=(*model.notes, *notes),
    )


def _pairs(model: RobotModel) -> Iterator[tuple[str, str]]:
    yield from (loop.between for loop in model.loops)
    yield from (spring.between for spring in model.springs)


def _standing(link: Link, standing: Mapping[str, Expression]) -> Link:
    """The link, fixed if its joint stands; its motor no longer turns with joints that stand."""
    motor = link.motor and _without_columns(link.motor, standing)
    if link.name not in standing:
        return replace(link, motor=motor) if motor != link.motor else link
    before, after = _fixed_at(link, standing[link.name])
    if motor is not None:
        motor = replace(motor, stiffness=None, damping=ZERO)
    return Link(
        link.name,
        link.parent,
        "fixed",
        before,
        after=after,
        inertia=link.inertia,
        motor=motor,
        joint_name=link.joint_name,
    )


def _without_columns(motor: Motor, gone: Collection[str]) -> Motor:
    kept = tuple((name, k) for name, k in motor.coupling if name not in gone)
    return motor if kept == motor.coupling else replace(motor, coupling=kept)


def _fixed_at(link: Link, position: Expression) -> tuple[Transform, Transform]:
    """`before` and `after` of the fixed joint, all in one of them: standard DH has it in `after`."""
    if position.is_zero:
        moved = Transform()
    elif link.joint == "prismatic":
        moved = Transform(IDENTITY, scale(position, link.axis))
    else:
        moved = Transform.rotation(link.axis, position)
    if link.before == Transform():
        return Transform(), moved @ link.after
    return link.before @ moved @ link.after, Transform()


def _lock_notes(
    model: RobotModel,
    standing: Mapping[str, Expression],
    asked: Mapping[str, Expression],
    beside: Collection[str],
) -> Iterator[str]:
    for link in model.moving:
        position = standing.get(link.name)
        if position is None:
            continue
        label = quoted(link.joint_label)
        why = ", as it is not on the chain to the tip" if link.name in beside else ""
        if link.name not in asked:
            why = ", as closures tie it to joints that stand still"
        yield f"joint {label} is locked at {position}{why}"
        at, ends = model.value(position), [model.value(x) for x in link.limits.position or ()]
        if at is not None and len(ends) == 2:
            low, high = ends
            if low is not None and high is not None and not low <= at <= high:
                yield f"joint {label} is locked outside its limits [{low:g}, {high:g}]"


def _refuse_gap(model: RobotModel, loop: Loop) -> None:
    """Refuse a loop whose ends do not meet where locked joints make them one body."""
    if any(x is None for _, x in model.symbols):
        return
    convert = Converter(model.number)
    places = places_of(model, convert)
    ends = [places[name][1] @ convert.transform(at) for name, at in zip(loop.between, loop.at, strict=True)]
    gap = math.dist(*([float(x) for x in T.p] for T in ends))
    columns = {"revolute": (2,), "fixed": (0, 1, 2)}.get(loop.joint, ())
    turned = [math.dist(*([float(row[i]) for row in T.R] for T in ends)) for i in columns]
    if max(gap, *turned, 0.0) > _APART:
        a, b = loop.between
        raise ModelError(
            f"lock: the closure between {quoted(a)} and {quoted(b)} does not close at these positions: "
            f"its ends are {gap:.3g} m and {max(turned, default=0.0):.3g} rad apart"
        )


# ---- dropping ----------------------------------------------------------------------------------------------


def without(model: RobotModel, name: object) -> RobotModel:
    """The robot without a link and all that hangs on it.

    Gone with these links are their motors, wherever they sit, and closures and springs that end on them.
    Motors of other joints lose the coupling with them. A tip among them moves to the frame they hung on.
    """
    link = _dropped_link(model, name)
    gone = {link.name}
    for other in model.links:
        if other.parent in gone:
            gone.add(other.name)
    kept = [other for other in model.links if other.name not in gone]
    for other in kept:
        if other.motor is not None and other.motor.carrier in gone:
            raise ModelError(
                f"without: {quoted(other.motor.carrier)} carries the motor of joint "
                f"{quoted(other.joint_label)}, which stays; with_motors can put it on another carrier first"
            )
    if all(other.joint == "fixed" for other in kept):
        raise ModelError(f"without: without {quoted(link.name)} the robot would have no moving joint")
    many = f" and the {_count(len(gone) - 1, 'link')} behind it" if len(gone) > 1 else ""
    relations = tuple(x for x in model.relations if not gone & {joint for joint, _ in x.coefficients})
    loops = tuple(loop for loop in model.loops if not gone & {*loop.between})
    springs = tuple(spring for spring in model.springs if not gone & {*spring.between})
    open_ends = len(model.relations) + len(model.loops) - len(relations) - len(loops)
    also = [_count(open_ends, "closure"), _count(len(model.springs) - len(springs), "spring")]
    ended = " and ".join(x for x in also if x)
    return replace(
        model,
        links=tuple(
            other if other.motor is None else replace(other, motor=_without_columns(other.motor, gone))
            for other in kept
        ),
        relations=relations,
        loops=loops,
        springs=springs,
        tip=link.parent if model.tip in gone else model.tip,
        tool=Transform() if model.tip in gone else model.tool,
        choice=None,
        notes=(*model.notes, f"link {quoted(link.name)}{many} dropped{ended and f', with {ended}'}"),
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number > 1)}" if number else ""


def _dropped_link(model: RobotModel, name: object) -> Link:
    """A link by its own name or by that of its joint."""
    for key in ("name", "joint_name"):
        for link in model.links:
            if isinstance(name, str) and name and getattr(link, key) == name:
                return link
    if name == model.root:
        raise ModelError(f"without: {quoted(model.root)} is the fixed base, which all links hang on")
    found = quoted(name) if isinstance(name, str) else shown(name)
    raise ModelError(f"without: there is no link or joint {found}; links: {listed(list(model.index))}")
