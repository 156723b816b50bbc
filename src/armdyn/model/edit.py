"""Robots made from robots: with a payload, with every number a symbol, with symbols replaced."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Literal, cast

from armdyn.expression import ZERO, ArmdynError, Expression, shown
from armdyn.model.bodies import impossible_bodies
from armdyn.model.closures import ClosingJoint, Relation, settled
from armdyn.model.errors import ModelError, number, numbers, plain, table, three
from armdyn.model.friction import SINGLE, TERMS, FrictionCoefficients, levels
from armdyn.model.inertia import TENSOR_KEYS, Inertia, Tensor, asymmetry, matrix_tensor, tensor
from armdyn.model.parts import JointSpring, Link, Motor, PointSpring, Transform
from armdyn.model.robot_model import (
    Converter,
    RobotModel,
    bodies_of,
    links_around,
    places_of,
    symbol_name_problem,
)
from armdyn.model.vector import IDENTITY, ZERO3, Scalar, Vector, scale, vector
from armdyn.names import listed, quoted, unused
from armdyn.remarks import Remark

# ------------------------------------------------------------------------------------------------------------
# Robots cut and welded: joints locked where they stand, links dropped with all that hangs on them.
#
# A locked joint is a fixed one. Its motor stays with it and rides on its carrier with its rotor locked;
# where the motor is coupled with joints that move, these still spin it. Joints that closures tie to locked
# ones are locked too, where the closures leave them no freedom.


_APART = 1e-6  # m or rad: how far the ends of a closure may be apart where locked joints close it


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


def check_link(model: RobotModel, name: str, link: Any) -> str:
    """Refuse what is not the name of a link or of the base."""
    if not isinstance(link, str) or (link != model.root and link not in model.index):
        raise ModelError(f"{name}: found {shown(link)}; links: {listed([model.root, *model.index])}")
    return link


At = Literal["frame", "com"] | Sequence[Any]  # a point of a link: its frame's origin, its centre, [x, y, z]


def point_named(model: RobotModel, link: str | None, at: At) -> tuple[str, Transform, str]:
    """A point of a link: the link, the point as a frame with the link's axes in that of the link, its label.

    Without a link it is the tip frame, or a point in it.
    """
    name = model.tip if link is None else check_link(model, "link", link)
    label = "the base" if name == model.root else f"link {quoted(name)}"
    frame, label = (model.tool, "the tip") if link is None else (Transform(), label)
    if not isinstance(at, str):
        place = three("at", at)
        for symbol in sorted({symbol for x in place for symbol in x.symbols()}):
            if problem := symbol_name_problem(symbol):
                raise ModelError(f"at: symbol {shown(symbol)}: {problem}; a point stands still in its link")
        return name, frame @ Transform(p=place), f"the point [{', '.join(map(str, place))}] of {label}"
    if at not in ("frame", "com"):
        raise ModelError(f"at: found {shown(at)}; allowed: 'frame', 'com', or a point [x, y, z]")
    if at == "frame":
        return name, frame, label
    if link is None or name == model.root:
        known = listed(list(model.index))
        raise ModelError(f"at: 'com' is the centre of mass of a link, and {label} has none; links: {known}")
    own = model.links[model.index[name]].inertia
    if Expression.of(own.mass).is_zero:
        raise ModelError(
            f"at: {label} has no mass, and so no centre of mass; 'frame' or a point [x, y, z] of it is "
            "allowed"
        )
    return name, Transform(p=own.com), f"the centre of mass of {label}"


def motor_named(model: RobotModel, name: object) -> tuple[Link, Motor]:
    """The link that a motor drives, by its name or its joint's, and the motor."""
    driven = [x for x in model.links if x.motor is not None and model.rotors != "none"]
    for link in sorted(driven, key=lambda x: x.joint_name != name):  # joints come first
        if isinstance(name, str) and name in (link.joint_name, link.name) and name:
            assert link.motor is not None
            return link, link.motor
    if model.rotors == "none":
        raise ModelError(
            f"motor: found {shown(name)}; the robot is modelled without rotors (rotors = 'none')"
        )
    labels = listed([x.joint_label for x in driven]) or "none"
    raise ModelError(f"motor: found {shown(name)}, which has no motor; joints and links with one: {labels}")


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

    They stand at 0, in closed chains where their assembly begins, unless `positions` says otherwise. Joints
    that closures tie to the chain move on. A tool on the link stays; one on another link is gone.
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
    """The robot with joints fixed; positions of those `beside` the chain to the tip were not given."""
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
        remarks=(*model.remarks, *map(Remark, notes)),
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


