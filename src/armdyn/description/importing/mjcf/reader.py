"""MJCF -> RawTree, through the package mujoco: it knows defaults, units and frames, and computes inertias.

What is read, and how:

- The fixed base is the link "world". A body is a link, with the body's frame; a body with several joints gets
  massless links between them, which are called after their joints.
- `armature` is the inertia of a rotor, reflected by the `gear` of the joint's actuator (1 without one).
- `damping` is viscous friction, `frictionloss` Coulomb friction; `actuatorfrcrange` and `forcerange` limit
  the torque. A joint equality is a relation between two joints.
- Gains and dynamics of actuators, contacts, sensors and key frames are left out.
- `stiffness` and `springref` of joints are springs; equalities between bodies and tendons that are springs
  between two points are read in `ties`.
- Gravity compensation, fluids and other tendons that pull are refused: the dynamics would be wrong without
  them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from armdyn.description.errors import DescriptionError
from armdyn.description.importing.mjcf.actuators import read_motors, torque_limit
from armdyn.description.importing.mjcf.frames import (
    direction,
    exact_numbers,
    given,
    inertial_rotation,
    rotation,
    snapped_rotation,
)
from armdyn.description.importing.mjcf.refusals import refuse_forces, relate
from armdyn.description.importing.mjcf.spec import Spec, compiled, numbers_of
from armdyn.description.importing.mjcf.text import Source
from armdyn.description.importing.mjcf.ties import read_ties
from armdyn.description.importing.options import Options
from armdyn.description.importing.tree import (
    LOOSE,
    Place,
    RawBody,
    RawJoint,
    RawKind,
    RawLink,
    RawTree,
    Remarks,
)
from armdyn.description.importing.values import place_of
from armdyn.description.importing.xml_text import Element
from armdyn.expression import Expression, ExpressionError
from armdyn.model.friction import Friction
from armdyn.model.inertia import tensor
from armdyn.model.parts import Limits, Transform
from armdyn.model.robot_model import quoted
from armdyn.model.springs import NO_SPRING, JointSpring
from armdyn.model.vector import IDENTITY, ZERO3, Vector, neg, rotation_about, scale, vector

WORLD = "world"
_KINDS: tuple[RawKind, ...] = ("floating", "ball", "prismatic", "revolute")  # free, ball, slide, hinge
_FULL = (0, 3, 4, 1, 5, 2)  # xx xy xz yy yz zz in fullinertia's xx yy zz xy xz yz


def read_mjcf(root: Element, source: str, folder: Path | None, options: Options) -> RawTree:
    """The tree of an MJCF document; `folder` is where included files lie, None for a text."""
    document = Source(root, folder)
    spec = compiled(document, source)
    try:
        return _Reader(document, spec, source, options).tree()
    except ExpressionError as error:  # a number that is infinite
        raise DescriptionError(f"{source}: {error}") from None


@dataclass
class _Reader:
    document: Source
    spec: Spec
    source: str
    options: Options
    remarks: Remarks = field(default_factory=Remarks)
    names: list[str] = field(default_factory=list)  # of bodies, by number
    joints: list[str] = field(default_factory=list)  # names, by number

    def tree(self) -> RawTree:
        spec = self.spec
        self.names = _named(spec.body_names, "body", [WORLD])
        self.names[0] = WORLD
        self.joints = _named(spec.joint_names, "joint", [])
        links, joints = [RawLink(WORLD)], list[RawJoint]()
        for body in range(1, len(self.names)):
            self._body(body, links, joints)
        tree = RawTree(self.document.name, self.source, links, joints, self._gravity(), self.remarks)
        motors = read_motors(spec, self.joints, self.remarks)
        tree.joints = [
            replace(joint, motor=motors.get(joint.name), limits=self._limits(joint, spec))
            if joint.kind in ("revolute", "prismatic")
            else joint
            for joint in joints
        ]
        relate(tree, spec, self.joints)
        read_ties(tree, spec, self.names, self.joints, self.options)
        refuse_forces(tree, spec, self.names, self.joints, self.options)
        return tree

    def _gravity(self) -> Vector:
        if self.spec.is_off("gravity"):
            self.remarks.note("gravity is switched off in the file")
            return ZERO3
        return vector(exact_numbers(self.spec.model.opt.gravity))

    def _place(self, tag: str, name: str) -> Place:
        element = self.document.element(tag, name)
        if element is None:
            return Place(0, f"{tag} {quoted(name)}")
        place = place_of(element)
        return place if element.source == self.source else replace(place, file=element.source)

    # ---- bodies ----------------------------------------------------------------------------------------

    def _body(self, body: int, links: list[RawLink], joints: list[RawJoint]) -> None:
        """A body, its joints, and the links between them."""
        model, name = self.spec.model, self.names[body]
        link = RawLink(name, self._inertial(body), self._place("body", name))
        parent = self.names[int(model.body_parentid[body])]
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        origin = self._pose(body)
        if not count:
            links.append(link)
            joint = self._unused(f"{name}_fixed", joints)
            joints.append(RawJoint(joint, "fixed", parent, name, origin, place=link.place))
        for j in range(first, first + count):
            last = j == first + count - 1
            child = name if last else self._unused_link(f"{self.joints[j]}_link", links)
            links.append(link if last else RawLink(child, place=link.place))
            joints.append(self._joint(j, parent, child, origin))
            parent, origin = child, Transform()

    def _unused(self, name: str, joints: list[RawJoint]) -> str:
        return _free(name, {*self.joints, *(joint.name for joint in joints)})

    def _unused_link(self, name: str, links: list[RawLink]) -> str:
        return _free(name, {*self.names, *(link.name for link in links)})

    def _pose(self, body: int) -> Transform:
        model = self.spec.model
        quaternion = given(self.spec.written(body, "quat"), [float(x) for x in model.body_quat[body]])
        R = rotation(quaternion)
        snapped = snapped_rotation(R) if R != IDENTITY else None
        if snapped is not None and self.options.snap:
            self.remarks.note(f"body {quoted(self.names[body])}: {snapped[1]}")
            R = snapped[0]
        return Transform(R, vector(exact_numbers(model.body_pos[body])))

    def _inertial(self, body: int) -> RawBody | None:
        """The body's mass and tensor as written, or as MuJoCo has them."""
        model = self.spec.model
        mass = float(model.body_mass[body])
        moments = [float(x) for x in model.body_inertia[body]]
        if mass == 0 and not any(moments):
            return None
        place = self._place("body", self.names[body])
        com = vector(exact_numbers(model.body_ipos[body]))
        if (full := self.spec.full_inertia(body)) is not None:
            entries = exact_numbers([full[i] for i in _FULL])
            return RawBody(Expression.of(mass), com, IDENTITY, tensor(entries), place)
        a, b, c = exact_numbers(moments)
        zero = Expression.of(0)
        R = inertial_rotation(
            given(self.spec.written(body, "iquat"), [float(x) for x in model.body_iquat[body]])
        )
        return RawBody(Expression.of(mass), com, R, (a, zero, zero, b, zero, c), place)

    # ---- joints ----------------------------------------------------------------------------------------

    def _joint(self, j: int, parent: str, child: str, origin: Transform) -> RawJoint:
        model, name = self.spec.model, self.joints[j]
        place = self._place("joint", name)
        kind = int(model.jnt_type[j])
        if _KINDS[kind] in LOOSE:
            return RawJoint(name, _KINDS[kind], parent, child, origin, place=place)
        written = given(self.spec.written_axis(j), [float(x) for x in model.jnt_axis[j]])
        axis, change = direction(written, self.options.snap)
        if change:
            self.remarks.note(f"axis of joint {quoted(name)}: {change}")
        dof = int(model.jnt_dofadr[j])
        viscous, coulomb = exact_numbers([model.dof_damping[dof], model.dof_frictionloss[dof]])
        if self.spec.is_off("damper"):
            viscous = Expression.of(0)
        if self.spec.is_off("frictionloss"):
            coulomb = Expression.of(0)
        before, after = self._around(j, _KINDS[kind], axis)
        return RawJoint(
            name=name,
            kind=_KINDS[kind],
            parent=parent,
            child=child,
            origin=origin @ before,
            axis=axis,
            after=after,
            friction=Friction(viscous=viscous, coulomb=(coulomb, -coulomb)),
            spring=self._spring(j),
            place=place,
        )

    def _spring(self, j: int) -> JointSpring:
        """MuJoCo's −stiffness·(q − springref), with springref in rad or m."""
        model = self.spec.model
        stiffness = next(numbers_of(model.jnt_stiffness[j]))
        if self.spec.is_off("spring") or not stiffness:
            return NO_SPRING
        k, rest = exact_numbers([stiffness, model.qpos_spring[int(model.jnt_qposadr[j])]])
        return JointSpring(k, rest)

    def _around(self, j: int, kind: RawKind, axis: Vector) -> tuple[Transform, Transform]:
        """The joint's place in the body, there and back; MuJoCo's zero is where the file draws the joint."""
        model = self.spec.model
        (reference,) = exact_numbers([model.qpos0[int(model.jnt_qposadr[j])]])
        if kind == "prismatic":
            return Transform(IDENTITY, scale(-reference, axis)), Transform()
        at = vector(exact_numbers(model.jnt_pos[j]))
        there, back = Transform(IDENTITY, at), Transform(IDENTITY, neg(at))
        if not reference.is_zero:
            turned = rotation_about(axis, reference.cos(), -reference.sin())
            there = there @ Transform(turned)
        shifted = any(not x.is_zero for x in at)
        return there, back if shifted else Transform()

    def _limits(self, joint: RawJoint, spec: Spec) -> Limits:
        j = self.joints.index(joint.name)
        position = None
        if spec.model.jnt_limited[j]:
            low, high = exact_numbers(spec.model.jnt_range[j])
            position = (low, high)
        return Limits(position, torque=torque_limit(spec, j, joint.name, self.remarks))


def _named(names: list[str], what: str, taken: list[str]) -> list[str]:
    """Names for all: what has none is called after its number."""
    known = {*taken, *names}
    found = []
    for i, name in enumerate(names):
        if not name:
            name = _free(f"{what}{i}", known)
            known.add(name)
        found.append(name)
    return found


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
