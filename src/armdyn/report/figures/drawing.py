"""What all figures share: curves, labels at their ends, notes and arrows, and what `paper/` has."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import Affine2D, ScaledTranslation, Transform, blended_transform_factory

from armdyn.report.figures.paper.sheet import Given, Sheet, sheet
from armdyn.report.figures.paper.style import COLOURS, DASHES, GREY, INK, PALE, WIDTH, Dash, styled
from armdyn.report.figures.paper.svg import svg

__all__ = [
    "COLOURS",
    "DASHES",
    "GREY",
    "INK",
    "LABEL",
    "PALE",
    "TOTAL",
    "WIDTH",
    "Given",
    "Sheet",
    "arrow",
    "colour",
    "curve",
    "dash",
    "end_labels",
    "framed",
    "note",
    "padded",
    "sheet",
    "spread",
    "styled",
    "svg",
]

# A sum, behind its parts.
TOTAL: dict[str, Any] = {"color": "#c4c4c4", "linestyle": "-", "lw": 4.0, "zorder": 1.5}
_STRETCHES = 400  # of a curve on paper, each drawn by its extremes
_LEADER, _SAMPLE = 7.0, 27.0  # points: how long leader lines and samples of lines are
LABEL: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 8.5, "zorder": 90}


def colour(k: int) -> str:
    return COLOURS[k % len(COLOURS)]


def dash(k: int) -> Dash:
    return DASHES[k % len(DASHES)]


def curve(panel: Axes, t: np.ndarray, y: np.ndarray, k: int, label: str = "", **options: Any) -> Line2D:
    """Curve number k: its own colour and dash."""
    shown, kept = {"color": colour(k), "linestyle": dash(k), **options}, _visible(y)
    (line,) = panel.plot(t[kept], y[kept], label=label, **shown)
    return line


def _visible(y: np.ndarray) -> np.ndarray:
    """Indices of a long curve that are enough on paper: its ends, and the extremes of `_STRETCHES` parts."""
    if len(y) <= 4 * _STRETCHES:
        return np.arange(len(y))
    edges = np.linspace(0, len(y), _STRETCHES + 1).astype(int)
    extremes = [a + f(y[a:b]) for a, b in pairwise(edges) for f in (np.argmin, np.argmax)]
    return np.unique([0, *extremes, len(y) - 1])


def note(panel: Axes, text: str, place: np.ndarray, offset: np.ndarray, **options: Any) -> None:
    """A text at a place of the drawing, moved by an offset in points."""
    panel.annotate(
        text,
        (float(place[0]), float(place[1])),
        xytext=(float(offset[0]), float(offset[1])),
        textcoords="offset points",
        **{**LABEL, **options},
    )


def arrow(panel: Axes, start: np.ndarray, end: np.ndarray, zorder: float, **options: Any) -> None:
    properties = {"color": GREY, "lw": 1.0, "shrinkA": 0, "shrinkB": 0, **options}
    properties["arrowstyle"] = "-|>,head_length=0.35,head_width=0.16"
    panel.annotate(
        "",
        (float(end[0]), float(end[1])),
        xytext=(float(start[0]), float(start[1])),
        zorder=zorder,
        arrowprops=properties,
    )


def end_labels(panel: Axes, lines: Sequence[Line2D], gap: float = 10.0) -> None:
    """Write each line's label at its right end, in its colour; labels that would touch are moved apart.

    Where many are moved, a piece of each line stands before its label: without colours the leader lines
    alone would not tell which is which. `gap` is the least distance of two labels in points. The panel's
    limits must be final.
    """
    height = panel.get_window_extent().height / panel.figure.dpi * 72
    low, high = panel.get_ylim()
    per_point = (high - low) / height
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in lines]
    places = spread(np.array(ends) / per_point, gap, low / per_point, high / per_point) * per_point
    sampled = len(lines) > 3 and float(np.abs(places - ends).max()) > 0.3 * gap * per_point
    beside = _right_of(panel)
    for line, end, place in zip(lines, ends, places, strict=True):
        leader = Line2D([0.0, _LEADER], [end, place], color=line.get_color(), lw=0.5)
        pieces = [leader]
        if sampled:
            pieces.append(Line2D([], []))
            pieces[-1].update_from(line)
            pieces[-1].set_data([_LEADER, _LEADER + _SAMPLE], [place, place])
        for piece in pieces:
            piece.set(transform=beside, clip_on=False, solid_capstyle="butt")
            panel.add_artist(piece)
        panel.annotate(
            str(line.get_label()),
            (_LEADER + (_SAMPLE + 4 if sampled else 2), float(place)),
            xycoords=beside,
            color=GREY if line.get_color() == TOTAL["color"] else line.get_color(),
            va="center",
            fontsize=8.5,
            annotation_clip=False,
        )


def _right_of(panel: Axes) -> Transform:
    """Points of paper to the right of the panel, over data."""
    points = Affine2D().scale(1 / 72) + panel.figure.dpi_scale_trans
    edge = ScaledTranslation(1, 0, panel.transAxes)  # type: ignore[arg-type]  # any transform does
    return blended_transform_factory(points + edge, panel.transData)


def spread(positions: np.ndarray, gap: float, low: float = -np.inf, high: float = np.inf) -> np.ndarray:
    """The positions nearest to these, in the same order, at least `gap` apart and between low and high.

    Pool adjacent violators: labels that would touch share their mean. Where there is no room between the
    two bounds, the lower one holds.
    """
    order = np.argsort(positions, kind="stable")
    groups: list[tuple[float, int]] = []  # mean of (position − rank · gap), count
    for rank, index in enumerate(order):
        mean, count = float(positions[index]) - rank * gap, 1
        while groups and groups[-1][0] > mean:
            other, size = groups.pop()
            mean, count = (other * size + mean * count) / (size + count), size + count
        groups.append((mean, count))
    placed = np.concatenate([np.full(count, mean) for mean, count in groups] or [np.zeros(0)])
    result = np.empty(len(positions))
    placed = np.maximum(np.minimum(placed, high - gap * (len(positions) - 1)), low)
    result[order] = placed + gap * np.arange(len(positions))
    return result


def padded(panel: Axes, share: float = 0.06) -> None:
    """Some air above and below the curves; a panel of constants gets a height too."""
    low, high = panel.dataLim.y0, panel.dataLim.y1
    if not np.isfinite([low, high]).all():
        low, high = 0.0, 0.0
    size = high - low
    if size <= 1e-9 * max(abs(low), abs(high), 1e-9):
        size = max(abs(high), 1.0)
    panel.set_ylim(low - share * size, high + share * size)


def framed(panel: Axes, label: str, title: str = "") -> None:
    """A panel of curves over its whole width: what is drawn upwards, its zero line, its title."""
    panel.set_ylabel(label)
    panel.margins(x=0)
    padded(panel)
    panel.axhline(0, color="#9a9a9a", lw=0.7, zorder=1.2)
    if title:
        panel.set_title(title, parse_math=False)
