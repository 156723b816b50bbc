"""A motion backwards in time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armdyn.motion.trajectories.instants import snapped
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.motion import Motion, Side, States


@dataclass(frozen=True)
class Backwards:
    """q(t) = q̄(T − t): velocities change their sign, accelerations do not."""

    motion: Motion

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        motion = self.motion
        own = (motion.duration - t).clip(0.0, motion.duration)
        knots = motion.knots[::-1]
        if len(knots):
            own = snapped(t, motion.duration - knots, knots, own)
        q, qd, qdd = motion.evaluate(own, "before" if side == "after" else "after")
        return q, 0.0 - qd, qdd  # without −0


def backwards(motion: Motion) -> Motion:
    """The same path from end to start, with its dwells and loads mirrored; twice, the motion itself."""
    T, made = motion.duration, getattr(motion.evaluate, "__self__", None)
    if isinstance(made, Backwards):
        given = made.motion
        if _mirrored(given) == (motion.dwells, motion.loads):
            return given
        dwells, loads = _mirrored(motion)
        return replace(given, dwells=dwells, loads=loads)
    dwells, loads = _mirrored(motion)
    return Motion(
        n=motion.n,
        duration=T,
        evaluate=Backwards(motion).evaluate,
        jumps=T - motion.jumps,
        label=f"{motion.label}, reversed",
        knots=T - motion.knots,
        dwells=dwells,
        loads=loads,
    )


def _mirrored(motion: Motion) -> tuple[tuple[tuple[float, float], ...], tuple[Carried, ...]]:
    """The dwells and loads of a motion, from its end to its start."""
    T = motion.duration
    dwells = tuple((max(T - b, 0.0), T - a) for a, b in reversed(motion.dwells))
    loads = [replace(one, start=max(T - one.end, 0.0), end=T - one.start) for one in motion.loads]
    return dwells, tuple(sorted(loads, key=lambda x: (x.start, x.end)))
