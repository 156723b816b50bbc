"""The motion along a path whose acceleration s̈ is constant on each interval of its grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.motion.least_time.path import NEAR, POINTS, RESTING, WHOLE, PathGrid, by_length, dwelt
from armdyn.motion.least_time.pieces import speed_of
from armdyn.motion.timing.dwells import with_instants
from armdyn.motion.trajectories.instants import SAME_INSTANT, snapped
from armdyn.motion.trajectories.motion import Motion, Side, States

CLOSE = 1e-7  # of a part of an interval: where a step of Newton's method is smaller, the next one is nothing
INSIDE = 1e-9  # of an interval: how far inside of it derivatives at its ends are taken


@dataclass(frozen=True)
class TimedPath:
    """A path with x = ṡ² at the N + 1 ends of its intervals, linear in s between; dwells last as they did."""

    grid: PathGrid
    x: np.ndarray  # (N + 1,)

    @cached_property
    def _stretches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """When intervals and dwells begin, and the end (k + 1,) [s]; the interval of each (k,); which dwell.

        A dwell has the interval that follows it; the last one, N.
        """
        y, pauses = np.sqrt(self.x), self.grid.pauses
        lengths = np.empty(2 * len(pauses) - 1)
        lengths[::2], lengths[1::2] = pauses, 2 * self.grid.ahead[:, 4] / (y[1:] + y[:-1])
        kept = lengths > 0
        kept[1::2] = True
        places = np.flatnonzero(kept)
        return np.append(0.0, np.cumsum(lengths[kept])), places // 2, places % 2 == 0

    @cached_property
    def times(self) -> np.ndarray:
        """When the intervals begin and end (N, 2) [s]."""
        edges, _, dwells = self._stretches
        return np.column_stack([edges[:-1][~dwells], edges[1:][~dwells]])

    @property
    def duration(self) -> float:
        """[s]"""
        return float(self._stretches[0][-1])

    @cached_property
    def u(self) -> np.ndarray:
        """s̈ on the intervals (N,) [1/s²]."""
        return np.asarray(np.diff(self.x) / (2 * self.grid.ahead[:, 4]))

    def motion(self, label: str) -> Motion:
        """The motion, with the dwells and loads of the given one."""
        edges, n = self._stretches[0], self.grid.q.shape[-1]
        motion = Motion(n, self.duration, self.evaluate, edges[1:-1], label)
        return with_instants(motion, self.grid.trajectory.motion, self.when)

    def when(self, t: np.ndarray) -> np.ndarray:
        """When the path is at instants t (N,) of the given motion, at which a dwell or a load changes [s].

        These are ends of intervals, or nearly so, or in a rest. Of a rest only the dwells are left.
        """
        grid = self.grid
        i = (np.searchsorted(grid.t[:, 0], t, side="right") - 1).clip(0)
        start, end = grid.t[i, 0], grid.t[i, 4]
        node = np.where(np.abs(t - start) <= np.abs(t - end), i, i + 1)
        arrives = np.append(self.times[0, 0] - grid.pauses[0], self.times[:, 1])[node]
        earlier = dwelt(grid.trajectory, np.append(0.0, grid.t[:, 4])[node])
        after = np.maximum(dwelt(grid.trajectory, t) - earlier, 0.0)
        return snapped(arrives + after, self._stretches[0])

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        """Positions, velocities, accelerations (N, n) at times (N,)."""
        edges, intervals, dwells = self._stretches
        length = self.grid.ahead[:, 4]
        k = np.searchsorted(edges[1:-1], t, side="right" if side == "after" else "left")
        late, i, rests = t - edges[k], intervals[k], dwells[k]
        ends = t == edges[k + 1]  # exactly: at the end the arm rests
        if rests.any():
            last = i == len(length)
            late, ends, i = np.where(rests, 0.0, late), np.where(rests, last, ends), np.where(last, i - 1, i)
        speed, u = np.sqrt(self.x[i]), np.where(rests, 0.0, self.u[i])
        ahead = (late * (speed + u * late / 2)).clip(0.0, length[i])
        ahead = np.where(ends, length[i], ahead)
        rate = np.where(ends, np.sqrt(self.x[i + 1]), np.maximum(speed + u * late, 0.0))
        rate = np.where(rests, 0.0, rate)
        q, dq, ddq = self._path(i, ahead)
        rate, u = rate[:, None], u[:, None]
        return q, rate * dq, rate**2 * ddq + u * dq

    def _path(self, i: np.ndarray, ahead: np.ndarray) -> States:
        """q, q', q'' on intervals i (N,), `ahead` (N,) of their starts, derivatives from their inside.

        So they are those of its side where the path jumps, and a joint that turns around has the direction it
        has on the interval. Beside a point of rest they are taken where the grid takes them.
        """
        grid = self.grid
        r = instants(grid, i, ahead)
        start, end = grid.t[i, 0], grid.t[i, 4]
        rests = grid.speed[i][:, [0, 4]] < RESTING * grid.speed.max()
        # Nearer than `least`, the given motion would take an instant for the end of the interval.
        width, least = end - start, 4 * SAME_INSTANT * grid.trajectory.duration
        first, last = (np.where(rest, NEAR, INSIDE) * width for rest in rests.T)
        inside = r.clip(start + np.maximum(first, least), end - np.maximum(last, least))
        evaluate = grid.trajectory.motion.evaluate
        q, qd, qdd = evaluate(inside, "after")
        ends = np.flatnonzero(inside < r)
        if ends.size:
            _, qd[ends], qdd[ends] = evaluate(inside[ends], "before")
        moved = np.flatnonzero(inside != r)
        if moved.size:
            q[moved] = evaluate(r[moved], "after")[0]
        dq, ddq, _ = by_length(qd, qdd, grid.weights, grid.length)
        return q, dq, ddq


def instants(grid: PathGrid, i: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """The instants of the given motion (N,) at which it is `ahead` (N,) of the starts of intervals i (N,)."""
    part = np.sum(ahead[:, None] > grid.ahead[i, 1:4], -1)
    start, end = grid.t[i, part], grid.t[i, part + 1]
    whole = grid.ahead[i, part + 1] - grid.ahead[i, part]
    ahead = ahead - grid.ahead[i, part]
    first, last = grid.speed[i, part], grid.speed[i, part + 1]
    # A first guess from a speed that is linear in time and covers the right distance.
    scale = 2 * whole / ((end - start) * (first + last))
    a, change = scale * first, scale * (last - first) / (end - start)
    root = np.sqrt(np.maximum(a * a + 2 * change * ahead, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = start + np.where(ahead > 0, 2 * ahead / (a + root), 0.0)
    r = r.clip(start, end)
    active = np.flatnonzero((ahead > 0) & (ahead < whole))
    r[ahead >= whole] = end[ahead >= whole]
    for _ in range(30):
        if not active.size:
            break
        begin, now = start[active], r[active]
        t = begin[:, None] + (now - begin)[:, None] / 2 * (POINTS + 1)
        qd = grid.trajectory.motion.evaluate(t.ravel(), "after")[1].reshape(*t.shape, -1)
        speed = speed_of(qd, grid.weights) / grid.length
        covered = (now - begin) / 2 * (speed @ WHOLE)
        with np.errstate(divide="ignore", invalid="ignore"):
            move = (covered - ahead[active]) / speed[:, 4]
        move = np.where(np.isfinite(move), move, 0.0)
        r[active] = (now - move).clip(begin, end[active])
        active = active[np.abs(move) > CLOSE * (end - start)[active]]
    return np.asarray(r)
