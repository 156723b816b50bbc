"""Every operation: value, derivatives, spelling in C."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from armdyn.program import OPS, evaluate, jacobian, record
from armdyn.program.derive import _by_adjoints, _by_tangents
from armdyn.program.evaluate import as_function
from armdyn.program.program import Recorder

VALUES = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": np.sin,
    "cos": np.cos,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "tanh": np.tanh,
    "abs": np.abs,
    "sign": np.sign,
    "min": np.minimum,
    "max": np.maximum,
    "select": lambda c, a, b: np.where(c > 0, a, b),
}
SPECIAL = [0.0, -0.0, 1.0, -2.5, 0.3, np.inf, -np.inf, np.nan]


def program_of(op):
    """A program of this operation alone."""

    def function(x):
        return Recorder(x[0].tape, x[0].tape.apply(op, *(a.index for a in x)))

    program = record(function, [("x", OPS[op].arity)], [("y", (1,))])
    assert program.counts == {op: 1}
    return program


@pytest.mark.parametrize("op", OPS)
def test_a_program_and_its_python_function(op):
    program = program_of(op)
    x = np.stack(np.meshgrid(*[SPECIAL] * OPS[op].arity), -1).reshape(-1, OPS[op].arity)
    with np.errstate(all="ignore"):
        (found,) = as_function(program)(x)
    np.testing.assert_array_equal(found, evaluate(program, x)[0])


def points(op, special=False):
    rng = np.random.default_rng(5)
    x = rng.uniform(0.2, 2, (30, OPS[op].arity))
    if op != "sqrt":
        x *= rng.choice([-1, 1], x.shape)
    if special:
        grid = np.stack(np.meshgrid(*[SPECIAL] * x.shape[1], indexing="ij"), -1).reshape(-1, x.shape[1])
        x = np.concatenate([x, grid])
    return x


def test_every_operation_is_tested():
    assert set(VALUES) == set(OPS)


@pytest.mark.parametrize("op", OPS)
def test_value(op):
    x = points(op, special=True)
    (found,) = evaluate(program_of(op), x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(found[:, 0], VALUES[op](*x.T))


@pytest.mark.parametrize("op", OPS)
def test_partials(op):
    x = points(op)
    program = program_of(op)
    h = 1e-3
    for derivative in (_by_adjoints, _by_tangents, jacobian):
        (found,) = evaluate(derivative(program, ["x"]), x)
        assert found.shape == (len(x), 1, x.shape[1])
        for k in range(x.shape[1]):

            def moved(t, k=k):
                return evaluate(program, x + t * np.eye(x.shape[1])[k])[0][:, 0]

            steps = [moved(j * h) - moved(-j * h) for j in (1, 2, 3)]
            expected = (45 * steps[0] - 9 * steps[1] + steps[2]) / (60 * h)
            np.testing.assert_allclose(found[:, 0, k], expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("op", OPS)
def test_spelling_in_c_names_every_argument(op):
    names = ["first", "second", "third"][: OPS[op].arity]
    text = OPS[op].c.format(*names, f="f")
    assert all(name in text for name in names)


needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@needs_compiler
@pytest.mark.parametrize("op", OPS)
def test_spelling_in_c(op, tmp_path):
    arguments = ["x[0]", "x[1]", "x[2]"][: OPS[op].arity]
    source = "#include <math.h>\n"
    for kind, suffix in (("double", ""), ("float", "f")):
        value = OPS[op].c.format(*arguments, f=suffix)
        source += f"void value_{kind}(const {kind} *x, {kind} *y) {{ *y = {value}; }}\n"
    (tmp_path / "op.c").write_text(source)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-O1"]
    subprocess.run(["cc", *flags, "-o", tmp_path / "op.so", tmp_path / "op.c", "-lm"], check=True)
    library = ctypes.CDLL(str(tmp_path / "op.so"))
    x = points(op, special=True)
    (expected,) = evaluate(program_of(op), x)
    for kind, dtype, tolerance in (("double", float, 1e-15), ("float", np.float32, 1e-6)):
        y = np.zeros((len(x), 1), dtype)
        rows = x.astype(dtype)
        for i, row in enumerate(rows):
            getattr(library, f"value_{kind}")(
                ctypes.c_void_p(row.ctypes.data), ctypes.c_void_p(y[i:].ctypes.data)
            )
        np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)
