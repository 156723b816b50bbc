"""Verbs of identification: excite, look, identify, drift, payload."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer

from armdyn.cli.common import (
    GivenRobot,
    OutputOption,
    check_output,
    check_robot_file,
    is_read,
    name_list,
    number_list,
    number_lists,
    numbers,
    say,
    takes_robot,
)
from armdyn.cli.running import LOG_PANEL, in_options
from armdyn.cli.terminal import table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.files import write_whole
from armdyn.identification import Fit, Friction, Log, estimate_delay
from armdyn.identification import identify as find
from armdyn.identification import look as judge
from armdyn.identification.drift import LEVEL
from armdyn.identification.drift import drift as compare_fits
from armdyn.identification.excitation import Excitation, Workspace
from armdyn.identification.excitation import excite as search
from armdyn.identification.payload import identify_payload
from armdyn.model.inertia import ENTRIES
from armdyn.progress import stage
from armdyn.remarks import Remark
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
# Logs as they stand on the command line.


_CHANNELS = ("t", "q", "tau", "qd", "qdd", "motor_position", "motor_torque", "current", "wrench")


class WrenchFrame(StrEnum):
    world = "world"
    tip = "tip"


def _reading(text: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=text, rich_help_panel=LOG_PANEL, **more)


@dataclass(frozen=True)
class LogReading:
    """How logs are read: a verb's parameter of this type, under `@takes_logs`; its fields are options."""

    columns: Annotated[
        list[str] | None,
        _reading(
            "Columns of a channel (t, q, tau, qd, qdd, motor_position, motor_torque, current, wrench): "
            "names, numbers or patterns, separated by commas; may be repeated.",
            metavar="CHANNEL=COLUMNS",
        ),
    ] = None
    units: Annotated[
        list[str] | None,
        _reading(
            "Unit of a channel, or a factor to SI; one, or one for each joint, separated by commas.",
            metavar="CHANNEL=UNIT",
        ),
    ] = None
    joint_zeros: Annotated[
        str | None,
        _reading("Added to the positions of the joints, one number each [rad or m].", "--zeros"),
    ] = None
    delay: Annotated[
        str | None,
        _reading("How much later than positions torques were recorded [s]; or estimate, to find it."),
    ] = None
    transmission: Annotated[
        str | None,
        _reading("Motor angles per joint angle: n numbers, or n rows of n, rows separated by semicolons."),
    ] = None
    torque_constant: Annotated[
        str | None, _reading("Of the motors [N m/A]: one number, or one for each.")
    ] = None
    wrench_frame: Annotated[
        WrenchFrame | None,
        _reading("In whose axes the wrench of the logs is; default: as the file says, or world."),
    ] = None
    delimiter: Annotated[
        str | None, _reading("Between the columns of a text file; default: found in the file.")
    ] = None
    decimal: Annotated[str | None, _reading("Decimal mark of a text file: a point, or a comma.")] = None

    def read(self, robot: Robot, paths: Sequence[Path]) -> list[Log]:
        """The logs; a frame that is given is that of all wrenches among them."""
        options = self._options(robot.n)
        try:
            logs = [Log.load(path, **options) for path in paths]
        except ArmdynError as error:  # "run.csv: units: …"
            name, colon, rest = str(error).partition(": ")
            raise ArmdynError(f"{name}{colon}{in_options(rest)}") from None
        frame = self.wrench_frame
        if frame is not None and all(log.wrench is None for log in logs):
            raise ArmdynError(f"--wrench-frame: found '{frame.value}', but no log has a wrench")
        if frame is not None:
            logs = [log if log.wrench is None else replace(log, wrench_frame=frame.value) for log in logs]
        if self.delay == "estimate":
            with stage("delay"):
                logs = [_without_delay(robot, log) for log in logs]
        return logs

    def _options(self, n: int) -> dict[str, Any]:
        """For `Log.load`."""
        delay = None if self.delay == "estimate" else number_list(self.delay, "--delay")
        found = {
            "columns": _pairs(self.columns, "--columns", _column),
            "units": _pairs(self.units, "--units", _unit),
            "joint_zeros": None if self.joint_zeros is None else numbers(self.joint_zeros, "--zeros", n),
            "delay": delay,
            "transmission": _matrix(self.transmission, "--transmission"),
            "torque_constant": number_list(self.torque_constant, "--torque-constant"),
            "delimiter": {"tab": "\t", "blank": " "}.get(self.delimiter or "", self.delimiter),
            "decimal": self.decimal,
        }
        return {name: x for name, x in found.items() if x is not None}


