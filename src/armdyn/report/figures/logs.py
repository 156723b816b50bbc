"""A log at the joints, with what was repaired or left out marked."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from armdyn.identification.logs import transmission
from armdyn.identification.logs.log import Log
from armdyn.identification.logs.record import Record
from armdyn.identification.logs.wording import runs
from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import COLOURS, PALE, TOTAL, Given, curve, framed, sheet, styled
from armdyn.report.figures.labels import effort_label, joint_title
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_RECORDED: dict[str, Any] = {**TOTAL, "lw": 2.4}
_UNUSED: dict[str, Any] = {"color": COLOURS[2], "linestyle": "", "marker": "x", "ms": 4.5, "mew": 1.1}
_FILLED: dict[str, Any] = {
    "color": COLOURS[1],
    "linestyle": "",
    "marker": "o",
    "ms": 4.5,
    "markerfacecolor": "none",
    "mew": 1.1,
}
_MARKS = 25  # in one stretch
_GAP: dict[str, Any] = {"facecolor": PALE, "edgecolor": "none", "alpha": 0.6}


@styled
def plot_log(log: Log, robot: Robot, delay: float | str = 0.0, *, ax: Given = None) -> Figure:
    """Positions and torques of a log at the joints, as recorded and as used.

    Crosses are torques that are not used, circles positions that were interpolated, grey stretches gaps. The
    pale line is what was recorded, where it differs. `ax` takes 2 n axes, two for each joint.
    """
    if not isinstance(log, Log):
        raise ReportError(f"log: expected a Log, found {type(log).__name__}")
    record = log.at_joints(robot, delay=delay)
    recorded = _recorded(log, robot, record)
    paper = sheet(0.75 + 1.25 * record.n, record.n, 2, ax=ax, sharex=True)
    for j, (left, right) in enumerate(paper.rows):
        _draw(left, record, recorded[0][:, j], record.q[:, j])
        _draw(right, record, recorded[1][:, j], record.tau[:, j])
        if record.filled is not None:
            own = ~np.isfinite(recorded[0][:, j]) | _differs(recorded[0][:, j], record.q[:, j])
            left.plot(record.t[record.filled & own], record.q[record.filled & own, j], **_FILLED)
        lost = _few(~record.usable[:, j])
        seen = np.where(np.isfinite(recorded[1][:, j]), recorded[1][:, j], record.tau[:, j])
        right.plot(record.t[lost], seen[lost], **_UNUSED)
        framed(left, f"position [{joint_units(robot, j).position}]", joint_title(robot, j))
        framed(right, effort_label(robot, j))
    paper.under("time [s]")
    paper.legend(_handles(record, recorded), ncols=5)
    return paper.figure


def _recorded(log: Log, robot: Robot, record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Positions and torques at the joints, before any repair; NaN where there are none."""
    q, tau = (getattr(log, name)[record.rows] for name in (log.positions, log.torques))
    return transmission.positions(log, robot).known(q), transmission.torques(log, robot).known(tau)


def _few(mask: np.ndarray) -> np.ndarray:
    """Rows to mark: all ends of stretches, and some between."""
    rows = [np.linspace(a, b - 1, min(b - a, _MARKS)).astype(int) for a, b in runs(mask)]
    return np.concatenate(rows) if rows else np.zeros(0, int)


def _draw(panel: Axes, record: Record, recorded: np.ndarray, used: np.ndarray) -> None:
    """What was recorded, where it differs, behind what is used; gaps."""
    behind = _differs(recorded, used).any()
    for part in record.segments:
        known = np.isfinite(recorded[part])
        if behind and known.any():
            curve(panel, record.t[part][known], recorded[part][known], 0, **_RECORDED)
        curve(panel, record.t[part], used[part], 0, lw=1.0)
    for before, after in pairwise(record.segments):
        panel.axvspan(record.t[before.stop - 1], record.t[after.start], **_GAP)


def _differs(recorded: np.ndarray, used: np.ndarray) -> np.ndarray:
    """(samples,) bool: where there was a number that is not used."""
    known = np.isfinite(recorded)
    return np.asarray(known & (np.abs(np.where(known, recorded, used) - used) > 1e-9 * np.ptp(used)))


def _handles(record: Record, recorded: tuple[np.ndarray, np.ndarray]) -> list[Any]:
    """The legend: only what is in the figure."""
    handles: list[Any] = [Line2D([], [], color=COLOURS[0], lw=1.0, label="used")]
    pairs = zip(np.hstack(recorded).T, np.hstack([record.q, record.tau]).T, strict=True)
    if any(_differs(x, y).any() for x, y in pairs):
        handles.append(Line2D([], [], label="recorded", **_RECORDED))
    if record.filled is not None and record.filled.any():
        handles.append(Line2D([], [], label="position interpolated", **_FILLED))
    if not record.usable.all():
        handles.append(Line2D([], [], label="torque not used", **_UNUSED))
    if len(record.segments) > 1:
        handles.append(Patch(label="gap", **_GAP))
    return handles
