"""Robots with loops: the positions that follow from the coordinates, in states and in programs.

They are integrated beside the coordinates. Every step ends with one step of Newton's method that closes the
loops, and with the side on which the state is of postures in which joints stop following.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from armdyn.dynamics.constraints.loops import Following, placed
from armdyn.kernels.cuda.arrays import zeros
from armdyn.model.mechanism import Mechanism
from armdyn.robot import Robot
from armdyn.simulation.control.laws import FOLLOWERS, POSITIONS, Given, Scalars

SINGULAR = 1e-8  # squared sine: nearer than this to the others, a joint's column is no column of its own
LOST, APART = 2, 3  # the side of an arm that was stopped there, or whose loops came apart; no squared sine
FAR = 0.1  # rad or m: loops that a step opens further cannot be trusted to close again
NEAR, FALL = 1e-2, 0.25  # a squared sine that falls to so little, and to this part in a step, may pass zero


def all_positions(mechanism: Mechanism, given: Given) -> Scalars:
    """Those of coordinates, and with loops those that follow."""
    return placed(mechanism, given["q"], given[FOLLOWERS]) if mechanism.loops else given["q"]


def with_positions(mechanism: Mechanism, given: Mapping[str, Scalars]) -> Given:
    """What a law is given: with loops, all positions too."""
    return {**given, POSITIONS: all_positions(mechanism, given)} if mechanism.loops else given


def following(mechanism: Mechanism, y: Scalars, qd: Scalars) -> Scalars:
    """The velocities of the positions that follow."""
    if not mechanism.loops:
        return []
    found = Following(mechanism, y)
    yd = found.velocities(qd)
    return [yd[d] for d in found.dependent]


def closed(mechanism: Mechanism, q: Scalars, followers: Scalars) -> tuple[Scalars, Any]:
    """The positions that follow with the loops closed, and the side (`Following.side`)."""
    found = Following(mechanism, placed(mechanism, q, followers))
    return found.closed(), found.side


def split(robot: Robot, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates (..., n) and the positions that follow (..., d), from all positions (..., n + d)."""
    free = list(robot.mechanism.free)
    if not free:
        return y, y[..., :0]
    others = [i for i in range(y.shape[-1]) if i not in free]
    return y[..., free], y[..., others]


def joined(robot: Robot, q: np.ndarray, followers: np.ndarray) -> np.ndarray:
    """All positions (..., n + d) from coordinates and those that follow."""
    free = list(robot.mechanism.free)
    if not free:
        return q
    y = zeros(q, (*q.shape[:-1], q.shape[-1] + followers.shape[-1]))
    y[..., free] = q
    y[..., [i for i in range(y.shape[-1]) if i not in free]] = followers
    return y


def lost(robot: Robot, state: np.ndarray, apart: bool = False) -> str:
    """Why an arm stops: its loops come `apart`, or a joint no longer follows; and where all joints are."""
    if apart:
        return "its loops come apart (steps are too long)"
    n = robot.n
    y = joined(robot, state[:n], state[2 * n : robot.mechanism.positions + n])
    where = ", ".join(f"{x:.6g}" for x in y)
    return f"it comes to a singular posture: {robot.assembly.stuck(y)} (all positions: [{where}])"
