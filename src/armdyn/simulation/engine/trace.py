"""What an integration leaves: the raw material of a `Run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from armdyn.simulation.run import Event, Kind, LimitPassed

SPEED_LIMIT = 1e4  # rad/s or m/s: an arm this fast has diverged
Batch: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Stop:
    """An arm that stopped before the end: when, in which state, and why (a text with the instant)."""

    arm: int
    time: float
    q: np.ndarray
    qd: np.ndarray
    reason: str
    works: dict[str, float] | None = None  # of an arm that a limit stopped: its state is part of the motion
    held: np.ndarray | None = None  # torques that were held


@dataclass
class Trace:
    """States of arms (N, arms, ...) at the grid's instants; NaN where an arm did not get to."""

    q: np.ndarray
    qd: np.ndarray
    works: dict[str, np.ndarray]  # (N, arms) by kind
    held: np.ndarray | None = None  # (N, arms, n): torques of a sampled controller, from each instant on
    events: list[Event] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    passed: list[LimitPassed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def changes(t: float, names: Sequence[str], before: np.ndarray, after: np.ndarray) -> list[Event]:
    """Events of surfaces whose directions of sliding (E,) change; 0 sticks."""
    found = []
    for e in map(int, np.flatnonzero(before != after)):
        kind: Kind = "stick" if after[e] == 0 else "slip" if before[e] == 0 else "reverse"
        found.append(Event(t, names[e], kind))
    return found


def place(arm: int, batch: Batch) -> tuple[int, ...]:
    """Where an arm is in its batch."""
    return tuple(int(i) for i in np.unravel_index(arm, batch)) if batch else ()
