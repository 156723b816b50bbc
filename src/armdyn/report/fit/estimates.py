"""Estimates, friction and residuals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.drawing.curves import few, framed, joint_title, zero_line
from armdyn.drawing.sheet import Given, sheet, sheet_of
from armdyn.drawing.style import COLOURS, GREY, WIDTH, styled
from armdyn.identification.fit import EstimateRow, Fit, at_bound, friction_terms
from armdyn.identification.validation import Comparison
from armdyn.model.friction import TERMS
from armdyn.report.fit.subject import FitSubject, check_fit, compared, one_after_the_other
from armdyn.report.page import (
    Amount,
    Heading,
    Markup,
    Part,
    Picture,
    TableCell,
    code,
    folded,
    join,
    number,
    paragraph,
    table,
    tag,
)
from armdyn.robot import Robot
from armdyn.robot.joints import joint_units

_POINTS = 401  # of a curve


@dataclass(frozen=True)
class FrictionCurve:
    """Of one joint: measured points, and the fitted curve."""

    joint: int  # coordinate, counted from 0
    speed: np.ndarray  # (K,) rad/s or m/s of the measured points
    torque: np.ndarray  # (K,) measured torque minus all of the model but this joint's friction
    grid: np.ndarray  # (G,) speeds of the curve
    curve: np.ndarray  # (G,) N m or N
    coefficients: tuple[tuple[str, float], ...]  # by name


def friction_curves(fit: Fit, data: Sequence[Comparison]) -> list[FrictionCurve]:
    """A curve for each coordinate. Its own friction acts on no other one, so all are taken out together."""
    template, problem = fit.model.problem.template, fit.model.problem
    model = template.robot.model
    numbers = [model.moving.index(link) for link in model.coordinates]
    own = [
        [p for p, x in enumerate(template.layout) if x.kind.part == "joint" and x.joint == joint]
        for joint in numbers
    ]
    rest = fit.x.copy()
    rest[[p for each in own for p in each]] = 0.0
    left = [found.record.tau - problem.torques(found.record, rest) for found in data]
    curves = []
    for j, (joint, terms) in enumerate(zip(numbers, own, strict=True)):
        speed = np.concatenate([found.motion.qd[found.use[:, j], j] for found in data])
        torque = np.concatenate([x[found.use[:, j], j] for x, found in zip(left, data, strict=True)])
        grid, curve = _curve(fit, joint, terms, float(np.abs(speed).max(initial=0.0)) or 1.0)
        named = tuple((template.layout[p].name, float(fit.x[p])) for p in terms)
        curves.append(FrictionCurve(j, speed, torque, grid, curve, named))
    return curves


def _curve(fit: Fit, joint: int, terms: Sequence[int], greatest: float) -> tuple[np.ndarray, np.ndarray]:
    """Speeds and the friction of a joint there."""
    problem = fit.model.problem
    grid = np.linspace(-greatest, greatest, _POINTS)
    slides, curve = problem.surfaces.of[joint].sliding(grid), np.zeros(_POINTS)
    for p in terms:
        curve = curve + fit.x[p] * TERMS[problem.template.layout[p].kind.entry].of(slides)
    return grid, curve


_FAR = 2.0  # where intervals are cut, in sizes of the parameter
_ROW = 0.185  # inches for a parameter
_ON_AXES, _IN_TABLE = 15, 24  # characters of a combination where room is short
_NOMINAL: dict[str, Any] = {
    "linestyle": "", "marker": "D", "ms": 3.6, "mew": 0.9, "markerfacecolor": "none", "color": COLOURS[2],
}  # fmt: skip
_FOUND: dict[str, Any] = {"linestyle": "", "marker": "o", "ms": 3.2, "mew": 0, "color": COLOURS[1]}
_WEAK = 0.1  # correlations below are left white
_NAMED = 36  # parameters in a matrix of correlations whose names can be read
_LABELLED = 90  # parameters up to which a matrix names them


@styled
def plot_estimates(fit: Fit, *, ax: Given = None) -> Figure:
    """Base parameters with their 99 % intervals (dots and bars) and the description's values (diamonds).

    Each is divided by its size, the greater of estimate and description: 1 and −1 are full size. An arrow
    is an interval that goes on; a cross in the place of a dot has no interval, as the data do not show it.
    Up to 20 parameters stand in one panel, up to 50 in two, more in three: so many axes `ax` takes.
    """
    rows = check_fit(fit).table()
    columns = 1 if len(rows) <= 20 else 2 if len(rows) <= 50 else 3
    labels = fit.labels if columns == 1 else fit.base.labels(_ON_AXES)
    per = -(-len(rows) // columns)
    paper = sheet(0.8 + _ROW * per, 1, columns, ax=ax)
    for k, panel in enumerate(paper.panels):
        some = slice(k * per, (k + 1) * per)
        _draw(panel, rows[some], labels[some], per)
    handles = [
        Line2D([], [], label="estimate, 99 % interval", **{**_FOUND, "linestyle": "-", "lw": 1.2}),
        Line2D([], [], label="description", **_NOMINAL),
    ]
    paper.legend(handles, ncols=2)
    return paper.figure


def _draw(panel: Axes, rows: Sequence[EstimateRow], labels: Sequence[str], per: int) -> None:
    for y, row in enumerate(rows):
        size = max(abs(row.estimate), abs(row.nominal)) or 1.0
        x = row.estimate / size
        if row.shown:
            low, high = max(row.low / size, -_FAR), min(row.high / size, _FAR)
            panel.plot([low, high], [y, y], color=COLOURS[1], lw=1.2, solid_capstyle="butt")
            for end, beyond, sign in (
                (low, row.low / size < -_FAR, "<"),
                (high, row.high / size > _FAR, ">"),
            ):
                if beyond:
                    panel.plot([end], [y], marker=sign, ms=3.5, color=COLOURS[1], mew=0, clip_on=False)
            panel.plot([x], [y], **_FOUND)
        else:
            panel.plot([x], [y], marker="x", ms=4, mew=1.1, color=GREY)
        panel.plot([row.nominal / size], [y], **_NOMINAL)
    panel.set_yticks(range(len(rows)), labels, fontsize=7.5)
    panel.set_ylim(per - 0.4, -0.6)
    panel.set_xlim(-1.02 * _FAR, 1.02 * _FAR)
    panel.set_xticks([-2, -1, 0, 1, 2])
    panel.tick_params(axis="y", length=0)
    zero_line(panel.axvline)


@styled
def plot_correlation(fit: Fit, *, most: int = _NAMED, ax: Given = None) -> Figure:
    """Correlation of the estimates: dark red or blue pairs cannot be told apart well by these data.

    Below 0.1 a place is left white. Of more than `most` parameters, those that are correlated most with
    another one are drawn.
    """
    found, names = check_fit(fit).correlation, fit.base.labels(_ON_AXES)
    if len(names) > most:
        strength = np.nan_to_num(np.abs(found - np.eye(len(names)))).max(1)
        kept = np.sort(np.argsort(-strength, kind="stable")[:most])
        found, names = found[np.ix_(kept, kept)], tuple(names[k] for k in kept)
    paper = sheet(WIDTH - 0.6, ax=ax)
    (panel,) = paper.panels
    shown = np.ma.masked_where(np.abs(found) < _WEAK, found)
    colours = mpl.colormaps["RdBu_r"].resampled(20)  # few enough for a bar of shapes instead of a bitmap
    image = panel.pcolormesh(shown, vmin=-1, vmax=1, cmap=colours)
    panel.invert_yaxis()
    panel.set_aspect("equal")
    panel.grid(False)
    if len(names) <= _LABELLED:
        size = float(np.clip(330 / max(len(names), 1), 3.5, 8))
        middles = np.arange(len(names)) + 0.5
        panel.set_xticks(middles, names, rotation=90, fontsize=size)
        panel.set_yticks(middles, names, fontsize=size)
        panel.tick_params(length=0, pad=1.5)
    paper.figure.colorbar(image, ax=panel, shrink=0.6, pad=0.02)
    return paper.figure


_POINT: dict[str, Any] = {
    "linestyle": "", "marker": "o", "ms": 1.6, "mew": 0, "color": COLOURS[1], "alpha": 0.55,
}  # fmt: skip
_MOST = 300  # points in a panel
_SHOWN = 0.998  # of the points are inside the panel
_CURVE: dict[str, Any] = {"color": COLOURS[2], "lw": 1.6}


def plot_friction(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """The friction found for each joint over its speed, and measured points.

    A point is the measured torque minus everything in the model but this joint's friction. `ax` takes n axes.
    """
    return draw_friction(fit.robot, friction_curves(fit, compared(fit, logs, samples)), ax=ax)


@styled
def draw_friction(robot: Robot, curves: Sequence[FrictionCurve], *, ax: Given = None) -> Figure:
    paper = sheet_of(robot.n, 2, 0.6, 1.95, ax=ax)
    for panel, found in zip(paper.panels, curves, strict=True):
        units = joint_units(robot, found.joint)
        kept = _some(found.torque)
        panel.plot(found.speed[kept], found.torque[kept], **_POINT)
        panel.plot(found.grid, found.curve, **_CURVE)
        low, high = np.quantile(found.torque, [(1 - _SHOWN) / 2, (1 + _SHOWN) / 2])
        low, high = min(low, found.curve.min()), max(high, found.curve.max())
        margin = 0.08 * max(high - low, 1e-12)
        panel.set_ylim(low - margin, high + margin)
        panel.set_ylabel(f"friction [{units.torque}]")
        panel.set_xlabel(f"velocity [{units.velocity}]")
        panel.set_title(joint_title(robot, found.joint), parse_math=False)
        zero_line(panel.axhline)
        zero_line(panel.axvline)
    points = {**_POINT, "ms": 3.5}
    handles = [Line2D([], [], label="measured", **points), Line2D([], [], label="fitted", **_CURVE)]
    paper.legend(handles, ncols=2)
    return paper.figure


def _some(y: np.ndarray) -> np.ndarray:
    """Indices of points y (N,) that stand for all: evenly taken, and the greatest by size."""
    return few(len(y), _MOST, np.argsort(np.abs(y))[-6:])


def plot_residuals(fit: Fit, logs: Any, samples: Any = None, *, ax: Given = None) -> Figure:
    """Measured minus predicted torque of each joint (a row) over time, position and speed.

    A trend over position hints at masses and gravity, one over speed at friction, bursts in time at
    contact or at a change of the arm. `ax` takes 3 n axes, three for each joint.
    """
    return draw_residuals(fit.robot, compared(fit, logs, samples), ax=ax)


@styled
def draw_residuals(robot: Robot, data: Sequence[Comparison], *, ax: Given = None) -> Figure:
    n = robot.n
    paper = sheet(0.6 + 1.25 * n, n, 3, ax=ax, sharey="row")
    times, _ = one_after_the_other(data)
    for j, row in enumerate(paper.rows):
        units = joint_units(robot, j)
        at = [found.use[:, j] for found in data]
        y = np.concatenate([found.residual[a, j] for found, a in zip(data, at, strict=True)])
        across = (
            ([t[a] for t, a in zip(times, at, strict=True)], "time [s]"),
            ([x.motion.q[a, j] for x, a in zip(data, at, strict=True)], f"position [{units.position}]"),
            ([x.motion.qd[a, j] for x, a in zip(data, at, strict=True)], f"velocity [{units.velocity}]"),
        )
        kept = _some(y)
        for panel, (x, label) in zip(row, across, strict=True):
            panel.plot(np.concatenate(x)[kept], y[kept], **_POINT)
            framed(panel, "")
            panel.margins(x=0.03)
            if j == n - 1 or robot.model.coordinates[j].joint != robot.model.coordinates[j + 1].joint:
                panel.set_xlabel(label)
        row[0].set_ylabel(f"[{units.torque}]")
        row[0].set_title(joint_title(robot, j), parse_math=False)
    return paper.figure


def write_estimates(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    caption = ["Base parameters with their 99 % intervals, and the description's values. Each is divided by "]
    caption.append("its size; an arrow is an interval that goes on, a cross what these data do not show.")
    related = [
        "Correlation of the estimates. Where it is near 1 or −1, the data hardly tell two of them apart."
    ]
    return [
        paragraph(
            "Standard errors count neighbouring samples by how alike their residuals are. They say how far "
            "noise moves the estimates; a wrong model moves them further."
        ),
        Picture(plot_estimates(fit), "estimates with intervals and nominal values", caption),
        folded("All numbers", _numbers(subject)),
        Picture(plot_correlation(fit), "correlation matrix of the estimates", related, drawing=True),
    ]


def _numbers(subject: FitSubject) -> Markup:
    rows = []
    for row, label in zip(subject.fit.table(), subject.fit.base.labels(_IN_TABLE), strict=True):
        relative = Amount(round(100 * row.relative_error, 1), 6, "%") if row.relative_error < 10 else "> 1000"
        worth: tuple[TableCell, ...] = ("–", "–", "–", "–")
        if row.shown:
            worth = (Amount(row.standard_error, 2), relative, Amount(row.low, 3), Amount(row.high, 3))
        found = "0 (at its bound)" if at_bound(subject.fit, row) else Amount(row.estimate)
        numbers = (found, *worth, Amount(row.nominal))
        rows.append((code(label), *numbers, row.unit, row.flag))
    interval: list[Heading] = [("99 % interval", "from"), ("99 % interval", "to")]
    errors: list[Heading] = ["std. error", "relative"]
    return table(("parameter", "estimate", *errors, *interval, "described", "unit", ""), rows)


def write_friction(subject: FitSubject) -> list[Part]:
    fit = subject.fit
    parts: list[Part] = [paragraph("Viscous and Coulomb friction at every joint.")]
    if fit.model.worth:
        text = "Further terms were chosen joint by joint: each must make the error (RMS) on kinds of motion "
        text += (
            "that were left out smaller by more than twice the standard error of the gain; an offset stays "
        )
        text += "unless that is so without it. The numbers say how much greater the error is without a term."
        parts.append(paragraph(text))
        rows = [(str(j + 1), *texts) for j, texts in enumerate(friction_terms(fit))]
        parts.append(table(("joint", "terms", "not taken"), rows))
    else:
        each = dict.fromkeys(map(str, fit.model.friction))
        parts = [paragraph(f"Terms, as asked for: {'; '.join(each)}.")]
    if subject.training:
        curves = friction_curves(fit, subject.training)
        caption = ["Friction over speed. A point is a measured torque minus everything in the model but "]
        caption.append("the friction of this joint; points far from the curve near zero speed are sticking.")
        parts.append(Picture(draw_friction(fit.robot, curves), "friction curves of the joints", caption))
        none = {row.name for row in fit.table() if at_bound(fit, row)}
        found_of = [(str(curve.joint + 1), _coefficients(curve, none)) for curve in curves]
        parts.append(table(("joint", "coefficients (SI units)"), found_of))
    return parts


def _coefficients(curve: FrictionCurve, none: set[str]) -> Markup:
    """Names and values; those of `none` are 0, at their bounds."""
    named = [(name, 0.0 if name in none else x) for name, x in curve.coefficients]
    return join((join([code(name), "\u00a0", number(x, 4)]) for name, x in named), ", ")


def write_residuals(subject: FitSubject) -> list[Part]:
    if not subject.shown:
        return [paragraph("The logs were not given to the report: there are no residuals to draw.")]
    what = "validation" if subject.validation else "training"
    caption = [f"Measured minus predicted torques of the {what} data, over time, position and velocity. "]
    caption.append("A trend over position hints at masses, one over velocity at friction, ")
    caption.append("bursts in time at contacts.")
    parts: list[Part] = [
        Picture(draw_residuals(subject.fit.robot, subject.shown), "residuals of each joint", caption)
    ]
    checked = subject.fit.validation
    if checked is not None:
        rows: list[tuple[TableCell, ...]] = []
        for j, x in enumerate(checked.joints):
            apart = [Amount(round(float(x.whiteness.correlations[k - 1]), 3), 4) for k in (1, 5, 20)]
            rows.append((str(j + 1), *apart, x.whiteness.verdict))
        parts += [
            tag("h3", "Are they noise?"),
            paragraph(
                "Autocorrelation of the residuals of samples 1, 5 and 20 apart, and the verdict by the test "
                "of Ljung and Box. Residuals that are not white are what the model does not have: friction "
                "that it describes badly, elasticity, ripple."
            ),
            table(("joint", "1 apart", "5 apart", "20 apart", "verdict"), rows),
        ]
    return parts
