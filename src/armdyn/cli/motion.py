"""Verbs of motion: torque, motors, trajectory, scale."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from armdyn.analysis import Contributions, contributions
from armdyn.analysis.contributions import RotorPart
from armdyn.cli.common import (
    CycleOption,
    GivenRobot,
    MotionOption,
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
from armdyn.cli.terminal import Column, figures, limit_cells, table_by_columns, table_of, terminal
from armdyn.expression import ArmdynError
from armdyn.files import write_whole
from armdyn.motion import MotorLoads, Trajectory, motor_loads, scale_to_limits, time_optimal
from armdyn.motion.csv_files import write
from armdyn.motion.cycles import with_limits
from armdyn.motion.motor_loads import cells_of, sentences
from armdyn.motion.profiles import LAWS
from armdyn.motion.timing.exceeded import WITHIN, Exceeded, exceeded, places
from armdyn.motion.timing.limits import Limit
from armdyn.motion.timing.scaling import Scaled
from armdyn.motion.timing.time_optimal import TimeOptimal
from armdyn.motion.torques import contributions_along, torques_along
from armdyn.motion.trajectory import Samples
from armdyn.report.subject import EXAMPLE, default_motion
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_units, passive_text, torque_unit

# ------------------------------------------------------------------------------------------------------------
# The verb torque: for a state, or along a motion.


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
        Coupling, typer.Option(help="Rotor coupling as a part of its own, or within inertia and Coriolis.")
    ] = Coupling.separate,
) -> None:
    """Compute joint torques for a state or along a motion, and what they are made of."""
    moves = trajectory is not None or cycle is not None
    if (q is None) != moves:
        raise ArmdynError("give either --q (a posture) or --trajectory or --cycle (a motion)")
    if output is not None and not moves:
        raise ArmdynError("--output goes with --trajectory or --cycle")
    check_output(output, robot.source, trajectory, cycle)
    loaded = robot.load()
    h = wrench_of(wrench)
    motion = motion_of(loaded, trajectory, cycle)
    if motion is not None:
        if qd is not None or qdd is not None:
            raise ArmdynError("--qd and --qdd go with --q; a motion has its own")
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
    if text := passive_text(robot):
        say(text)


def _figure(x: float, largest: float) -> str:
    """Number to five digits; rounding error next to the joint's largest part is zero."""
    return "0" if abs(x) < 1e-14 * largest else f"{x:.5g}"


# ------------------------------------------------------------------------------------------------------------
# The verb motors: what a motion asks of each motor.


