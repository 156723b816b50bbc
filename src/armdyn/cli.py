"""The command line: one verb, one call."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from armdyn import __version__
from armdyn.description import bundled_robots
from armdyn.exact import Equations
from armdyn.expression import ArmdynError, Expression, parse
from armdyn.kernels import FUNCTIONS
from armdyn.kernels.c import c_source, identifier
from armdyn.model import Inertia, Link, PhysicsWarning
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.robot import Robot

app = typer.Typer(
    help="The dynamics of robot manipulators: exact equations, proofs and numbers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


class Rotors(StrEnum):
    exact = "exact"
    reflected = "reflected"
    none = "none"


class Notation(StrEnum):
    book = "book"
    craig = "craig"


RobotArgument = Annotated[str, typer.Argument(help="A bundled robot's name or a path to a robot file.")]
RotorsOption = Annotated[Rotors | None, typer.Option(help="Rotor model; default: what the file says.")]


def main() -> None:
    """Entry point: a wrong input is one line on stderr, not a traceback."""
    warnings.simplefilter("ignore", PhysicsWarning)  # `show` says what looks wrong
    try:
        app()
    except ArmdynError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except BrokenPipeError:
        raise SystemExit(0) from None


def _load(robot: str, rotors: Rotors | None) -> Robot:
    loaded = Robot.load(robot)
    return loaded if rotors is None else loaded.with_rotors(rotors.value)


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=max(console.width, 140))


@app.command()
def robots() -> None:
    """List the bundled robots."""
    table = Table("name", "robot", "joints", "rotors")
    for name in bundled_robots():
        robot = Robot.load(name)
        kinds = "".join("R" if link.joint == "revolute" else "P" for link in robot.model.moving)
        motors = any(link.motor for link in robot.model.links)
        table.add_row(name, robot.name, kinds, robot.model.rotors if motors else "no motors")
    _console().print(table)


@app.command()
def show(robot: RobotArgument, rotors: RotorsOption = None) -> None:
    """Show links, motors, limits, symbols, what looks wrong, where the diagonal rotor model is exact."""
    loaded = _load(robot, rotors)
    console = _console()
    model = loaded.model
    title = f"{model.name}: {loaded.n} moving joints, rotors {model.rotors}, tip on '{model.tip}'"
    gravity = ", ".join(str(Expression.of(x)) for x in model.gravity)
    console.print(title, style="bold", markup=False, highlight=False)
    console.print(f"gravity ({gravity}) m/s² in the base frame", markup=False)
    console.print(_links_table(model.links))
    if any(link.motor for link in model.links):
        console.print(_motors_table(model.links))
    if any(link.limits.position or link.limits.velocity or link.limits.torque for link in model.links):
        console.print(_limits_table(model.links))
    if model.symbols:
        values = [f"{name} = {'free' if value is None else value}" for name, value in model.symbols]
        console.print("symbols: " + ", ".join(values), highlight=False, markup=False)
    for line in _coupling_lines(loaded):
        console.print(line, highlight=False, markup=False)
    if not any(value is None for _, value in model.symbols):
        console.print(_operations_table(loaded))
    for text in loaded.warnings:
        console.print(f"warning: {text}", style="yellow", highlight=False, markup=False)


def _table(*headings: str) -> Table:
    return Table(*(escape(heading) for heading in headings))


def _links_table(links: tuple[Link, ...]) -> Table:
    table = _table(
        "link", "parent", "joint", "mass [kg]", "com [m]", "tensor about the com [kg m²]", "friction"
    )
    for link in links:
        friction = {
            "viscous": link.friction.viscous,
            "coulomb+": link.friction.coulomb[0],
            "coulomb-": link.friction.coulomb[1],
            "offset": link.friction.offset,
        }
        table.add_row(link.name, link.parent, link.joint, *_body_cells(link.inertia), _entries(friction))
    return table


def _body_cells(inertia: Inertia) -> tuple[str, str, str]:
    """Mass, centre of mass and tensor about it; of a body without mass, the tensor about its origin."""
    massless = Expression.of(inertia.mass).is_zero
    com = "" if massless else ", ".join(_short(x) for x in inertia.com)
    tensor = inertia.tensor if massless else inertia.tensor_at_com
    entries = {key: Expression.of(x) for key, x in zip(TENSOR_KEYS, tensor, strict=True)}
    return _short(inertia.mass), com, _entries(entries)


def _motors_table(links: tuple[Link, ...]) -> Table:
    table = _table(
        "motor of", "carrier", "gear", "Im [kg m²]", "It", "mass [kg]", "axis", "coupling", "friction"
    )
    for link in links:
        motor = link.motor
        if motor:
            friction = {"viscous": motor.friction.viscous, "coulomb": motor.friction.symmetric}
            table.add_row(
                link.name,
                motor.carrier,
                _short(motor.gear),
                _short(motor.axial),
                _short(motor.transverse),
                _short(motor.mass),
                ", ".join(_short(x) for x in motor.axis),
                _entries(dict(motor.coupling)),
                _entries(friction),
            )
    return table


def _limits_table(links: tuple[Link, ...]) -> Table:
    table = _table("limits of", "position", "velocity", "acceleration", "jerk", "torque")
    for link in links:
        limits = link.limits
        position = "" if limits.position is None else " … ".join(_short(x) for x in limits.position)
        rest = (limits.velocity, limits.acceleration, limits.jerk, limits.torque)
        table.add_row(link.name, position, *("" if x is None else _short(x) for x in rest))
    return table


def _operations_table(robot: Robot) -> Table:
    """Operations of each function, next to how the book's algorithms grow with n."""
    growth = {"inverse_dynamics": "O(n), Newton-Euler 7.5", "inertia": "O(n²), composite bodies 7.6"}
    growth["forward_dynamics"] = "O(n³) factorised or O(n) articulated"
    table = _table("function", "operations", "sin/cos pairs", "operations/joint", "grows as")
    for name in ("inverse_dynamics", "gravity", "inertia", "coriolis", "forward_dynamics", "regressor"):
        program = robot.program(name)
        pairs = max(program.counts.get("sin", 0), program.counts.get("cos", 0))
        per_joint = f"{program.operations / robot.n:.0f}"
        table.add_row(name, str(program.operations), str(pairs), per_joint, growth.get(name, ""))
    return table


