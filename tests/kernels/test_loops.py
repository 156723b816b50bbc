"""Compiled loops and their evaluator: the same numbers at every width of registers."""

import numpy as np
import pytest

from armdyn.kernels import set_threads
from armdyn.kernels.loops import loop_kernel
from armdyn.kernels.loops.loop_kernel import LoopKernel
from armdyn.program import record
from armdyn.program.evaluate_loop import evaluate_loop
from armdyn.program.loops import (
    Argument,
    Ask,
    Call,
    Copy,
    Count,
    Counter,
    For,
    If,
    Load,
    Local,
    Loop,
    Part,
    Save,
    Set,
    While,
)

STEPS, I, J = Count("steps"), Counter("i"), Counter("j")
GIVEN, STATE = Argument("given", 3), Argument("state", 2, written=True)
TRACE = Argument("trace", 2, written=True)
INSTANCES = (1, 2, 7, 8, 16, 21)


def pendulum() -> Loop:
    """Fourth-order Runge–Kutta: ẍ = −a sin x − b ẋ; `given` is a, b and the step."""
    x, y, k, total, c = (Local(name, 2) for name in ("x", "y", "k", "total", "c"))
    given = Local("given", 3)

    def stage(x, k, total, c, weight):
        return [t + weight * d for t, d in zip(total, k, strict=True)], [x[i] + c[0] * k[i] for i in (0, 1)]

    programs = {
        "rate": record(
            lambda x, g: [x[1], -g[0] * x[0].sin() - g[1] * x[1]], [("x", 2), ("g", 3)], [("k", (2,))]
        ),
        "start": record(
            lambda x, g: (x, [0, 0], [g[2] / 2, g[2]]),
            [("x", 2), ("g", 3)],
            [("y", (2,)), ("t", (2,)), ("c", (2,))],
        ),
        "one": record(lambda x, k, t, c: stage(x, k, t, c, 1), *_stage_shape()),
        "two": record(lambda x, k, t, c: stage(x, k, t, c, 2), *_stage_shape()),
        "end": record(
            lambda x, t, g: [x[i] + g[2] / 6 * t[i] for i in (0, 1)],
            [("x", 2), ("t", 2), ("g", 3)],
            [("x", (2,))],
        ),
    }

    def stages(name: str, part: Part) -> tuple[Call, Call]:
        return (
            Call("rate", (y.all, given.all), (k.all,)),
            Call(name, (x.all, k.all, total.all, part), (total.all, y.all)),
        )

    step = (
        Call("start", (x.all, given.all), (y.all, total.all, c.all)),
        *stages("one", c[0]),
        *stages("two", c[0]),
        *stages("two", c[1]),
        *stages("one", c[1]),
        Call("end", (x.all, total.all, given.all), (x.all,)),
        Save(TRACE, I, x.all),
    )
    body = (Load(given.all, GIVEN), Load(x.all, STATE), For(I, 0, STEPS, step), Save(STATE, 0, x.all))
    return Loop("pendulum", (STEPS,), (GIVEN, STATE, TRACE), body, programs)


def _stage_shape():
    return [("x", 2), ("k", 2), ("t", 2), ("c", 1)], [("t", (2,)), ("y", (2,))]


