"""The verb base: what of the dynamic parameters can be known."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from armdyn.cli.common import RobotArgument, RotorsOption, SnapOption, check_output, load_robot, say
from armdyn.exact.base.equations import BaseEquations
from armdyn.expression import ArmdynError
from armdyn.output import write_whole
from armdyn.robot.base_parameters import BaseParameters


class Zeros(StrEnum):
    free = "free"
    given = "given"


def base(
    robot: RobotArgument,
    zeros: Annotated[
        Zeros, typer.Option(help="Whether parameters that are zero in the description stay zero.")
    ] = Zeros.free,
    friction: Annotated[bool, typer.Option("--friction", help="Count friction and offsets too.")] = False,
    numeric: Annotated[
        bool, typer.Option("--numeric", help="By numbers, for measured or rounded geometry.")
    ] = False,
    tolerance: Annotated[float, typer.Option(help="Of the numbers: what counts as zero.")] = 1e-6,
    equations: Annotated[
        bool, typer.Option("--equations", help="Also the equations of motion in base parameters.")
    ] = False,
    symbolic: Annotated[bool, typer.Option("--symbolic", help="Replace every number by a symbol.")] = False,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX (amsmath).")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown with formulas.")] = False,
    rotors: RotorsOption = None,
    snap: SnapOption = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Show which combinations of dynamic parameters the torques depend on, and which never appear."""
    if latex and markdown:
        raise ArmdynError("choose one of --latex, --markdown")
    if output is not None:
        check_output(output, robot)
    loaded = load_robot(robot, rotors, snap=snap)
    found = (loaded.symbolic() if symbolic else loaded).base_parameters(
        zeros.value, friction, route="numeric" if numeric else None, tolerance=tolerance
    )
    parts: list[BaseParameters | BaseEquations] = [found]
    if equations:
        parts.append(found.equations())
    text = "\n".join(x.latex() if latex else x.markdown() if markdown else x.text() for x in parts)
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        write_whole(output, text)
        say(f"wrote {output}")
