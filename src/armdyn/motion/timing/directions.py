"""Directions of dry friction just before and just after a joint starts, stops or reverses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.trajectories.instants import change_between
from armdyn.motion.trajectories.motion import Side
from armdyn.motion.trajectories.trajectory import Samples, Trajectory

INSIDE = 1e-3  # of the interval between samples: how far beside an instant directions are taken


@dataclass(frozen=True)
class Beside:
    """A motion just before or after instants: its states, and the signs of friction surfaces' speeds."""

    samples: Samples
    signs: np.ndarray  # (N, E); at the instant itself the sign may be zero


def beside_turns(trajectory: Trajectory, samples: Samples, surfaces: np.ndarray) -> Beside:
    """The motion on both sides of the instants at which a friction surface (E, n) starts, stops or turns.

    Only sides whose signs differ from those at the instant itself; there is none before t = 0.
    """
    t, at = samples.t, np.sign(samples.qd @ surfaces.T)
    cells = np.flatnonzero((at[1:] != at[:-1]).any(1) & (np.diff(t) > 0))
    width = INSIDE * (t[cells + 1] - t[cells])
    start, end = t[cells] + width, t[cells + 1] - width
    first, last = (np.sign(trajectory(x)[1] @ surfaces.T) for x in (start, end))
    starts, ends = (first != at[cells]).any(1), (last != at[cells + 1]).any(1)
    found = [
        _beside(trajectory, t[cells][starts], first[starts], "after"),
        _beside(trajectory, t[cells + 1][ends], last[ends], "before"),
    ]
    cell, surface = np.nonzero(first != last)
    before, after = first[cell, surface], last[cell, surface]

    def unturned(t: np.ndarray) -> np.ndarray:
        speed = np.sum(trajectory(t)[1] * surfaces[surface][:, None], -1)
        return np.asarray(np.sign(speed) == before[:, None])

    _, turns = change_between(unturned, start[cell], end[cell])
    sides: tuple[tuple[np.ndarray, Side], ...] = ((before, "before"), (after, "after"))
    for sign, side in sides:
        signs = np.sign(trajectory(turns)[1] @ surfaces.T)
        signs[np.arange(len(turns)), surface] = sign
        found.append(_beside(trajectory, turns, signs, side))
    parts = zip(*((*vars(x.samples).values(), x.signs) for x in found), strict=True)
    *states, signs = (np.concatenate(x) for x in parts)
    return Beside(Samples(*states), signs)


def _beside(trajectory: Trajectory, t: np.ndarray, signs: np.ndarray, side: Side) -> Beside:
    return Beside(Samples(t, *trajectory(t, side)), signs)
