"""The command line: one verb, one call. Each module holds the verbs of one kind of work."""

from __future__ import annotations

import sys

import typer

from armdyn.cli.derive import derive
from armdyn.cli.describe import robots, show
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
for verb in (robots, show, derive, trajectory, torque, scale, simulate, report):
    app.command(cls=Verb)(verb)
export = typer.Typer(help="Write code for other programs.", no_args_is_help=True)
export.command("c", cls=Verb)(export_c)
app.add_typer(export, name="export")


def main() -> None:
    """Entry point of the program `armdyn`."""
    if code := run(app, sys.argv[1:]):
        raise SystemExit(code)
