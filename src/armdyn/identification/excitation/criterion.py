"""How well a motion shows the parameters, as a number to be made small, from G = WᵀW of the regressor W."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

Criterion: TypeAlias = Literal["condition", "scaled", "determinant"]
CRITERIA = get_args(Criterion)

MATTERS = 3e-3  # of the largest effect: eigenvectors with a smaller one are left out of a gradient
TINY = 1e-14  # of the largest eigenvalue: rounding errors of smaller ones


def of_gram(criterion: Criterion, G: np.ndarray) -> float:
    """The criterion itself: log of W's condition number, or minus the mean log of its singular values."""
    if criterion == "determinant":
        return float(-0.5 * np.log(_eigenvalues(G)[0]).mean())
    found = _eigenvalues(G if criterion == "condition" else _scaled(G)[0])[0]
    return float(0.5 * np.log(found[-1] / found[0]))


def smoothed(criterion: Criterion, G: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    """The criterion, smooth also where eigenvalues meet, and its derivative Σ_k c_k v_k v_kᵀ by G.

    Returns the value, c (k,) and v (b, k). The largest eigenvalue is (Σ λ^p)^(1/p) with p = `power`, the
    smallest likewise.
    """
    if criterion == "condition":
        return _condition(G, power)
    if criterion == "determinant":
        values, v = _eigenvalues(G)
        return float(-0.5 * np.log(values).mean()), -0.5 / (len(G) * values), v
    R, size = _scaled(G)
    value, c, v = _condition(R, power)
    M = (v * c) @ v.T
    # d(D^-½ G D^-½) also has the change of D = diag G.
    Z = M / np.outer(size, size) - np.diag((R * M).sum(1) / size**2)
    c, v = np.linalg.eigh(Z)
    kept = np.abs(c) > 0.1 * MATTERS * np.abs(c).max()
    return value, c[kept], v[:, kept]


def _condition(G: np.ndarray, power: float) -> tuple[float, np.ndarray, np.ndarray]:
    values, v = _eigenvalues(G)
    log = np.log(values)
    high, low = np.exp(power * (log - log[-1])), np.exp(power * (log[0] - log))
    value = 0.5 * (log[-1] - log[0] + (np.log(high.sum()) + np.log(low.sum())) / power)
    effect = 0.5 * (high / high.sum() - low / low.sum())  # by log λ
    kept = np.abs(effect) > MATTERS
    return float(value), effect[kept] / values[kept], v[:, kept]


def _eigenvalues(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, v = np.linalg.eigh(G)
    return np.maximum(values, max(TINY * float(values[-1]), 1e-300)), v


def _scaled(G: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of W divided by their lengths: the correlation matrix, and the lengths."""
    size = np.sqrt(np.maximum(np.diag(G), 1e-300))
    return G / np.outer(size, size), size
