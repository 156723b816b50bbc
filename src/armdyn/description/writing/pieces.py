"""A robot in the parts that URDF and MJCF have, in exact numbers, and the text of an XML file.

Both formats put a link's frame where its joint turns it: the joint's axis is fixed in the link, and at q = 0
the link stands at the joint's `origin`. A link here stands at before · joint(q) · after, where the axis may
pass beside the link's frame (standard DH with a ≠ 0). So each joint gets an origin that has the link's axes
and lies on the joint's axis, at the point nearest to the link's frame; from there the frame is only shifted:

    before · joint(q) · after = origin · joint'(q) · shift"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from armdyn.description.foreign.tree import Mimic
from armdyn.description.frames import by_quaternion, whole_ratios
from armdyn.description.source import DescriptionError
from armdyn.description.writing import Export
from armdyn.expression import Expression, decimal_places, exact_float
from armdyn.model import edit
from armdyn.model.friction import TERMS
from armdyn.model.inertia import Inertia
from armdyn.model.parts import Link, Motor, MotorLimits, Transform
from armdyn.model.robot_model import RobotModel, idlers, is_coupled, joint_friction, locked_rotor
from armdyn.model.vector import ZERO3, Matrix, Scalar, Vector, apply_transposed, dot, scale, sub, vector
from armdyn.names import one_line, quoted, unused
from armdyn.remarks import Remark


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


# ------------------------------------------------------------------------------------------------------------
# Exact numbers as the decimals of a file, so that reading them again gives equal numbers wherever it can.
#
# Decimals up to 40 digits are written in full. Anything else becomes the shortest decimal that reads as the
# same double. Directions keep their ratios, so that a reader makes the same unit vector of them.


_MOST_DIGITS = 40
_DIRECTION_DIGITS = 25  # enough to find the point of the grid that `unit_vector` took


def number_text(x: Scalar) -> str:
    """A number without symbols."""
    found = Expression.of(x)
    exact = found.number
    return _decimal(exact) if exact is not None else _shortest(found.value())


def numbers_text(v: Iterable[Scalar]) -> str:
    """Numbers with blanks between them."""
    return " ".join(number_text(x) for x in v)


def direction_text(u: Vector) -> str:
    """A unit vector; its length is one to 17 digits, its ratios are exact where they are short."""
    entries = [Expression.of(x) for x in u]
    if whole := whole_ratios(entries):
        length = math.sqrt(sum(n * n for n in whole))
        scale = Fraction(repr(1 / length))
        root = math.isqrt(sum(n * n for n in whole))
        if root * root == sum(n * n for n in whole):
            exact = [Fraction(n, root) for n in whole]
            if all(_digits(x) is not None for x in exact):
                return " ".join(map(_decimal, exact))
        return " ".join(_decimal(n * scale) for n in whole)
    return " ".join(_rounded(x) for x in entries)


def _decimal(x: Fraction) -> str:
    return _digits(x) or _shortest(float(x))


def _digits(x: Fraction) -> str | None:
    """A rational as a decimal, if it is one of not too many digits."""
    short = exact_float(x)
    if short is not None:
        return _shortest(short)
    places = decimal_places(x)
    if places is None:
        return None
    whole = abs(x.numerator) * 10**places // x.denominator
    if len(str(whole)) > _MOST_DIGITS:
        return None
    return f"{'-' if x < 0 else ''}{whole}" + (f"e-{places}" if places else "")


def _shortest(x: float) -> str:
    text = repr(x + 0.0)  # no minus zero
    return text.removesuffix(".0")


def _rounded(x: Expression) -> str:
    """Decimal with more digits than a double has."""
    exact = x.number
    if exact is None:
        return number_text(x)
    scale = 10**_DIRECTION_DIGITS
    return _decimal(Fraction(round(exact * scale), scale))


# ------------------------------------------------------------------------------------------------------------
# Rotations as quaternions.


_NEAR = 1e-9


def quaternion_text(R: Matrix) -> str:
    """w x y z; in whole numbers where they are small, as readers normalise them."""
    exact = [[Expression.of(x) for x in row] for row in R]
    q = _quaternion([[x.value() for x in row] for row in exact])
    near = [Fraction(x / max(map(abs, q))).limit_denominator(6) for x in q]
    whole = whole_ratios([Expression.of(x) for x in near])
    if whole and [list(row) for row in by_quaternion(near)] == exact:
        return " ".join(map(str, whole))
    return numbers_text(q)


def _quaternion(M: list[list[float]]) -> list[float]:
    """w x y z of length one; the first of them that is not zero but for rounding is positive."""
    from scipy.spatial.transform import Rotation  # not loaded with the package

    x, y, z, w = Rotation.from_matrix(M).as_quat().tolist()
    q = [w, x, y, z]
    first = next(v for v in q if abs(v) > _NEAR)
    return [v if first > 0 else -v for v in q]


# ------------------------------------------------------------------------------------------------------------
# The lines of a file.


_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def add(parent: ET.Element, tag: str, **attributes: str | None) -> ET.Element:
    """A new element in another one; attributes that are None are left out."""
    element = ET.SubElement(parent, tag)
    for key, text in attributes.items():
        if text is not None:
            name(element, key.rstrip("_"), text)
    return element


def name(element: ET.Element, key: str, text: str) -> None:
    """Set an attribute that may hold any text."""
    if found := _FORBIDDEN.search(text):
        raise DescriptionError(
            f"{element.tag} {key} {quoted(text)}: XML cannot hold the character U+{ord(found[0]):04X}; "
            "rename it"
        )
    element.set(key, text)


def document(root: ET.Element, notes: tuple[str, ...]) -> Export:
    """The whole file, with a comment that lists what it does not say, each a remark too."""
    lines = ["Written by armdyn."]
    if notes:
        lines += ["What the robot has and this format cannot say:", *(f"  {note}" for note in notes)]
    comment = "\n".join(f"  {_FORBIDDEN.sub('?', _comment_line(line))}" for line in lines)
    ET.indent(root)
    body = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    text = f'<?xml version="1.0" encoding="utf-8"?>\n<!--\n{comment}\n-->\n{body}\n'
    return Export(text, tuple(Remark(note, "warning") for note in notes))


def _comment_line(line: str) -> str:
    """A line of a comment, which may not hold two hyphens in a row."""
    indent = line[: len(line) - len(line.lstrip())]
    return indent + re.sub("--+", "—", one_line(line)).rstrip("-")
