"""The verb view."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import CycleOption, GivenRobot, check_joints, motion_of, say, takes_robot
from armdyn.expression import ArmdynError
from armdyn.names import one_line
from armdyn.progress import hide_progress, stage


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
    origin: Annotated[
        list[str] | None, typer.Option(help="Address of a proxy whose pages may connect; may be repeated.")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    stay: Annotated[bool, typer.Option("--stay", help="Go on when all pages are closed.")] = False,
) -> None:
    """Open the workbench: the arm in 3-D in the browser, with its torques, motions and simulations."""
    from armdyn.identification import Log
    from armdyn.workbench import ViewError  # brings viser: only when asked for
    from armdyn.workbench import view as open_workbench

    loaded = robot.load()
    motion = motion_of(loaded, trajectory, cycle)
    if motion is not None:
        check_joints(loaded, trajectory, motion)
    recorded = None if log is None else Log.load(log)
    try:
        with stage("making the page"):
            bench = open_workbench(
                loaded,
                trajectory or cycle,
                log=recorded,
                source=robot.source,
                host=host,
                port=port,
                origins=origin or (),
                browser=browser,
            )
    except ViewError as error:
        raise ArmdynError(_of_option(str(error))) from None
    hide_progress()
    with bench, contextlib.suppress(KeyboardInterrupt):
        say(f"{one_line(loaded.name)}: {bench.url}")
        if port and not bench.url.endswith(f":{port}/"):
            say(f"Port {port} is taken by another program; this is the next free one.")
        say("Press Ctrl-C to end." if stay else "Close the page or press Ctrl-C to end.")
        bench.wait(stay=stay)


def _of_option(text: str) -> str:
    """An error of `armdyn.view` by the names of the options."""
    for argument, option in (("host", "--host"), ("port", "--port"), ("origins", "--origin")):
        if text.startswith(f"{argument}: "):
            return f"{option}{text.removeprefix(argument)}"
    return text
