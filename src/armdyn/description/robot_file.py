"""The TOML robot file (and the same table from Python) -> RobotModel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from armdyn.description import dh, toml_text
from armdyn.description.bodies.body import Meshes, read_body
from armdyn.description.bodies.pose import read_pose
from armdyn.description.bundled import bundled_robots, bundled_table
from armdyn.description.errors import MAX_LINKS, MAX_PRODUCTS, DescriptionError
from armdyn.description.importing.options import Options, shaped
from armdyn.description.mechanisms.closures import read_closures
from armdyn.description.mechanisms.springs import read_joint_spring, read_springs
from armdyn.description.plausibility import suspicions
from armdyn.description.reader import Reader, Symbols
from armdyn.expression import ZERO, ArmdynError, Expression, ExpressionError, TooLargeError, limited, shown
from armdyn.model import PhysicsWarning, impossible_bodies
from armdyn.model.arguments import plain
from armdyn.model.closures.problems import spring_overflows
from armdyn.model.friction import SINGLE, TERMS, Coulomb, Friction
from armdyn.model.parts import Limits, Link, Motor, MotorLimits, Transform
from armdyn.model.robot_model import BASE, RobotModel, naming_problems, quoted, symbol_name_problem
from armdyn.model.vector import Vector, apply
from armdyn.output import one_line

NO_OPTIONS = Options()
HERE = Path()
XML_SUFFIXES = (".urdf", ".xml", ".mjcf", ".xacro")


def load(robot: str | Path, options: Options = NO_OPTIONS) -> RobotModel:
    """A bundled robot by name; a robot file, a URDF or an MJCF file by path; or XML as a text."""
    bundled = bundled_robots()
    if isinstance(robot, str) and robot in bundled:
        _refuse_options(robot, options)
        return shaped(build(bundled_table(robot), robot), options.tip, options.lock, robot)
    if not isinstance(robot, (str, os.PathLike)):
        raise TypeError(f"expected a path to a robot file or a bundled name, found {shown(robot)}")
    if isinstance(robot, str) and robot.lstrip("\ufeff \t\r\n").startswith("<"):
        return _from_xml(robot.lstrip("\ufeff"), "XML text", options)
    path = Path(robot)
    try:
        if path.suffix.lower() in XML_SUFFIXES:
            return _from_xml(path, str(path), options)
        text = toml_text.read(path)
    except DescriptionError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        near = get_close_matches(str(robot).lower(), bundled, n=1)
        names = f"a bundled name: {', '.join(bundled)}"
        raise DescriptionError(
            f"cannot read '{one_line(str(robot))}' ({reason}); "
            + (f"did you mean {near[0]}?" if near else f"give a path to a robot file or {names}")
        ) from None
    _refuse_options(str(path), options)
    return from_table(toml_text.parse(text, str(path)), str(path), path.parent, options)


def _refuse_options(source: str, options: Options) -> None:
    for name in ("base", "repair", "snap"):
        if getattr(options, name):
            raise DescriptionError(f"{name}: only for URDF and MJCF files; {source} is a robot file")


def _from_xml(found: str | Path, source: str, options: Options) -> RobotModel:
    """A URDF or MJCF file, or its text. What reads them is imported when it is needed."""
    from armdyn.description.importing import files, xml_text

    return files.from_xml(xml_text.read(found) if isinstance(found, Path) else found, source, options)


def from_table(
    table: Mapping[str, Any],
    source: str | None = None,
    folder: Path = HERE,
    options: Options = NO_OPTIONS,
) -> RobotModel:
    """A robot from a table with the keys of the robot file, with a warning for what looks wrong in it.

    Paths of meshes begin in `folder`.
    """
    level = 4  # the caller of Robot.load
    if source is None:
        level = 3  # the caller of Robot.from_dict
        name = Reader(table, "robot", "", {}).raw("name", "robot")
        source = one_line(name)[:60] if isinstance(name, str) else "robot"
    try:
        with limited(MAX_PRODUCTS):
            model = shaped(build(table, source, folder), options.tip, options.lock, source)
    except TooLargeError as error:
        raise DescriptionError(f"{source}: the description is {error}") from None
    for text in suspicions(model):
        warnings.warn(f"{source}: {text}", PhysicsWarning, stacklevel=level)
    return model


def build(table: Mapping[str, Any], source: str, folder: Path = HERE) -> RobotModel:
    """The model a table describes; paths of meshes begin in `folder`."""
    symbols = _symbols(table, source)
    top = Reader(table, source, "", symbols)
    top.raw("symbols", {})
    convention = top.choice("convention", ("dh", "mdh", "frames"))
    entries = top.raw("link", example="at least one [[link]]")
    if not isinstance(entries, (list, tuple)) or not entries:
        top.fail("link", "expected one [[link]] table per link, in order from the base")
    if len(entries) > MAX_LINKS:
        top.fail("link", f"found {len(entries)} links; up to {MAX_LINKS} are allowed")
    root, base = _base(top.sub("base"))
    readers = _link_readers(entries, top, root)
    meshes = Meshes(folder)
    links = [_link(reader, name, parent, convention, meshes) for reader, name, parent in readers]
    relations, loops = read_closures(top)
    arguments: dict[str, Any] = {
        "name": top.text("name"),
        "gravity": top.vector("gravity"),
        "rotors": top.choice("rotors", ("exact", "reflected", "none"), "exact"),
        "tip": top.text("tip", links[-1].name),
        "tool": read_pose(top.sub("tool")),
        "root": root,
        "base": base,
        "relations": relations,
        "loops": loops,
        "springs": read_springs(top),
        "source": source,
        "notes": tuple(meshes.notes),
        "derived": top.flag("derived", False),
    }
    physical = top.flag("physical", True)
    top.finish()
    try:
        model = RobotModel(links=tuple(links), symbols=tuple(symbols.items()), **arguments)
        for problem in impossible_bodies(model) if physical else _overflows(model):
            raise DescriptionError(f"{source}: {problem}")
    except DescriptionError:
        raise
    except ArmdynError as error:
        raise DescriptionError(f"{source}: {error}") from None
    return model


def _overflows(model: RobotModel) -> Iterator[str]:
    """Bodies and springs with numbers that no float can hold: refused also where bodies may be impossible."""
    for link in model.links:
        try:
            for x in link.inertia.entries:
                model.value(x)
        except ExpressionError as error:
            yield f"link {quoted(link.name)}: mass, com and inertia: {error}"
    yield from spring_overflows(model)


def _symbols(table: Mapping[str, Any], source: str) -> Symbols:
    reader = Reader(Reader(table, source, "", {}).raw("symbols", {}), source, "symbols", {})
    found: Symbols = {}
    for name in reader.names():
        if problem := symbol_name_problem(name):
            reader.fail(name, problem)
        value = reader.raw(name)
        found[name] = None if isinstance(value, str) and value == "free" else reader.number(name)
    return found


def _base(reader: Reader) -> tuple[str, Transform]:
    """What the fixed base is called, and where it stands in the world."""
    return reader.text("name", BASE), read_pose(reader)


def _link_readers(entries: Sequence[object], top: Reader, root: str) -> list[tuple[Reader, str, str]]:
    """The links' tables with their names and parents.

    Names, parents and carriers are checked first, because other messages depend on them.
    """
    found: list[tuple[Reader, str, str]] = []
    carriers = []
    for i, entry in enumerate(entries):
        reader = Reader(entry, top.source, f"link[{i + 1}]", top.symbols)
        name = reader.text("name", f"link{i + 1}")
        reader.path = f"link '{name}'"
        parent = reader.text("parent", found[-1][1] if found else root)
        motor = reader.sub("motor") if "motor" in reader else None
        carriers.append(motor.text("carrier", parent) if motor else "")
        found.append((reader, name, parent))
    for problem in naming_problems(
        [name for _, name, _ in found], [parent for *_, parent in found], carriers, root
    ):
        raise DescriptionError(f"{top.source}: {problem}")
    return found


def _link(reader: Reader, name: str, parent: str, convention: str, meshes: Meshes) -> Link:
    joint = reader.choice("joint", ("revolute", "prismatic", "fixed"))
    try:
        T_before, axis, T_after = _placement(reader, convention, joint)
        link = Link(
            name=name,
            parent=parent,
            joint=joint,
            before=T_before,
            axis=axis,
            after=T_after,
            inertia=read_body(reader, meshes),
            friction=read_friction(reader.sub("friction")),
            limits=read_limits(reader.sub("limits")),
            motor=read_motor(reader.sub("motor"), parent, apply(T_before.R, axis))
            if "motor" in reader
            else None,
            joint_name=reader.text("joint_name") if "joint_name" in reader else "",
            spring=read_joint_spring(reader),
            actuated=reader.flag("actuated", True),
            guess=reader.number("guess", 0),
        )
    except ExpressionError as error:  # each number is all right, but a product of them is too large
        reader.fail("", str(error))
    reader.asked.add("motor")
    reader.finish()
    return link


def _placement(reader: Reader, convention: str, joint: str) -> dh.Placement:
    if convention == "frames":
        origin = read_pose(reader.sub("origin"), required=True)
        axis: Vector = reader.direction("axis") if joint != "fixed" or "axis" in reader else (0, 0, 1)
        return origin, axis, read_pose(reader.sub("after"))
    variable = {"revolute": "theta", "prismatic": "d"}.get(joint)
    values = {
        key: reader.number(key, 0) if key == variable else reader.number(key)
        for key in ("a", "alpha", "d", "theta")
    }
    return dh.FORMULAS[convention](**values)


def read_friction(reader: Reader, at_motor: bool = False) -> Friction:
    """The friction of a joint, or at a motor's shaft."""
    single = [name for name in SINGLE if TERMS[name].at_motors or not at_motor]
    values = {name: reader.number(name, 0) for name in single}
    if TERMS["stribeck"].at_motors or not at_motor:
        values |= _stribeck(reader)
    friction = Friction(coulomb=_coulomb(reader), **values)
    reader.finish()
    return friction


