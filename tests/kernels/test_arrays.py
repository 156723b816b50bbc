"""Arrays in and out: strides, batch shapes, dtypes, `out=`, what is refused."""

import re

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.program import evaluate
from armdyn.robot.functions import FUNCTIONS
from arms import slowly
from closed_chains import closed_states, five_bar
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple, integers, kernel_of, rotated, rotated_sum

SIZES = (1, 2, 3, 7, 8, 9, 15, 16, 17, 24, 33)  # around the widths of registers
DTYPES = (np.float64, np.float32)


@pytest.fixture(scope="module")
def robot():
    return Robot.load("scara")


@pytest.fixture(scope="module")
def matrix():
    """An input of 3 and one of 2; outputs (2, 3) and (3,) and a scalar."""
    return kernel_of(
        lambda x, y: ([[a * b for a in x] for b in y], [a + y[0] for a in x], x[0] - y[1]),
        [3, 2],
        [(2, 3), (3,), ()],
        "outer product",
    )


def outer(x, y):
    return y[..., :, None] * x[..., None, :], x + y[..., :1], x[..., 0] - y[..., 1]


def assert_equal(found, expected):
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


# ---- how rows lie in memory --------------------------------------------------------------------------------


def layouts(x):
    """The same (rows, size) numbers, laid out in many ways."""
    rows, size = x.shape
    wide = np.zeros((rows, size + 3), x.dtype)
    wide[:, 2:-1] = x
    every = np.zeros((2 * rows, 2 * size), x.dtype)
    every[::2, ::2] = x
    raw = np.zeros(x.nbytes + 1, np.uint8)
    unaligned = raw[1:].view(x.dtype).reshape(x.shape)
    unaligned[:] = x
    fixed = x.copy()
    fixed.flags.writeable = False
    return {
        "plain": x.copy(),
        "fortran": np.asfortranarray(x),
        "transposed": np.ascontiguousarray(x.T).T,
        "rows reversed": x[::-1].copy()[::-1],
        "entries reversed": x[:, ::-1].copy()[:, ::-1],
        "both reversed": x[::-1, ::-1].copy()[::-1, ::-1],
        "part of wider rows": wide[:, 2:-1],
        "every second row and entry": every[::2, ::2],
        "unaligned": unaligned,
        "read-only": fixed,
        "other byte order": x.astype(x.dtype.newbyteorder()),
    }


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_layouts(size, dtype):
    kernel = rotated_sum(size)
    for rows in (1, 5, 16, 19):
        x = integers((rows, size), rows).astype(dtype)
        for name, y in layouts(x).items():
            found = kernel(y)
            np.testing.assert_array_equal(found, rotated(x), err_msg=name)
            if name != "other byte order":  # then in double precision
                assert found.dtype == dtype, name


@pytest.mark.parametrize("size", [1, 3, 8, 17])
def test_broadcast_rows_have_no_stride(size):
    kernel = rotated_sum(size)
    x = integers(size)
    np.testing.assert_array_equal(kernel(np.broadcast_to(x, (21, size))), np.tile(rotated(x), (21, 1)))
    constant = np.broadcast_to(np.array(2.0), (21, size))
    np.testing.assert_array_equal(kernel(constant), rotated(constant))


@pytest.mark.parametrize("rows", [n if n in (0, 1, 3, 4, 5, 8, 9, 17) else slowly(n) for n in range(21)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_batches_around_the_register_width(rows, dtype, matrix):
    x, y = integers((rows, 3), 1).astype(dtype), integers((rows, 2), 2).astype(dtype)
    found = matrix(x, y)
    assert_equal(found, outer(x, y))
    assert all(a.dtype == dtype for a in found)


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (0, 3), (2, 3), (4, 1, 5), (2, 2, 2, 3)])
def test_batch_shapes(shape, matrix, robot):
    x, y = integers((*shape, 3)), integers((*shape, 2))
    assert_equal(matrix(x, y), outer(x, y))
    for function in FUNCTIONS:
        if function in ("inertia", "gravity", "potential_energy", "inverse_dynamics"):
            inputs = arguments(robot, function, shape)
            found = getattr(robot, function)(*inputs)
            core = found.shape[len(shape) :]
            assert found.shape[: len(shape)] == shape
            flat = [a.reshape(-1, robot.n) for a in inputs]
            np.testing.assert_allclose(
                found.reshape(-1, *core), getattr(robot, function)(*flat), rtol=0, atol=1e-11
            )


