"""A canvas for drawings of arms: as large as what is drawn, with a scale in both directions known before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from scipy.spatial import ConvexHull

from armdyn.drawing.sheet import Drawing, Given, Sheet, sheet
from armdyn.drawing.skeleton import JointPlace
from armdyn.drawing.style import INK, WIDTH
from armdyn.drawing.views import View, nice_below

# ---- joint symbols as small solids, seen through a view: the outline and the faces turned to the reader ---


_CIRCLE = np.linspace(0, 2 * np.pi, 41)[:-1]


def joint_faces(joint: JointPlace, view: View, radius: float) -> list[np.ndarray]:
    """Polygons on paper, farthest first: a cylinder for a revolute joint, a sleeve for a prismatic one."""
    if joint.revolute:
        return cylinder(joint.point, joint.axis, view, radius, 1.1 * radius)
    return _box(sleeve_centre(joint, radius), joint.axis, view, 1.7 * radius, 0.85 * radius)


def sleeve_centre(joint: JointPlace, radius: float) -> np.ndarray:
    """Half-way along the slider's rod, unless that is too short to show."""
    rod = joint.slider - joint.point
    return joint.point + rod / 2 if np.linalg.norm(rod) > 4 * radius else joint.point


def cylinder(
    centre: np.ndarray, axis: np.ndarray, view: View, radius: float, half: float
) -> list[np.ndarray]:
    """Its outline, and the end that is turned to the reader."""
    u, v = _across(axis, view)
    ring = radius * (np.outer(np.cos(_CIRCLE), u) + np.outer(np.sin(_CIRCLE), v))
    ends = [view.flat(centre + sign * half * axis + ring) for sign in (-1, 1)]
    facing = float(axis @ view.towards)
    faces = [_hull(np.vstack(ends))]
    if abs(facing) > 0.02:
        faces.append(ends[facing > 0])
    return faces


def ball(centre: np.ndarray, view: View, radius: float) -> list[np.ndarray]:
    """A sphere: its outline."""
    ring = np.outer(np.cos(_CIRCLE), view.right) + np.outer(np.sin(_CIRCLE), view.up)
    return [view.flat(centre + 0.9 * radius * ring)]


def _box(centre: np.ndarray, axis: np.ndarray, view: View, half: float, side: float) -> list[np.ndarray]:
    u, v = _across(axis, view)
    edges = (half * axis, side * u, side * v)
    faces = []
    for k in range(3):
        n, a, b = edges[k], edges[(k + 1) % 3], edges[(k + 2) % 3]
        facing = float(n @ view.towards)
        if abs(facing) > 1e-6 * half:
            middle = centre + (n if facing > 0 else -n)
            corners = np.array([middle + a + b, middle - a + b, middle - a - b, middle + a - b])
            faces.append(view.flat(corners))
    return faces


def _across(axis: np.ndarray, view: View) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors at right angles to the axis, the first in the paper where there is a choice."""
    u = np.cross(axis, view.towards)
    if np.linalg.norm(u) < 1e-6:
        u = view.right - axis * float(axis @ view.right)
    u = u / np.linalg.norm(u)
    return u, np.cross(axis, u)


def _hull(points: np.ndarray) -> np.ndarray:
    scale = float(np.ptp(points, axis=0).max())
    if min(np.ptp(points, axis=0)) < 1e-9 * scale:
        return points
    return np.asarray(points[ConvexHull(points, qhull_options="QJ Pp").vertices])


# ---- places for labels: where no line is drawn and no other label stands. All lengths are points of paper


_DIRECTIONS = np.linspace(0, 2 * np.pi, 25)[:-1] + 0.26
_HINTED = 1.07  # letters of a bitmap stand on whole pixels: lines of text are wider
_AIR = 1.5  # around a label that touches nothing
_NEAR = ((3.0, 1.5), (6.0, 0.7))  # further air that is welcome, and what its lack costs for each line
_SWEEPS = 2  # in which labels are placed again, when all others are known
# What a place costs.
_ON_LABEL, _OUTSIDE, _ON_LINE, _FAR, _LEADER_ON_LABEL, _NEARER_TO_OTHER, _TURNED = 400, 400, 6, 0.6, 60, 25, 3
_BAD = 100  # a label that costs more stands on something


def text_size(text: str, size: float) -> np.ndarray:
    """(2,): width and height of a line of text in the figures' font, `size` points high."""
    font = FontProperties(family=["DejaVu Sans"], size=size)
    width, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
    return np.array([_HINTED * width, 1.15 * size])


