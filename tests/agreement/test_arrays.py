"""Every bundled robot and numeric method: shapes, batches, dtypes, `out=`, errors, NaN; robots as values."""

import copy
import pickle
import re
import subprocess
import sys
import warnings
from fractions import Fraction

import numpy as np
import pytest

from armdyn import ArmdynError, BaseMotion, Robot, backend
from arms import WITHOUT_LOOPS, assert_same, slowly, state
from golden_messages import golden_error

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
    "joint_wrenches": (("q", "qd", "qdd"), lambda n, p: [("joints", 6)]),
    "regressor": (("q", "qd", "qdd"), lambda n, p: [(n, p)]),
    "inverse_dynamics_derivatives": (("q", "qd", "qdd"), lambda n, p: [(n, n)] * 3),
    "forward_dynamics_derivatives": (("q", "qd", "tau"), lambda n, p: [(n, n)] * 3),
}
PARAMETRIC = [name for name in METHODS if name not in ("pose", "jacobian", "jacobian_dot", "regressor")]
WITH_WRENCH = [name for name in METHODS if "dynamics" in name or name == "joint_wrenches"]
ROBOTS = {name: Robot.load(name) for name in WITHOUT_LOOPS}

DESIGN = (  # the names that are promised
    *("pendulum", "cartesian", "cartesian45", "planar", "planar3", "pr", "rp", "rmit2r", "scara"),
    *("elbow", "stanford", "puma560", "manutec_r3", "ur10", "panda"),
)

QUICK = ("planar", "parallelogram")  # each joint a coordinate, and not
every_robot = pytest.mark.parametrize(
    "robot",
    [
        pytest.param(robot, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, robot in ROBOTS.items()
    ],
)
every_method = pytest.mark.parametrize("method", METHODS)


def arguments(robot, method, rows=(), seed=0):
    values = state(robot, np.random.default_rng(seed), rows)
    return [values[{"q": 0, "qd": 1, "qdd": 2, "tau": 2}[key]] for key in METHODS[method][0]]


def outputs(result):
    return list(result) if isinstance(result, tuple) else [result]


def shapes(robot, method, batch=()):
    found = METHODS[method][1](robot.n, len(robot.parameters))
    return [batch + tuple(len(robot.joints) if k == "joints" else k for k in shape) for shape in found]


def test_bundled_names_and_the_design():
    assert set(ROBOTS) >= set(DESIGN)


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


@pytest.mark.parametrize("name", ["rp", slowly("puma560"), slowly("stanford")])
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
    robot = Robot.load("puma560")
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


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.float16])
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
    robot = Robot.load("puma560")
    q = np.random.default_rng(0).uniform(-3, 3, (6, 8))
    assert_same(robot.gravity(q.T), robot.gravity(q.T.copy()), 0)
    assert_same(robot.gravity(q.T[::-2]), robot.gravity(q.T[::-2].copy()), 0)
    frozen = q.T.copy()
    frozen.flags.writeable = False
    assert_same(robot.gravity(frozen), robot.gravity(q.T), 0)


@pytest.mark.parametrize("name", ["planar", slowly("puma560")])
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
    robot = Robot.load("puma560")
    (q,) = arguments(robot, "gravity", (3,))
    expected = robot.gravity(q)
    robot.gravity(q, out=q)
    assert_same(q, expected, 0)


def test_out_of_a_strided_view_and_of_float32():
    robot = Robot.load("puma560")
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
        ((np.zeros((3, 6)), np.zeros((3, 6))), TypeError),
    ],
)
def test_wrong_out_is_refused(out, error):
    robot = Robot.load("puma560")
    with golden_error(error):
        robot.gravity(np.zeros((3, 6)), out=out)


class Units(np.ndarray):
    """Numbers with arithmetic of their own, as those of unit libraries."""

    def __array_ufunc__(self, *arguments, **options):
        return NotImplemented


class Tensor:
    """Stands for the arrays of other libraries, which NumPy would convert without a word."""

    __module__ = "tensors"

    def __array__(self, dtype=None, copy=None):
        return np.zeros(6)


