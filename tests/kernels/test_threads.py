"""Large batches over threads, and threads of the caller."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, Trajectory
from armdyn.kernels import get_threads, set_threads, threads
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple, integers, rotated, rotated_sum

ROWS = 50_000


@pytest.fixture(scope="module")
def robot():
    return Robot.load("rp")


# ---- how many ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 7, 2.0, np.int64(3)])
def test_setting(count):
    set_threads(count)
    assert get_threads() == count
    assert type(get_threads()) is int


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, False, "2", "two", float("nan"), b"2"])
def test_bad_numbers_are_refused(bad):
    set_threads(3)
    with pytest.raises(ValueError, match=r"whole number|convert|invalid"):
        set_threads(bad)
    assert get_threads() == 3


@pytest.mark.parametrize("bad", [[2], {}, 2j, object()])
def test_what_is_no_number_is_refused(bad):
    with pytest.raises((TypeError, ValueError)):
        set_threads(bad)


def test_infinitely_many_are_refused():
    with pytest.raises(ValueError, match="whole number"):
        set_threads(float("inf"))


def test_environment(monkeypatch):
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.delenv("ARMDYN_THREADS", raising=False)
    set_threads(None)
    assert get_threads() == available
    monkeypatch.setenv("ARMDYN_THREADS", "5")
    assert get_threads() == 5
    set_threads(2)
    assert get_threads() == 2  # what is set counts more
    set_threads(None)
    assert get_threads() == 5
    monkeypatch.setenv("ARMDYN_THREADS", " 9999 ")
    assert get_threads() == 9999
    monkeypatch.setenv("ARMDYN_THREADS", "")
    assert get_threads() == available


@pytest.mark.parametrize("nonsense", ["0", "-3", "many", "2.5", "²", "10000", "99999999", "1" * 5000])
def test_nonsense_in_the_environment_is_refused_by_name(monkeypatch, robot, nonsense):
    monkeypatch.setenv("ARMDYN_THREADS", nonsense)
    q = np.zeros((ROWS, 2))
    with pytest.raises(ArmdynError, match=r"ARMDYN_THREADS: expected a whole number from 1 to 9999, found "):
        robot.gravity(q)
    set_threads(2)  # what is set counts more
    assert robot.gravity(q).shape == (ROWS, 2)


@pytest.mark.slow
def test_nonsense_in_the_environment_is_one_line_on_the_command_line(tmp_path):
    """Importing asks for no threads; a command that needs them says what is wrong."""
    environment = {**os.environ, "ARMDYN_THREADS": "99999999"}
    Trajectory.cubic([0, 0], [1, 1], 20.0).to_csv(tmp_path / "long.csv")
    command = [sys.executable, "-m", "armdyn", "torque", "planar", "--trajectory", tmp_path / "long.csv"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ARMDYN_THREADS: expected a whole number from 1 to 9999, found")
    assert len(done.stderr.splitlines()) == 1
    code = "import armdyn; armdyn.Robot.load('planar').gravity([[0.0, 0.0]] * 20_000)"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert b"ArmdynError: ARMDYN_THREADS" in done.stderr


@pytest.mark.parametrize(("rows", "slices"), [(3 * 8192 - 1, 2), (3 * 8192, 3), (20 * 8192, 20)])
def test_no_more_slices_than_are_worth_having(monkeypatch, rows, slices):
    set_threads(9999)
    kernel, x = rotated_sum(3), integers((rows, 3))
    cut = []
    monkeypatch.setattr(threads, "call_on_ranges", lambda part, edges: cut.extend([part(0, rows), edges]))
    np.testing.assert_array_equal(kernel(x), rotated(x))
    assert len(cut[1]) == slices + 1


# ---- the same results --------------------------------------------------------------------------------------


def on_threads(count, function, *inputs, **options):
    set_threads(count)
    return as_tuple(function(*inputs, **options))


@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "inertia", "kinetic_energy", "forward_dynamics_derivatives"]
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_do_not_depend_on_the_threads(robot, function, dtype):
    inputs = [x.astype(dtype) for x in arguments(robot, function, (ROWS,))]
    one = on_threads(1, getattr(robot, function), *inputs)
    for count in (2, 3):
        several = on_threads(count, getattr(robot, function), *inputs)
        for x, y in zip(several, one, strict=True):
            assert x.dtype == dtype
            np.testing.assert_allclose(x, y, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-12)


def broadcasts():
    """Shapes of q, q̇, q̈ whose batch is large."""
    return {
        "one state for all": [(ROWS, 2), (2,), (1, 2)],
        "a grid": [(250, 1, 2), (1, 200, 2), (200, 2)],
        "long second axis": [(3, 20_000, 2), (3, 1, 2), (2,)],
        "long first axis": [(20_000, 3, 2), (3, 2), (20_000, 1, 2)],
        "three axes": [(2, 3, 10_000, 2), (1, 3, 1, 2), (10_000, 2)],
        "all but one": [(1, 2), (2,), (ROWS, 2)],
    }


@pytest.mark.parametrize("name", broadcasts())
@pytest.mark.parametrize("count", [2, 3])
def test_broadcast_inputs(robot, name, count):
    rng = np.random.default_rng(2)
    inputs = [rng.uniform(0.2, 2, shape) for shape in broadcasts()[name]]
    (one,) = on_threads(1, robot.inverse_dynamics, *inputs)
    (several,) = on_threads(count, robot.inverse_dynamics, *inputs)
    np.testing.assert_allclose(several, one, rtol=1e-13)
    out = np.full(one.shape, np.nan)
    assert on_threads(count, robot.inverse_dynamics, *inputs, out=out)[0] is out
    np.testing.assert_array_equal(out, several)


@pytest.mark.parametrize("count", [2, 3])
def test_strided_inputs_and_outputs(count):
    kernel = rotated_sum(3)
    set_threads(count)
    x = integers((3, 2 * ROWS)).T[::-2]
    out = np.full((3, ROWS), np.nan).T
    assert kernel(x, out=out) is out
    np.testing.assert_array_equal(out, rotated(x))
    np.testing.assert_array_equal(kernel(np.broadcast_to(x[0], (ROWS, 3))), np.tile(rotated(x[0]), (ROWS, 1)))


@pytest.mark.parametrize("rows", [16_383, 16_384, 16_385, 24_577, 100_003])
def test_batches_that_divide_badly(rows):
    kernel = rotated_sum(3)
    x = integers((rows, 3))
    for count in (2, 3, 5):
        set_threads(count)
        np.testing.assert_array_equal(kernel(x), rotated(x))


def test_several_outputs_into_out(robot):
    inputs = arguments(robot, "inverse_dynamics_derivatives", (ROWS,))
    one = on_threads(1, robot.inverse_dynamics_derivatives, *inputs)
    out = tuple(np.full((ROWS, 2, 2), np.nan) for _ in range(3))
    found = on_threads(2, robot.inverse_dynamics_derivatives, *inputs, out=out)
    assert all(x is y for x, y in zip(found, out, strict=True))
    for x, y in zip(out, one, strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    some = on_threads(2, robot.inverse_dynamics_derivatives, *inputs, out=(None, out[1], None))
    assert some[1] is out[1]


def test_integers_and_mixed_precision():
    kernel = rotated_sum(3)
    set_threads(2)
    x = integers((ROWS, 3))
    for dtype in (int, np.int8, np.float16):
        found = kernel(x.astype(dtype))
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, rotated(x))


# ---- memory shared by input and output ---------------------------------------------------------------------


def test_out_may_be_the_input():
    kernel = rotated_sum(3)
    set_threads(2)
    x = integers((ROWS, 3))
    expected = rotated(x)
    kernel(x, out=x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("name", ["reversed", "shifted", "broadcast"])
def test_out_may_overlap_the_input(name):
    """As with one thread: the result is that of inputs as they were before the call."""
    kernel = rotated_sum(3)
    set_threads(2)
    for seed in range(5):
        buffer = integers((4 * ROWS, 3), seed)
        views = {
            "reversed": (buffer[::-1], buffer),
            "shifted": (buffer[: 3 * ROWS], buffer[ROWS:]),
            "broadcast": (np.broadcast_to(buffer[2], buffer.shape), buffer),
        }
        x, out = views[name]
        expected = rotated(x.copy())
        kernel(x, out=out)
        np.testing.assert_array_equal(out, expected)


# ---- errors and warnings -----------------------------------------------------------------------------------


def test_errors_of_large_batches(robot):
    set_threads(2)
    q = np.zeros((ROWS, 2))
    with pytest.raises(ValueError, match=r"q: expected \(\.\.\., 2\), found "):
        robot.gravity(np.zeros((ROWS, 3)))
    with pytest.raises(ValueError, match="shapes do not fit together"):
        robot.inverse_dynamics(q, q[1:], q)
    with pytest.raises(TypeError, match="found an array of complex numbers"):
        robot.gravity(q.astype(complex))
    with pytest.raises(TypeError, match="out: expected an array of floats"):
        robot.gravity(q, out=np.empty((ROWS, 2), int))
    with pytest.raises(ValueError, match="out: expected "):
        robot.gravity(q, out=np.empty((ROWS, 3)))
    fixed = np.empty((ROWS, 2))
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        robot.gravity(q, out=fixed)


@pytest.mark.parametrize("row", [0, ROWS // 2 + 1, ROWS - 1])
def test_nan_stays_in_its_row_and_raises_no_warning(robot, row):
    set_threads(2)
    q, qd, qdd = arguments(robot, "inverse_dynamics", (ROWS,))
    expected = robot.inverse_dynamics(q, qd, qdd)
    q[row] = np.nan
    found = robot.inverse_dynamics(q, qd, qdd)
    assert np.isnan(found[row]).any()
    np.testing.assert_allclose(np.delete(found, row, 0), np.delete(expected, row, 0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("row", [0, ROWS - 1])
@pytest.mark.parametrize("count", [1, 2])
def test_the_callers_errstate_holds(robot, row, count):
    """np.errstate is the caller's, whichever thread meets the infinity."""
    set_threads(count)
    q = np.zeros((ROWS, 2))
    q[row] = np.inf
    with np.errstate(all="ignore"):
        assert not np.isfinite(robot.gravity(q)[row]).all()


