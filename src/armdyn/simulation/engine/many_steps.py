"""The loop of fixed steps: many steps of the classical fourth order, for many arms.

A state has more columns here: 1 while the arm goes on (it has not diverged or been stopped), the number of
its steps, and for each watched joint 0, or 1 + the number of steps (with a fraction) until it first left its
range, negative where it fell below the lower limit; then, if a law is sampled, its memory and the torques
that are held.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from armdyn.expression.functions import select
from armdyn.program import Program, record
from armdyn.program.loops import (
    Argument,
    Block,
    Call,
    Copy,
    Count,
    Counter,
    For,
    If,
    Int,
    Load,
    Local,
    Loop,
    Save,
    Set,
)
from armdyn.simulation.control.laws import Scalars
from armdyn.simulation.engine.following import APART, FALL, FAR, LOST, NEAR, SINGULAR
from armdyn.simulation.engine.integrand import Integrand, width
from armdyn.simulation.engine.limits import Watch
from armdyn.simulation.engine.steps import Stepping, total

STAGES = {1: 0.5, 2: 0.5, 3: 1.0}  # how far each is along the rate of the one before, in steps
SUM = (1, 2, 2, 1)  # sixths
ROWS, EVERY = Count("rows"), Count("every")
ROW, STEP = Counter("row"), Counter("step")


def more_columns(integrand: Integrand, watch: Watch) -> int:
    held = integrand.drive.held
    return 2 + len(watch.joints) + (integrand.n + held.memory if held is not None else 0)


def many_steps(integrand: Integrand, watch: Watch) -> Loop:
    """The loop. Every `every`-th of its rows · every steps is saved.

    Arguments: `settings` (step [s], largest speed); `constants`; `signals` at the start, middle and end of
    every step; the `state`, which is changed, and the states `saved`. With a law
    that is sampled, its `gains`; for every step the `targets` and whether it is `due`; the torques `held` in
    the first step of each row; and what is `remembered` at the end of each row.
    """
    s = Stepping(integrand, more_columns(integrand, watch))
    settings, state = Argument("settings", 2), Argument("state", s.x.size, written=True)
    saved, limit = Argument("saved", s.width, written=True), Local("limit", 2)
    sampled, kept, arguments = _sampled(s)
    first = 2 * (ROW * EVERY + STEP)  # row of the signals at the start of a step
    body = (
        *(*sampled, *s.begin(s.x), *s.give(first), *s.decide()),
        *_stages(s, first),
        *_finish(s, watch, limit),
    )
    rows = For(ROW, 0, ROWS, (For(STEP, 0, EVERY, body), Save(saved, ROW, s.x[: s.width]), *kept))
    start = (
        *(Load(limit.all, settings), Copy(s.h.all, limit[0]), Load(s.x.all, state)),
        *s.load_constants(),
    )
    loop_arguments = (settings, s.constants, s.signals, state, saved, *arguments)
    programs = integrand.programs | _stage_programs(s) | _programs(s, watch)
    return Loop(
        "integration",
        (ROWS, EVERY),
        tuple(a for a in loop_arguments if a.columns),
        (*start, rows, Save(state, 0, s.x.all)),
        programs,
    )


def _sampled(s: Stepping) -> tuple[Block, Block, tuple[Argument, ...]]:
    """The law, called in steps in which a sample is due; what a row keeps; what it needs of the caller."""
    law = s.integrand.drive.held
    if law is None:
        return (), (), ()
    gains, targets = Argument("gains", width(law.constants)), Argument("targets", width(law.signals))
    due, held = Argument("due", 1), Argument("held", s.n, written=True)
    now, later = Local("now", 1), Local("later", 1)
    step, tau = ROW * EVERY + STEP, s.x[s.x.size - s.n :]
    remembered = Argument("remembered", law.memory, written=True)
    memory = (s.x[s.x.size - s.n - law.memory : s.x.size - s.n],) if law.memory else ()
    given = [(Local(a.name, a.columns).all, a, row) for a, row in ((gains, 0), (targets, step)) if a.columns]
    state = tuple(part for part in (s.x[: s.n], s.x[s.n : 2 * s.n], s.x[s.followers]) if part.size)
    evaluate: Block = (
        *(Load(*one) for one in given),
        Call("law", (*state, *(part for part, _, _ in given), *memory), (tau, *memory)),
    )
    block = (
        *(Load(now.all, due, step), If(s.x[s.width], (If(now.all, evaluate),)), Copy(s.given["tau"], tau)),
        *(Set(later.all, STEP), If(later.all, (), (Save(held, ROW, tau),))),
    )
    return (
        block,
        tuple(Save(remembered, ROW, part) for part in memory),
        (gains, targets, due, held, remembered),
    )


def _sum(s: Stepping) -> Local:
    """Σ w_j k_j of the stages so far, of the columns that have a rate: so only the last rate is kept."""
    return Local("sum", len(s.moving))


def _stages(s: Stepping, first: Int) -> Block:
    """The rates of the stages after the first, each from that before; `first` is the row of the signals."""
    block: Block = ()
    k, sums, before = s.k(0), _sum(s), 0
    for i in STAGES:
        row = (i + 1) // 2
        inputs = (s.x[: s.modes_at], s.h.all, k.all, *((sums.all,) if i > 1 else ()))
        block += (Call(f"stage{i}", inputs, (s.at[: s.modes_at], sums.all)),)
        block += (*s.give(first + row, again=row == before), *s.rate(0))
        before = row
    return block


def _stage_programs(s: Stepping) -> dict[str, Program]:
    size, w = s.modes_at, s.width

    def program(weight: float, counts: int) -> Program:
        def function(x: Scalars, h: Scalars, k: Scalars, *sums: Scalars) -> Any:
            moved = [total(x[c], h[0], [weight], [k[c]]) for c in range(size)]
            own = [k[c] for c in s.moving]
            return moved, [a + counts * b for a, b in zip(sums[0], own, strict=True)] if sums else own

        inputs = [("x", size), ("h", 1), ("k", w), ("sum", len(s.moving))][: 3 + (counts > 1)]
        return record(function, inputs, [("x", (size,)), ("sum", (len(s.moving),))])

    return {f"stage{i}": program(weight, SUM[i - 1]) for i, weight in STAGES.items()}


def _finish(s: Stepping, watch: Watch, limit: Local) -> Block:
    """The state after a step, if it is within bounds; which joints have left their ranges; what stops."""
    new, beyond, n = Local("new", s.width + 2), Local("beyond", 1), s.n
    joints = s.x[s.width + 2 : s.width + 2 + len(watch.joints)]
    rates = (_sum(s).all, s.k(0).all)
    closing = s.numbers if s.closing else ()
    inputs = (s.x[: s.width + 2 + len(watch.joints)], s.h.all, *rates, limit[1], *closing)
    outputs = (new.all, beyond.all) if watch.joints else (new.all,)
    block: Block = (Call("finish", inputs, outputs),)
    if watch.joints:
        size = _watchable(s)
        noted = (s.x[:size], new[:size], new[s.width :], joints)
        block += (If(beyond.all, (Call("note", noted, (new[s.width :], joints)),)),)
    block += (Copy(s.x[: s.width + 2], new.all),)
    if s.integrand.surfaces:
        q, qd, modes = s.x[:n], s.x[n : 2 * n], s.x[s.modes]
        followers = (s.x[s.followers],) if s.integrand.followers else ()
        block += (Call("settle", (q, qd, *followers, modes, *s.numbers), (qd, modes)),)
    return block


def _programs(s: Stepping, watch: Watch) -> dict[str, Program]:
    n, w = s.n, s.width

    def finish(x: Scalars, h: Scalars, *more: Scalars) -> Any:
        """Where the new speeds are within the limit, the new state; elsewhere the old one, and it ends."""
        sums, k, limit, *numbers = more
        new = list(x[:w])
        for c, before in zip(s.moving, sums, strict=True):
            new[c] = total(x[c], h[0] * (1 / 6), (1, SUM[-1]), [before, k[c]])
        alive: Any = x[w]
        for c in range(n, 2 * n):
            alive = select(limit[0] - abs(new[c]), alive, 0)
        alive, lost = _closed(s, x, new, alive, numbers) if s.integrand.followers else (alive, 0)
        kept = [select(alive, a, b) for a, b in zip(new, x[:w], strict=True)]
        if s.integrand.followers:
            kept[s.side_at] = select(lost, lost, kept[s.side_at])
        state = [*kept, alive, x[w + 1] + alive]
        return (state, [_beyond(kept, alive, x[w + 2 :], watch)]) if watch.joints else state

    inputs = [("x", w + 2 + len(watch.joints)), ("h", 1), ("sum", len(s.moving)), ("k", w), ("limit", 1)]
    inputs += s.closing
    found = {"finish": record(finish, inputs, [("x", (w + 2,)), ("beyond", (1,))][: 1 + bool(watch.joints)])}
    if watch.joints:
        found["note"] = _note(_watchable(s), watch)
    return found


def _closed(s: Stepping, x: Scalars, new: Scalars, alive: Any, numbers: Sequence[Scalars]) -> tuple[Any, Any]:
    """Close the loops of the new state; whether the arm goes on, and the side of one that stops."""
    before = new[s.followers]
    s.close(new, numbers)
    lost = select(_passes(x[s.side_at], new[s.side_at]), LOST, 0)
    for a, b in zip(before, new[s.followers], strict=True):
        lost = select(abs(a - b) - FAR, APART, lost)
    lost = select(alive, lost, 0)
    return select(lost, 0, alive), lost


def _passes(before: Any, after: Any) -> Any:
    """Positive where a step leads through a singular posture, or so near to one that the next step may.

    Sides (`Following.side`) before and after it; the former is 0 before the first step.
    """
    size, old = abs(after), abs(before)
    falls = select(NEAR - size, select(FALL * old - size, 1, 0), 0)
    kept = select(size - SINGULAR, falls, 1)  # not a number: 1
    return select(-(before * after), 1, kept)


def _watchable(s: Stepping) -> int:
    """How many columns at the front of a state have the positions that may be watched."""
    return s.modes_at if s.integrand.followers else s.n


def _beyond(q: Scalars, alive: Any, passed: Scalars, watch: Watch) -> Any:
    """1 where a watched joint of an arm that goes on is out of its range for the first time."""
    some: Any = 0
    for watched, before in zip(watch.joints, passed, strict=True):
        at, lower, upper = watched.position(q), watched.lower, watched.upper
        first = 1 if watch.stops else select(before * before, some, 1)
        for over, bound in ((at - upper, upper), (lower - at, lower)):
            some = select(over, first, some) if isfinite(bound) else some
    return select(alive, some, 0)


def _note(size: int, watch: Watch) -> Program:
    """When joints first left their ranges, by linear interpolation within the step."""

    def note(old: Scalars, new: Scalars, ends: Scalars, passed: Scalars) -> Any:
        noted, steps = [], ends[1]
        for watched, before in zip(watch.joints, passed, strict=True):
            x, y, found = watched.position(old), watched.position(new), 0
            for bound, way in ((watched.lower, -1), (watched.upper, 1)):
                if isfinite(bound):
                    instant = way * (steps + (bound - x) / (y - x))
                    found = select(way * (y - bound), instant, found)
            noted.append(select(before * before, before, found))
        return [0 if watch.stops else ends[0], steps], noted

    m = len(watch.joints)
    inputs = [("old", size), ("new", size), ("ends", 2), ("passed", m)]
    return record(note, inputs, [("ends", (2,)), ("passed", (m,))])
