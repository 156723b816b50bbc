"""Integration of high order with variable steps, piece by piece between changes of friction mode.

Within a piece every surface keeps its mode, so the equations are smooth. A piece ends where a sliding surface
comes to rest or a sticking one needs more friction than there is; the instant is found on the dense output,
and the step is taken again to end there. Every piece takes a step and the number of steps is bounded, so that
a stiff or chattering motion ends in reasonable time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program import Program, record
from armdyn.program.evaluate import evaluate
from armdyn.program.loops import Argument, Call, Copy, Count, Counter, Fetch, For, Local, Loop, Save
from armdyn.progress import Update
from armdyn.robot import Robot
from armdyn.simulation.actuation import Actuation
from armdyn.simulation.integrand import SINGULAR, Drive, Integrand, lost, split
from armdyn.simulation.laws import Scalars
from armdyn.simulation.limits import Watch, Watched
from armdyn.simulation.run import Event, LimitPassed
from armdyn.simulation.steps import Stepping, total
from armdyn.simulation.trace import SPEED_LIMIT, Stop, TimeGrid, Trace, changes, place

# ------------------------------------------------------------------------------------------------------------
# The loop of one variable step: DOP853, of order 8 (Hairer, Nørsett, Wanner, Solving ODEs I, section II.10).
#
# One call does what it is told, in this order: `decide` the modes at the start; a `trial` step and its
# error; the `dense` output of that step, a polynomial of seventh order; states and rates at some `points` of
# it.


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
        *(Fetch(place.all, places, POINT), Call("look", (s.x.all, polynomial.all, place.all), (new.all,))),
        *(*s.begin(new), *s.give(POINT + len(TIMES)), *s.rate(LAST)),
        *(Save(argument, POINT, local.all) for argument, local in found),
    )
    body = (
        *(Fetch(s.x.all, x), Fetch(first.all, rate), Fetch(settings.all, told), Copy(s.h.all, settings[0])),
        *(*s.load_constants(), For(ONCE, 0, DECIDE, decided), *s.begin(s.x)),
        *(For(ONCE, 0, TRIAL, tried), Fetch(polynomial.all, coefficients), For(ONCE, 0, DENSE, made)),
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


# ------------------------------------------------------------------------------------------------------------
# Variable steps of one arm: the arrays of the loop `one_step`, and what is read out of them.


LOOKS = np.array([0.25, 0.5, 0.75, 1.0])  # where within a step changes of mode are looked for
NOWHERE = np.zeros(0)
STEPS, STEPS_A_SECOND = 50_000, 20_000  # default bound on steps


@dataclass(frozen=True)
class Effort:
    """Tolerances, and the bound on steps for an arm (None: by the duration)."""

    rtol: float
    atol: float
    max_steps: int | None = None

    def most(self, duration: float, longest: float) -> int:
        """The bound on steps of which none is longer than `longest`."""
        if self.max_steps is not None:
            return self.max_steps
        return int(STEPS + STEPS_A_SECOND * duration + 2 * duration / longest)


def step_kernel(robot: Robot, drive: Drive) -> tuple[Integrand, LoopKernel]:
    """The kernel of a step, made once for robots of one structure and a drive; held torques are constants."""
    if drive.held is not None:
        drive = replace(drive, constants=(*drive.constants, ("tau", robot.n)), held=None)
    integrand = Integrand.shared(robot, drive)
    return integrand, _kernel(integrand)


@lru_cache(maxsize=64)
def _kernel(integrand: Integrand) -> LoopKernel:
    return LoopKernel(one_step(integrand))


class TrialStep:
    """A state (q, q̇, modes, works) at a time, a step from there, and the dense output of the step."""

    def __init__(
        self, integrand: Integrand, kernel: LoopKernel, actuation: Actuation, effort: Effort
    ) -> None:
        self.integrand, self.kernel, self.actuation = integrand, kernel, actuation
        self.columns = Stepping(integrand)
        w = self.width = self.columns.width
        sizes = {
            "x": w,
            "rate": w,
            "settings": 4,
            "new": w,
            "last": w,
            "squares": 2,
            "polynomial": POLYNOMIAL * w,
        }
        self.arrays = {name: np.zeros((1, 1, size)) for name, size in sizes.items()}
        self.arrays |= {name: np.zeros((len(LOOKS), 1, w)) for name in ("states", "rates")}
        self.numbers = np.array(integrand.values)
        self.arrays["constants"] = np.append(self.numbers, actuation.constants())[None, None]
        self.x, self.rate, self.settings, self.new, self.last, self.squares, self.polynomial = (
            self.arrays[name][0, 0] for name in sizes
        )
        self.settings[1:] = effort.rtol, effort.atol, max(effort.rtol, effort.atol)  # works: J
        self.modes, self.qd = self.x[self.columns.modes], self.x[integrand.n : 2 * integrand.n]
        self.t, self.h, self.limit = 0.0, 0.0, np.inf  # `limit`: torques may jump there
        self.has_dense = False

    def hold(self, tau: np.ndarray) -> None:
        """Sets the torques (n,) that are held from now on."""
        given = (self.numbers, self.actuation.constants()[0], tau)
        self.arrays["constants"] = np.concatenate(given)[None, None]

    def step(self, h: float, decide: bool = False, dense: bool = True, looks: bool = False) -> float:
        """Try a step: its error, relative to the tolerance. With `looks`, also states and rates there."""
        self.h, self.has_dense = h, dense
        self._call(self.t, h, LOOKS if looks else NOWHERE, decide=decide, trial=True, dense=dense)
        fifth, third = self.squares
        if fifth == 0:
            return 0.0
        return float(h * fifth / np.sqrt((fifth + 0.01 * third) * len(self.columns.moving)))

    def state_after(self, h: float) -> np.ndarray:
        """The state after a shorter step; more accurate than dense output. That one stays."""
        if h <= 0:
            return np.array(self.x)
        self._call(self.t, h, NOWHERE, trial=True)
        return np.array(self.new)

    def decide(self) -> None:
        """Modes and rate at the state."""
        self._call(self.t, 0.0, NOWHERE, decide=True)

    def at(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """State and rate at an instant of the step, by dense output."""
        self._call(self.t, self.h, np.array([(t - self.t) / self.h]))
        return self.arrays["states"][0, 0].copy(), self.arrays["rates"][0, 0].copy()

    def rate_at(self, t: float, x: np.ndarray) -> np.ndarray:
        """The rate at any time in any state."""
        kept = {name: self.arrays[name].copy() for name in ("x", "polynomial", "states", "rates")}
        self.x[:], self.polynomial[:] = x, 0
        self._call(t, 0.0, np.zeros(1))
        found = np.array(self.arrays["rates"][0, 0])
        for name, values in kept.items():
            self.arrays[name][:] = values
        return found

    def dense(self, t: float | np.ndarray) -> np.ndarray:
        """States (width,) or (N, width) at instants of the step."""
        if not self.has_dense:
            self.step(self.h)
        place = np.expand_dims((np.asarray(t) - self.t) / self.h, -1)
        return np.asarray(interpolated(self.x, self.polynomial.reshape(POLYNOMIAL, -1), place))

    def looks(self) -> tuple[np.ndarray, np.ndarray]:
        """States and rates at the LOOKS."""
        return self.arrays["states"][:, 0], self.arrays["rates"][:, 0]

    def _call(
        self,
        t: float,
        h: float,
        places: np.ndarray,
        decide: bool = False,
        trial: bool = False,
        dense: bool = False,
    ) -> None:
        self.settings[0] = h
        self.arrays["places"] = places.reshape(-1, 1, 1)
        drive, asked = self.integrand.drive, {}
        if drive.signals or drive.asked:
            times = np.minimum(t + h * np.append(TIMES, places), max(np.nextafter(self.limit, 0.0), 0.0))
            self.arrays["signals"] = self.actuation.signals(times)
            asked = self.actuation.asked(times)
        counts = {"decide": int(decide), "trial": int(trial), "dense": int(dense), "points": len(places)}
        self.kernel(1, counts, self.arrays, asked)


def first_zero(margin: Callable[[float], float], a: float, b: float) -> float:
    """Instant at which a margin that is positive at a and negative at b is zero; a or b if it is zero there.

    Where it jumps, the first instant after the jump.
    """
    known = {a: margin(a), b: margin(b)}  # evaluated once: a torque with noise gives another value each time
    if not known[a] > 0 > known[b]:  # dense output and step differ by rounding
        return b if known[a] > 0 else a

    def at(t: float) -> float:
        if t not in known:
            known[t] = margin(t)
        return known[t]

    root = float(brentq(at, a, b, xtol=1e-15 + 1e-15 * b, rtol=8.9e-16))
    after = min(t for t, x in known.items() if x < 0)
    return after if after - root < 1e-14 * (1 + b) else root


# ------------------------------------------------------------------------------------------------------------
# The integration, piece by piece.


BEYOND = 1e-11  # of half the distance of the levels: friction exactly at its level still holds
MOST_AT_ONCE = 50  # changes of mode at one instant before it counts as a failure
CHANGE = 10  # steps that a change of mode counts as, by the time it takes
CHUNK = 4096  # samples of a controller's target at a time
FIRST = 1e-3  # s: the first step that is tried
NEARER = 20  # times an interval is cut to a quarter, to find a slip that is soon over
PARTS = 64  # of a step, at which joints near their limits are looked at
SAFETY, SHRINK, GROW, ORDER = 0.9, 0.2, 10.0, 8  # of step sizes

UNSETTLED = "joints do not settle between sticking and slipping (a controller with rate= may help)"


def integrate_variable(
    robot: Robot,
    q0: np.ndarray,
    qd0: np.ndarray,
    grid: TimeGrid,
    actuation: Actuation,
    watch: Watch,
    effort: Effort,
    update: Update,
) -> Trace:
    """Arms one after another, from all positions q0 (arms, positions) and q̇ (arms, n)."""
    integrand, kernel = step_kernel(robot, actuation.drive())
    arms, shape = len(q0), (grid.samples + 1, len(q0))
    held = None if actuation.period is None else np.full((*shape, robot.n), np.nan)
    memory = actuation.memory
    kept = np.full((*shape, memory.shape[-1]), np.nan) if memory.size else None
    trace = Trace(np.full((*shape, Stepping(integrand).width), np.nan), integrand.works, held, kept)
    for k in np.flatnonzero(np.isfinite(q0).all(1)).tolist():  # others have stopped before

        def report(part: float, k: int = k) -> None:
            update((k + part) / arms)

        own = actuation.of_arm(k)
        trial = TrialStep(integrand, kernel, own, effort)
        moving = _MovingArm(trial, own, grid, watch, trace.states[:, k], report)
        moving.held = None if held is None else held[:, k]
        moving.remembered = None if kept is None else kept[:, k]
        moving.most = effort.most(grid.duration, moving.longest)
        try:
            moving.run(q0[k], qd0[k])
        except _Stopped as stopped:
            end = moving.tau, moving.memory
            trace.stops.append(Stop(k, trial.t, trial.x, str(stopped), trial.t, moving.at_limit, *end))
        where = place(k, actuation.batch)
        trace.events += [event._replace(arm=where) for event in moving.events]
        trace.passed += [passed._replace(arm=where) for passed in moving.passed]
    return trace


class _Stopped(Exception):
    """An arm cannot go on; the text says why."""


@dataclass(eq=False)
class _MovingArm:
    """One arm, while it is integrated."""

    trial: TrialStep
    actuation: Actuation
    grid: TimeGrid
    watch: Watch
    rows: np.ndarray
    update: Update
    held: np.ndarray | None = None
    kept: int = 0  # rows written
    tau: np.ndarray | None = None  # held
    remembered: np.ndarray | None = None
    memory: np.ndarray | None = None  # what the controller has at its next sample
    h: float = FIRST  # the next step
    taken: int = 0  # steps
    most: int = 0  # steps allowed
    at_limit: bool = False  # stopped there

    def __post_init__(self) -> None:
        self.integrand, self.n = self.trial.integrand, self.trial.integrand.n
        self.events, self.passed = list[Event](), list[LimitPassed]()
        self.shown = np.zeros(len(self.integrand.surfaces))  # in which direction surfaces slide
        self.beyond = np.full(len(self.shown), BEYOND)
        self.longest = self.actuation.longest_step(self.grid.output)
        self.watched = list(self.watch.joints)

    def run(self, q: np.ndarray, qd: np.ndarray) -> None:
        """Integrates to the end."""
        trial, n = self.trial, self.n
        trial.x[:n], trial.x[trial.columns.followers] = split(self.integrand.robot, q)
        trial.x[n : 2 * n] = qd
        trial.modes[:] = self.shown = self.integrand.directions(qd)
        self.rows[0], self.kept = trial.x, 1
        if self.remembered is not None:
            self.memory = self.remembered[0] = self.actuation.memory[0]
        for watched in tuple(self.watched):
            at = float(watched.position(trial.x))
            if not watched.lower <= at <= watched.upper:
                self._left(watched, at > watched.upper, 0.0)
        for end, tau in self._pieces():
            trial.limit, fresh = end, True  # torques may have jumped: modes are decided again
            if tau is not None:
                self._hold(tau)
            at_once, instant = 0, -1.0
            while trial.t < end:
                self._advance(end, fresh)
                fresh = False
                at_once = at_once + 1 if trial.t == instant else 0
                instant = trial.t
                if at_once > MOST_AT_ONCE:
                    raise _Stopped(UNSETTLED)
        self.rows[self.kept :] = trial.x  # a change of mode at the very end
        if self.remembered is not None:
            self.remembered[self.kept :] = self.memory

    # ---- pieces ----------------------------------------------------------------------------------------

    def _pieces(self) -> Iterator[tuple[float, np.ndarray | None]]:
        """Ends of pieces, and the torques held meanwhile; evaluated when the arm has come to the start."""
        duration, driven, law = self.grid.duration, self.actuation, self.actuation.law
        if law is None or (period := law.controller.period) is None:
            yield from ((float(end), None) for end in (*driven.breaks, duration))
            return
        count = int(driven.sample_index(np.array([duration]))[0])
        count += count * period < duration * (1 - 1e-12)
        for first in range(0, count, CHUNK):
            instants = np.arange(first, min(first + CHUNK, count) + 1) * period
            targets, gains = law.targets(instants[:-1]), law.rows[0]
            for target, end in zip(targets, instants[1:], strict=True):
                state = self.trial.x[: self.n], self.trial.qd
                followers = self.trial.x[self.trial.columns.followers]
                tau = law.controller.evaluate(gains, target, *state, self.memory, followers)
                if self.memory is not None:
                    tau, self.memory = tau
                yield (duration if end >= duration * (1 - 1e-12) else float(end)), tau

    def _hold(self, tau: np.ndarray) -> None:
        """Torques from now on."""
        self.tau = tau
        self.trial.hold(tau)
        if self.held is not None and self.grid.t[self.kept - 1] == self.trial.t:
            self.held[self.kept - 1] = tau

    def _advance(self, end: float, fresh: bool) -> None:
        """Steps on, at most to the next change of mode; `fresh`: modes and rate at the start are decided."""
        trial, before = self.trial, self.trial.t
        self._step(end, fresh)
        found = self._first_change()
        after = end if trial.h == end - before else before + trial.h
        self._look(after if found is None else found[0])
        if found is not None:
            self._change(*found)
            return
        self._keep(after)
        trial.x[:], trial.rate[:] = trial.new, trial.last
        trial.t = after
        self.update(after / self.grid.duration)

    def _step(self, end: float, fresh: bool) -> None:
        """A trial step that is accurate enough."""
        trial, h, shrunk = self.trial, min(self.h, self.longest), False
        while True:
            whole = h >= (end - trial.t) * (1 - 1e-12)
            h = end - trial.t if whole else h
            if self.taken >= self.most:
                raise _Stopped(self._used_up(h))
            if h < 10 * np.spacing(trial.t) and not whole:
                raise _Stopped("the step became too small")
            error = trial.step(h, fresh, self._shows(trial.t + h), bool(len(self.shown)))
            self._check_rate()
            if fresh:
                self._note(trial.t > 0)
            self.taken, fresh = self.taken + 1, False
            if error < 1 and not self._passes():
                factor = GROW if error == 0 else min(GROW, SAFETY * error ** (-1 / ORDER))
                longer = h * (min(factor, 1.0) if shrunk else factor)
                self.h = max(longer, self.h) if whole and not shrunk else longer
                break
            h *= max(SHRINK, SAFETY * error ** (-1 / ORDER)) if 1 <= error < np.inf else SHRINK
            shrunk = True
        self._check_side()
        fast = np.abs(trial.new[self.n : 2 * self.n]).max()
        if not fast <= SPEED_LIMIT:
            raise _Stopped("it diverged")

    def _shows(self, end: float) -> bool:
        """True if a state before the end of the step is kept."""
        return bool(len(self.shown)) or (self.kept < len(self.grid.t) and self.grid.t[self.kept] < end)

    def _passes(self) -> bool:
        """True if a step leads to the other side of a singular posture."""
        at = self.trial.columns.side_at
        return bool(self.integrand.followers) and not self.trial.x[at] * self.trial.new[at] >= 0

    def _check_side(self) -> None:
        """Stop where joints of closed chains no longer follow."""
        trial = self.trial
        if self.integrand.followers and abs(trial.new[trial.columns.side_at]) < SINGULAR:
            raise _Stopped(lost(self.integrand.robot, trial.x))

    def _check_rate(self) -> None:
        if not np.isfinite(self.trial.rate).all():
            raise _Stopped("the acceleration is not a finite number")

    def _used_up(self, h: float) -> str:
        """Reason why all steps were used."""
        cause = f"steps as short as {h:.2g} s (something may be stiff, or torques jump)"
        recent = self.events[-10:]
        if len(recent) == 10 and self.trial.t - recent[0].time < 1e-3 * self.grid.duration:
            cause = f"{len(self.events):,} changes between sticking and slipping (friction chatters)"
        return f"max_steps ({self.most:,}) reached with {cause}"

    def _keep(self, t: float) -> None:
        """Keeps the states at the grid's instants up to t."""
        until = int(np.searchsorted(self.grid.t, t, side="right"))
        if until == self.kept:
            return
        times, trial = self.grid.t[self.kept : until], self.trial
        if len(times) == 1 and times[0] == t == trial.t + trial.h:
            self.rows[self.kept] = trial.new
        else:
            self.rows[self.kept : until] = trial.dense(times)
        if self.held is not None:
            self.held[self.kept : until] = self.tau
        if self.remembered is not None:
            self.remembered[self.kept : until] = self.memory
        self.kept = until

    # ---- limits of positions ---------------------------------------------------------------------------

    def _look(self, end: float) -> None:
        """Record the joints that leave their ranges between the last state and `end`, or stop there."""
        trial = self.trial
        if not self._may_leave():
            return
        times, found = np.linspace(trial.t, end, PARTS + 1), []
        states = trial.dense(times)
        for watched in self.watched:
            margins = watched.within(states)
            if (margins < 0).any():
                k = max(1, int(np.argmax(margins < 0)))
                t = first_zero(partial(self._inside, watched), *times[k - 1 : k + 1])
                found.append((t, bool(watched.position(states[k]) > watched.upper), watched))
        for t, above, watched in sorted(found):
            passed = self._left(watched, above, t)
            if self.watch.stops:
                self._keep(t)
                trial.x[:] = trial.state_after(t - trial.t)
                trial.t, self.at_limit = t, True
                raise _Stopped(passed.event)

    def _inside(self, watched: Watched, t: float) -> float:
        """Distance of a joint from its limits, inside positive, at an instant of the step."""
        return float(watched.within(self.trial.dense(t)))

    def _may_leave(self) -> bool:
        """True if a watched joint comes near a limit in this step, by its speeds at both ends."""
        if not self.watched:
            return False
        trial, watched = self.trial, self.watched
        q, speeds = (
            np.stack([w.of(np.stack(pair)) for w in watched], -1)
            for pair in ((trial.x, trial.new), (trial.rate, trial.last))
        )
        lower, upper = np.array([w.lower for w in watched]), np.array([w.upper for w in watched])
        way = trial.h * np.abs(speeds).max(axis=0)
        return bool(((q.min(axis=0) - way <= lower) | (q.max(axis=0) + way >= upper)).any())

    def _left(self, watched: Watched, above: bool, t: float) -> LimitPassed:
        """Record that a joint left its range, and watch it no longer."""
        self.watched.remove(watched)
        self.passed.append(watched.passed(above, t))
        return self.passed[-1]

    # ---- changes of mode -------------------------------------------------------------------------------

    def _margins(self, x: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """Margins (..., E) of surfaces to a change: speed along the mode, or friction from a level.

        The distance from the nearer level is relative to half the distance of the levels.
        """
        modes, held = self.trial.modes, rate[..., self.trial.columns.modes]
        low, high = self.integrand.levels
        sliding = modes * (x[..., self.n : 2 * self.n] @ self.integrand.rows.T)
        sticking = np.minimum(held - low, high - held) / ((high - low) / 2) + self.beyond
        return np.asarray(np.where(modes == 0, sticking, sliding))

    def _first_change(self) -> tuple[float, int] | None:
        """The first instant of a step at which a surface changes, and which."""
        if not len(self.shown):
            return None
        margins = self._margins(*self.trial.looks())
        rows = np.flatnonzero((margins < 0).any(axis=-1))
        if not rows.size:
            return None
        row, times = int(rows[0]), self.trial.t + self.trial.h * np.append(0.0, LOOKS)
        a, b = float(times[row]), float(times[row + 1])
        crossed = [int(e) for e in np.flatnonzero(margins[row] < 0)]
        ends = {b: margins[row]}
        return min((self._crossing(a, b, e, ends), e) for e in crossed)

    def _crossing(self, a: float, b: float, e: int, known: dict[float, np.ndarray]) -> float:
        """The instant between a and b at which surface e changes.

        It is `a` itself where a surface was just released at zero speed and goes the wrong way. One that
        first goes the right way, for however short a time, changes when it comes back to zero speed.
        """

        def margin(t: float) -> float:
            if t not in known:
                known[t] = self._margins(*self.trial.at(t))
            return float(known[t][e])

        if self.trial.modes[e] and a == self.trial.t and not margin(a) > 0:
            nearer = (a + (b - a) * 4.0**-k for k in range(1, NEARER))
            a = next((t for t in nearer if t > a and margin(t) > 0 and self._slips(t, e)), a)
        return first_zero(margin, a, b)

    def _slips(self, t: float, e: int) -> bool:
        """True if a surface slides along its mode at t, by a step that ends there.

        Dense output alone may show a slip that is none, where torques jump as soon as something moves.
        """
        trial = self.trial
        return bool(self._margins(trial.state_after(t - trial.t), trial.rate)[e] > 0)

    def _change(self, t: float, e: int) -> None:
        """End the piece at the change of surface e, and take the modes that follow."""
        trial, before = self.trial, self.trial.modes.copy()
        self.taken += CHANGE
        self._keep(np.nextafter(t, 0.0))
        trial.x[:] = trial.state_after(t - trial.t)
        trial.t = t
        if before[e]:
            self._stop(e)
        trial.decide()
        if not before[e] and (trial.modes == before).all():
            self.beyond[e] *= 10  # by rounding only: it holds
        self._note()
        self._check_rate()

    def _stop(self, e: int) -> None:
        """Bring a surface to rest."""
        trial, n, modes = self.trial, self.n, self.trial.modes.copy()
        modes[e] = -np.sign(self.integrand.rows[e] @ trial.qd)
        settle = trial.kernel.loop.programs["settle"]
        parts = (trial.x[:n], trial.qd.copy(), trial.x[trial.columns.followers], modes, trial.numbers)
        trial.qd[:], trial.modes[:] = evaluate(settle, *(part for part in parts if part.size))

    def _note(self, told: bool = True) -> None:
        """Events: surfaces that begin to slide or to stick. What other surfaces hold does not slide yet."""
        trial, columns = self.trial, self.trial.columns
        if (trial.modes == self.shown).all():
            return
        moving, x = self.integrand.directions(trial.qd), trial.x
        starting = self._starting(trial.rate)
        if ((starting != trial.modes) & (moving == 0)).any():  # torques may jump here: judge a little later
            later, ahead = min(trial.t + 1e-3 * self.h, trial.limit), x.copy()
            ahead[columns.moving] += (later - trial.t) * trial.rate[columns.moving]
            starting = self._starting(trial.rate_at(later, ahead))
        now = np.where(moving == 0, starting, trial.modes)
        self.beyond[now != self.shown] = BEYOND
        if told:
            rows, times = np.stack([self.shown, now])[:, None], np.full(2, trial.t)
            self.events += changes(times, self.integrand.names, rows, ())
        self.shown = now

    def _starting(self, rate: np.ndarray) -> np.ndarray:
        """Modes of surfaces that speed up in them; 0 for others."""
        modes = self.trial.modes
        return np.asarray(modes * (self.integrand.directions(rate[self.n : 2 * self.n]) == modes))
