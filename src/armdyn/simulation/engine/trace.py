"""What an integration leaves: the raw material of a `Run`."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from armdyn.simulation.run import Event, LimitPassed

SPEED_LIMIT = 1e4  # rad/s or m/s: an arm this fast has diverged


@dataclass(frozen=True)
class Stop:
    """An arm that stopped before the end: when, in which state, and why (a text with the instant)."""

    arm: int
    time: float
    q: np.ndarray
    qd: np.ndarray
    reason: str
    works: dict[str, float] | None = None  # of an arm that a limit stopped: its state is part of the motion


@dataclass
class Trace:
    """States of arms (N, arms, ...) at the grid's instants; NaN where an arm did not get to."""

    q: np.ndarray
    qd: np.ndarray
    works: dict[str, np.ndarray]  # (N, arms) by kind
    events: list[Event] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    passed: list[LimitPassed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
