"""The verb report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import (
    CycleOption,
    LinkOption,
    RobotArgument,
    RotorsOption,
    WrenchOption,
    check_output,
    load_robot,
    motion_of,
    say,
    wrench_of,
)


def report(
    robot: RobotArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion, as `armdyn trajectory` writes it; default: one is chosen.")
    ] = None,
    cycle: CycleOption = None,
    wrench: WrenchOption = None,
    link: LinkOption = None,
    rotors: RotorsOption = None,
    live: Annotated[
        bool, typer.Option("--live", help="Begin with the arm in 3-D, with sliders, torques and the motion.")
    ] = False,
) -> None:
    """Write a report about a robot on one HTML page: pictures, tables, equations, proof, torques, limits."""
    from armdyn.report import write_report  # brings matplotlib: only when asked for

    check_output(output, robot, trajectory, cycle)
    loaded = load_robot(robot, rotors, link)
    motion = motion_of(loaded, trajectory, cycle)
    say(f"wrote {write_report(loaded, output, motion, wrench=wrench_of(wrench), live=live)}")
