"""The verb show: what a robot is made of."""

from __future__ import annotations

from collections.abc import Iterator

from armdyn.cli.common import GivenRobot, takes_robot
from armdyn.cli.terminal import table_by_columns, terminal
from armdyn.description.dh_table import pose_text
from armdyn.description.plausibility import gathered
from armdyn.description.source import bundled_robots, bundled_sources
from armdyn.expression import ArmdynError, Expression
from armdyn.model import Inertia, Link, RobotModel, Transform
from armdyn.model.friction import SINGLE, FrictionCoefficients
from armdyn.model.robot_model import BASE
from armdyn.names import one_line
from armdyn.report.robot_tables import (
    RobotTable,
    cell_text,
    frames_table,
    friction_entries,
    friction_units,
    joints_text,
    limits_table,
    links_table,
    mechanism_tables,
    motors_table,
    operations_table,
    short,
    tensor_entries,
)
from armdyn.robot import Robot

_REFLECTED = (
    "rotors are reflected: what counts is k²·Im at the joint; where the rotors sit and which way their axes "
    "point is not used, and often not known. robot.with_motors puts it in, for exact rotors"
)


@takes_robot
def show(robot: GivenRobot) -> None:
    """Show links, DH table, motors, limits, symbols, what looks wrong, where diagonal rotors are exact."""
    loaded = robot.load()
    console = terminal()
    console.print(one_line(_title(loaded)), style="bold")
    for part in _parts(loaded):
        if isinstance(part, str):
            console.print(one_line(part))
        elif part.rows:
            columns = zip(*([cell_text(cell) for cell in row] for row in part.rows), strict=True)
            console.print(table_by_columns(*zip(part.headings, columns, strict=True)))
    for text in gathered(loaded.warnings):
        console.print(one_line(f"warning: {text}"), style="yellow")


def _parts(robot: Robot) -> Iterator[str | RobotTable]:
    """Lines and tables, one after the other; tables without rows are not shown, nor are empty columns."""
    model = robot.model
    yield from _head(model)
    yield _structure(model)
    yield _bodies(model)
    yield from _dh(robot)
    if empty := [link.name for link in _empty(model)]:
        yield f"fixed frames without a body, left out: {', '.join(empty)}"
    if model.followers:
        yield f"joints that follow others: {'; '.join(model.followers)}"
    yield from _following(model)
    if passive := [link.joint_label for link in model.moving if not link.actuated]:
        yield f"joints that nothing drives: {', '.join(passive)}"
    yield from mechanism_tables(model)
    yield _friction(model)
    yield _motors(model)
    yield from _rotor_lines(robot)
    yield limits_table(model)
    if model.symbols:
        values = [f"{name} = {'free' if value is None else value}" for name, value in model.symbols]
        yield "symbols: " + ", ".join(values)
    if not any(value is None for _, value in model.symbols):
        yield operations_table(robot)
    if model.source in bundled_robots():
        yield f"where the numbers come from: {' '.join(bundled_sources(model.source))}"


def _title(robot: Robot) -> str:
    model = robot.model
    moving, links = len(model.moving), len(model.links)
    joints = joints_text(model)
    if links > moving:
        joints += f", {links} links"
    motors = f"rotors {model.rotors}" if any(link.motor for link in model.links) else "no motors"
    return f"{model.name}: {joints}, {motors}, tip on '{model.tip}'"


def _head(model: RobotModel) -> Iterator[str]:
    """Lines about where the robot comes from, gravity, base and tool, and what reading the file changed."""
    if model.source in bundled_robots():
        yield f"bundled with armdyn as {model.source}"
    elif model.source:
        yield f"read from {model.source}"
    gravity = ", ".join(str(Expression.of(x)) for x in model.gravity)
    yield f"gravity ({gravity}) m/s² in the base frame"
    if model.base != Transform():
        yield f"base frame {pose_text(model.base)} in the world"
    if model.root != BASE:
        yield f"the fixed base is called '{model.root}'"
    if model.tool != Transform():
        yield f"tip frame {pose_text(model.tool)} in that of '{model.tip}'"
    for note in model.notes:
        yield f"note: {note}"


def _structure(model: RobotModel) -> RobotTable:
    """Table of links with their parents and joints, where the robot is not one chain of named links."""
    is_chain = [link.parent for link in model.links] == [model.root, *model.index][:-1]
    if is_chain and not any(link.joint_name for link in model.links):
        return RobotTable((), ())
    rows = [(x.name, x.parent, x.joint, x.joint_name) for x in model.links if x not in _empty(model)]
    return RobotTable(("link", "parent", "joint", "its name"), tuple(rows))


def _bodies(model: RobotModel) -> RobotTable:
    """Masses, centres of mass, and tensors about them: moments and products of inertia."""
    headings = ("body of", "joint", "mass [kg]", "com [m]", "Ixx, Iyy, Izz [kg m²]", "Ixy, Ixz, Iyz")
    said = bool(_structure(model).rows)  # which joint it is
    rows = []
    for link, row in zip(model.links, links_table(model).rows, strict=True):
        if link in _empty(model):
            continue
        entries = tensor_entries(link.inertia)
        groups = [[entries[key] for key in keys] for keys in (("xx", "yy", "zz"), ("xy", "xz", "yz"))]
        cells = [", ".join(map(short, x)) if any(not e.is_zero for e in x) else "" for x in groups]
        rows.append((link.name, "" if said else link.joint, *row[3:5], *cells))
    return RobotTable(headings, tuple(rows))