# ---- threads of the caller ---------------------------------------------------------------------------------


def test_first_use_by_many_threads_at_once(fresh_cache):
    robot = Robot.load("scara")
    together = threading.Barrier(8)
    inputs = arguments(robot, "inverse_dynamics", (8,))

    def call(i):
        together.wait()
        return (
            robot.inverse_dynamics(*(x[i] for x in inputs)),
            robot.inertia(inputs[0]),
            robot.inertia(inputs[0].astype(np.float32)),
        )

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(call, range(8)))
    expected = Robot.load("scara").inverse_dynamics(*inputs)
    B = Robot.load("scara").inertia(inputs[0])
    for i, (tau, inertia, narrow) in enumerate(found):
        np.testing.assert_allclose(tau, expected[i], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(inertia, B)
        np.testing.assert_allclose(narrow, B, rtol=1e-5, atol=1e-5)


def test_many_threads_with_large_batches(robot):
    """Each call spreads over the same pool."""
    set_threads(2)
    inputs = [arguments(robot, "inverse_dynamics", (20_000,), seed) for seed in range(6)]
    expected = [robot.inverse_dynamics(*x) for x in inputs]
    with ThreadPoolExecutor(6) as pool:
        for x, y in zip(pool.map(lambda a: robot.inverse_dynamics(*a), inputs), expected, strict=True):
            np.testing.assert_array_equal(x, y)
        singles = pool.map(lambda a: robot.inverse_dynamics(*(x[0] for x in a)), inputs * 50)
        for i, x in enumerate(singles):
            np.testing.assert_allclose(x, expected[i % 6][0], rtol=1e-12, atol=1e-12)


# ---- each slice once, and all done -------------------------------------------------------------------------


@pytest.fixture
def few_threads(monkeypatch):
    """Of the threads to be started, only every n-th starts."""
    start, asked = threading.Thread.start, []

    def fails_at(which):
        def fails(thread):
            asked.append(thread)
            if which(len(asked)):
                raise RuntimeError("can't start new thread")
            start(thread)

        monkeypatch.setattr(threads, "_pools", {})
        monkeypatch.setattr(threading.Thread, "start", fails)
        return asked

    return fails_at


FAILURES = {
    "none starts": lambda k: True,
    "one starts": lambda k: k > 1,
    "two start": lambda k: k > 2,
    "the first fails": lambda k: k == 1,
    "the second fails": lambda k: k == 2,
    "all start": lambda k: False,
}


@pytest.mark.parametrize("name", FAILURES)
def test_each_slice_runs_once_though_threads_do_not_start(few_threads, name):
    asked = few_threads(FAILURES[name])
    for count in (2, 3, 8):
        set_threads(count)
        for _ in range(20):
            calls, under_way = Counter(), []

            def part(a, b, calls=calls, under_way=under_way):
                under_way.append(a)
                calls[a, b] += 1
                time.sleep(0.0005)
                under_way.remove(a)

            threads.call_on_ranges(part, range(count + 1))
            assert not under_way
            seen = dict(calls)
            assert seen == {(k, k + 1): 1 for k in range(count)}
    time.sleep(0.05)
    assert calls == seen  # nothing runs after the call has returned
    assert asked


def test_a_batch_though_threads_do_not_start(few_threads):
    few_threads(lambda k: k > 1)
    set_threads(4)
    kernel, x = rotated_sum(3), integers((ROWS, 3))
    for _ in range(5):
        np.testing.assert_array_equal(kernel(x), rotated(x))


@pytest.mark.parametrize("wrong", [0, 1, 5])
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_an_error_in_one_slice_waits_for_the_others(wrong, kind):
    set_threads(3)
    started, ended, begun = [], [], threading.Semaphore(0)

    def part(a, b):
        started.append(a)
        if a == wrong:
            begun.acquire(timeout=30)  # another is under way
            raise kind("wrong")
        begun.release()
        time.sleep(0.02)
        ended.append(a)

    with golden_error(kind):
        threads.call_on_ranges(part, range(7))
    assert sorted([*ended, wrong]) == sorted(started)
    assert len(started) == len(set(started))


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, also where the tests run in the background with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals to threads")
def test_an_interrupt_while_waiting_waits_for_the_others(interruptible):
    set_threads(2)
    main, helping, ended = threading.get_ident(), threading.Event(), []

    def part(a, b):
        if threading.get_ident() == main:
            helping.wait(30)
            return
        helping.set()
        time.sleep(0.05)
        for _ in range(3):  # the caller waits by now
            signal.pthread_kill(main, signal.SIGINT)
            time.sleep(0.02)
        ended.append(a)

    with pytest.raises(KeyboardInterrupt):
        threads.call_on_ranges(part, range(3))
    assert len(ended) == 1


def test_arrays_do_not_outlive_the_call(few_threads):
    """What could not be started stays in a queue; it holds no array."""
    few_threads(lambda k: True)
    set_threads(3)
    x = integers((ROWS, 3))
    before = sys.getrefcount(x)
    rotated_sum(3)(x)
    assert sys.getrefcount(x) == before
