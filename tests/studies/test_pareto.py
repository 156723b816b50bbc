"""Pareto fronts against all pairs compared."""

import numpy as np
import pytest

from armdyn.studies.errors import StudyError
from armdyn.studies.findings import best_row, costs_of, pareto_front
from golden_messages import golden_error


def by_all_pairs(costs):
    """Rows (n, k) that no other row is as good as everywhere and better than somewhere."""
    as_good = (costs[:, None] <= costs[None]).all(2)
    better = (costs[:, None] < costs[None]).any(2)
    return np.flatnonzero(~(as_good & better).any(0) & np.isfinite(costs).all(1))


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("values", [4, 30, None], ids=["few values", "some equal", "all different"])
def test_fronts_are_those_of_all_pairs(columns, values):
    rng = np.random.default_rng(100 * columns + (values or 0))
    for n in (1, 2, 7, 300, 700):
        x = rng.normal(size=(n, columns)) if values is None else rng.integers(values, size=(n, columns)) * 1.0
        x[rng.random(n) < 0.05, 0] = np.nan
        names = [f"r{k}" for k in range(columns)]
        table = dict(zip(names, x.T, strict=True))
        signs = np.where(np.arange(columns) % 2, -1, 1)
        found = pareto_front(table, names[::2], names[1::2])
        assert sorted(found) == list(by_all_pairs(x * signs))
        assert list(x[found, 0]) == sorted(x[found, 0])


def test_a_front_on_which_all_rows_are_takes_no_pairs():
    """Points of a sphere's octant do not beat each other: by all pairs this would be 10⁹ comparisons."""
    rng = np.random.default_rng(3)
    x = np.abs(rng.normal(size=(30_000, 3)))
    x /= np.linalg.norm(x, axis=1)[:, None]
    table = {"x": x[:, 0], "y": x[:, 1], "z": x[:, 2]}
    assert len(pareto_front(table, maximise=["x", "y", "z"])) == len(x)


def test_the_best_row_is_the_first_of_equal_ones_and_none_where_all_failed():
    table = {"mass": np.array([3.0, 1, 1, np.nan]), "time": np.array([0.0, 2, 1, 0])}
    assert best_row(costs_of(table, ["mass", "time"], [])) == 2
    assert best_row(costs_of(table, ["mass"], [])) == 1
    assert best_row(costs_of(table, [], ["mass"])) == 0
    assert best_row([np.full(3, np.nan)]) is None
    assert pareto_front({"mass": np.full(3, np.nan)}, ["mass"]).size == 0


@pytest.mark.parametrize(
    ("minimise", "maximise"),
    [([], []), (["weight"], []), (["mass"], ["mass"]), (["name"], []), ("mass", ["torques"])],
)
def test_what_is_no_objective_is_refused(minimise, maximise):
    table = {"mass": np.ones(3), "name": np.array(["a", "b", "c"]), "torques": np.ones((3, 2))}
    with golden_error(StudyError):
        pareto_front(table, minimise, maximise)