# What is given instead of numbers, and what the error says was found.
NO_NUMBERS = {
    "None": (None, "None"),
    "text": ("123456", "'123456'"),
    "bytes": (b"123456", "b'123456'"),
    "truth value": (True, "True"),
    "truth values": (np.zeros(6, bool), "an array of truth values (bool)"),
    "list of truth values": ([True] * 6, "True in a list"),
    "one truth value": ([0.0] * 5 + [True], "True in a list"),
    "texts": (["a"] * 6, "'a' in a list"),
    "list of None": ([None] * 6, "None in a list"),
    "nested None": ([[0.0] * 5 + [None]], "None in a list"),
    "complex": ([1j] * 6, "1j in a list"),
    "arrays of truth values in a list": (
        [np.zeros(6), np.ones(6, bool)],
        "an array of truth values (bool) in a list",
    ),
    "arrays of objects in a list": (
        [np.zeros(6), np.array([None] * 6)],
        "an array of objects (object) in a list",
    ),
    "complex array": (np.zeros(6, complex), "an array of complex numbers (complex128)"),
    "dates": (np.zeros(6, "M8[D]"), "an array of datetime64[D]"),
    "texts in an array": (np.array(["1"] * 6), "an array of text (<U1)"),
    "objects": (np.zeros(6, object), "an array of objects (object)"),
    "record": (np.zeros(6, [("a", float)]), "an array of [('a', '<f8')]"),
    "ragged": ([[0] * 6, [0] * 5], "lists of different lengths"),
    "masked": (
        np.ma.masked_array(np.zeros(6), [0, 0, 1, 0, 0, 0]),
        "a masked array, whose mask would be lost",
    ),
    "no mask": (np.ma.masked_array(np.zeros(6)), "a masked array, whose mask would be lost"),
    "units": (np.zeros(6).view(Units), f"an object of type {__name__}.Units; NumPy arrays, lists and pandas"),
    "tensor": (
        Tensor(),
        "an object of type tensors.Tensor; NumPy arrays, lists and pandas tables are accepted",
    ),
    "tensors": ([Tensor()], "an object of type tensors.Tensor in a list; NumPy arrays, lists and pandas"),
    "dict": ({"q": 1}, "an object of type dict"),
    "set": ({1.0}, "an object of type set"),
    "generator": ((x for x in range(6)), "an object of type generator"),
    "function": (len, "an object of type builtin_function_or_method"),
    "long integer": (10**5000, "an integer larger than any float"),
    "long integers": ([10**5000] * 6, "an integer larger than any float"),
}
if np.dtype(np.longdouble).itemsize > 8:
    NO_NUMBERS["long double"] = (np.zeros(6, np.longdouble), f"an array of {np.dtype(np.longdouble)} numbers")
WRONG_SHAPES = (np.zeros(5), np.zeros((6, 1)), 1.0, 7, np.float64(1), [], np.zeros((2, 7)), [[1.0] * 5], ())


@every_method
def test_wrong_shapes_in_every_method(method):
    """`q: expected (..., 6), found (5,)`, whichever input it is."""
    robot = Robot.load("puma560")
    right = arguments(robot, method)
    for i, name in enumerate(METHODS[method][0]):
        for wrong in WRONG_SHAPES:
            expected = f"{name}: expected (..., 6), found {np.shape(wrong)}"
            for used in ("compiled", "evaluator"):
                with backend(used), pytest.raises(ArmdynError, match=f"^{re.escape(expected)}$"):
                    getattr(robot, method)(*right[:i], wrong, *right[i + 1 :])


