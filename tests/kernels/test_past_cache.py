"""Large results, which are written past the cache: the same numbers as small ones, wherever they go."""

import numpy as np
import pytest

from armdyn import Robot, set_threads
from armdyn.kernels.llvm import compiled

ROWS = 2**21 // (49 * 8) + 100  # of the Panda's inertia: a little more than stays in the cache


@pytest.fixture(scope="module")
def large():
    """Positions, and inertia matrices row by row in small parts."""
    robot = Robot.load("panda")
    q = np.random.default_rng(1).uniform(-2, 2, (2 * ROWS, robot.n))
    assert robot.inertia(q[:ROWS]).nbytes > compiled.PAST_CACHE
    return robot, q, np.concatenate([robot.inertia(part) for part in np.array_split(q, 20)])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rows", [ROWS, ROWS + 1, 2 * ROWS - 3])
def test_as_many_small_ones(large, rows, threads):
    robot, q, expected = large
    set_threads(threads)
    try:
        np.testing.assert_array_equal(robot.inertia(q[:rows]), expected[:rows])
    finally:
        set_threads(None)


@pytest.mark.parametrize("start", range(9))
def test_wherever_rows_begin(large, start):
    """Nothing beside the rows is touched."""
    robot, q, expected = large
    memory = np.full(ROWS * 49 + 32, np.nan)
    out = memory[start : start + ROWS * 49].reshape(ROWS, 7, 7)
    robot.inertia(q[:ROWS], out=out)
    np.testing.assert_array_equal(out, expected[:ROWS])
    assert np.isnan(memory[:start]).all()
    assert np.isnan(memory[start + ROWS * 49 :]).all()


def test_rows_with_gaps(large):
    robot, q, expected = large
    memory = np.full((ROWS, 9, 7), np.nan)
    robot.inertia(q[:ROWS], out=memory[:, 1:8])
    np.testing.assert_array_equal(memory[:, 1:8], expected[:ROWS])
    assert np.isnan(memory[:, [0, 8]]).all()


def test_single_precision(large):
    robot, q, _ = large
    x = q.astype(np.float32)
    parts = np.concatenate([robot.inertia(part) for part in np.array_split(x, 20)])
    np.testing.assert_array_equal(robot.inertia(x), parts)
