"""Sobol indices and rank correlations against closed forms and SciPy."""

import numpy as np
import pytest
from scipy import stats

from armdyn.studies.errors import StudyError
from armdyn.studies.findings import rank_correlations, sobol_indices
from golden_messages import golden_error

A, B = 7.0, 0.1


def ishigami(x):
    """T. Ishigami, T. Homma: An importance quantification technique in uncertainty analysis, ISUMA 1990."""
    return np.sin(x[..., 0]) + A * np.sin(x[..., 1]) ** 2 + B * x[..., 2] ** 4 * np.sin(x[..., 0])


def ishigami_indices():
    """First-order and total indices for x uniform in ±π, by integration."""
    v1 = (1 + B * np.pi**4 / 5) ** 2 / 2
    v2 = A**2 / 8
    v13 = B**2 * np.pi**8 * (1 / 18 - 1 / 50)
    whole = v1 + v2 + v13
    return np.array([v1, v2, 0]) / whole, np.array([v1 + v13, v2, v13]) / whole


def runs(function, n, d, seed):
    """Results of a Saltelli design of Sobol points in ±π."""
    points = 2 * np.pi * stats.qmc.Sobol(2 * d, rng=np.random.default_rng(seed)).random(n) - np.pi
    first, second = points[:, :d], points[:, d:]
    mixed = np.stack([np.where(np.arange(d) == i, second, first) for i in range(d)])
    return function(first), function(second), function(mixed)


def test_indices_of_the_ishigami_function_are_those_of_its_integrals():
    found = sobol_indices(*runs(ishigami, 2**14, 3, 1))
    first, total = ishigami_indices()
    assert first == pytest.approx([0.3139, 0.4424, 0], abs=1e-4)  # as printed in many places
    assert found.first == pytest.approx(first, abs=0.005)
    assert found.total == pytest.approx(total, abs=0.005)
    for low_high, exact in ((found.first_interval, first), (found.total_interval, total)):
        low, high = low_high
        assert ((low <= exact) & (exact <= high)).all()
        assert (high - low < 0.06).all()


def test_indices_are_those_of_scipy():
    a, b, ab = runs(ishigami, 512, 3, 2)
    found = sobol_indices(a, b, ab)
    theirs = stats.sobol_indices(func={"f_A": a[None], "f_B": b[None], "f_AB": ab[:, None]}, n=512)
    assert found.first == pytest.approx(theirs.first_order, abs=1e-12)
    assert found.total == pytest.approx(theirs.total_order, abs=1e-12)
    bootstrap = theirs.bootstrap(n_resamples=300)
    for own, other in (
        (found.first_interval, bootstrap.first_order),
        (found.total_interval, bootstrap.total_order),
    ):
        width = np.diff(other.confidence_interval, axis=0).ravel()
        assert np.diff(own, axis=0).ravel() == pytest.approx(width, rel=0.3, abs=1e-3)


def test_groups_with_a_failed_run_are_left_out_and_a_constant_has_no_influence():
    a, b, ab = runs(ishigami, 256, 3, 3)
    ab[1, 7] = a[20] = b[21] = np.nan
    kept = np.setdiff1d(np.arange(256), [7, 20, 21])
    found, other = sobol_indices(a, b, ab), sobol_indices(a[kept], b[kept], ab[:, kept])
    assert found.n == 253
    assert np.array_equal(found.first, other.first)
    assert np.array_equal(found.total_interval, other.total_interval)
    constant = sobol_indices(np.ones(8), np.ones(8), np.ones((2, 8)))
    assert not constant.first.any()
    assert not constant.total_interval.any()


@pytest.mark.parametrize(
    "shapes", [((4,), (5,), (2, 4)), ((4,), (4,), (4, 2)), ((0,), (0,), (2, 0))], ids=str
)
def test_runs_that_are_no_saltelli_design_are_refused(shapes):
    with golden_error(StudyError):
        sobol_indices(*(np.ones(shape) for shape in shapes))


def test_rank_correlations_are_those_of_scipy_with_ties_and_failures():
    rng = np.random.default_rng(4)
    cases = {"mass": rng.random(200), "gear": rng.integers(4, size=200), "same": np.ones(200)}
    rms = np.exp(cases["mass"] + 0.3 * cases["gear"] + 0.3 * rng.normal(size=200))
    peak = np.round(-cases["gear"] + rng.normal(size=200))
    peak[::9] = np.nan
    found = rank_correlations(cases, {"rms": rms, "peak": peak, "none": np.full(200, np.nan)})
    for i, x in enumerate(list(cases.values())[:2]):
        for k, y in enumerate((rms, peak)):
            rows = np.isfinite(y)
            assert found.values[i, k] == pytest.approx(stats.spearmanr(x[rows], y[rows]).statistic, abs=1e-12)
    assert np.isnan(found.values[2]).all()
    assert np.isnan(found.values[:, 2]).all()
    assert found.counts.tolist() == [200, 177, 0]


def test_intervals_of_rank_correlations_hold_the_true_one_as_often_as_they_say():
    """Of normal variables with correlation r, Spearman's is 6/π asin(r/2) (Pearson 1907)."""
    rng, r = np.random.default_rng(5), 0.6
    x = rng.normal(size=(400, 60))
    y = r * x + np.sqrt(1 - r**2) * rng.normal(size=(400, 60))
    true, held = 6 / np.pi * np.arcsin(r / 2), 0
    for one, other in zip(x, y, strict=True):
        low, high = rank_correlations({"x": one}, {"y": other}).intervals[:, 0, 0]
        held += low <= true <= high
    assert 0.92 < held / 400 < 0.98
