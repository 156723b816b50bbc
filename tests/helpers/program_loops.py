"""Loops that several folders of tests run: integration, conditions within conditions, a long program."""

import numpy as np

from armdyn import Robot
from armdyn.program import record
from armdyn.program.loops import (
    Argument,
    Call,
    Copy,
    Count,
    Counter,
    Each,
    Fetch,
    For,
    If,
    Local,
    Loop,
    Save,
    Set,
    Slice,
    While,
)
from armdyn.program.program import Program, inline

STEPS, I, J = Count("steps"), Counter("i"), Counter("j")
GIVEN, STATE = Argument("given", 3), Argument("state", 2, written=True)
TRACE = Argument("trace", 2, written=True)


def rk4(name: str, rate: Program) -> Loop:
    """Steps of fourth-order Runge–Kutta; the last number of `given` is the step."""
    (_, size), (_, columns) = rate.inputs
    state, trace = (Argument(key, size, written=True) for key in ("state", "trace"))
    x, y, k, total = (Local(key, size) for key in ("x", "y", "k", "total"))
    given, c, source = Local("given", columns), Local("c", 2), Argument("given", columns)

    def stage(weight: int) -> Program:
        return record(
            lambda x, k, t, c: ([t[i] + weight * k[i] for i in range(size)], moved(x, c[0], k)),
            [("x", size), ("k", size), ("t", size), ("c", 1)],
            [("t", (size,)), ("y", (size,))],
        )

    def moved(x, factor, k):
        return [x[i] + factor * k[i] for i in range(size)]

    programs = {
        "rate": rate,
        "start": record(
            lambda x, g: (x, [0] * size, [g[-1] / 2, g[-1]]),
            [("x", size), ("g", columns)],
            [("y", (size,)), ("t", (size,)), ("c", (2,))],
        ),
        "one": stage(1),
        "two": stage(2),
        "end": record(
            lambda x, t, g: moved(x, g[-1] / 6, t),
            [("x", size), ("t", size), ("g", columns)],
            [("x", (size,))],
        ),
    }

    def stages(name: str, part: Slice) -> tuple[Call, Call]:
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
        Save(trace, I, x.all),
    )
    body = (Fetch(given.all, source), Fetch(x.all, state), For(I, 0, STEPS, step), Save(state, 0, x.all))
    return Loop(name, (STEPS,), (source, state, trace), body, programs)


def pendulum() -> Loop:
    """ẍ = −a sin x − b ẋ; `given` is a, b and the step."""
    rate = record(lambda x, g: [x[1], -g[0] * x[0].sin() - g[1] * x[1]], [("x", 2), ("g", 3)], [("k", (2,))])
    return rk4("pendulum", rate)


def arm() -> Loop:
    """The forward dynamics of an arm; `given` are its torques and the step."""
    robot = Robot.load("elbow")
    n, dynamics = robot.n, robot.program("forward_dynamics")
    rate = record(
        lambda x, g: [*x[n:], *inline(dynamics, [x[:n], x[n:], g[:n]])[0]],
        [("x", 2 * n), ("g", n + 1)],
        [("k", (2 * n,))],
    )
    return rk4("arm", rate)


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
                If(x[0], (Fetch(x[1], GIVEN, I),)),
                Call("turn", (x.all, g.all), (x[0], x[1])),
                For(J, 0, 2, (Save(TRACE, I + J, x[:1]),), backwards=True),
            ),
        ),
        Call("next", (k.all,), (k.all,)),
        look,
    )
    body = (
        Fetch(g.all, GIVEN),
        Fetch(x.all, STATE),
        For(I, 0, STEPS, (look, While(left.all, inner), Set(k.all, I * I - 2 * I))),
        Save(STATE, 0, x.all),
    )
    return Loop("masks", (STEPS,), (GIVEN, STATE, TRACE), body, programs)


