"""Fixed steps of fourth-order Runge–Kutta, all arms at once.

A surface with dry friction that passes zero speed within a step is brought to rest at the step's end, and one
whose friction does not suffice to hold it starts at the beginning of the next. So the motion near such an
instant has an error of the order of the step, elsewhere of its fourth power.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from armdyn.kernels.cuda.arrays import host, is_cupy, like, zeros_by_instance
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.output.progress import Update
from armdyn.robot import Robot
from armdyn.simulation.control.actuation import Actuation
from armdyn.simulation.engine.following import APART, LOST, lost, split
from armdyn.simulation.engine.grid import Grid, Stretch
from armdyn.simulation.engine.integrand import Drive, Integrand
from armdyn.simulation.engine.limits import PositionLimits, Watch
from armdyn.simulation.engine.many_steps import many_steps
from armdyn.simulation.engine.steps import Stepping
from armdyn.simulation.engine.trace import SPEED_LIMIT, Batch, Stop, Trace, changes
from armdyn.simulation.run import LimitPassed

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
    grid: Grid,
    actuation: Actuation,
    limits: PositionLimits,
    update: Update,
) -> Trace:
    """All arms over the grid, from all positions q0 (arms, positions) and q̇ (arms, n)."""
    integrand, kernel = _kernel(robot, actuation.drive(), limits.watch)
    run = _Steps(integrand, kernel, grid, actuation, limits.watch)
    run.start(q0, qd0)
    run.advance(update)
    return run.trace()


@lru_cache(maxsize=64)
def _kernel(robot: Robot, drive: Drive, watch: Watch) -> tuple[Integrand, LoopKernel]:
    """Made once for a robot, a drive and the limits to be watched."""
    integrand = Integrand.of(robot, drive)
    return integrand, LoopKernel(many_steps(integrand, watch))


@dataclass(eq=False)
class _Steps:
    """Arms on their way."""

    integrand: Integrand
    kernel: LoopKernel
    grid: Grid
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
        """To the end, or until every arm has stopped.

        The work is cut into several calls so that progress can be reported and the user can interrupt it.
        """
        arms, done = self.state.shape[1], 0
        chunk, size = (CHUNK_ON_GPU, SIGNALS_ON_GPU) if is_cupy(self.state) else (CHUNK, SIGNALS)
        by_time = chunk // max(1, 4 * arms * self.integrand.programs["rate"].operations)
        by_size = size // max(1, 2 * arms * self.columns.get("signals", 0))
        most = max(1, min(by_time, by_size, ASKED if self.kernel.loop.asks else by_size))
        for stretch in self.grid.stretches(most):
            self._advance(stretch)
            done += stretch.steps
            update(done / self.grid.row_steps[-1])
            if not self.state[0, :, self.width].any():
                return

    def _advance(self, stretch: Stretch) -> None:
        arms, times, actuation = self.state.shape[1], stretch.halves(), self.actuation
        arguments: dict[str, np.ndarray] = {
            "settings": np.array([[[stretch.h, SPEED_LIMIT]]]),
            "constants": actuation.constants()[None],
            "signals": actuation.signals(times),
            "state": self.state,
            "saved": self.saved[stretch.rows],
        }
        if self.held is not None:
            held = zeros_by_instance(self.state, (stretch.count, arms, self.integrand.n))
            arguments |= self._samples(times[:-1:2]) | {"held": held}
        if self.remembered is not None:
            arguments["remembered"] = self.remembered[stretch.rows]
        counts = {"rows": stretch.count, "every": stretch.every}
        if is_cupy(self.state):
            arguments = {name: like(self.state, arguments[name]) for name in self.columns}
        self.kernel(arms, counts, arguments, actuation.asked(times))
        if self.held is not None:
            if stretch.step == 0:
                self.held[stretch.first - 1 : stretch.rows.stop - 1] = held
            self.held[stretch.rows.stop - 1] = self.state[0, :, -self.integrand.n :]

    def _samples(self, starts: np.ndarray) -> dict[str, np.ndarray]:
        """In which steps the law is due, its gains, and its targets there."""
        controller, index = self.actuation.controller, self.actuation.sample_index(starts)
        assert controller is not None
        due = np.diff(index, prepend=self.sample) > 0
        self.sample = int(index[-1])
        targets = np.zeros((len(starts), 1, self.columns.get("targets", 0)))
        if due.any():
            targets[due] = controller.targets(starts[due])[:, None]
        gains = self.actuation.torque.rows[None]
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
        trace.notes += [OF_FIRST_ORDER] if self.integrand.surfaces else []
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