def _empty(model: RobotModel) -> list[Link]:
    """Fixed links without a body: frames that a file gives names."""
    return [link for link in model.links if link.joint == "fixed" and link.inertia == Inertia()]


_OFTEN_ZERO = ("It [kg m²]", "mass [kg]")  # of motors


def _motors(model: RobotModel) -> RobotTable:
    """Motors, without their friction and without columns of zeros."""
    found = motors_table(model)
    zeros = [
        heading in _OFTEN_ZERO and all(cell_text(row[i]) == "0" for row in found.rows)
        for i, heading in enumerate(found.headings)
    ]
    return found.columns(i for i, x in enumerate(found.headings) if x != "friction" and not zeros[i])


def _friction(model: RobotModel) -> RobotTable:
    """Friction of joints, and of motors at their shafts. A unit that all of them have stands in the head."""
    surfaces = [(link.joint_label, link.joint, link.friction) for link in model.moving]
    motors = [(link.joint_label, link.motor) for link in model.moving if link.motor]
    surfaces += [(f"motor of {name}", "revolute", motor.friction) for name, motor in motors]
    surfaces = [surface for surface in surfaces if not surface[2].is_zero]
    kinds = {joint for _, joint, _ in surfaces}
    shared = friction_units(kinds.pop()) if len(kinds) == 1 else {}
    keys = ("coulomb", *SINGLE, "stribeck", "stribeck velocity", "width")
    heads = [f"{key} [{shared[key]}]" if key in shared else key for key in keys]
    rows = []
    for name, joint, friction in surfaces:
        texts, units = _friction_texts(friction), {} if shared else friction_units(joint)
        cells = (f"{texts[key]} {units.get(key, '')}".strip() for key in keys)
        rows.append((name, *(cell if texts[key] else "" for key, cell in zip(keys, cells, strict=True))))
    return RobotTable(("friction of", *heads), tuple(rows))


def _friction_texts(friction: FrictionCoefficients) -> dict[str, str]:
    """The numbers by name, without units; empty for those that are zero."""
    texts = {key: "" if x.is_zero else short(x) for key, x in friction_entries(friction).items()}
    forward, backward = friction.coulomb
    even = (forward + backward).is_zero
    levels = f"±{short(forward)}" if even else f"{short(forward)}, {short(backward)}"
    texts["coulomb"] = "" if even and forward.is_zero else levels
    return texts


def _dh(robot: Robot) -> Iterator[str | RobotTable]:
    """The DH table, or why there is none; the frames of the links where they are not its own."""
    try:
        is_dh = robot.in_dh() == robot
        is_mdh = not is_dh and robot.in_dh("mdh") == robot
    except ArmdynError as problem:
        yield f"no table of Denavit-Hartenberg parameters: {str(problem).removeprefix('dh: ')}"
    else:
        table = robot.dh_table("mdh" if is_mdh else "dh")
        name = {"dh": "standard", "mdh": "modified (Craig's)"}[table.convention]
        others = "" if is_dh or is_mdh else ", robot.in_dh() has its frames"
        yield f"{name} Denavit-Hartenberg parameters [m, rad]{others}"
        yield RobotTable(*table.grid)
        if not others:
            return
        yield from table.footnotes
    found, empty = frames_table(robot.model), {link.name for link in _empty(robot.model)}
    yield RobotTable(found.headings, tuple(row for row in found.rows if row[0] not in empty))


def _following(model: RobotModel) -> Iterator[str]:
    """Lines about which joints are the coordinates of a robot with closed chains."""
    if model.choice is None:
        return
    own = [link.joint_label for link in model.coordinates]
    others = [link.joint_label for link in model.positions if link.joint_label not in own]
    yield f"coordinates: {', '.join(own)}; {', '.join(others)} follow by loops"
    posture = zip(model.positions, model.choice.posture, strict=True)
    yield "closed at: " + ", ".join(f"{link.joint_label} = {round(x, 9) + 0.0:.6g}" for link, x in posture)
    if model.choice.redundant:
        yield f"of the loops' equations {model.choice.redundant} follow from the others"


def _rotor_lines(robot: Robot) -> list[str]:
    """Lines about the model of the rotors."""
    model = robot.model
    if model.rotors == "reflected" and any(link.motor for link in model.links):
        return [_REFLECTED]
    return _coupling_lines(robot) if model.rotors == "exact" else []


def _coupling_lines(robot: Robot) -> list[str]:
    """Lines that say of each motor whether adding k²Im to the diagonal is exact."""
    lines, closed = [], bool(robot.model.loops)
    for coupling in (robot.opened() if closed else robot).equations().rotor_couplings():
        where = f"motor of '{coupling.link}' on '{coupling.carrier}'"
        text = " = 0" if coupling.uncoupled else ""
        if coupling.speed is not None:
            text = f" = {coupling.speed}"
        shown = text if len(text) <= 83 else text[:80] + "..."
        verdict = "exact" if coupling.diagonal_is_exact else "not exact"
        if closed and not coupling.diagonal_is_exact:
            verdict += " with the closures open"
        if coupling.uncoupled and not coupling.diagonal_is_exact:
            verdict += ": it leaves out the rotor's inertia across its axis, which turns with its carrier"
        lines.append(f"{where}: z_m·ω{shown or ' is not zero'}, the diagonal rotor model is {verdict}")
    return lines
