"""Torques against limits, what the diagonal rotor model misses, and energies of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.analysis.limits import joint_limits
from armdyn.analysis.rotor_error import rotor_error
from armdyn.motion.least_time.time_optimal import TimeOptimal
from armdyn.motion.timing.scaling import Scaled
from armdyn.motion.timing.speed_parts import check_robot, tip_wrench
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import GREY, colour, curve, dash, end_labels, framed, sheet, styled
from armdyn.report.findings.quantities import effort_label, joint_kinds, joint_label, joint_title, on_paper
from armdyn.robot import Robot
from armdyn.simulation.run import Run

_GIVEN, _LINEAR, _LEAST = 2, 0, 1  # line styles of the motion as given, scaled linearly, in least time
_FULL_WIDTH = 3  # joints up to which each has a panel as wide as the sheet


@styled
def plot_scaling(
    robot: Robot,
    trajectory: Trajectory,
    scaled: Scaled | None = None,
    optimal: TimeOptimal | None = None,
    *,
    wrench: Any = None,
) -> Figure:
    """Torques of a motion as given, scaled linearly and in least time, with their limits, joint by joint."""
    samples = on_paper(robot, trajectory)
    given = np.asarray(robot.inverse_dynamics(samples.q, samples.qd, samples.qdd, tip_wrench(wrench)))
    torques = [(f"as given, {trajectory.duration:.4g} s", _GIVEN, samples.t, given)]
    limit = joint_limits(robot).torque
    if scaled is not None:
        name = f"scaled linearly, {scaled.trajectory.duration:.4g} s"
        torques.append((name, _LINEAR, scaled.t, scaled.torque))
        limit = scaled.limits.torque
    if optimal is not None:
        torques.append((f"least time, {optimal.duration:.4g} s", _LEAST, optimal.t, optimal.torque))
        limit = optimal.limits.torque
    columns = 1 if robot.n <= _FULL_WIDTH else 2
    rows = -(-robot.n // columns)
    figure, panels = sheet(0.8 + (2.0 if columns == 1 else 1.7) * rows, rows, columns, sharex=True)
    limited = False
    for i, panel in enumerate(panels.ravel()):
        if i >= robot.n:
            panel.set_axis_off()
            continue
        for _, k, t, tau in torques:
            curve(panel, t, tau[:, i], k, lw=1.3)
        framed(panel, effort_label(robot, i), joint_title(robot, i))
        limited = _limit_lines(panel, float(limit[i])) or limited
        if i >= robot.n - columns:
            panel.set_xlabel("time [s]")
            panel.tick_params(labelbottom=True)
    handles = [Line2D([], [], color=colour(k), linestyle=dash(k), label=name) for name, k, _, _ in torques]
    if limited:
        handles.append(Line2D([], [], color=GREY, lw=0.9, label="limit"))
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure


def _limit_lines(panel: Axes, bound: float) -> bool:
    """Both limits, where the torques come near enough for the lines to be in sight; whether any is."""
    if not np.isfinite(bound):
        return False
    low, high = panel.get_ylim()
    before = len(panel.lines)
    for value in (bound, -bound):
        if 1.4 * low - 0.4 * high < value < 1.4 * high - 0.4 * low:
            panel.axhline(value, color=GREY, lw=0.9, zorder=1.4)
            low, high = min(low, value * 1.05), max(high, value * 1.05)
    panel.set_ylim(low, high)
    return len(panel.lines) > before


@styled
def plot_path_speed(robot: Robot, optimal: TimeOptimal) -> Figure:
    """The speed along a path in least time, and which limit each joint is at (the phase plane of 7.7)."""
    check_robot(robot, optimal.trajectory)
    kinds = _at_limits(robot, optimal)
    low = 0.3 + 0.2 * robot.n
    figure, panels = sheet(2.3 + low, 2, 1, sharex=True, gridspec_kw={"height_ratios": [1.9, low]})
    speed, strips = panels[:, 0]
    curve(speed, optimal.s, optimal.speed, 0)
    framed(speed, "path speed [1/s]")
    for j, active in enumerate(kinds.values()):
        for i in range(robot.n):
            for start, end in _stretches(active[:, i]):
                along = [optimal.s[start], optimal.s[end]]
                strips.plot(along, [i + 1, i + 1], color=colour(j), lw=6 - 1.8 * j, solid_capstyle="butt")
    strips.set_ylim(robot.n + 0.6, 0.4)
    strips.set_yticks(range(1, robot.n + 1))
    strips.set_ylabel("joint at\na limit")
    strips.set_xlabel("path parameter s [1], from start to end")
    handles = [
        Line2D([], [], color=colour(j), lw=6 - 1.8 * j, label=name)
        for j, (name, active) in enumerate(kinds.items())
        if active.any()
    ]
    if handles:
        figure.legend(handles=handles, loc="outside lower center", ncols=3, handlelength=2.2)
    return figure


def _at_limits(robot: Robot, optimal: TimeOptimal) -> dict[str, np.ndarray]:
    """Limits by name -> (N, n): whether a joint is within a thousandth of it on an interval of the path."""
    middle = (optimal.t[0::2] + optimal.t[1::2]) / 2
    _, qd, qdd = optimal.trajectory(middle)
    tau = np.abs(optimal.torque).reshape(-1, 2, robot.n).max(1)
    found = {"torque": tau, "velocity": np.abs(qd), "acceleration": np.abs(qdd)}
    return {name: x >= 0.999 * getattr(optimal.limits, name) for name, x in found.items()}


def _stretches(active: np.ndarray) -> list[tuple[int, int]]:
    """First and one past last of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


