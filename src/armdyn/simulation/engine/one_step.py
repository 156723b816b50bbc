"""The loop of one adaptive step: DOP853, of order 8 (Hairer, Nørsett, Wanner, Solving ODEs I, section II.10).

One call does what it is told, in this order: `decide` the modes at the start; a `trial` step and its error;
the `dense` output of that step, a polynomial of seventh order; states and rates at some `points` of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from armdyn.program import Program, record
from armdyn.program.loops import Argument, Call, Copy, Count, Counter, For, Load, Local, Loop, Save
from armdyn.simulation.control.laws import Scalars
from armdyn.simulation.engine.integrand import Integrand
from armdyn.simulation.engine.steps import Stepping, total

LAST = DOP853.n_stages  # the rate at the end of the step
STAGES = {i: tuple(DOP853.A[i, :i]) for i in range(1, LAST)}
EXTRA = {LAST + 1 + i: tuple(a[: LAST + 1 + i]) for i, a in enumerate(DOP853.A_EXTRA)}
TIMES = np.concatenate([DOP853.C, [1.0], DOP853.C_EXTRA])  # of all stages, in steps
POLYNOMIAL = 7  # coefficients beside the state at the start
DECIDE, TRIAL, DENSE, POINTS = (Count(name) for name in ("decide", "trial", "dense", "points"))
POINT, ONCE = Counter("point"), Counter("once")


def one_step(integrand: Integrand) -> Loop:
    """The loop. Signals are given at TIMES, then at the points.

    Arguments: the state `x` and its `rate`, which `decide` changes; `settings`: h, rtol and the two atol of
    states and works; `constants`; `signals`; of a trial, the `new` state, its rate `last` and the sums of
    `squares` of the errors of order 5 and 3; the `polynomial`; the `places` of points in the step, 0 to 1,
    and `states` and `rates` there.
    """
    s = Stepping(integrand)
    w = s.width
    new, squares, polynomial = Local("new", w), Local("squares", 2), Local("polynomial", POLYNOMIAL * w)
    settings, place, first, last = Local("settings", 4), Local("place", 1), s.k(0), s.k(LAST)

    def given(name: str, local: Local, written: bool = True) -> Argument:
        return Argument(name, local.size, written)

    x, rate, told = given("x", s.x), given("rate", first), given("settings", settings, False)
    end = [(given("new", new), new), (given("last", last), last), (given("squares", squares), squares)]
    coefficients, places = given("polynomial", polynomial), given("places", place, False)
    found = [(given("states", new), new), (given("rates", last), last)]
    rates = tuple(s.k(i).all for i in range(LAST))
    more = tuple(s.k(i).all for i in range(max(EXTRA) + 1))
    closing = s.numbers if s.closing else ()
    decided = (*s.begin(s.x), *s.give(0), *s.decide(), Save(x, 0, s.x.all), Save(rate, 0, first.all))
    tried = (
        *s.stages(STAGES),
        Call("finish", (s.x.all, s.h.all, *rates, settings[1:], *closing), (new.all, squares.all)),
        *(*s.begin(new), *s.give(LAST), *s.rate(LAST)),
        *(Save(argument, 0, local.all) for argument, local in end),
    )
    made = (
        *s.stages(EXTRA),
        Call("interpolate", (s.x.all, new.all, s.h.all, *more), (polynomial.all,)),
        Save(coefficients, 0, polynomial.all),
    )
    looked = (
        *(Load(place.all, places, POINT), Call("look", (s.x.all, polynomial.all, place.all), (new.all,))),
        *(*s.begin(new), *s.give(POINT + len(TIMES)), *s.rate(LAST)),
        *(Save(argument, POINT, local.all) for argument, local in found),
    )
    body = (
        *(Load(s.x.all, x), Load(first.all, rate), Load(settings.all, told), Copy(s.h.all, settings[0])),
        *(*s.load_constants(), For(ONCE, 0, DECIDE, decided), *s.begin(s.x)),
        *(For(ONCE, 0, TRIAL, tried), Load(polynomial.all, coefficients), For(ONCE, 0, DENSE, made)),
        For(POINT, 0, POINTS, looked),
    )
    arguments = (x, rate, told, s.constants, s.signals, coefficients, places, *(a for a, _ in (*end, *found)))
    programs = integrand.programs | s.stage_programs(STAGES | EXTRA) | _programs(s)
    counts = (DECIDE, TRIAL, DENSE, POINTS)
    return Loop("step", counts, tuple(a for a in arguments if a.columns), body, programs)


def _programs(s: Stepping) -> dict[str, Program]:
    w = s.width

    def finish(x: Scalars, h: Scalars, *more: Scalars) -> Any:
        """The new state, and the sums of squares of its errors relative to what is allowed."""
        rates, (rtol, atol, atol_works), numbers = more[:LAST], more[LAST], more[LAST + 1 :]
        new, squares = list(x), [0, 0]
        for c in s.moving:
            column = [k[c] for k in rates]
            new[c] = total(x[c], h[0], DOP853.B, column)
            allowed = (atol if c < s.works_at else atol_works) + rtol * abs(x[c]).maximum(abs(new[c]))
            errors = [total(0, 1, E[:LAST], column) / allowed for E in (DOP853.E5, DOP853.E3)]
            squares = [a + e * e for a, e in zip(squares, errors, strict=True)]
        s.close(new, numbers)
        return new, squares

    def interpolate(x: Scalars, new: Scalars, h: Scalars, *rates: Scalars) -> Scalars:
        rows: list[Scalars] = [[0] * w for _ in range(POLYNOMIAL)]
        for c in s.moving:
            change, begins, ends = new[c] - x[c], h[0] * rates[0][c], h[0] * rates[LAST][c]
            column = [change, begins - change, 2 * change - (begins + ends)]
            column += [h[0] * total(0, 1, d, [k[c] for k in rates]) for d in DOP853.D]
            for row, coefficient in zip(rows, column, strict=True):
                row[c] = coefficient
        return [x for row in rows for x in row]

    def look(x: Scalars, polynomial: Scalars, place: Scalars) -> Scalars:
        return [interpolated(x[c], polynomial[c::w], place[0]) for c in range(w)]

    stages = [(f"k{i}", w) for i in range(max(EXTRA) + 1)]
    inputs = [("x", w), ("h", 1), *stages[:LAST], ("tolerances", 3), *s.closing]
    return {
        "finish": record(finish, inputs, [("x", (w,)), ("squares", (2,))]),
        "interpolate": record(
            interpolate, [("x", w), ("new", w), ("h", 1), *stages], [("polynomial", (POLYNOMIAL * w,))]
        ),
        "look": record(look, [("x", w), ("polynomial", POLYNOMIAL * w), ("place", 1)], [("x", (w,))]),
    }


def interpolated(x: Any, coefficients: Any, place: Any) -> Any:
    """The polynomial of the dense output: x + s(F₀ + (1 − s)(F₁ + s(F₂ + …)))."""
    value: Any = 0
    for i, coefficient in enumerate(reversed(coefficients)):
        value = (value + coefficient) * (place if i % 2 == 0 else 1 - place)
    return x + value
