"""What the filters did to a log, how the cut-off was found, and what was repaired or left out in a log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from scipy.signal import welch

from armdyn.drawing.curves import TOTAL, curve, effort_label, few, framed, joint_title
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import Given, sheet
from armdyn.drawing.style import COLOURS, GREY, PALE, styled
from armdyn.identification.fit import Fit
from armdyn.identification.log import Log, Record
from armdyn.identification.looking_over import by_names, positions_map, runs, torques_map
from armdyn.identification.selection import NEAR
from armdyn.identification.signals import Segment, effective_cutoff, on_grid, segments_of, states
from armdyn.report.fit.subject import FitSubject, check_fit
from armdyn.report.page import Part, Picture, number, paragraph
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_PERIODS = 12  # of the cut-off that are shown
_LEAST = 2.0  # s
_PER_E = 40  # points of a spectrum for frequencies that differ by a factor of e


@dataclass(frozen=True)
class Signal:
    """A signal of one joint before and after the filters, over all of a segment."""

    name: str
    unit: str
    t: np.ndarray
    raw: np.ndarray
    filtered_t: np.ndarray
    filtered: np.ndarray


@dataclass(frozen=True)
class SignalsFinding:
    """Position, velocity, acceleration and torque of a joint, and the stretch of time worth a look."""

    joint: int
    signals: tuple[Signal, ...]
    window: tuple[float, float]  # s
    cutoff: float | None  # Hz
    log: str


def signals(fit: Fit, log: Log, joint: int | None = None) -> SignalsFinding:
    """Of the longest stretch of a log; of the joint that accelerates most, where none is named."""
    record = log.at_joints(fit.described)
    found = segments_of(record)
    if not found:
        raise ReportError(f"log '{log.name}': no stretch has four samples or more")
    segment = max(found, key=lambda x: x.part.stop - x.part.start)
    cutoff = effective_cutoff(record, fit.model.problem.cutoff)
    raw, smooth = (on_grid(record, segment, c) for c in (None, cutoff))
    if joint is None:
        joint = int(smooth.qdd.std(0).argmax())
    elif not 0 <= joint < record.n:
        raise ReportError(f"joint: found {joint}; allowed: 0 to {record.n - 1}")
    j, t, units = joint, segment.grid, joint_units(fit.described, joint)
    names = ("position", "velocity", "acceleration")
    pairs = (raw.q, smooth.q), (raw.qd, smooth.qd), (raw.qdd, smooth.qdd)
    shown = [
        Signal(name, unit, t, a[:, j], t, b[:, j])
        for name, unit, (a, b) in zip(names, units, pairs, strict=False)
    ]
    at, tau = _torque(fit, record, segment)
    raw_tau = segment.gridded(record.tau_of_motion)
    shown.append(Signal(units.effort, units.torque, t, raw_tau[:, j], at, tau[:, j]))
    return SignalsFinding(j, tuple(shown), _window(t, smooth.qdd[:, j], cutoff), cutoff, log.name)


def _torque(fit: Fit, record: Record, segment: Segment) -> tuple[np.ndarray, np.ndarray]:
    """Times and torques as they enter the fit."""
    inside = np.zeros(len(record.t), bool)
    inside[segment.part] = True
    parts = list(states(replace(record, own=inside), fit.model.problem.cutoff))
    if not parts:
        return segment.grid, segment.gridded(record.tau_of_motion)
    thin = max(1, round(segment.rate / parts[0].rate))
    return segment.grid[thin // 2 :: thin], parts[0].tau


def _window(t: np.ndarray, acceleration: np.ndarray, cutoff: float | None) -> tuple[float, float]:
    """Around the greatest acceleration that is not at an end."""
    length = min(max(_LEAST, _PERIODS / cutoff if cutoff else 0.0), float(t[-1] - t[0]))
    inside = (t >= t[0] + length / 2) & (t <= t[-1] - length / 2)
    middle = (
        float(t[np.where(inside, np.abs(acceleration), -1.0).argmax()]) if inside.any() else float(t.mean())
    )
    start = min(max(middle - length / 2, float(t[0])), float(t[-1]) - length)
    return start, start + length


def spectrum(t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frequencies [Hz] and amplitudes per √Hz by Welch's method, averaged where they are dense on paper."""
    rate = (len(t) - 1) / (t[-1] - t[0])
    f, power = welch(x, rate, nperseg=min(len(x), max(256, int(4 * rate))))
    f, power = f[1:], power[1:]
    step = np.floor(np.log(f / f[0]) * _PER_E)
    starts = np.flatnonzero(np.diff(step, prepend=-1.0))
    counts = np.diff(starts, append=len(f))
    return np.add.reduceat(f, starts) / counts, np.sqrt(np.add.reduceat(power, starts) / counts)


