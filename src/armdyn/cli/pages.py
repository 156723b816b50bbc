"""The verbs report, exercise and view: a page about a robot, sheets for students, the workbench."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    MotionOption,
    WrenchOption,
    check_folder,
    check_output,
    motion_of,
    name_list,
    say,
    say_exceeded,
    say_warnings,
    takes_robot,
    wrench_of,
)
from armdyn.expression import ArmdynError
from armdyn.names import one_line
from armdyn.progress import hide_progress, stage
from armdyn.robot import Robot

if TYPE_CHECKING:
    from armdyn.identification import Fit

FitOption = Annotated[Path | None, typer.Option(help="A fit of this robot, as `armdyn identify` saves it.")]


def _fit_of(robot: Robot, path: Path | None) -> Fit | None:
    """The fit in a file, which must be of an arm with the joints of this one."""
    if path is None:
        return None
    from armdyn.identification import Fit

    try:
        found = Fit.load(path)
    except ArmdynError as error:
        raise ArmdynError(f"--fit: {error}") from None
    if found.described.coordinates != robot.coordinates:
        theirs, own = (", ".join(x.coordinates) for x in (found.described, robot))
        raise ArmdynError(f"--fit: '{path}' is a fit of an arm with the joints {theirs}; this one has {own}")
    return found


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
    fit: FitOption = None,
    log: Annotated[
        list[Path] | None, typer.Option(help="With --fit, a log that it learnt from; may be repeated.")
    ] = None,
) -> None:
    """Write a report about a robot on one HTML page: pictures, tables, equations, proof, torques, limits.

    With --fit the report is about what was identified, as `armdyn identify --report` writes it.
    """
    from armdyn.report import write_fit_report, write_report  # bring matplotlib: only when asked for
    from armdyn.report.subject import Subject

    check_output(output, robot.source, trajectory, cycle, fit, *(log or ()))
    loaded = robot.load()
    found = _fit_of(loaded, fit)
    if found is None and log:
        raise ArmdynError("--log: a report has logs with --fit only")
    if found is not None:
        if trajectory or cycle or wrench or live:
            raise ArmdynError("--fit: the report of a fit has no motion, wrench or live page")
        from armdyn.identification import Log

        logs = [Log.load(path) for path in log or ()]
        say(f"wrote {write_fit_report(found, output, logs or None)}")
        return
    motion = motion_of(loaded, trajectory, cycle)
    h = wrench_of(wrench)
    say(f"wrote {write_report(loaded, output, motion, wrench=h, live=live)}")
    say_warnings(loaded, robot.source)
    subject = Subject.of(loaded, motion, h)
    if not subject.free_symbols:
        say_exceeded(subject.exceeded)


@takes_robot
def exercise(
    robot: Annotated[
        GivenRobot,
        typer.Argument(help="A bundled robot's name or a path; or 'random': an arm that the seed draws."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write to; created if missing.")
    ] = Path("exercises"),
    seed: Annotated[int, typer.Option(help="Draws the state of the torques, and the random arm.")] = 0,
    count: Annotated[int, typer.Option(help="So many exercises, of this seed and the next ones.", min=1)] = 1,
    questions: Annotated[
        str | None,
        typer.Option(
            help="Questions, separated by commas: jacobians, energies, B, C, skew, g, motion, regressor, "
            "base, newton-euler, torques [default: jacobians, energies, B, C, g, torques]."
        ),
    ] = None,
) -> None:
    """Write exercises: a sheet with questions about an arm, and its solution, as HTML and Markdown."""
    from armdyn.report import exercise, random_arm  # bring matplotlib: only when asked for

    check_folder(output)
    drawn = robot.source == "random"
    if drawn and robot.is_changed:
        raise ArmdynError("'random': an arm that is drawn takes no options that change it")
    loaded = None if drawn else robot.load()
    asked = {} if questions is None else {"questions": name_list(questions)}
    for k in range(seed, seed + count):
        with stage(f"exercise {k}"):
            found = exercise(loaded or random_arm(k), seed=k, **asked)
            for path in found.save(output):
                say(f"wrote {path}")


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
    fit: FitOption = None,
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
    found = _fit_of(loaded, fit)
    recorded = None if log is None else Log.load(log)
    with stage("making the page"):
        bench = open_workbench(
            loaded,
            trajectory or cycle,
            fit=found,
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
