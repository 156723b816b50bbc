"""Bodies that no matter can form -> the nearest ones that some can."""

from __future__ import annotations

from itertools import product

import numpy as np

from armdyn.expression import Expression
from armdyn.model.bodies import TOLERANCE
from armdyn.model.inertia import Tensor, matrix_tensor, tensor, tensor_matrix
from armdyn.model.vector import vector

# Principal moments are sums of second moments, of which none is negative: I₁ = s₂ + s₃ and so on.
_SUMS = np.ones((3, 3)) - np.eye(3)


def repaired_tensor(given: Tensor) -> tuple[Tensor, str] | None:
    """The possible tensor nearest to this one, and what was changed; None where it is possible already.

    Nearest by the sum of squares of all entries: the axes stay, and the principal moments become the nearest
    ones that are not negative and keep the triangle inequality.
    """
    M = np.array([[Expression.of(x).value() for x in row] for row in tensor_matrix(given)])
    moments, axes = np.linalg.eigh(M)
    size = float(abs(moments).max())
    low, middle, high = moments
    if low >= -TOLERANCE * size and high <= low + middle + TOLERANCE * size:
        return None
    nearest = _nearest_moments(moments)
    R = axes * nearest @ axes.T
    entries = [[Expression.of(float(x)) for x in row] for row in (R + R.T) / 2]
    found = ", ".join(f"{x:.6g}" for x in moments)
    taken = ", ".join(f"{x:.6g}" for x in nearest)
    rows = vector(vector(row) for row in entries)
    return tensor(matrix_tensor(rows)), f"principal moments {found} become {taken}"


def _nearest_moments(moments: np.ndarray) -> np.ndarray:
    """The nearest sums of second moments that are not negative, by trying which of them are zero."""
    best, least = np.zeros(3), float(np.sum(moments**2))
    for kept in product((False, True), repeat=3):
        if not any(kept):
            continue
        A = _SUMS[:, kept]
        second = np.linalg.lstsq(A, moments, rcond=None)[0]
        if (second < 0).any():
            continue
        found = A @ second
        distance = float(np.sum((found - moments) ** 2))
        if distance < least:
            best, least = found, distance
    return best
