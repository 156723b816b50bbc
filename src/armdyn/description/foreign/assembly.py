"""RobotModel from a RawTree: the part of it that is wanted, mimic joints, bodies in link axes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from armdyn.description.foreign.tree import LOOSE, Mimic, RawBody, RawJoint, RawTree
from armdyn.description.foreign.urdf import read_urdf
from armdyn.description.foreign.xml_text import Document, parse
from armdyn.description.frames import unit_vector
from armdyn.description.plausibility import suspicions
from armdyn.description.source import MAX_PRODUCTS, DescriptionError, Options
from armdyn.expression import (
    ONE,
    ArmdynError,
    Expression,
    ExpressionError,
    TooLargeError,
    limited,
    shown,
)
from armdyn.model import PhysicsWarning, impossible_bodies, impossible_inertia
from armdyn.model.bodies import TOLERANCE
from armdyn.model.closures import Relation
from armdyn.model.errors import number
from armdyn.model.inertia import Inertia, Tensor, matrix_tensor, tensor, tensor_matrix
from armdyn.model.parts import JointKind, Link, Motor
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import IDENTITY, Vector, apply, vector
from armdyn.names import listed, quoted
from armdyn.remarks import Remark, warn

# ------------------------------------------------------------------------------------------------------------
# Impossible bodies replaced by the nearest possible ones.


# Principal moments are sums of second moments, of which none is negative: I₁ = s₂ + s₃ and so on.
_SUMS = np.ones((3, 3)) - np.eye(3)


def repaired_tensor(given: Tensor) -> tuple[Tensor, str] | None:
    """The possible tensor nearest to this one, and what was changed; None where it is possible already.

    Nearest by the sum of squares of all entries: the axes stay, and the principal moments become the nearest
    ones that are not negative and keep the triangle inequality.
    """
    M = np.array([[Expression.of(x).value() for x in row] for row in tensor_matrix(given)])
    moments, axes = np.linalg.eigh(M)
    size = float(abs(moments).max())
    low, middle, high = moments
    if low >= -TOLERANCE * size and high <= low + middle + TOLERANCE * size:
        return None
    nearest = _nearest_moments(moments)
    R = axes * nearest @ axes.T
    entries = [[Expression.of(float(x)) for x in row] for row in (R + R.T) / 2]
    found = ", ".join(f"{x:.6g}" for x in moments)
    taken = ", ".join(f"{x:.6g}" for x in nearest)
    rows = vector(vector(row) for row in entries)
    return tensor(matrix_tensor(rows)), f"principal moments {found} become {taken}"


def _nearest_moments(moments: np.ndarray) -> np.ndarray:
    """The nearest sums of second moments that are not negative, by trying which of them are zero."""
    best, least = np.zeros(3), float(np.sum(moments**2))
    for kept in product((False, True), repeat=3):
        if not any(kept):
            continue
        A = _SUMS[:, kept]
        second = np.linalg.lstsq(A, moments, rcond=None)[0]
        if (second < 0).any():
            continue
        found = A @ second
        distance = float(np.sum((found - moments) ** 2))
        if distance < least:
            best, least = found, distance
    return best


# ------------------------------------------------------------------------------------------------------------
# The model of a tree.


_SHOWN = 5  # names in a note
_CALLER = 5  # how far up the caller of Robot.load is


def model_of(tree: RawTree, options: Options) -> RobotModel:
    """The model of a tree, with a warning for what was repaired and for what looks wrong."""
    try:
        with limited(MAX_PRODUCTS):
            tree.check(options.repair)
            model = _Assembly(tree, options).model()
    except TooLargeError as error:
        raise DescriptionError(f"{tree.source}: the description is {error}") from None
    doubts = [Remark(text, "warning", tree.source) for text in suspicions(model, angles=False)]
    warn([*tree.remarks.about(tree.source), *doubts], PhysicsWarning, _CALLER)
    return model


@dataclass
class _Assembly:
    """One tree under one set of options."""

    tree: RawTree
    options: Options
    root: str = ""
    joints: list[RawJoint] = field(default_factory=list)  # those below the root
    by_name: dict[str, RawJoint] = field(default_factory=dict)  # all of the file

    def model(self) -> RobotModel:
        tree = self.tree
        self.by_name = {joint.name: joint for joint in tree.joints}
        self.root = self._root()
        self.joints = tree.below(self.root)
        self._check_mimics()
        lock = self._weld_loose_joints()
        if all(self._kind(joint) == "fixed" for joint in self.joints):
            raise self._wrong(self._why_none_moves())
        bodies = self._bodies()
        links = tuple(self._link(joint, bodies[joint.child]) for joint in self.joints)
        try:
            model = RobotModel(
                name=tree.name,
                links=links,
                gravity=tree.gravity,
                rotors="reflected" if any(link.motor for link in links) else "exact",
                tip=self.root,
                root=self.root,
                relations=self._relations(),
                loops=tuple(tree.loops),
                springs=tuple(tree.springs),
                source=tree.source if tree.is_file else "",
            )
            self._refuse_impossible(model)
            model = self.options.shaped(model, tree.source, lock)
        except DescriptionError:
            raise
        except ArmdynError as error:
            raise DescriptionError(f"{tree.source}: {error}") from None
        tip = self.options.tip if self.options.tip is not None else self._last(model)
        return replace(model, tip=tip, remarks=(*tree.remarks.about(tree.source), *model.remarks))

    # ---- choosing --------------------------------------------------------------------------------------

    def _root(self) -> str:
        """The link that is the fixed base."""
        names = [link.name for link in self.tree.links]
        base = self.options.base
        if base is not None:
            if base not in names:
                raise self._wrong_option("base", f"there is no link {shown(base)}; links: {listed(names)}")
            return base
        roots = self.tree.roots
        if len(roots) == 1:
            return roots[0].name
        found = listed([f"{link.name} ({link.place})" for link in roots])
        reason = f"{len(roots)} links have no parent: {found}; a robot has one base (base= chooses one)"
        raise self.tree.error(roots[1].place, reason)

    def _last(self, model: RobotModel) -> str:
        """The link at the end of the chain with the most moving joints; the first of several in the file."""
        depth = {self.root: 0}
        for link in model.links:
            depth[link.name] = depth[link.parent] + (link.joint != "fixed")
        parents = {link.parent for link in model.links}
        ends = [link.name for link in model.links if link.name not in parents]
        best = max(ends, key=lambda name: depth[name])
        if len(ends) > 1:
            others = [name for name in ends if name != best]
            rest = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
            self.tree.remarks.note(
                f"the tip is on link '{best}', the end of the chain with the most moving joints "
                f"(other ends: {listed(others[:_SHOWN])}{rest}); "
                "tip= chooses another and welds the joints beside its chain"
            )
        return best

    def _why_none_moves(self) -> str:
        could = [joint.name for joint in self.joints if joint.kind != "fixed"]
        if not self.joints:
            return f"there is no link below the base {quoted(self.root)}"
        if not could:
            return "the robot has no moving joint: all are fixed"
        return f"the robot has no moving joint: lock= or tip= holds {listed(could)}"

    def _wrong_option(self, option: str, reason: str) -> DescriptionError:
        return DescriptionError(f"{option}: {self.tree.source}: {reason}")

    def _wrong(self, reason: str) -> DescriptionError:
        return DescriptionError(f"{self.tree.source}: {reason}")

    # ---- joints of several freedoms --------------------------------------------------------------------

    def _weld_loose_joints(self) -> dict[str, object]:
        """Weld floating, planar and ball joints where that is asked for; what is to be locked besides."""
        lock = dict(self.options.lock or {})
        chain = self._chain()
        for joint in self.joints:
            if joint.kind not in LOOSE:
                continue
            asked = [name for name in (joint.name, joint.child) if name in lock]
            for name in asked:
                if not _is_zero(lock.pop(name)):
                    reason = f"is {joint.kind}: only 0 is allowed, which welds it where it stands"
                    raise self._wrong_option("lock", f"joint {quoted(joint.name)} {reason}")
            if not asked and (chain is None or joint.name in chain):
                raise self._too_free(joint)
            why = "" if asked else ", as it is not on the chain to the tip"
            self.tree.remarks.note(f"joint {quoted(joint.name)} is locked at 0{why}")
        return lock

    def _chain(self) -> set[str] | None:
        """The joints between base and tip; None where no tip was asked for."""
        above = {joint.child: joint for joint in self.joints}
        name = self.options.tip
        if name is None:
            return None
        found = set()
        while name in above:
            found.add(above[name].name)
            name = above[name].parent
        return found

    def _too_free(self, joint: RawJoint) -> DescriptionError:
        goes_on = any(below.kind != "fixed" for below in self.tree.below(joint.child))
        choose = f"choose base={joint.child!r}, or " if goes_on else ""
        return self.tree.error(
            joint.place,
            f"a {joint.kind} joint has {LOOSE[joint.kind]} degrees of freedom, and a robot here has "
            f"joints of one on a fixed base: {choose}weld it with lock={{{joint.name!r}: 0}}",
        )

    def _check_mimics(self) -> None:
        """Refuse a mimic of an unknown joint, or of itself by way of others."""
        for joint in self.joints:
            seen = [joint.name]
            mimic: Mimic | None = joint.mimic
            while mimic is not None:
                if mimic.joint not in self.by_name:
                    known = listed(list(self.by_name))
                    found = f"it mimics joint {quoted(mimic.joint)}, which does not exist; joints: {known}"
                    raise self.tree.error(joint.place, found)
                if mimic.joint in seen:
                    chain = " - ".join([*seen, mimic.joint][:20])
                    raise self.tree.error(joint.place, f"joints mimic each other in a circle: {chain}")
                seen.append(mimic.joint)
                mimic = self.by_name[mimic.joint].mimic

    # ---- building --------------------------------------------------------------------------------------

    def _kind(self, joint: RawJoint) -> JointKind:
        return "fixed" if joint.kind in LOOSE else joint.kind  # type: ignore[return-value]

    def _link(self, joint: RawJoint, body: RawBody | None) -> Link:
        kind = self._kind(joint)
        inertia = Inertia() if body is None else inertia_of(body)
        if kind == "fixed":
            origin = joint.origin @ joint.after
            return Link(joint.child, joint.parent, "fixed", origin, inertia=inertia, joint_name=joint.name)
        return Link(
            name=joint.child,
            parent=joint.parent,
            joint=kind,
            before=joint.origin,
            axis=joint.axis,
            after=joint.after,
            inertia=inertia,
            friction=joint.friction,
            limits=joint.limits,
            motor=self._motor(joint),
            joint_name=joint.name,
            spring=joint.spring,
            actuated=joint.actuated,
            guess=joint.guess,
        )

    def _motor(self, joint: RawJoint) -> Motor | None:
        """A rotor on the joint's parent that spins about the joint's axis: all that can be assumed."""
        raw = joint.motor
        if raw is None:
            return None
        return Motor(
            joint.parent,
            _in_parent(joint),
            raw.gear,
            raw.axial,
            friction=raw.friction,
            torque_constant=raw.torque_constant,
        )

    def _relations(self) -> tuple[Relation, ...]:
        """q_follower − multiplier · q_leader = offset of mimic joints; without the leader where it stands."""
        moving = {joint.name: joint.child for joint in self.joints if self._kind(joint) != "fixed"}
        found = []
        for joint in self.joints:
            if joint.mimic is not None and joint.name in moving:
                terms = [(joint.child, ONE)]
                if joint.mimic.joint in moving and not joint.mimic.multiplier.is_zero:
                    terms.append((moving[joint.mimic.joint], -joint.mimic.multiplier))
                found.append(Relation(tuple(terms), joint.mimic.offset))
        return tuple(found)

    def _bodies(self) -> dict[str, RawBody | None]:
        """The bodies by link, those that move or may move repaired where that is asked for."""
        bodies = {link.name: link.body for link in self.tree.links}
        for joint in self.joints if self.options.repair else ():
            body = bodies[joint.child]
            if body is not None and (repaired := repaired_tensor(body.tensor)) is not None:
                bodies[joint.child] = replace(body, tensor=repaired[0])
                self.tree.remarks.warn(f"{body.place}: link {quoted(joint.child)}: {repaired[1]}")
        return bodies

    # ---- bodies ----------------------------------------------------------------------------------------

    def _refuse_impossible(self, model: RobotModel) -> None:
        """Name line and element of a body that no matter forms; the base's own is not used."""
        bodies = {link.name: link.body for link in self.tree.links}
        for link in model.links:
            body = bodies[link.name]
            for problem in () if body is None else _impossible(model, link.inertia):
                can = "principal" in problem and not self.options.repair
                hint = " (repair=True takes the nearest tensor that a body can have)" if can else ""
                assert body is not None
                raise self.tree.error(body.place, f"link {quoted(link.name)}: {problem}{hint}")
        for problem in impossible_bodies(model):
            raise self._wrong(problem)
        base = bodies[self.root]
        for problem in () if base is None else _impossible(model, inertia_of(base)):
            assert base is not None
            text = f"link {quoted(self.root)}, the base: {problem}; the base's inertia is not used"
            self.tree.remarks.warn(f"{base.place}: {text}")


