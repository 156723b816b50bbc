"""How well a motion shows the parameters, as a number to be made small, from its regressor W (rows, b)."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

Criterion: TypeAlias = Literal["condition", "scaled", "determinant"]
CRITERIA = get_args(Criterion)

MATTERS = 3e-3  # of the largest effect: eigenvectors with a smaller one are left out of a gradient
CLEAR = 1e-9  # of the largest eigenvalue of WᵀW: smaller ones are found from W itself


def of_regressor(criterion: Criterion, W: np.ndarray) -> float:
    """The criterion itself: log of W's condition number, or minus the mean log of its singular values."""
    if criterion == "determinant":
        return float(-0.5 * np.log(_eigenvalues(W)[0]).mean())
    found = _eigenvalues(W if criterion == "condition" else _scaled(W)[0])[0]
    return float(0.5 * np.log(found[-1] / found[0]))


def smoothed(criterion: Criterion, W: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The criterion, smooth also where eigenvalues meet, and its derivative Σ_k c_k v_k v_kᵀ by G = WᵀW.

    Returns the value, c (k,) and v (b, k). The largest eigenvalue is (Σ λ^p)^(1/p) with p = `power`, the
    smallest likewise.
    """
    if criterion == "condition":
        return _condition(W, power)
    if criterion == "determinant":
        values, v = _eigenvalues(W)
        return float(-0.5 * np.log(values).mean()), -0.5 / (len(values) * values), v
    scaled, size = _scaled(W)
    value, c, v = _condition(scaled, power)
    # d(D^-½ G D^-½) also has the change of D = diag G: a term for each column, with Σ_k c_k λ_k v_k².
    columns = -(c * (scaled @ v * (scaled @ v)).sum(0) * v**2).sum(1) / size**2
    return value, np.append(c, columns), np.column_stack([v / size[:, None], np.eye(len(size))])


def _condition(W: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    values, v = _eigenvalues(W)
    log = np.log(values)
    high, low = np.exp(power * (log - log[-1])), np.exp(power * (log[0] - log))
    value = 0.5 * (log[-1] - log[0] + (np.log(high.sum()) + np.log(low.sum())) / power)
    effect = 0.5 * (high / high.sum() - low / low.sum())  # by log λ
    kept = np.abs(effect) > MATTERS
    return float(value), effect[kept] / values[kept], v[:, kept]


def _eigenvalues(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of WᵀW, growing (b,), and eigenvectors (b, b)."""
    values, v = np.linalg.eigh(W.T @ W)
    if values[0] < CLEAR * values[-1]:
        _, singular, rows = np.linalg.svd(np.linalg.qr(W, mode="r"))
        values, v = singular[::-1] ** 2, rows[::-1].T
    return np.maximum(values, 1e-300), v


def _scaled(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W with columns of unit length, and their lengths."""
    size = np.sqrt(np.maximum((W**2).sum(0), 1e-300))
    return W / size, size
