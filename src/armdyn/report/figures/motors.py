"""What a motion asks of each motor, in the plane of speed and torque."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from armdyn.motion.motors.loads import MotorLoads
from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import GREY, Given, colour, sheet, styled
from armdyn.report.figures.labels import titled

_COLUMNS = 3
_FAR = 4.0  # a limit further out than so many times the peak is not drawn but said
_POINTS = 1500  # of a path on paper
_PATH, _PEAK, _RMS = colour(1), colour(2), colour(0)


@styled
def plot_motor_loads(loads: MotorLoads, *, ax: Given = None) -> Figure:
    """Torque over speed at each motor's shaft, with its limits, the largest torque and the rms of both.

    `ax` takes one of the axes for each motor.
    """
    if not isinstance(loads, MotorLoads):
        raise ReportError(f"loads: expected what motor_loads gives, found {type(loads).__name__}")
    if loads.torque.ndim != 2:
        raise ReportError(f"loads: found {loads.torque.shape[1:-1]} arms; those of one are drawn: .arm(0)")
    count = loads.torque.shape[1]
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    paper = sheet(0.5 + 2.35 * rows, rows, columns, ax=ax, used=count)
    for i, panel in enumerate(paper.panels):
        _draw(panel, loads, i)
    handles = [
        Line2D([], [], color=_PATH, lw=1.2, label="over the motion"),
        Line2D([], [], color=_PEAK, marker="o", linestyle="", markersize=5, label="largest torque"),
        Line2D([], [], color=_RMS, marker="x", linestyle="", markersize=6, label="rms of speed and torque"),
    ]
    if np.isfinite([loads.limits.torque, loads.limits.velocity]).any():
        handles.append(Line2D([], [], color=GREY, lw=1.2, linestyle=(0, (6, 2)), label="limit"))
    paper.legend(handles, ncols=len(handles), handlelength=2.0)
    return paper.figure


def _draw(panel: Axes, loads: MotorLoads, i: int) -> None:
    speed, torque, units = loads.speed[:, i], loads.torque[:, i], loads.units[i]
    kept = _enough(speed, torque)
    panel.plot(speed[kept], torque[kept], color=_PATH, lw=1.2, zorder=3, solid_joinstyle="round")
    peak = int(np.abs(torque).argmax())
    panel.plot(speed[peak], torque[peak], color=_PEAK, marker="o", markersize=5, zorder=5)
    rms = loads.rms_speed[i] * _side(speed), loads.rms_torque[i] * _side(torque)
    panel.plot(*rms, color=_RMS, marker="x", markersize=6, zorder=5)
    _draw_limits(panel, float(loads.limits.velocity[i]), float(loads.limits.torque[i]))
    for line in (panel.axhline, panel.axvline):
        line(0, color="#9a9a9a", lw=0.7, zorder=1.2)
    far = _frame(speed, float(loads.limits.velocity[i]), panel.set_xlim)
    panel.set_xlabel(f"speed [{units.velocity}]{far}")
    far = _frame(torque, float(loads.limits.torque[i]), panel.set_ylim)
    panel.set_ylabel(f"{units.effort} [{units.torque}]{far}")
    kind = "motor" if loads.geared[i] else "no motor: joint"
    panel.set_title(titled(kind, i, loads.names[i]), parse_math=False)


def _side(x: np.ndarray) -> float:
    """The sign of the largest value: the quadrant of the peaks is the one where the rms is marked."""
    return float(np.sign(x[np.abs(x).argmax()]))


def _frame(x: np.ndarray, limit: float, frame: Callable[[float, float], Any]) -> str:
    """Frame the path and a limit that is not too far away; otherwise it is said next to the axis."""
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    peak = max(-low, high) or 1.0
    near = limit <= _FAR * peak
    if near:
        low, high = min(low, -limit), max(high, limit)
    air = 0.08 * ((high - low) or 2 * peak)
    frame(low - air, high + air)
    return "" if near or np.isinf(limit) else f", limit {limit:.4g}"


def _draw_limits(panel: Axes, speed: float, torque: float) -> None:
    """The rectangle of speed and torque; where one of them is not limited, two lines."""
    look: dict[str, Any] = {"color": GREY, "lw": 1.2, "linestyle": (0, (6, 2)), "zorder": 2}
    if np.isfinite([speed, torque]).all():
        panel.add_patch(Rectangle((-speed, -torque), 2 * speed, 2 * torque, fill=False, **look))
        return
    for limit, line in ((speed, panel.axvline), (torque, panel.axhline)):
        for side in (-limit, limit) if np.isfinite(limit) else ():
            line(side, **look)


def _enough(speed: np.ndarray, torque: np.ndarray) -> np.ndarray:
    """Indices of a long path that are enough on paper: evenly spaced, the extremes and the end."""
    count = len(speed)
    extremes = [f(x) for x in (speed, torque) for f in (np.argmin, np.argmax)]
    return np.unique([*range(0, count, max(1, count // _POINTS)), *extremes, count - 1])
