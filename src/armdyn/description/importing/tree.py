"""The form that readers of foreign files share: raw links, raw joints, and the tree that they make.

A reader (URDF, MJCF) fills a `RawTree` with exact numbers and says where everything stands in its file. What
is the same for all of them is done once: here the checks of names and of the tree, in `assembly` the choice
of a part of it, locked joints, mimic joints, and the RobotModel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

from armdyn.description.errors import MAX_LINKS, DescriptionError
from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.closures.loops import Loop
from armdyn.model.friction import NO_FRICTION, Friction
from armdyn.model.inertia import ZERO6, Tensor
from armdyn.model.parts import Limits, Transform, X
from armdyn.model.robot_model import listed, quoted
from armdyn.model.springs import NO_SPRING, JointSpring, PointSpring
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector
from armdyn.output import one_line

RawKind: TypeAlias = Literal["revolute", "prismatic", "fixed", "floating", "planar", "ball"]
LOOSE = {"floating": "six", "planar": "three", "ball": "three"}  # freedoms; can only be welded


@dataclass(frozen=True)
class Place:
    """Where something stands in a file."""

    line: int = 0  # 0: not known
    element: str = ""  # such as <link name="arm">
    file: str = ""  # "" for the main file, else one that it includes

    def __str__(self) -> str:
        line = f"line {self.line}{f' of {self.file}' if self.file else ''}" if self.line else ""
        return ": ".join(part for part in (line, self.element) if part)


NOWHERE = Place()


@dataclass(frozen=True)
class RawBody:
    """Mass [kg], centre of mass [m] in link axes, and the tensor about it [kg m²].

    The tensor is in axes of its own: v_link = R v_own, with R exact or in floats.
    """

    mass: Expression
    com: Vector = ZERO3
    R: Matrix = IDENTITY
    tensor: Tensor = ZERO6  # xx xy xz yy yz zz
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class RawLink:
    """A link; `body` is None where the file gives none."""

    name: str
    body: RawBody | None = None
    place: Place = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class RawMotor:
    """What a file says about the motor of a joint: gear, inertia about the spin axis [kg m²]."""

    gear: Expression = ONE
    axial: Expression = ZERO
    torque_constant: Expression = ONE
    friction: Friction = NO_FRICTION  # at the motor's shaft


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
    friction: Friction = NO_FRICTION
    limits: Limits = field(default_factory=Limits)
    motor: RawMotor | None = None
    mimic: Mimic | None = None
    spring: JointSpring = NO_SPRING
    actuated: bool = True
    guess: Expression = ZERO  # where loops are closed
    place: Place = field(default=NOWHERE, compare=False)


_Part = TypeVar("_Part", RawLink, RawJoint)


@dataclass
class Remarks:
    """What reading a file changed or left out: each a note of the model, those that matter also a warning."""

    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        self.notes.append(one_line(text))

    def warn(self, text: str) -> None:
        self.note(text)
        self.warnings.append(one_line(text))

    def group(self, names: Sequence[str], text: str, what: str = "joint") -> None:
        """One note for all names of which the same is to be said; none without names."""
        if names:
            self.note(f"{what}{'s' if len(names) > 1 else ''} {listed(list(names))}: {text}")


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
    loops: list[Loop] = field(default_factory=list)
    springs: list[PointSpring] = field(default_factory=list)

    def error(self, place: Place, reason: str) -> DescriptionError:
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
        """Every link must lead to a root by its parents."""
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