@dataclass
class Label:
    """Something with a box (width, height) that belongs to an anchor on paper and may stand around it.

    `distances` are those of the box's middle from the anchor, the best first. `towards` is a direction
    that is preferred. A `leader` ties the box to the anchor. Of `rivals`, other labels' anchors, none may be
    nearer to the box than its own.
    """

    anchor: np.ndarray
    box: np.ndarray
    distances: tuple[float, ...]
    towards: np.ndarray | None = None
    leader: bool = False
    rivals: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    middle: np.ndarray = field(default_factory=lambda: np.zeros(2))
    cost: float = 0.0

    @property
    def offset(self) -> np.ndarray:
        """From the anchor to the middle of the box."""
        return np.asarray(self.middle - self.anchor)

    @property
    def corners(self) -> np.ndarray:
        """(2, 2): of its box, where it stands."""
        return np.array([self.middle - self.box / 2, self.middle + self.box / 2])

    @property
    def settled(self) -> bool:
        """Whether a place was found where it stands on nothing."""
        return self.cost < _BAD

    def candidates(self) -> tuple[np.ndarray, np.ndarray]:
        """Middles (K, 2), and what is against each of them (K,)."""
        around = np.column_stack([np.cos(_DIRECTIONS), np.sin(_DIRECTIONS)])
        # Beside a wide box the middle is farther away than above it.
        reach = np.abs(around) @ np.maximum(self.box - self.box.min(), 0) / 2
        middles, costs = [], []
        for distance in self.distances:
            middles.append(self.anchor + around * (distance + reach)[:, None])
            cost = np.full(len(around), _FAR * (distance - self.distances[0]))
            if self.towards is not None:
                cost += _TURNED * (1 - around @ self.towards)
            costs.append(cost)
        return np.vstack(middles), np.concatenate(costs)


@dataclass
class Places:
    """What is on a paper with the corners `low` and `high`: lines, boxes, labels that look for a place."""

    low: np.ndarray
    high: np.ndarray
    segments: list[np.ndarray] = field(default_factory=list)  # (k, 2, 2)
    widths: list[np.ndarray] = field(default_factory=list)  # (k,), half of each line's width
    boxes: list[np.ndarray] = field(default_factory=list)  # (2, 2), corners
    labels: list[Label] = field(default_factory=list)

    def line(self, points: np.ndarray, width: float = 1.0) -> None:
        """A polyline (k, 2)."""
        if len(points) > 1:
            self.segments.append(np.array(list(pairwise(points))))
            self.widths.append(np.full(len(points) - 1, width / 2))

    def block(self, points: np.ndarray) -> None:
        """A box around points (k, 2) that labels keep away from."""
        self.boxes.append(np.array([points.min(0), points.max(0)]))

    def add(self, label: Label) -> Label:
        self.labels.append(label)
        return label

    def settle(self) -> None:
        """Find places for all labels added: one after the other, then again with all others in place."""
        choices = [self._choices(label) for label in self.labels]
        for sweep in range(_SWEEPS + 1):
            for k, label in enumerate(self.labels):
                others = self.labels[:k] + (self.labels[k + 1 :] if sweep else [])
                choices[k].take(label, others)

    def fix(self, label: Label) -> Label:
        """Find a place for one label at once, and keep others away from it."""
        self._choices(label).take(label, ())
        self.boxes.append(label.corners)
        return label

    def _choices(self, label: Label) -> Spots:
        """The places around a label's anchor, and what each costs without other labels."""
        middles, cost = label.candidates()
        corners = _corners(middles, label.box + 2 * _AIR)
        cost = cost + self._lines(corners)
        cost += _ON_LABEL * _overlaps(corners, np.array(self.boxes).reshape(-1, 2, 2))
        beyond = np.maximum(self.low - corners[:, 0], 0) + np.maximum(corners[:, 1] - self.high, 0)
        cost += _OUTSIDE * (beyond.max(1) > 0) + beyond.sum(1)
        if len(label.rivals):
            away = np.linalg.norm(middles[:, None] - label.rivals, axis=2).min(1)
            own = np.linalg.norm(middles - label.anchor, axis=1)
            cost += _NEARER_TO_OTHER * np.clip(1.3 - away / own, 0, 1)
        return Spots(middles, corners, cost)

    def _lines(self, corners: np.ndarray) -> np.ndarray:
        """What lines cost (K,) that run through boxes (K, 2, 2) or near them."""
        segments = np.concatenate([*self.segments, np.zeros((0, 2, 2))])
        widths = np.concatenate([*self.widths, np.zeros(0)])
        far = _NEAR[-1][0] + widths[:, None]  # most lines run elsewhere
        around = corners[:, 0].min(0) - far, corners[:, 1].max(0) + far
        here = ((segments.max(1) > around[0]) & (segments.min(1) < around[1])).all(1)
        segments, widths = segments[here], widths[here]
        cost = _crossed(through(segments, widths, corners))
        for air, lack in _NEAR:
            wider = corners + air * np.array([[-1.0, -1.0], [1.0, 1.0]])
            cost += lack * np.minimum((through(segments, widths, wider) > 0).sum(1), 4)
        return cost