def test_inputs_broadcast_against_each_other(matrix):
    x, y = integers((5, 1, 3)), integers((4, 2))
    assert_equal(matrix(x, y), outer(np.broadcast_to(x, (5, 4, 3)), np.broadcast_to(y, (5, 4, 2))))
    x, y = integers(3), integers((9, 2))
    assert_equal(matrix(x, y), outer(np.broadcast_to(x, (9, 3)), y))
    x, y = integers((17, 3)), integers((1, 2))
    assert_equal(matrix(x, y), outer(x, np.broadcast_to(y, (17, 2))))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_strided_and_empty_input_of_every_function(robot, function):
    inputs = arguments(robot, function, (13,))
    expected = evaluate(robot.program(function), *inputs)
    method = getattr(robot, function)
    for name in ("fortran", "both reversed", "every second row and entry", "unaligned"):
        found = as_tuple(method(*(layouts(x)[name] for x in inputs)))
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10, err_msg=name)
    for shape in ((0,), (3, 0)):
        empty = as_tuple(method(*arguments(robot, function, shape)))
        assert [a.shape for a in empty] == [(*shape, *b.shape[1:]) for b in expected]


@pytest.mark.parametrize("rows", [1, 5])
def test_layouts_of_closed_chains(rows):
    """Loops are closed by a kernel of its own kind, which takes what the others take."""
    robot = five_bar()
    q = closed_states(robot, np.random.default_rng(3), rows)[0]
    expected = robot.inertia(q)
    for name, x in {**layouts(q), "a list": q.tolist()}.items():
        np.testing.assert_array_equal(robot.inertia(x), expected, err_msg=name)
        near = layouts(robot.assembly(q)).get(name, robot.assembly(q))
        np.testing.assert_allclose(robot.assembly(x, near), robot.assembly(q), atol=1e-12, err_msg=name)
    np.testing.assert_allclose(robot.inertia(q.astype(np.float32)), expected, rtol=1e-4, atol=1e-5)


# ---- dtypes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16])
def test_other_numbers_compute_in_double_precision(robot, dtype):
    for rows in ((), (1,), (19,)):
        q = np.random.default_rng(1).integers(0, 2, (*rows, 4)).astype(dtype)
        found = robot.gravity(q)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, robot.gravity(q.astype(float)))


def test_lists_and_mixed_precision(robot):
    q, qd, qdd = arguments(robot, "inverse_dynamics", (3,))
    expected = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_array_equal(robot.inverse_dynamics(q.tolist(), qd, qdd.tolist()), expected)
    np.testing.assert_array_equal(robot.inverse_dynamics(tuple(q[0]), list(qd[0]), qdd[0]), expected[0])
    narrow = q.astype(np.float32)
    mixed = robot.inverse_dynamics(narrow, qd, qdd)
    assert mixed.dtype == np.float64
    np.testing.assert_array_equal(mixed, robot.inverse_dynamics(narrow.astype(float), qd, qdd))
    assert robot.gravity([0, 0, 0, 0]).dtype == np.float64
    assert robot.gravity([np.float32(0)] * 4).dtype == np.float32


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(4, complex),
        np.zeros(4, object),
        np.array(["a"] * 4),
        np.zeros(4, np.longdouble),
        np.zeros(4, "m8[s]"),
        np.zeros(4, "M8[s]"),
        np.zeros(4, [("a", float)]),
        np.zeros(4, bool),
        np.ma.masked_array(np.zeros(4), [0, 1, 0, 0]),
        None,
        {},
        "text",
    ],
    ids=str,
)
def test_what_are_no_numbers_is_refused(robot, bad):
    if isinstance(bad, np.ndarray) and bad.dtype == np.float64:
        pytest.skip("long double is double here")
    q = np.zeros(4)
    with pytest.raises((TypeError, ValueError)):
        robot.gravity(bad)
    with pytest.raises((TypeError, ValueError)):
        robot.inverse_dynamics(q, bad, q)
    if isinstance(bad, np.ndarray):
        with pytest.raises(TypeError):
            robot.gravity(np.ma.vstack([bad] * 9) if np.ma.isMA(bad) else np.tile(bad, (9, 1)))


