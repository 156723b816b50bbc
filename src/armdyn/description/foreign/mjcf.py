"""Reads MJCF through the package mujoco, which knows defaults, units and frames, and computes inertias.

What is read, and how:

- The fixed base is the link "world". A body is a link, with the body's frame; a body with several joints gets
  massless links between them, which are called after their joints.
- `armature` is the inertia of a rotor, reflected by the `gear` of the joint's actuator (1 without one).
- `damping` is viscous friction, `frictionloss` Coulomb friction; `actuatorfrcrange` and `forcerange` limit
  the torque. A joint equality is a relation between two joints.
- Gains and dynamics of actuators, contacts, sensors and key frames are left out.
- `stiffness` and `springref` of joints are springs. Equalities between bodies are closures, and tendons
  that are springs between two points are springs.
- Gravity compensation, fluids and other tendons that pull are refused: the dynamics would be wrong without
  them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from armdyn.description.foreign.mjcf_spec import Actuator, Equality, Frame, Spec, Tendon, compiled, numbers_of
from armdyn.description.foreign.mjcf_text import MjcfSource
from armdyn.description.foreign.tree import (
    LOOSE,
    NOWHERE,
    FilePlace,
    Mimic,
    RawBody,
    RawJoint,
    RawKind,
    RawLink,
    RawMotor,
    RawTree,
    Remarks,
    snap_text,
    snapped_direction,
)
from armdyn.description.foreign.xml_text import Element, place_of
from armdyn.description.frames import by_quaternion, frame, numeric_rpy, unit_vector
from armdyn.description.source import DescriptionError, Options
from armdyn.expression import ONE, ZERO, Expression, ExpressionError
from armdyn.model.closures import ClosingJoint
from armdyn.model.friction import FrictionCoefficients
from armdyn.model.inertia import tensor
from armdyn.model.parts import NO_SPRING, JointSpring, Limits, PointSpring, Transform
from armdyn.model.vector import IDENTITY, ZERO3, Matrix, Vector, neg, rotation_about, scale, vector
from armdyn.names import listed, quoted, unused

# ------------------------------------------------------------------------------------------------------------
# Quaternions and axes of MJCF as exact rotations and unit vectors.
#
# MuJoCo normalises both, so that only the ratios of their entries count. Ratios of small whole numbers are
# recognised: quat="1 -1 0 0" is a quarter turn, exactly. Any other quaternion is taken by its decimals as
# written; the rotation made of them is exactly orthogonal. With `snap`, a rotation whose entries
# are within `CLOSE` of one by multiples of π/12 becomes that one.


_LARGEST = 1000  # of whole numbers that are recognised by their ratios
_ROUNDING = 5e-16
CLOSE = 1e-5  # of the entries of a rotation: what five digits of a quaternion or of an angle leave


def exact_numbers(values: Sequence[float]) -> list[Expression]:
    """Doubles as the shortest decimals that they can be written as."""
    return [Expression.of(float(x) + 0.0) for x in values]


def given(written: Sequence[float], compiled: Sequence[float]) -> list[float]:
    """The entries as written, if MuJoCo has only normalised them, else as it has them."""
    length = math.hypot(*written)
    if not (math.isfinite(length) and length > 0):
        return list(compiled)
    same = all(abs(a / length - b) <= 4 * _ROUNDING for a, b in zip(written, compiled, strict=True))
    return list(written) if same else list(compiled)


def rotation(quaternion: Sequence[float]) -> Matrix:
    """The rotation of w x y z, which need not have length one."""
    q = _ratios(quaternion) or [Expression.of(float(v)).number or Fraction(0) for v in quaternion]
    return by_quaternion(q) if any(q[1:]) else IDENTITY


def inertial_rotation(quaternion: Sequence[float]) -> Matrix:
    """The same for the axes of a tensor: floats where it is no simple rotation, as numbers would get long."""
    R = rotation(quaternion)
    return R if _ratios(quaternion) else vector(vector(x.value() for x in row) for row in R)


def snapped_rotation(R: Matrix) -> tuple[Matrix, str] | None:
    """The rotation by multiples of π/12 that R stands for, and what changed; None where nothing does."""
    M = [[Expression.of(x).value() for x in row] for row in R]
    angles = numeric_rpy(M, flat=10 * CLOSE)
    exact = [Expression.pi() * Fraction(round(angle / (math.pi / 12)), 12) for angle in angles]
    turned = frame(ZERO3, vector(exact)).R
    pairs = [
        (Expression.of(a), Expression.of(b))
        for u, v in zip(turned, R, strict=True)
        for a, b in zip(u, v, strict=True)
    ]
    off = max(abs(a.value() - b.value()) for a, b in pairs)
    if off > CLOSE or all(a == b for a, b in pairs):
        return None
    rounded = [Expression.of(float(f"{angle:.7g}")) for angle in angles]
    return turned, f"rotation by roll, pitch, yaw: {snap_text(rounded, exact)}"


def direction(axis: Sequence[float], snap: bool = False) -> tuple[Vector, str]:
    """A unit vector, and what snapping changed."""
    entries = [Expression.of(x) for x in _ratios(axis) or ()] or exact_numbers(axis)
    if snap and (exact := snapped_direction(exact_numbers(axis))) is not None and not _ratios(axis):
        return exact, snap_text(entries, exact)
    return unit_vector(entries), ""


def _ratios(values: Sequence[float]) -> list[Fraction] | None:
    """The entries over the largest one, where these are ratios of small whole numbers."""
    largest = max(abs(float(x)) for x in values)
    found = [Fraction(float(x) / largest).limit_denominator(_LARGEST) for x in values]
    close = all(abs(float(r) - float(x) / largest) <= _ROUNDING for r, x in zip(found, values, strict=True))
    return found if close else None


# ------------------------------------------------------------------------------------------------------------
# Motors and limits of torque, from actuators and armatures.


def read_motors(spec: Spec, joints: list[str], remarks: Remarks) -> dict[str, RawMotor]:
    """Motors by joint; their inertia, reflected by the gear, is the joint's armature."""
    found: dict[str, RawMotor] = {}
    for j, name in enumerate(joints):
        acting = _acting(spec, j)
        gear = _gear(name, acting, remarks)
        dof = int(spec.model.jnt_dofadr[j])
        (armature,) = exact_numbers([spec.model.dof_armature[dof]])
        rotors = sum((_reflected(x.gear, x.armature) for x in acting), ZERO)
        damping = sum((_reflected(x.gear, x.damping) for x in acting), ZERO)
        axial = (armature + rotors) / (gear * gear)
        if axial.is_zero and damping.is_zero and gear == ONE:
            continue
        found[name] = RawMotor(
            gear, axial, friction=FrictionCoefficients.of({"viscous": damping / (gear * gear)})
        )
    if any(not motor.axial.is_zero for motor in found.values()):
        remarks.note(
            "armatures are rotors 'reflected' to their joints, on the diagonal of the inertia matrix: the "
            "file says neither which links carry them nor how they spin; with_motors puts these in"
        )
    _say_what_is_left_out(spec, remarks)
    return found


