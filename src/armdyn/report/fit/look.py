"""Sections of the page that `armdyn look` writes: what logs are worth before a fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.drawing.curves import colour, curve, dash, effort_label, framed, joint_title
from armdyn.drawing.errors import ReportError
from armdyn.drawing.sheet import Given, sheet, sheet_of
from armdyn.drawing.style import COLOURS, GREY, styled
from armdyn.identification.look import SLOW, Look, findings, motion_rows, torque_rms
from armdyn.report.fit.signals import spectrum
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    Picture,
    TableCell,
    code,
    items,
    paragraph,
    table,
    tag,
    warning,
)
from armdyn.robot.joints import joint_units

_BINS = 40
_CUTOFF: dict[str, Any] = {"color": COLOURS[2], "lw": 0.9, "linestyle": (0, (4, 2))}


def _checked(look: Any) -> Look:
    if not isinstance(look, Look):
        raise ReportError(f"look: expected a Look, which look gives, found {type(look).__name__}")
    return look


def _times(look: Look) -> list[np.ndarray]:
    """Times of the records, one after the other from zero [s]."""
    found, end = [], 0.0
    for record in look.records:
        found.append(record.t - record.t[0] + end)
        end = float(found[-1][-1])
    return found


@styled
def plot_look(look: Look, *, ax: Given = None) -> Figure:
    """Position, velocity and torque of each joint over time; several logs stand one after the other.

    `ax` takes 3 n axes.
    """
    robot, times = _checked(look).robot, _times(look)
    paper = sheet(0.5 + 1.2 * robot.n, robot.n, 3, ax=ax, sharex=True)
    for j, panels in enumerate(paper.rows):
        units = joint_units(robot, j)
        labels = (f"position [{units.position}]", f"velocity [{units.velocity}]", effort_label(robot, j))
        for t, record, motion in zip(times, look.records, look.motions, strict=True):
            for part in record.segments:
                for panel, x in zip(panels, (record.q, motion.qd, record.tau), strict=True):
                    curve(panel, t[part], x[part, j], 0, lw=0.9)
        for k, (panel, label) in enumerate(zip(panels, labels, strict=True)):
            framed(panel, label, joint_title(robot, j) if k == 0 else "")
    paper.under("time [s]")
    return paper.figure


@styled
def plot_speeds(look: Look, *, ax: Given = None) -> Figure:
    """How long each joint had which velocity; shaded, where it is slow. `ax` takes n axes."""
    robot = _checked(look).robot
    paper = sheet_of(robot.n, 3, 0.3, 1.5, ax=ax)
    for j, panel in enumerate(paper.panels):
        v = np.concatenate([motion.qd[:, j] for motion in look.motions])
        fastest = float(np.abs(v).max()) or 1.0
        panel.hist(
            v,
            np.linspace(-fastest, fastest, _BINS + 1).tolist(),
            weights=np.full(len(v), 100 / len(v)),
            color=COLOURS[1],
        )
        panel.axvspan(-SLOW * fastest, SLOW * fastest, color=GREY, alpha=0.15, lw=0)
        panel.set_title(joint_title(robot, j), parse_math=False)
        panel.set_xlabel(f"velocity [{joint_units(robot, j).velocity}]")
        if j % paper.columns == 0:
            panel.set_ylabel("of the time [%]")
    return paper.figure


@styled
def plot_noise(look: Look, *, ax: Given = None) -> Figure:
    """Spectra of recorded positions and torques, a curve for each joint. `ax` takes 2 axes."""
    robot = _checked(look).robot
    record = max(look.records, key=lambda record: len(record.t))
    part = max(record.segments, key=lambda part: part.stop - part.start)
    paper = sheet(3.2, 1, 2, ax=ax, sharex=True)
    for panel, x, what in zip(paper.panels, (record.q, record.tau), ("positions", "torques"), strict=True):
        for j in range(robot.n):
            if np.ptp(x[part, j]) > 0:
                f, amplitude = spectrum(record.t[part], x[part, j])
                panel.loglog(f, amplitude, color=colour(j), linestyle=dash(j), lw=1.0)
        if look.cutoff is not None:
            panel.axvline(look.cutoff, **_CUTOFF)
        _framed_spectrum(panel, what, {_unit(look, j, what) for j in range(robot.n)})
    handles = [
        Line2D([], [], color=colour(j), linestyle=dash(j), lw=1.0, label=f"joint {j + 1}")
        for j in range(robot.n)
    ]
    if look.cutoff is not None:
        handles.append(Line2D([], [], label=f"cut-off, {look.cutoff:.3g} Hz", **_CUTOFF))
    paper.legend(handles, ncols=min(len(handles), 5))
    return paper.figure


def _unit(look: Look, j: int, what: str) -> str:
    units = joint_units(look.robot, j)
    return units.position if what == "positions" else units.torque


def _framed_spectrum(panel: Axes, what: str, units: set[str]) -> None:
    panel.set_title(what)
    panel.set_xlabel("frequency [Hz]")
    panel.set_ylabel(" or ".join(f"{unit}/√Hz" for unit in sorted(units)))


# ------------------------------------------------------------------------------------------------------------
# Sections.


def write_advice(look: Look) -> list[Part]:
    facts = [
        tag("li", tag("strong", f"{title.capitalize()}: "), "; ".join(texts), ".")
        for title, texts in findings(look)
    ]
    parts: list[Part] = []
    if look.mistakes:
        parts += [warning(f"{mistake.text[0].upper()}{mistake.text[1:]}.") for mistake in look.mistakes]
    parts.append(tag("ul", *facts))
    parts.append(tag("h3", "What to record next"))
    wanted = [f"{text[0].upper()}{text[1:]}." for text in look.advice]
    parts.append(
        items(wanted) if wanted else paragraph("Nothing is missing: identify the robot from these logs.")
    )
    if look.remarks:
        parts += [tag("h3", "What was noticed in the logs"), items(str(remark) for remark in look.remarks)]
    return parts


def write_joints(look: Look) -> list[Part]:
    caption = ["Position, velocity behind the filter, and torque of each joint."]
    speeds = [f"How long each joint had which velocity. Grey: below {100 * SLOW:g} % of its greatest."]
    return [
        _motion(look),
        Picture(plot_look(look), "position, velocity and torque of each joint over time", caption),
        Picture(plot_speeds(look), "histograms of the velocities of each joint", speeds),
    ]


def _motion(look: Look) -> Markup:
    """The table of the terminal, with units in its head."""
    headings, *rows = motion_rows(look)
    kept = [k for k, heading in enumerate(headings) if heading not in ("joint", "unit")]
    cells: list[list[TableCell]] = []
    for j, row in enumerate(rows):
        units = joint_units(look.robot, j)
        own = {"from": units.position, "to": units.position, "accel.": units.acceleration}
        own |= {"speed": units.velocity, "greatest": units.velocity}
        name = f"{j + 1}, {look.robot.coordinates[j]}"
        cells.append([name, *(_cell(row[k], own.get(headings[k], "")) for k in kept)])
    return table(["joint", *(headings[k] for k in kept)], cells)


def _cell(text: str, unit: str) -> TableCell:
    number, _, percent = text.partition(" ")
    try:
        return Amount(float(number), 3, unit or percent)
    except ValueError:
        return text


def write_noise(look: Look) -> list[Part]:
    found, sizes, robot = look.noise, torque_rms(look), look.robot
    headings: list[Heading] = [
        "joint",
        ("position", "noise"),
        ("position", "steps"),
        ("acceleration", "noise"),
    ]
    headings += [("torque", "noise"), ("torque", "steps"), ("torque", "RMS")]
    rows = []
    for j in range(robot.n):
        units = joint_units(robot, j)
        rows.append(
            (
                f"{j + 1}, {robot.coordinates[j]}",
                Amount(found.position[j], 2, units.position),
                Amount(found.position_step[j], 2, units.position) if found.position_step[j] else "–",
                Amount(found.acceleration[j], 2, units.acceleration),
                Amount(found.torque[j], 2, units.torque),
                Amount(found.torque_step[j], 2, units.torque) if found.torque_step[j] else "–",
                Amount(sizes[j], 3, units.torque),
            )
        )
    caption = [
        "Spectra of what was recorded. Motion is on the left of the cut-off, noise is flat on its right."
    ]
    text = (
        "White noise as the upper half of the spectra shows it, steps of encoders and converters, and what "
    )
    text += "the noise of positions becomes in accelerations behind the filter."
    return [
        paragraph(text),
        table(headings, rows),
        Picture(plot_noise(look), "spectra of the signals", caption),
    ]


def write_parameters(look: Look) -> list[Part]:
    text = (
        "Standard errors that a fit of these logs is expected to give, by a plain model with the noise that "
    )
    text += "is seen. What is not shown keeps the description's value in a fit."
    rows: Sequence[Sequence[TableCell]] = [
        (
            code(row.label),
            Amount(row.nominal, 4, row.unit),
            Amount(row.standard_error, 2, row.unit),
            Amount(round(100 * row.relative_error, 1), 3, "%") if row.relative_error < 10 else "> 1000 %",
            row.flag or "well",
        )
        for row in look.parameters
    ]
    return [
        paragraph(text),
        table(["base parameter", "description", "standard error", "of the estimate", "shown"], rows),
    ]
