"""The instants at which states are kept, and the fixed steps between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

ROUNDING = 1e-12  # a ratio this close to a whole number, relatively, counts as one


@dataclass(frozen=True)
class Stretch:
    """Equal steps of `h`: `every` to each of `count` rows, the first of which is `first`.

    Where an interval takes several stretches, `count` is 1, and `step` steps of it are before this one.
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

        The same to the last bit however the steps are cut into stretches.
        """
        within = (2 * self.step + np.arange(2 * self.every + 1)) * (self.h / 2)
        end = self.times[-1] if self.ends else self.times[0] + within[-1]
        return np.append(np.add.outer(self.times[:-1], within[:-1]).ravel(), end)


@dataclass(frozen=True)
class Grid:
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
        """How many intervals there are with how many steps of which length; the last one may be shorter."""
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

    def stretches(self, most: int) -> Iterator[Stretch]:
        """All steps in order, at most `most` at a time.

        A row that takes several stretches is written by each of them; the last one gives its final value.
        """
        row = 1
        for count, every, h in self._parts:
            together, stop = max(1, most // every), row + count
            for first in range(row, stop, together):
                times = self.t[first - 1 : min(first + together, stop)]
                for step in range(0, every, most):
                    some = min(most, every - step)
                    yield Stretch(times, first, some, h, step, step + some == every)
            row = stop

    def time(self, steps: float) -> float:
        """The instant after a number of steps, whole or not."""
        return float(self.times(np.array(steps)))

    def times(self, steps: np.ndarray) -> np.ndarray:
        """The instants after numbers of steps."""
        return np.asarray(np.interp(steps, self.row_steps, self.t))


def at_least(length: float, step: float) -> int:
    """How many equal parts of a length are no longer than a step."""
    return max(1, ceil(length / step * (1 - ROUNDING)))
