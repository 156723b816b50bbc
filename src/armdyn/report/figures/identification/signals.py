"""What the filters did to a log, and how the cut-off was found."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.logs.log import Log
from armdyn.identification.selection.model import NEAR
from armdyn.report.errors import ReportError
from armdyn.report.figures.drawing import COLOURS, GREY, Given, curve, framed, sheet, styled
from armdyn.report.figures.labels import joint_title
from armdyn.report.identification.checks import check_fit
from armdyn.report.identification.signals import Signal, SignalsFinding, signals, spectrum
from armdyn.robot import Robot

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
        for t, x, style in (
            (signal.t, signal.raw, _RAW),
            (signal.filtered_t, signal.filtered, _SMOOTH),
        ):
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
