"""A robot in the parts that URDF and MJCF have, in exact numbers.

Both formats put a link's frame where its joint turns it: the joint's axis is fixed in the link, and at q = 0
the link stands at the joint's `origin`. A link here stands at before · joint(q) · after, where the axis may
pass beside the link's frame (standard DH with a ≠ 0). So each joint gets an origin that has the link's axes
and lies on the joint's axis, at the point nearest to the link's frame; from there the frame is only shifted:

    before · joint(q) · after = origin · joint'(q) · shift
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from armdyn.description.foreign.tree import Mimic
from armdyn.description.source import DescriptionError
from armdyn.expression import Expression
from armdyn.model import edit
from armdyn.model.friction import TERMS
from armdyn.model.inertia import Inertia
from armdyn.model.parts import Link, Motor, MotorLimits, Transform
from armdyn.model.robot_model import RobotModel, idlers, is_coupled, joint_friction, locked_rotor
from armdyn.model.vector import ZERO3, Vector, apply_transposed, dot, scale, sub, vector
from armdyn.names import quoted, unused


@dataclass(frozen=True)
class WrittenLink:
    """A link with its joint."""

    link: Link
    joint: str  # the joint's name; no two are the same
    origin: Transform  # of the joint in the parent's frame, with the axes of the link
    axis: Vector  # in these axes
    shift: Vector  # from the joint to the link's frame, in these axes
    inertia: Inertia  # in the link's frame, with the masses of the motors that the link carries
    viscous: Expression
    coulomb: Expression
    motor: Motor | None  # None, too, where rotors do not count
    mimic: Mimic | None

    @property
    def is_shifted(self) -> bool:
        """True if the joint's axis passes beside the link's frame."""
        return any(not Expression.of(x).is_zero for x in self.shift)

    @property
    def com(self) -> Vector:
        """The centre of mass in the link's frame."""
        return self.inertia.com if not Expression.of(self.inertia.mass).is_zero else ZERO3

    @property
    def tensor(self) -> tuple[Expression, ...]:
        """Tensor about the centre of mass, in the order xx xy xz yy yz zz."""
        massless = Expression.of(self.inertia.mass).is_zero
        about = self.inertia.tensor if massless else self.inertia.tensor_at_com
        return tuple(Expression.of(x) for x in about)

    @property
    def has_body(self) -> bool:
        return any(not Expression.of(x).is_zero for x in self.inertia.entries)


def with_values(model: RobotModel, format: str) -> RobotModel:
    """The robot with the values of its symbols in their place; a symbol without a value is refused."""
    free = [name for name, value in model.symbols if value is None]
    used = edit.substitute(model, model.exact_values)
    for name in free:
        if _numbers(edit.substitute(used, {name: Expression.symbol(f"{name}_")})) != _numbers(used):
            raise DescriptionError(
                f"{format} holds numbers, but the symbol '{name}' of {quoted(model.name)} is free; "
                "give it a value first"
            )
    return replace(used, symbols=())


def _numbers(model: RobotModel) -> tuple[object, ...]:
    """All of a robot that may contain symbols."""
    return model.links, model.gravity, model.base, model.tool, model.relations, model.loops, model.springs


def pieces(model: RobotModel) -> list[WrittenLink]:
    """The links of a robot without symbols, in its order."""
    names = _joint_names(model)
    carried = _carried(model)
    followers = _mimics(model, names)
    return [_piece(model, link, names[link.name], carried, followers) for link in model.links]


def depth_first(model: RobotModel) -> list[Link]:
    """The links in the order in which readers of trees count them."""
    found: list[Link] = []
    left = [link for link in reversed(model.links) if link.parent == model.root]
    while left:
        link = left.pop()
        found.append(link)
        left += [child for child in reversed(model.links) if child.parent == link.name]
    return found


def _mimics(model: RobotModel, names: dict[str, str]) -> dict[str, Mimic]:
    """The dependent joints that follow one other joint, by their links."""
    found = {}
    dependence = model.dependence
    for i, (link, row, offset) in enumerate(
        zip(model.moving, dependence.rows, dependence.offsets, strict=True)
    ):
        if i not in dependence.independent and len(row) == 1:
            ((leader, factor),) = row
            found[link.name] = Mimic(names[model.positions[leader].name], Expression.of(factor), offset)
    return found


def _joint_names(model: RobotModel) -> dict[str, str]:
    """The joints' own names; others are called after their links."""
    taken = [link.joint_name for link in model.links if link.joint_name]
    names: dict[str, str] = {}
    for link in model.links:
        if link.joint_name and link.joint_name not in names.values():
            names[link.name] = link.joint_name
        else:
            names[link.name] = unused(f"{link.name}_joint", [*taken, *names.values()])
    return names


def _carried(model: RobotModel) -> dict[str, list[Inertia]]:
    """Motors that each link carries, as point masses in its frame; those of fixed joints as whole bodies."""
    found: dict[str, list[Inertia]] = {}
    for link in model.links if model.rotors != "none" else ():
        if link.motor is not None:
            stands = link.joint == "fixed" and model.rotors == "exact"
            body = locked_rotor(link.motor, with_tensor=stands)
            if body != Inertia():
                found.setdefault(link.motor.carrier, []).append(body)
    return found


def motors(model: RobotModel) -> list[Motor]:
    """The motors that drive joints."""
    return [link.motor for link in model.moving if link.motor and model.rotors != "none"]


def _piece(
    model: RobotModel,
    link: Link,
    joint: str,
    carried: dict[str, list[Inertia]],
    followers: dict[str, Mimic],
) -> WrittenLink:
    origin, axis, shift = _placed(link)
    friction = joint_friction(model, link)
    return WrittenLink(
        link=link,
        joint=joint,
        origin=origin,
        axis=axis,
        shift=shift,
        inertia=_total([link.inertia, *carried.get(link.name, [])]),
        viscous=friction["viscous"],
        coulomb=friction["coulomb"],
        motor=link.motor if model.rotors != "none" and link.joint != "fixed" else None,
        mimic=followers.get(link.name),
    )


