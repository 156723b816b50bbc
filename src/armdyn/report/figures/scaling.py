"""Torques of a motion against their limits, and the speed along a path in least time."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.motion.least_time.time_optimal import TimeOptimal
from armdyn.motion.timing.scaling import Scaled
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.drawing import GREY, Given, colour, curve, dash, framed, sheet, styled
from armdyn.report.figures.labels import effort_label, joint_title
from armdyn.report.findings.scaling import PathSpeed, TimingCurves, path_speed, timing_curves
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot

_GIVEN, _LINEAR, _LEAST = 2, 0, 1  # line styles of the motion as given, scaled linearly, in least time
_FULL_WIDTH = 3  # joints up to which each has a panel as wide as the sheet


def plot_scaling(
    robot: Robot,
    trajectory: Trajectory,
    scaled: Scaled | None = None,
    optimal: TimeOptimal | None = None,
    *,
    wrench: Any = None,
    ax: Given = None,
) -> Figure:
    """Torques of a motion as given, scaled linearly and in least time, with their limits, joint by joint.

    `ax` takes n axes.
    """
    return draw_scaling(timing_curves(Subject.of(robot, trajectory, wrench), scaled, optimal), ax=ax)


@styled
def draw_scaling(found: TimingCurves, *, ax: Given = None) -> Figure:
    robot, scaled, optimal = found.robot, found.scaled, found.optimal
    torques = [(f"as given, {found.duration:.4g} s", _GIVEN, found.t, found.torque)]
    if scaled is not None:
        name = f"scaled linearly, {scaled.trajectory.duration:.4g} s"
        torques.append((name, _LINEAR, scaled.t, scaled.torque))
    if optimal is not None:
        torques.append((f"least time, {optimal.duration:.4g} s", _LEAST, optimal.t, optimal.torque))
    columns = 1 if robot.n <= _FULL_WIDTH else 2
    rows = -(-robot.n // columns)
    height = 0.8 + (2.0 if columns == 1 else 1.7) * rows
    paper = sheet(height, rows, columns, ax=ax, used=robot.n, sharex=True)
    limited = False
    for i, panel in enumerate(paper.panels):
        for _, k, t, tau in torques:
            curve(panel, t, tau[:, i], k, lw=1.3)
        framed(panel, effort_label(robot, i), joint_title(robot, i))
        limited = limit_lines(panel, float(found.limit[i])) or limited
    handles = [Line2D([], [], color=colour(k), linestyle=dash(k), label=name) for name, k, _, _ in torques]
    if limited:
        handles.append(Line2D([], [], color=GREY, lw=0.9, label="limit"))
    paper.under("time [s]")
    paper.legend(handles, ncols=len(handles))
    return paper.figure


def limit_lines(panel: Axes, bound: float, shade: str = GREY) -> bool:
    """Both limits, where the torques come near enough for the lines to be in sight; whether any is."""
    if not np.isfinite(bound):
        return False
    low, high = panel.get_ylim()
    before = len(panel.lines)
    for value in (bound, -bound):
        if 1.4 * low - 0.4 * high < value < 1.4 * high - 0.4 * low:
            panel.axhline(value, color=shade, lw=0.9, zorder=1.4)
            low, high = min(low, value * 1.05), max(high, value * 1.05)
    panel.set_ylim(low, high)
    return len(panel.lines) > before


def plot_path_speed(robot: Robot, optimal: TimeOptimal, *, ax: Given = None) -> Figure:
    """The speed along a path in least time, and which limit each joint or motor is at (7.7's phase plane).

    `ax` takes 2 axes.
    """
    return draw_path_speed(path_speed(robot, optimal), ax=ax)


@styled
def draw_path_speed(found: PathSpeed, *, ax: Given = None) -> Figure:
    n, kinds = len(found.names), found.at_limit
    low = 0.3 + 0.2 * n
    paper = sheet(2.3 + low, 2, 1, ax=ax, sharex=True, gridspec_kw={"height_ratios": [1.9, low]})
    speed, strips = paper.panels
    curve(speed, found.s, found.speed, 0)
    framed(speed, "path speed [1/s]")
    for j, active in enumerate(kinds.values()):
        for i in range(n):
            for start, end in _stretches(active[:, i]):
                along = [found.s[start], found.s[end]]
                strips.plot(along, [i + 1, i + 1], color=colour(j), lw=6 - 1.8 * j, solid_capstyle="butt")
    strips.set_ylim(n + 0.6, 0.4)
    strips.set_yticks(range(1, n + 1), found.names)
    strips.set_ylabel("at a limit" if found.has_motors else "joint at\na limit")
    paper.under("path parameter s [1], from start to end")
    handles = [
        Line2D([], [], color=colour(j), lw=6 - 1.8 * j, label=name)
        for j, (name, active) in enumerate(kinds.items())
        if active.any()
    ]
    if handles:
        paper.legend(handles, ncols=3, handlelength=2.2)
    return paper.figure


def _stretches(active: np.ndarray) -> list[tuple[int, int]]:
    """First and one past last of each run of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], active.astype(int), [0]])))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