def masks() -> Loop:
    """Conditions within conditions, with every statement under one, and instances that end one by one."""
    x, g, left, big, k = Local("x", 2), Local("g", 3), Local("left", 1), Local("big", 1), Local("k", 1)
    programs = {
        "look": record(
            lambda x, g, k: ([g[2] - k[0]], [abs(x[0]) - 1]),
            [("x", 2), ("g", 3), ("k", 1)],
            [("left", (1,)), ("big", (1,))],
        ),
        "turn": record(  # writes where it reads, crosswise
            lambda x, g: ([x[1]], [x[0] * g[0] - g[1]]), [("x", 2), ("g", 3)], [("a", (1,)), ("b", (1,))]
        ),
        "halve": record(lambda x: [x[0] / 2, x[1].sqrt()], [("x", 2)], [("x", (2,))]),
        "next": record(lambda k: [k[0] + 1], [("k", 1)], [("k", (1,))]),
    }
    look = Call("look", (x.all, g.all, k.all), (left.all, big.all))
    inner = (
        If(
            big.all,
            (
                Call("halve", (x.all,), (x.all,)),
                While(x[1], (Set(x[1], I - 2), Copy(x[0], k.all)), 1),
                Save(TRACE, I, x.all),
            ),
            (
                If(x[0], (Load(x[1], GIVEN, I),)),
                Call("turn", (x.all, g.all), (x[0], x[1])),
                For(J, 0, 2, (Save(TRACE, I + J, x[:1]),), backwards=True),
            ),
        ),
        Call("next", (k.all,), (k.all,)),
        look,
    )
    body = (
        Load(g.all, GIVEN),
        Load(x.all, STATE),
        For(I, 0, STEPS, (look, While(left.all, inner), Set(k.all, I * I - 2 * I))),
        Save(STATE, 0, x.all),
    )
    return Loop("masks", (STEPS,), (GIVEN, STATE, TRACE), body, programs)


def long() -> Loop:
    """A program of several parts, and more local numbers than fit the stack."""
    x, y, big = Local("x", 2), Local("y", 2), Local("big", 400)

    def twisted(x, big):
        a, b = x
        values = []
        for k in range(400):
            a, b = a.sin() * 0.6 + b * 0.6, b * 0.6 - a * 0.6 + big[399 - k] * 0.1
            values.append(a - b)
        return [x[0] - b, a + x[1].sin()], values

    shape = ([("x", 2), ("big", 400)], [("x", (2,)), ("big", (400,))])
    programs = {"twist": record(twisted, *shape)}
    step = (
        Call("twist", (x.all, big.all), (y.all, big.all)),
        If(y[0], (Call("twist", (y.all, big.all), (x.all, big.all)),), (Copy(x.all, y.all),)),
        Save(TRACE, I, big[5:7]),
    )
    body = (Load(x.all, STATE), For(I, 0, STEPS, step), Save(STATE, 0, x.all))
    return Loop("long", (STEPS,), (STATE, TRACE), body, programs)


LOOPS = {"pendulum": pendulum, "masks": masks, "long": long}


def arguments(loop: Loop, instances: int, steps: int = 4, shared: bool = False) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(instances)
    given = rng.uniform(0.1, 2.5, (steps, 1 if shared else instances, 3))
    given[..., 2] = rng.integers(0, 6, given.shape[:2]) if loop.name == "masks" else 0.05
    found = {
        "given": given,
        "state": rng.normal(size=(1, instances, 2)),
        "trace": rng.normal(size=(steps + 1, instances, 2)),
    }
    return {argument.name: found[argument.name] for argument in loop.arguments}


def compare(loop: Loop, instances: int, given: dict[str, np.ndarray], steps: int = 4) -> None:
    """The evaluator's numbers and the compiled ones, in all arguments."""
    expected = {name: x.copy() for name, x in given.items()}
    evaluate_loop(loop, instances, {"steps": steps}, expected)
    LoopKernel(loop)(instances, {"steps": steps}, given)
    for name, x in expected.items():
        np.testing.assert_allclose(given[name], x, rtol=1e-11, atol=1e-12)


@pytest.fixture(params=[16, 32, 64])
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
    """Rows apart, instances backwards, of one array for all rows."""
    loop = LOOPS[name]()
    given = arguments(loop, 13)
    for key, x in given.items():
        wide = np.full((2 * len(x), 26, x.shape[2] + 3), 7.0)
        view = wide[1::2, ::-2, 1 : 1 + x.shape[2]]
        view[:] = x
        given[key] = view
    if "given" in given:
        given["given"] = np.broadcast_to(given["given"][:1, :1], (4, 13, 3))
    compare(loop, 13, given)


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
    body = (Load(x.all, STATE), Ask("twice", STEPS, (x.all,), x.all), Save(STATE, 0, x.all))
    state = np.ones((1, 5, 2))
    asked = {"twice": lambda row, x: row + 2 * x}
    LoopKernel(Loop("asking", (STEPS,), (STATE,), body, {}))(5, {"steps": 3}, {"state": state}, asked)
    assert (state == 5).all()
