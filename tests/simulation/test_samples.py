"""Instants kept: a step apart, and the end; the fixed steps between them."""

from itertools import pairwise

import numpy as np
import pytest

from armdyn import Robot
from armdyn.simulation import simulate
from armdyn.simulation.trace import TimeGrid
from sliders import slider

PLANAR = Robot.load("planar")
Q0 = np.array([0.3, 0.5])
METHODS = ("adaptive", "rk4")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("duration", "rows"), [(0.0537, 55), (0.05, 51), (0.0003, 2), (0.0100001, 12)])
def test_rows_are_a_step_apart_and_the_last_is_the_end(method, duration, rows, tmp_path):
    run = simulate(PLANAR, Q0, [0, 0], duration, method=method)
    assert len(run.t) == rows
    np.testing.assert_array_equal(run.t[:-1], np.arange(rows - 1) * 1e-3)
    assert run.t[-1] == duration
    run.to_csv(tmp_path / "run.csv")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    np.testing.assert_array_equal(table["t"], run.t)


def test_a_shorter_last_step_and_the_run_in_adaptive_steps():
    for step, output in ((1e-3, None), (1e-3, 0.01), (3e-3, 0.01), (3e-3, 10.0), (2e-3, 1e-3)):
        fixed = simulate(PLANAR, Q0, [1, 0], 0.1234, [50.0, 9.0], method="rk4", step=step, output=output)
        adaptive = simulate(PLANAR, Q0, [1, 0], 0.1234, [50.0, 9.0], step=step, output=output)
        np.testing.assert_array_equal(fixed.t, adaptive.t)
        np.testing.assert_allclose(fixed.q, adaptive.q, atol=1e-9)


@pytest.mark.parametrize("given", ["function", "samples"])
@pytest.mark.parametrize("output", [None, 0.005])
def test_torques_over_time_at_the_instants_of_uneven_steps(given, output):
    """m ẍ = t over 0.0537 s: x = t³/6m, exact for steps of fourth order, at every instant kept."""
    end = 0.0537
    torque = np.array([[0.0], [end]]) if given == "samples" else lambda t, q, qd: [t]
    run = simulate(slider(2.0, 0.0), [0.0], [0.0], end, torque, method="rk4", step=2e-3, output=output)
    np.testing.assert_allclose(run.q[:, 0], run.t**3 / 12, rtol=1e-11)
    np.testing.assert_allclose(run.tau[:, 0], run.t, atol=1e-15)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 100, 10**6])
@pytest.mark.parametrize(
    ("duration", "output", "step"),
    [(0.1, 0.01, 0.001), (0.1234, 0.01, 0.003), (0.0537, 0.002, 0.002), (0.01, 0.01, 0.004), (1.0, 0.3, 0.4)],
)
def test_stretches_in_any_pieces_and_all_steps_in_one(duration, output, step, most):
    grid = TimeGrid(duration, output, step)
    pieces = list(grid.chunks(most))
    times = np.concatenate([x.halves()[:-1] for x in pieces] + [[duration]])
    whole = np.concatenate([x.halves()[:-1] for x in grid.chunks(10**9)] + [[duration]])
    np.testing.assert_array_equal(times, whole)
    assert sum(x.steps for x in pieces) == grid.row_steps[-1] == (len(times) - 1) // 2
    assert all(x.steps <= max(most, x.every) and x.every <= most for x in pieces)
    steps = np.diff(times[::2])
    assert (steps <= step * (1 + 1e-9)).all()
    assert set(grid.t) <= set(times[::2])
    found = [grid.time(k) for k in range(grid.row_steps[-1] + 1)]
    np.testing.assert_allclose(found, times[::2], atol=1e-15)
    for a, b in pairwise(grid.t):
        within = steps[(times[:-1:2] >= a) & (times[:-1:2] < b)]
        np.testing.assert_allclose(within, (b - a) / np.ceil((b - a) / step * (1 - 1e-12)), rtol=1e-9)


def test_durations_that_miss_a_multiple_by_rounding():
    for duration in (0.1 + 0.2, 0.3, 1 - 1e-16, 0.7 * 3):
        assert len(simulate(PLANAR, Q0, [0, 0], duration, output=0.1).t) == round(duration / 0.1) + 1