def torque_limit(spec: Spec, j: int, name: str, remarks: Remarks) -> Expression | None:
    """The smaller of the limits of the joint and of its actuators; None where nothing limits it."""
    ranges = []
    if spec.model.jnt_actfrclimited[j]:
        low, high = exact_numbers(spec.model.jnt_actfrcrange[j])
        ranges.append((low, high))
    acting = _acting(spec, j)
    forces = [(x.gear, x.force) for x in acting if x.force is not None]
    if forces and len(forces) == len(acting):
        low, high = ZERO, ZERO
        for gear, (least, most) in forces:
            ends = sorted((Expression.of(gear) * Expression.of(x) for x in (least, most)), key=float)
            low, high = low + ends[0], high + ends[1]
        ranges.append((low, high))
    if not ranges:
        return None
    limits = [min(-low, high, key=float) for low, high in ranges]
    limit = min(limits, key=float)
    for low, high in ranges:
        if -low != high:
            remarks.note(
                f"joint {quoted(name)}: torques from {float(low):g} to {float(high):g} are limited on both "
                f"sides to {max(float(limit), 0.0):g}"
            )
    return limit if float(limit) > 0 else None


def _acting(spec: Spec, j: int) -> list[Actuator]:
    name = spec.model.joint(j).name
    return [x for x in spec.actuators if name and x.joint == name and x.gear]


def _gear(name: str, acting: list[Actuator], remarks: Remarks) -> Expression:
    """The gear of the joint's first actuator."""
    if not acting:
        return ONE
    if any(x.gear != acting[0].gear for x in acting):
        remarks.note(
            f"joint {quoted(name)}: of several actuators the first, {quoted(acting[0].name)}, gives the gear"
        )
    return Expression.of(acting[0].gear)


