"""Reads the TOML robot file, or the same table from Python, as a RobotModel."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from armdyn.description.frames import FORMULAS, Placement, frame
from armdyn.description.plausibility import suspicions
from armdyn.description.reader import Reader, Symbols
from armdyn.description.source import (
    MAX_LINKS,
    MAX_PRODUCTS,
    DescriptionError,
    Options,
    bundled_robots,
    bundled_table,
    parse_toml,
    read_text,
)
from armdyn.expression import ZERO, ArmdynError, Expression, ExpressionError, TooLargeError, limited, shown
from armdyn.model import PhysicsWarning, impossible_bodies
from armdyn.model.closures import CLOSING_KINDS, ClosingJoint, Relation
from armdyn.model.errors import ModelError, plain
from armdyn.model.friction import NO_FRICTION, SINGLE, TERMS, FrictionCoefficients, levels
from armdyn.model.inertia import TENSOR_KEYS, Inertia, Tensor, asymmetry, filled, matrix_tensor, tensor
from armdyn.model.parts import (
    NO_SPRING,
    JointSpring,
    Limits,
    Link,
    Motor,
    MotorLimits,
    PointSpring,
    Transform,
)
from armdyn.model.robot_model import BASE, RobotModel, naming_problems, spring_overflows, symbol_name_problem
from armdyn.model.vector import IDENTITY, Vector, apply, scale, vector
from armdyn.names import one_line, quoted
from armdyn.remarks import Remark, warn

# ------------------------------------------------------------------------------------------------------------
# Poses: tables { xyz, rpy }, a position, or a 4×4 matrix.


def read_pose(reader: Reader, required: bool = False) -> Transform:
    """Pose by xyz, and the orientation: rpy, or a rotation by its matrix where angles would not be exact."""
    xyz = reader.vector("xyz") if required else reader.vector("xyz", [0, 0, 0])
    rpy = reader.vector("rpy", [0, 0, 0])
    T = frame(xyz, rpy)
    if "rotation" in reader:
        if "rpy" in reader:
            reader.fail("rotation", "given beside rpy; one of them is allowed")
        T = Transform(reader.rotation("rotation"), xyz)
    reader.finish()
    return T


def read_place(value: object, source: str, name: str, symbols: Symbols) -> Transform:
    """A pose from what a caller gives: a table { xyz, rpy }, [x, y, z], or a 4×4 matrix as `pose` returns it.

    The matrix has to be a rigid transform, up to rounding: 1e-9 in R Rᵀ and in its last row.
    """
    if isinstance(value, Mapping):
        return read_pose(Reader(value, source, name, symbols))
    given = plain(value)
    rows = [plain(row) for row in given] if isinstance(given, (list, tuple)) else []
    sizes = [len(row) if isinstance(row, (list, tuple)) else 0 for row in rows]
    if sizes == [4, 4, 4, 4]:
        R, p = [[*row[:3]] for row in rows[:3]], [row[3] for row in rows[:3]]
        reader = Reader({"xyz": p, "rotation": R, "last": rows[3]}, source, name, symbols)
        last = [x.value(reader.values) for x in reader.numbers("last", 4)]
        if max(abs(x - y) for x, y in zip(last, (0, 0, 0, 1), strict=True)) > 1e-9:
            reader.fail("", f"not a rigid transform: its last row is {shown(rows[3])}, not 0 0 0 1")
        return Transform(reader.rotation("rotation"), reader.vector("xyz"))
    reader = Reader({"xyz": rows}, source, name, symbols)
    if sizes != [0, 0, 0]:
        reader.fail("", f"expected {{xyz: …, rpy: …}}, [x, y, z] or a 4×4 matrix, found {shown(value)}")
    return Transform(IDENTITY, reader.vector("xyz"))


# ------------------------------------------------------------------------------------------------------------
# Mass, com and inertia of a link's table: by numbers, or by a mesh file.


_OF_MESH = ("mesh", "density", "scale", "origin")


@dataclass(frozen=True)
class Meshes:
    """The folder where paths of meshes begin, and a note for each mesh read."""

    folder: Path = Path()
    remarks: list[Remark] = field(default_factory=list)


def read_body(reader: Reader, meshes: Meshes) -> Inertia:
    """The body of a link: by a mesh where `inertia` names one, else by numbers."""
    raw = reader.raw("inertia", {})
    by_mesh = isinstance(raw, Mapping) and "mesh" in raw
    return _by_mesh(reader, meshes) if by_mesh else _by_numbers(reader)


def _by_numbers(reader: Reader) -> Inertia:
    """The body: mass, com and the tensor about it, or first moment and tensor about the frame's origin."""
    mass = reader.number("mass", 0)
    by_moment = "first_moment" in reader
    if by_moment and "com" in reader:
        reader.fail("first_moment", "given beside com; one of them is allowed")
    place = reader.vector("first_moment" if by_moment else "com", [0, 0, 0])
    nonzero = any(not Expression.of(x).is_zero for x in place)
    if mass.is_zero and nonzero and not by_moment:
        reader.fail("com", "given, but the mass is 0 or missing")
    about, entries = _tensor(reader)
    if by_moment and nonzero and about == "com":
        if mass.is_zero:
            reader.fail("inertia.about", 'without mass there is no centre of mass; allowed: "origin"')
        place = Inertia(mass, place).com
    elif by_moment:
        return Inertia(mass, place, entries)
    return (
        Inertia.at_com(mass, place, entries) if about == "com" else Inertia(mass, scale(mass, place), entries)
    )


