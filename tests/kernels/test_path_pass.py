"""The passes over a path: compiled against reference, reference against linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog

import armdyn
from armdyn.kernels.loops.path_pass import PathRows, path_pass, path_pass_reference


def random_rows(rng: np.random.Generator, count: int = 30, m: int = 8) -> PathRows:
    """Rows around a smooth feasible u; now and then a nearly vertical one, as at a zero-inertia point."""
    slope = rng.normal(0, 3, (count, m)).cumsum(0) / 5
    size = rng.uniform(0.5, 3, (count, m)) * np.where(rng.random((count, m)) < 0.05, 1e6, 1.0)
    middle = rng.normal(0, 0.3, (count, m))
    most = rng.uniform(0.5, 4, count + 1)
    most[[0, -1]] = 0.0
    return PathRows(rng.uniform(0.01, 0.05, count), slope, middle - size, middle + size, most)


@pytest.mark.parametrize("seed", range(20))
def test_compiled_and_reference(seed: int) -> None:
    rows = random_rows(np.random.default_rng(seed))
    compiled, reference = path_pass(rows), path_pass_reference(rows)
    assert compiled.failed == reference.failed
    if reference.failed < 0:
        for found, expected in zip(
            (compiled.x, compiled.u, compiled.reach),
            (reference.x, reference.u, reference.reach),
            strict=True,
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    else:
        assert {compiled.upper, compiled.lower} == {reference.upper, reference.lower}


def test_reachable_intervals_and_linear_programs() -> None:
    for seed in range(5):
        rows = random_rows(np.random.default_rng(seed), count=12, m=5)
        found = path_pass_reference(rows)
        assert found.failed < 0
        for i in range(12):
            slope, step = rows.slope[i][:, None], rows.step[i]
            ones = np.ones_like(slope)
            lead = np.array([[1.0, step]])  # x and u of the x reached at the interval's end
            A = np.vstack([np.hstack([-slope, ones]), np.hstack([slope, -ones]), lead, -lead])
            b = np.concatenate([rows.high[i], -rows.low[i], [found.reach[i + 1, 1], -found.reach[i + 1, 0]]])
            for sign, expected in zip((1, -1), found.reach[i], strict=True):
                best = linprog([sign, 0], A, b, bounds=[(0, rows.most[i]), (None, None)])
                assert abs(best.x[0] - expected) < 1e-7


def test_profile_and_its_rows() -> None:
    for seed in range(10):
        rows = random_rows(np.random.default_rng(seed))
        found = path_pass(rows)
        u = np.diff(found.x) / rows.step
        gap = u[:, None] - rows.slope * found.x[:-1, None]
        size = np.maximum(1.0, np.abs(rows.high))
        assert ((rows.low - gap) / size).max() < 1e-9
        assert ((gap - rows.high) / size).max() < 1e-9
        assert (found.x <= rows.most + 1e-12).all()


def test_contradicting_rows_are_named() -> None:
    rows = random_rows(np.random.default_rng(0))
    low, high = rows.low.copy(), rows.high.copy()
    low[7, 2], high[7, 2] = 5e3, 6e3
    low[7, 5], high[7, 5] = -6e3, -5e3
    slope = rows.slope.copy()
    slope[7, [2, 5]] = 0.0
    found = path_pass(PathRows(rows.step, slope, low, high, rows.most))
    assert (found.failed, found.upper, found.lower) == (7, 5, 2)


def test_evaluator_runs_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr(
        "armdyn.kernels.loops.path_pass.path_pass_reference", lambda rows: calls.append(rows) or "reference"
    )
    armdyn.set_backend("evaluator")
    try:
        assert path_pass(random_rows(np.random.default_rng(0))) == "reference"
    finally:
        armdyn.set_backend("compiled")
    assert len(calls) == 1


def test_wrong_shapes_are_refused() -> None:
    rows = random_rows(np.random.default_rng(0))
    with pytest.raises(ValueError, match="rows of shapes"):
        path_pass(PathRows(rows.step[:-1], rows.slope, rows.low, rows.high, rows.most))
