"""The first sections of a report: the robot drawn, its tables, what looks wrong."""

from __future__ import annotations

import numpy as np

from armdyn.expression import Expression
from armdyn.report.figures.arm import plot_arm
from armdyn.report.page.page import (
    Markup,
    Page,
    code,
    expression,
    grid,
    items,
    join,
    number,
    paragraph,
    tag,
)
from armdyn.report.page.tables import frames_grid, limits_grid, links_grid, motors_grid
from armdyn.robot import Robot

_KINDS = {"revolute": "R", "prismatic": "P"}
_ROTORS = {"exact": "exact", "reflected": "reflected (diagonal)", "none": "left out"}


def free_symbols(robot: Robot) -> list[str]:
    """The symbols that have no value: with any of them there are equations but no numbers."""
    return [name for name, value in robot.model.symbols if value is None]


def subtitle(robot: Robot) -> str:
    kinds = "".join(_KINDS[link.joint] for link in robot.model.moving)
    joints = "1 moving joint" if robot.n == 1 else f"{robot.n} moving joints"
    return f"{joints} ({kinds}), written by armdyn"


def add_robot(page: Page, robot: Robot, posture: np.ndarray | None, where: str) -> None:
    """The robot: facts, picture, warnings. `posture` is None where numbers are missing."""
    section = page.section("robot", "The robot")
    section.add(_facts(robot))
    if posture is not None:
        picture = plot_arm(robot, posture)
        caption = _caption(robot, posture, where)
        section.add(page.figure(picture, f"{robot.name} drawn in a posture", *caption, drawing=True))
    else:
        section.add(
            tag(
                "div",
                paragraph(
                    "Without a value: ",
                    join((_symbol(name) for name in free_symbols(robot)), ", "),
                    ". The equations below hold for any value; what needs numbers (the drawing, torques, "
                    "scaling, ellipsoids, simulation) is left out until the robot file gives them.",
                ),
                class_="note",
            )
        )


def _symbol(name: str) -> Markup:
    return expression(Expression.symbol(name))


def _facts(robot: Robot) -> Markup:
    model = robot.model
    gravity = join((expression(Expression.of(x)) for x in model.gravity), ", ")
    motors = sum(link.motor is not None for link in model.links)
    facts = [
        ("moving joints", Markup(str(robot.n))),
        ("gravity, base frame", join(["(", gravity, ") m/s²"])),
        ("motors", Markup(str(motors) if motors else "none described")),
        ("dynamic parameters", Markup(str(len(robot.parameter_names)))),
        ("tip frame on", join([model.tip])),
    ]
    if motors:
        facts.insert(3, ("rotor model", Markup(_ROTORS[model.rotors])))
    if not free_symbols(robot):
        mass = sum(model.number(link.inertia.mass) for link in model.links)
        mass += sum(model.number(link.motor.mass) for link in model.links if link.motor)
        facts.insert(1, ("mass, motors included", join([number(mass), " kg"])))
    return tag(
        "dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in facts), class_="facts"
    )


def _caption(robot: Robot, posture: np.ndarray, where: str) -> list[str]:
    kinds = {link.joint for link in robot.model.moving}
    shapes = []
    if "revolute" in kinds:
        shapes.append("cylinders (circles, seen end-on) are revolute joints")
    if "prismatic" in kinds:
        shapes.append("boxes are prismatic joints")
    caption: list[str] = [f"The arm {where}, at q = (", join((number(x, 3) for x in posture), ", ")]
    caption.append(f") {_units(robot)}. {' and '.join(shapes).capitalize()}, numbered from the base; ")
    caption.append("the arrows at the end are the tip frame.")
    motors = [link for link in robot.model.moving if link.motor]
    if motors and robot.model.rotors != "none":
        caption.append(
            " Black squares are the motors, M with the number of the joint each drives, tied to the place on "
            "the link that carries it."
        )
    return caption


def _units(robot: Robot) -> str:
    units = ["rad" if link.joint == "revolute" else "m" for link in robot.model.moving]
    return units[0] if len(set(units)) == 1 else ", ".join(units)


def add_description(page: Page, robot: Robot) -> None:
    """The tables of the description."""
    model = robot.model
    section = page.section("description", "What it is made of")
    section.add(tag("h3", "Links"), grid(links_grid(model)))
    section.add(tag("h3", "Frames"), grid(frames_grid(model)))
    for title, found in (("Motors", motors_grid(model)), ("Limits", limits_grid(model))):
        section.add(tag("h3", title))
        section.add(grid(found) if found.rows else paragraph(f"The description gives no {title.lower()}."))
    section.add(
        paragraph(
            "SI units and radians throughout. Frames are those of the links in the frames of their parents, "
            "all joints at zero. Tensor entries are those of the inertia tensor, about the "
            "centre of mass in the link's axes; entries that are zero are left out. Limits without a sign "
            "bound magnitudes."
        )
    )
    if robot.warnings:
        heading = paragraph(tag("strong", "What looks wrong in the description"))
        section.add(tag("div", heading, items(robot.warnings), class_="warning"))
    if model.symbols:
        section.add(tag("h3", "Symbols"), _symbols(robot))


def _symbols(robot: Robot) -> Markup:
    """Name in the file, sign in the equations, value."""
    entries = []
    for name, value in robot.model.symbols:
        shown = "free" if value is None else expression(value)
        entries.append(tag("li", code(name), " ", _symbol(name), " = ", shown))
    return tag("ul", *entries, class_="symbols")
