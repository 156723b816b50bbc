"""The verbs new, copy, diff and export: robot files made, copied and compared, code for other programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, TypeVar
from zipfile import ZipFile

import typer
from typer.core import TyperGroup

from armdyn.cli.common import (
    GivenRobot,
    check_folder,
    check_output,
    is_read,
    name_list,
    say,
    takes_robot,
)
from armdyn.cli.running import VerbCommand
from armdyn.description import bundled_robots
from armdyn.description.source import bundled_text, parse_text, read_text
from armdyn.description.writing import SUFFIXES
from armdyn.description.writing.toml import Draft, DraftRow, read_kind, read_row, read_rows, robot_file
from armdyn.expression import ArmdynError
from armdyn.files import write_whole
from armdyn.names import one_line
from armdyn.progress import hide_progress
from armdyn.robot import Robot

T = TypeVar("T")
FileArgument = Annotated[Path, typer.Argument(help="The robot file to write, such as my.toml.")]
CopyArgument = Annotated[
    Path, typer.Argument(help="The file to write: a robot file (.toml), URDF (.urdf) or MJCF (.xml, .mjcf).")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]
_MOST_JOINTS = 50


@takes_robot
def diff(
    old: Annotated[GivenRobot, typer.Argument(help="A bundled robot's name or a path to a robot file.")],
    new: Annotated[GivenRobot, typer.Argument(help="What it is compared with; options change both.")],
) -> None:
    """Say what differs from one robot to another, in words and numbers."""
    for line in str(old.load().diff(new.load())).splitlines():
        say(line)


@takes_robot
def copy(robot: GivenRobot, output: CopyArgument, force: ForceOption = False) -> None:
    """Copy a robot to a file of your own, with its comments from robot file to robot file; or convert it.

    The output's ending says the format. What the format cannot say is warned of.
    """
    _check_new(output, force, SUFFIXES, robot.source)
    loaded = robot.load()
    verbatim = output.suffix.lower() == ".toml" and not robot.is_changed
    own = _own_text(robot.source) if verbatim else None
    if own is None or _leaves_meshes(own, robot.source, output):
        loaded.save(output)
    else:
        write_whole(output, own)
    say(f"wrote {output}: {loaded.name}")


def _own_text(robot: str) -> str | None:
    """The text of a bundled robot or a robot file; None of other formats."""
    if robot in bundled_robots():
        return bundled_text(robot)
    return read_text(Path(robot)) if Path(robot).suffix.lower() == ".toml" else None


def _leaves_meshes(text: str, robot: str, output: Path) -> bool:
    """True if paths of meshes, which begin at the robot file, would lead nowhere from the copy."""
    if robot in bundled_robots() or Path(robot).resolve().parent == output.resolve().parent:
        return False
    inertias = [link.get("inertia") for link in parse_text(text).get("link", [])]
    meshes = [str(x["mesh"]) for x in inertias if isinstance(x, dict) and "mesh" in x]
    found = any(not Path(mesh).is_absolute() for mesh in meshes)
    if found:
        say("note: in another folder the paths of its meshes lead nowhere; the copy has numbers instead")
    return found


def new(
    output: FileArgument,
    dh: Annotated[
        str | None,
        typer.Option(
            help="The DH table: a file with a row 'a alpha d theta [kind [name]]' per joint, or such rows "
            "separated by ';'. Without it, you are asked."
        ),
    ] = None,
    mdh: Annotated[bool, typer.Option("--mdh", help="The table is of modified DH (Craig's).")] = False,
    name: Annotated[str | None, typer.Option(help="The robot's name; default: the file's.")] = None,
    force: ForceOption = False,
) -> None:
    """Write a commented robot file, from a DH table or from your answers to a few questions."""
    table = Path(dh) if dh is not None and _is_path(dh) else None
    _check_new(output, force, (".toml",), table)
    if dh is None:
        hide_progress()
        name = name or typer.prompt("Name of the robot", default=output.stem)
        rows = _asked_rows(mdh)
    else:
        rows = read_rows(_read(table), str(table)) if table else read_rows(dh.replace(";", "\n"), "--dh")
    text = robot_file(Draft(name or output.stem, rows, mdh))
    robot = Robot.from_toml(text)
    write_whole(output, text)
    say(f"wrote {output}: {robot!r}")
    say(f"replace its placeholders; then: armdyn show {output}")


def _check_new(output: Path, force: bool, suffixes: Sequence[str], *inputs: str | Path | None) -> None:
    """Refuse a file that cannot be written, that exists, or whose name has none of the endings."""
    check_output(output, *inputs, option="")  # it is an argument
    if output.suffix.lower() not in suffixes:
        raise ArmdynError(f"expected a name that ends in {' or '.join(suffixes)}, found '{output}'")
    if output.exists() and not force:
        raise ArmdynError(f"'{output}' exists; --force replaces it")


def _is_path(text: str) -> bool:
    """True if a table is in a file: rows have blanks or commas and no such ending."""
    is_table = Path(text).suffix.lower() in (".csv", ".txt", ".tsv", ".dat")
    return is_table or (bool(text) and not any(c in text for c in " ,;\n"))


def _read(path: Path) -> str:
    try:
        return read_text(path)
    except OSError as error:
        raise ArmdynError(f"--dh: cannot read '{path}' ({error.strerror or error})") from None


# ---- questions ---------------------------------------------------------------------------------------------


def _asked_rows(modified: bool) -> tuple[DraftRow, ...]:
    kind = "Modified" if modified else "Standard"
    say(f"{kind} DH. Lengths are in m, angles in rad; expressions such as pi/2 are exact.")
    count = _ask("Number of joints", "", _count)
    rows = []
    for i in range(count):
        joint = _ask(f"Joint {i + 1}: revolute or prismatic", "revolute", lambda x: read_kind(x, "joint"))
        row = _ask("  a alpha d theta", "0 0 0 0", lambda x: read_row(x, "row"))
        rows.append(DraftRow(row.values, joint))
    return tuple(rows)


def _count(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= int(text) <= _MOST_JOINTS:
        raise ArmdynError(f"expected a whole number from 1 to {_MOST_JOINTS}, found '{text}'")
    return int(text)


def _ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """Ask until the answer can be read."""
    while True:
        answer = typer.prompt(question, default=default or None)
        try:
            return read(str(answer))
        except ArmdynError as error:
            say(str(error))


# ---- code for other programs -------------------------------------------------------------------------------


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
    no_libm: Annotated[
        bool, typer.Option("--no-libm", help="Sines and roots of its own: no library is needed.")
    ] = False,
    prefix: Annotated[str | None, typer.Option(help="Prefix of names; default: the robot's name.")] = None,
) -> None:
    """Write a package of C99: header, source, C++ wrapper, test, CMake file and README."""
    _check_folder(output, robot.source)
    loaded = robot.load()
    names = "all" if functions == "all" else name_list(functions)
    scalar = "float" if single else "double"
    source = loaded.export_c(names, name_list(inputs), prefix=prefix, scalar=scalar, libm=not no_libm)
    paths = source.write(output)
    for path in paths:
        say(f"wrote {path}")
    folder, files = quote(str(output)), f"{paths[1].name} {paths[2].name}{' -lm' * (not no_libm)}"
    say(f"test it: cd {folder} && cc -std=c99 -O2 {files} -o test && ./test")
    say("or with CMake: cmake -B build && cmake --build build && cd build && ctest -C Debug")


@takes_robot
def export_matlab(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; created if missing.")],
    functions: Annotated[str, typer.Option(help="Functions, separated by commas, or 'all'.")] = "all",
    inputs: Annotated[
        str,
        typer.Option(
            help="What functions are given at run time, separated by commas: wrench, payload, parameters, "
            "names of symbols. Each takes what it can."
        ),
    ] = "",
    equations: Annotated[
        bool, typer.Option("--equations", help="Write the exact equations too, as a script of symbols.")
    ] = False,
    prefix: Annotated[str | None, typer.Option(help="The package's name; default: the robot's.")] = None,
) -> None:
    """Write a package of functions for MATLAB and GNU Octave, and a test of them; no toolbox is needed."""
    check_folder(output)
    loaded = robot.load()
    names = "all" if functions == "all" else name_list(functions)
    paths = loaded.export_matlab(output, names, name_list(inputs), prefix=prefix, equations=equations)
    package = next(path.parent for path in paths if path.parent != output)
    say(f"wrote {package}: {sum(path.parent == package for path in paths)} functions")
    for path in paths:
        if path.parent == output:
            say(f"wrote {path}")
    test = next(path.stem for path in paths if path.stem.startswith("test_"))
    say(f"test it: cd {quote(str(output))} && octave {test}.m  (in MATLAB: {test})")


@takes_robot
def export_fmu(
    robot: GivenRobot,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, such as arm.fmu.")],
    version: Annotated[str, typer.Option("--fmi", help="The version of FMI: 3.0 or 2.0.")] = "3.0",
    sources: Annotated[
        bool, typer.Option("--sources", help="Write C sources only, without a library for this machine.")
    ] = False,
) -> None:
    """Write an FMU for Simulink and other tools: the arm's motion, with sticking friction and limits."""
    check_output(output, robot.source)
    if output.suffix.lower() != ".fmu":
        raise ArmdynError(f"--output: expected a name that ends in .fmu, found '{output}'")
    loaded = robot.load()
    loaded.export_fmu(output, version=version, binary=False if sources else None)
    with ZipFile(output) as archive:
        libraries = [name.split("/")[1] for name in archive.namelist() if name.startswith("binaries/")]
    inside = f"a library for {', '.join(libraries)} and C sources" if libraries else "C sources only"
    say(f"wrote {output}: FMI {version}, model exchange and co-simulation, {inside}")


def _check_folder(output: Path, robot: str) -> None:
    """Refuse, before the work begins, a folder that cannot be made or where the robot file would be lost."""
    check_folder(output)
    for path in output.glob("*.[ch]"):
        if is_read(path, robot):
            raise ArmdynError(f"--output: '{path}' is also an input; choose another folder")


class _Kinds(TyperGroup):
    """Kinds of code; what is none of them is answered with a line that works."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in self.commands:
            raise ArmdynError(
                f"export: expected a kind of code ({', '.join(self.commands)}), found '{one_line(args[0])}'; "
                "such as: armdyn export fmu puma560 -o puma560.fmu"
            )
        return super().resolve_command(ctx, args)


export = typer.Typer(
    cls=_Kinds,
    help="Write code for other programs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
export.callback()(lambda: None)  # "export c" stays two words with one kind of code
export.command("c", cls=VerbCommand)(export_c)
export.command("matlab", cls=VerbCommand)(export_matlab)
export.command("fmu", cls=VerbCommand)(export_fmu)
