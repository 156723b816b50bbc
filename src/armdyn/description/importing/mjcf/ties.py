"""Equalities and tendons of MJCF between bodies -> loops and springs.

- `connect` is a spherical joint; two of them between the same bodies are a revolute joint about the line
  through both points. `weld` is a fixed joint. MuJoCo holds them softly, armdyn exactly.
- Between bodies, the second place is where the first one is when all joints stand at their references.
- A spatial tendon with stiffness between two sites is a spring.
- Joints of loops that no actuator drives are passive. All joints of a file without actuators are driven.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from armdyn.description.importing.mjcf.frames import exact_numbers, rotation
from armdyn.description.importing.mjcf.refusals import moving_joints, reference, rigid
from armdyn.description.importing.mjcf.spec import Equality, Frame, Spec, Tendon
from armdyn.description.importing.options import Options
from armdyn.description.importing.tree import NOWHERE, RawTree
from armdyn.expression import ZERO, Expression
from armdyn.model.closures.loops import Loop
from armdyn.model.parts import Transform
from armdyn.model.robot_model import quoted
from armdyn.model.springs import PointSpring
from armdyn.model.vector import IDENTITY, Matrix, Vector, vector

_DIGITS = 12  # of what is computed from the posture at the references
_SAME = 1e-9  # m

Found = tuple[Transform, Transform]


def read_ties(tree: RawTree, spec: Spec, bodies: list[str], joints: list[str], options: Options) -> None:
    """Put the loops and springs of a file into its tree."""
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
    """Where things are tied: bodies and sites by their names."""

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
        """Whether two bodies move against each other; otherwise what ties them does not matter."""
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
    """Whether it holds bodies that move against each other; refused where that is no joint."""
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


# ---- loops -------------------------------------------------------------------------------------------------


def _loop(places: _Places, equality: Equality) -> Loop:
    ends = places.ends(equality, "equality")
    if equality.sites:
        turned = equality.kind == "weld"
        a, b = (_written(places.site(name, "equality"), turned) for name in equality.sites)
        at = (a, b)
    else:
        at = _by_bodies(places.spec, equality, places.bodies, ends)
    return Loop(ends, at, "fixed" if equality.kind == "weld" else "spherical")


def _written(frame: Frame, turned: bool) -> Transform:
    """A site in its body."""
    R = rotation([round(x, 15) for x in frame.quaternion]) if turned else IDENTITY
    return Transform(R, vector(exact_numbers([*frame.p])))


def _by_bodies(spec: Spec, equality: Equality, bodies: list[str], ends: tuple[str, str]) -> Found:
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


def _revolute_pairs(loops: list[Loop]) -> list[Loop]:
    """Two points that stay together, one after the other in the file, are a hinge about their line."""
    found: list[Loop] = []
    for loop in loops:
        hinge = _hinge(found[-1], loop) if found else None
        if hinge is not None:
            found[-1] = hinge
        else:
            found.append(loop)
    return found


def _hinge(first: Loop, second: Loop) -> Loop | None:
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
    return Loop(first.between, (a, b), "revolute")


def _with_z(z: np.ndarray) -> Matrix:
    """The rotation by the smallest angle that turns the z axis to a direction; a half turn about x to −z."""
    half = math.sqrt(max(0.0, (1 + float(z[2])) / 2))
    if half < 1e-6:
        return rotation([0.0, 1.0, 0.0, 0.0])
    quaternion = [half, -float(z[1]) / (2 * half), float(z[0]) / (2 * half), 0.0]
    return rotation([round(x, _DIGITS) for x in quaternion])


def _mark_joints(tree: RawTree, spec: Spec, joints: list[str], moving: set[str]) -> None:
    """Where the loops are closed, and which of their joints nothing drives."""
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
