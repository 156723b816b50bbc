"""The verb size: motors and gears of a catalogue, chosen for duty cycles."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from armdyn.cli.common import (
    GivenRobot,
    WrenchOption,
    check_output,
    check_robot_file,
    motion_of,
    say,
    takes_robot,
    wrench_of,
)
from armdyn.cli.terminal import table_of, terminal
from armdyn.expression import ArmdynError, parse
from armdyn.files import write_whole
from armdyn.studies.catalogue import Catalogue, load_catalogue
from armdyn.studies.size_drives import Sizing, size_drives


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
        only={name: x.split(",") for name, x in _by_joint(only, "--only").items()},
        stages={name: _number(x) for name, x in _by_joint(stages, "--stage").items()},
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


def _by_joint(given: list[str] | None, option: str) -> dict[str, Any]:
    """All of JOINT=…, by joint. Names may have "=" in them, what follows may not."""
    found: dict[str, Any] = {}
    for text in given or ():
        name, equals, value = text.rpartition("=")
        if not equals or not name:
            raise ArmdynError(f"{option}: expected JOINT=…, found '{text}'")
        if name in found:
            raise ArmdynError(f"{option}: joint '{name}' is given twice")
        found[name] = value
    return found


def _number(text: str) -> float:
    try:
        return float(parse(text, ()).value())
    except ArmdynError as error:
        raise ArmdynError(f"--stage: {error}") from None