def _without_delay(robot: Robot, log: Log) -> Log:
    """The log, whose record takes the delay out where it is clear; else a remark says so."""
    found = estimate_delay(robot, log)
    if found.clear:
        return replace(log, delay=found.seconds)
    return replace(log, remarks=(*log.remarks, Remark(f"{found}; not taken out")))


def _matrix(text: str | None, option: str) -> Any:
    if text is None:
        return None
    rows = [np.atleast_1d(np.asarray(number_list(row, option))) for row in text.split(";") if row.strip()]
    if len({len(row) for row in rows}) != 1:
        raise ArmdynError(f"{option}: expected n numbers, or n rows of as many, found '{text}'")
    return rows[0] if len(rows) == 1 else np.array(rows)


def takes_logs(verb: Callable[..., None]) -> Callable[..., None]:
    """A verb with the options of `LogReading`, which its parameter `reading` knows."""
    options = get_type_hints(LogReading, include_extras=True)

    @wraps(verb)
    def run(**arguments: Any) -> None:
        asked = {name: arguments.pop(name) for name in options}
        verb(**arguments, reading=LogReading(**asked))

    hints = get_type_hints(verb, include_extras=True)
    own = inspect.signature(verb).parameters.values()
    kept = [x.replace(annotation=hints[x.name]) for x in own if x.name != "reading"]
    kind = inspect.Parameter.KEYWORD_ONLY
    more = [
        inspect.Parameter(name, kind, annotation=hint, default=getattr(LogReading, name))
        for name, hint in options.items()
    ]
    signature = inspect.Signature([*kept, *more])
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {x.name: x.annotation for x in signature.parameters.values()}
    return run


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


