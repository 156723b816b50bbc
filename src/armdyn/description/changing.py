"""Motors, friction and limits put into a robot, by joint: what is not given stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

from armdyn.description.reader import Reader
from armdyn.description.robot_file import read_friction, read_limits, read_motor
from armdyn.description.source import DescriptionError
from armdyn.expression import ArmdynError, Expression
from armdyn.model import impossible_bodies
from armdyn.model.edit import by_joint
from armdyn.model.friction import NO_FRICTION, SINGLE, TERMS
from armdyn.model.parts import Limits, Link, Motor, MotorLimits
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import apply
from armdyn.names import listed, quoted

_FRICTION_KEYS = (*SINGLE, "coulomb", "stribeck", "width")
_LIMIT_KEYS = tuple(field.name for field in fields(Limits))


def with_motors(model: RobotModel, motors: object) -> RobotModel:
    """The robot with these motors: tables with the keys of [link.motor], by the name of joint or link.

    A key replaces what an existing motor had; the others stay. A new carrier drops the old position and axis,
    which were in the old carrier's frame. A new gear without a new inertia keeps inertia and friction at the
    joint, k²·Im and so on: that is what files of other tools know.
    """

    def changed(link: Link, given: object) -> Link:
        reader = Reader(given, "with_motors", f"link {quoted(link.name)}.motor", dict(model.symbols))
        _check_carrier(model, reader)
        table = _motor_defaults(link.motor, reader) | dict(reader.table)
        reader = Reader(table, reader.source, reader.path, reader.symbols)
        return replace(link, motor=read_motor(reader, link.parent, apply(link.before.R, link.axis)))

    return _changed(model, "with_motors", motors, changed)


def with_friction(model: RobotModel, friction: object, width: object = None) -> RobotModel:
    """The robot with this friction of its joints: tables with the keys of the robot file's friction.

    A key replaces what the joint had, None takes it away, the others stay. None in the place of a table takes
    all friction of the joint away, that of its motor too; None alone that of all joints. `width`, if given,
    is that of all joints, or of one after the other.
    """

    def changed(link: Link, given: object) -> Link:
        if given is None:
            motor = link.motor and replace(link.motor, friction=NO_FRICTION)
            return replace(link, friction=NO_FRICTION, motor=motor)
        reader = Reader(given, "with_friction", f"joint {quoted(link.joint_label)}", dict(model.symbols))
        table = _merged(reader, link.friction.table, _FRICTION_KEYS)
        return replace(
            link, friction=read_friction(Reader(table, reader.source, reader.path, reader.symbols))
        )

    if friction is None:
        found = replace(model, links=tuple(changed(link, None) for link in model.links))
    else:
        found = _changed(model, "with_friction", friction, changed)
    return found if width is None else _changed(found, "with_friction", _widths(found, width), changed)


def _widths(model: RobotModel, width: Any) -> dict[str, dict[str, Any]]:
    """Tables with the widths of moving joints, by the names of their links."""
    count = len(model.moving)
    values = list(width) if isinstance(width, (list, tuple)) or hasattr(width, "tolist") else [width] * count
    if len(values) != count:
        raise DescriptionError(
            f"with_friction: width: found {len(values)} numbers; one is expected, or one for each of the "
            f"{count} joints"
        )
    numbers = [x.item() if hasattr(x, "item") else x for x in values]
    return {link.name: {"width": x} for link, x in zip(model.moving, numbers, strict=True)}


def with_limits(model: RobotModel, limits: object) -> RobotModel:
    """The robot with these limits of its joints: tables with the keys of the robot file's limits.

    None works as in `with_friction`: for a key, for a joint (its motor's limits go too), for all.
    """

    def changed(link: Link, given: object) -> Link:
        if given is None:
            motor = link.motor and replace(link.motor, limits=MotorLimits())
            return replace(link, limits=Limits(), motor=motor)
        reader = Reader(given, "with_limits", f"joint {quoted(link.joint_label)}", dict(model.symbols))
        own = {key: x for key, x in vars(link.limits).items() if x is not None}
        table = _merged(reader, own, _LIMIT_KEYS)
        return replace(link, limits=read_limits(Reader(table, reader.source, reader.path, reader.symbols)))

    if limits is None:
        return replace(model, links=tuple(changed(link, None) for link in model.links))
    return _changed(model, "with_limits", limits, changed)


def _changed(
    model: RobotModel, source: str, given: object, changed: Callable[[Link, object], Link]
) -> RobotModel:
    """The robot with links changed as is given by joint."""
    try:
        tables = by_joint(model, given, source)
        links = [changed(x, tables[x.name]) if x.name in tables else x for x in model.links]
        found = replace(model, links=tuple(links))
    except DescriptionError:
        raise
    except ArmdynError as error:
        text = str(error)
        raise DescriptionError(text if text.startswith(source) else f"{source}: {text}") from None
    before = set(impossible_bodies(model))
    for problem in impossible_bodies(found):
        if problem not in before:
            raise DescriptionError(f"{source}: {problem}")
    return found


def _merged(reader: Reader, own: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Entries of a joint, with those given in their place; None takes an entry away."""
    for key, value in reader.table.items():
        if value is None and key not in keys:
            reader.fail(str(key), f"unknown key; allowed here: {', '.join(sorted(keys))}")
    table = {**own, **reader.table}
    return {key: value for key, value in table.items() if value is not None}


def _check_carrier(model: RobotModel, reader: Reader) -> None:
    names = [model.root, *model.index]
    if "carrier" in reader and reader.text("carrier") not in names:
        reader.fail("carrier", f"found {quoted(reader.text('carrier'))}; links: {listed(names)}")


def _motor_defaults(motor: Motor | None, reader: Reader) -> dict[str, Any]:
    """Entries of a motor, as a table, less those that the new entries make meaningless."""
    if motor is None:
        return {}
    if "gear" in reader and "inertia" not in reader:
        motor = _referred(motor, reader.number("gear"), reader)
    table = {
        "gear": motor.gear,
        "inertia": {"axial": motor.axial, "transverse": motor.transverse},
        "mass": motor.mass,
        "coupling": dict(motor.coupling),
        "friction": {
            key: x for key, x in motor.friction.table.items() if key == "width" or TERMS[key].at_motors
        },
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
    referred = friction.of(new, width=friction.width / abs(by))
    return replace(motor, gear=gear, axial=motor.axial * by * by, friction=referred)