def _stribeck(reader: Reader) -> dict[str, Expression]:
    """{ level, velocity }."""
    if reader.raw("stribeck", None) is None:
        return {}
    table = reader.sub("stribeck")
    found = {"stribeck": table.number("level"), "stribeck_velocity": table.number("velocity")}
    table.finish()
    return found


def _coulomb(reader: Reader) -> Coulomb:
    """One value, or [at positive speed, at negative speed]."""
    if not isinstance(plain(reader.raw("coulomb", 0)), (list, tuple)):
        value = reader.number("coulomb", 0)
        return (value, -value)
    forward, backward = reader.numbers("coulomb", 2)
    return (forward, backward)


def read_limits(reader: Reader) -> Limits:
    """The limits of a joint."""
    position = None
    if "position" in reader:
        low, high = reader.numbers("position", 2)
        position = (low, high)
    keys = ("velocity", "acceleration", "jerk", "torque")
    limits = Limits(position, *(reader.number(key) if key in reader else None for key in keys))
    reader.asked.update(("position", *keys))
    reader.finish()
    return limits


def read_motor(reader: Reader, parent: str, joint_axis: Vector) -> Motor:
    """The motor of a table [link.motor]; `joint_axis` is the default of its axis, in the parent's frame."""
    carrier = reader.text("carrier", parent)
    if "axis" not in reader and carrier != parent:
        reader.fail(
            "axis", f"missing; it is required because the carrier ('{carrier}') is not the joint's parent"
        )
    axial, transverse = _rotor_inertia(reader)
    coupling = reader.sub("coupling")
    motor = Motor(
        carrier=carrier,
        axis=reader.direction("axis") if "axis" in reader else joint_axis,
        gear=reader.number("gear"),
        axial=axial,
        transverse=transverse,
        mass=reader.number("mass", 0),
        position=reader.vector("position", [0, 0, 0]),
        coupling=tuple((name, coupling.number(name)) for name in coupling.names()),
        friction=read_friction(reader.sub("friction"), at_motor=True),
        torque_constant=reader.number("torque_constant", 1),
        limits=_motor_limits(reader.sub("limits")),
        stiffness=reader.number("stiffness") if "stiffness" in reader else None,
        damping=reader.number("damping", 0),
    )
    reader.asked.update(("axis", "stiffness"))
    reader.finish()
    return motor


def _motor_limits(reader: Reader) -> MotorLimits:
    """{ torque, velocity, current } at the shaft."""
    keys = ("torque", "velocity", "current")
    limits = MotorLimits(*(reader.number(key) if key in reader else None for key in keys))
    reader.asked.update(keys)
    reader.finish()
    return limits


def _rotor_inertia(reader: Reader) -> tuple[Expression, Expression]:
    """One number is the axial inertia; or { axial, transverse }."""
    if not isinstance(reader.raw("inertia", example="a number or { axial, transverse }"), Mapping):
        return reader.number("inertia"), ZERO
    table = reader.sub("inertia")
    values = (table.number("axial"), table.number("transverse", 0))
    table.finish()
    return values
