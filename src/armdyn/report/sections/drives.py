"""Drives that were chosen: the cycles in the plane of torque and speed of each motor."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from armdyn.drawing.curves import colour, few, titled, zero_line
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import Given, sheet_of
from armdyn.drawing.style import GREY, styled
from armdyn.studies.drive_limits import continuous_torque, envelope
from armdyn.studies.size_drives import DriveAssignment, Sizing

_COLUMNS = 3
_POINTS = 1500
_PATH, _WARM, _LASTING = colour(1), colour(0), colour(2)
_SHORT = "#e8e8e8"  # what a motor gives for a short time


@styled
def plot_sizing(sizing: Sizing, assignment: DriveAssignment | None = None, *, ax: Given = None) -> Figure:
    """Torque over speed of each motor chosen: the cycles, what it gives for a short time and for ever.

    The cross is the torque that warms the motor as much as the cycles do, at the rms of the speed. `ax` takes
    one of the axes for each motor.
    """
    if not isinstance(sizing, Sizing):
        raise ReportError(f"sizing: expected what size_drives gives, found {type(sizing).__name__}")
    chosen = sizing.best if assignment is None else assignment
    paper = sheet_of(len(sizing.joints), _COLUMNS, 0.5, 2.35, ax=ax)
    for i, panel in enumerate(paper.panels):
        _draw(panel, sizing, chosen, i)
    handles = [
        Line2D([], [], color=_PATH, lw=1.2, label="over the cycles"),
        Line2D([], [], color=_WARM, marker="x", linestyle="", markersize=6, label="thermal torque"),
        Line2D([], [], color=_LASTING, lw=1.2, linestyle=(0, (5, 2)), label="for ever"),
        Patch(facecolor=_SHORT, edgecolor=GREY, label="for a short time"),
    ]
    paper.legend(handles, ncols=len(handles), handlelength=2.0)
    return paper.figure


def _draw(panel: Axes, sizing: Sizing, chosen: DriveAssignment, i: int) -> None:
    row = chosen.rows[i]
    motor = row.pair.motor
    at, low, high = envelope(row.pair, sizing.problem.demands.voltage)
    panel.fill_between(at, low, high, facecolor=_SHORT, edgecolor=GREY, lw=0.8, zorder=1)
    standstill, rated, speed = map(
        np.asarray, (motor.continuous_torque, motor.rated_torque, motor.rated_speed)
    )
    lasting = continuous_torque(standstill, rated, speed, np.abs(at))
    for side in (np.where(lasting <= high, lasting, np.nan), np.where(-lasting >= low, -lasting, np.nan)):
        panel.plot(at, side, color=_LASTING, lw=1.2, linestyle=(0, (5, 2)), zorder=2)
    speed, torque = sizing.points(sizing.joints[i], chosen)
    extremes = [int(f(x)) for x in (speed, torque) for f in (np.argmin, np.argmax)]
    kept = few(len(speed), _POINTS, [*extremes, len(speed) - 1], 2 * _POINTS)
    panel.plot(speed[kept], torque[kept], color=_PATH, lw=1.2, zorder=3, solid_joinstyle="round")
    weight = sizing.problem.loads.at.operating
    panel.plot(
        float(np.sqrt(speed**2 @ weight)),
        row.values["thermal_torque"],
        color=_WARM,
        marker="x",
        markersize=6,
        zorder=5,
    )
    zero_line(panel.axhline)
    zero_line(panel.axvline)
    panel.set_xlabel("speed [rad/s]")
    panel.set_ylabel("torque [N m]")
    panel.set_title(f"{titled('joint', i, row.joint)}\n{row.pair.name}", parse_math=False)
