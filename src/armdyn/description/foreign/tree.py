"""The form that readers of foreign files share: raw links, raw joints, and the tree that they make.

A reader (URDF, MJCF) fills a `RawTree` with exact numbers and says where everything stands in its file. What
is the same for all of them is done once: here the checks of names and of the tree, in `assembly` the choice
of a part of it, locked joints, mimic joints, and the RobotModel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Literal, TypeAlias, TypeVar

from armdyn.description.source import MAX_LINKS, DescriptionError
from armdyn.expression import ONE, ZERO, Expression, decimal_places, decimal_text
from armdyn.model.closures import ClosingJoint
from armdyn.model.friction import NO_FRICTION, FrictionCoefficients
from armdyn.model.inertia import ZERO6, Tensor
from armdyn.model.parts import NO_SPRING, JointSpring, Limits, PointSpring, Transform, X
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, vector
from armdyn.names import listed, one_line, quoted
from armdyn.remarks import Remark

# ------------------------------------------------------------------------------------------------------------
# Rounded angles and directions made exact, where it is plain what was meant; each change is listed.
#
# An angle is taken for a multiple of π/12 where it is closer to it than `CLOSE`, or where it is that
# multiple rounded or cut off to the digits that are written, three of them at least: 1.57, 1.5708, 3.14159
# and 1.57079637 are meant, 1.5705 and 0.5 are not, as somebody measured or chose them. An entry of a
# direction is treated likewise, and a direction is snapped as a whole: the exact entries must have length
# one.


CLOSE = 1e-6  # rad: what single precision leaves of an angle
_LEAST_DIGITS = 3
_MOST = 100.0  # rad: angles beyond are left alone
_SQUARES = [Fraction(0), Fraction(1, 6), Fraction(1, 4), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3)]
_SQUARES += [Fraction(3, 4), Fraction(1)]  # of the entries of directions that have a short exact form


def snapped_angle(x: Expression) -> Expression | None:
    """The multiple of π/12 that an angle stands for; None where it is exact already or stands for itself."""
    number = x.number
    if number is None or number == 0 or abs(number) > _MOST:
        return None
    k = round(float(number) / (math.pi / 12))
    if not _stands_for(number, k * math.pi / 12):
        return None
    return Expression.pi() * Fraction(k, 12) if k else ZERO


def snapped_direction(entries: Sequence[Expression]) -> Vector | None:
    """The exact unit vector that three rounded numbers stand for; None where there is none."""
    numbers = [x.number for x in entries]
    exact = [number for number in numbers if number is not None]
    if len(exact) < 3 or sum(number * number for number in exact) == 1:
        return None
    options = [
        [square for square in _SQUARES if _stands_for(abs(number), math.sqrt(square))] for number in exact
    ]
    for squares in product(*options):
        if sum(squares) == 1:
            roots = [Expression.of(square).sqrt() for square in squares]
            return vector(root * (-1 if number < 0 else 1) for root, number in zip(roots, exact, strict=True))
    return None


def snap_text(before: Sequence[Expression], after: Sequence[Expression]) -> str:
    """Words for what was changed into what."""
    pairs = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    return ", ".join(f"{_shown(old)} -> {new}" for old, new in pairs)


def _shown(x: Expression) -> str:
    number = x.number
    return str(x) if number is None else decimal_text(number)


def _stands_for(x: Fraction, exact: float) -> bool:
    """True if a decimal is this number, rounded or cut off to the digits that are written."""
    off = abs(float(x) - exact)
    if off <= CLOSE:
        return True
    places = decimal_places(x)
    if places is None or exact == 0:
        return False
    above, step = abs(float(x)) - abs(exact), 10.0**-places
    if not -step < above <= step / 2 or float(x) * exact < 0:  # cut off to rounded up
        return False
    return len(str(abs(x.numerator * 10**places // x.denominator)).lstrip("0")) >= _LEAST_DIGITS


# ------------------------------------------------------------------------------------------------------------
# Raw links, raw joints, and their tree.


RawKind: TypeAlias = Literal["revolute", "prismatic", "fixed", "floating", "planar", "ball"]
LOOSE = {"floating": "six", "planar": "three", "ball": "three"}  # freedoms; can only be welded


@dataclass(frozen=True)
class FilePlace:
    """Place of something in a file."""

    line: int = 0  # 0: not known
    element: str = ""  # such as <link name="arm">
    file: str = ""  # "" for the main file, else one that it includes

    def __str__(self) -> str:
        line = f"line {self.line}{f' of {self.file}' if self.file else ''}" if self.line else ""
        return ": ".join(part for part in (line, self.element) if part)


NOWHERE = FilePlace()


@dataclass(frozen=True)
class RawBody:
    """Mass [kg], centre of mass [m] in link axes, and the tensor about it [kg m²].

    The tensor is in axes of its own: v_link = R v_own, with R exact or in floats.
    """

    mass: Expression
    com: Vector = ZERO3
    R: Matrix = IDENTITY
    tensor: Tensor = ZERO6  # xx xy xz yy yz zz
    place: FilePlace = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class RawLink:
    """A link; `body` is None where the file gives none."""

    name: str
    body: RawBody | None = None
    place: FilePlace = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class RawMotor:
    """Data of the motor of a joint in a file: gear, inertia about the spin axis [kg m²]."""

    gear: Expression = ONE
    axial: Expression = ZERO
    torque_constant: Expression = ONE
    friction: FrictionCoefficients = NO_FRICTION  # at the motor's shaft


@dataclass(frozen=True)
class Mimic:
    """q = multiplier · q_joint + offset."""

    joint: str
    multiplier: Expression = ONE
    offset: Expression = ZERO


@dataclass(frozen=True)
class RawJoint:
    """A joint: the child's frame in its parent's is origin · joint(q) · after. `axis` has length one."""

    name: str
    kind: RawKind
    parent: str
    child: str
    origin: Transform = Transform()
    axis: Vector = X
    after: Transform = Transform()
    friction: FrictionCoefficients = NO_FRICTION
    limits: Limits = field(default_factory=Limits)
    motor: RawMotor | None = None
    mimic: Mimic | None = None
    spring: JointSpring = NO_SPRING
    actuated: bool = True
    guess: Expression = ZERO  # where chains are closed
    place: FilePlace = field(default=NOWHERE, compare=False)


_Part = TypeVar("_Part", RawLink, RawJoint)


@dataclass
class Remarks:
    """Remarks on what reading a file changed or left out: notes of the model, some also warnings."""

    found: list[Remark] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.found.append(Remark(one_line(text)))

    def warn(self, text: str) -> None:
        self.found.append(Remark(one_line(text), "warning"))

    def about(self, place: str) -> tuple[Remark, ...]:
        """All of them, with the file that they are about."""
        return tuple(replace(remark, place=place) for remark in self.found)

    def group(self, names: Sequence[str], text: str) -> None:
        """One note for all joints of which the same is to be said; none without names."""
        if names:
            self.note(f"joint{'s' if len(names) > 1 else ''} {listed(list(names))}: {text}")


@dataclass
class RawTree:
    """A file as it was read. `check` must be called before anything is made of it."""

    name: str
    source: str  # the file, or what messages call the text
    links: list[RawLink]
    joints: list[RawJoint]
    gravity: Vector = ZERO3
    remarks: Remarks = field(default_factory=Remarks)
    is_file: bool = True
    loops: list[ClosingJoint] = field(default_factory=list)
    springs: list[PointSpring] = field(default_factory=list)

    def error(self, place: FilePlace, reason: str) -> DescriptionError:
        """An error that names file, line, element and reason."""
        parts = (self.source, str(place), one_line(reason))
        return DescriptionError(": ".join(part for part in parts if part))

    # ---- checks ----------------------------------------------------------------------------------------

    def check(self, repair: bool = False) -> None:
        """Refuse what is no tree of links with names of their own; `repair` drops identical repetitions."""
        self.links = self._without_twins(self.links, "link", repair)
        self.joints = self._without_twins(self.joints, "joint", repair)
        if not self.links:
            raise self.error(NOWHERE, "there is no link")
        if len(self.links) > MAX_LINKS:
            raise self.error(NOWHERE, f"found {len(self.links)} links; up to {MAX_LINKS} are allowed")
        links = {link.name: link for link in self.links}
        above: dict[str, RawJoint] = {}
        for joint in self.joints:
            for role, name in (("parent", joint.parent), ("child", joint.child)):
                if name not in links:
                    found = f"the {role} link {quoted(name)} does not exist; links: {listed(list(links))}"
                    raise self.error(joint.place, found)
            if joint.child in above:
                other = above[joint.child]
                raise self.error(
                    joint.place,
                    f"link {quoted(joint.child)} has a parent already, by joint {quoted(other.name)} "
                    f"({other.place}); a link has one parent, as loops of links are not read",
                )
            above[joint.child] = joint
        self._refuse_loops(above)

    def _without_twins(self, parts: list[_Part], what: str, repair: bool) -> list[_Part]:
        kept: dict[str, _Part] = {}
        for part in parts:
            first = kept.setdefault(part.name, part)
            if first is part:
                continue
            declared = f"{what} {quoted(part.name)} is declared twice, first at {first.place}"
            if first != part:
                raise self.error(part.place, f"{declared}, and the two differ")
            if not repair:
                raise self.error(part.place, f"{declared} (repair=True drops the second, which is the same)")
            self.remarks.warn(f"{part.place}: {declared}: the second, which is the same, is dropped")
        return list(kept.values())

    def _refuse_loops(self, above: dict[str, RawJoint]) -> None:
        """Refuse links that do not lead to a root by their parents."""
        safe: set[str] = set()
        for link in self.links:
            path: dict[str, RawJoint] = {}
            name = link.name
            while name in above and name not in safe:
                if name in path:
                    loop = [*list(path)[list(path).index(name) :], name]
                    found = f"the links {' - '.join(map(one_line, loop[:20]))} form a loop"
                    raise self.error(above[name].place, f"{found}; a tree of links is read")
                path[name] = above[name]
                name = above[name].parent
            safe.update(path)

    # ---- looking ---------------------------------------------------------------------------------------

    @property
    def roots(self) -> list[RawLink]:
        """The links without a parent."""
        children = {joint.child for joint in self.joints}
        return [link for link in self.links if link.name not in children]

    def below(self, root: str) -> list[RawJoint]:
        """The joints below a link: depth first, joints of one link in the order of the file."""
        of: dict[str, list[RawJoint]] = {}
        for joint in self.joints:
            of.setdefault(joint.parent, []).append(joint)
        found: list[RawJoint] = []
        left = list(reversed(of.get(root, [])))
        while left:
            joint = left.pop()
            found.append(joint)
            left += reversed(of.get(joint.child, []))
        return found
