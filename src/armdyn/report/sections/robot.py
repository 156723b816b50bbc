"""The first sections of a report: the robot drawn, its tables, what looks wrong; and the last: its cost."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from armdyn.description.source import bundled_robots, bundled_sources
from armdyn.drawing.arm import draw_arm, draw_base_axes, draw_scale, label_arm, outline
from armdyn.drawing.canvas import canvas
from armdyn.drawing.sheet import Given
from armdyn.drawing.style import styled
from armdyn.drawing.views import Posture
from armdyn.expression import Expression
from armdyn.model import RobotModel
from armdyn.names import listed
from armdyn.report.page import (
    Markup,
    Part,
    Picture,
    cited,
    code,
    expression,
    facts,
    folded,
    items,
    join,
    number,
    paragraph,
    robot_table,
    tag,
)
from armdyn.report.robot_tables import (
    RobotTable,
    Values,
    frames_table,
    joints_text,
    limits_table,
    links_table,
    mechanism_tables,
    motors_table,
    operations_table,
)
from armdyn.report.subject import Subject
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_ROUNDING = 1e-12  # of a position [rad or m]
_HELPERS = 3  # links without mass from which on they stand apart
_DIAGONAL = 3  # entries of a tensor up to which it stands in the table of links
_KINDS = {"revolute": "R", "prismatic": "P"}
MECHANISMS = ("Loops", "Springs at joints", "Springs between points", "Elastic joints")
_ROTORS = {"exact": "exact", "reflected": "reflected (diagonal)", "none": "left out"}


def subtitle(robot: Robot) -> str:
    kinds = "".join(_KINDS[link.joint] for link in robot.model.moving)
    return f"{joints_text(robot.model)} ({kinds})"


@styled
def plot_arm(robot: Robot, q: Any, *, ax: Given = None) -> Figure:
    """The robot in a posture q (n,): joints numbered, motors on the links that carry them, the tip frame.

    A planar arm is drawn in its plane with axes in metres, any other in a parallel projection with the
    directions of the base's axes and a scale.
    """
    found = Posture.of(robot, q)
    arm, view = found.arm, found.view
    paper = canvas(view, outline(view, [arm]), ax=ax)
    draw_scale(paper, view)
    draw_arm(paper, view, arm)
    draw_base_axes(paper, view, arm)
    label_arm(paper, view, arm)
    paper.draw_labels()
    return paper.paper.figure


def write_robot(subject: Subject) -> list[Part]:
    """Facts and a picture; a note instead of the picture where numbers are missing."""
    robot = subject.robot
    if not subject.free_symbols:
        picture, caption = plot_arm(robot, subject.middle.q), _caption(robot, subject.middle)
        drawing = Picture(picture, f"{robot.name} in a posture", caption, drawing=True)
        return [_facts(subject), drawing, *_loops(robot)]
    note = paragraph(
        "Without a value: ",
        join((_symbol(name) for name in subject.free_symbols), ", "),
        ". The equations below hold for any value. What needs numbers (the drawing, torques, scaling, "
        "ellipsoids, simulation) is left out until the robot file gives them.",
    )
    return [_facts(subject), tag("div", note, class_="note")]


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


def _facts(subject: Subject) -> Markup:
    robot, model = subject.robot, subject.robot.model
    motors = [link.motor for link in model.links if link.motor is not None]
    gravity = join((expression(Expression.of(x)) for x in model.gravity), ", ")
    entries: list[tuple[str, str]] = [
        ("moving joints", str(len(robot.joints))),
        ("gravity, base frame", join(["(", gravity, ") m/s²"])),
        ("motors", str(len(motors)) if motors else "none described"),
        ("dynamic parameters", str(len(robot.parameter_names))),
        ("tip frame on", join(model.tip.split("_"), Markup("_<wbr>"))),
    ]
    if motors:
        entries.insert(3, ("rotor model", _ROTORS[model.rotors]))
    if not subject.free_symbols:
        masses = (*(link.inertia.mass for link in model.links), *(motor.mass for motor in motors))
        mass = number(sum(model.number(x) for x in masses))
        entries.insert(1, ("mass, motors included", join([mass, " kg"])))
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
        join((number(x if abs(x) > _ROUNDING else 0.0, 3) for x in posture.q), ", "),
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
    """That of all, or of most; the others by number."""
    units = [joint_units(robot, j).position for j in range(robot.n)]
    most = max(units, key=units.count)
    others = [str(j + 1) for j, unit in enumerate(units) if unit != most]
    if not others:
        return most
    other = next(unit for unit in units if unit != most)
    return f"{most} ({other} for {'joint' if len(others) == 1 else 'joints'} {listed(others)})"


def write_description(subject: Subject) -> list[Part]:
    """The tables of the description, and what looks wrong in it."""
    model = subject.robot.model
    links = links_table(model)
    *others, tensor, friction = range(len(links.headings))
    entries = {name for row in links.rows if isinstance(x := row[tensor], Values) for name, _ in x.items}
    apart = {"Friction of the joints": friction}
    if len(entries) > _DIAGONAL:
        apart = {"Inertia tensors": tensor, **apart}
    else:
        others.append(tensor)
    parts: list[Part] = [tag("h3", "Links"), *_with_helpers(model, links.columns(others))]
    for title, k in apart.items():
        extra = links.columns([0, k])
        if rows := tuple(row for row in extra.rows if str(row[1])):
            parts += [tag("h3", title), robot_table(RobotTable(extra.headings, rows))]
    parts += [tag("h3", "Frames"), *_with_helpers(model, frames_table(model))]
    for title, table in (("Motors", motors_table(model)), ("Limits", limits_table(model))):
        nothing = paragraph(f"The description gives no {title.lower()}.")
        rows = tuple(row for row in table.rows if any(map(str, row[1:])))  # none of joints without limits
        parts += [tag("h3", title), robot_table(RobotTable(table.headings, rows)) if rows else nothing]
    for title, table in zip(MECHANISMS, mechanism_tables(model), strict=True):
        if table.rows:
            parts += [tag("h3", title), robot_table(table)]
    parts.append(
        paragraph(
            "SI units and radians throughout. Frames are those of the links in the frames of their parents, "
            "all joints at zero. Tensors are inertia tensors about the centre of mass in the link's axes; "
            "entries that are zero are left out. Limits without a sign bound magnitudes."
        )
    )
    if warnings := subject.robot.warnings:
        heading = paragraph(tag("strong", "What looks wrong in the description"))
        parts.append(tag("div", heading, items(warnings), class_="warning"))
    if model.symbols:
        parts += [tag("h3", "Symbols"), _symbols(model)]
    if model.notes:
        parts.append(folded("What reading and changing it did", items(model.notes)))
    if model.source in bundled_robots():
        parts.append(tag("h3", "Where its numbers come from"))
        parts += [paragraph(cited(text)) for text in bundled_sources(model.source)]
    return parts


def _with_helpers(model: RobotModel, found: RobotTable) -> list[Markup]:
    """A table with a row for each link; links that are frames only are behind a line that opens."""
    helpers = [
        link.joint == "fixed"
        and link.motor is None
        and link.name != model.tip
        and all(Expression.of(x).is_zero for x in (link.inertia.mass, *link.inertia.tensor))
        for link in model.links
    ]
    if helpers.count(True) < _HELPERS:
        return [robot_table(found)]
    rows = list(zip(found.rows, helpers, strict=True))
    real, others = (RobotTable(found.headings, tuple(x for x, y in rows if y == z)) for z in (False, True))
    summary = f"{len(others.rows)} links without mass that are fixed to others"
    return [robot_table(real), folded(summary, robot_table(others))]


def _symbols(model: RobotModel) -> Markup:
    """Name in the file, sign in the equations, value."""
    entries = []
    for name, value in model.symbols:
        shown = "free" if value is None else expression(value)
        entries.append(tag("li", code(name), " ", _symbol(name), " = ", shown))
    return tag("ul", *entries, class_="symbols")


def write_operations(subject: Subject) -> list[Part]:
    found = operations_table(subject.robot)
    return [
        paragraph(
            "Additions, multiplications and so on in the straight-line programs that are compiled for this "
            "robot, after common parts are shared and constants folded."
        ),
        robot_table(
            RobotTable(found.headings, tuple((*row[:-1], cited(str(row[-1]))) for row in found.rows))
        ),
    ]
