"""The verb torque: for a state, or along a motion."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from armdyn.analysis import Contributions, contributions
from armdyn.analysis.contributions import RotorPart
from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    WrenchOption,
    check_joints,
    check_output,
    motion_of,
    numbers,
    say,
    say_exceeded,
    takes_robot,
    wrench_of,
)
from armdyn.cli.terminal import figures, limit_cells, table_by_columns, terminal
from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory
from armdyn.motion.csv_files import write
from armdyn.motion.timing.exceeded import Exceeded, exceeded, places
from armdyn.motion.torques import contributions_along, torques_along
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, torque_unit


class Coupling(StrEnum):
    separate = "separate"
    within = "within"


@takes_robot
def torque(
    robot: GivenRobot,
    q: Annotated[str | None, typer.Option(help='Positions, e.g. "0, pi/4, 0.3" [rad, m].')] = None,
    qd: Annotated[str | None, typer.Option(help="Velocities; default zero.")] = None,
    qdd: Annotated[str | None, typer.Option(help="Accelerations; default zero.")] = None,
    trajectory: Annotated[
        Path | None, typer.Option(help="Instead of --q: a motion, as `armdyn trajectory` writes it.")
    ] = None,
    cycle: CycleOption = None,
    wrench: WrenchOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With a motion: CSV file of motion and torques.")
    ] = None,
    coupling: Annotated[
        Coupling,
        typer.Option(help="Rotor coupling as a part of its own, or within inertia and Coriolis."),
    ] = Coupling.separate,
) -> None:
    """Compute joint torques for a state or along a motion, and what they are made of."""
    moves = trajectory is not None or cycle is not None
    if (q is None) != moves:
        raise ArmdynError("give either --q (a posture) or --trajectory or --cycle (a motion)")
    if output is not None and not moves:
        raise ArmdynError("--output goes with --trajectory or --cycle")
    if output is not None:
        check_output(output, robot.source, trajectory, cycle)
    loaded = robot.load()
    h = wrench_of(wrench)
    motion = motion_of(loaded, trajectory, cycle)
    if motion is not None:
        if qd is not None or qdd is not None:
            raise ArmdynError("--qd and --qdd go with --q; a motion has its own")
        check_joints(loaded, trajectory, motion)
        _along(loaded, motion, h, output, coupling.value)
        return
    x, v, a = (numbers(text, name, loaded.n) for text, name in ((q, "--q"), (qd, "--qd"), (qdd, "--qdd")))
    parts = _named_parts(contributions(loaded, x, v, a, h, rotors=coupling.value))
    tau = loaded.inverse_dynamics(x, v, a, h)
    beyond = exceeded(loaded, q=x, qd=v, qdd=a, tau=tau)
    _print_parts(loaded, tau, parts, "torque", beyond)
    say_exceeded(beyond)


def _along(
    robot: Robot, motion: Trajectory, wrench: np.ndarray | None, output: Path | None, coupling: RotorPart
) -> None:
    """The largest torque of each joint along a motion and what it is made of then; all of it as CSV."""
    found, loaded = motion.samples(), motion.loaded(robot)
    tau = torques_along(loaded, found, wrench)
    worst = np.abs(tau).argmax(0)
    joints = np.arange(robot.n)
    parts = _named_parts(contributions_along(loaded, found, wrench, worst, rotors=coupling))
    at_worst = {name: part[joints, joints] for name, part in parts.items()}
    beyond = exceeded(robot, found.t, found.q, found.qd, found.qdd, tau)
    _print_parts(robot, tau[worst, joints], at_worst, "largest torque", beyond, found.t[worst])
    say_exceeded(beyond)
    if output is not None:
        columns = {"q": found.q, "qd": found.qd, "qdd": found.qdd, "tau": tau}
        write(output, found.t, columns, motion.motion)
        say(f"wrote {output}")


def _named_parts(found: Contributions) -> dict[str, np.ndarray]:
    """The parts with both kinds of friction in one column."""
    parts = {name: part for name, part in found.parts.items() if not name.endswith("friction")}
    return {**parts, "friction": found.friction}


def _print_parts(
    robot: Robot,
    tau: np.ndarray,
    parts: dict[str, np.ndarray],
    heading: str,
    beyond: Sequence[Exceeded],
    at: np.ndarray | None = None,
) -> None:
    """A row for each joint; parts that are zero at all joints are left out."""
    shown = {name: part for name, part in parts.items() if np.any(part)}
    largest = np.max([abs(part) for part in shown.values()], 0) if shown else tau
    total = figures(tau, places(beyond, "torque"), digits=8)
    for cell in total:
        cell.stylize("bold")
    table = table_by_columns(
        ("joint", robot.coordinates),
        ("", [torque_unit(robot, i) for i in range(robot.n)]),
        (heading, total),
        ("limit", limit_cells(joint_limits(robot).torque)),
        ("at [s]", () if at is None else [f"{t:.6g}" for t in at]),
        *((name, [_figure(*x) for x in zip(part, largest, strict=True)]) for name, part in shown.items()),
    )
    terminal().print(table)


def _figure(x: float, largest: float) -> str:
    """Number to five digits; rounding error next to the joint's largest part is zero."""
    return "0" if abs(x) < 1e-14 * largest else f"{x:.5g}"
