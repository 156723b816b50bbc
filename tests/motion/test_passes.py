"""The passes over a path: compiled, evaluated and in plain Python; reachable x and linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog

from armdyn.kernels import loop_kernel
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.motion.timing.passes import PathPass, PathRows, passes, path_pass
from armdyn.program.evaluate import evaluate_loop
from arms import slowly


def random_rows(rng: np.random.Generator, count: int = 30, m: int = 8) -> PathRows:
    """Rows around a smooth feasible u; now and then a nearly vertical one, as at a zero-inertia point."""
    slope = rng.normal(0, 3, (count, m)).cumsum(0) / 5
    size = rng.uniform(0.5, 3, (count, m)) * np.where(rng.random((count, m)) < 0.05, 1e6, 1.0)
    middle = rng.normal(0, 0.3, (count, m))
    most = rng.uniform(0.5, 4, count + 1)
    most[[0, -1]] = 0.0
    return PathRows(rng.uniform(0.01, 0.05, count), slope, middle - size, middle + size, most)


def reference(rows: PathRows) -> PathPass:
    """The passes in plain Python."""
    count = len(rows.slope)
    x, u, reach = np.zeros(count + 1), np.zeros(count), np.zeros((count + 1, 2))
    reach[count, 1] = rows.most[count]
    for i in range(count - 1, -1, -1):
        lines = _lines(rows, i, reach[i + 1])
        top, upper, lower = _down(*lines, float(rows.most[i]))
        if top < 0:
            return PathPass(x, u, reach, i, upper, lower)
        reach[i] = _up(*lines, top), top
    x[0] = reach[0, 1]
    for i in range(count):
        slope, low, high = _lines(rows, i, reach[i + 1])
        here, _, _ = _down(slope, low, high, float(x[i]))  # takes off what rounding may have added
        here = float(x[i]) if here < 0 else here
        u[i] = np.min(high + slope * here)
        x[i + 1] = min(max(here + rows.step[i] * u[i], reach[i + 1, 0]), reach[i + 1, 1])
    return PathPass(x, u, reach, -1, -1, -1)


def _lines(rows: PathRows, i: int, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope, low and high of the rows of an interval and of the row that leads into `reach`."""
    step = rows.step[i]
    return (
        np.append(rows.slope[i], -1 / step),
        np.append(rows.low[i], reach[0] / step),
        np.append(rows.high[i], reach[1] / step),
    )


def _down(slope: np.ndarray, low: np.ndarray, high: np.ndarray, x: float) -> tuple[float, int, int]:
    """The largest x not above the given one that has a u, or −1; and the rows met last.

    Newton's method on the concave gap: a step leads to where the two rows that exclude each other meet, and
    passes over no x that has a u.
    """
    while True:
        j, k = int(np.argmin(high + slope * x)), int(np.argmax(low + slope * x))
        if high[j] + slope[j] * x >= low[k] + slope[k] * x:
            return x, j, k
        tilt = slope[j] - slope[k]
        meet = (low[k] - high[j]) / tilt if tilt < 0 else -1.0
        if meet < 0:
            return -1.0, j, k
        if not meet < x:
            return x, j, k
        x = meet


def _up(slope: np.ndarray, low: np.ndarray, high: np.ndarray, top: float) -> float:
    """The least x that has a u; there is one, `top`."""
    x = 0.0
    while True:
        j, k = int(np.argmin(high + slope * x)), int(np.argmax(low + slope * x))
        tilt = slope[j] - slope[k]
        if high[j] + slope[j] * x >= low[k] + slope[k] * x or tilt <= 0:
            return x
        meet = (low[k] - high[j]) / tilt
        if not x < meet:
            return x
        if meet >= top:
            return top
        x = meet


@pytest.mark.parametrize("seed", [*range(5), *map(slowly, range(5, 20))])
def test_loop_and_plain_python(seed: int) -> None:
    rows = random_rows(np.random.default_rng(seed))
    found, expected = path_pass(rows), reference(rows)
    assert found.failed == expected.failed
    if expected.failed < 0:
        for name in ("x", "u", "reach"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12)
    else:
        assert {found.upper, found.lower} == {expected.upper, expected.lower}


@pytest.mark.parametrize("register", [slowly(16), 32, slowly(64)])
def test_several_paths_at_once(register: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled for 21 paths, by the evaluator, and path by path; some fail, at different intervals."""
    monkeypatch.setattr(loop_kernel, "vector_bytes", lambda: register)
    paths = [random_rows(np.random.default_rng(seed), m=20) for seed in range(21)]
    names = ("step", "slope", "low", "high", "most")
    given = {name: np.stack([getattr(p, name).ravel() for p in paths], 1)[..., None] for name in names}
    sizes = {"x": (31, 1), "u": (30, 1), "reach": (31, 2), "failure": (1, 3)}
    found, expected = ({name: np.zeros((k, 21, c)) for name, (k, c) in sizes.items()} for _ in range(2))
    counts = {"count": 30, "rows": 20}
    LoopKernel(passes())(21, counts, given | found)
    evaluate_loop(passes(), 21, counts, given | expected)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-9, atol=1e-12)
    assert len(np.unique(found["failure"][0, :, 0])) > 2
    for k, path in enumerate(paths):
        alone = path_pass(path)
        assert list(found["failure"][0, k]) == [alone.failed, alone.upper, alone.lower]
        np.testing.assert_allclose(found["x"][:, k, 0], alone.x, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found["reach"][:, k], alone.reach, rtol=1e-9, atol=1e-12)


def test_reachable_intervals_and_linear_programs() -> None:
    for seed in range(5):
        rows = random_rows(np.random.default_rng(seed), count=12, m=5)
        found = path_pass(rows)
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


def test_wrong_shapes_are_refused() -> None:
    rows = random_rows(np.random.default_rng(0))
    with pytest.raises(ValueError, match="rows of shapes"):
        path_pass(PathRows(rows.step[:-1], rows.slope, rows.low, rows.high, rows.most))
