"""The verbs study and size: a table of designs run from a file; motors of a catalogue for duty cycles."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from typer.core import TyperGroup

from armdyn.cli.common import (
    GivenRobot,
    WrenchOption,
    by_joint_of,
    check_folder,
    check_output,
    check_robot_file,
    motion_of,
    say,
    takes_robot,
    wrench_of,
)
from armdyn.cli.running import VerbCommand
from armdyn.cli.terminal import table_of, terminal
from armdyn.expression import ArmdynError, parse, shown
from armdyn.files import write_files, write_whole
from armdyn.names import file_stem, listed, one_line
from armdyn.studies.catalogue import Catalogue, load_catalogue
from armdyn.studies.size_drives import Sizing, size_drives

if TYPE_CHECKING:
    from armdyn.studies import Study
    from armdyn.studies.study_file import StudyFile

REASONS = 5  # of failures that the summary has
COLUMNS = 8  # of what was varied

BestOption = Annotated[int, typer.Option(help="How many designs are the best.", min=1)]
RobotsOption = Annotated[
    Path | None, typer.Option(help="Folder for the robot files of the best designs; created if missing.")
]
MinimiseOption = Annotated[
    list[str] | None, typer.Option(help="A column that should be least; may be repeated.", metavar="COLUMN")
]
MaximiseOption = Annotated[
    list[str] | None,
    typer.Option(help="A column that should be greatest; may be repeated.", metavar="COLUMN"),
]


class _Study(TyperGroup):
    """`armdyn study FILE` is `armdyn study run FILE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, "--help"}:
            args = ["run", *args]
        return list(super().parse_args(ctx, args))


study = typer.Typer(
    help="Run a table of designs from a file, and show what came out: armdyn study FILE.toml, then "
    "armdyn study show FILE.toml.",
    cls=_Study,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@study.command("run", cls=VerbCommand)
def run(
    file: Annotated[Path, typer.Argument(help="A study file; docs/studies.md lists its keys.")],
    workers: Annotated[
        int | None, typer.Option(help="Threads or processes; default: what the file says.", min=1)
    ] = None,
    best: BestOption = 5,
    robots: RobotsOption = None,
) -> None:
    """Run a study, or go on with it.

    What its folder has already is not run again: also after a crash.
    """
    from armdyn.studies.study_file import StudyFile  # brings the verbs: only when asked for

    if robots is not None:
        check_folder(robots, "--robots: ")
    given = StudyFile.load(file)
    start = monotonic()
    found = given.run(workers=workers)
    say(f"{_counted(found)} in {given.folder} ({_time(monotonic() - start)})")
    _print_failures(found)
    minimise, maximise = _objectives(found, given, (), ())
    _summarise(found, minimise, maximise, best, robots)
    say(f"look at them: armdyn study show {quote(str(file))}")


@study.command("show", cls=VerbCommand)
def show(
    source: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="The folder of a study, or its study file.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="HTML file to write.")] = Path("study.html"),
    minimise: MinimiseOption = None,
    maximise: MaximiseOption = None,
    best: BestOption = 10,
    robots: RobotsOption = None,
) -> None:
    """Write a page about a study.

    It has all designs that are finished, also while the study runs; the best stand on the terminal, too.
    Objectives are those of the study file where it is given, or of --minimise and --maximise.
    """
    from armdyn.report import write_study_report
    from armdyn.studies import Study
    from armdyn.studies.study_file import SUFFIX, StudyFile

    check_output(output, source)
    if robots is not None:
        check_folder(robots, "--robots: ")
    given = StudyFile.load(source) if source.suffix.lower() == SUFFIX and not source.is_dir() else None
    found = Study.load(source if given is None else given.folder)
    low, high = _objectives(found, given, minimise or (), maximise or ())
    say(f"{_counted(found)} in {found.folder}")
    _print_failures(found)
    _summarise(found, low, high, best, robots)
    say(f"wrote {write_study_report(found, output, minimise=low, maximise=high, best=best)}")


def _objectives(
    found: Study, given: StudyFile | None, minimise: Sequence[str], maximise: Sequence[str]
) -> tuple[list[str], list[str]]:
    """What is asked for; if nothing is, what the file says. A name that is no column is refused."""
    from armdyn.studies.findings import costs_of

    of_file = given is not None and not minimise and not maximise
    if given is not None and of_file:
        minimise, maximise = given.minimise, given.maximise
    columns = {**found.table, **found.results}
    if not found.results:  # nothing is finished yet, or all have failed: what is not there yet may be right
        return [], []
    try:
        for key, names in (("minimise", minimise), ("maximise", maximise)):
            if unknown := [name for name in names if name not in columns]:
                raise ArmdynError(f"{key}: no column {shown(unknown[0])}; there are {listed(list(columns))}")
        if minimise or maximise:
            costs_of(columns, minimise, maximise)
    except ArmdynError as problem:
        raise ArmdynError(f"{given.source}: {problem}" if given and of_file else str(problem)) from None
    return list(minimise), list(maximise)


def _counted(found: Study) -> str:
    """How many designs there are, and how they ended."""
    name = "" if found.robot is None else f"{one_line(found.robot.name)}: "
    counts = [f"{len(found)} design{'' if len(found) == 1 else 's'}"]
    if failed := int(found.failed.sum()):
        counts.append(f"{failed} failed")
    if missing := int((~found.done).sum()):
        counts.append(f"{missing} not run yet")
    return f"{name}{', '.join(counts)}"


def _time(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _summarise(
    found: Study, minimise: list[str], maximise: list[str], best: int, robots: Path | None
) -> None:
    """Which designs are the best, on the terminal, and as robot files where asked for."""
    if not found.results:
        say("no design has a result")
        return
    goals = [*minimise, *maximise]
    if not goals:
        if robots is not None:
            raise ArmdynError("--robots: nothing says which designs are the best: give objectives")
        say("no objectives: --minimise and --maximise of `armdyn study show` say what makes a design good")
        return
    rows = _best(found, minimise, maximise, best)
    if not len(rows):
        say("no design has a number for every objective")
        return
    varied = [name for name, x in found.table.items() if len(np.unique(x)) > 1 and name not in goals][
        :COLUMNS
    ]
    heads = [f"least {name}" for name in minimise] + [f"greatest {name}" for name in maximise]
    columns = {**found.table, **found.results}
    cells = [[str(row), *(_cell(columns[name][row]) for name in (*goals, *varied))] for row in rows.tolist()]
    terminal().print(table_of(["case", *heads, *varied], cells))
    if robots is not None:
        _write_robots(found, rows, robots)


def _best(found: Study, minimise: list[str], maximise: list[str], n: int) -> np.ndarray:
    from armdyn.studies.findings import best_rows

    return best_rows({**found.table, **found.results}, minimise, maximise, n)


def _cell(x: Any) -> str:
    return str(x) if isinstance(x, str) else f"{x:.6g}"


def _print_failures(found: Study) -> None:
    """The most frequent reasons, numbers in them aside."""
    from armdyn.report.study import failures

    kinds = failures(found)
    if not kinds:
        return
    rows = [(str(len(cases)), reason, f"case {cases[0]}") for reason, cases in kinds[:REASONS]]
    if len(kinds) > REASONS:
        rows.append((str(sum(len(cases) for _, cases in kinds[REASONS:])), "other reasons", ""))
    terminal().print(table_of(("failed", "because of", "as in"), rows))


def _write_robots(found: Study, rows: np.ndarray, folder: Path) -> None:
    """A robot file for each of some cases."""
    stem = file_stem("" if found.robot is None else found.robot.name, "design")
    folder.mkdir(exist_ok=True)
    texts = {folder / f"{stem}-{row}.toml": found.robot_of(row).to_toml() for row in rows.tolist()}
    for path in write_files(texts):
        say(f"wrote {path}")


class Wanted(StrEnum):
    """What is to be least; the names are those of `size_drives`."""

    mass = "mass"
    cost = "cost"
    energy = "energy"
    time = "time"


class Holding(StrEnum):
    brake = "brake"
    motor = "motor"


@takes_robot
def size(
    robot: GivenRobot,
    cycle: Annotated[
        list[str] | None,
        typer.Option(help="A cycle file: a path, or the name of a bundled one; may be repeated."),
    ] = None,
    trajectory: Annotated[
        list[Path] | None,
        typer.Option(help="A motion, as `armdyn trajectory` writes it; may be repeated."),
    ] = None,
    catalogue: Annotated[
        list[str] | None,
        typer.Option(
            help="TOML or CSV, or a bundled one; may be repeated. Default: example_drives, made up."
        ),
    ] = None,
    objective: Annotated[Wanted, typer.Option(help="What is to be least.")] = Wanted.mass,
    joints: Annotated[
        list[str] | None,
        typer.Option("--joint", help="A joint whose drive is chosen; may be repeated. Default: all."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Motors and gears that a joint may have; may be repeated.", metavar="JOINT=NAMES"),
    ] = None,
    stages: Annotated[
        list[str] | None,
        typer.Option(
            "--stage",
            help="Turn of the gear's output for one of the joint, or for a metre [rad/m]; may be repeated.",
            metavar="JOINT=NUMBER",
        ),
    ] = None,
    voltage: Annotated[float | None, typer.Option(help="Of the bus [V]; default: the catalogue's.")] = None,
    life: Annotated[float, typer.Option(help="Of the gears, L10 [h].")] = 10_000.0,
    inertia_ratio: Annotated[
        float | None, typer.Option(help="Of load and motor at the shaft, at most.")
    ] = None,
    holding: Annotated[Holding | None, typer.Option(help="What holds every posture of the cycles.")] = None,
    wrench: WrenchOption = None,
    count: Annotated[int, typer.Option(help="How many assignments are told.")] = 5,
    nodes: Annotated[int, typer.Option(help="After how many nodes the search stops.")] = 2000,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Robot file to write, with the drives chosen.")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="JSON file: all numbers of all assignments.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Markdown file: the table.")] = None,
    plot: Annotated[
        Path | None, typer.Option(help="SVG file: torque over speed of each motor, with its curve.")
    ] = None,
) -> None:
    """Choose motors and gears of a catalogue with which the arm carries its cycles."""
    inputs = (robot.source, *(trajectory or ()), *(cycle or ()), *(catalogue or ()))
    check_robot_file(output, *inputs)
    for option, path in (("--json", json), ("--markdown", markdown), ("--plot", plot)):
        check_output(path, *inputs, option=f"{option}: ")
    if plot is not None and plot.suffix.lower() != ".svg":
        raise ArmdynError(f"--plot: cannot write '{plot}': a picture's name ends with .svg")
    loaded = robot.load()
    motions = [motion_of(loaded, path, None) for path in trajectory or ()]
    motions += [motion_of(loaded, None, name) for name in cycle or ()]
    if not motions:
        raise ArmdynError("give what the arm does: --cycle, or --trajectory")
    found = size_drives(
        loaded,
        motions,
        _catalogue(catalogue or ["example_drives"]),
        objective=objective.value,
        joints=joints,
        only={name: x.split(",") for name, x in by_joint_of("--only", "…", only).items()},
        stages={name: _number(x) for name, x in by_joint_of("--stage", "…", stages).items()},
        voltage=voltage,
        life=life,
        inertia_ratio=inertia_ratio,
        holding=None if holding is None else holding.value,
        wrench=wrench_of(wrench),
        count=count,
        nodes=nodes,
    )
    _print(found)
    for path, text in ((json, found.to_json), (markdown, found.markdown)):
        if path is not None:
            say(f"wrote {write_whole(path, text())}")
    if plot is not None:
        from armdyn.drawing.style import svg
        from armdyn.report import plot_sizing  # brings matplotlib: only when asked for

        say(f"wrote {write_whole(plot, svg(plot_sizing(found)))}")
    if output is not None:
        say(f"wrote {found.robot.save(output)}")


def _print(found: Sizing) -> None:
    terminal().print(table_of(*found.cells()))
    for line in found.sentences():
        say(line)
    for down in found.next_down():
        say(f"one size down: {down}")
    for i, other in enumerate(found.assignments[1:], 2):
        say(f"{i}. {other.objective:.5g}: {other}")


def _catalogue(names: list[str]) -> Catalogue:
    try:
        return load_catalogue(names)
    except ArmdynError as error:  # of what is in it, or of the file
        raise ArmdynError(f"--catalogue: {error}") from None


def _number(text: str) -> float:
    try:
        return float(parse(text, ()).value())
    except ArmdynError as error:
        raise ArmdynError(f"--stage: {error}") from None