def _reflected(gear: float, inertia: float) -> Expression:
    k = Expression.of(gear)
    return k * k * Expression.of(inertia)


def _say_what_is_left_out(spec: Spec, remarks: Remarks) -> None:
    servos = [x.name or x.joint for x in spec.actuators if x.joint and not x.is_plain]
    if servos:
        remarks.note(f"gains and dynamics of the actuators {listed(servos)} are left out")
    if others := [x.name or "without a name" for x in spec.actuators if not x.joint]:
        remarks.note(f"actuators that do not act on a joint ({listed(others)}) are left out")


# ------------------------------------------------------------------------------------------------------------
# Relations, from equalities of joints. Whatever acts on the robot that armdyn does not know is refused.


def relate(tree: RawTree, spec: Spec, joints: list[str]) -> None:
    """Joint equalities as mimic joints: q₁ − q₁₀ = a₀ + a₁ (q₂ − q₂₀)."""
    held: dict[str, Expression] = {}
    for equality in spec.equalities:
        if equality.kind != "joint":
            continue
        label = f"equality of joint {quoted(equality.first)}"
        if not equality.active or spec.is_off("equality"):
            tree.remarks.note(f"the {label} is switched off in the file and left out")
            continue
        constant, linear, *higher = exact_numbers(equality.coefficients[:5])
        follower = _joint(tree, equality.first)
        if follower is None:
            raise tree.error(NOWHERE, f"{label}: there is no such joint; joints: {listed(joints)}")
        _refuse_loose(tree, follower, label)
        if any(not x.is_zero for x in higher) and equality.second:
            raise tree.error(
                follower.place, f"the {label} is not linear (polycoef); only linear relations are read"
            )
        at = reference(spec, joints, follower.name) + constant
        if follower.mimic is not None or follower.name in held:
            raise tree.error(follower.place, f"the {label}: it has two equalities")
        if not equality.second or linear.is_zero:
            held[follower.name] = at
            tree.remarks.note(f"the {label} holds it at {at}: it is welded")
            continue
        leader = _joint(tree, equality.second)
        if leader is None:
            raise tree.error(follower.place, f"the {label}: no joint {quoted(equality.second)}")
        _refuse_loose(tree, leader, label)
        offset = at - linear * reference(spec, joints, leader.name)
        _replace(tree, follower, replace(follower, mimic=Mimic(leader.name, linear, offset)))
    _hold_followers(tree, held)
    tree.joints = [_standing(x, held[x.name]) if x.name in held else x for x in tree.joints]


def _refuse_loose(tree: RawTree, joint: RawJoint, label: str) -> None:
    if joint.kind in LOOSE:
        raise tree.error(joint.place, f"the {label}: only hinges and slides have equalities")


def _hold_followers(tree: RawTree, held: dict[str, Expression]) -> None:
    """Hold the joints that follow one that is held."""
    left = [joint for joint in tree.joints if joint.mimic is not None]
    for _ in range(len(left)):  # followers of followers
        for joint in left:
            mimic = joint.mimic
            if mimic is not None and mimic.joint in held and joint.name not in held:
                at = held[joint.name] = mimic.multiplier * held[mimic.joint] + mimic.offset
                reason = f"as joint {quoted(mimic.joint)} stands still: it is welded"
                tree.remarks.note(f"the equality of joint {quoted(joint.name)} holds it at {at}, {reason}")


def _joint(tree: RawTree, name: str) -> RawJoint | None:
    return next((joint for joint in tree.joints if joint.name == name), None)


def _replace(tree: RawTree, old: RawJoint, new: RawJoint) -> None:
    tree.joints = [new if joint is old else joint for joint in tree.joints]


def _standing(joint: RawJoint, at: Expression) -> RawJoint:
    """A joint that an equality holds in its place."""
    if joint.kind == "prismatic":
        moved = Transform(IDENTITY, scale(at, joint.axis))
    else:
        moved = Transform(rotation_about(joint.axis, at.cos(), at.sin()))
    return RawJoint(
        joint.name,
        "fixed",
        joint.parent,
        joint.child,
        joint.origin @ moved @ joint.after,
        place=joint.place,
    )


