"""What figures of a fit share: a panel for each joint, points that are few enough for paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from armdyn.identification.validation.comparison import Comparison
from armdyn.report.figures.drawing import COLOURS, GREY, Given, Sheet, sheet

MEASURED: dict[str, Any] = {"color": "#a9a9a9", "linestyle": "-", "lw": 2.2, "zorder": 1.5}
PREDICTED: dict[str, Any] = {"color": COLOURS[1], "linestyle": "-", "lw": 1.0}
DIFFERENCE: dict[str, Any] = {"color": COLOURS[2], "linestyle": "-", "lw": 0.8}
POINT: dict[str, Any] = {
    "linestyle": "",
    "marker": "o",
    "ms": 1.6,
    "mew": 0,
    "color": COLOURS[1],
    "alpha": 0.55,
}
_MOST = 450  # points in a panel


def joint_sheet(n: int, ax: Given, height: float = 1.75, **options: Any) -> Sheet:
    """Panels for n joints in two columns; a single one gets all of the width."""
    columns = 1 if n == 1 else 2
    rows = -(-n // columns)
    return sheet(0.6 + height * rows, rows, columns, ax=ax, used=n, **options)


def few(y: np.ndarray) -> np.ndarray:
    """Numbers of points that stand for all: evenly taken, and the greatest by size."""
    if len(y) <= _MOST:
        return np.arange(len(y))
    even = np.linspace(0, len(y) - 1, _MOST - 6).astype(int)
    return np.unique(np.concatenate([even, np.argsort(np.abs(y))[-6:]]))


def one_after_the_other(data: Sequence[Comparison]) -> tuple[list[np.ndarray], list[float]]:
    """Times of several pieces on one axis, from zero, and where one ends and the next begins [s]."""
    times, edges, end = [], [], 0.0
    for found in data:
        t = found.record.t - found.record.t[0] + end
        times.append(t)
        end = float(t[-1])
        edges.append(end)
    return times, edges[:-1]


def mark(panel: Axes, edges: Sequence[float]) -> None:
    """Where logs meet."""
    for x in edges:
        panel.axvline(x, color=GREY, lw=0.6, linestyle=(0, (2, 2)))
