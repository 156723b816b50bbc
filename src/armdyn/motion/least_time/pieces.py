"""Where a motion moves: pieces between its rests, and where friction changes its direction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
    pieces = []
    for a, b in runs.reshape(-1, 2):
        start = t[a] if a == 0 else _boundary(trajectory, t[a - 1], t[a], weights)
        end = t[b - 1] if b == len(t) else _boundary(trajectory, t[b], t[b - 1], weights)
        instants = np.unique(np.concatenate([[start], t[a:b], [end]]))
        if len(instants) < FEW:
            instants = np.linspace(start, end, FEW)
        _, qd, qdd = trajectory(instants)
        pieces.append(Piece(instants, speed_of(qd, weights), _turning(qd, qdd, weights), whole))
    return pieces


def _boundary(trajectory: Trajectory, rest: float, moving: float, weights: np.ndarray) -> float:
    """Where the motion starts that rests at one instant, perhaps for longer, and moves at another."""

    def rests(t: float) -> bool:
        return float(speed_of(trajectory(t)[1], weights)) <= least

    least = STILL * float(speed_of(trajectory(moving)[1], weights))
    if not rests(rest + 0.01 * (moving - rest)):
        return rest
    for _ in range(60):
        middle = (rest + moving) / 2
        rest, moving = (middle, moving) if rests(middle) else (rest, middle)
    return moving


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
    a, b = t[cells], t[cells + 1]
    for _ in range(60):
        middle = (a + b) / 2
        _, qd, qdd = trajectory(middle)
        falling = np.sum(weights**2 * qd * qdd, -1) < 0
        a, b = np.where(falling, middle, a), np.where(falling, b, middle)
    t = np.unique(np.concatenate([t, a]))
    return t, trajectory(t)


def crossings(
    trajectory: Trajectory, t: np.ndarray, states: States, weights: np.ndarray, surfaces: np.ndarray
) -> np.ndarray:
    """The instants at which a friction surface (E, n) starts, stops or turns while other joints move."""
    if not len(surfaces):
        return np.zeros(0)
    speed = states[1] @ surfaces.T
    least = SIGN * np.abs(speed).max(0)

    def direction(speed: np.ndarray, least: np.ndarray) -> np.ndarray:
        return np.asarray(np.sign(speed) * (np.abs(speed) > least))

    signs = direction(speed, least)
    path = speed_of(states[1], weights)
    moves = path > REST * path.max()
    cells, surface = np.nonzero((signs[1:] != signs[:-1]) & (moves[1:] & moves[:-1])[:, None])
    a, b, sign = t[cells], t[cells + 1], signs[cells, surface]
    least = np.where(sign * signs[cells + 1, surface] < 0, 0.0, least[surface])  # a change of sign is sharp
    for _ in range(50 if cells.size else 0):
        middle = (a + b) / 2
        now = np.sum(trajectory(middle)[1] * surfaces[surface], -1)
        same = direction(now, least) == sign
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return np.asarray((a + b) / 2)
