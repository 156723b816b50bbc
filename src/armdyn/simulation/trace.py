"""What an integration leaves: the raw material of a `Run`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from armdyn.simulation.run import Event

SPEED_LIMIT = 1e4  # rad/s or m/s: an arm this fast has diverged


@dataclass(frozen=True)
class Grid:
    """Instants at which states are kept: `samples` intervals of equal length, `every` steps in each."""

    duration: float
    samples: int
    every: int

    @property
    def t(self) -> np.ndarray:
        return np.linspace(0.0, self.duration, self.samples + 1)

    @property
    def h(self) -> float:
        """The fixed step."""
        return self.duration / (self.samples * self.every)

    def halves(self, first: int, steps: int) -> np.ndarray:
        """The start and the middle of a number of steps, and their end."""
        half = self.duration / (2 * self.samples * self.every)
        return np.asarray(np.minimum(np.arange(2 * first, 2 * (first + steps) + 1) * half, self.duration))


@dataclass(frozen=True)
class Stop:
    """An arm that did not get to the end: when, in which state, and why."""

    arm: int
    time: float
    q: np.ndarray
    qd: np.ndarray
    reason: str


@dataclass
class Trace:
    """States of arms (N, arms, ...) at the grid's instants; NaN where an arm did not get to."""

    q: np.ndarray
    qd: np.ndarray
    works: dict[str, np.ndarray]  # (N, arms) by kind
    events: list[Event] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
