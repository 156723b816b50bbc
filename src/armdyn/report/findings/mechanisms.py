"""Joints that are not rigid and free, and tables of what else joins links: loops, springs, elastic joints."""

from __future__ import annotations

from armdyn.description.conversion.dh_table import pose_text
from armdyn.expression import Expression
from armdyn.model import RobotModel
from armdyn.model.springs import NO_SPRING
from armdyn.report.findings.tables import Cell, Grid, Values, short


def mechanism_grids(model: RobotModel) -> tuple[Grid, ...]:
    """Loops, springs at joints, springs between points, elastic joints; without rows where there are none."""
    return _loops(model), _joint_springs(model), _point_springs(model), _elastic(model)


def joints_text(model: RobotModel) -> str:
    """How many joints move, and how many of them are independent and elastic."""
    count, elastic = len(model.moving), len(model.elastic)
    text = "1 moving joint" if count == 1 else f"{count} moving joints"
    if model.relations or model.loops:
        text += f", {model.n - elastic} of them independent"
    return f"{text}, {elastic} elastic" if elastic else text


def _loops(model: RobotModel) -> Grid:
    """What closes loops: the two links, the joint between them, and where it is on each."""
    rows = [(*loop.between, loop.joint, *map(pose_text, loop.at)) for loop in model.loops]
    return Grid(("loop from", "to", "by a joint", "on the first", "on the second"), tuple(rows))


def _joint_springs(model: RobotModel) -> Grid:
    rows = []
    for link in model.moving:
        if link.spring != NO_SPRING:
            stiffness, rest = ("N/m", "m") if link.joint == "prismatic" else ("N m/rad", "rad")
            values = (_value(link.spring.stiffness, stiffness), _value(link.spring.rest, rest))
            rows.append((link.joint_label, *values))
    return Grid(("spring at", "stiffness", "rest"), tuple(rows))


def _point_springs(model: RobotModel) -> Grid:
    """Springs between points of links; without the numbers that are zero."""
    rows = []
    for i, spring in enumerate(model.springs):
        numbers = (spring.stiffness, spring.rest, spring.force)
        cells: list[Cell] = ["" if x.is_zero else x for x in numbers]
        ends = [
            f"{link} at ({', '.join(map(short, p))})"
            for link, p in zip(spring.between, spring.at, strict=True)
        ]
        rows.append((spring.name or str(i + 1), *ends, *cells))
    headings = ("spring", "between", "and", "stiffness [N/m]", "rest [m]", "force [N]")
    return Grid(headings, tuple(rows))


def _elastic(model: RobotModel) -> Grid:
    """Transmissions that are springs, at the joint."""
    rows: list[tuple[Cell, ...]] = []
    for link in model.elastic:
        assert link.motor is not None
        assert link.motor.stiffness is not None
        stiffness, damping = ("N/m", "N s/m") if link.joint == "prismatic" else ("N m/rad", "N m s/rad")
        damper: Cell = "" if link.motor.damping.is_zero else _value(link.motor.damping, damping)
        rows.append((link.joint_label, _value(link.motor.stiffness, stiffness), damper))
    return Grid(("elastic joint", "stiffness", "damping"), tuple(rows))


def _value(x: Expression, unit: str) -> Values:
    return Values((("", x),), unit=unit)