@pytest.mark.parametrize("rows", [(), (5,), (20_000,)])
def test_wrong_shapes_are_refused(robot, rows):
    good = np.zeros((*rows, 4))
    for bad in (np.zeros((*rows, 3)), np.zeros((*rows, 5)), np.zeros((*rows, 1)), np.zeros((*rows, 0))):
        found = re.escape(str(bad.shape))
        with pytest.raises(ArmdynError, match=rf"^q: expected \(\.\.\., 4\), found {found}$"):
            robot.gravity(bad)
        with pytest.raises(ArmdynError, match=rf"^qd: expected \(\.\.\., 4\), found {found}$"):
            robot.inverse_dynamics(good, bad, good)
    with golden_error(ArmdynError):
        robot.inverse_dynamics(good, good, 1.0)
    with golden_error(ArmdynError):
        robot.inverse_dynamics(good, good, good, np.zeros(5))
    if rows:
        with golden_error(ArmdynError):
            robot.inverse_dynamics(good, np.zeros((rows[0] - 1, 4)), good)
    with pytest.raises(
        TypeError, match=r"^q: expected numbers \(\.\.\., 4\), found lists of different lengths$"
    ):
        robot.gravity([[1, 2], [3]])


@pytest.mark.parametrize("rows", [(), (3,), (20_000,)])
def test_too_few_arguments_are_refused(robot, rows):
    kernel, x = robot._kernels["inverse_dynamics"], np.zeros((*rows, 4))
    for arrays in ((), (x,), (x, x)):
        with pytest.raises(TypeError):
            kernel(*arrays)


def test_too_many_arguments_are_refused(robot):
    x, y = np.zeros(4), np.ones(4)
    with pytest.raises(TypeError):
        robot._kernels["gravity"](x, y)


# ---- out= --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [(), (1,), (19,), (2, 5)])
def test_out(matrix, rows):
    x, y = integers((*rows, 3)), integers((*rows, 2))
    expected = outer(x, y)
    out = tuple(np.full(e.shape, np.nan) for e in expected)
    found = matrix(x, y, out=out)
    assert all(a is b for a, b in zip(found, out, strict=True))
    assert_equal(out, expected)
    some = matrix(x, y, out=(None, out[1], None))
    assert some[1] is out[1]
    assert_equal(some, expected)