def _refuse_gap(model: RobotModel, loop: ClosingJoint) -> None:
    """Refuse a closure whose ends do not meet where locked joints make them one body."""
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
        remarks=(
            *model.remarks,
            Remark(f"link {quoted(link.name)}{many} dropped{ended and f', with {ended}'}"),
        ),
    )


def opened(model: RobotModel) -> RobotModel:
    """The tree without its closures: relations and loops are gone, the joints in them move by themselves.

    Passive joints that closures held count as driven there. Other passive joints stay passive.
    """
    held = {name for relation in model.relations for name, _ in relation.coefficients}
    held |= {name for loop in model.loops for name in links_around(model, loop.between)}
    links = tuple(replace(link, actuated=True) if link.name in held else link for link in model.links)
    return replace(model, links=links, relations=(), loops=(), choice=None)


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


# ------------------------------------------------------------------------------------------------------------
# Robots made from robots: with a payload, with every number a symbol, with symbols replaced.


_LONGEST_NAME = 120


def payload(mass: object, com: object, inertia: object) -> Inertia:
    """A body from what a caller gives: mass, centre of mass, and the tensor about it.

    The tensor is a table of its entries by name, a symmetric 3×3 matrix, or six entries xx xy xz yy yz zz.
    In the place of the mass there may be a whole body, which `com` then moves. In the place of the centre of
    mass there may be the pose of the body's frame: its centre of mass is the origin there (a whole body has
    its own), and the tensor is in its axes.
    """
    if isinstance(mass, Inertia):
        return _placed_body(mass, com, inertia)
    m, entries = number("payload: mass", mass), _tensor(plain(inertia))
    if isinstance(com, Transform):
        return Inertia(m, ZERO3, entries).placed(com.R, com.p)
    return Inertia.at_com(m, three("payload: com", com), entries)


def _placed_body(body: Inertia, com: object, inertia: object) -> Inertia:
    if inertia is not None:
        raise ModelError("payload: inertia: the body given has its own; leave one of them out")
    exact = Inertia.of([Expression.of(x) for x in body.entries])
    if isinstance(com, Transform):
        return exact.placed(com.R, com.p)
    place = three("payload: com", com)
    if place != ZERO3 and exact.moment != ZERO3:
        raise ModelError("payload: com: the body given has its own; leave one of them out")
    return exact.translated(place)


def _tensor(inertia: Any) -> Tensor:
    where = "payload: inertia"
    if not isinstance(inertia, (list, tuple)):
        entries = table(where, inertia, TENSOR_KEYS)
        return tensor(number(f"{where}.{key}", entries.get(key, 0)) for key in TENSOR_KEYS)
    if len(inertia) == 6:
        return tensor(numbers(where, inertia, 6))
    if len(inertia) != 3:
        found = f"found a list of {len(inertia)}"
        raise ModelError(f"{where}: expected 3×3 or 6 numbers ({' '.join(TENSOR_KEYS)}), {found}")
    M = vector(three(f"{where}[{i}]", row) for i, row in enumerate(inertia))
    if uneven := asymmetry(M):
        raise ModelError(f"{where}: expected a symmetric matrix, but {uneven}")
    return matrix_tensor(M)


