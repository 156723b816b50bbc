"""Closed chains stay closed: how far a posture may go before the loops come apart."""

from __future__ import annotations

import time

import numpy as np

from armdyn.robot import Robot

_PARTS = 64  # of the way that are looked at, at once
_QUIET = 3.0  # s without a refusal, after which the next one is said again


def reachable(robot: Robot, start: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The posture (n,) where the loops still close that is farthest on the straight way to `wanted` (n,).

    Without loops, and where they close at `wanted`, it is `wanted` itself.
    """
    if not robot.model.loops or bool(robot.assembly.closes(wanted)):
        return wanted
    way = start + np.linspace(0, 1, _PARTS + 1)[:, None] * (wanted - start)
    open_ = ~robot.assembly.closes(way[1:])
    return np.asarray(way[int(open_.argmax())])


class Once:
    """Says whether something that happens many times a second is news."""

    def __init__(self) -> None:
        self._last = -np.inf

    def __call__(self) -> bool:
        now = time.monotonic()
        news, self._last = now - self._last > _QUIET, now
        return bool(news)