@pytest.mark.parametrize("rows", [(), (9,)])
def test_out_of_one_output(robot, rows):
    (q,) = arguments(robot, "inertia", rows)
    expected = robot.inertia(q)
    out = np.empty(expected.shape)
    assert robot.inertia(q, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert robot.inertia(q, out=(out,)) is out


@pytest.mark.parametrize("size", [1, 3, 8, 17])
@pytest.mark.parametrize("dtype", DTYPES)
def test_out_of_any_layout(size, dtype):
    kernel = rotated_sum(size)
    for rows in (1, 5, 16, 19):
        x = integers((rows, size), rows).astype(dtype)
        for name, out in layouts(np.zeros_like(x)).items():
            if name == "read-only":
                with pytest.raises(ValueError, match="read-only"):
                    kernel(x, out=out)
                continue
            kernel(x, out=out)
            np.testing.assert_array_equal(out, rotated(x), err_msg=name)


def test_out_leaves_its_neighbours_alone(robot):
    (q,) = arguments(robot, "inertia", (19,))
    around = np.full((40, 6, 7), 7.0)
    robot.inertia(q, out=around[1:39:2, 1:5, 2:6])
    np.testing.assert_array_equal(around[1:39:2, 1:5, 2:6], robot.inertia(q))
    around[1:39:2, 1:5, 2:6] = 7.0
    assert (around == 7.0).all()


@pytest.mark.parametrize("size", [3, 8, 10])
def test_out_may_be_an_input(size):
    kernel = rotated_sum(size)
    for rows in ((), (1,), (21,)):
        x = integers((*rows, size))
        expected = rotated(x)
        assert kernel(x, out=x) is x
        np.testing.assert_array_equal(x, expected)
    buffer = integers((30, size))
    expected = rotated(buffer[:-1])
    kernel(buffer[:-1], out=buffer[1:])  # each row is written before it is read
    np.testing.assert_array_equal(buffer[1:], expected)
    buffer = integers((30, size))
    expected = rotated(buffer[::-1])
    kernel(buffer[::-1], out=buffer)
    np.testing.assert_array_equal(buffer, expected)


def test_out_of_another_dtype(robot):
    q = np.zeros((3, 4))
    narrow = np.empty((3, 4), np.float32)
    np.testing.assert_allclose(robot.gravity(q, out=narrow), robot.gravity(q), rtol=1e-6)
    for dtype in (int, bool):
        with pytest.raises(TypeError, match="out: expected an array of floats, found "):
            robot.gravity(q, out=np.empty((3, 4), dtype))


def test_wrong_out_is_refused(robot, matrix):
    q = np.zeros((3, 4))
    for shape in ((3, 5), (2, 4), (4,), (3,), ()):
        with pytest.raises(ValueError, match=r"out: expected \(3, 4\), found "):
            robot.gravity(q, out=np.empty(shape))
    with pytest.raises(TypeError):
        robot.gravity(q, out=[[0.0] * 4] * 3)
    with pytest.raises(TypeError):
        matrix(np.zeros(3), np.zeros(2), out=np.empty((2, 3)))
    with pytest.raises((TypeError, ValueError)):
        matrix(np.zeros(3), np.zeros(2), out=(np.empty((2, 3)),))


# ---- NaN ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [1, 3, 21])
@pytest.mark.parametrize("name", ["scara", slowly("stanford")])
def test_nan_stays_in_its_row_and_raises_no_warning(name, rows, dtype):
    robot = Robot.load(name)
    inputs = [x.astype(dtype) for x in arguments(robot, "inverse_dynamics", (rows,))]
    expected = robot.inverse_dynamics(*inputs)
    for k in range(3):
        for i in range(rows):
            spoiled = [x.copy() for x in inputs]
            spoiled[k][i] = np.nan
            found = robot.inverse_dynamics(*spoiled)
            assert np.isnan(found[i]).any()
            np.testing.assert_allclose(
                np.delete(found, i, 0), np.delete(expected, i, 0), rtol=0, atol=1e3 * np.finfo(dtype).eps
            )


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if not f.endswith("derivatives")])
def test_nan_raises_no_warning_in_any_function(function):
    robot = Robot.load("scara")
    inputs = arguments(robot, function, (11,))
    inputs[-1][4] = np.nan
    result = getattr(robot, function)(*inputs)
    assert np.isfinite(np.delete(result, 4, 0)).all()
    single = getattr(robot, function)(*(x[4] for x in inputs))
    if FUNCTIONS[function].few_by_loop:  # along one joint at a time: more of it is no number
        assert np.isnan(single[np.isnan(result[4])]).all()
    else:
        np.testing.assert_array_equal(np.isnan(single), np.isnan(result[4]))
