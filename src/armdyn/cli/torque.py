"""The verb torque."""

from __future__ import annotations

from typing import Annotated

import typer

from armdyn.cli.common import RobotArgument, RotorsOption, load_robot, numbers, table_of, terminal


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
    loaded = load_robot(robot, rotors)
    n = loaded.n
    x, v, a = (numbers(text, name, n) for text, name in ((q, "--q"), (qd, "--qd"), (qdd, "--qdd")))
    parts = {
        "inertia": loaded.inertia(x) @ a,
        "velocity": loaded.coriolis(x, v) @ v,
        "gravity": loaded.gravity(x),
        "friction": loaded.friction(v),
    }
    h = None
    if wrench is not None:
        h = numbers(wrench, "--wrench", 6)
        parts["tip wrench"] = loaded.jacobian(x).T @ h
    tau = loaded.inverse_dynamics(x, v, a, h)
    table = table_of("joint", "", "torque", *parts)
    for i, link in enumerate(loaded.model.moving):
        unit = "N m" if link.joint == "revolute" else "N"
        columns = [f"{part[i]:.6g}" for part in parts.values()]
        table.add_row(link.name, unit, f"[bold]{tau[i]:.8g}[/bold]", *columns)
    terminal().print(table)
