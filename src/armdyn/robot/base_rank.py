"""Base parameters from numbers: the regressor at random states, and what its columns span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.model.robot_model import RobotModel

TOLERANCE = 1e-7  # of singular values, against the largest
CLEAR = 100.0  # a gap between singular values that leaves no doubt
_MARGIN = 2  # times as many equations as unknowns
_LEAST_STATES = 20
_SAME = 1e-9  # a coefficient below this, columns being scaled, is rounding


@dataclass(frozen=True)
class Rank:
    """The rank of a scaled regressor, and how clear it is.

    Columns are scaled to length 1. Singular values are against the largest.
    """

    rank: int
    singular_values: np.ndarray
    tolerance: float

    @property
    def smallest_kept(self) -> float:
        """The smallest singular value that counts."""
        return float(self.singular_values[self.rank - 1]) if self.rank else 1.0

    @property
    def largest_dropped(self) -> float:
        """The largest singular value that does not count; 0 if all do."""
        rest = self.singular_values[self.rank :]
        return float(rest[0]) if len(rest) else 0.0

    @property
    def gap(self) -> float:
        """How many times larger the smallest kept one is than the largest dropped one."""
        return self.smallest_kept / self.largest_dropped if self.largest_dropped else np.inf

    @property
    def is_clear(self) -> bool:
        return self.gap >= CLEAR

    def __str__(self) -> str:
        dropped = f"{self.largest_dropped:.1e}" if self.largest_dropped else "none"
        return (
            f"rank {self.rank}: smallest singular value kept {self.smallest_kept:.1e}, largest dropped "
            f"{dropped}, tolerance {self.tolerance:.0e}"
        )


@dataclass(frozen=True)
class Sampled:
    """Columns of the regressor at many states, each scaled to length 1, except those that are zero."""

    W: np.ndarray  # (equations, columns)
    lengths: np.ndarray  # of the columns before they were scaled

    @property
    def present(self) -> np.ndarray:
        """Which columns are not zero."""
        return self.lengths > 0

    def rank(self, tolerance: float = TOLERANCE) -> Rank:
        values = np.linalg.svd(self.W[:, self.present], compute_uv=False)
        if not len(values):
            return Rank(0, values, tolerance)
        values = values / values[0]
        return Rank(int((values > tolerance).sum()), values, tolerance)

    def dependent(self, rank: int) -> dict[int, dict[int, float]]:
        """For each column that depends on earlier ones, its coefficients, `rank` columns being independent.

        Column by column, what is orthogonal to the independent ones before decides; of these distances the
        `rank` largest count.
        """
        columns = np.flatnonzero(self.present)
        threshold = 0.0
        kept = _independent(self.W, columns, threshold, rank)
        found: dict[int, dict[int, float]] = {}
        others = [j for j in columns if j not in kept]
        x = np.linalg.lstsq(self.W[:, kept], self.W[:, others], rcond=None)[0]
        for j, solution in zip(others, x.T, strict=True):
            found[int(j)] = {
                int(p): float(c * self.lengths[j] / self.lengths[p])
                for p, c in zip(kept, solution, strict=True)
                if abs(c) > _SAME
            }
        return found
