"""Directions of dry friction just before and just after a joint starts, stops or reverses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from armdyn.motion.trajectories.instants import change_between
from armdyn.motion.trajectories.motion import Side
from armdyn.motion.trajectories.trajectory import Samples, Trajectory

Speeds = Callable[[np.ndarray, np.ndarray], np.ndarray]  # of surfaces (..., E) at q and q̇ (..., n)
INSIDE = 1e-3  # of the interval between samples: how far beside an instant directions are taken


@dataclass(frozen=True)
class Beside:
    """A motion just before or after instants: its states, and the signs of friction surfaces' speeds."""

    samples: Samples
    signs: np.ndarray  # (N, E); at the instant itself the sign may be zero
    before: np.ndarray  # (N,) bool


def beside_turns(trajectory: Trajectory, samples: Samples, speeds: Speeds) -> Beside:
    """The motion on both sides of the instants at which a friction surface starts, stops or turns.

    `speeds` gives the speeds of the E surfaces. The samples next to such instants count too. There is no
    side before t = 0 and none after the end.
    """
    t, at = samples.t, np.sign(speeds(samples.q, samples.qd))
    cells = np.flatnonzero((at[1:] != at[:-1]).any(1) & (np.diff(t) > 0))
    width = INSIDE * (t[cells + 1] - t[cells])
    start, end = t[cells] + width, t[cells + 1] - width
    first, last = (np.sign(speeds(*trajectory(x)[:2])) for x in (start, end))
    cell, surface = np.nonzero(first != last)

    def unturned(t: np.ndarray) -> np.ndarray:
        speed = np.take_along_axis(speeds(*trajectory(t)[:2]), surface[:, None, None], -1)[..., 0]
        return np.asarray(np.sign(speed) == first[cell, surface][:, None])

    _, turns = change_between(unturned, start[cell], end[cell])
    instants = np.concatenate([t[cells], t[cells + 1], turns])
    widths = np.concatenate([width, width, width[cell]])
    sides: tuple[tuple[Side, float], ...] = (("before", -1.0), ("after", 1.0))
    found = []
    for side, sign in sides:
        beside = instants + sign * widths
        inside = (beside > 0) & (beside < trajectory.duration)
        signs = np.sign(speeds(*trajectory(beside[inside])[:2]))
        which = np.full(len(signs), side == "before")
        found.append((instants[inside], *trajectory(instants[inside], side), signs, which))
    *states, signs, before = (np.concatenate(x) for x in zip(*found, strict=True))
    return Beside(Samples(*states), signs, before)