def with_payload(model: RobotModel, load: Inertia, link: str | None = None) -> RobotModel:
    """The robot with a body fixed to its tip frame, or to the frame of the named link."""
    name: object = model.tip if link is None else link
    if not isinstance(name, str) or name not in (model.root, *model.index):
        raise ModelError(f"payload: no link {shown(name)}; links: {listed(list(model.index))}")
    if name == model.root:
        raise ModelError("payload: the base does not move; name a link")
    if load == Inertia():
        return model
    placed = load.placed(model.tool.R, model.tool.p) if link is None else load
    links = tuple(
        replace(part, inertia=part.inertia + placed) if part.name == name else part for part in model.links
    )
    place = "" if name == model.tip else f" on '{name}'"
    return replace(model, name=_loaded_name(model.name, load, place), links=links, derived=True)


def _loaded_name(name: str, load: Inertia, place: str) -> str:
    """Name with a load: "arm" becomes "arm with payload 2 kg", then "arm with payload 2 kg and 1 kg"."""
    mass = Expression.of(load.mass)
    text = str(mass) if mass.number is None else f"{float(mass.number):.6g} kg"
    longer = f"{name}{' and ' if ' with payload ' in name else ' with payload '}{text}{place}"
    if len(longer) <= max(_LONGEST_NAME, len(name)):
        return longer
    more = " and more" if " with payload " in name else " with payload"
    return name if name.endswith(more) else name + more


def named(values: object, more: Mapping[str, Any]) -> dict[str, Any]:
    """Values by symbol: a table of them or None, and those given by keyword."""
    if values is not None and not isinstance(values, Mapping):
        raise ModelError(f"values: expected a table of symbols and their values, found {shown(values)}")
    return {**(values or {}), **more}


def with_symbols(model: RobotModel, values: Mapping[str, object]) -> RobotModel:
    """The robot with other values of its symbols.

    A number is the symbol's new value; None (or "free") takes its value away; an expression in other symbols
    stands in the symbol's place everywhere, and the symbol is gone.
    """
    known = dict(model.symbols)
    exact = _exact_values(values, known, known)
    constants = {name: x for name, x in exact.items() if x is None or not x.symbols()}
    changed = replace(model, symbols=tuple((known | constants).items()), choice=None)
    others = {name: x for name, x in exact.items() if x is not None and x.symbols()}
    changed = with_expressions(changed, others) if others else changed
    problems = list(impossible_bodies(changed))
    before = set(impossible_bodies(model)) if problems else set()
    for problem in problems:
        if problem not in before:
            raise ModelError(f"{listed(list(values))}: {problem}")
    return changed


def replaced(model: RobotModel, values: Mapping[str, object]) -> RobotModel:
    """The robot with symbols replaced by numbers or expressions, which may have new symbols, free ones."""
    known = dict(model.symbols)
    exact = {name: x for name, x in _exact_values(values, known, None).items() if x is not None}
    return with_expressions(declared(model, list(exact.values())), exact)


def with_expressions(model: RobotModel, values: Mapping[str, Expression]) -> RobotModel:
    """The robot with symbols replaced, all at once; symbols that occur no more are not declared."""
    used = {name for x in values.values() for name in x.symbols()}
    kept = tuple((name, x) for name, x in model.symbols if name not in values or name in used)
    return replace(substitute(model, values), symbols=kept)


def _exact_values(
    values: Mapping[str, object], known: Mapping[str, object], allowed: Collection[str] | None
) -> dict[str, Expression | None]:
    """Values by symbol, exactly; `allowed` are the symbols that may stand in them, None: any."""
    found: dict[str, Expression | None] = {}
    for name, value in values.items():
        if name not in known:
            raise ModelError(f"{shown(name)} is not a symbol of the robot; its symbols: {_names(known)}")
        if value is None or (isinstance(value, str) and value == "free"):
            if allowed is None:
                raise ModelError(f"{name}: expected a number or an expression, found {shown(value)}")
            found[name] = None
            continue
        exact = found[name] = number(name, value)
        if allowed is not None and (new := sorted(exact.symbols() - set(allowed))):
            raise ModelError(f"{name}: '{new[0]}' is not a symbol of the robot; its symbols: {_names(known)}")
    return found


