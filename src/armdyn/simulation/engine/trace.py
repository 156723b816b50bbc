"""What an integration leaves: the raw material of a `Run`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from armdyn.kernels.cuda.arrays import host
from armdyn.simulation.run import Event, Kind, LimitPassed

SPEED_LIMIT = 1e4  # rad/s or m/s: an arm this fast has diverged
Batch: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Stop:
    """An arm that stopped before the end: when, in which state, and why."""

    arm: int
    time: float  # of its last state [s]
    state: np.ndarray
    reason: str
    instant: float  # at which that happened, perhaps within the last step [s]
    at_limit: bool  # stopped by a limit: the state is part of the motion
    held: np.ndarray | None = None  # torques that were held
    memory: np.ndarray | None = None  # of the controller


@dataclass
class Trace:
    """States of arms (N, arms, width) at the grid's instants; NaN where an arm did not get to.

    Columns are q, q̇, modes, and the kinds of work there are.
    """

    states: np.ndarray
    works: tuple[str, ...]
    held: np.ndarray | None = None  # (N, arms, n): torques of a sampled controller, from each instant on
    memory: np.ndarray | None = None  # (N, arms, m): what a controller remembers at each instant
    events: list[Event] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    passed: list[LimitPassed] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def changes(t: np.ndarray, names: Sequence[str], sliding: np.ndarray, batch: Batch) -> list[Event]:
    """Events from one instant to the next, where directions of sliding (N, arms, E) change; 0 sticks."""
    if not names:
        return []
    before, after = sliding[:-1], sliding[1:]
    places = np.nonzero((before != after) & np.isfinite(after))
    before, after, *found = (host(x) for x in (before[places], after[places], *places))
    arms = {int(arm): place(int(arm), batch) for arm in np.unique(found[1])}
    kinds: list[Kind] = ["reverse", "slip", "stick"]
    kind = np.where(after == 0, 2, np.where(before == 0, 1, 0))
    columns = (t[1:][found[0]], *found[1:], kind)
    return [
        Event(time, names[e], kinds[which], arms[arm])
        for time, arm, e, which in zip(*(column.tolist() for column in columns), strict=True)
    ]


def place(arm: int, batch: Batch) -> tuple[int, ...]:
    """Where an arm is in its batch."""
    return tuple(int(i) for i in np.unravel_index(arm, batch)) if batch else ()
