"""Verbs of identification: excite, payload, identify, drift."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armdyn.cli.common import (
    GivenRobot,
    OutputOption,
    check_output,
    check_robot_file,
    is_read,
    number_list,
    number_lists,
    numbers,
    say,
    takes_robot,
)
from armdyn.cli.terminal import table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.identification import Fit, Log
from armdyn.identification import identify as find
from armdyn.identification.drift import LEVEL
from armdyn.identification.drift import drift as compare_fits
from armdyn.identification.excitation import Excitation, Workspace
from armdyn.identification.excitation import excite as search
from armdyn.identification.payload import identify_payload
from armdyn.model.inertia import ENTRIES
from armdyn.robot import Robot

# ------------------------------------------------------------------------------------------------------------
# The verb excite.


LimitOption = Annotated[
    str | None, typer.Option(help="Instead of the robot's: one number, or one for each joint.")
]


class MotionKind(StrEnum):
    fourier = "fourier"
    quintic = "quintic"


class Criterion(StrEnum):
    condition = "condition"
    scaled = "scaled"
    determinant = "determinant"


@takes_robot
def excite(
    robot: GivenRobot,
    output: OutputOption,
    kind: Annotated[
        MotionKind, typer.Option(help="A finite Fourier series, or quintics through via points.")
    ] = MotionKind.fourier,
    duration: Annotated[float, typer.Option(help="Of the motion, a period of the series [s].")] = 10.0,
    harmonics: Annotated[int, typer.Option(help="Of a Fourier series, two or more.")] = 5,
    points: Annotated[int, typer.Option(help="Via points of quintics, two or more.")] = 10,
    criterion: Annotated[
        Criterion,
        typer.Option(
            help="Least condition number of the base regressor, also with scaled columns; or D-optimality."
        ),
    ] = Criterion.condition,
    parameters: Annotated[
        list[str] | None,
        typer.Option(help="Only these: a parameter or a link, the rest being known; may be repeated."),
    ] = None,
    drives: Annotated[
        bool, typer.Option(help="Friction, offsets and reflected rotors are to be found, too.")
    ] = True,
    lower: Annotated[
        str | None, typer.Option(help="Least positions instead of the robot's; with --upper.")
    ] = None,
    upper: Annotated[str | None, typer.Option(help="Largest positions; with --lower.")] = None,
    velocity: LimitOption = None,
    acceleration: LimitOption = None,
    jerk: LimitOption = None,
    torque: LimitOption = None,
    use: Annotated[float, typer.Option(help="The part of the limits that may be used.")] = 0.95,
    floor: Annotated[float | None, typer.Option(help="Least height of the tip and of all links [m].")] = None,
    box: Annotated[
        str | None,
        typer.Option(help="Where the tip and all links must be: x, y, z of two corners, 6 numbers [m]."),
    ] = None,
    starts: Annotated[int, typer.Option(help="Random motions to begin with.")] = 8,
    iterations: Annotated[int, typer.Option(help="Steps of each start.")] = 200,
    seed: Annotated[int, typer.Option(help="Of the random motions.")] = 0,
    workers: Annotated[int | None, typer.Option(help="Threads; default: one for each core.")] = None,
    step: Annotated[float, typer.Option(help="Time between samples [s].")] = 1e-3,
) -> None:
    """Find a motion that shows the parameters and keeps all limits; write t, q1 ..., qd1 ..., qdd1 ..."""
    check_output(output, robot.source)
    loaded = robot.load()
    limits = number_lists(velocity=velocity, acceleration=acceleration, jerk=jerk, torque=torque)
    with _in_options():
        found = search(
            loaded,
            kind=kind.value,
            duration=duration,
            harmonics=harmonics,
            points=points,
            criterion=criterion.value,
            parameters=parameters or None,
            drives=drives,
            position=_range(lower, upper, loaded.n),
            **limits,
            use=use,
            workspace=_workspace(floor, box),
            starts=starts,
            iterations=iterations,
            seed=seed,
            workers=workers,
            step=step,
        )
    found.save(output)
    _print_excitation(loaded, found)
    say(f"wrote {output}")


@contextmanager
def _in_options() -> Iterator[None]:
    """Messages name the options where these are called otherwise than the arguments."""
    try:
        yield
    except ArmdynError as error:
        text = str(error).replace("position=(lower, upper)", "--lower and --upper")
        raise ArmdynError(text.replace("workspace floor:", "--floor:")) from None


def _range(lower: str | None, upper: str | None, n: int) -> Any:
    """Lower and upper positions; infinite on a side that is not given, None where neither is."""
    if lower is None and upper is None:
        return None
    low, high = _side(lower, "--lower", n), _side(upper, "--upper", n)
    return (-np.inf if low is None else low, np.inf if high is None else high)


def _side(text: str | None, option: str, n: int) -> Any:
    found: Any = number_list(text, option)
    if np.size(found) not in (1, n):
        raise ArmdynError(f"{option}: expected one number or {n}, one per joint, found {np.size(found)}")
    return found


def _workspace(floor: float | None, box: str | None) -> Workspace | None:
    if floor is None and box is None:
        return None
    if box is None:
        return Workspace(floor=floor)
    corners = numbers(box, "--box", 6)
    return Workspace(lower=corners[:3], upper=corners[3:], floor=floor)


def _print_excitation(robot: Robot, found: Excitation) -> None:
    """Print the parts of its limits that each joint uses; then how well the parameters are seen."""
    kinds = [kind for kind in found.usage if kind != "workspace"]
    columns = [[f"{100 * part:.1f}" if part > 0 else "" for part in found.usage[kind]] for kind in kinds]
    rows = zip(robot.coordinates, *columns, strict=True)
    terminal().print(table_of(("joint", *(f"{kind} %" for kind in kinds)), rows))
    for line in found.summary():
        say(line)


# ------------------------------------------------------------------------------------------------------------
# The verb payload.


_UNITS = ("kg", *("kg m",) * 3, *("kg m²",) * 6)


class WrenchFrame(StrEnum):
    world = "world"
    tip = "tip"


WrenchFrameOption = Annotated[
    WrenchFrame | None,
    typer.Option(help="In whose axes the wrench of the logs is; default: as the file says, or world."),
]


def _read(paths: list[Path], frame: WrenchFrame | None, **options: Any) -> list[Log]:
    """The logs; a frame that is given is that of all wrenches among them."""
    logs = [Log.load(path, **options) for path in paths]
    if frame is None:
        return logs
    if all(log.wrench is None for log in logs):
        raise ArmdynError(f"--wrench-frame: found '{frame.value}', but no log has a wrench")
    return [log if log.wrench is None else replace(log, wrench_frame=frame.value) for log in logs]


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
    wrench_frame: WrenchFrameOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the robot with its payload to a robot file.")
    ] = None,
) -> None:
    """Find the body that an arm carries from a log of its joint torques, with 95 % intervals."""
    check_robot_file(output, robot.source, loaded, unloaded)
    arm = replace(robot, link=None).load()  # the tip stays where the file has it
    if mass is not None and not 0 < mass < float("inf"):
        raise ArmdynError(f"--mass: found {mass:g}; a positive number is expected")
    known: dict[str, object] = {} if mass is None else {"mass": mass}
    if com is not None:
        known["com"] = numbers(com, "--com", 3)
    logs = _read([loaded] if unloaded is None else [loaded, unloaded], wrench_frame)
    found = identify_payload(arm, *logs, known=known, link=robot.link, cutoff=cutoff)
    rows = []
    for name, x, unit in zip(ENTRIES, found.entries, _UNITS, strict=True):
        low, high = found.intervals()[name]
        span = "not shown" if name in found.not_shown else f"{low:.4g} … {high:.4g}"
        rows.append((name, f"{x:.5g}", span, unit))
    terminal().print(table_of(("about the frame's origin", "estimate", "95 % interval", "unit"), rows))
    for line in found.text().splitlines():
        say(line)
    if output is not None:
        say(f"wrote {arm.with_payload(**found.arguments).save(output)}")


# ------------------------------------------------------------------------------------------------------------
# The verb identify.


_CHANNELS = ("t", "q", "tau", "qd", "qdd", "motor_position", "motor_torque", "current", "wrench")


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
            help="Columns of a channel (t, q, tau, qd, qdd, motor_position, motor_torque, current, wrench): "
            "names, numbers or patterns, separated by commas; may be repeated.",
        ),
    ] = None,
    units: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CHANNEL=UNIT",
            help="Unit of a channel, or a factor to SI; one, or one for each joint, separated by commas.",
        ),
    ] = None,
    wrench_frame: WrenchFrameOption = None,
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
        bool | None,
        typer.Option("--consistent/--free", help="Only bodies that can exist (the default), or any numbers."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the robot that was found to a robot file.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report on one HTML page.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write all of the fit to a JSON file, for drift, report and view.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all numbers as JSON instead of the summary.")
    ] = False,
) -> None:
    """Find the parameters of a robot from logs, say what they are worth, and try them on other logs."""
    other = validate or []
    inputs: list[str | Path] = [robot.source, *logs, *other]
    check_robot_file(output, *inputs)
    outputs = {"--output": output, "--report": report, "--save": save}
    _check_apart(outputs, inputs)
    arm = robot.load()
    options = {"columns": _pairs(columns, "--columns", _column), "units": _pairs(units, "--units", _unit)}
    read = _read([*logs, *other], wrench_frame, **options)
    train, test = read[: len(logs)], read[len(logs) :]
    found = find(
        arm,
        train,
        validate=test or None,
        cutoff=cutoff,
        friction=friction,
        method=method,
        consistent=consistent,
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(found.summary())
    written: list[Path | str] = []
    if output is not None:
        written.append(found.robot.save(output))
    if report is not None:
        from armdyn.report import write_fit_report  # brings matplotlib: only when asked for

        written.append(write_fit_report(found, report, train, validate=test or None))
    if save is not None:
        written.append(found.save(save))
    if not as_json:
        for path in written:
            say(f"wrote {path}")


def _check_apart(outputs: dict[str, Path | None], inputs: list[str | Path]) -> None:
    """Refuse outputs that are inputs, or one another."""
    before: dict[str, Path] = {}
    for option, path in outputs.items():
        check_output(path, *inputs, option=f"{option}: ")
        for other, known in before.items():
            if path and (path.resolve() == known.resolve() or is_read(path, known)):
                raise ArmdynError(f"{option}: '{path}' is also {other}; choose another file")
        before |= {option: path} if path else {}


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


# ------------------------------------------------------------------------------------------------------------
# The verb drift.


def drift(
    old: Annotated[Path, typer.Argument(help="A fit, as `armdyn identify --save` writes it.")],
    new: Annotated[Path, typer.Argument(help="A later fit of the same arm.")],
    level: Annotated[
        float, typer.Option(help="Probability that an arm which did not change is not said to have.")
    ] = LEVEL,
) -> None:
    """Say which parameters changed between two fits of an arm beyond the uncertainty of both."""
    if not 0 < level < 1:
        raise ArmdynError(f"--level: expected a number between 0 and 1, found {level:g}")
    found = compare_fits(Fit.load(old), Fit.load(new), level)
    terminal().print(table_of(*found.table()))
    for line in found.summary():
        say(line)
