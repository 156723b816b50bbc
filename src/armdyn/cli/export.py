"""The verbs of export: code for other programs."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from armdyn import __version__
from armdyn.cli.common import RobotArgument, RotorsOption, load_robot
from armdyn.expression import ArmdynError
from armdyn.kernels import FUNCTIONS
from armdyn.kernels.c import c_source, identifier


def export_c(
    robot: RobotArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to.")],
    functions: Annotated[
        str, typer.Option(help="Functions, separated by commas, or 'all'.")
    ] = "inverse_dynamics",
    single: Annotated[bool, typer.Option("--float", help="float instead of double.")] = False,
    prefix: Annotated[str | None, typer.Option(help="Prefix of names; default: the robot's name.")] = None,
    rotors: RotorsOption = None,
) -> None:
    """Write C99 that needs libm only: a header, a source and a small test program."""
    loaded = load_robot(robot, rotors)
    names = list(FUNCTIONS) if functions == "all" else [x.strip() for x in functions.split(",") if x.strip()]
    if not names:
        raise ArmdynError(f"--functions: none given; allowed: {', '.join(FUNCTIONS)}")
    programs = {name: loaded.program(name) for name in names}
    joints = [f"{link.name} ({link.joint})" for link in loaded.model.moving]
    scalar = "float" if single else "double"
    source = c_source(loaded.name, identifier(prefix or loaded.name), programs, joints, scalar, __version__)
    paths = source.write(output)
    for path in paths:
        print(f"wrote {path}")
    compiled = f"cc -std=c99 -O2 {paths[1].name} {paths[2].name} -lm -o test"
    print(f"test it: cd {quote(str(output))} && {compiled} && ./test")
