"""Verbs that look at robots: robots, show."""

from __future__ import annotations

from rich.table import Table

from armdyn.cli.common import RobotArgument, RotorsOption, load_robot, table_of, terminal
from armdyn.description import bundled_robots
from armdyn.expression import Expression
from armdyn.model import Inertia, Link
from armdyn.model.inertia import TENSOR_KEYS
from armdyn.robot import Robot


def robots() -> None:
    """List the bundled robots."""
    table = Table("name", "robot", "joints", "rotors")
    for name in bundled_robots():
        robot = Robot.load(name)
        kinds = "".join("R" if link.joint == "revolute" else "P" for link in robot.model.moving)
        motors = any(link.motor for link in robot.model.links)
        table.add_row(name, robot.name, kinds, robot.model.rotors if motors else "no motors")
    terminal().print(table)


def show(robot: RobotArgument, rotors: RotorsOption = None) -> None:
    """Show links, motors, limits, symbols, what looks wrong, where the diagonal rotor model is exact."""
    loaded = load_robot(robot, rotors)
    console = terminal()
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


def _links_table(links: tuple[Link, ...]) -> Table:
    table = table_of(
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
    table = table_of(
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
    table = table_of("limits of", "position", "velocity", "acceleration", "jerk", "torque")
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
    table = table_of("function", "operations", "sin/cos pairs", "operations/joint", "grows as")
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
