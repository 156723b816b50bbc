"""What a table of designs tells: the Pareto front, Sobol indices and rank correlations, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from armdyn.names import listed
from armdyn.studies.errors import StudyError

# ------------------------------------------------------------------------------------------------------------
# The rows that no other row beats in every objective.


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


# ------------------------------------------------------------------------------------------------------------
# The columns that move the results.


_AT_ONCE = 4_000_000  # numbers of resamples held at once


@dataclass(frozen=True, eq=False)
class SobolIndices:
    """Shares of the variance of a result that come from each of d columns.

    `first` (d,): by that column alone; `total` (d,): with all it does together with others. The intervals
    (2, d) are those of the bootstrap over the n groups of runs that are complete.
    """

    first: np.ndarray
    total: np.ndarray
    first_interval: np.ndarray
    total_interval: np.ndarray
    n: int


def sobol_indices(
    a: Any, b: Any, ab: Any, *, confidence: float = 0.95, resamples: int = 1000, seed: int = 0
) -> SobolIndices:
    """Sobol indices of a result from the runs of a Saltelli design.

    `a` (n,) and `b` (n,) are the results for two independent tables of cases, `ab` (d, n) those for the
    first table with column i taken from the second. First-order indices by Saltelli and others, Comput.
    Phys. Commun. 181 (2010) 259, table 2 (b); total ones by Jansen, there (f): as `scipy.stats.sobol_indices`
    has them. A group of runs in which one failed (not finite) is left out; `n` says how many are left.
    `confidence` is that of the percentile intervals, found by `resamples` draws of groups by `seed`.
    """
    a, b, ab = _runs(a, b, ab)
    kept = np.isfinite(a) & np.isfinite(b) & np.isfinite(ab).all(0)
    n, d = int(kept.sum()), len(ab)
    if n < 2:
        raise StudyError(f"Sobol indices need two complete groups of runs; {n} of {len(kept)} are complete")
    mean = (a[kept].mean() + b[kept].mean()) / 2
    a, b, ab = a[kept] - mean, b[kept] - mean, ab[:, kept] - mean
    terms = np.vstack([b * (ab - a), (a - ab) ** 2 / 2, [(a + b) / 2, (a**2 + b**2) / 2]])
    found = _indices(terms.mean(1))
    draws = _indices(_resampled(terms, resamples, np.random.default_rng(seed)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return SobolIndices(found[:d], found[d:], np.stack([low[:d], high[:d]]), np.stack([low[d:], high[d:]]), n)


def _runs(a: Any, b: Any, ab: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b, ab = (np.asarray(x, float) for x in (a, b, ab))
    if a.ndim != 1 or b.shape != a.shape or ab.ndim != 2 or ab.shape[1:] != a.shape:
        raise StudyError(
            f"runs of a Saltelli design: found shapes {a.shape}, {b.shape} and {ab.shape}; "
            "(n,), (n,) and (d, n) are expected"
        )
    return a, b, ab


def _indices(means: np.ndarray) -> np.ndarray:
    """(…, 2 d) from the means (…, 2 d + 2) of the terms; zero where the result does not vary."""
    variance = (means[..., -1] - means[..., -2] ** 2)[..., None]
    shares = np.zeros_like(means[..., :-2])
    np.divide(means[..., :-2], variance, out=shares, where=variance > 0)
    return shares


def _resampled(terms: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Means (resamples, k) of the terms (k, n) over n groups drawn with repetition."""
    n, found = terms.shape[1], []
    size = max(1, _AT_ONCE // n)
    for start in range(0, resamples, size):
        rows = min(size, resamples - start)
        drawn = rng.integers(n, size=(rows, n)) + n * np.arange(rows)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
        found.append(counts @ terms.T / n)
    return np.concatenate(found)


@dataclass(frozen=True, eq=False)
class RankCorrelations:
    """Spearman's rank correlations of columns with results, and their intervals; NaN where one does not vary.

    `values` (columns, results) and `intervals` (2, columns, results), in the order of `columns` and
    `results`; `counts` (results,) are the rows that have both.
    """

    columns: tuple[str, ...]
    results: tuple[str, ...]
    values: np.ndarray
    intervals: np.ndarray
    counts: np.ndarray


def rank_correlations(
    columns: Mapping[str, Any], results: Mapping[str, Any], *, confidence: float = 0.95
) -> RankCorrelations:
    """Rank correlation of each column with each result, over the rows in which all columns and it are finite.

    Equal values share their mean rank. The intervals are Fisher's, with the variance (1 + ρ²/2)/(n − 3) of
    Bonett and Wright, Psychometrika 65 (2000) 23.
    """
    x = np.column_stack([np.asarray(column, float) for column in columns.values()])
    whole = np.isfinite(x).all(1)
    values, counts = np.full((len(columns), len(results)), np.nan), []
    ranked: dict[bytes, np.ndarray] = {}
    for k, column in enumerate(results.values()):
        y = np.asarray(column, float)
        rows = whole & np.isfinite(y)
        counts.append(int(rows.sum()))
        if counts[-1] < 2:
            continue
        key = rows.tobytes()  # most results fail in the same rows: their columns are ranked once
        if key not in ranked:
            ranked[key] = _standard_ranks(x[rows])
        values[:, k] = ranked[key].T @ _standard_ranks(y[rows, None])[:, 0]
    return RankCorrelations(
        tuple(columns),
        tuple(results),
        values,
        _fisher(values, np.array(counts), confidence),
        np.array(counts),
    )


def _standard_ranks(x: np.ndarray) -> np.ndarray:
    """Ranks of each column of (n, k), about their mean, of length one; NaN where a column does not vary."""
    ranks: np.ndarray = rankdata(x, axis=0) - (len(x) + 1) / 2
    length = np.linalg.norm(ranks, axis=0)
    return ranks / np.where(length > 0, length, np.nan)


def _fisher(rho: np.ndarray, n: np.ndarray, confidence: float) -> np.ndarray:
    wide = norm.ppf((1 + confidence) / 2) * np.sqrt((1 + rho**2 / 2) / np.where(n > 3, n - 3, np.nan))
    z = np.arctanh(np.clip(rho, -1 + 1e-15, 1 - 1e-15))
    return np.stack([np.tanh(z - wide), np.tanh(z + wide)])