def reference(spec: Spec, joints: list[str], name: str) -> Expression:
    j = joints.index(name)
    return exact_numbers([spec.model.qpos0[int(spec.model.jnt_qposadr[j])]])[0]


# ---- forces that are not known here ------------------------------------------------------------------------


def refuse_forces(
    tree: RawTree,
    spec: Spec,
    bodies: list[str],
    joints: list[str],
    options: Options,
) -> None:
    """Refuse forces other than those of bodies, gravity, friction, springs and motors."""
    moving = moving_joints(tree, options)
    names = {joint.name for joint in moving}
    model = spec.model
    _refuse_curves(tree, spec, joints, names)
    carried = _carried(tree, moving)
    for body, name in enumerate(bodies):
        if model.body_gravcomp[body] and name in carried and not spec.is_off("gravity"):
            raise tree.error(
                _place(tree, name),
                f"body {quoted(name)} has gravcomp, a force against gravity that is not read; remove it "
                "(and add what it does to the torques)",
            )
    if model.opt.density or model.opt.viscosity:
        raise tree.error(NOWHERE, "option density or viscosity: fluids are not read; set both to 0")
    _refuse_tendons(tree, spec, spec.tendon_joints, names)


def _refuse_curves(tree: RawTree, spec: Spec, joints: list[str], moving: set[str]) -> None:
    """Refuse springs and dampers of joints that are not linear, which MuJoCo has since its version 4."""
    for j, name in enumerate(joints):
        joint = _joint(tree, name)
        if name not in moving or joint is None:
            continue
        stiffness = _row(spec.model, "jnt_stiffnesspoly", j)
        damping = _row(spec.model, "dof_dampingpoly", int(spec.model.jnt_dofadr[j]))
        for key, higher, off in (("stiffness", stiffness, "spring"), ("damping", damping, "damper")):
            if any(higher) and not spec.is_off(off):
                reason = f"{key} is not linear; one number is read"
                raise tree.error(joint.place, f"joint {quoted(name)}: {reason}")


def _row(model: object, field: str, i: int) -> list[float]:
    values = getattr(model, field, None)
    return [] if values is None else [float(x) for x in values[i]]


def rigid(tree: RawTree, link: str, moving: set[str]) -> str | None:
    """The first of the links that are as one with this one; None where there is no such link."""
    if all(x.name != link for x in tree.links):
        return None
    above = {joint.child: joint for joint in tree.joints}
    while link in above and above[link].name not in moving:
        link = above[link].parent
    return link


def _refuse_tendons(tree: RawTree, spec: Spec, joints: list[list[str]], moving: set[str]) -> None:
    left_out = []
    for i, tendon in enumerate(spec.tendons):
        label = f"tendon {quoted(tendon.name)}" if tendon.name else f"tendon {i + 1}"
        ours = joints[i] if i < len(joints) else []
        acts = bool(set(ours) & moving) or not ours
        if tendon.spring is not None:
            continue
        if tendon.pulls and acts:
            raise tree.error(
                NOWHERE,
                f"{label} has {tendon.pulls}, so it pulls at joints, which is not read; remove it, or weld "
                "its joints with lock=",
            )
        left_out.append(label)
    if left_out:
        tree.remarks.note(f"left out, as no force comes from them by themselves: {listed(left_out)}")


def moving_joints(tree: RawTree, options: Options) -> list[RawJoint]:
    """The joints that will move under these options."""
    lock = options.lock or {}
    below = tree.joints
    if options.base is not None and any(link.name == options.base for link in tree.links):
        below = tree.below(options.base)
    if options.tip is not None:
        above = {joint.child: joint for joint in below}
        path: list[RawJoint] = []
        link = options.tip
        while link in above and len(path) <= len(below):
            path.append(above[link])
            link = above[link].parent
        below = path
    found = [j for j in below if j.kind != "fixed" and j.name not in lock and j.child not in lock]
    for _ in found:  # a joint that follows one that stands still stands, too
        names = {joint.name for joint in found}
        found = [j for j in found if j.mimic is None or j.mimic.joint in names]
    return found


def _carried(tree: RawTree, moving: Iterable[RawJoint]) -> set[str]:
    """The links that move when these joints do."""
    return {joint.child for m in moving for joint in (m, *tree.below(m.child))}


def _place(tree: RawTree, link: str) -> FilePlace:
    return next((x.place for x in tree.links if x.name == link), NOWHERE)