def long() -> Loop:
    """A program of several parts, and more local numbers than fit the stack."""
    x, y, big = Local("x", 2), Local("y", 2), Local("big", 200)

    def twisted(x, big):
        a, b = x
        values = []
        for k in range(200):
            a, b = a.sin() * 0.6 + b * 0.6, b * 0.6 - a * 0.6 + big[199 - k] * 0.1
            values.append(a - b)
        return [x[0] - b, a + x[1].sin()], values

    shape = ([("x", 2), ("big", 200)], [("x", (2,)), ("big", (200,))])
    programs = {"twist": record(twisted, *shape)}
    step = (
        Call("twist", (x.all, big.all), (y.all, big.all)),
        If(y[0], (Call("twist", (y.all, big.all), (x.all, big.all)),), (Copy(x.all, y.all),)),
        Save(TRACE, I, big[5:7]),
    )
    body = (Fetch(x.all, STATE), For(I, 0, STEPS, step), Save(STATE, 0, x.all))
    return Loop("long", (STEPS,), (STATE, TRACE), body, programs)


def columns() -> Loop:
    """A program for each column of two matrices of 11: long with short results, short under a condition."""
    n = 11
    x, g, wide, flat = Local("x", 2), Local("g", 3), Local("wide", 2 * n), Local("flat", n)
    turned, sums = Local("turned", 2 * n), Local("sums", n)

    def mixed(g, column, lower):
        a, b = column
        for _ in range(70):
            a, b = 0.6 * a + g[0] * b * 0.1, 0.6 * b - a * 0.2 + lower[0]
        return [a, b - g[1]], [a - b]

    programs = {
        "spread": record(
            lambda x, g: (
                [x[0] * (k / n) + g[0] - x[1] / (k + 2) for k in range(2 * n)],
                [g[1] - x[1] * (k / n) for k in range(n)],
            ),
            [("x", 2), ("g", 3)],
            [("wide", (2, n)), ("flat", (n,))],
        ),
        "mixed": record(mixed, [("g", 3), ("column", 2), ("lower", 1)], [("turned", (2,)), ("sum", (1,))]),
        "waved": record(lambda g, a: [(a[0] * g[1] * 0.1).sin()], [("g", 3), ("a", 1)], [("b", (1,))]),
        "ended": record(
            lambda wide, flat: [
                (sum(wide) / (4 * n)).sin(),
                (flat[0] - flat[n - 1] + flat[n // 2] * 0.5).cos() * 0.3,
            ],
            [("wide", 2 * n), ("flat", n)],
            [("x", (2,))],
        ),
    }
    step = (
        Call("spread", (x.all, g.all), (wide.all, flat.all)),
        Each("mixed", n, (g.all,), (wide.all, flat.all), (turned.all, sums.all)),
        If(x[0], (Each("waved", n, (g.all,), (sums.all,), (flat.all,)),)),
        Call("ended", (turned.all, flat.all), (x.all,)),
        Save(TRACE, I, x.all),
    )
    body = (Fetch(g.all, GIVEN), Fetch(x.all, STATE), For(I, 0, STEPS, step), Save(STATE, 0, x.all))
    return Loop("columns", (STEPS,), (GIVEN, STATE, TRACE), body, programs)


LOOPS = {"pendulum": pendulum, "arm": arm, "masks": masks, "long": long, "columns": columns}


def arguments(loop: Loop, instances: int, steps: int = 4, shared: bool = False) -> dict[str, np.ndarray]:
    """Arrays for a loop above; what is given is each instance's own, or shared."""
    rng = np.random.default_rng(instances)
    found = {}
    for argument in loop.arguments:
        rows = {"given": steps, "state": 1, "trace": steps + 1}[argument.name]
        count = 1 if shared and not argument.written else instances
        found[argument.name] = rng.normal(size=(rows, count, argument.columns))
        if argument.name == "given":
            last = found["given"][..., -1]
            last[:] = rng.integers(0, 6, last.shape) if loop.name == "masks" else 0.05
    return found