@styled
def plot_rotor_error(robot: Robot, trajectory: Trajectory) -> Figure:
    """What the diagonal rotor model misses along a motion: torques, and in percent of the largest torque."""
    samples = on_paper(robot, trajectory)
    found = rotor_error(robot, samples.q, samples.qd, samples.qdd)
    largest = np.abs(found.torque).max(0)
    kinds = joint_kinds(robot)
    figure, panels = sheet(2.6, 1, len(kinds) + 1)
    for panel, kind in zip(panels[0], kinds, strict=False):
        lines = [curve(panel, samples.t, found.error[:, j], j, joint_label(robot, j)) for j in kind.joints]
        framed(panel, f"exact − diagonal [{kind.torque}]", f"{kind.effort}s")
        end_labels(panel, lines)
    share = 100 * found.error / np.where(largest > 0, largest, 1.0)
    panel = panels[0, -1]
    lines = [curve(panel, samples.t, share[:, j], j, joint_label(robot, j)) for j in range(robot.n)]
    framed(panel, "error [%]", "of the joint's largest torque")
    end_labels(panel, lines)
    for panel in panels[0]:
        panel.set_xlabel("time [s]")
    return figure


@styled
def plot_energy(run: Run) -> Figure:
    """Kinetic, potential and total energy of a simulated arm over time, and what friction has taken."""
    if run.q.ndim != 2:
        raise ReportError(f"run: found {run.q.shape[1:-1]} arms; the energies of one are drawn")
    curves = {"kinetic": run.kinetic, "potential": run.potential, "total": run.energy}
    if run.dissipated.any():
        curves["taken by friction"] = run.dissipated
    if run.torque_work.any():
        curves["work of the torques"] = run.torque_work
    figure, panels = sheet(2.7)
    panel: Axes = panels[0, 0]
    every = max(1, len(run.t) // 500)
    lines = []
    for (name, y), k in zip(curves.items(), (1, 2, 0, 3, 4), strict=False):
        kept = np.append(y[:-1:every], y[-1])
        lines.append(curve(panel, np.append(run.t[:-1:every], run.t[-1]), kept, k, name))
    framed(panel, "energy [J]")
    end_labels(panel, lines)
    panel.set_xlabel("time [s]")
    return figure
