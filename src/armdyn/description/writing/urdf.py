"""Writes URDF, with transmissions, Drake's rotor inertias and mimic joints.

The pose of every named link is kept. Where a joint's axis passes beside its link's frame (standard DH with
a ≠ 0), the moving link is called "<name>_body": it sits on the axis and has the mass; the frame itself is
the link "<name>", fixed to it and without mass. The tool is a fixed link "tool" without mass, and a base that
does not stand at the world's origin hangs on a link "world".
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from armdyn.description.foreign.urdf import XACRO
from armdyn.description.foreign.xml_text import UNLIMITED
from armdyn.description.frames import numeric_rpy, rpy_of
from armdyn.description.source import DescriptionError
from armdyn.description.writing import Export
from armdyn.description.writing.pieces import (
    WrittenLink,
    add,
    direction_text,
    document,
    losses,
    name,
    names,
    number_text,
    numbers_text,
    pieces,
    with_values,
)
from armdyn.expression import Expression
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.model.parts import Transform
from armdyn.model.robot_model import RobotModel, spring_place
from armdyn.model.vector import IDENTITY, ZERO3, Vector, apply
from armdyn.model.vector import add as plus
from armdyn.names import quoted, unused

_DOWN = tuple(Expression.of(x) for x in (0, 0, -9.81))


def export(model: RobotModel) -> Export:
    """The robot as URDF, and a remark for each thing that URDF cannot say."""
    model = with_values(model, "URDF")
    parts = pieces(model)
    has_tool = model.tool != Transform()
    notes = (
        *losses(model, parts),
        *_gravity_loss(model),
        *_limit_losses(parts),
        *_closure_losses(model),
    )
    root = ET.Element("robot")
    if any(part.motor for part in parts):
        root.set("xmlns:drake", "http://drake.mit.edu")
    name(root, "name", model.name)
    _UrdfWriter(root, model, parts).write(has_tool)
    _refuse_xacro(root)
    return document(root, notes)


def _refuse_xacro(root: ET.Element) -> None:
    """Refuse names that readers of URDF take for commands of xacro, this package's among them."""
    for element in root.iter():
        for key, text in element.attrib.items():
            if XACRO.search(text):
                raise DescriptionError(
                    f"{element.tag} {key} {quoted(text)}: URDF readers take ${{ and $( for xacro; rename it"
                )


def _gravity_loss(model: RobotModel) -> Iterator[str]:
    in_world = tuple(Expression.of(x) for x in apply(model.base.R, model.gravity))
    if in_world != _DOWN:
        yield f"gravity is {numbers_text(in_world)}; readers of URDF take 0 0 -9.81"


def _limit_losses(parts: list[WrittenLink]) -> Iterator[str]:
    """Sentences about limits that URDF asks for and the robot does not have."""
    found = []
    for part in parts:
        limits = part.link.limits
        asked = part.link.joint == "prismatic" or limits.position is not None
        given = limits.velocity is not None, limits.torque is not None
        if (asked and not (all(given) and limits.position)) or (any(given) and not all(given)):
            found.append(part.link.joint_label)
    if found:
        yield f"URDF asks for limits that the robot does not have ({names(found)}): 1e9 stands for none"


def _closure_losses(model: RobotModel) -> Iterator[str]:
    """Sentences about closures, springs and passive joints, which URDF does not have."""
    if model.loops:
        labels = ", ".join(quoted(loop.label) for loop in model.loops)
        yield f"loops ({labels}) are left open: the links on both sides move freely in the file"
    if found := [link.name for link in model.links if not link.spring.is_zero]:
        yield f"springs at joints ({names(found)}) are left out"
    if model.springs:
        labels = ", ".join(spring_place(i, spring) for i, spring in enumerate(model.springs))
        yield f"springs between points ({labels}) are left out"
    if found := [link.name for link in model.links if not link.actuated]:
        yield f"that nothing drives some joints ({names(found)}) is not said"


