"""Adaptive integration of high order (SciPy's DOP853), piece by piece between changes of friction mode.

Within a piece every surface keeps its mode, so the equations are smooth. A piece ends where a sliding surface
comes to rest or a sticking one needs more friction than there is; the instant is found on the dense output,
and the step is taken again to end there. Every piece takes a step and the number of steps is bounded, so that
a stiff or chattering motion ends in reasonable time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import DOP853

from armdyn.kernels.loops.integrator_layout import Watched
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.crossings import Span, first_zero
from armdyn.simulation.engine.grid import Grid
from armdyn.simulation.engine.limits import PositionLimits
from armdyn.simulation.engine.plant import Plant
from armdyn.simulation.engine.trace import SPEED_LIMIT, Stop, Trace
from armdyn.simulation.progress import Update
from armdyn.simulation.run import Event, Kind, LimitPassed

LOOKS = 4  # at how many instants of a step changes of mode are looked for
BEYOND = 1e-11  # of half the distance of the levels: friction exactly at its level still holds
MOST_AT_ONCE = 50  # changes of mode at one instant before it counts as a failure
STEPS, STEPS_A_SECOND = 50_000, 20_000  # default bound on steps
EVALUATIONS = 12  # of the rates, for a step of DOP853, accepted or rejected
CHANGE = 10  # steps that a change of mode counts as, by the time it takes


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
    """Arms (arms, n), one after another."""
    plant, arms, n = Plant(robot), len(q0), robot.n
    there = {
        "torque": not actuation.torque.is_absent,
        "wrench": not actuation.wrench.is_absent,
        "friction": plant.rubs,
    }
    works = tuple(name for name in there if there[name])
    rows = np.full((grid.samples + 1, arms, 2 * n + len(works)), np.nan)
    trace = Trace(
        rows[..., :n], rows[..., n : 2 * n], {name: rows[..., 2 * n + k] for k, name in enumerate(works)}
    )
    for k in range(arms):
        place = tuple(int(i) for i in np.unravel_index(k, actuation.batch)) if actuation.batch else ()

        def report(part: float, k: int = k) -> None:
            update((k + part) / arms)

        motion = _Motion(plant, actuation.of_arm(k), works, grid, limits, effort, rows[:, k], report)
        reason = motion.run(q0[k], qd0[k])
        trace.events += [event._replace(arm=place) for event in motion.events]
        trace.passed += [passed._replace(arm=place) for passed in motion.passed]
        if reason is not None:
            y = motion.y
            kept = dict(zip(works, y[2 * n :].tolist(), strict=True)) if motion.at_limit else None
            if not motion.at_limit:
                reason = f"{reason} at t = {motion.t:.6g} s"
            trace.stops.append(Stop(k, motion.t, y[:n], y[n : 2 * n], reason, kept))
    return trace


class _Motion:
    """One arm on its way: time, state (q, q̇, works) and modes."""

    def __init__(
        self,
        plant: Plant,
        actuation: Actuation,
        works: tuple[str, ...],
        grid: Grid,
        limits: PositionLimits,
        effort: Effort,
        rows: np.ndarray,
        update: Update,
    ) -> None:
        self.plant, self.actuation, self.works, self.grid = plant, actuation, works, grid
        self.n, self.times, self.rows, self.update = plant.n, grid.t, rows, update
        self.kept = 0  # rows written
        self.events: list[Event] = []
        self.t, self.end = 0.0, grid.duration
        self.modes = np.zeros(len(plant.rows), int)
        self.beyond = np.full(len(plant.rows), BEYOND)
        self.y = np.zeros(2 * plant.n + len(works))
        self.rtol, self.atol = effort.rtol, np.full(len(self.y), effort.atol)
        self.atol[2 * plant.n :] = max(effort.rtol, effort.atol)  # J
        self.longest = actuation.longest_step(grid.output)
        self.last = 0.0  # step
        self.taken, self.most = 0, effort.most(grid.duration, self.longest)
        self.limits, self.watched = limits, list(limits.watch.joints)
        self.passed: list[LimitPassed] = []
        self.at_limit = False  # stopped there

    def run(self, q: np.ndarray, qd: np.ndarray) -> str | None:
        """To the end; the reason where it is not reached."""
        n = self.n
        self.y[:n], self.y[n : 2 * n] = q, qd
        self._keep_at_start()
        self._look_at_start()
        rest = self.plant.at_rest(qd)
        self.modes = np.where(rest, 0, np.sign(self.plant.speeds(qd))).astype(int)
        for end in (*self.actuation.breaks, self.grid.duration):
            self.end = float(end)
            # At a break torques may jump: joints at rest are checked again, for the torques after it.
            before = self.modes
            self._choose(self.plant.at_rest(self.y[n : 2 * n]))
            if self.t > 0:
                self._note(before)
            at_once, instant = 0, -1.0
            while self.t < self.end:
                reason = self._piece()
                if reason is not None:
                    return reason
                at_once = at_once + 1 if self.t == instant else 0
                instant = self.t
                if at_once > MOST_AT_ONCE:
                    return "the modes of dry friction do not settle"
        self.rows[self.kept :] = self.y  # a change of mode at the very end
        return None

    # ---- equations -------------------------------------------------------------------------------------

    def _given(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """q, q̇, τ and the wrench at an instant before the piece's end."""
        q, qd = y[: self.n], y[self.n : 2 * self.n]
        t = min(t, np.nextafter(self.end, 0.0))
        tau = self.actuation.torques(t, q[None], qd[None])[0]
        tip = self.actuation.wrench
        return q, qd, tau, None if tip.is_absent else self.actuation.wrenches(t, q[None], qd[None])[0]

    def rate(self, t: float, y: np.ndarray) -> np.ndarray:
        """dy/dt in the present modes."""
        q, qd, tau, wrench = self._given(t, y)
        out = np.empty_like(y)
        n = self.n
        out[:n] = qd
        out[n : 2 * n] = self.plant.acceleration(q, qd, tau, wrench, self.modes)
        for k, work in enumerate(self.works):
            if work == "torque":
                out[2 * n + k] = qd @ tau
            elif work == "friction":
                out[2 * n + k] = qd @ self.plant.friction(qd, self.modes)
            elif wrench is not None:
                out[2 * n + k] = -(self.plant.robot.jacobian(q) @ qd) @ wrench
        return out

    def _choose(self, rest: np.ndarray) -> None:
        """Modes for the surfaces that rest."""
        if rest.any():
            q, qd, tau, wrench = self._given(self.t, self.y)
            self.modes = self.plant.decide(q, qd, tau, wrench, self.modes, rest)

    # ---- a piece ---------------------------------------------------------------------------------------

    def _piece(self) -> str | None:
        """On from the present state in the present modes, to the next change or the end."""
        if not np.isfinite(self.rate(self.t, self.y)).all():
            return "the acceleration is not a finite number"
        solver = self._solver(self.t, self.y, self.end)
        while solver.status == "running":
            if self.taken >= self.most:
                return self._used_up()
            self._step(solver)
            if solver.status == "failed":
                return "the step became too small"
            if not np.abs(solver.y[self.n : 2 * self.n]).max() <= SPEED_LIMIT:
                return "it diverged"
            dense = _Lazy(solver)
            found = self._first_change(solver, dense)
            reason = self._look(solver, dense, solver.t if found is None else found[0])
            if reason is not None:
                return reason
            if found is not None:
                self._change(solver, dense, *found)
                return None
            self._keep(dense, solver.t)
            self.t, self.y = float(solver.t), solver.y
            self.update(self.t / self.grid.duration)
        return None

    def _solver(self, t: float, y: np.ndarray, end: float, first: float | None = None) -> DOP853:
        return DOP853(
            self.rate, t, y, end, rtol=self.rtol, atol=self.atol, first_step=first, max_step=self.longest
        )

    def _step(self, solver: DOP853) -> None:
        """Take a step. Rejected trials count too."""
        before = solver.nfev
        with np.errstate(all="ignore"):
            solver.step()
        self.taken += max(1, (solver.nfev - before) // EVALUATIONS)
        self.last = solver.step_size or 0.0

    def _used_up(self) -> str:
        """Why all steps were used."""
        cause = f"steps as short as {self.last:.2g} s (something may be stiff, or torques jump)"
        recent = self.events[-10:]
        if len(recent) == 10 and self.t - recent[0].time < 1e-3 * self.grid.duration:
            cause = f"{len(self.events):,} changes between sticking and slipping (friction chatters)"
        return f"max_steps ({self.most:,}) reached with {cause}"

    def _keep_at_start(self) -> None:
        self.rows[0], self.kept = self.y, 1

    def _keep(self, dense: _Lazy, t: float) -> None:
        """The grid's instants up to t."""
        until = int(np.searchsorted(self.times, t, side="right"))
        if until > self.kept:
            self.rows[self.kept : until] = dense(self.times[self.kept : until]).T
            self.kept = until

    # ---- limits of positions ---------------------------------------------------------------------------

    def _look_at_start(self) -> None:
        for watched in tuple(self.watched):
            joint, lower, upper = watched
            if not lower <= self.y[joint] <= upper:
                self._left(watched, bool(self.y[joint] > upper), 0.0)

    def _look(self, solver: DOP853, dense: _Lazy, end: float) -> str | None:
        """Record the joints that leave their ranges between the last state and `end`; the reason to stop."""
        if not self.watched:
            return None
        span = Span(self.n, self.t, end, self.y, solver.y if end == solver.t else dense(end), dense)
        found = [(span.leaving(watched), watched) for watched in self.watched]
        for (t, above), watched in sorted((at, watched) for at, watched in found if at is not None):
            passed = self._left(watched, above, t)
            if self.limits.watch.stops:
                self._keep(dense, t)
                self.t, self.y = self._state_at(self.t, t)
                self.at_limit = True
                return passed.text
        return None

    def _left(self, watched: Watched, above: bool, t: float) -> LimitPassed:
        """Record it, and watch this joint no longer."""
        self.watched.remove(watched)
        self.passed.append(self.limits.passed(watched.joint, above, t))
        return self.passed[-1]

    # ---- changes of mode -------------------------------------------------------------------------------

    def _margins(self, t: float, y: np.ndarray) -> np.ndarray:
        """How far each surface is from a change: its speed along its mode, or its friction from a level."""
        plant, sticks = self.plant, self.modes == 0
        margins = self.modes * plant.speeds(y[self.n : 2 * self.n])
        if sticks.any():
            q, qd, tau, wrench = self._given(t, y)
            margins[sticks] = plant.held(q, qd, tau, wrench, self.modes)[1] + self.beyond[sticks]
        return np.asarray(margins)

    def _first_change(self, solver: DOP853, dense: _Lazy) -> tuple[float, int] | None:
        """The first instant of a step at which a surface changes, and which."""
        if not len(self.modes):
            return None
        before = solver.t_old
        for t in np.linspace(solver.t_old, solver.t, LOOKS + 1)[1:]:
            margins = self._margins(t, solver.y if t == solver.t else dense(t))
            crossed = np.flatnonzero(margins < 0)
            if crossed.size:
                roots = [self._crossing(dense, before, t, int(e)) for e in crossed]
                return min(zip(roots, (int(e) for e in crossed), strict=True))
            before = t
        return None

    def _crossing(self, dense: _Lazy, a: float, b: float, e: int) -> float:
        """At `a` itself: just released, at zero speed, and going the wrong way."""
        return first_zero(lambda t: float(self._margins(t, dense(t))[e]), a, b)

    def _change(self, solver: DOP853, dense: _Lazy, t: float, e: int) -> None:
        """End the piece at the change of surface e, and take the modes that follow."""
        n, start, before = self.n, solver.t_old, self.modes
        self.taken += CHANGE
        self._keep(dense, np.nextafter(t, 0.0))
        t, y = self._state_at(start, t)
        t, y = self._polished(t, y, dense, e, solver.t - start)
        self.t, self.y = t, y
        rest = self.plant.at_rest(y[n : 2 * n]) | (before == 0)
        rest[e] = True
        y[n : 2 * n] = self.plant.stopped(y[:n], y[n : 2 * n], rest)
        self._choose(rest)
        if before[e] == 0 and (self.modes == before).all():
            self._let_go(e, rest, solver.t - start)
        elif before[e] != 0 and t == start and self.modes[e] == before[e]:  # released in vain
            self.modes[e] = 0
        self._note(before)

    def _let_go(self, e: int, rest: np.ndarray, step: float) -> None:
        """Modes after a break-away: friction is exactly at its level, so they show only a little later."""
        ahead = self.rate(self.t, self.y)
        for part in (1e-7, 1e-5, 1e-3, 1e-1):
            t = min(self.t + part * step, self.end)
            q, qd, tau, wrench = self._given(t, self.y + (t - self.t) * ahead)
            modes = self.plant.decide(q, qd, tau, wrench, self.modes, rest)
            slip = rest & (modes != 0)
            speeding = modes * self.plant.speeds(self.plant.acceleration(q, qd, tau, wrench, modes))
            if slip.any() and (speeding[slip] > 0).all():  # else too near to tell who goes with whom
                self.modes = modes
                return
        self.beyond[e] *= 10  # by rounding only: it holds

    def _state_at(self, start: float, t: float) -> tuple[float, np.ndarray]:
        """The time reached and the state there, stepping to t: more accurate than dense output."""
        if t <= start:
            return t, self.y.copy()
        solver = self._solver(start, self.y, t, t - start)
        while solver.status == "running" and self.taken < self.most:
            self._step(solver)
        return float(solver.t), np.array(solver.y)

    def _polished(
        self, t: float, y: np.ndarray, dense: _Lazy, e: int, step: float
    ) -> tuple[float, np.ndarray]:
        """Newton's correction of the instant for what dense output was wrong by."""
        margin, h = float(self._margins(t, y)[e]), 1e-4 * step
        back = max(t - h, self.t)
        slope = (margin - float(self._margins(back, dense(back))[e])) / (t - back) if t > back else 0.0
        correction = -margin / slope if slope < 0 else 0.0
        if not abs(correction) <= h / 100 or t + correction > self.end:  # a torque that jumps has no slope
            return t, y
        return float(t + correction), y + correction * self.rate(t, y)

    def _note(self, before: np.ndarray) -> None:
        for e in np.flatnonzero(before != self.modes):
            self.beyond[e] = BEYOND
            kind: Kind = "stick" if self.modes[e] == 0 else "slip" if before[e] == 0 else "reverse"
            self.events.append(Event(self.t, self.plant.names[e], kind))


class _Lazy:
    """The dense output of a solver's last step, made when first asked for."""

    def __init__(self, solver: DOP853) -> None:
        self._solver = solver
        self._made: Any = None

    def __call__(self, t: float | np.ndarray) -> np.ndarray:
        if self._made is None:
            self._made = self._solver.dense_output()
        return np.asarray(self._made(t))