def _tensor(reader: Reader) -> tuple[str, Tensor]:
    """The point that the tensor is about, and its entries: by name, as a 3×3 matrix or as six numbers."""
    raw = plain(reader.raw("inertia", {}))
    if isinstance(raw, (list, tuple)):
        if len(raw) == 6:
            return "com", tensor(reader.numbers("inertia", 6))
        M = reader.matrix("inertia")
        if found := asymmetry(M):
            reader.fail("inertia", f"expected a symmetric matrix, but {found}")
        return "com", matrix_tensor(M)
    table = reader.sub("inertia")
    about: str = table.choice("about", ("com", "origin"), "com")
    entries = tensor(table.number(key, 0) for key in TENSOR_KEYS)
    for key in _OF_MESH:
        if key in table.table:
            table.fail(key, "given without mesh, the path of an STL or OBJ file")
    table.asked.add("mesh")
    table.finish()
    return about, entries


def _by_mesh(reader: Reader, meshes: Meshes) -> Inertia:
    """inertia = { mesh, density, scale, origin }: the mesh gives com and tensor, and mass by its density."""
    from armdyn.model.meshes import enclosed_volume  # seldom needed

    table = reader.sub("inertia")
    for key in ("com", "first_moment"):
        if key in reader:
            reader.fail(key, "given beside inertia.mesh, which gives it")
    for key in ("about", *TENSOR_KEYS):
        if key in table.table:
            table.fail(key, f"given beside mesh, which gives it; allowed here: {', '.join(_OF_MESH)}")
    if ("density" in table) == ("mass" in reader):
        found = "found both" if "mass" in reader else "missing"
        table.fail("density", f"{found}; a mesh needs its density or the link's mass, one of them")
    density = table.number("density") if "density" in table else None
    mass = reader.number("mass") if "mass" in reader else None
    length = table.number("scale", 1)
    T = read_pose(table.sub("origin"))
    name = table.text("mesh")
    table.finish()
    sources = ((table, "density", density), (reader, "mass", mass), (table, "scale", length))
    for where, key, x in sources:
        if x is not None and x.symbols() <= reader.values.keys() and x.value(reader.values) <= 0:
            where.fail(key, f"expected a positive number, found {x}")
    try:
        solid = enclosed_volume(meshes.folder / name)
        body = filled(solid, density, mass, length, T.R, T.p)
    except (ModelError, ValueError) as error:
        table.fail("mesh", str(error))
    without = f"; {solid.collapsed} faces have no area" if solid.collapsed else ""
    size = f"{solid.triangles} triangles{without}"
    text = f"{reader.path}: com and inertia were computed from the mesh '{name}' ({size})"
    meshes.remarks.append(Remark(one_line(text)))  # for files written from the robot, which have no mesh
    return body


# ------------------------------------------------------------------------------------------------------------
# The keys `between` and `at`: the two links that something ties, and where on each.


