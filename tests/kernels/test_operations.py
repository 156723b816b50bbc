"""Every operation, compiled: as the evaluator says, in both formats, in and outside full registers."""

import numpy as np
import pytest

from armdyn.kernels.llvm import compiled as compiled_module
from armdyn.program import OPS, evaluate
from armdyn.program.program import Recorder
from kernel_tools import kernel_of

SPECIAL = [0.0, -0.0, 1.0, -2.5, 0.3, 1e-300, np.inf, -np.inf, np.nan]
ROUGH = {"sin": 4, "cos": 4, "exp": 4, "tanh": 4}  # units of the last place; all others are exact


def kernel_with(op):
    """A kernel of one operation; on a gap in the table of spellings it does not compile."""

    def function(x):
        return [Recorder(x[0].tape, x[0].tape.apply(op, *(a.index for a in x)))]

    return kernel_of(function, [OPS[op].arity], [(1,)], f"operation {op}")


def points(arity, dtype):
    rng = np.random.default_rng(arity)
    grid = np.stack(np.meshgrid(*[SPECIAL] * arity, indexing="ij"), -1).reshape(-1, arity)
    x = np.concatenate([rng.normal(size=(100, arity)) * 3, grid])
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def assert_agree(op, found, expected):
    """The evaluator computes in double precision: single precision is that, rounded once."""
    expected = expected.astype(found.dtype)
    tolerance = ROUGH.get(op, 0) * np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", OPS)
def test_compiled_operation(op, dtype):
    kernel = kernel_with(op)
    x = points(OPS[op].arity, dtype)
    with np.errstate(all="ignore"):
        (expected,) = evaluate(kernel.program, x)
        found = kernel(x)
        assert found.dtype == dtype
        assert_agree(op, found, expected)
        for i in range(0, len(x), 7):  # the scalar body: a batch of one, and a single call
            assert_agree(op, kernel(x[i : i + 1]), expected[i : i + 1])
            assert_agree(op, kernel(x[i]), expected[i])


@pytest.mark.parametrize("register", [16, 32, 64])
def test_every_operation_at_every_register_width(register, monkeypatch, fresh_cache):
    monkeypatch.setattr(compiled_module, "vector_bytes", lambda: register)

    def function(x):
        tape = x[0].tape
        return [Recorder(tape, tape.apply(op, *(a.index for a in x[: OPS[op].arity]))) for op in sorted(OPS)]

    kernel = kernel_of(function, [3], [(len(OPS),)])
    for dtype in (np.float64, np.float32):
        x = points(3, dtype)
        with np.errstate(all="ignore"):
            (expected,) = evaluate(kernel.program, x)
            found = kernel(x)
        for k, op in enumerate(sorted(OPS)):
            assert_agree(op, found[:, k], expected[:, k])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("op", OPS)
def test_nan_raises_no_warning(op, dtype):
    kernel = kernel_with(op)
    for rows in (1, 7, 16, 21):
        x = points(OPS[op].arity, dtype)[:rows]
        if op == "sqrt":
            x = np.abs(x)
        x[rows // 2] = np.nan
        expected = evaluate(kernel.program, x)[0]
        np.testing.assert_array_equal(np.isnan(kernel(x)), np.isnan(expected))


def test_outputs_that_are_inputs_and_constants():
    kernel = kernel_of(
        lambda x, y: ([x[0], 3, x[0], x[1] * 2, x[1] * 2, y[0]], [[y[0], -0.5], [x[1], 0]]),
        [2, 1],
        [(6,), (2, 2)],
    )
    for rows in (1, 8, 19):
        x, y = np.random.default_rng(rows).normal(size=(rows, 2)), np.arange(rows, dtype=float)[:, None]
        for found, expected in zip(kernel(x, y), evaluate(kernel.program, x, y), strict=True):
            np.testing.assert_array_equal(found, expected)


def test_a_program_of_constants_alone():
    kernel = kernel_of(lambda x: [1.5, 0, -2], [4], [(3,)])
    np.testing.assert_array_equal(kernel(np.ones(4)), [1.5, 0, -2])
    np.testing.assert_array_equal(kernel(np.full((17, 4), np.nan)), np.tile([1.5, 0, -2], (17, 1)))


def test_single_precision_constants_are_rounded():
    kernel = kernel_of(lambda x: [x[0] * 0.1, x[0] + 1e-60], [1], [(2,)])
    y = kernel(np.full((20, 1), 3, np.float32))
    np.testing.assert_array_equal(y[:, 0], np.float32(3) * np.float32(0.1))
    np.testing.assert_array_equal(y[:, 1], 3)


def test_single_precision_constants_beyond_its_range():
    kernel = kernel_of(lambda x: [x[0] * 1e39], [1], [(1,)])
    with np.errstate(all="ignore"):
        assert kernel(np.ones((1, 1), np.float32)) == np.inf
