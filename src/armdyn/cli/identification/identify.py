"""The verb identify."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from armdyn.cli.common import (
    GivenRobot,
    check_output,
    check_robot_file,
    is_read,
    say,
    takes_robot,
)
from armdyn.expression import ArmdynError
from armdyn.identification import Fit, Log
from armdyn.identification import identify as find

_CHANNELS = ("t", "q", "tau", "qd", "qdd", "motor_position", "motor_torque", "current")


@takes_robot
def identify(
    robot: GivenRobot,
    logs: Annotated[list[Path], typer.Argument(help="Logs to learn from: CSV, NPZ or Parquet.")],
    validate: Annotated[
        list[Path] | None, typer.Option(help="A log to try the result on; may be repeated.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL=COLUMNS",
            help="Columns of a channel (t, q, tau, qd, qdd, motor_position, motor_torque, current): names, "
            "numbers or patterns, separated by commas; may be repeated.",
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL=UNIT",
            help="Unit of a channel, or a factor to SI; one, or one for each joint, separated by commas.",
        ),
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Cut-off of the filters [Hz]; default: chosen from the data.")
    ] = None,
    friction: Annotated[
        str,
        typer.Option(
            help="choose: terms that predict best; plain: viscous, Coulomb, offset; given: nothing is added."
        ),
    ] = "choose",
    method: Annotated[str, typer.Option(help="How the parameters are estimated.")] = "weighted",
    consistent: Annotated[
        bool, typer.Option("--consistent", help="Only bodies that can exist (needs armdyn[identify]).")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the robot that was found to a robot file.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report on one HTML page.")] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all numbers as JSON instead of the summary.")
    ] = False,
) -> None:
    """Find the parameters of a robot from logs, say what they are worth, and try them on other logs."""
    other = validate or []
    _check_outputs(output, report, [robot.source, *logs, *other])
    arm = robot.load()
    options = {"columns": _pairs(columns, "--columns", _column), "units": _pairs(units, "--units", _unit)}
    train, test = ([Log.load(path, **options) for path in paths] for paths in (logs, other))
    found = find(
        arm,
        train,
        validate=test or None,
        cutoff=cutoff,
        friction=friction,
        method=method,
        consistent=consistent,
    )
    _print(found, as_json)
    written: list[Path | str] = []
    if output is not None:
        written.append(found.robot.save(output))
    if report is not None:
        from armdyn.report import write_fit_report  # brings matplotlib: only when asked for

        written.append(write_fit_report(found, report, train, validate=test or None))
    if not as_json:
        for path in written:
            say(f"wrote {path}")


def _check_outputs(output: Path | None, report: Path | None, inputs: list[Any]) -> None:
    """Before the work begins."""
    if output is not None:
        check_output(output, *inputs)
        check_robot_file(output)
    if report is None:
        return
    try:
        check_output(report, *inputs)
    except ArmdynError as error:
        raise ArmdynError(str(error).replace("--output", "--report")) from None
    if output is not None and (report.resolve() == output.resolve() or is_read(report, output)):
        raise ArmdynError(f"--report: '{report}' is also --output; choose another file")


def _pairs(entries: list[str] | None, option: str, value: Any) -> dict[str, Any] | None:
    """CHANNEL=VALUE of an option that may be repeated."""
    if not entries:
        return None
    found: dict[str, Any] = {}
    for text in entries:
        channel, equals, rest = text.partition("=")
        if not equals or channel.strip() not in _CHANNELS or not rest.strip():
            allowed = f"a channel is one of {', '.join(_CHANNELS)}"
            raise ArmdynError(f"{option}: expected CHANNEL=…, found '{text}'; {allowed}")
        values = [value(part.strip()) for part in rest.split(",")]
        found[channel.strip()] = values[0] if len(values) == 1 else values
    return found


def _column(text: str) -> str | int:
    return int(text) if text.isdecimal() else text


def _unit(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text


def _print(found: Fit, as_json: bool) -> None:
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
        return
    print(found.summary())
