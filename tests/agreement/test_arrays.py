"""Every bundled robot and numeric method: shapes, batches, dtypes, `out=`, errors, NaN; robots as values."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from armdyn import ArmdynError, BaseMotion, Robot, bundled_robots
from arms import assert_same, state

# method: its inputs, and the shapes of its outputs in n joints and p parameters, as in the design's table
METHODS = {
    "inverse_dynamics": (("q", "qd", "qdd"), lambda n, p: [(n,)]),
    "forward_dynamics": (("q", "qd", "tau"), lambda n, p: [(n,)]),
    "inertia": (("q",), lambda n, p: [(n, n)]),
    "coriolis": (("q", "qd"), lambda n, p: [(n, n)]),
    "gravity": (("q",), lambda n, p: [(n,)]),
    "friction": (("qd",), lambda n, p: [(n,)]),
    "kinetic_energy": (("q", "qd"), lambda n, p: [()]),
    "potential_energy": (("q",), lambda n, p: [()]),
    "pose": (("q",), lambda n, p: [(4, 4)]),
    "jacobian": (("q",), lambda n, p: [(6, n)]),
    "jacobian_dot": (("q", "qd"), lambda n, p: [(6, n)]),
    "joint_wrenches": (("q", "qd", "qdd"), lambda n, p: [(n, 6)]),
    "regressor": (("q", "qd", "qdd"), lambda n, p: [(n, p)]),
    "inverse_dynamics_derivatives": (("q", "qd", "qdd"), lambda n, p: [(n, n)] * 3),
    "forward_dynamics_derivatives": (("q", "qd", "tau"), lambda n, p: [(n, n)] * 3),
}
WITH_WRENCH = [name for name in METHODS if "dynamics" in name or name == "joint_wrenches"]
ROBOTS = {name: Robot.load(name) for name in bundled_robots()}

every_robot = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
every_method = pytest.mark.parametrize("method", METHODS)


def arguments(robot, method, rows=(), seed=0):
    values = state(robot, np.random.default_rng(seed), rows)
    return [values[{"q": 0, "qd": 1, "qdd": 2, "tau": 2}[key]] for key in METHODS[method][0]]


def outputs(result):
    return list(result) if isinstance(result, tuple) else [result]


def shapes(robot, method, batch=()):
    return [batch + shape for shape in METHODS[method][1](robot.n, len(robot.parameters))]


def test_bundled_names_and_the_design():
    assert set(ROBOTS) == {
        *("pendulum", "cartesian", "cartesian45", "planar", "planar3", "pr", "rp", "rmit2r", "scara"),
        *("elbow", "stanford", "puma560", "manutec_r3", "ur10", "panda"),
    }


@every_robot
@every_method
def test_one_sample_and_batches(robot, method):
    """One sample, batches of one and two axes, empty batches: shapes, dtypes, and the same numbers."""
    call = getattr(robot, method)
    one = outputs(call(*arguments(robot, method)))
    assert [x.shape for x in one] == shapes(robot, method)
    for batch in ((4,), (2, 3), (1,), (0,), (3, 0)):
        inputs = arguments(robot, method, batch)
        found = outputs(call(*inputs))
        assert [x.shape for x in found] == shapes(robot, method, batch)
        assert all(x.dtype == np.float64 for x in found)
        if batch == (2, 3):
            single = outputs(call(*(x[1, 2] for x in inputs)))
            for a, b in zip(found, single, strict=True):
                assert_same(a[1, 2], b, 1e-13)


@pytest.mark.parametrize("name", ["puma560", "stanford"])
@pytest.mark.parametrize("method", [m for m in METHODS if len(METHODS[m][0]) > 1])
def test_broadcast_and_written_out(name, method):
    """Leading axes broadcast as in NumPy: (5, 1, n) with (3, n) and (n,)."""
    robot = ROBOTS[name]
    leading = [(5, 1), (3,), ()]
    inputs = [arguments(robot, method, leading[i])[i] for i in range(len(METHODS[method][0]))]
    found = outputs(getattr(robot, method)(*inputs))
    full = np.broadcast_arrays(*inputs)
    expected = outputs(getattr(robot, method)(*full))
    for a, b in zip(found, expected, strict=True):
        assert a.shape[:2] == (5, 3)
        assert_same(a, b, 0)


@pytest.mark.parametrize("method", WITH_WRENCH)
def test_wrench_in_a_batch(method):
    robot = ROBOTS["puma560"]
    wrench = np.random.default_rng(1).uniform(-5, 5, (4, 6))
    inputs = arguments(robot, method)
    found = outputs(getattr(robot, method)(*inputs, wrench))
    assert [x.shape for x in found] == shapes(robot, method, (4,))
    for k in range(4):
        for a, b in zip(found, outputs(getattr(robot, method)(*inputs, wrench[k])), strict=True):
            assert_same(a[k], b, 1e-13)


def test_moving_base_in_a_batch():
    robot = ROBOTS["panda"]
    w = np.random.default_rng(1).uniform(-5, 5, (4, 3))
    inputs = arguments(robot, "inverse_dynamics")
    found = robot.inverse_dynamics(*inputs, base=BaseMotion(angular_velocity=w))
    assert found.shape == (4, 7)
    assert_same(found[2], robot.inverse_dynamics(*inputs, base=BaseMotion(angular_velocity=w[2])), 1e-13)


def test_more_rows_than_a_block():
    """Rows are evaluated block by block: the last rows of a long batch are right too."""
    robot = ROBOTS["planar"]
    q = np.random.default_rng(1).uniform(-3, 3, (10_001, 2))
    g = robot.gravity(q)
    assert_same(
        g[[0, 4095, 4096, 8191, 8192, 10_000]], robot.gravity(q[[0, 4095, 4096, 8191, 8192, 10_000]]), 0
    )


@every_robot
@every_method
def test_float32_and_float64(robot, method):
    inputs = arguments(robot, method, (3,))
    single = outputs(getattr(robot, method)(*(x.astype(np.float32) for x in inputs)))
    double = outputs(getattr(robot, method)(*(x.astype(np.float32).astype(float) for x in inputs)))
    for a, b in zip(single, double, strict=True):
        assert a.dtype == np.float32
        assert b.dtype == np.float64
        assert_same(a, b, 2e-3 if "forward" in method else 1e-4)


@every_robot
@every_method
def test_integers_and_floats(robot, method):
    """Integers, lists and tuples compute in float64."""
    inputs = [np.full(robot.n, k + 1) for k in range(len(METHODS[method][0]))]
    expected = outputs(getattr(robot, method)(*(x.astype(float) for x in inputs)))
    for given in (inputs, [x.tolist() for x in inputs], [tuple(x.tolist()) for x in inputs]):
        for a, b in zip(outputs(getattr(robot, method)(*given)), expected, strict=True):
            assert a.dtype == np.float64
            assert_same(a, b, 0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16, bool])
def test_small_dtypes_and_float64(dtype):
    robot = ROBOTS["planar"]
    q = np.array([[1, 0], [0, 1]], dtype)
    found = robot.inertia(q)
    assert found.dtype == np.float64
    assert_same(found, robot.inertia(q.astype(float)), 0)


def test_mixed_float32_and_float64():
    robot = ROBOTS["planar"]
    assert robot.coriolis(np.ones(2, np.float32), np.ones(2)).dtype == np.float64


def test_arrays_that_are_not_contiguous():
    robot = ROBOTS["puma560"]
    q = np.random.default_rng(0).uniform(-3, 3, (6, 8))
    assert_same(robot.gravity(q.T), robot.gravity(q.T.copy()), 0)
    assert_same(robot.gravity(q.T[::-2]), robot.gravity(q.T[::-2].copy()), 0)
    frozen = q.T.copy()
    frozen.flags.writeable = False
    assert_same(robot.gravity(frozen), robot.gravity(q.T), 0)


@pytest.mark.parametrize("name", ["planar", "puma560"])
@every_method
def test_out_and_no_out(name, method):
    robot = ROBOTS[name]
    inputs = arguments(robot, method, (3,))
    expected = outputs(getattr(robot, method)(*inputs))
    given = [np.full_like(x, np.nan) for x in expected]
    out = tuple(given) if len(given) > 1 else given[0]
    returned = outputs(getattr(robot, method)(*inputs, out=out))
    for a, b, c in zip(returned, given, expected, strict=True):
        assert a is b
        assert_same(b, c, 0)


def test_out_that_is_an_input():
    robot = ROBOTS["puma560"]
    (q,) = arguments(robot, "gravity", (3,))
    expected = robot.gravity(q)
    robot.gravity(q, out=q)
    assert_same(q, expected, 0)


def test_out_of_a_strided_view_and_of_float32():
    robot = ROBOTS["puma560"]
    (q,) = arguments(robot, "gravity", (3,))
    big = np.zeros((6, 12))
    robot.gravity(q, out=big[::2, ::2])
    assert_same(big[::2, ::2], robot.gravity(q), 0)
    assert not big[1::2].any()
    small = np.zeros((3, 6), np.float32)
    robot.gravity(q, out=small)
    assert_same(small, robot.gravity(q), 1e-6)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((3, 5)), ValueError),
        (np.zeros((2, 6)), ValueError),
        (np.zeros((3, 6), int), TypeError),
        ([[0.0] * 6] * 3, TypeError),
        ((np.zeros((3, 6)), np.zeros((3, 6))), ValueError),
    ],
)
def test_wrong_out_and_numpys_error(out, error):
    robot = ROBOTS["puma560"]
    with pytest.raises(error):
        robot.gravity(np.zeros((3, 6)), out=out)


@every_method
def test_wrong_shapes_and_numpys_error_with_a_note(method):
    robot = ROBOTS["puma560"]
    names = METHODS[method][0]
    right = arguments(robot, method)
    for i, name in enumerate(names):
        for wrong in (np.zeros(5), np.zeros((6, 1)), 1.0, [], np.zeros((2, 7))):
            inputs = [*right[:i], wrong, *right[i + 1 :]]
            with pytest.raises(ValueError, match=method) as caught:
                getattr(robot, method)(*inputs)
            assert f"{name} (..., 6)" in "".join(caught.value.__notes__)


@every_method
@pytest.mark.parametrize(
    "wrong",
    ["123456", ["a"] * 6, [None] * 6, [1j] * 6, np.array(["2020-01-01"] * 6, "M8[D]"), {"q": 1}, object()],
    ids=["text", "texts", "None", "complex", "dates", "dict", "object"],
)
def test_wrong_dtypes_and_numpys_error(method, wrong):
    robot = ROBOTS["puma560"]
    right = arguments(robot, method)
    for i in range(len(METHODS[method][0])):
        with pytest.raises((TypeError, ValueError)):
            getattr(robot, method)(*right[:i], wrong, *right[i + 1 :])


@every_method
def test_ragged_lists_and_numpys_error(method):
    robot = ROBOTS["puma560"]
    right = arguments(robot, method)
    for i in range(len(METHODS[method][0])):
        with pytest.raises(ValueError, match="inhomogeneous"):
            getattr(robot, method)(*right[:i], [[0] * 6, [0] * 5], *right[i + 1 :])


def test_wrong_wrench_and_wrong_base_are_noted():
    robot = ROBOTS["puma560"]
    right = arguments(robot, "inverse_dynamics")
    with pytest.raises(ValueError, match="size 3 is different from 6"):
        robot.inverse_dynamics(*right, np.zeros(3))
    with pytest.raises(ValueError, match="size 6 is different from 3") as caught:
        robot.inverse_dynamics(*right, base=BaseMotion(np.zeros(6)))
    assert "base.angular_velocity (..., 3)" in "".join(caught.value.__notes__)


def test_batches_that_do_not_broadcast():
    robot = ROBOTS["puma560"]
    with pytest.raises(ValueError, match=r"could not be broadcast together"):
        robot.coriolis(np.zeros((2, 6)), np.zeros((3, 6)))


@pytest.mark.parametrize("method", ["pose", "jacobian", "jacobian_dot"])
def test_an_unknown_link_names_the_links(method):
    robot = ROBOTS["puma560"]
    with pytest.raises(ArmdynError, match=r"link: found 'elbow'; links: .*waist.*forearm"):
        getattr(robot, method)(*arguments(robot, method), link="elbow")


@every_robot
@every_method
def test_nan_in_one_row_stays_there(robot, method):
    inputs = arguments(robot, method, (4,))
    expected = outputs(getattr(robot, method)(*inputs))
    for bad in (np.nan, np.inf):
        for i in range(len(inputs)):
            spoiled = [x.copy() for x in inputs]
            spoiled[i][2] = bad
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = outputs(getattr(robot, method)(*spoiled))
            for a, b in zip(found, expected, strict=True):
                assert_same(np.delete(a, 2, 0), np.delete(b, 2, 0), 0)


@pytest.mark.parametrize("method", ["inverse_dynamics", "forward_dynamics", "inertia", "pose"])
def test_nan_is_not_swallowed(method):
    robot = ROBOTS["puma560"]
    inputs = arguments(robot, method)
    inputs[0][1] = np.nan
    assert np.isnan(getattr(robot, method)(*inputs)).any()


# ---- robots as values --------------------------------------------------------------------------------------


@every_robot
def test_pickle_and_copy_and_the_robot(robot):
    robot.gravity(np.zeros(robot.n))  # with a kernel in it
    for same in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), copy.copy(robot)):
        assert same == robot
        assert hash(same) == hash(robot)
        q, qd, qdd = state(robot, np.random.default_rng(0))
        assert_same(same.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), 0)


def test_pickle_from_another_process():
    """Hashes of texts differ from process to process; the robot that arrives is still the same one."""
    write = "sys.stdout.buffer.write(pickle.dumps(Robot.load('puma560')))"
    code = f"import pickle, sys; from armdyn import Robot; {write}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    robot = pickle.loads(run.stdout)
    assert robot == Robot.load("puma560")
    assert len({robot, Robot.load("puma560")}) == 1


def test_robots_that_are_equal_and_robots_that_differ():
    robots = [Robot.load(name) for name in bundled_robots()]
    assert robots == list(ROBOTS.values())
    assert len({*robots, *ROBOTS.values()}) == len(ROBOTS)
    puma = ROBOTS["puma560"]
    others = [
        puma.with_payload(1),
        puma.with_gravity([0, 0, 0]),
        puma.with_rotors("none"),
        puma.with_parameters(puma.parameters * 1.01),
        puma.symbolic(),
    ]
    assert len({puma, *others}) == 6
    assert puma != "puma560"
    assert puma.model == Robot.load("puma560").model


def test_parameters_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        ROBOTS["planar"].parameters[0] = 1


@every_robot
def test_robot_and_its_name(robot):
    assert robot.name
    assert robot.name in repr(robot)
    assert robot.n == len(robot.model.moving)
    assert len(set(robot.parameter_names)) == len(robot.parameter_names)