# ------------------------------------------------------------------------------------------------------------
# Closures and springs, from equalities between bodies and from tendons.
#
# - `connect` is a spherical joint; two of them between the same bodies are a revolute joint about the line
#   through both points. `weld` is a fixed joint. MuJoCo holds them softly, armdyn exactly.
# - Between bodies, the second place is where the first one is when all joints stand at their references.
# - A spatial tendon with stiffness between two sites is a spring.
# - Joints of closed chains that no actuator drives are passive. A file without actuators drives all joints.


_DIGITS = 12  # of what is computed from the posture at the references
_SAME = 1e-9  # m


def read_ties(tree: RawTree, spec: Spec, bodies: list[str], joints: list[str], options: Options) -> None:
    """Put the closures and springs of a file into its tree."""
    moving = {joint.name for joint in moving_joints(tree, options)}
    root = tree.roots[0].name if options.base is None else options.base
    inside = {root, *(joint.child for joint in tree.below(root))}
    places = _Places(tree, spec, bodies, moving, inside, root)
    loops = [
        _loop(places, equality)
        for equality in spec.equalities
        if equality.kind != "joint" and _matters(places, equality)
    ]
    if loops:
        tree.loops = _revolute_pairs(loops)
        tree.remarks.note("equalities between bodies are joints that close loops; they hold exactly")
        _mark_joints(tree, spec, joints, moving)
    springs = [tendon for tendon in spec.tendons if tendon.spring is not None and not spec.is_off("spring")]
    tree.springs = [spring for tendon in springs if (spring := _spring(places, tendon)) is not None]


@dataclass(frozen=True)
class _Places:
    """Places that are tied: bodies and sites by their names."""

    tree: RawTree
    spec: Spec
    bodies: list[str]
    moving: set[str]  # joints
    inside: set[str]  # links at and below the base
    root: str

    def site(self, name: str, label: str) -> Frame:
        found = self.spec.site(name)
        if found is None:
            raise self.tree.error(NOWHERE, f"{label}: there is no site {quoted(name)}")
        return found

    def ends(self, equality: Equality, label: str) -> tuple[str, str]:
        """The two bodies."""
        if equality.sites:
            a, b = (self.bodies[self.site(name, label).body] for name in equality.sites)
            return a, b
        return equality.first, equality.second or self.bodies[0]

    def are_apart(self, ends: tuple[str, str], label: str) -> bool:
        """True if two bodies move against each other; otherwise what ties them does not matter."""
        a, b = (rigid(self.tree, name, self.moving) for name in ends)
        inside = [name in self.inside for name in ends]
        if a == b or not any(inside):
            why = "between bodies that do not move against each other" if any(inside) else "beside the robot"
            self.tree.remarks.note(f"{label} is {why} and left out")
            return False
        if not all(inside):
            other = ends[inside.index(False)]
            found = (
                f"{label} ties the robot to {quoted(other)}, which is not below the base {quoted(self.root)}"
            )
            raise self.tree.error(NOWHERE, f"{found}; choose another base=, or remove it")
        return True


def _matters(places: _Places, equality: Equality) -> bool:
    """True if an equality holds bodies that move against each other; refused where that is no joint."""
    tree, first, second = places.tree, equality.first, equality.second
    name = f"equality {equality.kind} of {quoted(first)}" + (f" and {quoted(second)}" if second else "")
    label = f"the {name}"
    if not equality.active or places.spec.is_off("equality"):
        tree.remarks.note(f"{label} is switched off and left out")
        return False
    if equality.kind not in ("connect", "weld"):
        reason = "couples bodies in a way that is not read (joint, connect and weld are)"
        raise tree.error(NOWHERE, f"{label} {reason}; remove it")
    ends = places.ends(equality, label)
    if unknown := [name for name in ends if name not in places.bodies]:
        raise tree.error(NOWHERE, f"{label}: there is no body {quoted(unknown[0])}")
    if not places.are_apart(ends, label):
        return False
    if equality.kind == "weld" and equality.coefficients[10] == 0:
        raise tree.error(NOWHERE, f"{label} has torquescale 0, which is not read; use connect")
    return True


# ---- closures ----------------------------------------------------------------------------------------------


