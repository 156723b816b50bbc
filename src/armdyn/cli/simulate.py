"""The verb simulate."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    OutputOption,
    WrenchOption,
    check_output,
    motion_of,
    number_lists,
    numbers,
    say,
    say_exceeded,
    start_of,
    takes_robot,
    wrench_of,
    write_samples,
)
from armdyn.cli.terminal import figures, limit_cells, table_by_columns, terminal
from armdyn.expression import ArmdynError
from armdyn.motion import Trajectory
from armdyn.motion.csv_files import read_torques
from armdyn.motion.timing.exceeded import Exceeded, exceeded, places
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.simulation import ComputedTorque, PDGravity, Run, SimulationWarning
from armdyn.simulation import simulate as run_simulation


class ControllerKind(StrEnum):
    pd = "pd"
    computed_torque = "computed-torque"


class Method(StrEnum):
    adaptive = "adaptive"
    rk4 = "rk4"


class AtLimits(StrEnum):
    warn = "warn"
    stop = "stop"
    ignore = "ignore"


@takes_robot
def simulate(
    robot: GivenRobot,
    output: OutputOption,
    duration: Annotated[float | None, typer.Option(help="[s]; default: the duration of the file.")] = None,
    q0: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Positions at the start; default: the file's, or zero, with loops the first posture.",
        ),
    ] = None,
    qd0: Annotated[
        str | None, typer.Option("--qd", help="Velocities at the start; default: the file's, or zero.")
    ] = None,
    torque: Annotated[
        str | None,
        typer.Option(help="Constant torques, or a file of torques, as `armdyn torque -o` writes it."),
    ] = None,
    controller: Annotated[ControllerKind | None, typer.Option(help="Instead of --torque.")] = None,
    trajectory: Annotated[
        Path | None, typer.Option(help="What the controller follows: a motion in a file.")
    ] = None,
    cycle: CycleOption = None,
    target: Annotated[str | None, typer.Option("--to", help="Or the posture it moves to.")] = None,
    stiffness: Annotated[str | None, typer.Option(help="K_P, one number or one for each joint.")] = None,
    damping: Annotated[str | None, typer.Option(help="K_D, one number or one for each joint.")] = None,
    saturated: Annotated[
        bool,
        typer.Option("--saturated", help="The controller keeps to the torque limits of joints and motors."),
    ] = False,
    rate: Annotated[
        str,
        typer.Option(
            help="Samples of the controller a second; 'none': it acts continuously; 'auto': 1000 if it "
            "compensates dry friction, else none."
        ),
    ] = "auto",
    wrench: WrenchOption = None,
    method: Annotated[
        Method,
        typer.Option(
            help="Adaptive steps, or compiled fixed steps of fourth order. With dry friction fixed steps "
            "are of first order where a joint stops, starts or reverses."
        ),
    ] = Method.adaptive,
    step: Annotated[float, typer.Option(help="Time between samples; of rk4, also its step [s].")] = 1e-3,
    limits: Annotated[
        AtLimits, typer.Option(help="If a joint passes a position limit: warn, stop there, or ignore it.")
    ] = AtLimits.warn,
    max_steps: Annotated[
        int | None, typer.Option(help="Limit of adaptive steps; default: 50 000 plus 20 000 per second.")
    ] = None,
) -> None:
    """Simulate the arm under nothing, torques or a controller, and write states, torques and energy."""
    check_output(output, robot.source, trajectory, cycle, _torque_file(torque))
    loaded = robot.load()
    goal = _goal(loaded, trajectory, cycle, target)
    gains = number_lists(stiffness=stiffness, damping=damping)
    law = _controller(loaded, controller, goal, gains, saturated, _rate(rate))
    if law is not None and torque is not None:
        raise ArmdynError("give either --torque or --controller")
    plan = _plan(loaded, torque) if law is None else _followed(loaded, law, goal)
    length = plan.duration if duration is None else duration
    if length is None:
        raise ArmdynError("--duration: missing; how long to simulate, in seconds")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimulationWarning)  # the summary says it
        run = run_simulation(
            loaded,
            plan.q0 if q0 is None else start_of(loaded, q0),
            plan.qd0 if qd0 is None else numbers(qd0, "--qd", loaded.n),
            length,
            plan.drive,
            wrench=wrench_of(wrench),
            method=method.value,
            step=step,
            limits=limits.value,
            max_steps=max_steps,
        )
    _print_run(loaded, run, goal, () if limits is AtLimits.ignore else _beyond(loaded, run))
    write_samples(run, output)
    if not run.completed:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Plan:
    """Drive of the arm, and the start and duration unless the user says otherwise."""

    drive: Any
    q0: np.ndarray
    qd0: np.ndarray
    duration: float | None = None


def _followed(robot: Robot, law: Any, target: Any) -> _Plan:
    """A controller begins where its motion does."""
    zero = np.zeros(robot.n)
    if isinstance(target, Trajectory):
        return _Plan(law, target.q[0], zero, target.duration)
    return _Plan(law, start_of(robot, None), zero)


def _plan(robot: Robot, torque: str | None) -> _Plan:
    """Plan with no torques, constant ones, or those of a file."""
    zero = np.zeros(robot.n)
    path = _torque_file(torque)
    if path is None:
        drive = None if torque is None else numbers(torque, "--torque", robot.n)
        return _Plan(drive, start_of(robot, None), zero)
    file = read_torques(path)
    if file.tau.shape[1] != robot.n:
        raise ArmdynError(f"{path}: torques of {file.tau.shape[1]} joints, but {robot.name} has {robot.n}")
    return _Plan(lambda t, q, qd: file.at(t), file.q0, file.qd0, float(file.t[-1]))


def _torque_file(torque: str | None) -> str | None:
    """The file that --torque names; None if it gives numbers."""
    return torque.strip() if torque is not None and torque.strip().lower().endswith(".csv") else None


def _goal(
    robot: Robot, trajectory: Path | None, cycle: str | None, target: str | None
) -> Trajectory | np.ndarray | None:
    if sum(x is not None for x in (trajectory, cycle, target)) > 1:
        raise ArmdynError("give one of --trajectory, --cycle and --to")
    if target is not None:
        return numbers(target, "--to", robot.n)
    return motion_of(robot, trajectory, cycle)


def _controller(
    robot: Robot, kind: ControllerKind | None, target: Any, gains: dict[str, Any], saturated: bool, rate: Any
) -> Any:
    """The controller asked for, None where none is."""
    given = {name: x for name, x in gains.items() if x is not None}
    if (kind is None) != (target is None):
        raise ArmdynError("--controller goes with --trajectory, --cycle or --to: give both, or neither")
    if kind is None:
        if given or saturated or rate != "auto":
            raise ArmdynError("--stiffness, --damping, --rate and --saturated go with --controller")
        return None
    if kind is ControllerKind.computed_torque:
        return ComputedTorque(robot, target, saturated=saturated, rate=rate, **given)
    if missing := [f"--{name}" for name in gains if name not in given]:
        raise ArmdynError(f"--controller pd needs {' and '.join(missing)}")
    return PDGravity(robot, target, saturated=saturated, rate=rate, **given)


def _rate(text: str) -> Any:
    """Samples a second, "auto", or None."""
    word = text.strip().lower()
    if word in ("auto", "none"):
        return None if word == "none" else word
    try:
        rate = float(word)
    except ValueError:
        rate = 0.0
    if not 0 < rate < inf:
        raise ArmdynError(f"--rate: expected a positive number, 'auto' or 'none', found '{text}'")
    return rate


def _beyond(robot: Robot, run: Run) -> list[Exceeded]:
    """The limits of velocity and torque that a run exceeds; those of position it tells itself."""
    found = exceeded(robot, run.t, run.positions, run.qd, tau=run.tau)
    return [one for one in found if one.quantity != "position"]


def _print_run(robot: Robot, run: Run, target: Any, beyond: Sequence[Exceeded]) -> None:
    """Print where each joint ended and how far off; then the energies, and which limits were exceeded."""
    wanted = None
    if target is not None:
        wanted = target(run.t)[0] if isinstance(target, Trajectory) else np.broadcast_to(target, run.q.shape)
    error = None if wanted is None else abs(run.q - wanted)
    bounds, units = joint_limits(robot), [joint_units(robot, i) for i in range(robot.n)]
    table = table_by_columns(
        ("joint", robot.coordinates),
        ("at the end", figures(run.q[-1])),
        ("largest speed", figures(abs(run.qd).max(0), places(beyond, "velocity"))),
        ("limit", limit_cells(bounds.velocity)),
        ("largest torque", figures(abs(run.tau).max(0), places(beyond, "torque"))),
        ("limit", limit_cells(bounds.torque)),
        ("error at the end", () if error is None else figures(error[-1])),
        ("largest error", () if error is None else figures(error.max(0))),
        ("", [f"{x.position}, {x.velocity}, {x.torque}" for x in units]),
    )
    terminal().print(table)
    at_tip = f"work at the tip {run.wrench_work[-1]:.6g} J, " if run.wrench_work.any() else ""
    brought = f"loads brought {run.load_energy[-1]:.6g} J, " if run.load_energy.any() else ""
    print(
        f"{run.t[-1]:.6g} s; energy {run.energy[0]:.6g} J -> {run.energy[-1]:.6g} J, work of the torques "
        f"{run.torque_work[-1]:.6g} J, {at_tip}{brought}friction took {run.dissipated[-1]:.6g} J; "
        f"balance to {abs(run.balance).max():.2g} J"
    )
    if run.events:
        print(f"{len(run.events)} times a joint began to stick or to slip")
    for passed in run.limits_passed:
        if passed.text not in run.message:
            say(passed.text)
    say_exceeded(beyond)
    for note in run.notes:
        say(note)
    if not run.completed:
        say(f"not completed: {run.message}")
