"""Estimates with their intervals against the description, their correlation, and singular values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from armdyn.identification.estimation.fit import Fit
from armdyn.identification.estimation.table import Row
from armdyn.report.figures.drawing import COLOURS, GREY, WIDTH, Given, sheet, styled
from armdyn.report.identification.checks import check_fit

_FAR = 2.0  # where intervals are cut, in sizes of the parameter
_ROW = 0.185  # inches for a parameter
_NOMINAL: dict[str, Any] = {
    "linestyle": "", "marker": "D", "ms": 3.6, "mew": 0.9, "markerfacecolor": "none", "color": COLOURS[2],
}  # fmt: skip
_FOUND: dict[str, Any] = {"linestyle": "", "marker": "o", "ms": 3.2, "mew": 0, "color": COLOURS[1]}
_WEAK = 0.1  # correlations below are left white
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
    per = -(-len(rows) // columns)
    paper = sheet(0.8 + _ROW * per, 1, columns, ax=ax)
    for k, panel in enumerate(paper.panels):
        _draw(panel, rows[k * per : (k + 1) * per], per)
    handles = [
        Line2D([], [], label="estimate, 99 % interval", **{**_FOUND, "linestyle": "-", "lw": 1.2}),
        Line2D([], [], label="description", **_NOMINAL),
    ]
    paper.legend(handles, ncols=2)
    return paper.figure


def _draw(panel: Axes, rows: Sequence[Row], per: int) -> None:
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
    panel.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=7.5)
    panel.set_ylim(per - 0.4, -0.6)
    panel.set_xlim(-1.02 * _FAR, 1.02 * _FAR)
    panel.set_xticks([-2, -1, 0, 1, 2])
    panel.tick_params(axis="y", length=0)
    panel.axvline(0, color="#9a9a9a", lw=0.7, zorder=1.2)


@styled
def plot_correlation(fit: Fit, *, ax: Given = None) -> Figure:
    """Correlation of the estimates: dark red or blue pairs cannot be told apart well by these data.

    Below 0.1 a place is left white.
    """
    found, names = check_fit(fit).correlation, fit.names
    paper = sheet(WIDTH - 0.6, ax=ax)
    (panel,) = paper.panels
    shown = np.ma.masked_where(np.abs(found) < _WEAK, found)
    colours = mpl.colormaps["RdBu_r"].resampled(20)  # few enough for a bar of shapes instead of a bitmap
    image = panel.pcolormesh(shown, vmin=-1, vmax=1, cmap=colours)
    panel.invert_yaxis()
    panel.set_aspect("equal")
    panel.grid(False)
    if len(names) <= _LABELLED:
        size = float(np.clip(330 / len(names), 3.5, 8))
        middles = np.arange(len(names)) + 0.5
        panel.set_xticks(middles, names, rotation=90, fontsize=size)
        panel.set_yticks(middles, names, fontsize=size)
        panel.tick_params(length=0, pad=1.5)
    paper.figure.colorbar(image, ax=panel, shrink=0.6, pad=0.02)
    return paper.figure


@styled
def plot_singular_values(fit: Fit, *, ax: Given = None) -> Figure:
    """Singular values of the weighted regressor, columns of length 1: how sharply each direction shows."""
    values = np.sort(check_fit(fit).singular_values)[::-1]
    greatest = float(values.max(initial=0.0)) or 1.0
    relative = values / greatest
    floor = 1e-17
    paper = sheet(2.4, ax=ax)
    (panel,) = paper.panels
    seen = relative > 1e-8
    at = np.arange(1, len(values) + 1)
    panel.semilogy(at[seen], relative[seen], linestyle="", marker="o", ms=3, color=COLOURS[1])
    panel.semilogy(
        at[~seen], np.maximum(relative[~seen], floor), linestyle="", marker="x", ms=4, mew=1, color=GREY
    )
    panel.set_xlabel("direction in the space of all parameters")
    panel.set_ylabel("singular value")
    panel.margins(x=0.02)
    return paper.figure
