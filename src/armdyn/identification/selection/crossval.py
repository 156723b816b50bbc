"""Cross-validation inside the training data, from one product matrix for each fold.

The samples are cut into folds, each a stretch of time: neighbouring samples are too alike to check each
other. Whatever set of columns and whatever damping is tried, its error on the fold left out follows from the
products [Y τ]ᵀ[Y τ] of the folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.identification.regression.solve import EMPTY

FOLDS = 10
_ROUNDING = 1e-12  # of the greatest eigenvalue


@dataclass(frozen=True)
class Products:
    """G = [Y z]ᵀ[Y z] of each fold, (folds, P + 1, P + 1), rows divided by their joints' scales."""

    G: np.ndarray
    rows: int

    @staticmethod
    def of(parts: Sequence[tuple[np.ndarray, np.ndarray, np.ndarray]], folds: int = FOLDS) -> Products:
        """Of parts Y (M, n, P), z (M, n), use (M, n), in the order of time, scaled already."""
        used = np.concatenate([use.any(1) for _, _, use in parts])
        fold = np.minimum(np.cumsum(used) * folds // max(int(used.sum()), 1), folds - 1)
        P = parts[0][0].shape[2]
        G = np.zeros((folds, P + 1, P + 1))
        start = 0
        for Y, z, use in parts:
            of_part = fold[start : start + len(z)]
            start += len(z)
            for k in np.unique(of_part):
                at = (of_part == k)[:, None] & use
                A = np.column_stack([Y[at], z[at]])
                G[k] += A.T @ A
        return Products(G, int(sum(use.sum() for _, _, use in parts)))

    def errors(self, columns: np.ndarray, dampings: Sequence[float]) -> np.ndarray:
        """Mean squares of the folds left out, (folds, dampings), that add up to the error per row."""
        total = self.G.sum(0)
        found = np.empty((len(self.G), len(dampings)))
        inner = np.ix_(columns, columns)
        for k, G in enumerate(self.G):
            for d, x in enumerate(self._solutions(total - G, columns, dampings)):
                found[k, d] = x @ G[inner] @ x - 2 * x @ G[columns, -1] + G[-1, -1]
        return found / max(self.rows, 1)

    def solution(self, columns: np.ndarray, damping: float = 0.0) -> np.ndarray:
        """The estimates of all folds together."""
        return self._solutions(self.G.sum(0), columns, [damping])[0]

    @staticmethod
    def _solutions(G: np.ndarray, columns: np.ndarray, dampings: Sequence[float]) -> list[np.ndarray]:
        H, b = G[np.ix_(columns, columns)], G[columns, -1]
        lengths = np.sqrt(np.maximum(np.diag(H), 0))
        D = np.where(lengths > EMPTY * lengths.max(initial=0.0), lengths, np.inf)
        values, V = np.linalg.eigh(H / np.outer(D, D))
        right = V.T @ (b / D)
        floor = _ROUNDING * max(float(values.max(initial=0.0)), 1e-300)
        kept = values > floor * len(values)
        return [V[:, kept] @ (right[kept] / (values[kept] + d)) / D for d in dampings]
