"""What a robot is: facts, tables of its description, what looks wrong in it."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.expression import Expression
from armdyn.report.findings.subject import Posture, Subject
from armdyn.report.findings.tables import (
    Grid,
    frames_grid,
    limits_grid,
    links_grid,
    motors_grid,
    operations_grid,
)
from armdyn.robot import Robot


@dataclass(frozen=True)
class RobotFinding:
    """A robot's facts; mass and posture only where every symbol has a value."""

    robot: Robot
    free_symbols: tuple[str, ...]
    gravity: tuple[Expression, ...]
    motors: int
    mass: float | None  # [kg], motors included
    posture: Posture | None  # half-way through the motion


def find_robot(subject: Subject) -> RobotFinding:
    robot, model = subject.robot, subject.robot.model
    motors = [link.motor for link in model.links if link.motor is not None]
    mass, posture = None, None
    if not subject.free_symbols:
        masses = (*(link.inertia.mass for link in model.links), *(motor.mass for motor in motors))
        mass = sum(model.number(x) for x in masses)
        posture = subject.middle
    gravity = tuple(Expression.of(x) for x in model.gravity)
    return RobotFinding(robot, subject.free_symbols, gravity, len(motors), mass, posture)


@dataclass(frozen=True)
class DescriptionFinding:
    """The tables of a description, its symbols (without a value: None), and warnings about it."""

    links: Grid
    friction: Grid  # of the joints; without rows where there is none
    frames: Grid
    motors: Grid
    limits: Grid
    warnings: tuple[str, ...]
    symbols: tuple[tuple[str, Expression | None], ...]


def find_description(subject: Subject) -> DescriptionFinding:
    model = subject.robot.model
    links, friction = _apart(links_grid(model))
    return DescriptionFinding(
        links,
        friction,
        frames_grid(model),
        motors_grid(model),
        limits_grid(model),
        tuple(subject.robot.warnings),
        tuple(model.symbols),
    )


def _apart(links: Grid) -> tuple[Grid, Grid]:
    """The links, and what their joints rub, which makes the table too wide."""
    *heads, last = links.headings
    rubbing = tuple((row[0], row[-1]) for row in links.rows if str(row[-1]))
    return Grid(tuple(heads), tuple(row[:-1] for row in links.rows)), Grid((heads[0], last), rubbing)


def find_operations(subject: Subject) -> Grid:
    """Operations of each compiled function."""
    return operations_grid(subject.robot)
