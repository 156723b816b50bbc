"""Writes MJCF, MuJoCo's format: bodies, joints with armature, equalities, springs, motors with gears.

Every link is a body with the link's name and frame; a joint may sit beside it. The tool is a body "tool"
without mass. Rotors are armatures, gear²·inertia: reflected ones.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from armdyn.description.plausibility import Freedom, freedoms, in_numbers
from armdyn.description.writing import Export
from armdyn.description.writing.pieces import (
    WrittenLink,
    add,
    direction_text,
    document,
    losses,
    motors,
    name,
    names,
    number_text,
    numbers_text,
    pieces,
    quaternion_text,
    with_values,
)
from armdyn.expression import ZERO, Expression
from armdyn.model.closures import ClosingJoint
from armdyn.model.parts import PointSpring, Transform
from armdyn.model.robot_model import RobotModel, spring_place
from armdyn.model.vector import IDENTITY, ZERO3, Vector, apply, neg
from armdyn.names import quoted, unused

# ------------------------------------------------------------------------------------------------------------
# Closures as equalities, and springs between points as tendons, by sites.
#
# Sites say where the two sides meet. An equality between bodies would take for granted that the chain is
# closed at q = 0. A revolute joint is two points of its axis that stay together.


APART = Expression.of(0.1)  # m, the two points of a revolute joint's axis
Section = Callable[[str], ET.Element]  # the element of this name in <mujoco>


def write_loop(i: int, loop: ClosingJoint, elements: dict[str, ET.Element], section: Section) -> None:
    """A weld, one point that stays together (spherical), or two of them (revolute)."""
    kind = "weld" if loop.joint == "fixed" else "connect"
    points: list[Vector] = [ZERO3, (0, 0, APART)] if loop.joint == "revolute" else [ZERO3]
    for k, point in enumerate(points):
        sites = []
        for side, link, T in zip("ab", loop.between, loop.at, strict=True):
            name = f"closure{i + 1}_{side}{k + 1}"
            _site(elements[link], name, T @ Transform(IDENTITY, point))
            sites.append(name)
        add(section("equality"), kind, site1=sites[0], site2=sites[1])


def write_spring(i: int, spring: PointSpring, elements: dict[str, ET.Element], section: Section) -> None:
    """A tendon between two points; nothing where `spring_losses` says so."""
    length = free_length(spring)
    if length is None:
        return
    tendon = add(
        section("tendon"),
        "spatial",
        name=spring.name or None,
        stiffness=number_text(spring.stiffness),
        springlength=number_text(length),
    )
    for side, link, p in zip("ab", spring.between, spring.at, strict=True):
        name = f"spring{i + 1}_{side}"
        _site(elements[link], name, Transform(IDENTITY, p))
        add(tendon, "site", site=name)


def _site(element: ET.Element, name: str, T: Transform) -> None:
    turned = [[Expression.of(x) for x in row] for row in T.R] != [list(row) for row in IDENTITY]
    quaternion = quaternion_text(T.R) if turned else None
    add(element, "site", name=name, pos=numbers_text(T.p), quat=quaternion)


def free_length(spring: PointSpring) -> Expression | None:
    """The length without force, rest − force/stiffness; None where a spring has none."""
    if spring.stiffness.is_zero:
        return None
    length = spring.rest - spring.force / spring.stiffness
    return length if length.value() >= 0 else None


def spring_losses(model: RobotModel) -> Iterator[str]:
    """Sentences about springs between points that no tendon can be."""
    unsaid = [spring_place(i, x) for i, x in enumerate(model.springs) if free_length(x) is None]
    if unsaid:
        reason = "their force would not vanish at any length"
        yield f"springs between points ({', '.join(unsaid)}) are left out: {reason}"


def guess_losses(model: RobotModel) -> Iterator[str]:
    if found := [link.joint_label for link in model.links if not link.guess.is_zero]:
        yield f"guesses of where loops are closed ({names(found)}) are left out"


# ------------------------------------------------------------------------------------------------------------
# Bodies as MuJoCo takes them: mass and moments above zero, and the triangle inequality kept.
#
# Many descriptions leave out what no motion shows, such as the moments xx and yy of a planar arm. These
# entries are filled in, which changes nothing in the robot's motion. Zeros become 1e-14, and flat bodies get
# 1e-12 of their largest moment. Other impossible bodies stay as they are; MuJoCo refuses them.


SMALLEST = 1e-14  # MuJoCo refuses what is below 1e-15
_FLAT = 1e-12  # of the largest entry: what a flat body gets, as MuJoCo leaves no room for rounding
_ROUNDING = 1e-14


@dataclass(frozen=True)
class MujocoBody:
    """Mass and tensor about the centre of mass (xx xy xz yy yz zz)."""

    mass: Expression
    tensor: tuple[Expression, ...]
    filled: bool = False  # with entries that no motion shows
    raised: bool = False  # from zero
    refused: bool = False  # by MuJoCo


def possible(part: WrittenLink, freedom: Freedom, moves: bool) -> MujocoBody:
    """The body of a link, and how it was changed. `moves`: it has a joint, so that MuJoCo looks at it."""
    mass, tensor = Expression.of(part.inertia.mass), part.tensor
    if not part.has_body and not moves:
        return MujocoBody(mass, tensor)
    floor = Expression.of(SMALLEST)
    raised = mass.value() < SMALLEST
    mass = floor if raised else mass
    matrix = _matrix(tensor)
    if _is_taken(matrix):
        return MujocoBody(mass, tensor, raised=raised)
    if freedom.feels_one_moment:
        moment = _felt(matrix, freedom)
        ball = Expression.of(max(moment, SMALLEST))
        zero = Expression.of(0)
        filled = (ball, zero, zero, ball, zero, ball)
        return MujocoBody(mass, filled, filled=True, raised=raised or moment < SMALLEST)
    more = Expression.of(max(SMALLEST, _FLAT * float(abs(matrix).max())))
    if _is_taken(matrix + more.value() * np.eye(3)):
        thicker = tuple(x + more if i in (0, 3, 5) else x for i, x in enumerate(tensor))
        return MujocoBody(mass, thicker, raised=True)
    return MujocoBody(mass, tensor, raised=raised, refused=True)


def _felt(matrix: np.ndarray, freedom: Freedom) -> float:
    """The one moment that matters; the largest if none does."""
    if not freedom.turns:
        return float(abs(matrix).max())
    (u,) = freedom.axes.T
    return float(u @ matrix @ u)


def _matrix(tensor: tuple[Expression, ...]) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = (x.value() for x in tensor)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _is_taken(matrix: np.ndarray) -> bool:
    """True if MuJoCo takes a tensor."""
    a, b, c = np.linalg.eigvalsh(matrix)
    return bool(a >= SMALLEST / 2 and a + b >= c * (1 + _ROUNDING))


# ------------------------------------------------------------------------------------------------------------
# The whole file.


WORLD = "world"  # what MuJoCo calls its fixed body
_FULL = (0, 3, 5, 1, 2, 4)  # the order of fullinertia, as places in xx xy xz yy yz zz


def export(model: RobotModel) -> Export:
    """The robot as MJCF, and a remark for each thing that MJCF cannot say."""
    model = with_values(model, "MJCF")
    parts = pieces(model)
    found = freedoms(model, *in_numbers(model))
    bodies = {p.link.name: possible(p, found[p.link.name], p.link.joint != "fixed") for p in parts}
    has_tool = model.tool != Transform()
    notes = (
        *losses(model, parts),
        *_velocity_loss(parts),
        *_body_losses(bodies),
        *_name_losses(model),
        *spring_losses(model),
        *guess_losses(model),
    )
    root = ET.Element("mujoco")
    name(root, "model", model.name)
    _MjcfWriter(root, model, parts, bodies).write(has_tool)
    return document(root, notes)


def _velocity_loss(parts: list[WrittenLink]) -> Iterator[str]:
    if found := [p.link.joint_label for p in parts if p.link.limits.velocity is not None]:
        yield f"limits of velocity ({names(found)}) are left out"


def _body_losses(bodies: dict[str, MujocoBody]) -> Iterator[str]:
    """Sentences about bodies that had to change for MuJoCo."""
    if filled := [name for name, body in bodies.items() if body.filled]:
        yield f"moments of inertia that no motion shows ({names(filled)}) are filled in: MuJoCo wants them"
    if raised := [name for name, body in bodies.items() if body.raised]:
        yield (
            f"masses and moments of zero ({names(raised)}) become {SMALLEST:g}, or 1e-12 of the body's "
            "largest moment: MuJoCo takes none"
        )
    if refused := [name for name, body in bodies.items() if body.refused]:
        yield (
            f"bodies that cannot exist ({names(refused)}: a moment is not positive, or exceeds the sum of "
            "the others) are written as they are; MuJoCo refuses them unless the file says "
            'compiler balanceinertia="true"'
        )


def _name_losses(model: RobotModel) -> Iterator[str]:
    for link, body in _body_names(model).items():
        if link != body:
            yield f"link {quoted(link)} is the body {quoted(body)}: the name {quoted(WORLD)} is MuJoCo's own"


def _body_names(model: RobotModel) -> dict[str, str]:
    """Bodies are called as their links, except for the name that MuJoCo keeps for itself."""
    taken = {model.root, *model.index}
    found = {link: link for link in (model.root, *model.index)}
    if WORLD in model.index:
        found[WORLD] = unused(f"{WORLD}_body", taken)
    elif model.root == WORLD and model.base != Transform():
        found[WORLD] = unused(f"{WORLD}_base", taken)
    return found


class _MjcfWriter:
    """Writes the parts of a robot into the element `mujoco`."""

    def __init__(
        self, root: ET.Element, model: RobotModel, parts: list[WrittenLink], bodies: dict[str, MujocoBody]
    ) -> None:
        self.root, self.model, self.parts, self.bodies = root, model, parts, bodies
        self.names = _body_names(model)
        self.armature = _armatures(model)

    def write(self, has_tool: bool) -> None:
        model = self.model
        add(self.root, "compiler", angle="radian", autolimits="true")
        add(self.root, "option", gravity=numbers_text(apply(model.base.R, model.gravity)))
        world = add(self.root, "worldbody")
        if model.root == WORLD and model.base == Transform():
            elements = {model.root: world}
        else:
            elements = {model.root: self.body(world, self.names[model.root], model.base)}
        for part in self.parts:
            elements[part.link.name] = self.piece(elements[part.link.parent], part)
        if has_tool:
            self.body(elements[model.tip], unused("tool", [WORLD, *self.names.values()]), model.tool)
        self.equalities()
        for i, loop in enumerate(model.loops):
            write_loop(i, loop, elements, self.section)
        for i, spring in enumerate(model.springs):
            write_spring(i, spring, elements, self.section)
        self.actuators()

    def section(self, tag: str) -> ET.Element:
        """A part of the file, made where it is needed first."""
        found = self.root.find(tag)
        return add(self.root, tag) if found is None else found

    def body(self, parent: ET.Element, name: str, T: Transform) -> ET.Element:
        turned = [[Expression.of(x) for x in row] for row in T.R] != [list(row) for row in IDENTITY]
        shifted = any(not Expression.of(x).is_zero for x in T.p)
        return add(
            parent,
            "body",
            name=name,
            pos=numbers_text(T.p) if shifted else None,
            quat=quaternion_text(T.R) if turned else None,
        )

    def piece(self, parent: ET.Element, part: WrittenLink) -> ET.Element:
        at_rest = part.origin @ Transform(IDENTITY, part.shift)
        element = self.body(parent, self.names[part.link.name], at_rest)
        body = self.bodies[part.link.name]
        if not body.mass.is_zero or any(not x.is_zero for x in body.tensor):
            add(
                element,
                "inertial",
                pos=numbers_text(part.com),
                mass=number_text(body.mass),
                fullinertia=numbers_text(body.tensor[i] for i in _FULL),
            )
        if part.link.joint != "fixed":
            self.joint(element, part)
        return element

    def joint(self, element: ET.Element, part: WrittenLink) -> None:
        limits = part.link.limits
        torque = None if limits.torque is None else numbers_text((-limits.torque, limits.torque))
        armature = self.armature.get(part.link.name, ZERO)
        spring = part.link.spring
        add(
            element,
            "joint",
            name=part.joint,
            type_="hinge" if part.link.joint == "revolute" else "slide",
            pos=numbers_text(neg(part.shift)) if part.is_shifted else None,
            axis=direction_text(part.axis),
            range=None if limits.position is None else numbers_text(limits.position),
            actuatorfrcrange=torque,
            armature=_nonzero(armature),
            damping=_nonzero(part.viscous),
            frictionloss=_nonzero(part.coulomb),
            stiffness=_nonzero(spring.stiffness),
            springref=None if spring.is_zero else _nonzero(spring.rest),
        )

    def equalities(self) -> None:
        for part in self.parts:
            if part.mimic is None:
                continue
            coefficients = (part.mimic.offset, part.mimic.multiplier, 0, 0, 0)
            add(
                self.section("equality"),
                "joint",
                joint1=part.joint,
                joint2=part.mimic.joint,
                polycoef=numbers_text(coefficients),
            )

    def actuators(self) -> None:
        """A motor for every joint that is free to be driven; without a motor of its own, by a gear of one."""
        actuator = add(self.root, "actuator")
        for part in self.parts:
            driven = part.link.joint != "fixed" and part.link.actuated
            if not driven or (part.mimic and not part.motor):
                continue
            gear = number_text(part.motor.gear) if part.motor else "1"
            add(actuator, "motor", name=f"{part.joint}_motor", joint=part.joint, gear=gear)


def _armatures(model: RobotModel) -> dict[str, Expression]:
    """Armatures by link, Σ k² Im of the motors that turn with its joint: the diagonal of Kᵀ diag(Im) K."""
    found: dict[str, Expression] = {}
    owners = [link.name for link in model.moving if link.motor and model.rotors != "none"]
    for owner, motor in zip(owners, motors(model), strict=True):
        for link, gear in ((owner, motor.gear), *motor.coupling):
            found[link] = found.get(link, ZERO) + gear * gear * motor.axial
    return found


def _nonzero(x: Expression) -> str | None:
    return None if x.is_zero else number_text(x)
