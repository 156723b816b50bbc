"""Places for labels: where no line is drawn and no other label stands. All lengths are points of paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

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

    def _choices(self, label: Label) -> Choices:
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
        return Choices(middles, corners, cost)

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
class Choices:
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
