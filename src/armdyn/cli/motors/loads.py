"""The verb motors: what a motion asks of each motor."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    WrenchOption,
    check_joints,
    check_output,
    motion_of,
    say,
    say_exceeded,
    takes_robot,
    wrench_of,
)
from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.motion import MotorLoads, Trajectory, motor_loads
from armdyn.motion.motors.table import cells_of, sentences
from armdyn.motion.timing.exceeded import exceeded
from armdyn.motion.trajectories.csv_files import write
from armdyn.output import write_whole
from armdyn.report.findings.example_motion import default_motion
from armdyn.robot import Robot


@takes_robot
def motors(
    robot: GivenRobot,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion, as `armdyn trajectory` writes it; default: one is chosen.")
    ] = None,
    cycle: CycleOption = None,
    wrench: WrenchOption = None,
    csv: Annotated[
        Path | None, typer.Option(help="CSV file: torque, speed, power and current of each motor over time.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="SVG file: torque over speed of each motor, with its limits.")
    ] = None,
) -> None:
    """Compute torque, speed, power, current and energy of each motor along a motion, at its shaft."""
    for option, path in (("--csv", csv), ("--plot", plot)):
        if path is not None:
            check_output(path, robot.source, trajectory, cycle, option=option)
    if plot is not None and plot.suffix.lower() != ".svg":
        raise ArmdynError(f"--plot: cannot write '{plot}': a picture's name ends with .svg")
    loaded = robot.load()
    motion, text = _motion(loaded, trajectory, cycle)
    found = motor_loads(loaded, motion, wrench=wrench_of(wrench))
    say(text)
    headings, rows = cells_of(found)
    table = table_of(*headings)
    for row in rows:
        add_row(table, *row)
    terminal().print(table)
    for line in sentences(found):
        say(line)
    at = motion.samples()
    say_exceeded(exceeded(loaded, at.t, at.q, at.qd, at.qdd, found.joint_torque))
    if csv is not None:
        _write(csv, found)
        say(f"wrote {csv}")
    if plot is not None:
        from armdyn.report import plot_motor_loads  # brings matplotlib: only when asked for
        from armdyn.report.figures.drawing import svg

        say(f"wrote {write_whole(plot, svg(plot_motor_loads(found)))}")


def _motion(robot: Robot, trajectory: Path | None, cycle: str | None) -> tuple[Trajectory, str]:
    """The motion given, or the one that a report shows; and which it is."""
    given = motion_of(robot, trajectory, cycle)
    if given is None:
        chosen = default_motion(robot)
        return chosen.trajectory, chosen.text
    check_joints(robot, trajectory, given)
    return given, f"{given.motion.label}, {given.duration:.6g} s"


def _write(path: Path, found: MotorLoads) -> None:
    """Currents only where the description has a torque constant for every motor."""
    columns = {"torque": found.torque, "speed": found.speed, "power": found.power}
    if found.constant_given.all():
        columns["current"] = found.current
    write(path, found.t, columns)
