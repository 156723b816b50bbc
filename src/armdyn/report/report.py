"""`write_report`: everything armdyn can say about a robot, in one HTML file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from armdyn.expression import ArmdynError
from armdyn.motion.timing.speed_parts import check_robot, tip_wrench
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.output import write_whole
from armdyn.report.errors import ReportError
from armdyn.report.findings.example_motion import default_motion
from armdyn.report.page.about import add_description, add_robot, free_symbols, subtitle
from armdyn.report.page.equations import add_equations
from armdyn.report.page.motion import add_motion, add_torques
from armdyn.report.page.page import Page, grid, paragraph, warning
from armdyn.report.page.scaling import add_scaling
from armdyn.report.page.strength import add_ellipsoids, add_fall, add_rotors
from armdyn.report.page.tables import operations_grid
from armdyn.robot import Robot

_LEAST, _MOST = 400, 20_000  # intervals between the samples that a motion's numbers are taken from


def write_report(
    robot: Robot, path: str | Path, trajectory: Trajectory | None = None, *, wrench: Any = None
) -> Path:
    """Write a report about a robot and return its path: one HTML file that needs nothing else.

    The robot drawn, its tables, its equations typeset and proved, a motion with its torques and their parts,
    scaling to the limits, ellipsoids, the cost of the diagonal rotor model, a simulation. Without a
    `trajectory` a motion is chosen. `wrench` (6,) is what the tip exerts on its surroundings all along. A
    robot with symbols that have no value gets the parts that need none. The same input gives the same bytes.
    """
    return write_whole(path, report(robot, trajectory, wrench=wrench), ReportError)


def report(robot: Robot, trajectory: Trajectory | None = None, *, wrench: Any = None) -> str:
    """The report as text; see `write_report`."""
    if trajectory is not None:
        check_robot(robot, trajectory)
    wrench = tip_wrench(wrench)
    page = Page(robot.name, subtitle(robot))
    if free_symbols(robot):
        add_robot(page, robot, None, "")
        add_description(page, robot)
        add_equations(page, robot)
        return page.html()
    if trajectory is None:
        chosen = default_motion(robot)
        trajectory, text = chosen.trajectory, chosen.text
    else:
        text = f"The motion given: {trajectory.motion.label}, {trajectory.duration:g} s."
    trajectory = _sampled(trajectory)
    middle = trajectory(trajectory.duration / 2)[0]
    add_robot(page, robot, middle, "half-way along the motion of section 4")
    add_description(page, robot)
    add_equations(page, robot)
    _attempt(add_motion, page, robot, trajectory, text, wrench)
    _attempt(add_torques, page, robot, trajectory, wrench)
    _attempt(add_scaling, page, robot, trajectory, wrench)
    for add in (add_ellipsoids, add_rotors, add_fall):
        _attempt(add, page, robot, trajectory)
    _add_operations(page, robot)
    return page.html()


def _sampled(trajectory: Trajectory) -> Trajectory:
    """The same motion with samples fine enough for the numbers, and not more than fit in memory."""
    step = min(max(trajectory.step, trajectory.duration / _MOST), trajectory.duration / _LEAST)
    return trajectory if step == trajectory.step else trajectory.with_step(step)


def _attempt(add: Callable[..., None], page: Page, *arguments: Any) -> None:
    """Add a section; where the robot makes it impossible, the section says why."""
    try:
        add(page, *arguments)
    except ArmdynError as problem:
        page.sections[-1].add(warning(f"This is not possible here: {problem}."))


def _add_operations(page: Page, robot: Robot) -> None:
    section = page.section("operations", "Cost of computing")
    section.add(
        paragraph(
            "Additions, multiplications and so on in the straight-line programs that are compiled for this "
            "robot, common parts shared and constants folded."
        ),
        grid(operations_grid(robot)),
    )