_RAW: dict[str, Any] = {"color": "#b5b5b5", "linestyle": "-", "lw": 1.4, "zorder": 1.5}
_SMOOTH: dict[str, Any] = {"color": COLOURS[1], "linestyle": "-", "lw": 1.1}
_TICKS = (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)  # Hz
_CUTOFF: dict[str, Any] = {"color": COLOURS[2], "lw": 0.9, "linestyle": (0, (4, 2))}


def plot_signals(fit: Fit, log: Log, joint: int | None = None, *, ax: Given = None) -> Figure:
    """Position, velocity, acceleration and torque of a joint before and after the filters of a fit.

    On the left over time, around the greatest acceleration; on the right their spectra with the cut-off.
    `joint` is counted from 0; without it, the joint that accelerates most. `ax` takes 8 axes.
    """
    if not isinstance(log, Log):
        raise ReportError(f"log: expected a Log, found {type(log).__name__}")
    return draw_signals(fit.robot, signals(check_fit(fit), log, joint), ax=ax)


@styled
def draw_signals(robot: Robot, found: SignalsFinding, *, ax: Given = None) -> Figure:
    paper = sheet(7.0, 4, 2, ax=ax, sharex="col")
    for (left, right), signal in zip(paper.rows, found.signals, strict=True):
        for t, x, style in ((signal.t, signal.raw, _RAW), (signal.filtered_t, signal.filtered, _SMOOTH)):
            inside = (t >= found.window[0]) & (t <= found.window[1])
            curve(left, t[inside], x[inside], 0, **style)
        framed(left, f"{signal.name} [{signal.unit}]")
        left.set_ylim(*_limits(signal, found.window))
        _draw_spectra(right, signal, found.cutoff)
    paper.panels[0].set_title(f"{joint_title(robot, found.joint)}, over time", parse_math=False)
    paper.panels[1].set_title("spectra")
    paper.panels[-2].set_xlabel("time [s]")
    paper.panels[-1].set_xlabel("frequency [Hz]")
    handles = [Line2D([], [], label="recorded", **_RAW), Line2D([], [], label="in the fit", **_SMOOTH)]
    if found.cutoff is not None:
        handles.append(Line2D([], [], label=f"cut-off, {found.cutoff:.3g} Hz", **_CUTOFF))
    paper.legend(handles, ncols=3)
    return paper.figure


def _limits(signal: Signal, window: tuple[float, float]) -> tuple[float, float]:
    """Around the filtered signal: derivatives of what was recorded may be noise of any size."""
    shown = []
    for t, x, most in ((signal.filtered_t, signal.filtered, 1.0), (signal.t, signal.raw, 0.95)):
        inside = x[(t >= window[0]) & (t <= window[1])]
        shown.append(np.quantile(inside, [(1 - most) / 2, (1 + most) / 2]))
    (low, high), (lower, higher) = shown
    size = max(high - low, 1e-12)
    low, high = max(min(low, lower), low - 2 * size), min(max(high, higher), high + 2 * size)
    return low - 0.08 * (high - low), high + 0.08 * (high - low)


def _draw_spectra(panel: Any, signal: Signal, cutoff: float | None) -> None:
    f, raw = spectrum(signal.t, signal.raw)
    g, smooth = spectrum(signal.filtered_t, signal.filtered)
    panel.loglog(f, raw, **_RAW)
    panel.loglog(g, smooth, **_SMOOTH)
    if cutoff is not None:
        panel.axvline(cutoff, **_CUTOFF)
    floor = max(float(raw.min()), float(raw.max()) * 1e-9, 1e-300)
    panel.set_ylim(floor / 5, max(float(raw.max()), floor) * 3)
    panel.set_ylabel(f"[{signal.unit}/√Hz]")