def _is_zero(position: object) -> bool:
    try:
        return number("lock", position).is_zero
    except ArmdynError as error:
        raise DescriptionError(str(error)) from None


def _impossible(model: RobotModel, inertia: Inertia) -> Iterator[str]:
    try:
        yield from impossible_inertia(model, inertia)
    except ExpressionError as error:
        yield f"mass, com and inertia: {error}"


def _in_parent(joint: RawJoint) -> Vector:
    """A joint's axis in its parent's frame; where both are askew, next to what floats give."""
    R, axis = joint.origin.R, joint.axis
    if R == IDENTITY:
        return axis
    straight = sum(not Expression.of(x).is_zero for x in axis) == 1
    if straight or all(Expression.of(x).number is not None for row in R for x in row):
        return apply(R, axis)
    R_floats = vector(vector(Expression.of(x).value() for x in row) for row in R)
    turned = apply(R_floats, vector(Expression.of(x).value() for x in axis))
    return unit_vector([Expression.of(x) for x in turned])


def inertia_of(body: RawBody) -> Inertia:
    """A body about its link's origin, in link axes."""
    return Inertia.at_com(body.mass, body.com, _turned(body))


def _turned(body: RawBody) -> Tensor:
    """The tensor in link axes; in floating-point numbers where R is in them."""
    if body.R == IDENTITY or all(Expression.of(x).is_zero for x in body.tensor):
        return body.tensor
    if not isinstance(body.R[0][0], float):
        return Inertia(tensor=body.tensor).rotated(body.R).tensor
    floats = Inertia(tensor=tensor(Expression.of(x).value() for x in body.tensor)).rotated(body.R)
    return tensor(Expression.of(x) for x in floats.tensor)


# ------------------------------------------------------------------------------------------------------------
# Any XML text or file, read as its root element says.


def from_xml(content: str | bytes, source: str, options: Options) -> RobotModel:
    """A robot from a text (str) or from the content of a file (bytes), in URDF or MJCF."""
    document = parse(content, source, tolerant=options.repair)
    folder = Path(source).parent if isinstance(content, bytes) else None
    tree = _read(document, source, folder, options)
    tree.is_file = isinstance(content, bytes)
    for text in document.tolerated:
        tree.remarks.warn(text)
    return model_of(tree, options)


def _read(document: Document, source: str, folder: Path | None, options: Options) -> RawTree:
    root = document.root
    if root.tag == "robot":
        return read_urdf(root, source, options)
    if root.tag == "mujoco":
        from armdyn.description.foreign.mjcf import read_mjcf  # rarely needed

        return read_mjcf(root, source, folder, options)
    raise root.error("not a robot: the root element is <robot> (URDF) or <mujoco> (MJCF)")
