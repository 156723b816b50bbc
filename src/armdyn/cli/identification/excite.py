"""The verb excite."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armdyn.cli.common import GivenRobot, check_output, number_list, numbers, say, takes_robot
from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.identification.excitation import Excitation, Workspace
from armdyn.identification.excitation import excite as search
from armdyn.robot import Robot

LimitOption = Annotated[
    str | None, typer.Option(help="Instead of the robot's: one number, or one for each joint.")
]


class Kind(StrEnum):
    fourier = "fourier"
    quintic = "quintic"


class Criterion(StrEnum):
    condition = "condition"
    scaled = "scaled"
    determinant = "determinant"


@takes_robot
def excite(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV file to write.")],
    kind: Annotated[
        Kind, typer.Option(help="A finite Fourier series, or quintics through via points.")
    ] = Kind.fourier,
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
    limits: dict[str, Any] = {
        "velocity": number_list(velocity, "--velocity"),
        "acceleration": number_list(acceleration, "--acceleration"),
        "jerk": number_list(jerk, "--jerk"),
        "torque": number_list(torque, "--torque"),
    }
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
    """Per joint the parts of its limits that are used; then how well the parameters are seen."""
    kinds = [kind for kind in found.usage if kind != "workspace"]
    table = table_of("joint", *(f"{kind} %" for kind in kinds))
    for i, link in enumerate(robot.model.coordinates):
        parts = [found.usage[kind][i] for kind in kinds]
        add_row(table, link.joint_label, *(f"{100 * part:.1f}" if part > 0 else "" for part in parts))
    terminal().print(table)
    for line in found.summary():
        say(line)
