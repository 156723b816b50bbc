"""Equalities of MJCF -> relations; and what acts on the robot that armdyn does not know: refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from armdyn.description.importing.mjcf.frames import exact_numbers
from armdyn.description.importing.mjcf.spec import Spec
from armdyn.description.importing.options import Options
from armdyn.description.importing.tree import LOOSE, NOWHERE, Mimic, Place, RawJoint, RawTree
from armdyn.expression import Expression
from armdyn.model.parts import Transform
from armdyn.model.robot_model import listed, quoted
from armdyn.model.vector import IDENTITY, rotation_about, scale


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
    """A joint that follows one that is held is held, too."""
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
    """Refuse what moves the robot beside its bodies, gravity, friction and motors."""
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
    """Springs and dampers of joints that are not linear, which MuJoCo has since its version 4."""
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


def _place(tree: RawTree, link: str) -> Place:
    return next((x.place for x in tree.links if x.name == link), NOWHERE)