def _loop(places: _Places, equality: Equality) -> ClosingJoint:
    ends = places.ends(equality, "equality")
    if equality.sites:
        turned = equality.kind == "weld"
        a, b = (_written(places.site(name, "equality"), turned) for name in equality.sites)
        at = (a, b)
    else:
        at = _by_bodies(places.spec, equality, places.bodies, ends)
    return ClosingJoint(ends, at, "fixed" if equality.kind == "weld" else "spherical")


def _written(frame: Frame, turned: bool) -> Transform:
    """A site in its body."""
    R = rotation([round(x, 15) for x in frame.quaternion]) if turned else IDENTITY
    return Transform(R, vector(exact_numbers([*frame.p])))


def _by_bodies(
    spec: Spec, equality: Equality, bodies: list[str], ends: tuple[str, str]
) -> tuple[Transform, Transform]:
    """The places on two bodies, one of which may be where the other is at the references of all joints."""
    data = equality.coefficients
    a, b = (spec.body_frame(bodies.index(name)) for name in ends)
    anchor = Transform(IDENTITY, vector(exact_numbers(data[:3])))
    if equality.kind == "connect":
        return anchor, Transform(IDENTITY, _decimals(b.into(a.out(data[:3]))))
    if any(data[6:10]):
        return Transform(rotation(data[6:10]), vector(exact_numbers(data[3:6]))), anchor
    R = rotation([round(x, _DIGITS) for x in b.turned_in(a)])
    return Transform(R, _decimals(a.into(b.out(data[:3])))), anchor


def _decimals(p: np.ndarray) -> Vector:
    return vector(exact_numbers([round(float(x), _DIGITS) for x in p]))


def _revolute_pairs(loops: list[ClosingJoint]) -> list[ClosingJoint]:
    """Two points that stay together, one after the other in the file, are a hinge about their line."""
    found: list[ClosingJoint] = []
    for loop in loops:
        hinge = _hinge(found[-1], loop) if found else None
        if hinge is not None:
            found[-1] = hinge
        else:
            found.append(loop)
    return found


def _hinge(first: ClosingJoint, second: ClosingJoint) -> ClosingJoint | None:
    if first.between != second.between or {first.joint, second.joint} != {"spherical"}:
        return None
    lines = [
        np.array([Expression.of(x).value() - Expression.of(y).value() for x, y in zip(b.p, a.p, strict=True)])
        for a, b in zip(first.at, second.at, strict=True)
    ]
    lengths = [float(np.linalg.norm(line)) for line in lines]
    if min(lengths) <= _SAME or abs(lengths[0] - lengths[1]) > _SAME:
        return None
    a, b = (
        Transform(_with_z(line / length), at.p)
        for line, length, at in zip(lines, lengths, first.at, strict=True)
    )
    return ClosingJoint(first.between, (a, b), "revolute")


def _with_z(z: np.ndarray) -> Matrix:
    """The rotation by the smallest angle that turns the z axis to a direction; a half turn about x to −z."""
    half = math.sqrt(max(0.0, (1 + float(z[2])) / 2))
    if half < 1e-6:
        return rotation([0.0, 1.0, 0.0, 0.0])
    quaternion = [half, -float(z[1]) / (2 * half), float(z[0]) / (2 * half), 0.0]
    return rotation([round(x, _DIGITS) for x in quaternion])


def _mark_joints(tree: RawTree, spec: Spec, joints: list[str], moving: set[str]) -> None:
    """Mark the joints of closed chains: where they are closed, and which of them nothing drives."""
    around: set[str] = set()
    for loop in tree.loops:
        around |= _way(tree, loop.between[0]) ^ _way(tree, loop.between[1])
    driven = spec.driven_joints
    passive = [name for name in joints if name in around and name not in driven and spec.actuators]
    tree.joints = [
        replace(
            joint,
            actuated=joint.name not in passive,
            guess=reference(spec, joints, joint.name) if joint.name in around else ZERO,
        )
        if joint.kind in ("revolute", "prismatic")
        else joint
        for joint in tree.joints
    ]
    tree.remarks.group([x for x in passive if x in moving], "passive, as no actuator acts there")
    if not spec.actuators:
        tree.remarks.note("the file has no actuators: all joints of its loops count as driven")


def _way(tree: RawTree, link: str) -> set[str]:
    """The joints from the base to a link."""
    above = {joint.child: joint for joint in tree.joints}
    found = set()
    while link in above:
        found.add(above[link].name)
        link = above[link].parent
    return found


# ---- springs -----------------------------------------------------------------------------------------------


