"""Targets for the tip: a point, or a straight line from rest to rest; with a rotation to keep, if wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.motion.trajectories.profiles import quintic
from armdyn.simulation.errors import check


class TipTarget(ABC):
    """Where the tip should be over time, world axes."""

    rotation: Any  # (3, 3) or None: orientation is left free

    @abstractmethod
    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Position, velocity and acceleration, (N, 3) each."""

    def at(self, t: np.ndarray) -> dict[str, np.ndarray]:
        """What the law is given at times (N,)."""
        names = ("position", "position_velocity", "position_acceleration")
        found = dict(zip(names, self.position(t), strict=True))
        if self.rotation is not None:
            found["rotation"] = np.broadcast_to(np.asarray(self.rotation, float).ravel(), (len(t), 9))
        return found


@dataclass(frozen=True, eq=False)
class TipPoint(TipTarget):
    """A place (3,) to go to and stay [m]."""

    place: Any
    rotation: Any = None

    def __post_init__(self) -> None:
        check.point("place", self.place)
        _check_rotation(self)

    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        still = np.zeros((len(t), 3))
        return still + np.asarray(self.place, float), still, still


@dataclass(frozen=True, eq=False)
class TipLine(TipTarget):
    """A straight line (3,) to (3,) in `duration` seconds, quintic from rest to rest; then the end."""

    start: Any
    end: Any
    duration: float
    rotation: Any = None

    def __post_init__(self) -> None:
        check.point("start", self.start)
        check.point("end", self.end)
        check.positive_time("duration", self.duration)
        _check_rotation(self)

    def position(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        start, way = np.asarray(self.start, float), np.subtract(self.end, self.start, dtype=float)
        s, speed, acceleration = (x[:, None] for x in quintic(0.0, 1.0, self.duration).evaluate(t))
        return start + s * way, speed * way, acceleration * way


def _check_rotation(target: TipTarget) -> None:
    if target.rotation is not None:
        check.rotation("rotation", target.rotation)
