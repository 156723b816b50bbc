"""Single calls: the compiled function that CPython calls directly, and what it leaves to the gufunc."""

import gc
import sys
import tracemalloc

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels.llvm import compiled as compiled_module
from armdyn.kernels.llvm.compiled import layout_is_known
from armdyn.robot.functions import FUNCTIONS
from kernel_tools import arguments, as_tuple, kernel_of

pytestmark = pytest.mark.skipif(not layout_is_known(), reason="arrays are laid out otherwise here")
WITH_SINGLE = [f for f in FUNCTIONS if not f.endswith("energy")]


class Named(np.ndarray):
    """A subclass, for which NumPy has its own rules."""


@pytest.fixture(scope="module")
def robot():
    return Robot.load("scara")


@pytest.mark.parametrize("function", WITH_SINGLE)
def test_single_call_is_the_gufunc(robot, function):
    kernel = robot._kernels[function]
    for seed in range(5):
        inputs = arguments(robot, function, (), seed)
        found, expected = kernel.on("compiled").quick(tuple(inputs)), kernel.on("compiled").float64(*inputs)
        assert found is not None
        assert isinstance(found, tuple) == isinstance(expected, tuple)
        for x, y in zip(as_tuple(found), as_tuple(expected), strict=True):
            np.testing.assert_array_equal(x, y)


def test_results_are_arrays_of_their_own(robot):
    q, qd, qdd = arguments(robot, "inverse_dynamics")
    results = [robot.inertia(q), robot.gravity(q), *robot.inverse_dynamics_derivatives(q, qd, qdd)]
    for x in results:
        assert type(x) is np.ndarray
        assert x.dtype is np.dtype(np.float64)
        assert x.flags.owndata
        assert x.flags.writeable
        assert x.flags.c_contiguous
        assert x.flags.aligned
        assert x.base is None
    results[0][:] = 5
    np.testing.assert_array_equal(results[0], np.full((4, 4), 5.0))
    assert not np.shares_memory(robot.inertia(q), results[0])
    results[0].resize((2, 8), refcheck=False)


def test_the_result_is_not_shared_between_calls(robot):
    q = np.zeros(4)
    first = robot.gravity(q)
    copy = first.copy()
    robot.gravity(q + 1)
    np.testing.assert_array_equal(first, copy)


def left_to_numpy():
    """Inputs that single calls do not take, all with the numbers 1, 2, 3, 4."""
    x = np.array([1.0, 2.0, 3.0, 4.0])
    unaligned = np.zeros(33, np.uint8)[1:].view(float)
    unaligned[:] = x
    return {
        "list": x.tolist(),
        "tuple": tuple(x.tolist()),
        "float32": x.astype(np.float32),
        "integers": x.astype(int),
        "other byte order": x.astype(x.dtype.newbyteorder()),
        "subclass": x.view(Named),
        "strided": np.repeat(x, 2)[::2],
        "reversed": x[::-1].copy()[::-1],
        "unaligned": unaligned,
        "two dimensions": x[None],
    }


@pytest.mark.parametrize("name", left_to_numpy())
def test_what_is_left_to_the_gufunc(robot, name):
    kernel = robot._kernels["inverse_dynamics"]
    x, plain = left_to_numpy()[name], np.array([1.0, 2.0, 3.0, 4.0])
    expected = kernel(plain, plain, plain)
    for place in range(3):
        inputs = [plain] * 3
        inputs[place] = x
        assert kernel.on("compiled").quick(tuple(inputs)) is None
        found = kernel(*inputs)
        np.testing.assert_allclose(np.asarray(found).reshape(4), expected, rtol=1e-15)


def test_what_single_calls_leave_and_the_checks_refuse(robot):
    kernel, q = robot._kernels["gravity"], np.zeros(4)
    for bad in (np.zeros(3), np.zeros(5), np.zeros(0), np.float64(1), 1.0, None, "text", object()):
        assert kernel.on("compiled").quick((bad,)) is None
        with pytest.raises((TypeError, ValueError)):
            kernel(bad)
    assert kernel.on("compiled").quick(()) is None
    assert kernel.on("compiled").quick([q]) is None  # no tuple
    assert kernel.on("compiled").quick(q) is None
    assert kernel.on("compiled").quick((q, q)) is None
    with pytest.raises(TypeError):
        kernel.on("compiled").quick((q,), keyword=q)


