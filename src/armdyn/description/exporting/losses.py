"""What URDF and MJCF have no words for, in sentences that name it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from armdyn.description.exporting.pieces import Piece, depth_first
from armdyn.expression import Expression
from armdyn.model.lowering import idlers, is_coupled, joint_friction
from armdyn.model.parts import Link, Motor, MotorLimits
from armdyn.model.robot_model import RobotModel, quoted


def losses(model: RobotModel, parts: list[Piece]) -> Iterator[str]:
    """What neither format can say."""
    yield from _motor_losses(model)
    friction = [(part.link.joint_label, joint_friction(model, part.link)) for part in parts]
    uneven = [name for name, terms in friction if not terms["asymmetry"].is_zero]
    if uneven:
        yield (
            f"Coulomb friction that differs forward and backward ({names(uneven)}) "
            "becomes the mean of the two values"
        )
    if constant := [name for name, terms in friction if not terms["offset"].is_zero]:
        yield f"friction offsets ({names(constant)}) are left out"
    for key, text in (("stribeck", "Stribeck"), ("cubic", "cubic"), ("load", "load-dependent")):
        if found := [name for name, terms in friction if not terms[key].is_zero]:
            yield f"{text} friction ({names(found)}) is left out"
    for key in ("acceleration", "jerk"):
        if limited := [link.joint_label for link in model.links if getattr(link.limits, key) is not None]:
            yield f"limits of {key} ({names(limited)}) are left out"
    followers = {part.link.name for part in parts if part.mimic}
    free = [
        link.joint_label
        for i, link in enumerate(model.moving)
        if i not in model.dependence.independent and link.name not in followers
    ]
    if free:
        yield (
            f"relations that are not between two joints ({names(free)}) are left out: "
            "these joints move freely in the file"
        )
    yield from _order_losses(model)
    if odd := [p.link.name for p in parts if Expression.of(p.inertia.mass).is_zero and any(_moments(p))]:
        yield f"first moments without mass ({names(odd)}) are left out"


def _motor_losses(model: RobotModel) -> Iterator[str]:
    if model.rotors == "none":
        if found := _having(model, lambda link: link.motor is not None):
            yield f'motors ({found}) are left out, because the robot\'s rotors are "none"'
        return
    spinning = _driving(model, lambda motor: not (motor.axial.is_zero and motor.transverse.is_zero))
    if model.rotors == "exact" and spinning:
        yield (
            f"exact rotors ({spinning}) become reflected ones, gear²·inertia on the joint: "
            "their places, axes and coupling to the links that carry them are left out"
        )
    if coupled := _driving(model, is_coupled):
        yield f"motors that turn with several joints ({coupled}) drive only their own in the file"
    if rubbing := _driving(model, lambda motor: is_coupled(motor) and not motor.friction.is_zero):
        yield f"friction in motors that turn with several joints ({rubbing}) is left out"
    if spun := names(link.joint_label for link in idlers(model)):
        yield f"motors of fixed joints that others spin ({spun}) stand still in the file"
    if elastic := names(link.joint_label for link in model.elastic):
        yield (
            f"elastic joints ({elastic}) become rigid ones: their transmissions' stiffness and damping "
            "and the friction of their motors are left out"
        )
    if found := _driving(model, lambda motor: motor.torque_constant != 1):
        yield f"torque constants of motors ({found}) are left out"
    if found := _driving(model, lambda motor: motor.limits != MotorLimits()):
        yield f"limits at the shafts of motors ({found}) are left out"


def _order_losses(model: RobotModel) -> Iterator[str]:
    """No file says which link is the tip, nor in which order joints are counted."""
    links = depth_first(model)
    depth = {model.root: 0}
    for link in links:
        depth[link.name] = depth[link.parent] + (link.joint != "fixed")
    parents = {link.parent for link in links}
    ends = [link.name for link in links if link.name not in parents]
    if model.tip != max(ends, key=lambda name: depth[name]):
        yield f"the tip {quoted(model.tip)} is not marked; armdyn takes the end of the longest chain"
    order = [link for link in links if link.joint != "fixed"]
    if order != list(model.moving):
        labels = names(link.joint_label for link in order)
        yield f"the order of the joints is not kept; armdyn reads them depth first: {labels}"


def _moments(part: Piece) -> list[bool]:
    return [not Expression.of(x).is_zero for x in part.inertia.moment]


def _driving(model: RobotModel, test: Callable[[Motor], bool]) -> str:
    """The joints whose motors drive them and pass a test."""
    return names(link.joint_label for link in model.moving if link.motor is not None and test(link.motor))


def _having(model: RobotModel, test: Callable[[Link], bool]) -> str:
    return names(link.joint_label for link in model.links if test(link))


def names(found: Iterable[str]) -> str:
    """Names in quotes, with commas between them."""
    return ", ".join(quoted(name) for name in found)
