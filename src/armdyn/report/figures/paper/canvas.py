"""A canvas for drawings of arms: as large as what is drawn, with a scale in both directions known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from armdyn.report.figures.paper.placement import Label, Places, text_size
from armdyn.report.figures.paper.sheet import Given, Sheet, sheet
from armdyn.report.figures.paper.shown import Drawing
from armdyn.report.figures.paper.style import INK, WIDTH
from armdyn.report.findings.drawn.views import View, nice_below

_TALLEST, _NARROWEST, _LOWEST = 4.6, 3.2, 1.5  # inches
_ROOM = 25.0  # points around the arm, for labels
_STRIP = 27.0  # points at the bottom for scales
_BAR = 85.0  # points: the longest scale
_LABEL = 8.5  # points: how high letters are
_TEXT: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 90}


@dataclass(frozen=True)
class Frame:
    """What lies around a drawing, in inches: tick labels, axis labels, a legend at the bottom."""

    left: float
    right: float
    bottom: float
    top: float


@dataclass
class Canvas:
    """Axes with equal scales, in metres; `unit` points of paper are a metre."""

    paper: Sheet
    panel: Axes
    low: np.ndarray  # the lower left corner [m]
    unit: float
    places: Places
    asked: list[tuple[Label, str, np.ndarray, dict[str, Any]]] = field(default_factory=list)

    def points(self, place: np.ndarray) -> np.ndarray:
        """Places (..., 2) [m] in points from the lower left corner."""
        return np.asarray((place - self.low) * self.unit)

    def label(self, text: str, place: np.ndarray, *distances: float, **options: Any) -> Label:
        """Ask for a label near a place; `draw_labels` writes it, where `places` finds room."""
        size, pad = options.get("fontsize", _LABEL), 5.0 if "bbox" in options else 0.0
        towards, rivals = options.pop("towards", None), options.pop("rivals", np.zeros((0, 2)))
        label = Label(
            self.points(place), text_size(text, size) + pad, distances, towards,
            "arrowprops" in options, rivals,
        )  # fmt: skip
        self.asked.append((label, text, place, options))
        return self.places.add(label)

    def draw_labels(self) -> None:
        """Write all labels that were asked for."""
        self.places.settle()
        for label, text, place, options in self.asked:
            self.note(text, place, label.offset, **options)

    def note(self, text: str, place: np.ndarray, offset: np.ndarray, **options: Any) -> None:
        """A text at a place [m], moved by an offset in points."""
        note = self.panel.annotate(
            text,
            (float(place[0]), float(place[1])),
            xytext=(float(offset[0]), float(offset[1])),
            textcoords="offset points",
            **{"fontsize": _LABEL, **_TEXT, **options},
        )
        note.set_in_layout(False)

    def bars(self, scales: Sequence[tuple[float, str]]) -> None:
        """Lengths [m] to compare with, side by side at the bottom, each with what it stands for."""
        x, y = 9.0, 8.0
        for length, text in scales:
            ends = self.low + np.array([[x, y], [x + length * self.unit, y]]) / self.unit
            width = float(max(length * self.unit, text_size(text, _LABEL)[0]))
            self.panel.plot(*ends.T, color=INK, lw=1.6, solid_capstyle="butt", zorder=80)
            shift = np.array([max(width - length * self.unit, 0) / 2, 9.5])
            self.note(text, ends.mean(0), shift)
            self.places.block(np.array([[x, y - 4], [x + width, y + 17]]))
            x += width + 26

    @property
    def bar(self) -> float:
        """A round length that makes a scale [m]."""
        return nice_below(_BAR / self.unit)

    def legend(self, handles: Sequence[Line2D], title: str) -> None:
        """Below the drawing, in as many columns as fit."""
        place = self.paper.place
        if not isinstance(place, Drawing):
            self.paper.legend(handles, title=title, title_fontsize=_LABEL)
            return
        columns = legend_columns([str(x.get_label()) for x in handles], float(place.get_size_inches()[0]))
        place.legend(
            handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.0), ncols=columns,
            title=title, title_fontsize=_LABEL, borderaxespad=0.3,
        )  # fmt: skip


def legend_columns(names: Sequence[str], width: float) -> int:
    """How many columns of a legend fit into a width in inches."""
    room = width * 72 - 8
    for columns in range(len(names), 1, -1):
        parts = np.array_split(np.array(names, object), columns)  # as matplotlib divides them
        widest = [max(_entry(name) for name in part) for part in parts]
        if sum(widest) + 2.0 * _LABEL * (columns - 1) < room:
            return columns
    return 1


def _entry(name: str) -> float:
    """Points that an entry of a legend takes: a sample of the line, and its name."""
    return float(4.0 * _LABEL + text_size(name, _LABEL)[0])


def canvas(
    view: View, points: np.ndarray, *, ax: Given = None, strip: bool = False, legend: Sequence[str] = ()
) -> Canvas:
    """Room for points (N, 2) on paper [m]; the figure takes their proportions, unless `ax` is given.

    `strip` keeps room for scales at the bottom. `legend` has the names of a legend below, its title first.
    """
    strip = strip or not view.planar
    low, high = points.min(0), points.max(0)
    least = 0.05 * max(float((high - low).max()), 1e-9)
    middle, size = (low + high) / 2, np.maximum(high - low, least)
    around = np.array([2 * _ROOM, 2 * _ROOM + (_STRIP if strip else 0.0)])  # points
    if ax is None:
        paper, panel, box = _own(view, size, around, legend)
    else:
        paper = sheet(1.0, ax=ax)
        (panel,) = paper.panels
        extent = panel.get_window_extent()
        box = np.array([extent.width, extent.height]) / panel.figure.dpi * 72
    unit = float(np.maximum((box - around) / size, 0.3 * box / size).min())
    corner = middle - np.array([box[0], box[1] + (_STRIP if strip else 0.0)]) / 2 / unit
    panel.set_xlim(corner[0], corner[0] + box[0] / unit)
    panel.set_ylim(corner[1], corner[1] + box[1] / unit)
    panel.set_aspect("equal", adjustable="box")
    _axes(panel, view)
    return Canvas(paper, panel, corner, unit, Places(np.zeros(2), box))


def _own(
    view: View, size: np.ndarray, around: np.ndarray, legend: Sequence[str]
) -> tuple[Sheet, Axes, np.ndarray]:
    """A figure as large as the drawing, up to a size; its panel, and that one's size in points."""
    frame = Frame(0.66, 0.2, 0.44, 0.08) if view.planar else Frame(0.0, 0.0, 0.0, 0.0)
    most = np.array([WIDTH - frame.left - frame.right, _TALLEST]) * 72
    unit = float(((most - around) / size).min())
    least = np.array([max(_NARROWEST, _title_width(legend)) - frame.left - frame.right, _LOWEST]) * 72
    box = np.maximum(size * unit + around, least)
    width = box[0] / 72 + frame.left + frame.right
    below = frame.bottom + _legend_height(legend, width)
    height = box[1] / 72 + below + frame.top
    figure = Drawing(figsize=(width, height))
    place = (frame.left / width, below / height, box[0] / 72 / width, box[1] / 72 / height)
    panel = figure.add_axes(place)
    return Sheet(figure, (panel,), 1, figure), panel, box


def _title_width(legend: Sequence[str]) -> float:
    """Inches that the title of a legend takes, and its longest entry."""
    if not legend:
        return 0.0
    widths = [text_size(legend[0], _LABEL)[0], *(_entry(name) for name in legend[1:])]
    return float(max(widths) + 12) / 72


def _legend_height(legend: Sequence[str], width: float) -> float:
    if not legend:
        return 0.0
    names = legend[1:]
    rows = -(-len(names) // legend_columns(names, width))
    return (1.55 * _LABEL * (rows + 1) + 8) / 72


def _axes(panel: Axes, view: View) -> None:
    if not view.planar:
        panel.set_axis_off()
        return
    panel.set_xlabel(f"{view.axis_name(view.right) or 'along the plane'} [m]")
    panel.set_ylabel(f"{view.axis_name(view.up) or 'up'} [m]")
    panel.grid(True)
