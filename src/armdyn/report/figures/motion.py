"""Motions over time, in the spirit of figures 7.5 to 7.11: joints, torques, their parts, the tip."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.analysis.contributions import RotorPart
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.report.figures.drawing import (
    TOTAL,
    Given,
    colour,
    curve,
    dash,
    end_labels,
    framed,
    sheet,
    styled,
)
from armdyn.report.figures.labels import effort_label, joint_kinds, joint_label, joint_title
from armdyn.report.findings.motion import (
    JointCurves,
    TipCurves,
    TorqueCurves,
    joint_curves,
    tip_curves,
    torque_curves,
)
from armdyn.report.findings.subject import Subject
from armdyn.robot import Robot

_DETAILED = 3  # joints up to which every cause gets its own curve


def plot_trajectory(robot: Robot, trajectory: Trajectory, wrench: Any = None, *, ax: Given = None) -> Figure:
    """Positions, velocities, accelerations and torques of the joints over time, as in figure 7.5.

    `wrench` (6,) is the force and moment the tip exerts on its surroundings. A robot with both kinds of
    joints gets a column of panels for each, in its own units. `ax` takes 4 axes, or 8 of such a robot.
    """
    return draw_trajectory(joint_curves(Subject.of(robot, trajectory, wrench)), ax=ax)


@styled
def draw_trajectory(found: JointCurves, *, ax: Given = None) -> Figure:
    robot, samples = found.robot, found.samples
    kinds = joint_kinds(robot)
    curves = samples.q, samples.qd, samples.qdd, found.torque
    mixed = len(kinds) == 2
    paper = sheet(7.6 if mixed else 4.7, 4 if mixed else 2, 2, ax=ax, sharex=True)
    for kind, column in zip(kinds, zip(*paper.rows, strict=True) if mixed else [paper.panels], strict=True):
        titles = "position", "velocity", "acceleration", kind.units.effort
        for panel, title, unit, values in zip(column, titles, kind.units, curves, strict=True):
            lines = [curve(panel, samples.t, values[:, j], j, joint_label(robot, j)) for j in kind.joints]
            heading = f"{kind.name} joints" if mixed and title == "position" else ""
            finish(panel, lines, f"{title} [{unit}]", heading)
    paper.under("time [s]")
    return paper.figure


def plot_tip(robot: Robot, trajectory: Trajectory, *, ax: Given = None) -> Figure:
    """Position, velocity and acceleration of the tip over time, world axes, as in figure 7.9 (3 axes)."""
    return draw_tip(tip_curves(Subject.of(robot, trajectory)), ax=ax)


@styled
def draw_tip(found: TipCurves, *, ax: Given = None) -> Figure:
    paper = sheet(2.5, 1, 3, ax=ax, sharex=True)
    names, units = ("position", "velocity", "acceleration"), ("m", "m/s", "m/s²")
    curves = found.position, found.velocity, found.acceleration
    for panel, name, unit, values in zip(paper.panels, names, units, curves, strict=True):
        lines = [curve(panel, found.t, values[:, k], k, "xyz"[k]) for k in found.axes]
        finish(panel, lines, f"{name} [{unit}]")
    paper.under("time [s]")
    return paper.figure


def plot_contributions(
    robot: Robot,
    trajectory: Trajectory,
    wrench: Any = None,
    *,
    rotors: RotorPart = "separate",
    ax: Given = None,
) -> Figure:
    """The torques of a motion by what causes them, a panel for each joint, as in figures 7.6, 7.8 and 7.11.

    Up to three joints every cause has its own curve (inertia and centrifugal torques of each joint, Coriolis
    torques of each pair) and looks the same in all panels; above that the curves of a kind are added. The
    pale line is the whole torque.
    Rotor coupling is what exact rotors add to the diagonal model; with rotors="within" it is part of inertia,
    centrifugal and Coriolis torques, as in the book's figures. `ax` takes n axes.
    """
    return draw_contributions(torque_curves(Subject.of(robot, trajectory, wrench), rotors), ax=ax)


@styled
def draw_contributions(found: TorqueCurves, *, ax: Given = None) -> Figure:
    robot, total = found.robot, found.total
    if robot.n > _DETAILED:
        return _grid_of_joints(found, ax)
    paper = sheet(0.45 + 2.25 * robot.n, robot.n, 1, ax=ax, sharex=True)
    shown = [{n: y for n, y in found.parts.at(i) if np.abs(y).max() > found.least} for i in range(robot.n)]
    look = {name: k for k, name in enumerate(dict.fromkeys(name for curves in shown for name in curves))}
    for i, panel in enumerate(paper.panels):
        lines = [curve(panel, found.t, total[:, i], 0, "total", **TOTAL)]
        lines += [curve(panel, found.t, y, look[name], name) for name, y in shown[i].items()]
        finish(panel, lines, effort_label(robot, i), joint_title(robot, i))
    paper.under("time [s]")
    return paper.figure


def _grid_of_joints(found: TorqueCurves, ax: Given) -> Figure:
    """Two columns of panels, one for each joint, with one legend."""
    robot, t = found.robot, found.t
    rows = (robot.n + 1) // 2
    paper = sheet(0.7 + 1.75 * rows, rows, 2, ax=ax, used=robot.n, sharex=True)
    for i, panel in enumerate(paper.panels):
        curve(panel, t, found.total[:, i], 0, "total", **TOTAL)
        for k, (name, part) in enumerate(found.causes.items()):
            if part[:, i].any():
                curve(panel, t, part[:, i], k, name, lw=1.3)
        finish(panel, [], effort_label(robot, i), joint_title(robot, i))
    handles = [Line2D([], [], label="total", **{**TOTAL, "zorder": 1})]
    handles += [
        Line2D([], [], color=colour(k), linestyle=dash(k), label=name) for k, name in enumerate(found.causes)
    ]
    paper.under("time [s]")
    paper.legend(handles, ncols=min(len(handles), 5))
    return paper.figure


def finish(panel: Axes, lines: list[Line2D], label: str, title: str = "") -> None:
    """A panel whose lines are labelled at their ends."""
    framed(panel, label, title)
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in lines]
    low, high = panel.get_ylim()
    if len(lines) <= _DETAILED or np.ptp(ends) > 0.02 * (high - low):  # many that meet say nothing there
        end_labels(panel, lines)