def read_between(reader: Reader) -> tuple[str, str]:
    """The names of two links."""
    value = reader.raw("between", example='the names of two links, such as ["base", "link 2"]')
    if (
        not isinstance(value, (list, tuple))
        or len(value) != 2
        or not all(isinstance(name, str) for name in value)
    ):
        reader.fail("between", f"expected the names of two links, found {shown(value)}")
    return (value[0], value[1])


def two_ends(reader: Reader, example: str) -> Sequence[object]:
    """The two entries of `at`, one for each link of `between`."""
    value = plain(reader.raw("at", example=example))
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        reader.fail("at", f"expected {example}, one for each link of between, found {shown(value)}")
    return value


# ------------------------------------------------------------------------------------------------------------
# Every [[closure]]: a linear relation between joints, or a joint that closes a chain.


_EITHER = 'relation = { "link 3" = 1, "link 1" = -1 } or between = ["link 3", "link 5"]'


def read_closures(top: Reader) -> tuple[tuple[Relation, ...], tuple[ClosingJoint, ...]]:
    """The relations Σ c_j q_j = offset and the closing joints, each in the order of the file."""
    entries = top.raw("closure", [])
    if not isinstance(entries, (list, tuple)):
        top.fail("closure", "expected one [[closure]] table per relation or loop")
    relations, loops = [], []
    for i, entry in enumerate(entries):
        reader = Reader(entry, top.source, f"closure[{i + 1}]", top.symbols)
        given = [key for key in ("relation", "between") if key in reader.table]
        if len(given) > 1:
            reader.fail("between", "given beside relation; one of them is allowed")
        if given == ["relation"]:
            relations.append(_relation(reader))
        elif given:
            loops.append(_loop(reader))
        else:
            reader.fail("", f"neither relation nor between is given; one of them is needed: {_EITHER}")
        reader.finish()
    return tuple(relations), tuple(loops)


def _relation(reader: Reader) -> Relation:
    table = reader.sub("relation")
    coefficients = tuple((name, table.number(name)) for name in table.names())
    return Relation(coefficients, reader.number("offset", 0))


def _loop(reader: Reader) -> ClosingJoint:
    between = read_between(reader)
    joint = reader.choice("joint", CLOSING_KINDS)
    at = (Transform(), Transform())
    if "at" in reader:
        a, b = (
            read_pose(Reader(end, reader.source, f"{reader.path}.at[{i}]", reader.symbols))
            for i, end in enumerate(two_ends(reader, "two tables { xyz, rpy }"))
        )
        at = (a, b)
    return ClosingJoint(between, at, joint)


# ------------------------------------------------------------------------------------------------------------
# Springs of a robot file: `spring` of a link, and every [[spring]] between points of two links.


def read_joint_spring(reader: Reader) -> JointSpring:
    """{ stiffness, rest } of a link's table."""
    if "spring" not in reader:
        return NO_SPRING
    table = reader.sub("spring")
    spring = JointSpring(table.number("stiffness"), table.number("rest", 0))
    table.finish()
    return spring


def read_springs(top: Reader) -> tuple[PointSpring, ...]:
    """Every [[spring]], in the order of the file."""
    entries = top.raw("spring", [])
    if not isinstance(entries, (list, tuple)):
        top.fail("spring", "expected one [[spring]] table per spring between points of two links")
    return tuple(
        _spring(Reader(entry, top.source, f"spring[{i + 1}]", top.symbols)) for i, entry in enumerate(entries)
    )


def _spring(reader: Reader) -> PointSpring:
    name = reader.text("name") if "name" in reader else ""
    between = read_between(reader)
    a, b = (_point(reader, i, end) for i, end in enumerate(two_ends(reader, "two points [x, y, z]")))
    if "stiffness" not in reader and "force" not in reader:
        reader.fail("", "neither stiffness nor force is given; at least one of them is needed")
    if "rest" in reader and "stiffness" not in reader:
        reader.fail("rest", "given without stiffness, to which it belongs")
    spring = PointSpring(
        between,
        (a, b),
        stiffness=reader.number("stiffness", 0),
        rest=reader.number("rest", 0),
        force=reader.number("force", 0),
        name=name,
    )
    reader.finish()
    return spring


def _point(reader: Reader, i: int, end: object) -> Vector:
    inner = Reader({f"at[{i}]": end}, reader.source, reader.path, reader.symbols)
    return vector(inner.numbers(f"at[{i}]", 3))


# ------------------------------------------------------------------------------------------------------------
# The whole file.


