"""Loops on CuPy arrays and by the evaluator: the same numbers, wherever the numbers lie."""

import numpy as np
import pytest

from armdyn import ArmdynError
from armdyn.kernels.cuda import loop_text
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program.evaluate import evaluate_loop
from armdyn.program.loops import Ask, Fetch, Local, Loop, Save
from golden_messages import golden_error
from program_loops import LOOPS, STATE, STEPS, arguments, masks, pendulum

LAYOUTS = {"rows": (0, 1, 2), "instances": (0, 2, 1), "backwards": (2, 1, 0)}


def placed(cupy, x, order, dtype):
    """An array on the GPU whose axes lie in memory in an order; every second number is another's."""
    memory = cupy.full([2 * x.shape[axis] for axis in order], 7.0, dtype)
    view = memory[::2, 1::2, ::-2].transpose(*np.argsort(order))
    view[...] = cupy.asarray(x.astype(dtype))
    return memory, view


def compare(cupy, loop, instances, given, order=(0, 1, 2), dtype=np.float64, steps=4):
    expected = {name: x.astype(dtype).astype(float) for name, x in given.items()}
    evaluate_loop(loop, instances, {"steps": steps}, expected)
    places = {name: placed(cupy, x, order, dtype) for name, x in given.items()}
    LoopKernel(loop)(instances, {"steps": steps}, {name: view for name, (_, view) in places.items()})
    single = dtype == np.float32
    for name, x in expected.items():
        memory, view = places[name]
        found = view.get()
        assert found.dtype == dtype
        np.testing.assert_allclose(found, x, rtol=1e-4 if single else 1e-11, atol=1e-4 if single else 1e-12)
        view[...] = 7
        assert bool((memory == 7).all())  # what lies between stays as it was


@pytest.mark.parametrize("name", LOOPS)
def test_on_the_gpu_and_evaluated(cupy, name):
    loop = LOOPS[name]()
    for instances, shared in ((1, False), (13, False), (130, True)):
        compare(cupy, loop, instances, arguments(loop, instances, shared=shared))


@pytest.mark.parametrize("order", LAYOUTS.values(), ids=LAYOUTS)
def test_arguments_with_strides(cupy, order):
    loop = masks()
    compare(cupy, loop, 21, arguments(loop, 21), order)


def test_in_single_precision(cupy):
    loop = pendulum()
    compare(cupy, loop, 9, arguments(loop, 9), (0, 2, 1), np.float32)


def test_nothing_waits(stand_in):
    loop = pendulum()
    given = {name: stand_in.asarray(x) for name, x in arguments(loop, 5).items()}
    stand_in.waits.clear()
    LoopKernel(loop)(5, {"steps": 4}, given)
    assert stand_in.waits == []


def test_the_stages_of_a_step_call_one_program_in_turns():
    text = loop_text("name", LOOPS["arm"](), "double")
    assert text.count("__forceinline__ void name_rate(") == 1
    assert text.count("name_rate(") == 2
    assert "< 4; ++turn" in text


def test_a_long_program_called_in_two_places_is_one_function():
    text = loop_text("name", LOOPS["long"](), "double")
    assert text.count("__noinline__ void name_twist(") == 1
    assert text.count("name_twist(") == 3


def test_what_a_gpu_cannot_do_is_refused(cupy):
    x = Local("x", 2)
    body = (Fetch(x.all, STATE), Ask("asked", 0, (x.all,), x.all), Save(STATE, 0, x.all))
    asks = LoopKernel(Loop("asks", (STEPS,), (STATE,), body, {}))
    state = cupy.zeros((1, 3, 2))
    with golden_error(ArmdynError):
        asks(3, {"steps": 1}, {"state": state}, {"asked": lambda row, x: x})


def test_arguments_that_do_not_fit_are_refused(cupy):
    loop = pendulum()
    kernel, given = LoopKernel(loop), {key: cupy.asarray(x) for key, x in arguments(loop, 3).items()}
    for name, wrong, problem in (
        ("trace", np.zeros((5, 3, 2)), "expected a CuPy array, as others are, found ndarray"),
        ("trace", given["trace"].astype(np.float32), "expected float64, as the first is"),
        ("trace", given["trace"][:, :1], r"\(rows, 3, 2\)"),
        ("given", given["given"][:, :2], r"\(rows, 1 or 3, 3\)"),
    ):
        with pytest.raises((TypeError, ValueError), match=problem):
            kernel(3, {"steps": 4}, given | {name: wrong})
    with pytest.raises(IndexError, match="'trace' has 5 rows; rows 0 to 8 are used"):
        kernel(3, {"steps": 9}, given)
