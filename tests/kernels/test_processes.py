"""A compiled robot in other processes: pickling, fork, spawn."""

import multiprocessing
import pickle
import threading

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels import set_threads
from armdyn.kernels.llvm import machine
from kernel_tools import arguments

METHODS = [m for m in ("fork", "spawn", "forkserver") if m in multiprocessing.get_all_start_methods()]
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
LIMIT = 120  # seconds until a worker counts as lost


@pytest.fixture
def robot():
    robot = Robot.load("rp")
    robot.gravity(np.zeros(2))
    robot.inertia(np.zeros((3, 2), np.float32))
    return robot


def test_pickling(robot):
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert hash(again) == hash(robot)
    inputs = arguments(robot, "inverse_dynamics", (9,))
    expected = robot.inverse_dynamics(*inputs)
    np.testing.assert_array_equal(again.inverse_dynamics(*inputs), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(again)).inverse_dynamics(*inputs), expected)


def test_methods_are_pickled_too(robot):
    q = np.zeros((3, 2))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(robot.gravity))(q), robot.gravity(q))


@pytest.mark.parametrize("method", METHODS)
def test_workers(robot, method):
    set_threads(2)
    large = arguments(robot, "inverse_dynamics", (50_000,))  # threads have been used when the worker starts
    expected = robot.inverse_dynamics(*large)
    with multiprocessing.get_context(method).Pool(1) as pool:
        found = pool.apply_async(robot.inverse_dynamics, [x[:20] for x in large]).get(LIMIT)
        np.testing.assert_allclose(found, expected[:20], rtol=1e-12, atol=1e-12)
        single = pool.apply_async(robot.gravity, [large[0][0]]).get(LIMIT)
        np.testing.assert_array_equal(single, robot.gravity(large[0][0]))
        compiled_there = pool.apply_async(robot.coriolis, [large[0][:9], large[1][:9]]).get(LIMIT)
        np.testing.assert_array_equal(compiled_there, robot.coriolis(large[0][:9], large[1][:9]))


@pytest.mark.skipif("fork" not in METHODS, reason="no fork here")
def test_threads_after_a_fork(robot):
    """The pool of threads of the parent is not there in the child, which makes its own."""
    set_threads(2)
    inputs = arguments(robot, "inverse_dynamics", (50_000,))
    expected = robot.inverse_dynamics(*inputs)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        tasks = [pool.apply_async(robot.inverse_dynamics, inputs) for _ in range(4)]
        for task in tasks:
            np.testing.assert_array_equal(task.get(LIMIT), expected)
    np.testing.assert_array_equal(robot.inverse_dynamics(*inputs), expected)


@pytest.mark.slow
@pytest.mark.skipif("fork" not in METHODS, reason="no fork here")
def test_a_fork_while_another_thread_compiles(robot, fresh_cache):
    """The child must not wait for a lock that only the parent's thread would open."""
    taken, done = threading.Event(), threading.Event()

    def compile_for_long():
        with machine.lock():
            taken.set()
            done.wait(1)

    thread = threading.Thread(target=compile_for_long)
    thread.start()
    taken.wait(LIMIT)
    process = multiprocessing.get_context("fork").Process(
        target=robot.kinetic_energy, args=(np.zeros((2, 2)),) * 2
    )
    try:
        process.start()
        process.join(15)
        assert process.exitcode == 0
    finally:
        process.kill()
        process.join()
        done.set()
        thread.join()
