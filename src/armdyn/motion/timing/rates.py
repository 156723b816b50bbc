"""The largest rate at which parabolas stay within their limits: |A k² + B k + C| ≤ limit for all of them.

The rates k that one row allows may form two intervals. The largest common rate is found from above: where a
row is beyond its limit at k, the next smaller root of that row is the next candidate. No admissible rate is
skipped, and the search ends because each root is used at most once. Other functions of the rate are looked at
on a fine grid of rates, and between the two at which they come within their limits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ROUNDING = 1e-13  # of a limit and of a row's terms: what rounding may add to a row that just meets it


@dataclass(frozen=True)
class Rate:
    """The largest rate, 0 where there is none and infinite where nothing bounds it.

    `row` is the row that bounds it, or the row that no rate below `tried` satisfies; None where it is `most`.
    """

    value: float
    row: int | None
    tried: float


def largest_rate(A: np.ndarray, B: np.ndarray, C: np.ndarray, limit: np.ndarray, most: float) -> Rate:
    """The largest k in (0, most] with |A k² + B k + C| ≤ limit, rows (m,) each; `most` may be infinite."""
    kept = np.flatnonzero(np.isfinite(limit))
    A, B, C, limit = (x[kept] for x in (A, B, C, limit))
    sizes = np.abs(A), np.abs(B), np.abs(C) + limit
    k, row = most, None
    if not np.isfinite(k):
        tops = _outermost(A, B, C, limit)
        if not tops.size or not np.isfinite(tops.min()):
            return Rate(np.inf, None, k)
        row, k = int(tops.argmin()), float(tops.min())
    while k > 0:
        value = k * (k * A + B) + C
        slack = ROUNDING * (k * (k * sizes[0] + sizes[1]) + sizes[2])
        bad = np.flatnonzero(np.abs(value) - limit > slack)
        if not bad.size:
            return Rate(k, None if row is None else int(kept[row]), k)
        sign = np.sign(value[bad])
        lower = _root_below(sign * A[bad], sign * B[bad], sign * C[bad] - limit[bad], k)
        first = int(lower.argmin())
        row, tried, k = int(bad[first]), k, float(lower[first])
        if k <= 0:
            return Rate(0.0, int(kept[row]), tried)
    return Rate(0.0, None if row is None else int(kept[row]), k)


LOWEST, HIGHEST, EACH = 1e-6, 1e6, 1.01  # the rates that are looked at, and the ratio between two of them


def searched_rate(shares: Callable[[float], np.ndarray], most: float) -> Rate:
    """The largest k in (0, most] at which no share (m,) of a limit is more than 1; `most` may be infinite.

    Rates are looked at from above, 1 % apart: an admissible range narrower than that may be overlooked.
    """
    top = min(most, HIGHEST)
    if (shares(top) <= 1 + ROUNDING).all():
        return Rate(most, None, most)
    bad, k = top, top / EACH
    while not (shares(k) <= 1).all():
        bad, k = k, k / EACH
        if k < LOWEST * min(top, 1.0):
            return Rate(0.0, int(np.argmax(shares(0.0))), bad)
    while bad - k > 1e-14 * bad:
        middle = (k + bad) / 2
        if middle in (k, bad):
            break
        if (shares(middle) <= 1).all():
            k = middle
        else:
            bad = middle
    return Rate(k, int(np.argmax(shares(bad))), top)


def _outermost(A: np.ndarray, B: np.ndarray, C: np.ndarray, limit: np.ndarray) -> np.ndarray:
    """The rate above which a row is beyond its limit for good, zero if at every rate; infinite if never."""
    rises = np.where(A != 0, np.sign(A), np.sign(B))
    roots = _root_below(rises * A, rises * B, rises * C - limit, np.inf)
    never = np.abs(C) - limit > ROUNDING * (np.abs(C) + limit)
    return np.where(rises == 0, np.where(never, 0.0, np.inf), roots)


def _root_below(A: np.ndarray, B: np.ndarray, C: np.ndarray, k: float) -> np.ndarray:
    """The largest root of A x² + B x + C in (0, k); 0 where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sum_ = -0.5 * (B + np.copysign(np.sqrt(B * B - 4 * A * C), B))  # no cancellation in either root
        roots = np.stack([sum_ / A, C / sum_])
        inside = np.isfinite(roots) & (roots > 0) & (roots < k)
    return np.asarray(np.where(inside, roots, 0.0).max(0, initial=0.0))
