"""The command line: one verb, one call. Each module holds the verbs of one kind of work.

A verb's module is imported when the verb is called: `armdyn robots` does not wait for SciPy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from armdyn import __version__
from armdyn.cli.running import VerbCommand, run

# Verb: its module and function, and the line that the list of verbs has for it.
VERBS = {
    "robots": ("terminal.robots", "List the bundled robots."),
    "show": ("describe.show", "Show links, motors, limits, symbols, and what looks wrong."),
    "new": ("files.new", "Write a robot file from a DH table or a few questions."),
    "copy": ("files.copy", "Copy a robot to a file of your own, or convert it: TOML, URDF, MJCF."),
    "diff": ("files.diff", "Say what differs between two robots."),
    "derive": ("derive.derive", "Derive the exact equations of motion."),
    "base": ("derive.base", "Show which combinations of dynamic parameters the torques depend on."),
    "trajectory": ("motion.trajectory", "Make a motion: of the joints, or of the tip along a line."),
    "torque": ("motion.torque", "Compute joint torques for a state or along a motion."),
    "motors": ("motion.motors", "Compute what a motion asks of each motor, at its shaft."),
    "scale": ("motion.scale", "Retime a motion to meet the limits, or to take the least time."),
    "size": ("study.size", "Choose motors and gears of a catalogue for duty cycles."),
    "simulate": ("simulate.simulate", "Simulate the arm: free, under torques or with a controller."),
    "excite": ("identification.excite", "Find a motion that shows a robot's parameters."),
    "look": ("identification.look", "Judge logs before a fit, and say what to record next."),
    "identify": ("identification.identify", "Find a robot's parameters from logs of its motion."),
    "drift": ("identification.drift", "Say which parameters changed between two saved fits."),
    "payload": ("identification.payload", "Find what an arm carries from a log of its torques."),
    "study": ("study.study", "Run a table of designs from a file, and show what came out."),
    "view": ("pages.view", "Open the workbench: the arm in 3-D in the browser, live."),
    "report": ("pages.report", "Write a report about a robot on one HTML page."),
    "exercise": ("pages.exercise", "Write an exercise about an arm, and its solution with the steps."),
    "export": ("files.export", "Write code for other programs."),
    "doctor": ("doctor.doctor", "Show what is installed, which backends work, where the cache is."),
}

# What `armdyn` alone prints. It fits a terminal of 24 lines and 80 columns.
START = """\
armdyn computes the dynamics of robot arms with their motors and gears.

Where to start: copy a line.

  armdyn robots                            the robots that come with it
  armdyn derive planar --prove             exact equations of motion, proved
  armdyn report puma560 -o puma560.html    all about an arm, on one HTML page
  armdyn view puma560                      the arm in your browser, to move
                                           (first: pip install "armdyn[view]")

Your arm, if you have a URDF or MJCF file of it, here my_arm.urdf:

  armdyn show my_arm.urdf                  what was read, what looks wrong
  armdyn report my_arm.urdf -o my_arm.html

No file? `armdyn new my_arm.toml` asks for a Denavit-Hartenberg table and writes
a robot file, which every command takes like a URDF.

  armdyn --help            all commands
  armdyn COMMAND --help    the options of one
  docs/ in the repository  task by task; README.md says which page is for what
"""


class _Verbs(TyperGroup):
    """Verbs by name, each made when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].rpartition(".")
        found = getattr(import_module(f"armdyn.cli.{module}"), name)
        if not isinstance(found, typer.Typer):
            verb, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(cmd_name, cls=VerbCommand)(verb)
        command = typer.main.get_command(found)
        command.name = cmd_name
        return command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in VERBS.items()])


app = typer.Typer(
    help="The dynamics of robot manipulators: exact equations and proofs, motions, simulation, reports.",
    cls=_Verbs,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"armdyn {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(START, end="")


def main() -> None:
    """Entry point of the program `armdyn`."""
    if code := run(app, sys.argv[1:]):
        raise SystemExit(code)
