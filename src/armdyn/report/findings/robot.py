"""What a robot is: facts, tables of its description, what looks wrong in it."""

from __future__ import annotations

from dataclasses import dataclass

from armdyn.expression import Expression
from armdyn.report.findings.mechanisms import mechanism_grids
from armdyn.report.findings.subject import Posture, Subject
from armdyn.report.findings.tables import (
    Grid,
    Values,
    frames_grid,
    limits_grid,
    links_grid,
    motors_grid,
    operations_grid,
)
from armdyn.robot import Robot

_DIAGONAL = 3  # entries of a tensor up to which it stands in the table of links


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
    tensors: Grid  # of inertia; without rows where they are short enough to stand with the links
    friction: Grid  # of the joints; without rows where there is none
    frames: Grid
    motors: Grid
    limits: Grid
    mechanisms: tuple[Grid, ...]  # loops, springs at joints, springs between points, elastic joints
    warnings: tuple[str, ...]
    symbols: tuple[tuple[str, Expression | None], ...]


def find_description(subject: Subject) -> DescriptionFinding:
    model = subject.robot.model
    links = links_grid(model)
    tensor, friction = len(links.headings) - 2, len(links.headings) - 1
    cells = [row[tensor] for row in links.rows]
    full = len({name for x in cells if isinstance(x, Values) for name, _ in x.items}) > _DIAGONAL
    return DescriptionFinding(
        _without(links, friction, *((tensor,) if full else ())),
        _column(links, tensor) if full else Grid((), ()),
        _column(links, friction),
        frames_grid(model),
        motors_grid(model),
        limits_grid(model),
        mechanism_grids(model),
        tuple(subject.robot.warnings),
        tuple(model.symbols),
    )


def _column(grid: Grid, k: int) -> Grid:
    """One column of a table beside the first, without the rows that have nothing there."""
    rows = tuple((row[0], row[k]) for row in grid.rows if str(row[k]))
    return Grid((grid.headings[0], grid.headings[k]), rows)


def _without(grid: Grid, *left_out: int) -> Grid:
    kept = [k for k in range(len(grid.headings)) if k not in left_out]
    rows = tuple(tuple(row[k] for k in kept) for row in grid.rows)
    return Grid(tuple(grid.headings[k] for k in kept), rows)


def find_operations(subject: Subject) -> Grid:
    """Operations of each compiled function."""
    return operations_grid(subject.robot)
