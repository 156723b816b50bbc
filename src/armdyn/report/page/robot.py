"""The first sections of a report: the robot drawn, its tables, what looks wrong; and the last: its cost."""

from __future__ import annotations

from armdyn.expression import Expression
from armdyn.expression.messages import listed
from armdyn.model import RobotModel
from armdyn.report.figures.arm import draw_posture
from armdyn.report.findings.mechanisms import joints_text
from armdyn.report.findings.robot import DescriptionFinding, RobotFinding
from armdyn.report.findings.subject import Posture
from armdyn.report.findings.tables import Grid
from armdyn.report.page.page import (
    Markup,
    Part,
    Picture,
    code,
    expression,
    facts,
    grid,
    items,
    join,
    number,
    paragraph,
    tag,
)
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_KINDS = {"revolute": "R", "prismatic": "P"}
_MECHANISMS = ("Loops", "Springs at joints", "Springs between points", "Elastic joints")
_ROTORS = {"exact": "exact", "reflected": "reflected (diagonal)", "none": "left out"}


def subtitle(robot: Robot) -> str:
    kinds = "".join(_KINDS[link.joint] for link in robot.model.moving)
    return f"{joints_text(robot.model)} ({kinds})"


def write_robot(found: RobotFinding) -> list[Part]:
    """Facts and a picture; a note instead of the picture where numbers are missing."""
    robot, posture = found.robot, found.posture
    if posture is not None:
        picture = draw_posture(posture)
        caption = _caption(robot, posture)
        drawing = Picture(picture, f"{robot.name} in a posture", caption, drawing=True)
        return [_facts(found), drawing, *_loops(robot)]
    note = paragraph(
        "Without a value: ",
        join((_symbol(name) for name in found.free_symbols), ", "),
        ". The equations below hold for any value. What needs numbers (the drawing, torques, scaling, "
        "ellipsoids, simulation) is left out until the robot file gives them.",
    )
    return [_facts(found), tag("div", note, class_="note")]


def _loops(robot: Robot) -> list[Part]:
    """Which joints follow which, and what closes the loops."""
    model, choice = robot.model, robot.model.choice
    if choice is None:
        return []
    driving = [link.joint_label for link in model.coordinates]
    following = [link.joint_label for link in model.moving if link not in model.coordinates]
    kinds = {"revolute": "a revolute joint", "fixed": "a weld"}
    ties = [
        f"{loop.between[0]} and {loop.between[1]} by {kinds.get(loop.joint, 'a ball joint')}"
        for loop in model.loops
    ]
    text = (
        f"{'The coordinate is' if robot.n == 1 else 'Coordinates are'} the {_joints(driving)}; "
        f"the {_joints(following)} follow{_by_relations(model)}. "
        f"{'A loop is' if len(ties) == 1 else 'Loops are'} closed between {listed(ties)}."
    )
    if choice.redundant:
        text += (
            f" Of the conditions that this makes, {choice.redundant} follow from the others: "
            "what rigid bodies bear along these is not determined."
        )
    return [paragraph(text)]


def _by_relations(model: RobotModel) -> str:
    """How those joints follow that relations tie, in a robot with loops."""
    return f", with {'; '.join(model.followers)}" if model.followers else ""


def _joints(names: list[str]) -> str:
    return f"{'joint' if len(names) == 1 else 'joints'} of {listed(names)}"


def _symbol(name: str) -> Markup:
    return expression(Expression.symbol(name))


def _facts(found: RobotFinding) -> Markup:
    robot, model, motors = found.robot, found.robot.model, found.motors
    gravity = join((expression(x) for x in found.gravity), ", ")
    entries: list[tuple[str, str]] = [
        ("moving joints", str(len(robot.joints))),
        ("gravity, base frame", join(["(", gravity, ") m/s²"])),
        ("motors", str(motors) if motors else "none described"),
        ("dynamic parameters", str(len(robot.parameter_names))),
        ("tip frame on", model.tip),
    ]
    if motors:
        entries.insert(3, ("rotor model", _ROTORS[model.rotors]))
    if found.mass is not None:
        entries.insert(1, ("mass, motors included", join([number(found.mass), " kg"])))
    return facts(entries)


def _caption(robot: Robot, posture: Posture) -> list[str]:
    kinds = {link.joint for link in robot.model.moving}
    shapes = []
    if "revolute" in kinds:
        shapes.append("cylinders (circles, seen end-on) are revolute joints")
    if "prismatic" in kinds:
        shapes.append("boxes are prismatic joints")
    caption: list[str] = [
        "The arm half-way through the motion below, at q = (",
        join((number(x, 3) for x in posture.q), ", "),
    ]
    named = ", those that follow others named" if len(robot.model.moving) > robot.n else ""
    caption.append(f") {_units(robot)}. {' and '.join(shapes).capitalize()}, numbered from the base{named}; ")
    beside = "" if posture.view.planar else "; those beside the base have the directions of its axes"
    caption.append(f"the arrows at the end are the tip frame{beside}.")
    if robot.model.loops:
        caption.append(" Blue joints close loops.")
    if posture.arm.springs:
        caption.append(" Zigzag lines are springs.")
    motors = [link for link in robot.model.moving if link.motor]
    if motors and robot.model.rotors != "none":
        caption.append(
            " Filled squares are motors: the number after M is the joint that the motor drives, and the line "
            "leads to the motor's place on its carrier."
        )
    return caption


def _units(robot: Robot) -> str:
    units = [joint_units(robot, j).position for j in range(robot.n)]
    return units[0] if len(set(units)) == 1 else ", ".join(units)


def write_description(found: DescriptionFinding) -> list[Part]:
    """The tables of the description, and what looks wrong in it."""
    parts: list[Part] = [tag("h3", "Links"), grid(found.links)]
    for title, extra in (("Inertia tensors", found.tensors), ("Friction of the joints", found.friction)):
        if extra.rows:
            parts += [tag("h3", title), grid(extra)]
    parts += [tag("h3", "Frames"), grid(found.frames)]
    for title, table in (("Motors", found.motors), ("Limits", found.limits)):
        nothing = paragraph(f"The description gives no {title.lower()}.")
        parts += [tag("h3", title), grid(table) if table.rows else nothing]
    for title, table in zip(_MECHANISMS, found.mechanisms, strict=True):
        if table.rows:
            parts += [tag("h3", title), grid(table)]
    parts.append(
        paragraph(
            "SI units and radians throughout. Frames are those of the links in the frames of their parents, "
            "all joints at zero. Tensors are inertia tensors about the centre of mass in the link's axes; "
            "entries that are zero are left out. Limits without a sign bound magnitudes."
        )
    )
    if found.warnings:
        heading = paragraph(tag("strong", "What looks wrong in the description"))
        parts.append(tag("div", heading, items(found.warnings), class_="warning"))
    if found.symbols:
        parts += [tag("h3", "Symbols"), _symbols(found)]
    return parts


def _symbols(found: DescriptionFinding) -> Markup:
    """Name in the file, sign in the equations, value."""
    entries = []
    for name, value in found.symbols:
        shown = "free" if value is None else expression(value)
        entries.append(tag("li", code(name), " ", _symbol(name), " = ", shown))
    return tag("ul", *entries, class_="symbols")


def write_operations(found: Grid) -> list[Part]:
    return [
        paragraph(
            "Additions, multiplications and so on in the straight-line programs that are compiled for this "
            "robot, after common parts are shared and constants folded."
        ),
        grid(found),
    ]
