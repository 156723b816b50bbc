"""A robot's card: its joints, and the arm drawn."""

from __future__ import annotations

import numpy as np

from armdyn.expression import Expression
from armdyn.report.figures.arm import plot_arm
from armdyn.report.findings.example_motion import default_motion
from armdyn.report.findings.tables import Cell, Grid, limits_grid
from armdyn.report.notebook.cards import ROWS, framed, more, picture
from armdyn.report.page.markup import Markup, tag
from armdyn.report.page.robot import subtitle
from armdyn.report.page.tables import grid
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS


def robot_card(robot: Robot) -> Markup:
    free = [name for name, value in robot.model.symbols if value is None]
    text = f"{subtitle(robot)}, rotors {robot.model.rotors}"
    parts = [tag("div", _joints(robot), *more(len(robot.joints)))]
    if free:
        parts.append(tag("p", f"Without a value: {', '.join(free)}"))
    else:
        parts.insert(0, picture(plot_arm(robot, _posture(robot)), f"{robot.name} in a posture", 22))
    return framed(robot.name, text, *parts)


def _posture(robot: Robot) -> np.ndarray:
    """One that shows the arm well: as in the report, half-way through a motion that suits it."""
    motion = default_motion(robot).trajectory
    return np.asarray(motion(motion.duration / 2)[0])


def _joints(robot: Robot) -> Markup:
    limits = limits_grid(robot.model)
    rows: list[tuple[Cell, ...]] = []
    for i, link in enumerate(robot.model.moving[:ROWS]):
        own: tuple[Cell, ...] = limits.rows[i][1:] if limits.rows else ("",) * (len(limits.headings) - 1)
        mass = Expression.of(link.inertia.mass)
        rows.append((link.joint_label, link.joint, UNITS[link.joint].position, mass, *own))
    return grid(Grid(("joint", "kind", "unit", "mass [kg]", *limits.headings[1:]), tuple(rows)))
