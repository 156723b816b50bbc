"""Charts as data: panels one above the other over the same time, each with its curves."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

BLUE, ORANGE, GREY = "var(--ad-blue)", "var(--ad-orange)", "#888888"  # of panels.css, light or dark


@dataclass(frozen=True, eq=False)
class Line:
    """A curve: values y (N,) at instants t (N,), which do not decrease [s]."""

    t: np.ndarray
    y: np.ndarray
    label: str
    colour: str = BLUE
    dashed: bool = False
    width: float = 1.6  # pixels


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves with one scale. The value beside the cursor is that of the first line."""

    title: str
    unit: str
    lines: tuple[Line, ...]
    bounds: tuple[float, ...] = ()  # limits, drawn as dashed lines where they are finite and in reach
    height: int = 56  # pixels

    @property
    def span(self) -> tuple[float, float]:
        """What the panel shows: all curves, zero, and bounds that are not far off."""
        values = np.concatenate([np.atleast_1d(line.y) for line in self.lines])
        values = values[np.isfinite(values)]
        low, high = (min(0.0, float(values.min())), max(0.0, float(values.max()))) if len(values) else (0, 0)
        reach = max(high - low, 1e-12)
        for bound in self.bounds:
            if np.isfinite(bound) and low - 1.5 * reach <= bound <= high + 1.5 * reach:
                low, high = min(low, bound), max(high, bound)
        room = 0.06 * (high - low) or 1.0
        return low - room, high + room

    def value(self, time: float) -> float:
        """Of the first line."""
        line = self.lines[0]
        return float(np.interp(time, line.t, line.y))


@dataclass(frozen=True, eq=False)
class Chart:
    """`duration` [s] is what the axis of time covers; `marks` are instants drawn as thin lines."""

    panels: tuple[Panel, ...]
    duration: float
    marks: tuple[float, ...] = ()
    notes: tuple[str, ...] = field(default=())

    @property
    def key(self) -> dict[str, tuple[str, bool]]:
        """Label -> colour and whether it is dashed, of all lines; nothing if there is only one kind."""
        lines = [line for panel in self.panels for line in panel.lines]
        found = {line.label: (line.colour, line.dashed) for line in lines}
        return found if len(found) > 1 else {}