def _told(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Remarks in the words of the command line."""
    return tuple(replace(remark, text=in_options(remark.text)) for remark in remarks)


# ------------------------------------------------------------------------------------------------------------
# The verb payload.


_UNITS = ("kg", *("kg m",) * 3, *("kg m²",) * 6)


@takes_robot
@takes_logs
def payload(
    robot: GivenRobot,
    loaded: Annotated[Path, typer.Argument(help="Log of the arm with its payload: CSV, NPZ or Parquet.")],
    reading: LogReading,
    unloaded: Annotated[
        Path | None, typer.Option(help="Log without the payload: then only the arm's geometry must be known.")
    ] = None,
    mass: Annotated[float | None, typer.Option(help="The payload's mass, where it is known [kg].")] = None,
    com: Annotated[
        str | None, typer.Option(help="Its centre of mass in the tip frame, where known: x, y, z [m].")
    ] = None,
    offsets: Annotated[
        bool, typer.Option(help="Offsets of the torques are found beside the payload.")
    ] = True,
    friction: Annotated[
        bool, typer.Option(help="Friction that the load changes is found beside the payload.")
    ] = True,
    consistent: Annotated[
        bool | None,
        typer.Option(help="A body that can exist, always or never; default: where the best one cannot."),
    ] = None,
    cutoff: Annotated[
        float | None, typer.Option(help="Cut-off of the filter for positions [Hz]; default: from the log.")
    ] = None,
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
    with stage("reading"):
        logs = reading.read(arm, [loaded] if unloaded is None else [loaded, unloaded])
    found = identify_payload(
        arm,
        *logs,
        known=known,
        link=robot.link,
        offsets=offsets,
        friction=friction,
        consistent=consistent,
        cutoff=cutoff,
    )
    found = replace(found, remarks=_told(found.remarks))
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
# The verb look.


@takes_robot
@takes_logs
def look(
    robot: GivenRobot,
    logs: Annotated[list[Path], typer.Argument(help="Logs, judged together: CSV, NPZ or Parquet.")],
    reading: LogReading,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Write tables and pictures to one HTML page; or the motion to a picture, .svg.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all numbers as JSON instead of the summary.")
    ] = False,
) -> None:
    """Judge logs before a fit: noise, delay, motion, what can be identified, and what to record next."""
    inputs: list[str | Path] = [robot.source, *logs]
    check_output(output, *inputs)
    if output is not None and output.suffix.lower() not in (".html", ".htm", ".svg"):
        raise ArmdynError(
            f"--output: cannot write '{output}': its name ends with .html, or .svg for a picture"
        )
    arm = robot.load()
    with stage("reading"):
        read = reading.read(arm, logs)
    found = judge(arm, read)
    found = replace(
        found,
        remarks=_told(found.remarks),
        mistakes=tuple(replace(x, text=in_options(x.text)) for x in found.mistakes),
    )
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(in_options(found.summary()))
    if output is not None:
        from armdyn.drawing.style import svg
        from armdyn.report import plot_look, write_look_report  # bring matplotlib: only when asked for

        if output.suffix.lower() == ".svg":
            write_whole(output, svg(plot_look(found)))
        else:
            write_look_report(found, output)
        if not as_json:
            say(f"wrote {output}")


# ------------------------------------------------------------------------------------------------------------
# The verb identify.


@takes_robot
@takes_logs
def identify(
    robot: GivenRobot,
    logs: Annotated[list[Path], typer.Argument(help="Logs to learn from: CSV, NPZ or Parquet.")],
    reading: LogReading,
    validate: Annotated[
        list[Path] | None,
        typer.Option(help="A log to try the result on, or rest: what --time leaves out; may be repeated."),
    ] = None,
    samples: Annotated[
        list[str] | None,
        typer.Option(
            "--time",
            metavar="START:END",
            help="Seconds of the logs that may enter the fit; one end may be left out; may be repeated.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(help="weighted, ordinary, robust, damped, sequential or instrumental least squares."),
    ] = "weighted",
    friction: Annotated[
        str,
        typer.Option(
            help="choose: terms that predict best; plain: viscous, Coulomb, an offset, and a rotor where the "
            "description has none; given: nothing is added; "
            "terms, such as width=0.02,stribeck=0.05,cubic (of the greatest speed); or the terms of a saved "
            "fit: its file."
        ),
    ] = "choose",
    cutoff: Annotated[
        float | None, typer.Option(help="Cut-off of the filters [Hz]; default: chosen from the data.")
    ] = None,
    damping: Annotated[
        float | None,
        typer.Option(help="Toward the description, of the columns' lengths; 0: none; default: chosen."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            help="Only these: all, inertia, friction, springs, payload, or names and patterns such as "
            '"Fv*,m6"; the rest is known; may be repeated.'
        ),
    ] = None,
    instruments: Annotated[
        list[Path] | None,
        typer.Option(
            help="For the method instrumental, a motion without noise for each log, in their order."
        ),
    ] = None,
    consistent: Annotated[
        bool | None,
        typer.Option("--consistent/--free", help="Only bodies that can exist (the default), or any numbers."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(help="What bodies that can exist are near to: nominal, geometric, or another robot."),
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
    rest = [str(path) for path in validate or ()] == ["rest"]
    other = [] if rest else validate or []
    inputs: list[str | Path] = [robot.source, *logs, *other, *(instruments or ())]
    check_robot_file(output, robot.source, *logs)
    outputs = {"--output": output, "--report": report, "--save": save}
    _check_apart(outputs, inputs)
    arm = robot.load()
    asked = _friction(friction)
    near = _prior(prior)
    with stage("reading"):
        read = reading.read(arm, [*logs, *other])
        exact = reading.read(arm, instruments) if instruments else None
    train, test = read[: len(logs)], "rest" if rest else read[len(logs) :] or None
    masks = None if not samples else [_mask(log, samples) for log in train]
    found = find(
        arm,
        train,
        validate=test,
        samples=masks,
        cutoff=cutoff,
        friction=asked,
        method=method,
        damping=damping,
        parameters=_parameters(parameters),
        instruments=exact,
        consistent=consistent,
        prior=near,
    )
    found = replace(found, remarks=_told(found.remarks))
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print(in_options(found.summary()).replace("fit.base.combinations has", "--json prints"))
    written: list[Path | str] = []
    if output is not None:
        written.append(found.robot.save(output))
    if report is not None:
        from armdyn.report import write_fit_report  # brings matplotlib: only when asked for

        written.append(write_fit_report(found, report, train, samples=masks, validate=test))
    if save is not None:
        written.append(found.save(save))
    if not as_json:
        for path in written:
            say(f"wrote {path}")


def _friction(text: str) -> Any:
    """One of the words, the terms of a saved fit, or terms with numbers as a `Friction` has them."""
    if text in ("choose", "plain", "given"):
        return text
    if text.endswith(".json"):
        return Fit.load(text).model.friction
    kinds = {field.name: field.default for field in fields(Friction)}
    given: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (x.strip() for x in part.partition("="))
        is_term = isinstance(kinds.get(name), bool)
        if name not in kinds or (not equals if not is_term else bool(equals) and value not in ("0", "1")):
            terms = ", ".join(
                x + ("=0" if default is True else "" if default is False else "=NUMBER")
                for x, default in kinds.items()
            )
            found = f"found '{part.strip()}'"
            raise ArmdynError(
                f"--friction: expected choose, plain, given, a saved fit (.json), or of {terms}; {found}"
            )
        given[name] = value != "0" if is_term else float(numbers(value, "--friction", 1)[0])
    return Friction(**given)


def _prior(given: str | None) -> str | Robot | None:
    if given in (None, "nominal", "geometric"):
        return given
    try:
        return Robot.load(str(given))
    except ArmdynError as error:
        raise ArmdynError(f"--prior: {error}") from None


def _parameters(given: list[str] | None) -> Any:
    """A group, or names and patterns."""
    names = [name for text in given or () for name in name_list(text)]
    return None if given is None else names[0] if len(names) == 1 else names


def _mask(log: Log, spans: Sequence[str]) -> np.ndarray:
    """(samples,) bool: those within START:END of --time."""
    found = np.zeros(len(log), bool)
    for text in spans:
        start, colon, end = text.partition(":")
        if not colon:
            raise ArmdynError(f"--time: expected START:END in seconds, found '{text}'")
        low = -np.inf if not start.strip() else numbers(start, "--time", 1)[0]
        high = np.inf if not end.strip() else numbers(end, "--time", 1)[0]
        found |= (log.t >= low) & (log.t < high)
    if not found.any():
        span = f"{np.nanmin(log.t):g} to {np.nanmax(log.t):g} s"
        raise ArmdynError(f"--time: {log.name} has no sample there, it has {span}")
    return found


def _check_apart(outputs: dict[str, Path | None], inputs: list[str | Path]) -> None:
    """Refuse outputs that are inputs, or one another."""
    before: dict[str, Path] = {}
    for option, path in outputs.items():
        check_output(path, *inputs, option=f"{option}: ")
        for other, known in before.items():
            if path and (path.resolve() == known.resolve() or is_read(path, known)):
                raise ArmdynError(f"{option}: '{path}' is also {other}; choose another file")
        before |= {option: path} if path else {}


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
