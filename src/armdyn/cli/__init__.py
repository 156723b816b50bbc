"""The command line: one verb, one call. Each module holds the verbs of one kind of work."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from armdyn import __version__
from armdyn.cli.derive import derive
from armdyn.cli.describe import robots, show
from armdyn.cli.doctor import doctor
from armdyn.cli.export import export_c
from armdyn.cli.motion import scale, trajectory
from armdyn.cli.report import report
from armdyn.cli.running import Verb, run
from armdyn.cli.simulate import simulate
from armdyn.cli.torque import torque

app = typer.Typer(
    help="The dynamics of robot manipulators: exact equations and proofs, motions, simulation, reports.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (robots, show, derive, trajectory, torque, scale, simulate, report, doctor):
    app.command(cls=Verb)(verb)
export = typer.Typer(help="Write code for other programs.", no_args_is_help=True)
export.command("c", cls=Verb)(export_c)
app.add_typer(export, name="export")


def _version(asked: bool) -> None:
    if asked:
        print(f"armdyn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the program `armdyn`."""
    if code := run(app, sys.argv[1:]):
        raise SystemExit(code)