@dataclass(frozen=True)
class Spots:
    """Places for a label: middles (K, 2) and corners (K, 2, 2) of its box, and what each costs (K,)."""

    middles: np.ndarray
    corners: np.ndarray
    cost: np.ndarray

    def take(self, label: Label, others: Sequence[Label]) -> None:
        """Put the label in the best of its places, beside labels that have theirs."""
        cost = self.cost
        if others:
            taken = np.array([other.corners for other in others])
            cost = cost + _ON_LABEL * _overlaps(self.corners, taken)
            leaders = np.array([[x.anchor, x.middle] for x in others if x.leader]).reshape(-1, 2, 2)
            cost += _crossed(through(leaders, np.full(len(leaders), 0.4), self.corners))
            if label.leader:
                lines = np.stack([np.broadcast_to(label.anchor, self.middles.shape), self.middles], axis=1)
                cost += _LEADER_ON_LABEL * (through(lines, np.zeros(len(lines)), taken) > 0).sum(0)
        best = int(np.argmin(np.round(cost, 6)))
        label.middle, label.cost = self.middles[best], float(cost[best])


def _crossed(inside: np.ndarray) -> np.ndarray:
    """What it costs (K,) that lines have these lengths (K, S) inside of boxes."""
    return np.asarray(np.where(inside.any(1), _BAD, 0.0) + _ON_LINE * inside.sum(1))


def _corners(middles: np.ndarray, size: np.ndarray) -> np.ndarray:
    """(K, 2, 2): lower left and upper right corners of boxes."""
    return np.stack([middles - size / 2, middles + size / 2], axis=1)


def _overlaps(corners: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """(K,): on how many of the boxes taken each box lies."""
    low = np.maximum(corners[:, None, 0], taken[None, :, 0])
    high = np.minimum(corners[:, None, 1], taken[None, :, 1])
    return np.asarray((high > low).all(2).sum(1))


def through(segments: np.ndarray, widths: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """(K, S): the length of each segment (S, 2, 2), half its width thick, inside each box (K, 2, 2)."""
    enter, leave = np.zeros((len(corners), len(segments))), np.ones((len(corners), len(segments)))
    for axis in (0, 1):
        start, along = segments[:, 0, axis], segments[:, 1, axis] - segments[:, 0, axis]
        low, high = corners[:, None, 0, axis] - widths, corners[:, None, 1, axis] + widths
        still = np.abs(along) < 1e-9  # parallel to the other axis: inside all along, or nowhere
        step = np.where(still, 1.0, along)
        first, second = (low - start) / step, (high - start) / step
        outside = still & ((start <= low) | (start >= high))
        enter = np.maximum(enter, np.where(still, np.where(outside, 2.0, 0.0), np.minimum(first, second)))
        leave = np.minimum(leave, np.where(still, 1.0, np.maximum(first, second)))
    lengths = np.linalg.norm(segments[:, 1] - segments[:, 0], axis=1)
    return np.asarray(np.maximum(leave - enter, 0.0) * lengths)


# ---- a canvas for drawings of arms: as large as what is drawn, with a scale in both directions known before


_TALLEST, _NARROWEST, _LOWEST = 4.6, 3.2, 1.5  # inches
_MARGINS = (0.66, 0.2, 0.44, 0.08)  # inches around a panel with axes: left, right, bottom, top
_ROOM = 25.0  # points around the arm, for labels
_STRIP = 27.0  # points at the bottom for scales
_BAR = 85.0  # points: the longest scale
_LABEL = 8.5  # points: how high letters are
_TEXT: dict[str, Any] = {"ha": "center", "va": "center", "zorder": 90}


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
    left, right, bottom, top = _MARGINS if view.planar else (0.0, 0.0, 0.0, 0.0)
    most = np.array([WIDTH - left - right, _TALLEST]) * 72
    unit = float(((most - around) / size).min())
    least = np.array([max(_NARROWEST, _title_width(legend)) - left - right, _LOWEST]) * 72
    box = np.maximum(size * unit + around, least)
    width = box[0] / 72 + left + right
    below = bottom + _legend_height(legend, width)
    height = box[1] / 72 + below + top
    figure = Drawing(figsize=(width, height))
    place = (left / width, below / height, box[0] / 72 / width, box[1] / 72 / height)
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
