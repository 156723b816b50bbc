"""The verb report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    WrenchOption,
    check_output,
    motion_of,
    say,
    takes_robot,
    wrench_of,
)


@takes_robot
def report(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion, as `armdyn trajectory` writes it; default: one is chosen.")
    ] = None,
    cycle: CycleOption = None,
    wrench: WrenchOption = None,
    live: Annotated[
        bool, typer.Option("--live", help="Begin with the arm in 3-D, with sliders, torques and the motion.")
    ] = False,
) -> None:
    """Write a report about a robot on one HTML page: pictures, tables, equations, proof, torques, limits."""
    from armdyn.report import write_report  # brings matplotlib: only when asked for

    check_output(output, robot.source, trajectory, cycle)
    loaded = robot.load()
    motion = motion_of(loaded, trajectory, cycle)
    say(f"wrote {write_report(loaded, output, motion, wrench=wrench_of(wrench), live=live)}")
