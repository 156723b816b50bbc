"""Fixed steps of fourth-order Runge–Kutta, all arms at once.

A surface with dry friction that passes zero speed within a step is brought to rest at the step's end, and one
whose friction does not suffice to hold it starts at the beginning of the next. So the motion near such an
instant has an error of the order of the step, elsewhere of its fourth power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import isfinite
from typing import Any

import numpy as np

from armdyn.expression.functions import select
from armdyn.kernels.arrays import host, is_cupy, like, zeros_by_instance
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program import Program, record
from armdyn.program.loops import (
    Argument,
    Block,
    Call,
    Copy,
    Count,
    Counter,
    Fetch,
    For,
    If,
    Int,
    Local,
    Loop,
    Save,
    Set,
)
from armdyn.progress import Update
from armdyn.remarks import Remark
from armdyn.robot import Robot
from armdyn.simulation.actuation import Actuation
from armdyn.simulation.integrand import (
    APART,
    FALL,
    FAR,
    LOST,
    NEAR,
    SINGULAR,
    Drive,
    Integrand,
    lost,
    split,
    width,
)
from armdyn.simulation.laws import Scalars
from armdyn.simulation.limits import Watch
from armdyn.simulation.run import LimitPassed
from armdyn.simulation.steps import Stepping, total
from armdyn.simulation.trace import SPEED_LIMIT, Batch, StepChunk, Stop, TimeGrid, Trace, changes

# ------------------------------------------------------------------------------------------------------------
# The loop of fixed steps: many steps of the classical fourth order, for many arms.
#
# A state has more columns here: 1 while the arm goes on (it has not diverged or been stopped), the number of
# its steps, and for each watched joint 0, or 1 + the number of steps (with a fraction) until it first left
# its range, negative where it fell below the lower limit; then, if a law is sampled, its memory and the
# torques that are held.


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
        *(Fetch(limit.all, settings), Copy(s.h.all, limit[0]), Fetch(s.x.all, state)),
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
        *(Fetch(*one) for one in given),
        Call("law", (*state, *(part for part, _, _ in given), *memory), (tau, *memory)),
    )
    block = (
        *(Fetch(now.all, due, step), If(s.x[s.width], (If(now.all, evaluate),)), Copy(s.given["tau"], tau)),
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
        """The new state where new speeds are within the limit; elsewhere the old one, and the arm stops."""
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
    """Close the chains of the new state; returns whether the arm goes on, and the side of one that stops."""
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
    """Number of columns at the front of a state that hold the positions that may be watched."""
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
    """Program that notes when joints first left their ranges, by linear interpolation within the step."""

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


# ------------------------------------------------------------------------------------------------------------
# Integration by this loop.


CHUNK = 2_000_000_000  # operations between two reports of progress, less than a second's
CHUNK_ON_GPU = 1_000_000_000_000
SIGNALS = 2**24  # numbers that signals may take at a time
SIGNALS_ON_GPU = 2**26
NEVER = -1.0  # the step in which an arm ended that did not start
ASKED = 100  # steps between two reports where Python functions are called
OF_FIRST_ORDER = (
    "dry friction: fixed steps are of fourth order only while every joint keeps sliding or sticking; where "
    "a joint stops, starts or reverses they are of first order"
)


def integrate_fixed(
    robot: Robot,
    q0: np.ndarray,
    qd0: np.ndarray,
    grid: TimeGrid,
    actuation: Actuation,
    watch: Watch,
    update: Update,
) -> Trace:
    """All arms over the grid, from all positions q0 (arms, positions) and q̇ (arms, n)."""
    integrand, kernel = _kernel(robot, actuation.drive(), watch)
    run = _Steps(integrand, kernel, grid, actuation, watch)
    run.start(q0, qd0)
    run.advance(update)
    return run.trace()


@lru_cache(maxsize=64)
def _kernel(robot: Robot, drive: Drive, watch: Watch) -> tuple[Integrand, LoopKernel]:
    """The kernel, made once for a robot, a drive and the limits to be watched."""
    integrand = Integrand.of(robot, drive)
    return integrand, LoopKernel(many_steps(integrand, watch))


@dataclass(eq=False)
class _Steps:
    """The arms, while they are integrated."""

    integrand: Integrand
    kernel: LoopKernel
    grid: TimeGrid
    actuation: Actuation
    watch: Watch
    state: np.ndarray = field(init=False)  # (1, arms, columns), see `many_steps`
    saved: np.ndarray = field(init=False)  # (N, arms, width)
    held: np.ndarray | None = field(init=False, default=None)  # (N, arms, n): torques from each instant on
    remembered: np.ndarray | None = field(init=False, default=None)  # (N, arms, m): memory at each instant
    sample: int = field(init=False, default=-1)  # the last one that was due

    def __post_init__(self) -> None:
        self.layout = Stepping(self.integrand)
        self.width = self.layout.width
        self.columns = {a.name: a.columns for a in self.kernel.loop.arguments}

    def start(self, q: np.ndarray, qd: np.ndarray) -> None:
        n, w, x = self.integrand.n, self.width, zeros_by_instance(q, (len(q), self.columns["state"]))
        q, followers = split(self.integrand.robot, q)
        there = np.isfinite(q).all(1)  # others have stopped before: they stay where they are, not moving
        q, qd, followers = (np.where(there[:, None], x, 0.0) for x in (q, qd, followers))
        x[:, :n], x[:, n : 2 * n], x[:, self.layout.followers] = q, qd, followers
        x[:, self.layout.modes] = self.integrand.directions(qd)
        x[:, w], x[:, w + 1] = there, np.where(there, 0.0, NEVER)
        for k, watched in enumerate(self.watch.joints, w + 2):
            at = watched.of(x)
            x[:, k] = 1.0 * (at > watched.upper) - (at < watched.lower)
        self.state, self.saved = x[None], zeros_by_instance(q, (self.grid.samples + 1, len(q), w))
        self.saved[0] = x[:, :w]
        if "held" in self.columns:
            self.held = zeros_by_instance(q, (self.grid.samples + 1, len(q), n))
        if m := self.columns.get("remembered", 0):
            x[:, self._memory] = like(q, self.actuation.memory)
            self.remembered = zeros_by_instance(q, (self.grid.samples + 1, len(q), m))
            self.remembered[0] = x[:, self._memory]

    @property
    def _memory(self) -> slice:
        """The columns of the memory in a state: before the torques held."""
        end = self.columns["state"] - self.integrand.n
        return slice(end - self.columns["remembered"], end)

    def advance(self, update: Update) -> None:
        """Goes on to the end, or until every arm has stopped.

        The work is cut into several calls so that progress can be reported and the user can interrupt it.
        """
        arms, done = self.state.shape[1], 0
        operations, size = (CHUNK_ON_GPU, SIGNALS_ON_GPU) if is_cupy(self.state) else (CHUNK, SIGNALS)
        by_time = operations // max(1, 4 * arms * self.integrand.programs["rate"].operations)
        by_size = size // max(1, 2 * arms * self.columns.get("signals", 0))
        most = max(1, min(by_time, by_size, ASKED if self.kernel.loop.asks else by_size))
        for chunk in self.grid.chunks(most):
            self._advance(chunk)
            done += chunk.steps
            update(done / self.grid.row_steps[-1])
            if not self.state[0, :, self.width].any():
                return

    def _advance(self, chunk: StepChunk) -> None:
        arms, times, actuation = self.state.shape[1], chunk.halves(), self.actuation
        arguments: dict[str, np.ndarray] = {
            "settings": np.array([[[chunk.h, SPEED_LIMIT]]]),
            "constants": actuation.constants()[None],
            "signals": actuation.signals(times),
            "state": self.state,
            "saved": self.saved[chunk.rows],
        }
        if self.held is not None:
            held = zeros_by_instance(self.state, (chunk.count, arms, self.integrand.n))
            arguments |= self._samples(times[:-1:2]) | {"held": held}
        if self.remembered is not None:
            arguments["remembered"] = self.remembered[chunk.rows]
        counts = {"rows": chunk.count, "every": chunk.every}
        if is_cupy(self.state):
            arguments = {name: like(self.state, arguments[name]) for name in self.columns}
        self.kernel(arms, counts, arguments, actuation.asked(times))
        if self.held is not None:
            if chunk.step == 0:
                self.held[chunk.first - 1 : chunk.rows.stop - 1] = held
            self.held[chunk.rows.stop - 1] = self.state[0, :, -self.integrand.n :]

    def _samples(self, starts: np.ndarray) -> dict[str, np.ndarray]:
        """Steps in which the law is due, its gains, and its targets there."""
        law, index = self.actuation.law, self.actuation.sample_index(starts)
        assert law is not None
        due = np.diff(index, prepend=self.sample) > 0
        self.sample = int(index[-1])
        targets = np.zeros((len(starts), 1, self.columns.get("targets", 0)))
        if due.any():
            targets[due] = law.targets(starts[due])[:, None]
        gains = law.rows[None]
        return {"gains": gains, "targets": targets, "due": due[:, None, None] * 1.0}

    # ---- what is left of it ----------------------------------------------------------------------------

    def trace(self) -> Trace:
        """States, NaN from where an arm has ended; events; why arms stopped."""
        n, w, batch = self.integrand.n, self.width, self.actuation.batch
        end = host(self.state[0, :, w : w + 2 + len(self.watch.joints)])
        started, ended = end[:, 1] != NEVER, end[:, 0] == 0
        if ended.any():
            self.saved[(self.grid.row_steps[:, None] > end[:, 1]) & ended] = np.nan
        trace = Trace(self.saved, self.integrand.works, self.held, self.remembered)
        qd, modes = self.saved[..., n : 2 * n], self.saved[..., self.layout.modes]
        with np.errstate(invalid="ignore"):  # what other surfaces hold does not slide, whatever its mode
            modes = modes * (self.integrand.directions(qd) == modes)
        trace.events += changes(self.grid.t, self.integrand.names, modes, batch)
        if (stopped := np.flatnonzero(started & ended)).size:
            trace.stops += map(self._stop, stopped.tolist(), host(self.state[0, stopped]))
        trace.remarks += [Remark(OF_FIRST_ORDER)] if self.integrand.surfaces else []
        trace.passed += self._passed(end[:, 2:] * started[:, None], batch)
        return trace

    def _passed(self, instants: np.ndarray, batch: Batch) -> list[LimitPassed]:
        """The joints that left their ranges, from their columns (arms, watched)."""
        rows, columns = np.nonzero(instants)
        found = instants[rows, columns]
        places = zip(*np.unravel_index(rows, batch), strict=True) if batch else [()] * len(rows)
        each = zip(columns, found > 0, self.grid.times(np.abs(found) - 1.0), places, strict=True)
        passed = [
            self.watch.joints[k].passed(bool(above), float(time), tuple(map(int, arm)))
            for k, above, time, arm in each
        ]
        return sorted(passed, key=lambda one: one.time)

    def _stop(self, arm: int, x: np.ndarray) -> Stop:
        """An arm that diverged or was stopped, with its last state."""
        n, w = self.integrand.n, self.width
        time = self.grid.time(x[w + 1])
        passed = self._passed(x[None, w + 2 : w + 2 + len(self.watch.joints)], ())
        at_limit = bool(passed) and self.watch.stops
        reason, instant = (passed[0].event, passed[0].time) if at_limit else ("it diverged", time)
        if self.integrand.followers and not at_limit and x[self.layout.side_at] in (LOST, APART):
            reason = lost(self.integrand.robot, x, apart=x[self.layout.side_at] == APART)
        held = None if self.held is None else x[-n:]
        memory = None if self.remembered is None else x[self._memory]
        return Stop(arm, time, x[:w], reason, instant, at_limit, held, memory)
