"""The verbs report and view: a page about a robot, and the workbench."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    MotionOption,
    WrenchOption,
    check_output,
    motion_of,
    say,
    takes_robot,
    wrench_of,
)
from armdyn.names import one_line
from armdyn.progress import hide_progress, stage


@takes_robot
def report(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("report.html"),
    trajectory: MotionOption = None,
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


@takes_robot
def view(
    robot: GivenRobot,
    trajectory: Annotated[
        Path | None, typer.Option(help="A motion to play, as `armdyn trajectory` writes it.")
    ] = None,
    cycle: CycleOption = None,
    log: Annotated[
        Path | None, typer.Option(help="A log to compare with the robot: CSV, NPZ or Parquet.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Address to listen at; 0.0.0.0: all of this machine's.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on, or the next free one; 0: any.")] = 8765,
    origins: Annotated[
        list[str] | None,
        typer.Option("--origin", help="Address of a proxy whose pages may connect; may be repeated."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    stay: Annotated[bool, typer.Option("--stay", help="Go on when all pages are closed.")] = False,
) -> None:
    """Open the workbench: the arm in 3-D in the browser, with its torques, motions and simulations."""
    from armdyn.identification import Log
    from armdyn.workbench import view as open_workbench  # brings viser: only when asked for

    loaded = robot.load()
    motion_of(loaded, trajectory, cycle)  # errors name the options
    recorded = None if log is None else Log.load(log)
    with stage("making the page"):
        bench = open_workbench(
            loaded,
            trajectory or cycle,
            log=recorded,
            source=robot.source,
            host=host,
            port=port,
            origins=origins or (),
            browser=browser,
        )
    hide_progress()
    with bench, contextlib.suppress(KeyboardInterrupt):
        say(f"{one_line(loaded.name)}: {bench.url}")
        if port and not bench.url.endswith(f":{port}/"):
            say(f"Port {port} is taken by another program; this is the next free one.")
        say("Press Ctrl-C to end." if stay else "Close the page or press Ctrl-C to end.")
        bench.wait(stay=stay)
