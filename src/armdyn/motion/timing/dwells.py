"""Dwells, the rests that timing keeps: laws r(t) on which they last as long as they did."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from armdyn.motion.errors import MotionError
from armdyn.motion.timing.laws import inverse
from armdyn.motion.trajectories.composed import composed
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.motion import Motion, Side, States
from armdyn.motion.trajectories.piecewise import Profile, together
from armdyn.motion.trajectories.trajectory import Trajectory

RESTS = 1e-9  # of the top speed: slower is at rest
Instants = Callable[[np.ndarray], np.ndarray]


def checked_dwells(trajectory: Trajectory) -> np.ndarray:
    """Starts and ends (D, 2) of the dwells [s]; refuse those on which the arm moves, or that overlap."""
    dwells = np.array(trajectory.dwells, float).reshape(-1, 2)
    if not len(dwells):
        return dwells
    t = dwells[:, :1] + np.diff(dwells) * np.linspace(0.0, 1.0, 9)
    top = np.abs(trajectory(np.linspace(0.0, trajectory.duration, 1001))[1]).max()
    before, after = (np.abs(trajectory(x, side)[1]).max((1, 2)) for x, side in _sides(t))
    for (start, end), speed in zip(dwells, np.maximum(before, after), strict=True):
        if not 0 <= start < end <= trajectory.duration * (1 + 1e-12):
            raise MotionError(
                f"dwells: found one from {start:g} to {end:g} s; the motion lasts from 0 to "
                f"{trajectory.duration:g} s"
            )
        if speed > RESTS * top:
            raise MotionError(f"dwells: found one from {start:g} to {end:g} s, on which the arm moves")
    if (np.diff(dwells.ravel()) < 0).any():
        raise MotionError("dwells: they overlap or are not in the order of time")
    return dwells


def _sides(t: np.ndarray) -> tuple[tuple[np.ndarray, Side], tuple[np.ndarray, Side]]:
    """Instants (D, k) of dwells, from their inside: the first ones after, the last ones before."""
    return (t[:, 1:], "before"), (t[:, :-1], "after")


def stretched(trajectory: Trajectory, factor: float) -> tuple[Motion, Instants]:
    """A law on which a motion takes `factor` times as long but for its dwells, and when it is at given r."""
    r, rests = _stretches(trajectory)
    t = np.append(0.0, np.cumsum(np.where(rests, 1.0, factor) * np.diff(r)))
    slope = np.where(rests, 1.0, 1 / factor)
    law = together([Profile(t, t[:-1], np.column_stack([r[:-1], slope]))], "law")
    if not rests.any():
        return law, lambda given: factor * given
    return replace(law, jumps=t[1:-1]), lambda given: np.interp(given, r, t)


def _stretches(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Where stretches of moving and of dwelling begin, and the end (k + 1,) [s]; which are dwells (k,)."""
    dwells = checked_dwells(trajectory)
    r = np.unique(
        np.concatenate([[0.0], dwells.ravel().clip(max=trajectory.duration), [trajectory.duration]])
    )
    return r, np.isin(r[:-1], dwells[:, 0])


def timed(trajectory: Trajectory, law: Motion, label: str, when: Instants) -> Motion:
    """A motion under a law, with its dwells and loads at their new instants; `when` gives these."""
    given = trajectory.motion
    edges = np.array(given.dwells, float).ravel()
    if len(edges):  # at the ends of dwells r must be exact
        given = replace(given, knots=np.concatenate([given.knots, edges]))
    motion = composed(given, law, label, when(given.knots), when(given.jumps))
    return with_instants(motion, trajectory.motion, when)


def with_instants(motion: Motion, given: Motion, when: Instants) -> Motion:
    """A motion with the dwells and loads of the `given` one, at new instants."""
    if not (given.dwells or given.loads):
        return motion

    def at(t: float) -> float:
        return motion.duration if t >= given.duration else min(float(when(np.array([t]))[0]), motion.duration)

    return replace(
        motion,
        dwells=tuple((at(start), at(end)) for start, end in given.dwells),
        loads=tuple(moved(one, at(one.start), at(one.end)) for one in given.loads),
    )


def moved(load: Carried, start: float, end: float) -> Carried:
    """A load from another start to another end; refuse one that has no time left."""
    if start >= end:
        raise MotionError(
            f"loads: the one from {load.start:g} to {load.end:g} s is carried only while the arm rests, and "
            "this rest is not kept; declare it as a dwell"
        )
    return replace(load, start=start, end=end)


@dataclass(frozen=True)
class KeptDwells:
    """A law with dwells as long as those of the motion: on a dwell r grows as time does."""

    law: Motion
    t: np.ndarray  # (k + 1,) where stretches of moving and resting begin, and the end [s]
    law_t: np.ndarray  # (k,) the law's own time there
    r: np.ndarray  # (k,) the given motion's time there
    rests: np.ndarray  # (k,) bool

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        k = np.searchsorted(self.t[1:-1], t, side="right" if side == "after" else "left")
        late, rests = t - self.t[k], self.rests[k]
        at = (self.law_t[k] + late).clip(0.0, self.law.duration)
        r, rate, change = self.law.evaluate(at, side)
        on = self.r[k] + late
        chosen = zip((on, np.ones_like(on), np.zeros_like(on)), (r, rate, change), strict=True)
        r, rate, change = (np.where(rests[:, None], x[:, None], y) for x, y in chosen)
        return r, rate, change


def keeping_dwells(law: Motion, trajectory: Trajectory) -> Motion:
    """A law r(t) from 0 to the motion's duration, its dwells as long as they were."""
    r, rests = _stretches(trajectory)
    if not rests.any():
        return law
    law_t = inverse(law, r)
    t = np.append(0.0, np.cumsum(np.where(rests, np.diff(r), np.diff(law_t))))
    kept = KeptDwells(law, t, law_t[:-1], r[:-1], rests)

    def inside(instants: np.ndarray) -> np.ndarray:
        k = np.searchsorted(law_t[1:-1], instants, side="right")
        return np.asarray((t[k] + instants - law_t[k])[~rests[k]])

    jumps, knots = (np.append(inside(x), t[1:-1]) for x in (law.jumps, law.knots))
    return Motion(1, float(t[-1]), kept.evaluate, jumps, law.label, knots)