def _names(known: Mapping[str, object]) -> str:
    return listed(list(known)) or "none"


Namer = Callable[[Scalar, str], Expression]  # of a number: the symbol of this name that stands for it
Placement = Callable[[Link, int, Namer], tuple[Transform, Transform]]


def by_position(link: Link, i: int, name: Namer) -> tuple[Transform, Transform]:
    """Transforms of link i before and after its joint, with positions named px1, py1, pz1."""

    def named(T: Transform) -> Transform:
        return Transform(T.R, vector(name(x, f"p{axis}{i}") for x, axis in zip(T.p, "xyz", strict=True)))

    return named(link.before), named(link.after)


def symbolic(
    model: RobotModel, zeros: Literal["given", "free"] = "given", placed: Placement = by_position
) -> RobotModel:
    """The same robot with every number of its description a symbol that has that number as its value.

    Structure stays: zeros, directions, and orientations (an angle is in the equations by its cosine and sine,
    which are exact constants already). With `zeros = "free"` the inertial parameters that are zero become
    symbols as well. `placed` names the lengths.
    """
    naming = _Naming(model, zeros == "free")
    links = tuple(_symbolic_link(naming, i + 1, link, placed) for i, link in enumerate(model.links))
    gravity = vector(
        naming.signed(x, "g" if i == _first(model.gravity) else f"g{'xyz'[i]}")
        for i, x in enumerate(model.gravity)
    )
    tool = Transform(model.tool.R, naming.vector(model.tool.p, "t{axis}"))
    springs = tuple(naming.point_spring(spring, i + 1) for i, spring in enumerate(model.springs))
    symbols = (*model.symbols, *naming.new.items())
    return replace(model, links=links, gravity=gravity, tool=tool, springs=springs, symbols=symbols)


def with_rigid_joints(model: RobotModel) -> RobotModel:
    """The same robot without elasticity: motors turn with their links."""

    def rigid(link: Link) -> Link:
        motor = link.motor and replace(link.motor, stiffness=None, damping=ZERO)
        return replace(link, motor=motor) if link.elastic else link

    return replace(model, links=tuple(rigid(link) for link in model.links))


def substitute(model: RobotModel, values: Mapping[str, Expression]) -> RobotModel:
    """The robot with symbols replaced by expressions, exactly, wherever they occur."""
    return cast(RobotModel, _mapped(model, lambda x: x.substitute(values)))


def _mapped(part: Any, function: Callable[[Expression], Expression]) -> Any:
    """A part of a model with a function applied to every exact number in it."""
    if isinstance(part, Expression):
        return function(part)
    if isinstance(part, tuple):
        return tuple(_mapped(x, function) for x in part)
    if is_dataclass(part) and not isinstance(part, type):
        return type(part)(**{f.name: _mapped(getattr(part, f.name), function) for f in fields(part)})
    return part


def _first(v: Vector) -> int:
    return next((i for i, x in enumerate(v) if not Expression.of(x).is_zero), 0)


