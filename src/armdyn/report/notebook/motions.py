"""Cards of trajectories and simulated runs."""

from __future__ import annotations

from armdyn.motion.motors.loads import MotorLoads
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.motors import plot_motor_loads
from armdyn.report.notebook.cards import framed, notes, picture
from armdyn.report.notebook.curves import joint_curves, labelled
from armdyn.report.page.markup import Markup, facts, join
from armdyn.report.page.motors import loads_table
from armdyn.report.page.numbers import number
from armdyn.robot.joints import joint_units
from armdyn.simulation.run import Run

_SAMPLES = 2000  # that a picture of a motion is drawn from
_EITHER = ("rad", "m")  # a trajectory does not know which joints turn


def trajectory_card(trajectory: Trajectory) -> Markup:
    step = max(trajectory.step, trajectory.duration / _SAMPLES)
    at = trajectory.with_step(step).samples()
    panels = [
        (labelled("position", _EITHER), at.q),
        (labelled("velocity", [f"{unit}/s" for unit in _EITHER]), at.qd),
        (labelled("acceleration", [f"{unit}/s²" for unit in _EITHER]), at.qdd),
    ]
    drawn = picture(joint_curves(at.t, panels), "positions, velocities and accelerations over time", 50)
    joints = "1 joint" if trajectory.n == 1 else f"{trajectory.n} joints"
    text = join([trajectory.motion.label, f", {joints}, ", number(trajectory.duration), " s"])
    return framed("Trajectory", text, drawn)


def run_card(run: Run) -> Markup:
    """Of a batch, the first arm is drawn."""
    batch = run.q.shape[1:-1]
    first: tuple[slice | int, ...] = (slice(None), *(0 for _ in batch))
    units = [joint_units(run.robot, j) for j in range(run.robot.n)]
    panels = [
        (labelled("position", [u.position for u in units]), run.q[first]),
        (labelled("velocity", [u.velocity for u in units]), run.qd[first]),
        (labelled("torque", [u.torque for u in units]), run.tau[first]),
    ]
    entries: list[tuple[str, str]] = [
        ("time", join([number(float(run.t[-1])), f" s in {len(run.t)} instants"])),
        ("state", "completed" if run.completed else run.message),
        ("energy at the end", join([number(float(run.energy[first][-1]), 3), " J"])),
        ("taken by friction", join([number(float(run.dissipated[first][-1]), 3), " J"])),
    ]
    if batch:
        entries.insert(0, ("arms", f"{batch}; the first is shown"))
    if run.events:
        entries.append(("sticks, slips, turns", str(len(run.events))))
    drawn = picture(joint_curves(run.t, panels), "positions, velocities and torques over time", 50)
    said = [*(x.text for x in run.limits_passed[:5]), *run.notes]
    return framed(
        f"Run of {run.robot.name}", "simulated", drawn, facts(entries), *([notes(said)] if said else [])
    )


def motor_loads_card(loads: MotorLoads) -> Markup:
    """Of a batch, a line of text: one arm has a card."""
    if loads.torque.ndim > 2:
        return framed("Motor loads", repr(loads))
    drawn = picture(plot_motor_loads(loads), "torque over speed at the shaft of each motor", 36)
    subtitle = f"{loads.robot.name}, {loads.duration:.6g} s"
    said = [one.text for one in loads.exceeded]
    return framed("Motor loads", subtitle, drawn, loads_table(loads), *([notes(said)] if said else []))
