"""Cross-validation inside the training data, from one product matrix for each fold.

The samples are cut into folds, each a stretch of time: neighbouring samples are too alike to check each
other. Whatever set of columns and whatever damping is tried, its error on the fold left out follows from the
products [Y τ]ᵀ[Y τ] of the folds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from armdyn.identification.regression.solve import column_scales
from armdyn.identification.regression.states import States

FOLDS = 10
_ROUNDING = 1e-12  # of the greatest eigenvalue


# Of some of the instants of a part, from start to before stop: Y (M, n, P) and z (M, n).
Data: TypeAlias = Callable[[States, int, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Products:
    """G = [Y z]ᵀ[Y z] of each fold, (folds, P + 1, P + 1), rows divided by their joints' scales."""

    G: np.ndarray
    rows: int

    @staticmethod
    def of(parts: Sequence[States], data: Data, folds: int = FOLDS) -> Products:
        """Of parts in the order of time; `data` gives their Y (M, n, P) and z (M, n), scaled already."""
        used = np.concatenate([part.use.any(1) for part in parts])
        fold = np.minimum(np.cumsum(used) * folds // max(int(used.sum()), 1), folds - 1)
        G: np.ndarray | None = None
        first = 0
        for part in parts:
            for start, stop in part.blocks:
                use, of_part = part.use[start:stop], fold[first + start : first + stop]
                if use.any():
                    Y, z = data(part, start, stop)
                    G = np.zeros((folds, Y.shape[2] + 1, Y.shape[2] + 1)) if G is None else G
                    _add(G, Y, z, use, of_part)
            first += len(part)
        assert G is not None
        return Products(G, int(sum(part.use.sum() for part in parts)))

    def errors(self, columns: np.ndarray, dampings: Sequence[float]) -> np.ndarray:
        """Mean squares of the folds left out, (folds, dampings), that add up to the error per row."""
        total = self.G.sum(0)
        found = np.empty((len(self.G), len(dampings)))
        inner = np.ix_(columns, columns)
        for k, G in enumerate(self.G):
            for d, x in enumerate(self._solutions(total - G, columns, dampings)):
                found[k, d] = x @ G[inner] @ x - 2 * x @ G[columns, -1] + G[-1, -1]
        return np.maximum(found, 0) / max(self.rows, 1)  # squares: less than zero is rounding

    @staticmethod
    def _solutions(G: np.ndarray, columns: np.ndarray, dampings: Sequence[float]) -> list[np.ndarray]:
        H, b = G[np.ix_(columns, columns)], G[columns, -1]
        D = column_scales(np.sqrt(np.maximum(np.diag(H), 0)))
        values, V = np.linalg.eigh(H / np.outer(D, D))
        right = V.T @ (b / D)
        floor = _ROUNDING * max(float(values.max(initial=0.0)), 1e-300)
        kept = values > floor * len(values)
        return [V[:, kept] @ (right[kept] / (values[kept] + d)) / D for d in dampings]


def _add(G: np.ndarray, Y: np.ndarray, z: np.ndarray, use: np.ndarray, fold: np.ndarray) -> None:
    """Add the rows to the products of their folds, joint by joint: most columns of a joint are zero."""
    for j in range(z.shape[1]):
        alive = np.append(Y[:, j].any(0), True)
        for k in np.unique(fold):
            at = (fold == k) & use[:, j]
            A = np.column_stack([Y[at, j][:, alive[:-1]], z[at, j]])
            G[np.ix_([k], alive, alive)] += A.T @ A
