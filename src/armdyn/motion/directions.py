"""Where dry friction changes its direction: a motion seen from both sides of every start, stop and turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.motion import Side
from armdyn.motion.trajectory import Samples, Trajectory

INSIDE = 1e-3  # of the way from sample to sample: how far beside one its direction is looked for
HALVINGS = 50


@dataclass(frozen=True)
class Beside:
    """A motion just beside instants: its states there, and the signs of the speeds of friction surfaces."""

    samples: Samples
    signs: np.ndarray  # (N, E); at the instant itself a surface may rest and have none


def beside_turns(trajectory: Trajectory, samples: Samples, surfaces: np.ndarray) -> Beside:
    """The motion on both sides of the instants at which a friction surface (E, n) starts, stops or turns.

    Only sides with signs that the samples do not have: at 0 there is none before, and none beside a rest.
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
    turns = _bisected(trajectory, start[cell], end[cell], surfaces[surface], before)
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


def _bisected(
    trajectory: Trajectory, a: np.ndarray, b: np.ndarray, rows: np.ndarray, sign: np.ndarray
) -> np.ndarray:
    """The instants (N,) between a and b at which the speeds of surfaces (N, n) lose their signs."""
    for _ in range(HALVINGS if a.size else 0):
        middle = (a + b) / 2
        same = np.sign(np.sum(trajectory(middle)[1] * rows, -1)) == sign
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return b
