"""Where a motion moves: pieces between its rests, and where friction changes its direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.timing.directions import Speeds
from armdyn.motion.trajectories.instants import change_between
from armdyn.motion.trajectories.motion import States
from armdyn.motion.trajectories.trajectory import Trajectory

REST = 1e-6  # of the top speed: slower is at rest
FEW = 9  # instants that a piece is known at, at least
STILL = 1e-9  # of the speed one step on: slower is not moving yet
SIGN = 1e-9  # of a surface's top speed: slower has no direction


@dataclass(frozen=True)
class Piece:
    """A motion between two rests, at M instants."""

    t: np.ndarray  # (M,) [s]
    speed: np.ndarray  # (M,) of the weighted joints
    turning: np.ndarray  # (M,) rate at which the direction of the path changes [rad/s]
    whole: float  # length of the whole path, all pieces


def speed_of(qd: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The weighted norm (...) of velocities (..., n)."""
    return np.asarray(np.sqrt(np.sum((weights * qd) ** 2, -1)))


def moving_pieces(trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray) -> list[Piece]:
    """The pieces of a motion known at instants t; rests may be points or last."""
    t, states = _with_slowest(trajectory, t, states, weights)
    speed = speed_of(states[1], weights)
    moves = speed > REST * speed.max()
    runs = np.flatnonzero(np.diff(np.concatenate([[False], moves, [False]]).astype(int)))
    whole = float(np.sum(np.diff(t) * (speed[1:] + speed[:-1]) / 2))
    first, last = runs[::2], runs[1::2] - 1  # of the instants at which it moves
    starts, ends = (
        _boundaries(trajectory, t[rest.clip(0, len(t) - 1)], t[moving], weights)
        for rest, moving in ((first - 1, first), (last + 1, last))
    )
    turning = _turning(states[1], states[2], weights)
    pieces = []
    for a, b, start, end in zip(first, last, starts, ends, strict=True):
        instants = np.unique(np.concatenate([[start], t[a : b + 1], [end]]))
        if len(instants) < FEW:
            instants = np.linspace(start, end, FEW)
        rates = [np.interp(instants, t, x) for x in (speed, turning)]
        pieces.append(Piece(instants, rates[0], rates[1], whole))
    return pieces


def _boundaries(
    trajectory: Trajectory, rest: np.ndarray, moving: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Where motions start (k,) that rest at instants (k,), perhaps for longer, and move at others (k,)."""
    if (rest == moving).all():  # the motion begins or ends while it moves
        return rest
    least = STILL * speed_of(trajectory(moving)[1], weights)[:, None]

    def rests(t: np.ndarray) -> np.ndarray:
        return np.asarray(speed_of(trajectory(t)[1], weights) <= least)

    lasts = rests((rest + 0.01 * (moving - rest))[:, None])[:, 0]
    return np.where(lasts, change_between(rests, rest, moving)[1] if lasts.any() else rest, rest)


def _turning(qd: np.ndarray, qdd: np.ndarray, weights: np.ndarray) -> np.ndarray:
    speed = speed_of(qd, weights)
    along = np.sum(weights**2 * qd * qdd, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.sqrt(np.maximum(speed_of(qdd, weights) ** 2 - (along / speed) ** 2, 0.0)) / speed
    return np.where(speed > 1e-3 * speed.max(), across, 0.0)


def _with_slowest(
    trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray
) -> tuple[np.ndarray, States]:
    """The table with those instants added at which the speed is least between two of its instants.

    There d(speed²)/dt = 2 q̇ᵀW²q̈ goes from negative to positive; a rest in passing is such an instant.
    """
    falls = np.sum(weights**2 * states[1] * states[2], -1)
    before = (
        np.sum(weights**2 * states[1] * trajectory(t, "before")[2], -1) if trajectory.jumps.size else falls
    )
    speed, velocity = speed_of(states[1], weights), weights * states[1]
    low = np.minimum(speed[:-1], speed[1:]) < 0.05 * speed.max()
    turns = np.sum(velocity[1:] * velocity[:-1], -1) < 0.9 * speed[1:] * speed[:-1]
    cells = np.flatnonzero((falls[:-1] < 0) & (before[1:] > 0) & (low | turns))
    if not cells.size:
        return t, states

    def falling(t: np.ndarray) -> np.ndarray:
        _, qd, qdd = trajectory(t)
        return np.asarray(np.sum(weights**2 * qd * qdd, -1) < 0)

    t = np.unique(np.append(t, change_between(falling, t[cells], t[cells + 1])[0]))
    return t, trajectory(t)


def crossings(
    trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray, speeds: Speeds | None
) -> np.ndarray:
    """The instants at which a friction surface starts, stops or turns while other joints move.

    `speeds` gives those of the E surfaces at q and q̇; None where there are none.
    """
    if speeds is None:
        return np.zeros(0)
    speed = speeds(*states[:2])
    least = SIGN * np.abs(speed).max(0)

    def direction(speed: np.ndarray, least: np.ndarray) -> np.ndarray:
        return np.asarray(np.sign(speed) * (np.abs(speed) > least))

    signs = direction(speed, least)
    path = speed_of(states[1], weights)
    moves = path > REST * path.max()
    cells, surface = np.nonzero((signs[1:] != signs[:-1]) & (moves[1:] & moves[:-1])[:, None])
    sign = signs[cells, surface][:, None]
    # Between opposite signs the change is sharp; where a surface starts or stops, it stands still for longer.
    least = np.where(sign[:, 0] * signs[cells + 1, surface] < 0, 0.0, least[surface])[:, None]

    def unchanged(t: np.ndarray) -> np.ndarray:
        speed = np.take_along_axis(speeds(*trajectory(t)[:2]), surface[:, None, None], -1)[..., 0]
        return np.asarray(direction(speed, least) == sign)

    return np.asarray(np.mean(change_between(unchanged, t[cells], t[cells + 1]), axis=0))