def _short(x: object) -> str:
    """A number to 6 digits, an expression as it is."""
    exact = Expression.of(x)
    return str(exact) if exact.symbols() else f"{exact.value():.6g}"


def _entries(values: dict[str, Expression]) -> str:
    return " ".join(f"{key} {_short(x)}" for key, x in values.items() if not x.is_zero)


def _coupling_lines(robot: Robot) -> list[str]:
    """Per motor, whether adding k²Im to the diagonal is exact."""
    if robot.model.rotors != "exact":
        return []
    lines = []
    for coupling in robot.equations().rotor_couplings():
        where = f"motor of '{coupling.link}' on '{coupling.carrier}'"
        if coupling.diagonal_is_exact:
            lines.append(f"{where}: z_m·ω = 0, the diagonal rotor model is exact")
        else:
            text = str(coupling.speed)
            shown = text if len(text) <= 80 else text[:77] + "..."
            lines.append(f"{where}: z_m·ω = {shown}, the diagonal rotor model is not exact")
    return lines


@app.command()
def derive(
    robot: RobotArgument,
    latex: Annotated[bool, typer.Option("--latex", help="LaTeX (amsmath).")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Markdown with formulas.")] = False,
    sympy: Annotated[bool, typer.Option("--sympy", help="A Python script with SymPy matrices.")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="The Newton-Euler recursion, link by link.")] = False,
    prove: Annotated[
        bool, typer.Option("--prove", help="Prove the equations and say what was proved.")
    ] = False,
    symbolic: Annotated[bool, typer.Option("--symbolic", help="Every number a symbol.")] = False,
    notation: Annotated[
        Notation, typer.Option(help="B, C, g of the book or Craig's M, V, G.")
    ] = Notation.book,
    combine: Annotated[
        list[str] | None,
        typer.Option(help='A combination to write the equations in, "pi6 = m3*lc3"; may be repeated.'),
    ] = None,
    rotors: RotorsOption = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file.")] = None,
) -> None:
    """Derive the exact equations of motion."""
    if latex + markdown + sympy > 1:
        raise typer.BadParameter("choose one of --latex, --markdown, --sympy")
    if sympy and steps:
        raise typer.BadParameter("--steps has no SymPy form; use --latex, --markdown or neither")
    loaded = _load(robot, rotors)
    equations = (loaded.symbolic() if symbolic else loaded).equations()
    if combine:
        equations = equations.in_terms_of(dict(_assignment(text) for text in combine))
    form = "latex" if latex else "markdown" if markdown else "text"
    text = _derivation(equations, form, steps, sympy, notation.value)
    if prove:
        proof = str(equations.prove())
        comment = {"latex": "% ", "markdown": ""}.get(form, "") if not sympy else "# "
        text += "\n" + "\n".join(comment + line for line in proof.splitlines()) + "\n"
    if output is None:
        print(text, end="" if text.endswith("\n") else "\n")
    else:
        _write(output, text)
        print(f"wrote {output}")


