"""Base parameters from numbers: the regressor at random states, and what its columns span.

Geometry that is measured or rounded makes every column a little independent of the others. So the rank is
that of a matrix whose columns have length 1, with a tolerance, and it is said how clear it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.model.parameters import Parameter

TOLERANCE = 1e-6  # of singular values, against the largest
CLEAR_GAP = 1e3  # between singular values that count and those that do not
CLEAR_VALUE = 1e-5  # a singular value that counts without doubt
_STATES = 40  # at least; joints take part alike
_EQUATIONS = 5  # times as many as columns
_ROUNDING = 1e-11  # of coefficients, where no singular value is larger
_ZERO = 1e-12  # of a column, against the longest of all


@dataclass(frozen=True)
class Rank:
    """The rank of a regressor with columns of length 1; singular values are against the largest."""

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
        """The one divided by the other."""
        return self.smallest_kept / self.largest_dropped if self.largest_dropped else np.inf

    @property
    def is_clear(self) -> bool:
        return self.gap >= CLEAR_GAP and self.smallest_kept >= CLEAR_VALUE

    def __str__(self) -> str:
        dropped = f"largest dropped {self.largest_dropped:.1e}" if self.largest_dropped else "none dropped"
        return (
            f"rank {self.rank}, tolerance {self.tolerance:.0e}, smallest singular value kept "
            f"{self.smallest_kept:.1e}, {dropped}"
        )


@dataclass(frozen=True)
class Sampled:
    """Columns of the regressor at random states, each scaled to length 1 unless it is zero."""

    W: np.ndarray  # (equations, columns)
    lengths: np.ndarray  # before the columns were scaled; 0 for those that count as zero
    tolerance: float

    @staticmethod
    def of(
        regressor: Callable[[Any, Any, Any], np.ndarray],
        joints: Sequence[str],
        columns: Sequence[Parameter],
        tolerance: float = TOLERANCE,
        postures: Callable[[np.random.Generator, int], np.ndarray] | None = None,
    ) -> Sampled:
        """`regressor` (..., n, columns) at states (..., n); `joints` are "revolute" or "prismatic".

        `postures` draws q (count, n), where not any will do.
        """
        n, p = len(joints), len(columns)
        if not p:
            return Sampled(np.zeros((0, 0)), np.zeros(0), tolerance)
        states = max(_STATES, -(-_EQUATIONS * p // max(n, 1)))
        rng = np.random.default_rng(1)
        reach = np.array([np.pi if kind == "revolute" else 1.0 for kind in joints])
        q, qd, qdd = (rng.uniform(-x, x, (states, n)) for x in (reach, np.full(n, 3.0), np.full(n, 9.0)))
        if postures is not None:
            q = postures(rng, states)
        qd[1::2] *= 10.0 ** rng.uniform(-3, 0, qd[1::2].shape)  # slow as well, where friction may change
        W = np.asarray(regressor(q, qd, qdd)).reshape(-1, p)
        lengths = np.linalg.norm(W, axis=0)
        lengths[_are_zero(lengths, columns, tolerance)] = 0
        scale = np.where(lengths > 0, lengths, 1)
        return Sampled(np.where(lengths > 0, W / scale, 0), lengths, tolerance)

    @property
    def present(self) -> np.ndarray:
        """The columns that are not zero."""
        return np.flatnonzero(self.lengths)

    def rank(self) -> Rank:
        """By singular values."""
        if not len(self.present):
            return Rank(0, np.zeros(0), self.tolerance)
        values = np.linalg.svd(self.W[:, self.present], compute_uv=False)
        values = values / values[0]
        return Rank(int((values > self.tolerance).sum()), values, self.tolerance)

    def dependent(self) -> dict[int, dict[int, float]]:
        """For each column that depends on independent ones before it, its coefficients in these."""
        rank = self.rank()
        kept = self._independent(rank)
        rounding = max(_ROUNDING, 10 * rank.largest_dropped)
        others = [int(j) for j in self.present if j not in kept]
        x = np.linalg.lstsq(self.W[:, kept], self.W[:, others], rcond=None)[0]
        return {
            j: {
                p: float(c * self.lengths[j] / self.lengths[p])
                for p, c in zip(kept, solution, strict=True)
                if abs(c) > rounding
            }
            for j, solution in zip(others, x.T, strict=True)
        }

    def _independent(self, rank: Rank) -> list[int]:
        """As many columns as the rank, if a threshold for what is new in a column gives so many.

        The first threshold lies between the singular values kept and dropped; others are tried around it.
        """
        low, high = 1e-14, 1.0
        threshold = np.sqrt(max(rank.largest_dropped, 1e-14) * rank.smallest_kept)
        for _ in range(50):
            kept = independent(self.W, threshold)
            if len(kept) == rank.rank:
                break
            low, high = (threshold, high) if len(kept) > rank.rank else (low, threshold)
            threshold = np.sqrt(low * high)
        return kept


def independent(W: np.ndarray, threshold: float) -> list[int]:
    """Columns, in order, whose part orthogonal to those taken before is longer than the threshold.

    Columns of W (rows, p) have length 1 or 0 (Gram and Schmidt's method).
    """
    kept: list[int] = []
    Q = np.empty((len(W), min(W.shape)))
    for j in np.flatnonzero(W.any(0)):
        new, basis = W[:, j].copy(), Q[:, : len(kept)]
        for _ in range(2):  # once leaves rounding errors of the size of what is taken off
            new -= basis @ (basis.T @ new)
        size = np.linalg.norm(new)
        if size > threshold and len(kept) < Q.shape[1]:
            Q[:, len(kept)] = new / size
            kept.append(int(j))
    return kept


def _are_zero(lengths: np.ndarray, columns: Sequence[Parameter], tolerance: float) -> np.ndarray:
    """Which columns are zero: against the longest with the same unit, and against the longest of all."""
    units = [_unit(parameter) for parameter in columns]
    longest = {unit: max(x for x, u in zip(lengths, units, strict=True) if u == unit) for unit in set(units)}
    bound = np.array([max(tolerance * longest[u], _ZERO * lengths.max(initial=0)) for u in units])
    return np.asarray(lengths <= bound)


def _unit(parameter: Parameter) -> str:
    """What can be compared: masses, first moments, tensors, rotors; each term of friction."""
    kind = parameter.kind
    return f"body {len(kind.entry)} {kind.entry[0]}" if kind.part == "body" else f"{kind.part} {kind.entry}"
