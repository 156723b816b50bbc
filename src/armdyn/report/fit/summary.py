"""The first section: how good the fit is, which model it is and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from armdyn.drawing.curves import curve, effort_label, framed, joint_title
from armdyn.drawing.sheet import Given, sheet_of
from armdyn.drawing.style import COLOURS, GREY, styled
from armdyn.identification.fit import Fit, filtered_text, method_text, reasons, verdict
from armdyn.identification.looking_over import runs
from armdyn.identification.validation import Comparison
from armdyn.report.fit.subject import FitSubject, compared, one_after_the_other
from armdyn.report.page import (
    Amount,
    KeyFigure,
    Markup,
    Part,
    Picture,
    TableCell,
    facts,
    items,
    join,
    number,
    paragraph,
    table,
    tag,
)
from armdyn.robot import Robot
from armdyn.robot.joints import torque_unit

_MEASURED: dict[str, Any] = {"color": "#a9a9a9", "linestyle": "-", "lw": 2.2, "zorder": 1.5}
_PREDICTED: dict[str, Any] = {"color": COLOURS[1], "linestyle": "-", "lw": 1.0}
_BAND: dict[str, Any] = {"facecolor": COLOURS[1], "edgecolor": "none", "alpha": 0.18, "zorder": 1.2}
_ON_PAPER = 1_000  # instants of a band
LEVEL = 0.95  # of the intervals in reports
_DIFFERENCE: dict[str, Any] = {"color": COLOURS[2], "linestyle": "-", "lw": 0.8}


def plot_prediction(
    fit: Fit, logs: Any, samples: Any = None, *, interval: float | None = None, ax: Given = None
) -> Figure:
    """Measured torques (grey), predicted ones and what is left, a panel for each joint.

    `samples` leaves out stretches, as in `identify`. Several logs stand one after the other. `interval=0.95`
    draws the intervals that should have 95 % of the measured torques. `ax` takes n axes.
    """
    data = compared(fit, logs, samples)
    return draw_prediction(fit.robot, data, bands_of(fit, data, interval), ax=ax)


def bands_of(fit: Fit, data: Sequence[Comparison], level: float | None) -> list[np.ndarray] | None:
    """Half widths (M, n) of the intervals of each comparison."""
    return None if level is None else [fit.half_widths(found.motion, level) for found in data]


@styled
def draw_prediction(
    robot: Robot, data: Sequence[Comparison], bands: list[np.ndarray] | None = None, *, ax: Given = None
) -> Figure:
    paper = sheet_of(robot.n, 2, 0.6, 1.75, ax=ax, sharex=True)
    times, edges = one_after_the_other(data)
    for j, panel in enumerate(paper.panels):
        for k, (t, found) in enumerate(zip(times, data, strict=True)):
            for a, b in runs(found.use[:, j]):
                if b - a == 1:
                    continue
                part = slice(a, b)
                if bands is not None:
                    _draw_band(panel, t[part], found.predicted[part, j], bands[k][part, j])
                curve(panel, t[part], found.record.tau[part, j], 0, **_MEASURED)
                curve(panel, t[part], found.predicted[part, j], 0, **_PREDICTED)
                curve(panel, t[part], found.residual[part, j], 0, **_DIFFERENCE)
        framed(panel, effort_label(robot, j), joint_title(robot, j))
        for x in edges:  # where logs meet
            panel.axvline(x, color=GREY, lw=0.6, linestyle=(0, (2, 2)))
    paper.under("time [s]")
    labels = (_MEASURED, "measured"), (_PREDICTED, "predicted"), (_DIFFERENCE, "measured − predicted")
    handles: list[Any] = [Line2D([], [], label=label, **style) for style, label in labels]
    if bands is not None:
        handles.insert(2, Patch(label="interval", **_BAND))
    paper.legend(handles, ncols=4)
    return paper.figure


def _draw_band(panel: Axes, t: np.ndarray, predicted: np.ndarray, half: np.ndarray) -> None:
    """The interval about a prediction, the widest at some instants of a long log; no band where infinite."""
    step = max(1, len(t) // _ON_PAPER)
    rows = np.arange(0, len(t), step)
    low = np.minimum.reduceat(predicted - half, rows)
    high = np.maximum.reduceat(predicted + half, rows)
    known = np.isfinite(high - low)
    panel.fill_between(t[rows], np.where(known, low, 0), np.where(known, high, 0), where=known, **_BAND)


def fit_answers(subject: FitSubject) -> list[KeyFigure]:
    """Four figures on top: the error, the joint with the largest, what is known, warnings."""
    fit, checked = subject.fit, subject.fit.validation
    error, remark = fit.training_error, "of the torques in training; not checked on other data"
    joints = fit.residuals
    if checked is not None:
        remark = f"of the torques in validation; {_percent(error)} in training"
        error, joints = checked.error, checked.joints
    worst = max(range(fit.robot.n), key=lambda j: np.nan_to_num(joints[j].relative, nan=-1.0))
    beware = () if checked is None else checked.warnings
    said = [f"{len(beware)} to beware of"] if beware else []
    said += [f"{len(fit.notes)} noticed on the way"] if fit.notes else []
    count = len(beware) + len(fit.notes)
    known = f"{int(fit.essential.sum())} of {len(fit.base)}"
    return [
        KeyFigure("error", _percent(error), remark, "fit"),
        KeyFigure(
            "largest at a joint", _percent(joints[worst].relative), joint_title(fit.robot, worst), "residuals"
        ),
        KeyFigure("known to 30 % or better", known, "base parameters", "unknown"),
        KeyFigure("warnings", str(count) if count else "none", ", ".join(said), "fit", bool(beware)),
    ]


def _percent(x: float) -> Markup:
    return join([number(100 * x, 3), " %"])


def write_fit(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    parts: list[Part] = [paragraph(tag("strong", verdict(fit)[0]), " ", " ".join(verdict(fit)[1:]))]
    parts.append(_facts(subject))
    beware = () if fit.validation is None else fit.validation.warnings
    if beware:
        parts.append(tag("div", paragraph(tag("strong", "Beware")), items(beware), class_="warning"))
    parts += [tag("h3", "Joints"), _joints(subject)]
    if subject.shown:
        what = "validation" if subject.validation else "training"
        caption = [f"Measured and predicted torques of the {what} data. "]
        if subject.cut:
            caption.append("Of long logs, the beginning. ")
        if len(subject.shown) > 1:
            caption.append("Logs stand one after the other.")
        bands = bands_of(fit, subject.validation, LEVEL) if subject.validation else None
        if bands is not None:
            caption.append(f"The bands should have {100 * LEVEL:g} % of the measured torques inside. ")
        figure = draw_prediction(fit.robot, subject.shown, bands)
        parts.append(Picture(figure, "measured and predicted torques of each joint over time", caption))
    parts += [tag("h3", "The model, and why"), _reasons(subject)]
    if fit.notes:
        parts += [tag("h3", "What was noticed on the way"), items(fit.notes)]
    return parts


def _facts(subject: FitSubject) -> Markup:
    fit = subject.fit
    entries: list[tuple[str, str]] = [
        ("torques in the fit", str(int(fit.factors.rows.sum()))),
        ("base parameters", str(len(fit.base))),
        ("condition number", number(fit.condition, 3)),
        ("method", method_text(fit)),
    ]
    if fit.model.problem.cutoff is not None:
        entries.insert(0, ("error of filtered torques", filtered_text(fit)))
    return facts(entries)


def _joints(subject: FitSubject) -> Markup:
    fit = subject.fit
    headings = ["joint", "residual, training"]
    checked = fit.validation
    if checked is not None:
        headings += ["validation", "of the torque", "worst", "at", "residual is"]
    rows = []
    for j, link in enumerate(fit.robot.model.coordinates):
        unit = torque_unit(fit.robot, j)
        row: list[TableCell] = [f"{j + 1}, {link.joint_label}", Amount(fit.residuals[j].rms, 3, unit)]
        if checked is not None:
            x = checked.joints[j]
            row += [
                Amount(x.rms, 3, unit),
                Amount(round(100 * x.relative, 1), 6, "%"),
                Amount(x.worst.residual, 3, unit),
                Amount(x.worst.time, 4, "s"),
                x.whiteness.verdict,
            ]
        rows.append(row)
    return table(headings, rows)


def _reasons(subject: FitSubject) -> Markup:
    rows = []
    for title, texts in reasons(subject.fit):
        if title == "friction" and subject.fit.model.worth:
            texts = ["viscous and Coulomb at every joint, further terms joint by joint: see Friction"]
        rows.append(tag("li", tag("strong", f"{title.capitalize()}: "), "; ".join(texts), "."))
    return tag("ul", *rows)