def _total(bodies: Sequence[Inertia]) -> Inertia:
    total = bodies[0]
    for body in bodies[1:]:
        total = total + body
    return total


def _placed(link: Link) -> tuple[Transform, Vector, Vector]:
    """Origin, axis and shift of a link's joint."""
    after = link.after
    if link.joint == "fixed":
        return link.before @ after, link.axis, ZERO3
    axis = apply_transposed(after.R, link.axis)
    if link.joint == "prismatic":
        return link.before @ after, axis, ZERO3
    along = scale(dot(link.axis, after.p), link.axis)
    shift = vector(Expression.of(x) for x in apply_transposed(after.R, sub(after.p, along)))
    if link.before.p == ZERO3 and after == Transform():
        return link.before, axis, shift
    return link.before @ Transform(after.R, along), axis, shift


# ------------------------------------------------------------------------------------------------------------
# Sentences about what URDF and MJCF cannot say.


def losses(model: RobotModel, parts: list[WrittenLink]) -> Iterator[str]:
    """Sentences about what neither format can say."""
    yield from _motor_losses(model)
    friction = [(part.link.joint_label, joint_friction(model, part.link)) for part in parts]
    uneven = [name for name, terms in friction if not terms["asymmetry"].is_zero]
    if uneven:
        yield (
            f"Coulomb friction that differs forward and backward ({names(uneven)}) "
            "becomes the mean of the two values"
        )
    for key, term in TERMS.items():
        found = [name for name, terms in friction if not terms[key].is_zero]
        if found and key not in ("viscous", "coulomb", "asymmetry"):
            yield f"{term.words or key} friction ({names(found)}) is left out"
    if rounded := [part.link.joint_label for part in parts if not part.link.friction.width.is_zero]:
        yield f"the width of dry friction's sign ({names(rounded)}) is left out: it jumps at rest in the file"
    for key in ("acceleration", "jerk"):
        if limited := [link.joint_label for link in model.links if getattr(link.limits, key) is not None]:
            yield f"limits of {key} ({names(limited)}) are left out"
    followers = {part.link.name for part in parts if part.mimic}
    free = [
        link.joint_label
        for i, link in enumerate(model.moving)
        if i not in model.dependence.independent and link.name not in followers
    ]
    if free:
        yield (
            f"relations that are not between two joints ({names(free)}) are left out: "
            "these joints move freely in the file"
        )
    yield from _order_losses(model)
    if odd := [p.link.name for p in parts if Expression.of(p.inertia.mass).is_zero and any(_moments(p))]:
        yield f"first moments without mass ({names(odd)}) are left out"


def _motor_losses(model: RobotModel) -> Iterator[str]:
    if model.rotors == "none":
        if found := _having(model, lambda link: link.motor is not None):
            yield f'motors ({found}) are left out, because the robot\'s rotors are "none"'
        return
    spinning = _driving(model, lambda motor: not (motor.axial.is_zero and motor.transverse.is_zero))
    if model.rotors == "exact" and spinning:
        yield (
            f"exact rotors ({spinning}) become reflected ones, gear²·inertia on the joint: "
            "their places, axes and coupling to the links that carry them are left out"
        )
    if coupled := _driving(model, is_coupled):
        yield f"motors that turn with several joints ({coupled}) drive only their own in the file"
    if rubbing := _driving(model, lambda motor: is_coupled(motor) and not motor.friction.is_zero):
        yield f"friction in motors that turn with several joints ({rubbing}) is left out"
    if spun := names(link.joint_label for link in idlers(model)):
        yield f"motors of fixed joints that others spin ({spun}) stand still in the file"
    if elastic := names(link.joint_label for link in model.elastic):
        yield (
            f"elastic joints ({elastic}) become rigid ones: their transmissions' stiffness and damping "
            "and the friction of their motors are left out"
        )
    if found := _driving(model, lambda motor: motor.torque_constant != 1):
        yield f"torque constants of motors ({found}) are left out"
    if found := _driving(model, lambda motor: motor.limits != MotorLimits()):
        yield f"limits at the shafts of motors ({found}) are left out"


def _order_losses(model: RobotModel) -> Iterator[str]:
    """Sentences about tip and order of joints, which no file says."""
    links = depth_first(model)
    depth = {model.root: 0}
    for link in links:
        depth[link.name] = depth[link.parent] + (link.joint != "fixed")
    parents = {link.parent for link in links}
    ends = [link.name for link in links if link.name not in parents]
    if model.tip != max(ends, key=lambda name: depth[name]):
        yield f"the tip {quoted(model.tip)} is not marked; armdyn takes the end of the longest chain"
    order = [link for link in links if link.joint != "fixed"]
    if order != list(model.moving):
        labels = names(link.joint_label for link in order)
        yield f"the order of the joints is not kept; armdyn reads them depth first: {labels}"


def _moments(part: WrittenLink) -> list[bool]:
    return [not Expression.of(x).is_zero for x in part.inertia.moment]


def _driving(model: RobotModel, test: Callable[[Motor], bool]) -> str:
    """The joints whose motors drive them and pass a test."""
    return names(link.joint_label for link in model.moving if link.motor is not None and test(link.motor))


def _having(model: RobotModel, test: Callable[[Link], bool]) -> str:
    return names(link.joint_label for link in model.links if test(link))


def names(found: Iterable[str]) -> str:
    """Names in quotes, with commas between them."""
    return ", ".join(quoted(name) for name in found)
