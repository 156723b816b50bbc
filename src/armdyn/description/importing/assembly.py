"""RawTree -> RobotModel: the part of it that is wanted, locked joints, mimic joints, bodies in link axes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from armdyn.description.direction import unit_vector
from armdyn.description.errors import MAX_PRODUCTS, DescriptionError
from armdyn.description.importing.options import Options
from armdyn.description.importing.repair import repaired_tensor
from armdyn.description.importing.tree import LOOSE, Mimic, RawBody, RawJoint, RawTree
from armdyn.description.plausibility import suspicions
from armdyn.expression import (
    ONE,
    ZERO,
    ArmdynError,
    Expression,
    ExpressionError,
    MissingValueError,
    TooLargeError,
    limited,
    shown,
)
from armdyn.model import PhysicsWarning, impossible_bodies, impossible_inertia
from armdyn.model.arguments import number
from armdyn.model.closures.relations import Relation
from armdyn.model.inertia import Inertia, Tensor, tensor
from armdyn.model.parts import JointKind, Link, Motor, Transform
from armdyn.model.robot_model import RobotModel, listed, quoted
from armdyn.model.vector import IDENTITY, Vector, apply, rotation_about, scale, vector

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
    for text in (*tree.remarks.warnings, *suspicions(model, angles=False)):
        warnings.warn(f"{tree.source}: {text}", PhysicsWarning, stacklevel=_CALLER)
    return model


@dataclass
class _Assembly:
    """One tree under one set of options."""

    tree: RawTree
    options: Options
    root: str = ""
    joints: list[RawJoint] = field(default_factory=list)  # those below the root
    by_name: dict[str, RawJoint] = field(default_factory=dict)  # all of the file
    locked: dict[str, Expression] = field(default_factory=dict)  # joint -> position

    def model(self) -> RobotModel:
        tree = self.tree
        self.by_name = {joint.name: joint for joint in tree.joints}
        self.root = self._root()
        self.joints = tree.below(self.root)
        self._check_mimics()
        self.locked = self._asked_locks()
        path = self._path()
        if path is not None:
            for joint in self.joints:
                if joint.name not in path and joint.kind != "fixed":
                    self.locked.setdefault(joint.name, self._left_out(joint))
        self._lock_followers()
        self._refuse_loose_joints()
        if all(self._kind(joint) == "fixed" for joint in self.joints):
            raise self._wrong(self._why_none_moves())
        bodies = self._bodies()
        links = tuple(self._link(joint, bodies[joint.child]) for joint in self.joints)
        tip = self.options.tip if self.options.tip is not None else self._last()
        try:
            model = RobotModel(
                name=tree.name,
                links=links,
                gravity=tree.gravity,
                rotors="reflected" if any(link.motor for link in links) else "exact",
                tip=tip,
                root=self.root,
                relations=self._relations(),
                loops=tuple(tree.loops),
                springs=tuple(tree.springs),
                source=tree.source if tree.is_file else "",
            )
            self._refuse_impossible(model)
        except DescriptionError:
            raise
        except ArmdynError as error:
            raise DescriptionError(f"{tree.source}: {error}") from None
        self._say_what_is_locked()
        object.__setattr__(model, "notes", tuple(tree.remarks.notes))
        return model

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

    def _path(self) -> set[str] | None:
        """The joints between base and tip; None where no tip was asked for."""
        tip = self.options.tip
        if tip is None:
            return None
        above = {joint.child: joint for joint in self.joints}
        if tip == self.root or tip not in above:
            names = listed([joint.child for joint in self.joints])
            raise self._wrong_option(
                "tip", f"{shown(tip)} is no link below the base {quoted(self.root)}; links: {names}"
            )
        path = set()
        while tip in above:
            path.add(above[tip].name)
            tip = above[tip].parent
        return path

    def _last(self) -> str:
        """The link at the end of the chain with the most moving joints; the first of several in the file."""
        depth = {self.root: 0}
        for joint in self.joints:
            depth[joint.child] = depth[joint.parent] + (self._kind(joint) != "fixed")
        parents = {joint.parent for joint in self.joints}
        ends = [joint.child for joint in self.joints if joint.child not in parents]
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
        return f"the robot has no moving joint: lock=, tip= or mimic holds {listed(could)}"

    def _wrong_option(self, option: str, reason: str) -> DescriptionError:
        return DescriptionError(f"{option}: {self.tree.source}: {reason}")

    def _wrong(self, reason: str) -> DescriptionError:
        return DescriptionError(f"{self.tree.source}: {reason}")

    # ---- locking ---------------------------------------------------------------------------------------

    def _asked_locks(self) -> dict[str, Expression]:
        """The positions that the caller gives, by joint."""
        by_link = {joint.child: joint for joint in self.tree.joints}
        found: dict[str, Expression] = {}
        for name, position in (self.options.lock or {}).items():
            joint = self.by_name.get(name) or by_link.get(name)
            if joint is None:
                known = listed([joint.name for joint in self.tree.joints if joint.kind != "fixed"])
                raise self._wrong_option(
                    "lock", f"there is no joint or link {shown(name)}; moving joints: {known}"
                )
            if joint.kind == "fixed":
                raise self._wrong_option("lock", f"joint {quoted(joint.name)} is fixed already")
            if joint.mimic is not None:
                reason = f"follows joint {quoted(joint.mimic.joint)}; lock that one"
                raise self._wrong_option("lock", f"joint {quoted(joint.name)} {reason}")
            if joint.name in found:
                raise self._wrong_option(
                    "lock", f"joint {quoted(joint.name)} is given twice, by its own name and its link's"
                )
            try:
                found[joint.name] = number(f"lock: joint {quoted(joint.name)}", position)
                found[joint.name].value()
            except MissingValueError as error:
                raise DescriptionError(f"lock: joint {quoted(joint.name)}: {error}") from None
            except ArmdynError as error:
                raise DescriptionError(str(error)) from None
            if joint.kind in LOOSE and not found[joint.name].is_zero:
                reason = f"is {joint.kind}: only 0 is allowed, which welds it where it stands"
                raise self._wrong_option("lock", f"joint {quoted(joint.name)} {reason}")
        return found

    def _left_out(self, joint: RawJoint) -> Expression:
        """Where a joint beside the chain stands: 0, or where it follows another to from 0."""
        return joint.mimic.offset if joint.mimic is not None else ZERO

    def _lock_followers(self) -> None:
        """A joint that follows a locked, fixed or absent one, or nothing, stands still."""
        present = {joint.name for joint in self.joints}
        pending = [joint for joint in self.joints if joint.mimic is not None and joint.kind != "fixed"]
        for _ in range(len(pending)):  # followers of followers
            for joint in pending:
                mimic = joint.mimic
                assert mimic is not None
                leader = self.by_name[mimic.joint]
                stands = leader.name in self.locked or leader.name not in present or leader.kind == "fixed"
                if stands or mimic.multiplier.is_zero:
                    at = self.locked.get(leader.name, ZERO)
                    self.locked[joint.name] = mimic.multiplier * at + mimic.offset

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

    def _refuse_loose_joints(self) -> None:
        for joint in self.joints:
            if joint.kind in LOOSE and joint.name not in self.locked:
                goes_on = any(below.kind != "fixed" for below in self.tree.below(joint.child))
                choose = f"choose base={joint.child!r}, or " if goes_on else ""
                raise self.tree.error(
                    joint.place,
                    f"a {joint.kind} joint has {LOOSE[joint.kind]} degrees of freedom, and a robot here has "
                    f"joints of one on a fixed base: {choose}weld it with lock={{{joint.name!r}: 0}}",
                )

    def _say_what_is_locked(self) -> None:
        asked = self.options.lock or {}
        for joint in self.joints:
            position = self.locked.get(joint.name)
            if position is None:
                continue
            why = (
                ""
                if joint.name in asked or joint.child in asked
                else ", as it is not on the chain to the tip"
            )
            if joint.mimic is not None:
                why = f", as it follows joint {quoted(joint.mimic.joint)}"
            self.tree.remarks.note(f"joint {quoted(joint.name)} is locked at {position}{why}")
            if joint.limits.position is not None:
                low, high = (x.value() for x in joint.limits.position)
                if not low <= position.value() <= high:
                    text = f"outside its limits [{low:g}, {high:g}]; lock= sets another position"
                    self.tree.remarks.note(f"joint {quoted(joint.name)} is locked {text}")

    # ---- building --------------------------------------------------------------------------------------

    def _kind(self, joint: RawJoint) -> JointKind:
        if joint.name in self.locked or joint.kind in LOOSE:
            return "fixed"
        return joint.kind  # type: ignore[return-value]  # the other kinds are loose

    def _link(self, joint: RawJoint, body: RawBody | None) -> Link:
        kind = self._kind(joint)
        inertia = Inertia() if body is None else inertia_of(body)
        if kind == "fixed":
            origin = self._at(joint) @ joint.after
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

    def _at(self, joint: RawJoint) -> Transform:
        """origin · joint(q) of a joint that stands still."""
        position = self.locked.get(joint.name, ZERO)
        if position.is_zero or joint.kind not in ("revolute", "prismatic"):
            return joint.origin
        if joint.kind == "prismatic":
            return joint.origin @ Transform(IDENTITY, scale(position, joint.axis))
        return joint.origin @ Transform(rotation_about(joint.axis, position.cos(), position.sin()))

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
        """q_follower − multiplier · q_leader = offset, for the mimic joints that move."""
        found = []
        for joint in self.joints:
            if joint.mimic is not None and self._kind(joint) != "fixed":
                leader = self.by_name[joint.mimic.joint].child
                found.append(
                    Relation(((joint.child, ONE), (leader, -joint.mimic.multiplier)), joint.mimic.offset)
                )
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