def test_a_dtype_that_only_equals_float64(robot):
    """Another dtype object with the same meaning: NumPy decides."""
    described = np.dtype(np.float64, metadata={"unit": "rad"})
    q = np.zeros(4, described)
    np.testing.assert_array_equal(robot.gravity(q), robot.gravity(np.zeros(4)))


def test_read_only_input(robot):
    q = np.array([1.0, 2.0, 3.0, 4.0])
    expected = robot.gravity(q)
    q.flags.writeable = False
    np.testing.assert_array_equal(robot._kernels["gravity"].on("compiled").quick((q,)), expected)


def test_inputs_are_left_alone(robot):
    inputs = arguments(robot, "inverse_dynamics_derivatives")
    copies = [x.copy() for x in inputs]
    robot.inverse_dynamics_derivatives(*inputs)
    for x, y in zip(inputs, copies, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.slow
def test_references_do_not_leak(robot):
    q, qd, qdd = arguments(robot, "inverse_dynamics")
    one, three = robot._kernels["inverse_dynamics"], robot._kernels["inverse_dynamics_derivatives"]
    watched = [
        np.dtype(np.float64),
        None,
        np.ndarray,
        q,
        qd,
        qdd,
        one.on("compiled").quick,
        three.on("compiled").quick,
    ]

    def calls(count):
        for _ in range(count):
            one(q, qd, qdd)
            three(q, qd, qdd)
            one.on("compiled").quick((q, qd))
            one.on("compiled").quick(([1], qd, qdd))

    calls(10)
    gc.collect()
    before = [sys.getrefcount(x) for x in watched]
    calls(10_000)
    gc.collect()
    after = [sys.getrefcount(x) for x in watched]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 100


@pytest.mark.slow
def test_memory_does_not_grow(robot):
    q, qd, qdd = arguments(robot, "inverse_dynamics")

    def calls(count):
        for _ in range(count):
            robot.inverse_dynamics(q, qd, qdd)
            robot.inverse_dynamics_derivatives(q, qd, qdd)
            robot.gravity(q)

    calls(10)
    tracemalloc.start()
    try:
        calls(100)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        calls(5000)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert after - before < 50_000  # a leaked array each would be some 15 MB


def test_where_the_layout_is_not_known(monkeypatch, fresh_cache):
    monkeypatch.setattr(compiled_module, "layout_is_known", lambda: False)
    robot = Robot.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics")
    kernel = robot._kernels["inverse_dynamics"]
    assert kernel.on("compiled").quick((q, qd, qdd)) is None
    tau = robot.inverse_dynamics(q, qd, qdd)
    monkeypatch.undo()
    np.testing.assert_array_equal(tau, Robot.load("scara").inverse_dynamics(q, qd, qdd))


def test_a_tuple_with_its_entries_elsewhere_is_noticed(monkeypatch):
    """As between Python 3.13 and 3.14."""
    known = layout_is_known.__wrapped__
    assert known()
    monkeypatch.setattr(compiled_module, "_ENTRIES", compiled_module._ENTRIES - 8)
    assert not known()


@pytest.mark.parametrize("first", [True, False])
def test_known_and_unknown_layouts_share_a_cache(monkeypatch, fresh_cache, first):
    """Builds of Python may share the folder."""
    q = np.array([1.0, 2.0, 3.0, 4.0])
    results = []
    for known in (first, not first):
        monkeypatch.setattr(compiled_module, "layout_is_known", lambda known=known: known)
        results.append(Robot.load("scara").gravity(q))
    np.testing.assert_array_equal(*results)


def test_scalar_outputs_come_from_the_gufunc(robot):
    q, qd = arguments(robot, "kinetic_energy")
    assert isinstance(robot.kinetic_energy(q, qd), float)
    kernel = kernel_of(lambda x: (x[0], [x[0] * 2]), [1], [(), (1,)], "scalar and vector")
    scalar, vector = kernel(np.array([3.0]))
    assert scalar == 3
    np.testing.assert_array_equal(vector, [6.0])


def test_one_joint():
    robot = Robot.load("pendulum")
    q = np.array([0.7])
    assert robot._kernels["inertia"].on("compiled").quick((q,)).shape == (1, 1)
    np.testing.assert_array_equal(robot.gravity(q), robot.gravity(q[None])[0])
