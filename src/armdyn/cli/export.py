"""The verbs of export: code for other programs."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from armdyn.cli.common import GivenRobot, check_folder, is_read, name_list, say, takes_robot
from armdyn.cli.running import VerbCommand
from armdyn.expression import ArmdynError


@takes_robot
def export_c(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; created if missing.")],
    functions: Annotated[
        str, typer.Option(help="Functions, separated by commas, or 'all'.")
    ] = "inverse_dynamics",
    inputs: Annotated[
        str,
        typer.Option(
            help="What C functions are given at run time, separated by commas: wrench, payload, parameters, "
            "names of symbols. Each takes what it can."
        ),
    ] = "",
    single: Annotated[bool, typer.Option("--float", help="float instead of double.")] = False,
    prefix: Annotated[str | None, typer.Option(help="Prefix of names; default: the robot's name.")] = None,
) -> None:
    """Write C99 that needs libm only: a header, a source and a small test program."""
    _check_folder(output, robot.source)
    loaded = robot.load()
    names = "all" if functions == "all" else name_list(functions)
    source = loaded.export_c(names, name_list(inputs), prefix=prefix, scalar="float" if single else "double")
    paths = source.write(output)
    for path in paths:
        say(f"wrote {path}")
    folder, files = quote(str(output)), f"{paths[1].name} {paths[2].name}"
    say(f"test it: cd {folder} && cc -std=c99 -O2 {files} -lm -o test && ./test")


def _check_folder(output: Path, robot: str) -> None:
    """Refuse, before the work begins, a folder that cannot be made or where the robot file would be lost."""
    check_folder(output)
    for path in output.glob("*.[ch]"):
        if is_read(path, robot):
            raise ArmdynError(f"--output: '{path}' is also an input; choose another folder")


export = typer.Typer(
    help="Write code for other programs.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)
export.callback()(lambda: None)  # "export c" stays two words with one kind of code
export.command("c", cls=VerbCommand)(export_c)