def _derivation(equations: Equations, form: Any, steps: bool, sympy: bool, notation: Any) -> str:
    if sympy:
        return equations.sympy_source()
    if steps:
        return equations.steps(form)
    write: dict[str, Callable[[Any], str]] = {
        "text": equations.text,
        "latex": equations.latex,
        "markdown": equations.markdown,
    }
    return write[form](notation)


def _assignment(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise ArmdynError(f"--combine: found '{text}'; expected 'name = combination'")
    return name.strip(), value.strip()


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ArmdynError(f"cannot write '{path}': {error.strerror}") from None


export = typer.Typer(help="Write code for other programs.", no_args_is_help=True)
app.add_typer(export, name="export")


@export.command("c")
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
    loaded = _load(robot, rotors)
    names = list(FUNCTIONS) if functions == "all" else [x.strip() for x in functions.split(",") if x.strip()]
    if not names:
        raise ArmdynError(f"--functions: none given; allowed: {', '.join(FUNCTIONS)}")
    programs = {name: loaded.program(name) for name in names}
    joints = [f"{link.name} ({link.joint})" for link in loaded.model.moving]
    scalar = "float" if single else "double"
    source = c_source(loaded.name, identifier(prefix or loaded.name), programs, joints, scalar, __version__)
    try:
        paths = source.write(output)
    except OSError as error:
        raise ArmdynError(f"cannot write to '{output}': {error.strerror}") from None
    for path in paths:
        print(f"wrote {path}")
    print(f"test it: cd {output} && cc -std=c99 -O2 {paths[1].name} {paths[2].name} -lm -o test && ./test")


@app.command()
def torque(
    robot: RobotArgument,
    q: Annotated[str, typer.Option(help='Positions, e.g. "0, pi/4, 0.3" [rad, m].')],
    qd: Annotated[str | None, typer.Option(help="Velocities; default zero.")] = None,
    qdd: Annotated[str | None, typer.Option(help="Accelerations; default zero.")] = None,
    wrench: Annotated[
        str | None,
        typer.Option(help="Force and moment of the tip on its surroundings, base axes, 6 numbers."),
    ] = None,
    rotors: RotorsOption = None,
) -> None:
    """Compute joint torques for a state, and what they are made of."""
    loaded = _load(robot, rotors)
    n = loaded.n
    x, v, a = (_numbers(text, name, n) for text, name in ((q, "--q"), (qd, "--qd"), (qdd, "--qdd")))
    parts = {
        "inertia": loaded.inertia(x) @ a,
        "velocity": loaded.coriolis(x, v) @ v,
        "gravity": loaded.gravity(x),
        "friction": loaded.friction(v),
    }
    h = None
    if wrench is not None:
        h = _numbers(wrench, "--wrench", 6)
        parts["tip wrench"] = loaded.jacobian(x).T @ h
    tau = loaded.inverse_dynamics(x, v, a, h)
    table = _table("joint", "", "torque", *parts)
    for i, link in enumerate(loaded.model.moving):
        unit = "N m" if link.joint == "revolute" else "N"
        columns = [f"{part[i]:.6g}" for part in parts.values()]
        table.add_row(link.name, unit, f"[bold]{tau[i]:.8g}[/bold]", *columns)
    _console().print(table)


def _numbers(text: str | None, option: str, count: int) -> np.ndarray:
    if text is None:
        return np.zeros(count)
    entries = [x for x in text.replace(";", ",").split(",") if x.strip()]
    if len(entries) == 1 and count > 1:
        entries = text.split()
    if len(entries) != count:
        raise ArmdynError(
            f"{option}: expected {count} numbers separated by commas, found {len(entries)}: '{text}'"
        )
    try:
        return np.array([parse(x, ()).value() for x in entries])
    except ArmdynError as error:
        raise ArmdynError(f"{option}: {error}") from None


if __name__ == "__main__":
    main()