class _UrdfWriter:
    """Writes the links and joints into the element `robot`."""

    def __init__(self, root: ET.Element, model: RobotModel, parts: list[WrittenLink]) -> None:
        self.root, self.model, self.parts = root, model, parts
        self.links = {model.root, *model.index}
        self.joints = {part.joint for part in parts}

    def write(self, has_tool: bool) -> None:
        model = self.model
        if model.base != Transform():
            world = self.new_link("world")
            add(self.root, "link", name=model.root)
            self.fixed(self.new_joint(f"{world}_{model.root}"), world, model.root, model.base)
        else:
            add(self.root, "link", name=model.root)
        for part in self.parts:
            self.piece(part)
        if has_tool:
            tool = self.new_link("tool")
            self.fixed(self.new_joint(f"{tool}_joint"), model.tip, tool, model.tool)
        for part in self.parts:
            if part.motor is not None:
                self.transmission(part)

    def new_link(self, name: str) -> str:
        """A link without a body, with a name that is not taken."""
        name = unused(name, self.links)
        self.links.add(name)
        add(self.root, "link", name=name)
        return name

    def new_joint(self, name: str) -> str:
        name = unused(name, self.joints)
        self.joints.add(name)
        return name

    def piece(self, part: WrittenLink) -> None:
        """A link, its joint, and the link's frame where the joint's axis passes beside it."""
        link = part.link
        if not part.is_shifted:
            self.body(add(self.root, "link", name=link.name), part, ZERO3)
            self.joint(part, link.name)
            return
        moving = unused(f"{link.name}_body", self.links)
        self.links.add(moving)
        self.body(add(self.root, "link", name=moving), part, part.shift)
        self.joint(part, moving)
        add(self.root, "link", name=link.name)
        self.fixed(self.new_joint(f"{link.name}_frame"), moving, link.name, Transform(IDENTITY, part.shift))

    def body(self, element: ET.Element, part: WrittenLink, shift: Vector) -> None:
        if not part.has_body:
            return
        inertial = add(element, "inertial")
        self.pose(inertial, Transform(IDENTITY, plus(part.com, shift)))
        add(inertial, "mass", value=number_text(part.inertia.mass))
        entries = zip(TENSOR_KEYS, part.tensor, strict=True)
        add(inertial, "inertia", **{f"i{key}": number_text(x) for key, x in entries})

    def pose(self, element: ET.Element, T: Transform) -> None:
        rpy = rpy_of(T.R) or numeric_rpy([[Expression.of(x).value() for x in row] for row in T.R])
        add(element, "origin", xyz=numbers_text(T.p), rpy=numbers_text(rpy))

    def fixed(self, name: str, parent: str, child: str, T: Transform) -> None:
        joint = add(self.root, "joint", name=name, type_="fixed")
        self.pose(joint, T)
        add(joint, "parent", link=parent)
        add(joint, "child", link=child)

    def joint(self, part: WrittenLink, child: str) -> None:
        link = part.link
        if link.joint == "fixed":
            self.fixed(part.joint, link.parent, child, part.origin)
            return
        endless = link.joint == "revolute" and link.limits.position is None
        joint = add(self.root, "joint", name=part.joint, type_="continuous" if endless else link.joint)
        self.pose(joint, part.origin)
        add(joint, "parent", link=link.parent)
        add(joint, "child", link=child)
        add(joint, "axis", xyz=direction_text(part.axis))
        if not (part.viscous.is_zero and part.coulomb.is_zero):
            friction = number_text(part.coulomb)
            add(joint, "dynamics", damping=number_text(part.viscous), friction=friction)
        self.limits(joint, part, endless)
        if part.mimic is not None:
            multiplier, offset = number_text(part.mimic.multiplier), number_text(part.mimic.offset)
            add(joint, "mimic", joint=part.mimic.joint, multiplier=multiplier, offset=offset)

    def limits(self, joint: ET.Element, part: WrittenLink, endless: bool) -> None:
        limits = part.link.limits
        lower, upper = limits.position or (-UNLIMITED, UNLIMITED)
        given = [x for x in (limits.velocity, limits.torque) if x is not None]
        if endless and not given:
            return
        velocity, torque = (UNLIMITED if x is None else x for x in (limits.velocity, limits.torque))
        add(
            joint,
            "limit",
            lower=None if endless else number_text(lower),
            upper=None if endless else number_text(upper),
            effort=number_text(torque),
            velocity=number_text(velocity),
        )

    def transmission(self, part: WrittenLink) -> None:
        assert part.motor is not None
        gear, inertia = number_text(part.motor.gear), number_text(part.motor.axial)
        element = add(self.root, "transmission", name=f"{part.joint}_transmission")
        add(element, "type").text = "transmission_interface/SimpleTransmission"
        joint = add(element, "joint", name=part.joint)
        add(joint, "hardwareInterface").text = "hardware_interface/EffortJointInterface"
        actuator = add(element, "actuator", name=f"{part.joint}_motor")
        add(actuator, "mechanicalReduction").text = gear
        add(actuator, "drake:gear_ratio", value=gear)
        add(actuator, "drake:rotor_inertia", value=inertia)
