"""Traces: the instants that an integration keeps, and what it leaves for a `Run`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import TypeAlias

import numpy as np

from armdyn.kernels.arrays import host
from armdyn.remarks import Remark
from armdyn.simulation.run import Event, EventKind, LimitPassed

# ------------------------------------------------------------------------------------------------------------
# The instants at which states are kept, and the fixed steps between them.


ROUNDING = 1e-12  # a ratio this close to a whole number, relatively, counts as one


@dataclass(frozen=True)
class StepChunk:
    """Equal steps of `h`: `every` to each of `count` rows, the first of which is `first`.

    Where an interval takes several chunks, `count` is 1, and `step` steps of it are before this one.
    """

    times: np.ndarray  # of the rows, and of the one before
    first: int
    every: int
    h: float
    step: int = 0
    ends: bool = True  # whether the last step ends at the row's instant

    @property
    def count(self) -> int:
        return len(self.times) - 1

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.count)

    @property
    def steps(self) -> int:
        return self.count * self.every

    def halves(self) -> np.ndarray:
        """The start and the middle of every step, and the end of the last.

        The same to the last bit however the steps are cut into chunks.
        """
        within = (2 * self.step + np.arange(2 * self.every + 1)) * (self.h / 2)
        end = self.times[-1] if self.ends else self.times[0] + within[-1]
        return np.append(np.add.outer(self.times[:-1], within[:-1]).ravel(), end)


@dataclass(frozen=True)
class TimeGrid:
    """Instants 0, output, 2 output, … and the duration, which need not be a multiple of `output`.

    Between two instants are equal steps, no longer than `step`.
    """

    duration: float
    output: float
    step: float

    @cached_property
    def samples(self) -> int:
        """The number of intervals."""
        return at_least(self.duration, self.output)

    @cached_property
    def t(self) -> np.ndarray:
        t = np.append(np.arange(self.samples) * self.output, self.duration)
        t.setflags(write=False)
        return t

    @cached_property
    def _parts(self) -> list[tuple[int, int, float]]:
        """Numbers of intervals, each with number and length of steps; the last one may be shorter."""
        every, rest = at_least(self.output, self.step), self.duration - float(self.t[-2])
        if abs(rest - self.output) <= ROUNDING * self.duration:
            return [(self.samples, every, self.output / every)]
        last = at_least(rest, self.step)
        return [(self.samples - 1, every, self.output / every), (1, last, rest / last)]

    @cached_property
    def row_steps(self) -> np.ndarray:
        """The number of steps (N,) to each instant."""
        counts, every, _ = zip(*self._parts, strict=True)
        return np.append(0, np.cumsum(np.repeat(every, counts)))

    def chunks(self, most: int) -> Iterator[StepChunk]:
        """All steps in order, at most `most` at a time.

        A row that takes several chunks is written by each of them; the last one gives its final value.
        """
        row = 1
        for count, every, h in self._parts:
            together, stop = max(1, most // every), row + count
            for first in range(row, stop, together):
                times = self.t[first - 1 : min(first + together, stop)]
                for step in range(0, every, most):
                    some = min(most, every - step)
                    yield StepChunk(times, first, some, h, step, step + some == every)
            row = stop

    def time(self, steps: float) -> float:
        """The instant after a number of steps, whole or not."""
        return float(self.times(np.array(steps)))

    def times(self, steps: np.ndarray) -> np.ndarray:
        """The instants after numbers of steps."""
        return np.asarray(np.interp(steps, self.row_steps, self.t))


def at_least(length: float, step: float) -> int:
    """Least number of equal parts of a length that are no longer than a step."""
    return max(1, ceil(length / step * (1 - ROUNDING)))


# ------------------------------------------------------------------------------------------------------------
# The trace of an integration.


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
    remarks: list[Remark] = field(default_factory=list)


def changes(t: np.ndarray, names: Sequence[str], sliding: np.ndarray, batch: Batch) -> list[Event]:
    """Events from one instant to the next, where directions of sliding (N, arms, E) change; 0 sticks."""
    if not names:
        return []
    before, after = sliding[:-1], sliding[1:]
    places = np.nonzero((before != after) & np.isfinite(after))
    before, after, *found = (host(x) for x in (before[places], after[places], *places))
    arms = {int(arm): place(int(arm), batch) for arm in np.unique(found[1])}
    kinds: list[EventKind] = ["reverse", "slip", "stick"]
    kind = np.where(after == 0, 2, np.where(before == 0, 1, 0))
    columns = (t[1:][found[0]], *found[1:], kind)
    return [
        Event(time, names[e], kinds[which], arms[arm])
        for time, arm, e, which in zip(*(column.tolist() for column in columns), strict=True)
    ]


def place(arm: int, batch: Batch) -> tuple[int, ...]:
    """Indices of an arm in its batch."""
    return tuple(int(i) for i in np.unravel_index(arm, batch)) if batch else ()