NO_OPTIONS = Options()
HERE = Path()
XML_SUFFIXES = (".urdf", ".xml", ".mjcf", ".xacro")


def load(robot: str | Path, options: Options = NO_OPTIONS) -> RobotModel:
    """A bundled robot by name; a robot file, a URDF or an MJCF file by path; or XML as a text."""
    bundled = bundled_robots()
    if isinstance(robot, str) and robot in bundled:
        _refuse_options(robot, options)
        return options.shaped(build(bundled_table(robot), robot), robot)
    if not isinstance(robot, (str, os.PathLike)):
        raise TypeError(f"expected a path to a robot file or a bundled name, found {shown(robot)}")
    if isinstance(robot, str) and robot.lstrip("\ufeff \t\r\n").startswith("<"):
        return _from_xml(robot.lstrip("\ufeff"), "XML text", options)
    path = Path(robot)
    try:
        if path.suffix.lower() in XML_SUFFIXES:
            return _from_xml(path, str(path), options)
        text = read_text(path)
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
    return from_table(parse_toml(text, str(path)), str(path), path.parent, options)


def _refuse_options(source: str, options: Options) -> None:
    for name in ("base", "repair", "snap"):
        if getattr(options, name):
            raise DescriptionError(f"{name}: only for URDF and MJCF files; {source} is a robot file")


def _from_xml(found: str | Path, source: str, options: Options) -> RobotModel:
    """A URDF or MJCF file, or its text. What reads them is imported when it is needed."""
    from armdyn.description.foreign import assembly, xml_text

    return assembly.from_xml(xml_text.read(found) if isinstance(found, Path) else found, source, options)


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
            model = options.shaped(build(table, source, folder), source)
    except TooLargeError as error:
        raise DescriptionError(f"{source}: the description is {error}") from None
    warn([Remark(text, "warning", source) for text in suspicions(model)], PhysicsWarning, level)
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
        "remarks": tuple(meshes.remarks),
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
    """Name of the fixed base, and its pose in the world."""
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
    reader.finish()
    return link


def _placement(reader: Reader, convention: str, joint: str) -> Placement:
    if convention == "frames":
        origin = read_pose(reader.sub("origin"), required=True)
        axis: Vector = reader.direction("axis") if joint != "fixed" or "axis" in reader else (0, 0, 1)
        return origin, axis, read_pose(reader.sub("after"))
    variable = {"revolute": "theta", "prismatic": "d"}.get(joint)
    values = {
        key: reader.number(key, 0) if key == variable else reader.number(key)
        for key in ("a", "alpha", "d", "theta")
    }
    return FORMULAS[convention](**values)


def read_friction(reader: Reader, at_motor: bool = False) -> FrictionCoefficients:
    """The friction of a joint, or at a motor's shaft."""
    single = [name for name in SINGLE if TERMS[name].at_motors or not at_motor]
    values = {name: reader.number(name, 0) for name in single} | _coulomb(reader)
    velocity = NO_FRICTION.stribeck_velocity
    if (TERMS["stribeck"].at_motors or not at_motor) and reader.raw("stribeck", None) is not None:
        table = reader.sub("stribeck")
        values["stribeck"], velocity = table.number("level"), table.number("velocity")
        table.finish()
    width = reader.number("width", 0)
    reader.finish()
    return FrictionCoefficients.of(values, velocity, width)


def _coulomb(reader: Reader) -> dict[str, Expression]:
    """One value, or [at positive speed, at negative speed]."""
    if isinstance(plain(reader.raw("coulomb", 0)), (list, tuple)):
        return levels(*reader.numbers("coulomb", 2))
    return {"coulomb": reader.number("coulomb", 0)}


def read_limits(reader: Reader) -> Limits:
    """The limits of a joint."""
    position = None
    if "position" in reader:
        low, high = reader.numbers("position", 2)
        position = (low, high)
    keys = ("velocity", "acceleration", "jerk", "torque")
    limits = Limits(position, *(reader.number(key) if key in reader else None for key in keys))
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
    reader.finish()
    return motor


def _motor_limits(reader: Reader) -> MotorLimits:
    """{ torque, velocity, current } at the shaft."""
    keys = ("torque", "velocity", "current")
    limits = MotorLimits(*(reader.number(key) if key in reader else None for key in keys))
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
