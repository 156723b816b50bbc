"""Least squares from a triangular factor: estimates, what they leave open and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

RANK = 1e-8  # of the greatest singular value of scaled columns: below, the data say nothing
ROUNDING = 1e-11  # of the longest column: a shorter one is zero but for rounding


@dataclass(frozen=True)
class Solution:
    """x that minimises ‖A x − b‖² + λ ‖D (x − prior)‖², D the lengths of A's columns.

    What A does not determine stays as near to the prior as it can, measured by D.
    """

    x: np.ndarray  # (p,)
    rank: int
    singular_values: np.ndarray  # of A with columns of length 1
    open: np.ndarray  # (p, k): directions of x that A does not determine, their greatest entry 1
    gain: np.ndarray  # (p, p): x − prior = gain @ (Aᵀ b')


def solve(R: np.ndarray, prior: np.ndarray, damping: float = 0.0, free: np.ndarray | None = None) -> Solution:
    """From the factor R of [A b]; parameters that are not `free` (p,) bool keep their prior values."""
    p = len(prior)
    free = np.ones(p, bool) if free is None else free
    A, b = R[:, :p][:, free], R[:, p] - R[:, :p] @ prior
    D = column_scales(np.sqrt(np.square(A).sum(0)))
    U, s, Vt = np.linalg.svd(A / D, full_matrices=True)
    s = np.pad(s, (0, A.shape[1] - len(s)))
    kept = s > RANK * max(s.max(initial=0.0), 1e-300)
    V = Vt.T / D[:, None]
    inverse = s[kept] / (s[kept] ** 2 + damping)
    half = V[:, kept] * inverse
    x = prior.copy()
    x[free] += half @ (U.T[: len(s)][kept[: U.shape[1]]] @ b)
    return Solution(
        x=x,
        rank=int(kept.sum()),
        singular_values=s,
        open=_rows(V[:, ~kept] / np.abs(V[:, ~kept]).max(axis=0), free),
        gain=_square(V[:, kept] / (s[kept] ** 2 + damping) @ V[:, kept].T, free),
    )


def column_scales(lengths: np.ndarray) -> np.ndarray:
    """What columns of these lengths are divided by; those that are only rounding stay short."""
    greatest = float(lengths.max(initial=0.0))
    return np.where(lengths > ROUNDING * greatest, lengths, greatest or 1.0)


def _square(C: np.ndarray, free: np.ndarray) -> np.ndarray:
    full = np.zeros((len(free), len(free)))
    full[np.ix_(free, free)] = C
    return full


def _rows(V: np.ndarray, free: np.ndarray) -> np.ndarray:
    full = np.zeros((len(free), V.shape[1]))
    full[free] = V
    return full


def joint_scales(squares: np.ndarray, rows: np.ndarray, parameters: int, floor: np.ndarray) -> np.ndarray:
    """Standard deviation of each joint's residual, at least `floor`; the joints share the parameters."""
    freedom = np.maximum(rows - parameters / max(len(rows), 1), 1.0)
    return np.asarray(np.maximum(np.sqrt(squares / freedom), floor))
