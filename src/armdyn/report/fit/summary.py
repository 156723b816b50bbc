"""The first section: how good the fit is, which model it is and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.drawing.curves import curve, effort_label, framed, joint_title
from armdyn.drawing.sheet import Given, sheet_of
from armdyn.drawing.style import COLOURS, GREY, styled
from armdyn.identification.fit import Fit, filtered_text, method_text, reasons
from armdyn.identification.looking_over import runs
from armdyn.identification.validation import Comparison
from armdyn.report.fit.subject import FitSubject, compared, one_after_the_other
from armdyn.report.page import (
    Amount,
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
_DIFFERENCE: dict[str, Any] = {"color": COLOURS[2], "linestyle": "-", "lw": 0.8}


def plot_prediction(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """Measured torques (grey), predicted ones and what is left, a panel for each joint.

    `samples` leaves out stretches, as in `identify`. Several logs stand one after the other.
    `ax` takes n axes.
    """
    return draw_prediction(fit.robot, compared(fit, logs, samples), ax=ax)


@styled
def draw_prediction(robot: Robot, data: Sequence[Comparison], *, ax: Given = None) -> Figure:
    paper = sheet_of(robot.n, 2, 0.6, 1.75, ax=ax, sharex=True)
    times, edges = one_after_the_other(data)
    for j, panel in enumerate(paper.panels):
        for t, found in zip(times, data, strict=True):
            for a, b in runs(found.use[:, j]):
                if b - a == 1:
                    continue
                part = slice(a, b)
                curve(panel, t[part], found.record.tau[part, j], 0, **_MEASURED)
                curve(panel, t[part], found.predicted[part, j], 0, **_PREDICTED)
                curve(panel, t[part], found.residual[part, j], 0, **_DIFFERENCE)
        framed(panel, effort_label(robot, j), joint_title(robot, j))
        for x in edges:  # where logs meet
            panel.axvline(x, color=GREY, lw=0.6, linestyle=(0, (2, 2)))
    paper.under("time [s]")
    labels = (_MEASURED, "measured"), (_PREDICTED, "predicted"), (_DIFFERENCE, "measured − predicted")
    handles = [Line2D([], [], label=label, **style) for style, label in labels]
    paper.legend(handles, ncols=3)
    return paper.figure


def write_fit(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    parts: list[Part] = [_facts(subject)]
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
        figure = draw_prediction(fit.robot, subject.shown)
        parts.append(Picture(figure, "measured and predicted torques of each joint over time", caption))
    parts += [tag("h3", "The model, and why"), _reasons(subject)]
    if fit.notes:
        parts += [tag("h3", "What was noticed on the way"), items(fit.notes)]
    return parts


def _facts(subject: FitSubject) -> Markup:
    fit = subject.fit
    entries: list[tuple[str, str]] = [
        ("error in training", join([number(100 * fit.training_error, 3), " %"])),
        ("torques in the fit", str(int(fit.factors.rows.sum()))),
        ("base parameters", str(len(fit.base))),
        ("known to 30 % or better", str(int(fit.essential.sum()))),
        ("condition number", number(fit.condition, 3)),
        ("method", method_text(fit)),
    ]
    if fit.validation is not None:
        entries.insert(1, ("error in validation", join([number(100 * fit.validation.error, 3), " %"])))
    if fit.model.problem.cutoff is not None:
        entries.insert(-5, ("of filtered torques", filtered_text(fit)))
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