class _Naming:
    """Gives numbers names of their own; zeros and entries with symbols stay."""

    def __init__(self, model: RobotModel, inertial_zeros: bool) -> None:
        self.taken = {name for name, _ in model.symbols}
        self.new: dict[str, Expression | None] = {}
        self.inertial_zeros = inertial_zeros
        self.ordinal = {link.name: i + 1 for i, link in enumerate(model.links)}

    def __call__(self, x: Scalar, name: str, zero: bool = False) -> Expression:
        value = Expression.of(x)
        if value.symbols() or (value.is_zero and not zero):
            return value
        name = unused(name, self.taken)
        self.taken.add(name)
        self.new[name] = value
        return Expression.symbol(name)

    def signed(self, x: Scalar, name: str) -> Expression:
        """A negative number becomes minus a positive symbol: gravity prints as −g."""
        number = Expression.of(x).number
        return -self(-number, name) if number is not None and number < 0 else self(x, name)

    def vector(self, v: Vector, pattern: str, zero: bool = False) -> Vector:
        return vector(self(x, pattern.format(axis=a), zero) for x, a in zip(v, "xyz", strict=True))

    def inertia(self, body: Inertia, i: int) -> Inertia:
        free = self.inertial_zeros
        mass = Expression.of(body.mass)
        massless = mass.is_zero and all(Expression.of(h).is_zero for h in body.moment)
        keys = TENSOR_KEYS
        com = body.moment if massless else body.com if not mass.is_zero else None
        if com is None:  # a first moment without mass: only the linear form can say it
            moment = self.vector(body.moment, f"mc{{axis}}{i}", free)
            entries = tensor(self(x, f"I{k}{i}", free) for x, k in zip(body.tensor, keys, strict=True))
            return Inertia(self(mass, f"m{i}", free), moment, entries)
        about_com = body.tensor if massless else body.tensor_at_com
        return Inertia.at_com(
            self(mass, f"m{i}", free),
            self.vector(com, f"c{{axis}}{i}", free),
            tensor(self(x, f"I{k}{i}", free) for x, k in zip(about_com, keys, strict=True)),
        )

    def friction(self, f: FrictionCoefficients, suffix: str) -> FrictionCoefficients:
        forward, backward = f.coulomb
        if f["asymmetry"].is_zero:
            named = {"coulomb": self(forward, f"{TERMS['coulomb'].symbol}{suffix}")}
        else:
            named = levels(self(forward, f"Fp{suffix}"), self(backward, f"Fn{suffix}"))
        named |= {x: self(f[x], f"{TERMS[x].symbol}{suffix}") for x in (*SINGLE, "stribeck")}
        velocity = f.stribeck_velocity
        velocity = velocity if f["stribeck"].is_zero else self(velocity, f"vs{suffix}")
        return FrictionCoefficients.of(named, velocity, self(f.width, f"w{suffix}"))

    def motor(self, motor: Motor, i: int) -> Motor:
        return replace(
            motor,
            gear=self(motor.gear, f"kr{i}"),
            axial=self(motor.axial, f"Im{i}"),
            transverse=self(motor.transverse, f"It{i}"),
            mass=self(motor.mass, f"mm{i}"),
            position=self.vector(motor.position, f"pm{{axis}}{i}"),
            coupling=tuple((name, self(k, f"k{i}_{self.ordinal[name]}")) for name, k in motor.coupling),
            friction=self.friction(motor.friction, f"m{i}"),
            stiffness=None if motor.stiffness is None else self(motor.stiffness, f"Ke{i}"),
            damping=self(motor.damping, f"De{i}"),
        )

    def joint_spring(self, spring: JointSpring, i: int) -> JointSpring:
        if spring.is_zero:
            return spring
        return JointSpring(self(spring.stiffness, f"Ks{i}"), self(spring.rest, f"qr{i}"))

    def point_spring(self, spring: PointSpring, i: int) -> PointSpring:
        a, b = spring.at
        return replace(
            spring,
            at=(self.vector(a, f"u{{axis}}{i}"), self.vector(b, f"v{{axis}}{i}")),
            stiffness=self(spring.stiffness, f"Kp{i}"),
            rest=self(spring.rest, f"lr{i}"),
            force=self(spring.force, f"fp{i}"),
        )


def _symbolic_link(naming: _Naming, i: int, link: Link, placed: Placement) -> Link:
    before, after = placed(link, i, naming)
    return replace(
        link,
        before=before,
        after=after,
        inertia=naming.inertia(link.inertia, i),
        friction=naming.friction(link.friction, f"{i}"),
        motor=None if link.motor is None else naming.motor(link.motor, i),
        spring=naming.joint_spring(link.spring, i),
    )


def declared(model: RobotModel, used: Sequence[Expression]) -> RobotModel:
    """The model with the symbols in `used` declared, new ones as free."""
    known = {name for name, _ in model.symbols}
    new = sorted({name for x in used for name in x.symbols()} - known)
    return replace(model, symbols=(*model.symbols, *((name, None) for name in new)))