def _spring(places: _Places, tendon: Tendon) -> PointSpring | None:
    """A tendon as a spring between points; None where it does not matter."""
    assert tendon.spring is not None
    label = f"tendon {quoted(tendon.name)}" if tendon.name else "a tendon without a name"
    sites = [places.site(name, label) for name in tendon.spring.sites]
    a, b = (places.bodies[site.body] for site in sites)
    if not places.are_apart((a, b), label):
        return None
    low, high = tendon.spring.lengths
    if low != high:
        raise places.tree.error(
            NOWHERE, f"{label}: springlength is a range, which is not read; one number is"
        )
    if low < 0:
        ends = [places.spec.body_frame(site.body, "qpos_spring").out(site.p) for site in sites]
        low = round(float(np.linalg.norm(ends[1] - ends[0])), _DIGITS)
    stiffness, rest = exact_numbers([tendon.spring.stiffness, low])
    p, q = (vector(exact_numbers([*site.p])) for site in sites)
    return PointSpring((a, b), (p, q), stiffness, rest, name=tendon.name)


# ------------------------------------------------------------------------------------------------------------
# The tree of a file.


WORLD = "world"
_KINDS: tuple[RawKind, ...] = ("floating", "ball", "prismatic", "revolute")  # free, ball, slide, hinge
_FULL = (0, 3, 4, 1, 5, 2)  # xx xy xz yy yz zz in fullinertia's xx yy zz xy xz yz


def read_mjcf(root: Element, source: str, folder: Path | None, options: Options) -> RawTree:
    """The tree of an MJCF document; `folder` is where included files lie, None for a text."""
    document = MjcfSource(root, folder)
    spec = compiled(document, source)
    try:
        return _MjcfReader(document, spec, source, options).tree()
    except ExpressionError as error:  # a number that is infinite
        raise DescriptionError(f"{source}: {error}") from None


@dataclass
class _MjcfReader:
    document: MjcfSource
    spec: Spec
    source: str
    options: Options
    remarks: Remarks = field(default_factory=Remarks)
    names: list[str] = field(default_factory=list)  # of bodies, by number
    joints: list[str] = field(default_factory=list)  # names, by number

    def tree(self) -> RawTree:
        spec = self.spec
        model = spec.model
        self.names = _named([model.body(i).name for i in range(model.nbody)], "body", [WORLD])
        self.names[0] = WORLD
        self.joints = _named([model.joint(j).name for j in range(model.njnt)], "joint", [])
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

    def _place(self, tag: str, name: str) -> FilePlace:
        element = self.document.element(tag, name)
        if element is None:
            return FilePlace(0, f"{tag} {quoted(name)}")
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
            joint = unused(f"{name}_fixed", [*self.joints, *(x.name for x in joints)])
            joints.append(RawJoint(joint, "fixed", parent, name, origin, place=link.place))
        for j in range(first, first + count):
            last = j == first + count - 1
            taken = [*self.names, *(x.name for x in links)]
            child = name if last else unused(f"{self.joints[j]}_link", taken)
            links.append(link if last else RawLink(child, place=link.place))
            joints.append(self._joint(j, parent, child, origin))
            parent, origin = child, Transform()

    def _pose(self, body: int) -> Transform:
        model = self.spec.model
        quaternion = given(self.spec.bodies[body]["quat"], [float(x) for x in model.body_quat[body]])
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
            given(self.spec.bodies[body]["iquat"], [float(x) for x in model.body_iquat[body]])
        )
        return RawBody(Expression.of(mass), com, R, (a, zero, zero, b, zero, c), place)

    # ---- joints ----------------------------------------------------------------------------------------

    def _joint(self, j: int, parent: str, child: str, origin: Transform) -> RawJoint:
        model, name = self.spec.model, self.joints[j]
        place = self._place("joint", name)
        kind = int(model.jnt_type[j])
        if _KINDS[kind] in LOOSE:
            return RawJoint(name, _KINDS[kind], parent, child, origin, place=place)
        written = given(self.spec.axes[j], [float(x) for x in model.jnt_axis[j]])
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
            friction=FrictionCoefficients.of({"viscous": viscous, "coulomb": coulomb}),
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
    """Names for all; those without one are called after their numbers."""
    known = {*taken, *names}
    found = []
    for i, name in enumerate(names):
        if not name:
            name = unused(f"{what}{i}", known)
            known.add(name)
        found.append(name)
    return found
