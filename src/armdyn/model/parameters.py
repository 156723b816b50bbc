"""The parameter vector: from a robot, and a robot from it.

Per moving joint, in the order of (7.77): m, m·x, m·y, m·z, Ixx, Ixy, Ixz, Iyy, Iyz, Izz of the augmented link
about its frame's origin, Im of the motor that drives the joint, Fv, Fs. Then, where the robot has them:
Coulomb asymmetry per joint, motor-side viscous and Coulomb friction of motors with a coupled row, offsets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from armdyn.expression import ZERO, Expression
from armdyn.model.errors import ModelError
from armdyn.model.inertia import Inertia, tensor
from armdyn.model.mechanism import (
    Extra,
    ExtraKind,
    Mechanism,
    has_motor_friction,
    joint_friction,
    lower,
)
from armdyn.model.parts import Friction, Link
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import Scalar

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
PER_JOINT = (*INERTIAL, "Im", "Fv", "Fs")


def extras(model: RobotModel) -> tuple[Extra, ...]:
    """The extra parameters this robot has, in the order of the vector."""
    frictions = [joint_friction(model, link) for link in model.moving]
    found = [Extra("asymmetry", j) for j, f in enumerate(frictions) if not f["asymmetry"].is_zero]
    for j, link in enumerate(model.moving):
        if has_motor_friction(model, link):
            found += [Extra("motor_viscous", j), Extra("motor_coulomb", j)]
    found += [Extra("offset", j) for j, f in enumerate(frictions) if not f["offset"].is_zero]
    return tuple(found)


def parameter_names(model: RobotModel) -> tuple[str, ...]:
    per_joint = [f"{name}{j + 1}" for j in range(model.n) for name in PER_JOINT]
    return (*per_joint, *(extra.name for extra in extras(model)))


def parameter_vector(mechanism: Mechanism, further: Sequence[Extra]) -> list[Scalar]:
    """The parameters of a mechanism over its own scalar; `further` are the extras of its model."""
    Im = {rotor.joint: rotor.inertia for rotor in mechanism.rotors}
    coupled = {f.joint: f for f in mechanism.coupled_friction}
    values: list[Scalar] = []
    for j, (body, friction) in enumerate(zip(mechanism.bodies, mechanism.friction, strict=False)):
        i = body.inertia
        values += [i.mass, *i.moment, *i.tensor, Im.get(j, 0), friction.viscous, friction.coulomb]
    for extra in further:
        if extra.kind in ("asymmetry", "offset"):
            values.append(getattr(mechanism.friction[extra.joint], extra.kind))
        else:
            values.append(getattr(coupled[extra.joint], extra.kind.removeprefix("motor_")))
    return values


def with_parameters(model: RobotModel, values: Sequence[Expression]) -> RobotModel:
    """The robot whose parameter vector is `values`.

    Motors keep their masses, positions and transverse inertias, and fixed links their bodies: what of the
    new values these do not explain goes to the moving links, so the vector is met exactly.
    """
    further = extras(model)
    expected = 13 * model.n + len(further)
    if len(values) != expected:
        raise ModelError(f"parameters: expected {expected} parameters ({model.name}), found {len(values)}")
    extra_values = {(e.kind, e.joint): v for e, v in zip(further, values[13 * model.n :], strict=True)}
    links = {link.name: link for link in model.links}
    for j, link in enumerate(model.moving):
        links[link.name] = _set_motor(model, j, link, values[13 * j + 10], extra_values)
    bare = replace(model, links=tuple(_bare(links[link.name]) for link in model.links))
    rest = lower(bare, lambda x: x)
    for j, link in enumerate(model.moving):
        own = values[13 * j : 13 * j + 13]
        target = Inertia(own[0], (own[1], own[2], own[3]), tensor(own[4:10]))
        friction = Friction(
            viscous=own[11] - rest.friction[j].viscous,
            coulomb=_pair(
                own[12] - rest.friction[j].coulomb,
                extra_values.get(("asymmetry", j), ZERO) - rest.friction[j].asymmetry,
            ),
            offset=extra_values.get(("offset", j), ZERO) - rest.friction[j].offset,
        )
        inertia = target - rest.bodies[j].inertia
        links[link.name] = replace(links[link.name], inertia=inertia, friction=friction)
    return replace(model, links=tuple(links[link.name] for link in model.links), derived=True)


def _pair(symmetric: Expression, asymmetry: Expression) -> tuple[Expression, Expression]:
    return (asymmetry + symmetric, asymmetry - symmetric)


def _bare(link: Link) -> Link:
    """A moving link without inertia and friction of its own."""
    return link if link.joint == "fixed" else replace(link, inertia=Inertia(), friction=Friction())


def _set_motor(
    model: RobotModel,
    j: int,
    link: Link,
    Im: Expression,
    extra_values: dict[tuple[ExtraKind, int], Expression],
) -> Link:
    motor = link.motor
    if motor is None or model.rotors == "none":
        if not Im.is_zero:
            raise ModelError(
                f"Im{j + 1} is {Im}, but joint {j + 1} ('{link.name}') has no rotor; 0 is allowed"
            )
        return link
    friction = motor.friction
    if ("motor_viscous", j) in extra_values:
        friction = replace(
            friction,
            viscous=extra_values["motor_viscous", j],
            coulomb=_pair(extra_values["motor_coulomb", j], ZERO),
        )
    return replace(link, motor=replace(motor, axial=Im, friction=friction))
