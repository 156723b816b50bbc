"""The loop of one adaptive step: DOP853, of order 8 (Hairer, Nørsett, Wanner, Solving ODEs I, section II.10).

One call does what it is told, in this order: `decide` the modes at the start; a `trial` step and its error;
the `dense` output of that step, a polynomial of seventh order; states and rates at some `points` of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import DOP853

from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Copy, Count, Counter, For, Load, Local, Loop, Save
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

    Arguments: the `start`, which `decide` changes: state x, its rate, h, rtol and the two atol of states and
    works; `constants`; `signals`; the `end` of a trial: state, rate and the sums of squares of the errors of
    order 5 and 3; the `polynomial`; the `places` of points in the step, 0 to 1; and what is `found` there:
    states and rates.
    """
    s = Stepping(integrand)
    w = s.width
    settings, new, squares = Local("settings", 4), Local("new", w), Local("squares", 2)
    polynomial, at = Local("polynomial", POLYNOMIAL * w), Local("place", 1)
    start, end = Argument("start", 2 * w + 4, written=True), Argument("end", 2 * w + 2, written=True)
    coefficients = Argument("polynomial", polynomial.size, written=True)
    places, found = Argument("places", 1), Argument("found", 2 * w, written=True)
    first, last, everything = s.k(0), s.k(LAST), Local("everything", 2 * w + 4)

    def all_of(*parts: Any) -> Block:
        """Adjacent copies of parts, to be saved in one row."""
        block, place = [], 0
        for part in parts:
            block.append(Copy(everything[place : place + part.size], part.all))
            place += part.size
        return tuple(block)

    rates = tuple(s.k(i).all for i in range(LAST))
    more = tuple(s.k(i).all for i in range(max(EXTRA) + 1))
    tried = (
        *(statement for i, a in STAGES.items() for statement in (*s.stage(i, a), *s.give(i), *s.rate(i))),
        Call("finish", (s.x.all, s.h.all, *rates, settings[1:]), (new.all, squares.all)),
        *(*s.begin(new), *s.give(LAST), *s.rate(LAST)),
        *(*all_of(new, last, squares), Save(end, 0, everything[: end.columns])),
    )
    made = (
        *(statement for i, a in EXTRA.items() for statement in (*s.stage(i, a), *s.give(i), *s.rate(i))),
        Call("interpolate", (s.x.all, new.all, s.h.all, *more), (polynomial.all,)),
        Save(coefficients, 0, polynomial.all),
    )
    looked = (
        *(Load(at.all, places, POINT), Call("look", (s.x.all, polynomial.all, at.all), (new.all,))),
        *(*s.begin(new), *s.give(POINT + len(TIMES)), *s.rate(LAST)),
        *(*all_of(new, last), Save(found, POINT, everything[: found.columns])),
    )
    decided = (
        *s.begin(s.x),
        *s.give(0),
        *s.decide(),
        *all_of(s.x, first),
        Save(start, 0, everything[: 2 * w]),
    )
    body = (
        *(Load(everything.all, start), Copy(s.x.all, everything[:w]), Copy(first.all, everything[w : 2 * w])),
        *(Copy(settings.all, everything[2 * w :]), Copy(s.h.all, settings[0])),
        *(*s.load_constants(), For(ONCE, 0, DECIDE, decided), *s.begin(s.x)),
        *(For(ONCE, 0, TRIAL, tried), Load(polynomial.all, coefficients), For(ONCE, 0, DENSE, made)),
        For(POINT, 0, POINTS, looked),
    )
    arguments = (start, s.constants, s.signals, end, coefficients, places, found)
    programs = integrand.programs | s.stage_programs(STAGES | EXTRA) | _programs(s)
    counts = (DECIDE, TRIAL, DENSE, POINTS)
    return Loop("step", counts, tuple(a for a in arguments if a.columns), body, programs)


def _programs(s: Stepping) -> dict[str, Program]:
    w = s.width

    def finish(x: Scalars, h: Scalars, *more: Scalars) -> Any:
        """The new state, and the sums of squares of its errors relative to what is allowed."""
        *rates, (rtol, atol, atol_works) = more
        new, squares = list(x), [0, 0]
        for c in s.moving:
            column = [k[c] for k in rates]
            new[c] = total(x[c], h[0], DOP853.B, column)
            allowed = (atol if c < 2 * s.n else atol_works) + rtol * abs(x[c]).maximum(abs(new[c]))
            errors = [total(0, 1, E[:LAST], column) / allowed for E in (DOP853.E5, DOP853.E3)]
            squares = [a + e * e for a, e in zip(squares, errors, strict=True)]
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
    inputs = [("x", w), ("h", 1), *stages[:LAST], ("tolerances", 3)]
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
