"""Motors put into a robot that was described without them, or with half of what they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from armdyn.description.errors import DescriptionError
from armdyn.description.reader import Reader
from armdyn.description.robot_file import read_motor
from armdyn.expression import ArmdynError, Expression, shown
from armdyn.model import impossible_bodies
from armdyn.model.friction import SINGLE, TERMS
from armdyn.model.parts import Link, Motor
from armdyn.model.robot_model import RobotModel, listed, quoted
from armdyn.model.vector import apply

_SOURCE = "with_motors"


def with_motors(model: RobotModel, motors: object) -> RobotModel:
    """The robot with these motors: tables with the keys of [link.motor], by the name of link or joint.

    A key replaces what an existing motor had; the others stay. A new carrier drops the old position and axis,
    which were in the old carrier's frame. A new gear without a new inertia keeps inertia and friction at the
    joint, k²·Im and so on: that is what files of other tools know.
    """
    if not isinstance(motors, Mapping):
        raise DescriptionError(f"{_SOURCE}: expected a table of motors by link, found {shown(motors)}")
    given = {_link_named(model, name).name: table for name, table in motors.items()}
    if len(given) < len(motors):
        raise DescriptionError(f"{_SOURCE}: a motor is given twice, by its link and by its joint")
    symbols = dict(model.symbols)
    links = []
    for link in model.links:
        if link.name in given:
            reader = Reader(given[link.name], _SOURCE, f"link {quoted(link.name)}.motor", symbols)
            _check_carrier(model, reader)
            table = _defaults(link.motor, reader) | dict(reader.table)
            reader = Reader(table, _SOURCE, reader.path, symbols)
            motor = read_motor(reader, link.parent, apply(link.before.R, link.axis))
            link = replace(link, motor=motor)
        links.append(link)
    try:
        found = replace(model, links=tuple(links))
    except ArmdynError as error:
        raise DescriptionError(f"{_SOURCE}: {error}") from None
    for problem in impossible_bodies(found):
        raise DescriptionError(f"{_SOURCE}: {problem}")
    return found


def _link_named(model: RobotModel, name: object) -> Link:
    """A moving link by its own or its joint's name."""
    for link in model.moving:
        if name in (link.name, link.joint_name) and name:
            return link
    names = [
        link.name if link.joint_label == link.name else f"{link.name} (joint {link.joint_name})"
        for link in model.moving
    ]
    found = quoted(name) if isinstance(name, str) else shown(name)
    raise DescriptionError(f"{_SOURCE}: found {found}; links that move: {listed(names)}")


def _check_carrier(model: RobotModel, reader: Reader) -> None:
    names = [model.root, *model.index]
    if "carrier" in reader and reader.text("carrier") not in names:
        reader.fail("carrier", f"found {quoted(reader.text('carrier'))}; links: {listed(names)}")


def _defaults(motor: Motor | None, reader: Reader) -> dict[str, Any]:
    """What a motor has, as a table, less what the new entries make meaningless."""
    if motor is None:
        return {}
    if "gear" in reader and "inertia" not in reader:
        motor = _referred(motor, reader.number("gear"), reader)
    friction: dict[str, Any] = {
        name: getattr(motor.friction, name) for name in SINGLE if TERMS[name].at_motors
    }
    friction["coulomb"] = list(motor.friction.coulomb)
    if motor.friction.coefficients["asymmetry"].is_zero:  # a coupled motor takes one value
        friction["coulomb"] = motor.friction.coulomb[0]
    table = {
        "gear": motor.gear,
        "inertia": {"axial": motor.axial, "transverse": motor.transverse},
        "mass": motor.mass,
        "coupling": dict(motor.coupling),
        "friction": friction,
        "torque_constant": motor.torque_constant,
        "limits": {key: x for key, x in vars(motor.limits).items() if x is not None},
        "damping": motor.damping,
    }
    if motor.stiffness is not None:
        table["stiffness"] = motor.stiffness
    if "carrier" in reader and reader.text("carrier") != motor.carrier:
        return table
    return table | {"carrier": motor.carrier, "position": list(motor.position), "axis": list(motor.axis)}


def _referred(motor: Motor, gear: Expression, reader: Reader) -> Motor:
    """The motor behind another gear, with the same inertia and friction at its joint."""
    if gear.is_zero:
        reader.fail("gear", "found 0; any other number is allowed, with its sign")
    by = motor.gear / gear
    friction = motor.friction
    old = friction.coefficients
    new = {name: x * TERMS[name].referred(by) for name, x in old.items() if not x.is_zero}
    return replace(motor, gear=gear, axial=motor.axial * by * by, friction=friction.of(new))
