"""Loops as data: what the evaluator makes of them."""

import numpy as np

from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.motion.timing.passes import passes
from armdyn.program import record
from armdyn.program.evaluate import evaluate_loop
from armdyn.program.loops import (
    Argument,
    Ask,
    Call,
    Copy,
    Count,
    Counter,
    Fetch,
    For,
    If,
    Local,
    Loop,
    Save,
    Set,
    While,
    extent,
    rows_of,
)
from program_loops import LOOPS

COUNT, I, J = Count("count"), Counter("i"), Counter("j")
NUMBERS, RESULT = Argument("numbers", 2), Argument("result", 2, written=True)


def collatz() -> Loop:
    """How often x is halved or tripled until it is at most 1: instances end at different times."""
    x, half, steps, going, odd = (Local(name, 1) for name in ("x", "half", "steps", "going", "odd"))
    programs = {
        "look": record(
            lambda x, r: ([x[0] - 1], [x[0] - 2 * r[0]]),
            [("x", 1), ("half", 1)],
            [("going", (1,)), ("odd", (1,))],
        ),
        "triple": record(lambda x: [3 * x[0] + 1], [("x", 1)], [("x", (1,))]),
        "count": record(lambda n: [n[0] + 1], [("n", 1)], [("n", (1,))]),
    }
    look = (
        Ask("halved", 0, (x.all,), half.all),
        Call("look", (x.all, half.all), (going.all, odd.all)),
    )
    body = (
        Fetch(x.all, NUMBERS),
        *look,
        While(
            going.all,
            (
                If(odd.all, (Call("triple", (x.all,), (x.all,)),), (Copy(x.all, half.all),)),
                Call("count", (steps.all,), (steps.all,)),
                *look,
            ),
            1000,
        ),
        Save(RESULT, 0, steps.all),
    )
    return Loop("collatz", (), (NUMBERS, RESULT), body, programs)


def steps_to_one(x: int) -> int:
    steps = 0
    while x > 1:
        x, steps = (3 * x + 1 if x % 2 else x // 2), steps + 1
    return steps


def test_instances_end_at_different_times() -> None:
    numbers = np.arange(1.0, 40.0)
    arguments = {"numbers": np.stack([numbers, numbers], -1)[None], "result": np.zeros((1, len(numbers), 2))}
    LoopKernel(collatz())(len(numbers), {}, arguments, {"halved": lambda row, x: x // 2})
    np.testing.assert_array_equal(arguments["result"][0, :, 0], [steps_to_one(int(x)) for x in numbers])
    assert not arguments["result"][0, :, 1].any()


def test_counting_up_and_down_over_rows() -> None:
    x, k = Local("x", 2), Local("k", 1)
    step = record(lambda x, k: [2 * x[0] + k[0], x[1] - k[0]], [("x", 2), ("k", 1)], [("x", (2,))])
    body = (
        Fetch(x.all, NUMBERS, COUNT - 1),
        For(
            I,
            0,
            COUNT,
            (Set(k.all, I * 3 + 1), Call("step", (x.all, k.all), (x.all,)), Save(RESULT, I, x.all)),
        ),
        For(
            I,
            1,
            COUNT,
            (Set(k.all, I), Call("step", (x.all, k.all), (x.all,)), Save(RESULT, I + COUNT, x[:1])),
            backwards=True,
        ),
    )
    loop = Loop("counting", (COUNT,), (NUMBERS, RESULT), body, {"step": step})
    numbers = np.random.default_rng(1).normal(size=(3, 1, 2))  # shared by the instances
    result = np.zeros((6, 4, 2))
    evaluate_loop(loop, 4, {"count": 3}, {"numbers": numbers, "result": result})
    a, b = numbers[2, 0]
    expected = np.zeros((6, 2))
    for i in range(3):
        a, b = 2 * a + 3 * i + 1, b - 3 * i - 1
        expected[i] = a, b
    for i in (2, 1):
        a, b = 2 * a + i, b - i
        expected[3 + i, 0] = a
    np.testing.assert_allclose(result, np.broadcast_to(expected[:, None], result.shape), rtol=1e-14)


def test_rows_as_formulas_and_rows_as_numbers():
    """In C headers a formula says how large the arrays are; here it is asked for small counts, too."""
    for loop in (*(make() for make in LOOPS.values()), passes(), two_counts()):
        formulas = rows_of(loop)
        for counts in ([2, 3], [1, 1], [7, 4]):
            given = dict(zip((count.name for count in loop.counts), counts, strict=False))
            for name, (_, last) in extent(loop, given).rows.items():
                assert eval(formulas[name], {}, given) == last + 1
    assert rows_of(two_counts()) == {"numbers": "1", "trace": "2*count*every + 1"}


def two_counts():
    """A row for the start, middle and end of every step, of which some belong together."""
    x, every = Local("x", 2), Count("every")
    trace = Argument("trace", 2, written=True)
    rows = [2 * (I * every + J) + k for k in range(3)]
    body = For(I, 0, COUNT, (For(J, 0, every, tuple(Save(trace, row, x.all) for row in rows)),))
    return Loop("two", (COUNT, every), (NUMBERS, trace), (Fetch(x.all, NUMBERS), body), {})
