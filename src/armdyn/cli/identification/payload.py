"""The verb payload."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import (
    GivenRobot,
    check_output,
    check_robot_file,
    numbers,
    say,
    takes_robot,
)
from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.model.inertia import ENTRIES

_UNITS = ("kg", *("kg m",) * 3, *("kg m²",) * 6)


@takes_robot
def payload(
    robot: GivenRobot,
    loaded: Annotated[Path, typer.Argument(help="Log of the arm with its payload: CSV, NPZ or Parquet.")],
    unloaded: Annotated[
        Path | None, typer.Option(help="Log without the payload: then only the arm's geometry must be known.")
    ] = None,
    mass: Annotated[float | None, typer.Option(help="The payload's mass, where it is known [kg].")] = None,
    com: Annotated[
        str | None, typer.Option(help="Its centre of mass in the tip frame, where known: x, y, z [m].")
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Cut-off of the filter for positions [Hz]; default: from the log.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the robot with its payload to a robot file.")
    ] = None,
) -> None:
    """Find the body that an arm carries from a log of its joint torques, with 95 % intervals."""
    from armdyn.identification import Log
    from armdyn.identification.payload import identify_payload

    if output is not None:
        check_output(output, robot.source, loaded, unloaded)
        check_robot_file(output)
    arm = replace(robot, link=None).load()  # the tip stays where the file has it
    if mass is not None and not 0 < mass < float("inf"):
        raise ArmdynError(f"--mass: found {mass:g}; a positive number is expected")
    known: dict[str, object] = {} if mass is None else {"mass": mass}
    if com is not None:
        known["com"] = numbers(com, "--com", 3)
    logs = [None if path is None else Log.load(path) for path in (loaded, unloaded)]
    found = identify_payload(arm, logs[0], logs[1], known=known, link=robot.link, cutoff=cutoff)
    table = table_of("about the frame's origin", "estimate", "95 % interval", "unit")
    intervals = found.intervals()
    for name, x, unit in zip(ENTRIES, found.entries, _UNITS, strict=True):
        low, high = intervals[name]
        span = "not shown" if name in found.not_shown else f"{low:.4g} … {high:.4g}"
        add_row(table, name, f"{x:.5g}", span, unit)
    terminal().print(table)
    for line in found.text().splitlines():
        say(line)
    if output is not None:
        say(f"wrote {arm.with_payload(**found.arguments).save(output)}")
