"""The charts of a simulated run: energy, torques, states."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot.joints import joint_limits, joint_units
from armdyn.simulation.run import Run
from armdyn.workbench.bench.clip import Clip, of_samples
from armdyn.workbench.charts.chart import BLUE, GREY, Chart, Line, Panel
from armdyn.workbench.charts.of_motion import TALL, joint_title, torque_bounds


def run_clip(
    run: Run,
    target: Trajectory | None = None,
    wrench: Callable[[float], np.ndarray | None] | None = None,
) -> Clip:
    """A run to play; `target` is the motion that was to be followed, `wrench` what acted at the tip."""
    rows = np.isfinite(run.q).all(1) & np.isfinite(run.qd).all(1)
    rows &= np.append(True, np.diff(run.t) > 0)
    t, q, qd = run.t[rows], run.q[rows], run.qd[rows]
    qdd = np.gradient(qd, t, axis=0) if len(t) > 1 else np.zeros_like(qd)
    if len(t) == 1:
        t, q, qd, qdd = np.append(t, t[0] + 1e-3), *(np.repeat(x, 2, axis=0) for x in (q, qd, qdd))
    loads = () if run.carried is None else run.carried.loads
    at = of_samples(t, q, qd, qdd)
    return Clip("simulation", float(t[-1] - t[0]), at, run_charts(run, target), loads, wrench)


def run_charts(run: Run, target: Trajectory | None) -> dict[str, Callable[..., Chart]]:
    return {
        "Energy": lambda *_: energy(run),
        "Torques applied": lambda *_: _torques(run),
        "Positions": lambda *_: _states(run, target, 0),
        "Velocities": lambda *_: _states(run, target, 1),
    }


def energy(run: Run) -> Chart:
    """Potential and total energy from the start on: where it counts from says nothing."""
    t, potential = run.t, run.potential - run.potential[0]
    lines = [
        Line(t, run.energy - run.potential[0], "total", "currentColor", width=2.2),
        Line(t, run.kinetic, "kinetic", BLUE),
        Line(t, potential, "potential, from the start", "#e69f00"),
    ]
    further = (
        ("work of the torques", run.torque_work, "#009e73"),
        ("work at the tip", run.wrench_work, "#56b4e9"),
        ("taken by friction", run.dissipated, "#8c510a"),
    )
    lines += [Line(t, y, label, colour, dashed=True) for label, y, colour in further if np.any(y)]
    return Chart((Panel("energy", "J", tuple(lines), height=TALL),), float(t[-1]))


def _torques(run: Run) -> Chart:
    robot, bounds = run.robot, torque_bounds(run.robot)
    panels = [
        Panel(
            joint_title(robot, j),
            joint_units(robot, j).torque,
            (Line(run.t, run.tau[:, j], "applied"),),
            (-float(bounds[j]), float(bounds[j])),
        )
        for j in range(robot.n)
    ]
    return Chart(tuple(panels), float(run.t[-1]))


def _states(run: Run, target: Trajectory | None, kind: int) -> Chart:
    robot, limits = run.robot, joint_limits(run.robot)
    found = (run.q, run.qd)[kind]
    wanted = None if target is None else target(run.t)[kind]
    bounds = ((limits.lower, limits.upper), (-limits.velocity, limits.velocity))[kind]
    panels = []
    for j in range(robot.n):
        lines = [Line(run.t, found[:, j], "simulated")]
        if wanted is not None:
            lines.append(Line(run.t, wanted[:, j], "wanted", GREY, True))
        unit = list(joint_units(robot, j))[kind]
        panels.append(
            Panel(joint_title(robot, j), unit, tuple(lines), (float(bounds[0][j]), float(bounds[1][j])))
        )
    return Chart(tuple(panels), float(run.t[-1]))
