"""The verb torque: for a state, or along a motion."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

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
    takes_robot,
    wrench_of,
)
from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory
from armdyn.motion.torques import contributions_along, torques_along
from armdyn.motion.trajectories.csv_files import write
from armdyn.robot import Robot
from armdyn.robot.joints import torque_unit


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
    _print_parts(loaded, loaded.inverse_dynamics(x, v, a, h), parts, "torque")


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
    _print_parts(robot, tau[worst, joints], at_worst, "largest torque", found.t[worst])
    if output is not None:
        columns = {"q": found.q, "qd": found.qd, "qdd": found.qdd, "tau": tau}
        write(output, found.t, columns, motion.motion)
        say(f"wrote {output}")


def _named_parts(found: Contributions) -> dict[str, np.ndarray]:
    """The parts with both kinds of friction in one column."""
    parts = {name: part for name, part in found.parts.items() if not name.endswith("friction")}
    return {**parts, "friction": found.friction}


def _print_parts(
    robot: Robot, tau: np.ndarray, parts: dict[str, np.ndarray], heading: str, at: np.ndarray | None = None
) -> None:
    """A row for each joint; parts that are zero at all joints are left out."""
    shown = {name: part for name, part in parts.items() if np.any(part)}
    when = [] if at is None else ["at [s]"]
    table: Table = table_of("joint", "", heading, *when, *shown)
    for i, link in enumerate(robot.model.coordinates):
        instant = [] if at is None else [f"{at[i]:.6g}"]
        columns = [_figure(part[i], max(abs(part[i]) for part in shown.values())) for part in shown.values()]
        total = Text(f"{tau[i]:.8g}", style="bold")
        add_row(table, link.joint_label, torque_unit(robot, i), total, *instant, *columns)
    terminal().print(table)


def _figure(x: float, largest: float) -> str:
    """To five digits; what is rounding error next to the joint's largest part is zero."""
    return "0" if abs(x) < 1e-14 * largest else f"{x:.5g}"
