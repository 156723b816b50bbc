"""Instants: which of them are the same up to rounding, and where between two of them something changes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SAME_INSTANT = 1e-12  # relative: instants closer than this are one
ROUNDING = 8 * np.finfo(float).eps  # of the magnitudes of its terms: what a sum may be off by
PARTS = 32  # into which an interval is cut in one round of `change_between`


def nearest(t: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """Indices (N,) of the sorted instants (K,), K ≥ 1, that are nearest to t (N,)."""
    after = np.searchsorted(instants, t).clip(1, max(1, len(instants) - 1))
    last = after.clip(max=len(instants) - 1)
    return np.asarray(after - (np.abs(t - instants[after - 1]) <= np.abs(t - instants[last])))


def is_near(t: np.ndarray, instants: np.ndarray, tolerance: float) -> np.ndarray:
    """True (N,) where t (N,) is within `tolerance` of one of the sorted instants (K,)."""
    if not len(instants):
        return np.zeros(len(t), bool)
    return np.asarray(np.abs(t - instants[nearest(t, instants)]) <= tolerance)


def snapped(
    t: np.ndarray,
    instants: np.ndarray,
    values: np.ndarray | None = None,
    at: np.ndarray | None = None,
) -> np.ndarray:
    """Times t (N,), moved onto one of the sorted `instants` (K,) where they are equal up to rounding.

    With `values` (K,) and `at` (N,) it is `at` that is returned, and the value of the instant where t is one.
    Times that have been scaled and scaled back miss the jump they stand for by a rounding error. They would
    be on its wrong side; or miss the end, where the arm rests.
    """
    values, at = instants if values is None else values, t if at is None else at
    if not len(instants):
        return at
    k = nearest(t, instants)
    tolerance = SAME_INSTANT * np.abs(t) + ROUNDING * np.abs(instants).max()
    return np.where(np.abs(t - instants[k]) <= tolerance, values[k], at)


def change_between(
    holds: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Instants (N,) between a (N,) and b (N,) at which a condition that holds at a ceases to, to rounding.

    `holds` takes instants (N, k), a row for each interval, and says (N, k) whether the condition holds.
    Returned are the last instant found at which it holds and the first at which it does not.
    """
    part = np.arange(1, PARTS) / PARTS
    for _ in range(10 if len(a) else 0):  # 32^10 = 2^50
        t = np.column_stack([a, a[:, None] + (b - a)[:, None] * part, b])
        k = np.argmin(np.column_stack([holds(t[:, 1:-1]), np.zeros(len(a), bool)]), axis=1)
        rows = np.arange(len(a))
        a, b = t[rows, k], t[rows, k + 1]
    return a, b
