"""Triangular factors: what least squares needs of any number of samples, in a few numbers.

The factor R of [Y τ] has RᵀR = [Y τ]ᵀ[Y τ]. Factors of parts of the data, stacked and factored again, give
the factor of all of them: so logs are taken in block by block, on as many workers as there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.linalg import qr


def triangular(A: np.ndarray) -> np.ndarray:
    """The triangular factor (at most (p, p)) of A (rows, p)."""
    if len(A) <= A.shape[1]:
        return A
    return np.asarray(qr(A, mode="r", check_finite=False)[0][: A.shape[1]])


@dataclass(frozen=True)
class Factors:
    """For each of the n joints, the factor of its rows [Y_j τ_j] and how many they were."""

    R: tuple[np.ndarray, ...]  # n of (at most p + 1, p + 1)
    rows: np.ndarray  # (n,)

    @staticmethod
    def of(Y: np.ndarray, tau: np.ndarray, use: np.ndarray, weights: np.ndarray | None = None) -> Factors:
        """Of Y (M, n, p) and τ (M, n) where `use` (M, n) allows; `weights` (M, n) multiply the rows."""
        R = []
        for j in range(tau.shape[1]):
            at = use[:, j]
            A = np.column_stack([Y[at, j], tau[at, j]])
            if weights is not None:
                A *= weights[at, j, None]
            R.append(_factor_of_some_columns(A))
        return Factors(tuple(R), use.sum(0))

    def __add__(self, other: Factors) -> Factors:
        """Of the data of both."""
        pairs = zip(self.R, other.R, strict=True)
        return Factors(tuple(triangular(np.vstack(pair)) for pair in pairs), self.rows + other.rows)

    def weighted(self, scale: np.ndarray) -> np.ndarray:
        """The factor of all joints together, each divided by its `scale` (n,)."""
        return triangular(np.vstack([R / s for R, s in zip(self.R, scale, strict=True)]))

    def squares(self, x: np.ndarray) -> np.ndarray:
        """‖Y_j x − τ_j‖² of each joint, (n,)."""
        minus = np.append(x, -1.0)
        return np.array([float(np.square(R @ minus).sum()) for R in self.R])

    def sizes(self) -> np.ndarray:
        """RMS of each joint's torques, (n,); joints without torques, or with zeros only, have the largest."""
        found = np.sqrt(self.squares(np.zeros(self.R[0].shape[1] - 1)) / np.maximum(self.rows, 1))
        return np.where(found > 0, found, found.max() or 1.0)


def _factor_of_some_columns(A: np.ndarray) -> np.ndarray:
    """The factor of A, most of whose columns may be zero: a joint feels only the links beyond it."""
    at = np.flatnonzero(A.any(0))
    found = np.zeros((min(len(A), len(at)), A.shape[1]))
    if len(at):
        found[:, at] = triangular(A[:, at])
    return found


def merged(parts: Iterable[Factors]) -> Factors:
    """Of all parts, in their order."""
    return reduce(lambda a, b: a + b, parts)
