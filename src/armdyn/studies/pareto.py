"""The Pareto front of a table: the rows that no other row beats in every objective."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from armdyn.names import listed
from armdyn.studies.errors import StudyError

_FEW = 4096  # pairs of rows that are compared at once


def pareto_front(table: Any, minimise: Iterable[str] = (), maximise: Iterable[str] = ()) -> np.ndarray:
    """Numbers (k,) of the rows that no other row beats: as good in every objective, better in one.

    `table` gives columns by name: a dictionary of arrays, a DataFrame, `study.results`. Columns of
    `minimise` are better where they are less, those of `maximise` where they are greater. Rows without a
    finite value in some objective are left out; equal rows are on the front together. The rows are ordered
    by the first objective, best first. It takes O(n log n) for two objectives, O(n logᵏ⁻¹ n) for k.
    """
    costs = np.column_stack(costs_of(table, minimise, maximise))
    finite = np.flatnonzero(np.isfinite(costs).all(1))
    distinct, first = np.unique(costs[finite], axis=0, return_inverse=True)
    rows = finite[_best(distinct)[first.ravel()]]
    ordered: np.ndarray = rows[np.lexsort((rows, *costs[rows].T[::-1]))]
    return ordered


def costs_of(table: Any, minimise: Iterable[str], maximise: Iterable[str]) -> list[np.ndarray]:
    """Columns (n,) that are better where they are less: objectives to be maximised change their sign."""
    low, high = ([names] if isinstance(names, str) else list(names) for names in (minimise, maximise))
    if not low and not high:
        raise StudyError("no objective: name a column to minimise or to maximise")
    if twice := {name for name in low + high if (low + high).count(name) > 1}:
        raise StudyError(f"objective {listed(sorted(twice))} is named twice; once is allowed")
    return [_column(table, name) for name in low] + [-_column(table, name) for name in high]


def _column(table: Any, name: str) -> np.ndarray:
    known = [str(other) for other in table]
    if name not in known:
        raise StudyError(f"objective '{name}' is no column of the table; its columns are {listed(known)}")
    found = np.asarray(table[name])
    if found.ndim != 1 or found.dtype.kind not in "biuf":
        kind = "text" if found.ndim == 1 else f"of shape {found.shape}"
        raise StudyError(f"objective '{name}' is {kind}; a column with one number a row is expected")
    return found.astype(float)


def _best(points: np.ndarray) -> np.ndarray:
    """Which (n,) of distinct points (n, k), in lexicographic order, have none that is nowhere above them."""
    best = np.ones(len(points), bool)
    if points.shape[1] == 1:
        best[1:] = False
    elif points.shape[1] == 2:
        best[1:] = points[1:, 1] < np.minimum.accumulate(points[:-1, 1])
    else:
        _divide(points, np.arange(len(points)), best)
    return best


def _divide(points: np.ndarray, rows: np.ndarray, best: np.ndarray) -> None:
    """Kung, Luccio and Preparata, J. ACM 22 (1975) 469: the earlier half can beat the later one only."""
    if len(rows) < 2:
        return
    middle = len(rows) // 2
    for half in (rows[:middle], rows[middle:]):
        _divide(points, half, best)
    _strike(points, rows[:middle], rows[middle:], 1, best)


def _strike(points: np.ndarray, strong: np.ndarray, weak: np.ndarray, m: int, best: np.ndarray) -> None:
    """Those of `weak` are not best that one of `strong` is at most equal to from column m on."""
    strong, weak = strong[best[strong]], weak[best[weak]]
    if not len(strong) or not len(weak):
        return
    if len(strong) * len(weak) <= _FEW:
        beaten = (points[strong, None, m:] <= points[None, weak, m:]).all(2).any(0)
        best[weak[beaten]] = False
    elif m == points.shape[1] - 2:
        best[weak[_swept(points[strong, m:], points[weak, m:])]] = False
    else:
        _cut(points, strong, weak, m, best)


def _cut(points: np.ndarray, strong: np.ndarray, weak: np.ndarray, m: int, best: np.ndarray) -> None:
    """Both parted at a value of column m: low ones can beat high ones whatever that column says."""
    a, b = points[strong, m], points[weak, m]
    values = np.unique(np.concatenate([a, b]))
    if len(values) == 1:
        _strike(points, strong, weak, m + 1, best)
        return
    at = np.partition(np.concatenate([a, b]), len(a) + len(b) >> 1)[len(a) + len(b) >> 1]
    at = min(at, values[-2])  # something is above it
    _strike(points, strong[a <= at], weak[b <= at], m, best)
    _strike(points, strong[a > at], weak[b > at], m, best)
    _strike(points, strong[a <= at], weak[b > at], m + 1, best)


def _swept(strong: np.ndarray, weak: np.ndarray) -> np.ndarray:
    """Which of `weak` (b, 2) some row of `strong` (a, 2) is at most equal to in both columns."""
    order = np.argsort(strong[:, 0], kind="stable")
    least = np.concatenate([[np.inf], np.minimum.accumulate(strong[order, 1])])
    found: np.ndarray = least[np.searchsorted(strong[order, 0], weak[:, 0], "right")] <= weak[:, 1]
    return found


def best_rows(
    table: Any, minimise: Iterable[str] = (), maximise: Iterable[str] = (), n: int = 10
) -> np.ndarray:
    """Numbers (at most n,) of the best rows: of one objective those with the best values, best first; of
    several, rows all along the Pareto front, evenly, from the best in the first objective to the worst.
    """
    costs = costs_of(table, minimise, maximise)
    if len(costs) == 1:
        finite = np.flatnonzero(np.isfinite(costs[0]))
        return np.asarray(finite[np.argsort(costs[0][finite], kind="stable")[:n]])
    front = pareto_front(table, minimise, maximise)
    m = min(n, len(front))
    return np.asarray(front[[k * (len(front) - 1) // max(m - 1, 1) for k in range(m)]])


def best_row(costs: Sequence[np.ndarray]) -> int | None:
    """The row with the least first cost, of equal ones with the least second, and so on; None: no row."""
    finite = np.flatnonzero(np.isfinite(np.column_stack(costs)).all(1))
    if not len(finite):
        return None
    return int(finite[np.lexsort((finite, *(cost[finite] for cost in costs[::-1])))[0]])
