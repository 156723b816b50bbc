"""Compiled loops and their evaluator: the same numbers at every width of registers."""

import ctypes
import ctypes.util
import platform
import sys
from dataclasses import replace

import numpy as np
import pytest

from armdyn.kernels import loop_kernel, set_threads
from armdyn.kernels.llvm import machine
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program.evaluate import evaluate_loop
from armdyn.program.loops import Ask, Fetch, Local, Loop, Save
from arms import slowly
from program_loops import LOOPS, STATE, STEPS, arguments, masks, pendulum

INSTANCES = (1, 2, 7, 8, 16, 21)
FLAGS = 0x1 | 0x4  # invalid operation, division by zero: as x86 has them


def compare(loop: Loop, instances: int, given: dict[str, np.ndarray], steps: int = 4) -> None:
    """The evaluator's numbers and the compiled ones, in all arguments."""
    expected = {name: x.copy() for name, x in given.items()}
    evaluate_loop(loop, instances, {"steps": steps}, expected)
    LoopKernel(loop)(instances, {"steps": steps}, given)
    for name, x in expected.items():
        np.testing.assert_allclose(given[name], x, rtol=1e-11, atol=1e-12)


@pytest.fixture(params=[slowly(16), slowly(32), 64])
def register(request, monkeypatch):
    monkeypatch.setattr(loop_kernel, "vector_bytes", lambda: request.param)


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.usefixtures("register")
def test_compiled_and_evaluated(name: str) -> None:
    loop = LOOPS[name]()
    for instances in INSTANCES:
        for shared in (False, True):
            compare(loop, instances, arguments(loop, instances, shared=shared))


def test_the_masks_differ() -> None:
    """The instances of the test above do take different ways, NaN among them."""
    loop = masks()
    given = arguments(loop, 21)
    before = {name: x.copy() for name, x in given.items()}
    LoopKernel(loop)(21, {"steps": 4}, given)
    changed = (given["trace"] != before["trace"]).any(-1)
    assert len(np.unique(changed, axis=1).T) >= 4
    assert np.isnan(given["state"]).any()


@pytest.mark.parametrize("name", LOOPS)
def test_arguments_with_strides(name: str) -> None:
    """Rows apart, instances backwards, one row for all; what lies between stays as it is."""
    loop = LOOPS[name]()
    given, around = arguments(loop, 13), []
    for key, x in given.items():
        around.append(np.full((2 * len(x), 26, x.shape[2] + 3), 7.0))
        view = around[-1][1::2, ::-2, 1 : 1 + x.shape[2]]
        view[:] = x
        given[key] = view
    if "given" in given:
        given["given"] = np.broadcast_to(given["given"][:1, :1], given["given"].shape)
    compare(loop, 13, given)
    for wide in around:
        wide[1::2, ::-2, 1:-2] = 7.0
        assert (wide == 7.0).all()


@pytest.mark.parametrize("name", LOOPS)
def test_arguments_that_are_only_read_may_lie_anyhow(name: str) -> None:
    """Columns backwards, and not aligned."""
    loop = LOOPS[name]()
    read = [argument.name for argument in loop.arguments if not argument.written]
    for instances in (1, 13):
        given = arguments(loop, instances)
        for key in read:
            x = given[key]
            raw = np.zeros(x.nbytes + 1, np.uint8)[1:].view(float).reshape(x.shape)
            raw[:] = x[:, :, ::-1]
            given[key] = raw[:, :, ::-1]
        compare(loop, instances, given)


@pytest.mark.parametrize("name", LOOPS)
def test_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop_kernel, "MINIMUM_WORK", 1)
    set_threads(3)
    loop = LOOPS[name]()
    compare(loop, 45, arguments(loop, 45))


def test_no_instances_and_no_steps() -> None:
    loop = pendulum()
    compare(loop, 0, arguments(loop, 0))
    compare(loop, 3, arguments(loop, 3), steps=0)


def test_arrays_that_do_not_fit_are_refused() -> None:
    loop, kernel = pendulum(), LoopKernel(pendulum())
    good = arguments(loop, 3)
    for name, x in {
        "state": np.zeros((1, 1, 2)),
        "given": np.zeros((1, 2, 3)),
        "trace": np.zeros((5, 3, 4))[:, :, ::2],
        "": np.zeros((5, 3, 2), np.float32),
    }.items():
        name = name or "trace"
        with pytest.raises(ValueError, match=f"argument '{name}' is .* expected float64"):
            kernel(3, {"steps": 4}, {**good, name: x})
    with pytest.raises(IndexError, match="argument 'trace' has 5 rows; rows 0 to 5 are used"):
        kernel(3, {"steps": 6}, good)


def test_asking_is_for_the_evaluator() -> None:
    x = Local("x", 2)
    body = (Fetch(x.all, STATE), Ask("twice", STEPS, (x.all,), x.all), Save(STATE, 0, x.all))
    state = np.ones((1, 5, 2))
    asked = {"twice": lambda row, x: row + 2 * x}
    LoopKernel(Loop("asking", (STEPS,), (STATE,), body, {}))(5, {"steps": 3}, {"state": state}, asked)
    assert (state == 5).all()


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="flags as on x86")
def test_flags_of_floating_point_stay() -> None:
    """The square root of a negative number shows in its instance, not in what is computed later."""
    loop, libm = masks(), ctypes.CDLL(ctypes.util.find_library("m"))
    given = arguments(loop, 21)
    kernel = LoopKernel(loop)
    kernel(21, {"steps": 4}, arguments(loop, 21))
    libm.feclearexcept(FLAGS)
    kernel(21, {"steps": 4}, given)
    assert libm.fetestexcept(FLAGS) == 0
    assert np.isnan(given["state"]).any()


def test_no_memory() -> None:
    huge = Local("huge", 1 << 44)
    body = (Fetch(huge[:2], STATE), Save(STATE, 0, huge[:2]))
    kernel = LoopKernel(Loop("huge", (), (STATE,), body, {}))
    for instances in (1, 9):
        with pytest.raises(MemoryError, match="huge: not enough memory"):
            kernel(instances, {}, {"state": np.zeros((1, instances, 2))})


def test_machine_code_is_kept(fresh_cache, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, which has loaded nothing yet, finds it on disk."""
    loop = replace(pendulum(), name="kept")
    compare(loop, 9, arguments(loop, 9))
    assert len(list(fresh_cache.glob("*.o"))) == 1
    monkeypatch.setattr(machine, "_loaded", {})
    monkeypatch.setattr(machine, "compile_ir", lambda *_, **__: pytest.fail("compiled again"))
    compare(loop, 9, arguments(loop, 9))