@takes_robot
def motors(
    robot: GivenRobot,
    trajectory: MotionOption = None,
    cycle: CycleOption = None,
    wrench: WrenchOption = None,
    csv: Annotated[
        Path | None, typer.Option(help="CSV file: torque, speed, power and current of each motor over time.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="SVG file: torque over speed of each motor, with its limits.")
    ] = None,
) -> None:
    """Compute torque, speed, power, current and energy of each motor along a motion, at its shaft."""
    for option, path in (("--csv", csv), ("--plot", plot)):
        check_output(path, robot.source, trajectory, cycle, option=f"{option}: ")
    if plot is not None and plot.suffix.lower() != ".svg":
        raise ArmdynError(f"--plot: cannot write '{plot}': a picture's name ends with .svg")
    loaded = robot.load()
    motion, text = _motion(loaded, trajectory, cycle)
    found = motor_loads(loaded, motion, wrench=wrench_of(wrench))
    say(text)
    terminal().print(table_of(*cells_of(found)))
    for line in sentences(found):
        say(line)
    at = motion.samples()
    say_exceeded(exceeded(loaded, at.t, at.q, at.qd, at.qdd, found.joint_torque))
    if csv is not None:
        _write(csv, found)
        say(f"wrote {csv}")
    if plot is not None:
        from armdyn.drawing.style import svg
        from armdyn.report import plot_motor_loads  # brings matplotlib: only when asked for

        say(f"wrote {write_whole(plot, svg(plot_motor_loads(found)))}")


def _motion(robot: Robot, trajectory: Path | None, cycle: str | None) -> tuple[Trajectory, str]:
    """The motion given, or the one that a report shows; and which it is."""
    given = motion_of(robot, trajectory, cycle)
    if given is None:
        chosen = default_motion(robot)
        return chosen.trajectory, f"{EXAMPLE} {chosen.text}"
    return given, f"The motion of {trajectory or cycle} takes {given.duration:.6g} s ({given.motion.label})."


def _write(path: Path, found: MotorLoads) -> None:
    """Currents only where the description has a torque constant for every motor."""
    columns = {"torque": found.torque, "speed": found.speed, "power": found.power}
    if found.constant_given.all():
        columns["current"] = found.current
    write(path, found.t, columns)


# ------------------------------------------------------------------------------------------------------------
# The verbs trajectory and scale.


LimitOption = Annotated[str | None, typer.Option(help="One number, or one for each joint, comma-separated.")]
MotorLimitOption = Annotated[
    str | None, typer.Option(help="At the shaft: one number, or one for each motor, comma-separated.")
]


class TimingLaw(StrEnum):
    """The timing laws as options; their names are those of `Trajectory`'s makers."""

    triangular = "triangular"
    trapezoidal = "trapezoidal"
    cubic = "cubic"
    quintic = "quintic"
    jerk_limited = "jerk-limited"


@takes_robot
def trajectory(
    robot: GivenRobot,
    output: OutputOption,
    q0: Annotated[
        str | None,
        typer.Option("--from", help="Positions at the start; default zero, with loops the first posture."),
    ] = None,
    q1: Annotated[str | None, typer.Option("--to", help="Positions at the end [rad, m].")] = None,
    displacement: Annotated[
        str | None,
        typer.Option("--line", help="Instead of --to: the tip moves straight, by these x, y, z [m]."),
    ] = None,
    circle: Annotated[
        str | None,
        typer.Option(
            help="Instead of --to: the tip goes around a centre (x, y, z) [m] and an axis (x, y, z) by an "
            "angle [rad]: 7 numbers."
        ),
    ] = None,
    cycle: CycleOption = None,
    profile: Annotated[
        TimingLaw | None, typer.Option(help="Timing law; default: trapezoidal.", show_default=False)
    ] = None,
    duration: Annotated[float | None, typer.Option(help="[s]")] = None,
    acceleration_time: Annotated[float | None, typer.Option(help="Of a trapezoidal profile [s].")] = None,
    max_velocity: LimitOption = None,
    max_acceleration: LimitOption = None,
    max_jerk: LimitOption = None,
    synchronised: Annotated[
        bool, typer.Option("--synchronised", help="All joints take the time of the slowest.")
    ] = False,
    step: Annotated[float, typer.Option(help="Time between samples [s].")] = 1e-3,
) -> None:
    """Make a motion and write it: t, q1 ..., qd1 ..., qdd1 ... in a CSV file."""
    if sum(x is not None for x in (q1, displacement, circle, cycle)) != 1:
        raise ArmdynError(
            "give one of --to (a posture), --line (a displacement of the tip), --circle and --cycle (a file)"
        )
    check_output(output, robot.source, cycle)
    loaded = robot.load()
    given = {
        "duration": duration,
        "acceleration_time": acceleration_time,
        **number_lists(max_velocity=max_velocity, max_acceleration=max_acceleration, max_jerk=max_jerk),
    }
    if cycle is not None:
        _check_alone({"from": q0, "profile": profile, "synchronised": synchronised or None, **given})
        made = motion_of(loaded, None, cycle, step)
        assert made is not None
    else:
        if synchronised and q1 is None:
            raise ArmdynError("--synchronised: it goes with --to; the tip moves all joints at the same time")
        law, data, text = _law(loaded if q1 is not None else None, profile, given)
        start = start_of(loaded, q0)
        if q1 is not None:
            made = _joint_motion(law, start, numbers(q1, "--to", loaded.n), data, synchronised, step)
        else:
            made = _tip_motion(
                loaded, start, displacement, circle, {**data, "profile": law.name, "step": step}
            )
    if cycle is None:
        say(f"timing law: {text}")
    _print_motion(loaded, made)
    write_samples(made, output)


def _check_alone(further: dict[str, Any]) -> None:
    """Refuse options beside --cycle."""
    for name, x in further.items():
        if x is not None:
            raise ArmdynError(f"--{name.replace('_', '-')}: the file of --cycle says this; leave it out")


def _tip_motion(
    robot: Robot, start: np.ndarray, displacement: str | None, circle: str | None, law: dict[str, Any]
) -> Trajectory:
    if displacement is not None:
        return Trajectory.line(robot, start, displacement=numbers(displacement, "--line", 3), **law)
    found = numbers(circle, "--circle", 7)
    return Trajectory.circle(robot, start, found[:3], found[3:6], float(found[6]), **law)


def _law(
    robot: Robot | None, profile: TimingLaw | None, given: dict[str, Any]
) -> tuple[TimingLaw, dict[str, Any], str]:
    """The timing law, its data, and which it is; what is missing for joints are the robot's limits."""
    found = {name: x for name, x in given.items() if x is not None}
    law = profile or (TimingLaw.quintic if set(found) == {"duration"} else TimingLaw.trapezoidal)
    _check_law(law, found, {name: f"--{name.replace('_', '-')}" for name in given}, complete=robot is None)
    if robot is None:
        return law, found, law.value
    data = with_limits(robot, {"profile": law.name, **found})
    del data["profile"]
    own = [name.removeprefix("max_") for name in data if name not in found]
    if not own:
        return law, data, law.value
    limits = " and ".join([", ".join(own[:-1]), own[-1]] if len(own) > 1 else own)
    return law, data, f"{law.value}, by the robot's limits of {limits}"


def _check_law(law: TimingLaw, found: dict[str, Any], options: dict[str, str], complete: bool) -> None:
    """Refuse data that a law does not take, and, unless limits of the robot may complete them, too few."""
    _, allowed = LAWS[law.name]
    for name in found:
        if name not in allowed:
            raise ArmdynError(f"{name}: {law.value} takes {', '.join(options[x] for x in allowed)}")
    timed = bool({"duration", "acceleration_time"} & set(found))
    if law is TimingLaw.trapezoidal and (len(found) > 2 or (len(found) < 2 and (complete or timed))):
        raise ArmdynError(f"{law.value} takes two of {', '.join(options[x] for x in allowed)}")
    if law is TimingLaw.trapezoidal or (law is TimingLaw.jerk_limited and not complete):
        return
    if missing := [options[x] for x in allowed if x not in found]:
        raise ArmdynError(f"{law.value} needs {', '.join(missing)}")


def _joint_motion(
    profile: TimingLaw, q0: np.ndarray, q1: np.ndarray, data: dict[str, Any], synchronised: bool, step: float
) -> Trajectory:
    if profile in (TimingLaw.trapezoidal, TimingLaw.jerk_limited):
        data = {**data, "synchronised": synchronised}
    made: Trajectory = getattr(Trajectory, profile.name)(q0, q1, step=step, **data)
    return made


def _print_motion(robot: Robot, motion: Trajectory) -> None:
    """Print ends, largest speed and acceleration of each joint, against limits; then what exceeds them."""
    at, known = motion.samples(), all(value is not None for _, value in robot.model.symbols)
    beyond = exceeded(robot, at.t, at.q, at.qd, at.qdd) if known else ()
    bounds = joint_limits(robot) if known else None
    units = [joint_units(robot, i) for i in range(robot.n)]
    columns = [("joint", robot.coordinates), *_ends(robot, at, known)]
    for word, kind, x in (("speed", "velocity", at.qd), ("acceleration", "acceleration", at.qdd)):
        columns.append((f"largest {word}", figures(abs(x).max(0), places(beyond, kind))))
        columns.append(("limit", limit_cells(getattr(bounds, kind)) if bounds else ()))
    columns.append(("", [f"{x.position}, {x.velocity}, {x.acceleration}" for x in units]))
    terminal().print(table_by_columns(*columns))
    print(f"{motion.duration:.6g} s, {len(motion.t)} samples")
    for start, end in motion.dwells:
        print(f"rests from {start:.6g} to {end:.6g} s")
    for one in motion.loads:
        print(f"carries {float(one.load.body.mass):.6g} kg from {one.start:.6g} to {one.end:.6g} s")
    say_exceeded(beyond)


def _ends(robot: Robot, at: Samples, known: bool) -> list[Column]:
    """The positions at both ends; those out of range are marked."""
    ends = {"from": at.q[0], "to": at.q[-1]}
    return [
        (word, figures(q, places(exceeded(robot, q=q) if known else (), "position")))
        for word, q in ends.items()
    ]


@takes_robot
def scale(
    robot: GivenRobot,
    output: OutputOption,
    trajectory: Annotated[
        Path | None, typer.Argument(help="A motion, as `armdyn trajectory` writes it; or give --cycle.")
    ] = None,
    cycle: CycleOption = None,
    optimal: Annotated[
        bool, typer.Option("--time-optimal", help="The least time on the same path, instead of one factor.")
    ] = False,
    faster: Annotated[
        bool, typer.Option("--faster", help="The factor may also speed the motion up.")
    ] = False,
    torque: LimitOption = None,
    velocity: LimitOption = None,
    acceleration: LimitOption = None,
    motor_torque: MotorLimitOption = None,
    motor_velocity: MotorLimitOption = None,
    wrench: WrenchOption = None,
) -> None:
    """Retime a motion to meet the limits; by default those of the robot."""
    check_output(output, robot.source, trajectory, cycle)
    loaded = robot.load()
    given = motion_of(loaded, trajectory, cycle)
    if given is None:
        raise ArmdynError("give a motion: a file that `armdyn trajectory` writes, or --cycle")
    limits = number_lists(
        torque=torque,
        velocity=velocity,
        acceleration=acceleration,
        motor_torque=motor_torque,
        motor_velocity=motor_velocity,
    )
    limits["wrench"] = wrench_of(wrench)
    if optimal:
        found: Scaled | TimeOptimal = time_optimal(loaded, given, **limits)
        made = found.trajectory
        print(f"{given.duration:.6g} s -> {made.duration:.6g} s, the least time on this path")
    else:
        found = slow = scale_to_limits(loaded, given, faster=faster, **limits)
        made, factor = slow.trajectory, slow.factor
        print(f"{given.duration:.6g} s -> {made.duration:.6g} s, c = {factor:.6g}, c² = {factor**2:.6g}")
        if (limited := slow.limited_by) is not None:
            say(f"limited by the {limited.quantity} of {limited.name(loaded)} at {slow.instant:.6g} s")
    _print_torques(loaded, found)
    write_samples(made, output)


def _print_torques(robot: Robot, found: Scaled | TimeOptimal) -> None:
    """The largest torque of each joint, and of each motor that has a limit."""
    names, units = list(robot.coordinates), [torque_unit(robot, i) for i in range(robot.n)]
    peaks, limits = abs(found.torque).max(0), found.limits.torque
    if (of_motors := np.isfinite(found.motor_limits.torque)).any():
        shafts = [Limit("motor torque", i) for i in np.flatnonzero(of_motors).tolist()]
        names += [motor.name(robot) for motor in shafts]
        units += [motor.unit(robot) for motor in shafts]
        at_shafts = abs(found.torque @ robot.drives.to_motors.T).max(0)
        peaks = np.append(peaks, at_shafts[of_motors])
        limits = np.append(limits, found.motor_limits.torque[of_motors])
    beyond = set(np.flatnonzero(peaks > (1 + WITHIN) * limits).tolist())
    columns = ("joint", names), ("largest torque", figures(peaks, beyond)), ("limit", limit_cells(limits))
    terminal().print(table_by_columns(*columns, ("", units)))
