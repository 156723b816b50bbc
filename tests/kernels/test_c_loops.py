"""Loops as C: strict C99, and the numbers of their evaluator."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from armdyn.kernels.c_package import Language, loop_function, package
from armdyn.motion.timing.passes import passes
from armdyn.program import record
from armdyn.program.evaluate import evaluate_loop
from armdyn.program.loops import Argument, Ask, Call, Count, Counter, Fetch, For, If, Local, Loop, Save, While
from arms import slowly
from program_loops import LOOPS, STATE, STEPS, arguments

CC = shutil.which("cc") or shutil.which("gcc")
STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
needs_compiler = pytest.mark.skipif(CC is None, reason="no C compiler on this machine")
POINTER = ctypes.POINTER(ctypes.c_double)


def source_of(loop: Loop, scalar: str = "double", meanings=None, title="a loop", prefix="my"):
    """The package of a loop."""
    language = Language(scalar)
    return package(title, prefix, [], language, [loop_function(prefix, loop, language, meanings or {})])


def compiled(loop: Loop, folder: Path):
    """The function of a loop, from strict C."""
    source_of(loop).write(folder)
    command = [CC, *STRICT, "-shared", "-fPIC", "my.c", "-lm", "-o", "my.so"]
    subprocess.run(command, cwd=folder, check=True)
    return getattr(ctypes.CDLL(str(folder / "my.so")), f"my_{loop.name}")


def compare(loop: Loop, function, counts: dict[str, int], given: dict[str, np.ndarray], asked=None) -> None:
    """C instance by instance, and the evaluator on all of them."""
    instances = max(x.shape[1] for x in given.values())
    callbacks = [*map(_callback, (asked or {}).values()), *([None] if asked else [])]
    found = {name: x.copy() for name, x in given.items()}
    for k in range(instances):
        own = [np.ascontiguousarray(found[a.name][:, k % found[a.name].shape[1]]) for a in loop.arguments]
        numbers = [ctypes.c_long(counts[count.name]) for count in loop.counts]
        function(*numbers, *(x.ctypes.data_as(POINTER) for x in own), *callbacks)
        for argument, x in zip(loop.arguments, own, strict=True):
            if argument.written:
                found[argument.name][:, k] = x
    evaluate_loop(loop, instances, counts, given, asked)
    for name, x in given.items():
        np.testing.assert_allclose(found[name], x, rtol=1e-11, atol=1e-12)


def _callback(function):
    """A function of one array of two numbers that gives two, as C calls it."""

    def call(context, row, x, out):
        found = function(row, np.array([x[:2]]))
        out[0], out[1] = np.ravel(found)

    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_long, POINTER, POINTER)(call)


@needs_compiler
@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("shared", [slowly(False), True], ids=["own", "shared"])
def test_c_and_evaluator(name: str, shared: bool, tmp_path: Path) -> None:
    loop = LOOPS[name]()
    compare(loop, compiled(loop, tmp_path), {"steps": 4}, arguments(loop, 9, shared=shared))


@needs_compiler
def test_passes_of_least_time(tmp_path: Path) -> None:
    rng, count, m, paths = np.random.default_rng(3), 15, 6, 12
    size = rng.uniform(0.5, 3, (count * m, paths, 1))
    middle = rng.normal(0, 0.65, size.shape)
    given = {
        "step": rng.uniform(0.01, 0.05, (count, paths, 1)),
        "slope": rng.normal(0, 8, size.shape),
        "low": middle - size,
        "high": middle + size,
        "most": rng.uniform(0.5, 4, (count + 1, paths, 1)),
    }
    sizes = {"x": (count + 1, 1), "u": (count, 1), "reach": (count + 1, 2), "failure": (1, 3)}
    given |= {name: np.zeros((k, paths, columns)) for name, (k, columns) in sizes.items()}
    compare(passes(), compiled(passes(), tmp_path), {"count": count, "rows": m}, given)
    assert 0 < (given["failure"][0, :, 0] < 0).sum() < paths


def asking() -> Loop:
    """A step that leaves its torque to the caller, as a controller does."""
    x, u, i = Local("x", 2), Local("u", 2), Counter("i")
    push = record(lambda x, u: [x[0] + x[1], x[1] + u[0] - u[1]], [("x", 2), ("u", 2)], [("x", (2,))])
    step = (Ask("torque", i * 2, (x.all,), u.all), Call("push", (x.all, u.all), (x.all,)))
    body = (Fetch(x.all, STATE), For(i, 0, STEPS, (If(x[0], step),)), Save(STATE, 0, x.all))
    return Loop("asking", (STEPS,), (STATE,), body, {"push": push})


@needs_compiler
def test_what_is_asked_is_a_callback(tmp_path: Path) -> None:
    state = np.random.default_rng(0).normal(size=(1, 9, 2))
    asked = {"torque": lambda row, x: np.stack([0.1 * row - x[:, 0], 0.2 * x[:, 1]], -1)}
    compare(asking(), compiled(asking(), tmp_path), {"steps": 5}, {"state": state}, asked)


def test_one_question_has_one_form() -> None:
    x = Local("x", 3)
    body = (Ask("torque", 0, (x[:2],), x[2]), Ask("torque", 0, (x[:1],), x[2]))
    with pytest.raises(ValueError, match="'torque' is asked with"):
        source_of(Loop("two", (), (), body, {}))


@needs_compiler
def test_empty_parts_and_unused_names(tmp_path: Path) -> None:
    """C has no empty arrays, and a strict compiler minds what is not used."""
    x, none, i = Local("x", 2), Local("none", 0), Counter("i")
    unused = Argument("unused", 3), Argument("empty", 0)
    twice = record(lambda x, n: ([2 * x[0], x[0]], []), [("x", 2), ("n", 0)], [("x", (2,)), ("n", (0,))])
    body = (
        Fetch(x.all, STATE),
        Fetch(none.all, unused[1]),
        For(i, 0, 3, (Call("twice", (x.all, none.all), (x.all, none.all)),)),
        While(x[1], (), 2),
        Save(STATE, 0, x.all),
    )
    loop = Loop(
        "empty_parts", (STEPS, Count("also")), (STATE, *unused), body, {"twice": twice, "never": twice}
    )
    given = {"state": np.ones((1, 4, 2)), "unused": np.ones((1, 1, 3)), "empty": np.ones((1, 1, 0))}
    compare(loop, compiled(loop, tmp_path), {"steps": 1, "also": 2}, given)
    np.testing.assert_array_equal(given["state"][0, 0], [8, 4])


def test_header_says_what_is_what() -> None:
    meanings = {
        "steps": "how many steps",
        "state": "position [rad] and velocity [rad/s]",
        "torque": "the controller",
    }
    source = source_of(asking(), "double", meanings, "a pendulum */", "pend")
    for text in (
        "steps: how many steps",
        "state[1][2]: position [rad] and velocity [rad/s] (read and written)",
        "torque: the controller (context, an integer, arrays of 2 in, an array of 2 out)",
        "void pend_asking(long steps, double *state, ",
        "void (*torque)(void *, long, const double *, double *), void *context);",
        "a pendulum * /",
    ):
        assert text in source.header
    assert "malloc" not in source.source


@needs_compiler
def test_single_precision_compiles(tmp_path: Path) -> None:
    for name, make in LOOPS.items():
        folder = tmp_path / name
        source_of(make(), "float").write(folder)
        subprocess.run([CC, *STRICT, "-Wdouble-promotion", "-c", "my.c"], cwd=folder, check=True)
