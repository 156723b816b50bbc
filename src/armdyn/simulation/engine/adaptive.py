"""Adaptive integration of high order, piece by piece between changes of friction mode.

Within a piece every surface keeps its mode, so the equations are smooth. A piece ends where a sliding surface
comes to rest or a sticking one needs more friction than there is; the instant is found on the dense output,
and the step is taken again to end there. Every piece takes a step and the number of steps is bounded, so that
a stiff or chattering motion ends in reasonable time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from armdyn.output.progress import Update
from armdyn.program.evaluate import evaluate
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.following import SINGULAR, lost, split
from armdyn.simulation.engine.grid import Grid
from armdyn.simulation.engine.limits import PositionLimits, Watched
from armdyn.simulation.engine.steps import Stepping
from armdyn.simulation.engine.trace import SPEED_LIMIT, Stop, Trace, changes, place
from armdyn.simulation.engine.trial import LOOKS, Effort, Trial, first_zero, step_kernel
from armdyn.simulation.run import Event, LimitPassed

BEYOND = 1e-11  # of half the distance of the levels: friction exactly at its level still holds
MOST_AT_ONCE = 50  # changes of mode at one instant before it counts as a failure
CHANGE = 10  # steps that a change of mode counts as, by the time it takes
CHUNK = 4096  # samples of a controller's target at a time
FIRST = 1e-3  # s: the first step that is tried
NEARER = 20  # times an interval is cut to a quarter, to find a slip that is soon over
PARTS = 64  # of a step, at which joints near their limits are looked at
SAFETY, SHRINK, GROW, ORDER = 0.9, 0.2, 10.0, 8  # of step sizes

UNSETTLED = "joints do not settle between sticking and slipping (a controller with rate= may help)"


def integrate_adaptive(
    robot: Robot,
    q0: np.ndarray,
    qd0: np.ndarray,
    grid: Grid,
    actuation: Actuation,
    limits: PositionLimits,
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
        trial = Trial(integrand, kernel, own, effort)
        motion = _Motion(trial, own, grid, limits, trace.states[:, k], report)
        motion.held = None if held is None else held[:, k]
        motion.remembered = None if kept is None else kept[:, k]
        motion.most = effort.most(grid.duration, motion.longest)
        try:
            motion.run(q0[k], qd0[k])
        except _Stopped as stopped:
            end = motion.tau, motion.memory
            trace.stops.append(Stop(k, trial.t, trial.x, str(stopped), trial.t, motion.at_limit, *end))
        where = place(k, actuation.batch)
        trace.events += [event._replace(arm=where) for event in motion.events]
        trace.passed += [passed._replace(arm=where) for passed in motion.passed]
    return trace


class _Stopped(Exception):
    """An arm cannot go on; the text says why."""


@dataclass(eq=False)
class _Motion:
    """One arm on its way."""

    trial: Trial
    actuation: Actuation
    grid: Grid
    limits: PositionLimits
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
        self.watched = list(self.limits.watch.joints)

    def run(self, q: np.ndarray, qd: np.ndarray) -> None:
        """To the end."""
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
        duration, driven, controller = self.grid.duration, self.actuation, self.actuation.controller
        if controller is None or (period := controller.period) is None:
            yield from ((float(end), None) for end in (*driven.breaks, duration))
            return
        count = int(driven.sample_index(np.array([duration]))[0])
        count += count * period < duration * (1 - 1e-12)
        for first in range(0, count, CHUNK):
            instants = np.arange(first, min(first + CHUNK, count) + 1) * period
            targets, gains = controller.targets(instants[:-1]), driven.torque.rows[0]
            for target, end in zip(targets, instants[1:], strict=True):
                state = self.trial.x[: self.n], self.trial.qd
                followers = self.trial.x[self.trial.columns.followers]
                tau = controller.evaluate(gains, target, *state, self.memory, followers)
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
        """A step, or up to the next change of mode; `fresh`: modes and rate at the start are decided."""
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
        """Whether a state before the end of the step is kept."""
        return bool(len(self.shown)) or (self.kept < len(self.grid.t) and self.grid.t[self.kept] < end)

    def _passes(self) -> bool:
        """Whether a step leads to the other side of a singular posture."""
        at = self.trial.columns.side_at
        return bool(self.integrand.followers) and not self.trial.x[at] * self.trial.new[at] >= 0

    def _check_side(self) -> None:
        """Stop where joints of loops no longer follow."""
        trial = self.trial
        if self.integrand.followers and abs(trial.new[trial.columns.side_at]) < SINGULAR:
            raise _Stopped(lost(self.integrand.robot, trial.x))

    def _check_rate(self) -> None:
        if not np.isfinite(self.trial.rate).all():
            raise _Stopped("the acceleration is not a finite number")

    def _used_up(self, h: float) -> str:
        """Why all steps were used."""
        cause = f"steps as short as {h:.2g} s (something may be stiff, or torques jump)"
        recent = self.events[-10:]
        if len(recent) == 10 and self.trial.t - recent[0].time < 1e-3 * self.grid.duration:
            cause = f"{len(self.events):,} changes between sticking and slipping (friction chatters)"
        return f"max_steps ({self.most:,}) reached with {cause}"

    def _keep(self, t: float) -> None:
        """The grid's instants up to t."""
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
            if self.limits.watch.stops:
                self._keep(t)
                trial.x[:] = trial.state_after(t - trial.t)
                trial.t, self.at_limit = t, True
                raise _Stopped(passed.event)

    def _inside(self, watched: Watched, t: float) -> float:
        """How far a joint is within its range at an instant of the step."""
        return float(watched.within(self.trial.dense(t)))

    def _may_leave(self) -> bool:
        """Whether a watched joint comes near a limit in this step, by its speeds at both ends."""
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
        """Record it, and watch this joint no longer."""
        self.watched.remove(watched)
        self.passed.append(watched.passed(above, t))
        return self.passed[-1]

    # ---- changes of mode -------------------------------------------------------------------------------

    def _margins(self, x: np.ndarray, rate: np.ndarray) -> np.ndarray:
        """How far surfaces (..., E) are from a change: speed along the mode, or friction from a level.

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
        """Whether a surface slides along its mode at t, by a step that ends there.

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