@pytest.mark.parametrize(
    "method",
    [m if m in ("inverse_dynamics", "pose") else pytest.param(m, marks=pytest.mark.slow) for m in METHODS],
)
@pytest.mark.parametrize(("wrong", "found"), NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_numbers_in_every_method(method, wrong, found):
    robot = Robot.load("puma560")
    right = arguments(robot, method)
    for i, name in enumerate(METHODS[method][0]):
        expected = f"^{name}: expected numbers (..., 6), found {found}"
        with pytest.raises(TypeError, match=re.escape(expected).replace(r"\^", "^", 1)):
            getattr(robot, method)(*right[:i], wrong, *right[i + 1 :])


@pytest.mark.parametrize(("wrong", "found"), NO_NUMBERS.values(), ids=NO_NUMBERS.keys())
def test_what_is_no_numbers_for_wrench_parameters_base_and_out(wrong, found):
    robot = Robot.load("puma560")
    right = arguments(robot, "inverse_dynamics")
    p = len(robot.parameters)
    for method in WITH_WRENCH:
        if wrong is not None and not isinstance(wrong, dict):  # a mapping is one by link
            with pytest.raises(
                TypeError, match=re.escape(f"wrench: expected numbers (..., 6), found {found}")
            ):
                getattr(robot, method)(*right, wrong)
    for method in PARAMETRIC:
        if wrong is not None:
            message = re.escape(f"parameters: expected numbers (..., {p}), found {found}")
            with pytest.raises(TypeError, match=message):
                getattr(robot, method)(*arguments(robot, method), parameters=wrong)
    with pytest.raises(TypeError, match=r"base\.angular_velocity: expected numbers \(\.\.\., 3\), found "):
        robot.inverse_dynamics(*right, base=BaseMotion(wrong))
    if wrong is not None and getattr(wrong, "dtype", None) != np.longdouble:
        with pytest.raises((TypeError, ArmdynError), match=r"^out: expected "):
            robot.gravity(right[0], out=wrong)


def test_wrong_shapes_of_wrench_parameters_and_base():
    robot = Robot.load("puma560")
    right = arguments(robot, "inverse_dynamics")
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*right, np.zeros(3))
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*right, parameters=np.zeros(7))
    with golden_error(ArmdynError):
        robot.inverse_dynamics(*right, base=BaseMotion(np.zeros(6)))


def test_batches_that_do_not_broadcast():
    robot = Robot.load("puma560")
    message = r"^coriolis: shapes do not fit together: q \(2, 6\), qd \(3, 6\)$"
    with pytest.raises(ArmdynError, match=message):
        robot.coriolis(np.zeros((2, 6)), np.zeros((3, 6)))


def test_a_list_within_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(TypeError, match="lists more than 64 deep"):
        Robot.load("puma560").gravity(endless)


def test_a_small_list_that_stands_in_others_many_times_is_refused():
    many: list = [0.0] * 6
    for _ in range(40):
        many = [many, many]
    with pytest.raises(TypeError, match=r"q: expected numbers .*, found lists of 6597069766656 numbers"):
        Robot.load("puma560").inertia(many)
    with pytest.raises(TypeError, match="found lists of different lengths"):
        Robot.load("puma560").inertia([[0.0] * 6, many])


def test_fractions_and_numpy_numbers_in_lists():
    robot = ROBOTS["planar"]
    expected = robot.gravity([0.5, 2.0])
    assert_same(robot.gravity([Fraction(1, 2), 2]), expected, 0)
    assert_same(robot.gravity([np.float32(0.5), np.int64(2)]), expected, 0)
    assert_same(robot.gravity([np.array(0.5), np.array(2.0)]), expected, 0)


def test_pandas_tables():
    pandas = pytest.importorskip("pandas")
    robot = ROBOTS["planar"]
    q = np.random.default_rng(1).uniform(-3, 3, (5, 2))
    table = pandas.DataFrame(q, columns=["q1", "q2"])
    assert_same(robot.gravity(table), robot.gravity(q), 0)
    assert_same(robot.gravity(table.iloc[2]), robot.gravity(q[2]), 0)
    with pytest.raises(TypeError, match="found an array of truth values"):
        robot.gravity(table > 0)
    with pytest.raises(TypeError, match="found an array of objects"):
        robot.gravity(table.assign(q2="a"))


@pytest.mark.parametrize(
    ("library", "make"),
    [
        ("jax.numpy", lambda m: m.zeros(6)),
        ("xarray", lambda m: m.DataArray(np.zeros(6))),
        ("polars", lambda m: m.Series([0.0] * 6)),
    ],
)
def test_arrays_of_other_libraries_are_refused_by_name(library, make):
    module = pytest.importorskip(library)
    with pytest.raises(TypeError, match=rf"q: expected numbers .*, found an object of type {library[:4]}"):
        Robot.load("puma560").gravity(make(module))


@pytest.mark.parametrize("method", ["pose", "jacobian", "jacobian_dot"])
def test_an_unknown_link_names_the_links(method):
    robot = Robot.load("puma560")
    with golden_error(ArmdynError):
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
    robot = Robot.load("puma560")
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
    robots = [Robot.load(name) for name in WITHOUT_LOOPS]
    assert robots == list(ROBOTS.values())
    assert len({*robots, *ROBOTS.values()}) == len(ROBOTS)
    puma = Robot.load("puma560")
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
    assert robot.n == len(robot.model.coordinates)
    assert len(set(robot.parameter_names)) == len(robot.parameter_names)
