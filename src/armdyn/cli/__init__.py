"""The command line: one verb, one call. Each module holds the verbs of one kind of work."""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from typing import Annotated

import typer

from armdyn import __version__
from armdyn.cli.derive import derive
from armdyn.cli.describe import robots, show
from armdyn.cli.doctor import doctor
from armdyn.cli.export import export_c
from armdyn.cli.motion import scale, trajectory
from armdyn.cli.report import report
from armdyn.cli.simulate import simulate
from armdyn.cli.torque import torque
from armdyn.expression import ArmdynError
from armdyn.model import PhysicsWarning

app = typer.Typer(
    help="The dynamics of robot manipulators: exact equations and proofs, motions, simulation, reports.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for verb in (robots, show, derive, trajectory, torque, scale, simulate, report, doctor):
    app.command()(verb)
export = typer.Typer(help="Write code for other programs.", no_args_is_help=True)
export.command("c")(export_c)
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
    """Entry point: a wrong input is one line on stderr, not a traceback."""
    warnings.simplefilter("ignore", PhysicsWarning)  # `show` says what looks wrong
    warnings.showwarning = _show_warning
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without a sign such as ² shows a question mark
    try:
        try:
            app()
        finally:
            sys.stdout.flush()  # here, where what goes wrong is still told in one line
    except ArmdynError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        _print_no_more()
        raise SystemExit(0) from None
    except OSError as error:  # what is printed goes to a full disk
        print(f"error: {error}", file=sys.stderr)
        _print_no_more()
        raise SystemExit(2) from None


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """A warning is one line on stderr, without the place in the program that gave it."""
    print(f"warning: {message}", file=sys.stderr)


def _print_no_more() -> None:
    """What is left in the buffer goes nowhere, instead of failing again when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