@styled
def plot_cutoffs(fit: Fit, *, ax: Given = None) -> Figure:
    """The error on data left out for every cut-off that was tried, and the one that was taken."""
    tried = check_fit(fit).model.cutoffs
    if not tried:
        raise ReportError("this fit tried no cut-offs: it was asked for one, or its logs have accelerations")
    f, error = np.array(tried).T
    relative = np.sqrt(error / error.min())
    paper = sheet(2.3, ax=ax)
    (panel,) = paper.panels
    panel.semilogx(f, relative, color=COLOURS[1], marker="o", ms=3.5, lw=1.2)
    panel.axhline(np.sqrt(1 + NEAR), color=GREY, lw=0.8, linestyle=(0, (2, 2)))
    cutoff = fit.model.problem.cutoff
    if cutoff is not None:
        panel.axvline(cutoff, **_CUTOFF)
        panel.annotate(
            f"{cutoff:.3g} Hz", (cutoff, 1.0), xytext=(4, 1), textcoords="offset points",
            xycoords=("data", "axes fraction"), color=COLOURS[2], fontsize=8.5, va="top",
        )  # fmt: skip
    panel.set_ylim(0.99, min(float(relative.max()), 1.6) + 0.02)
    ticks = [x for x in _TICKS if f.min() / 1.1 <= x <= f.max() * 1.1]
    panel.set_xticks(ticks, [f"{x:g}" for x in ticks])
    panel.minorticks_off()
    panel.set_xlabel("cut-off [Hz]")
    panel.set_ylabel("error (RMS), of the least")
    return paper.figure


def write_signals(subject: FitSubject) -> list[Part]:
    fit, parts = subject.fit, list[Part]()
    cutoff = fit.model.problem.cutoff
    if cutoff is None:
        parts.append(paragraph("The logs have velocities and accelerations: nothing was filtered."))
    else:
        text = " Positions are filtered without delay and differentiated; the columns of the regressor pass "
        text += "the same filter, so that torques and model are compared as it shows them."
        parts.append(paragraph("Cut-off ", number(cutoff, 3), " Hz.", text))
    if fit.model.cutoffs:
        caption = ["The error on data left out, for every cut-off tried. The lowest cut-off whose mean "]
        caption.append("square error is within 3 % of the least (dotted) is taken.")
        parts.append(Picture(plot_cutoffs(fit), "errors over cut-offs", caption))
    if subject.log is not None:
        found = signals(fit, subject.log)
        caption = [f"Joint {found.joint + 1} in {found.log}: before and after the filters, "]
        caption.append("over time around its greatest acceleration, and as spectra.")
        what = "signals before and after filtering"
        parts.append(Picture(draw_signals(fit.robot, found), what, caption))
    return parts


# ---- a log at the joints, with what was repaired or left out marked ----------------------------------------


_RECORDED: dict[str, Any] = {**TOTAL, "lw": 2.4}
_UNUSED: dict[str, Any] = {"color": COLOURS[2], "linestyle": "", "marker": "x", "ms": 4.5, "mew": 1.1}
_FILLED: dict[str, Any] = {**_UNUSED, "color": COLOURS[1], "marker": "o", "markerfacecolor": "none"}
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
        _draw_log(left, record, recorded[0][:, j], record.q[:, j])
        _draw_log(right, record, recorded[1][:, j], record.tau[:, j])
        if record.filled is not None:
            own = ~np.isfinite(recorded[0][:, j]) | _differs(recorded[0][:, j], record.q[:, j])
            left.plot(record.t[record.filled & own], record.q[record.filled & own, j], **_FILLED)
        lost = _some_of(~record.usable[:, j])
        seen = np.where(np.isfinite(recorded[1][:, j]), recorded[1][:, j], record.tau[:, j])
        right.plot(record.t[lost], seen[lost], **_UNUSED)
        framed(left, f"position [{joint_units(robot, j).position}]", joint_title(robot, j))
        framed(right, effort_label(robot, j))
    paper.under("time [s]")
    paper.legend(_log_handles(record, recorded), ncols=5)
    return paper.figure


def _recorded(log: Log, robot: Robot, record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Positions and torques at the joints, before any repair; NaN where there are none."""
    log = by_names(log, robot)
    q, tau = (getattr(log, name)[record.rows] for name in (log.positions, log.torques))
    return positions_map(log, robot).known(q), torques_map(log, robot).known(tau)


def _some_of(mask: np.ndarray) -> np.ndarray:
    """Rows to mark: all ends of segments, and some between."""
    rows = [a + few(b - a, _MARKS) for a, b in runs(mask)]
    return np.concatenate(rows) if rows else np.zeros(0, int)


def _draw_log(panel: Axes, record: Record, recorded: np.ndarray, used: np.ndarray) -> None:
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


def _log_handles(record: Record, recorded: tuple[np.ndarray, np.ndarray]) -> list[Any]:
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
