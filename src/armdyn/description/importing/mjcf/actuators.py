"""Actuators and armatures of MJCF -> motors and limits of torque."""

from __future__ import annotations

from armdyn.description.importing.mjcf.frames import exact_numbers
from armdyn.description.importing.mjcf.spec import Actuator, Spec
from armdyn.description.importing.tree import RawMotor, Remarks
from armdyn.expression import ONE, ZERO, Expression
from armdyn.model.friction import Friction
from armdyn.model.robot_model import listed, quoted


def read_motors(spec: Spec, joints: list[str], remarks: Remarks) -> dict[str, RawMotor]:
    """By joint, a motor whose inertia, reflected by its gear, is the joint's armature."""
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
        found[name] = RawMotor(gear, axial, friction=Friction(viscous=damping / (gear * gear)))
    if any(not motor.axial.is_zero for motor in found.values()):
        remarks.note(
            "armatures are rotors 'reflected' to their joints, on the diagonal of the inertia matrix: the "
            "file says neither which links carry them nor how they spin; with_motors puts these in"
        )
    _say_what_is_left_out(spec, remarks)
    return found


def torque_limit(spec: Spec, j: int, name: str, remarks: Remarks) -> Expression | None:
    """The smaller of what the joint and what its actuators allow; None where nothing limits it."""
    ranges = []
    if spec.model.jnt_actfrclimited[j]:
        low, high = exact_numbers(spec.model.jnt_actfrcrange[j])
        ranges.append((low, high))
    acting = _acting(spec, j)
    forces = [(x.gear, x.force) for x in acting if x.force is not None]
    if forces and len(forces) == len(acting):
        low, high = ZERO, ZERO
        for gear, (least, most) in forces:
            ends = sorted((Expression.of(gear) * Expression.of(x) for x in (least, most)), key=_value)
            low, high = low + ends[0], high + ends[1]
        ranges.append((low, high))
    if not ranges:
        return None
    limits = [min(-low, high, key=_value) for low, high in ranges]
    limit = min(limits, key=_value)
    for low, high in ranges:
        if -low != high:
            remarks.note(
                f"joint {quoted(name)}: torques from {_value(low):g} to {_value(high):g} are limited on both "
                f"sides to {max(_value(limit), 0.0):g}"
            )
    return limit if _value(limit) > 0 else None


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


def _value(x: Expression) -> float:
    return x.value()


def _say_what_is_left_out(spec: Spec, remarks: Remarks) -> None:
    servos = [x.name or x.joint for x in spec.actuators if x.joint and not x.is_plain]
    if servos:
        remarks.note(f"gains and dynamics of the actuators {listed(servos)} are left out")
    if others := [x.name or "without a name" for x in spec.actuators if not x.joint]:
        remarks.note(f"actuators that do not act on a joint ({listed(others)}) are left out")
