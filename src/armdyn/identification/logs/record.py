"""A log at the joints, looked over: what every later step works with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Record:
    """Positions and torques of the coordinates, at increasing times, without long gaps in a segment.

    Rows of the log that say nothing (repeated times, say) have no row here: `rows` says which row of the log
    each one was. Times need not be evenly spaced: jitter is kept, and a few samples may be missing in a
    segment.
    """

    t: np.ndarray  # (samples,) s, increasing
    q: np.ndarray  # (samples, n) rad or m, finite
    tau: np.ndarray  # (samples, n) N m or N, finite
    usable: np.ndarray  # (samples, n) bool: whether the torque was measured and may enter a fit
    segments: tuple[slice, ...]  # stretches without a gap in time; filters do not reach across their ends
    rows: np.ndarray  # (samples,) the row of the log
    size: int  # rows of the log
    qd: np.ndarray | None = None  # (samples, n) where measured or exact
    qdd: np.ndarray | None = None
    notes: tuple[str, ...] = ()  # what was noticed, repaired or left out, one sentence each
    name: str = "log"
    delay: float = 0.0  # s: by how much torques were late, which was taken out
    filled: np.ndarray | None = None  # (samples,) bool: whether a position was missing and is interpolated
    first: int = 0  # the row of the file that is the log's row 0
    turned: bool = False  # whether whole turns were taken out of positions

    @property
    def n(self) -> int:
        return int(self.q.shape[1])

    @property
    def rate(self) -> float:
        """Samples per second: the median."""
        return float(1 / np.median(np.diff(self.t)))

    def between(self, start: int, stop: int) -> Record:
        """Samples of it, from number `start` to before `stop`."""
        names = ("t", "q", "tau", "usable", "rows", "qd", "qdd", "filled")
        arrays = {name: x[start:stop] for name in names if (x := getattr(self, name)) is not None}
        spans = [(max(part.start, start), min(part.stop, stop)) for part in self.segments]
        segments = tuple(slice(a - start, b - start) for a, b in spans if b > a)
        return replace(self, segments=segments, **arrays)
