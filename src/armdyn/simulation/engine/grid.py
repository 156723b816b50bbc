"""The instants at which states are kept, and the fixed steps between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import NamedTuple

import numpy as np

ROUNDING = 1e-12  # a ratio this close to a whole number, relatively, counts as one


@dataclass(frozen=True)
class Stretch:
    """Equal steps of `h`: `every` to each of the rows they write, the first of which is `first`.

    The first one begins `lead` + `step` steps after the instant of the row before.
    """

    grid: Grid
    first: int
    count: int
    every: int
    h: float
    step: int = 0
    lead: float = 0.0
    ends: bool = True  # whether the last step ends at the row's instant

    @property
    def rows(self) -> slice:
        return slice(self.first, self.first + self.count)

    @property
    def steps(self) -> int:
        return self.count * self.every

    @property
    def begins(self) -> bool:
        """Whether the first step begins at a row's instant."""
        return self.step == 0 and self.lead == 0

    def halves(self) -> np.ndarray:
        """The start and the middle of every step, and the end of the last.

        The same to the last bit however the steps are cut into stretches.
        """
        t = self.grid.t
        within = self.lead + (2 * self.step + np.arange(2 * self.every + 1)) * (self.h / 2)
        starts = t[self.first - 1 : self.first - 1 + self.count]
        end = t[self.rows.stop - 1] if self.ends else starts[-1] + within[-1]
        return np.append(np.add.outer(starts, within[:-1]).ravel(), end)


class _Cut(NamedTuple):
    """An interval cut into `full` steps of `h` and, if `rest` is not zero, a shorter one."""

    full: int
    h: float
    rest: float

    @property
    def steps(self) -> int:
        return self.full + (self.rest > 0)


@dataclass(frozen=True)
class Grid:
    """Instants 0, output, 2 output, … and the duration, which need not be a multiple of `output`.

    Between two instants are full steps and, if they do not fit, a shorter one at the end.
    """

    duration: float
    output: float
    step: float

    @cached_property
    def samples(self) -> int:
        """The number of intervals."""
        return ceil(self.duration / self.output * (1 - ROUNDING))

    @cached_property
    def t(self) -> np.ndarray:
        t = np.append(np.arange(self.samples) * self.output, self.duration)
        t.setflags(write=False)
        return t

    @cached_property
    def _whole(self) -> int:
        """The number of intervals of full length."""
        return floor(self.duration / self.output * (1 + ROUNDING))

    @cached_property
    def _cut(self) -> _Cut:
        return _cut(self.output, self.step)

    @cached_property
    def _last(self) -> _Cut:
        """The shorter interval at the end, where there is one."""
        return _cut(self.duration - self._whole * self.output, self.step)

    @property
    def steps(self) -> int:
        """The number of all steps."""
        short = self._last.steps if self.samples > self._whole else 0
        return self._whole * self._cut.steps + short

    @cached_property
    def row_steps(self) -> np.ndarray:
        """The number of steps (N,) to each instant."""
        return np.append(np.arange(self.samples) * self._cut.steps, self.steps)

    def stretches(self, most: int) -> Iterator[Stretch]:
        """All steps in order, at most `most` at a time.

        A row that takes several stretches is written by each of them; the last one gives its final value.
        """
        yield from self._stretches(1, self._whole, self._cut, most)
        if self.samples > self._whole:
            yield from self._stretches(self._whole + 1, 1, self._last, most)

    def _stretches(self, first: int, count: int, cut: _Cut, most: int) -> Iterator[Stretch]:
        full, h, rest = cut
        together = 1 if rest else max(1, most // full)
        for row in range(first, first + count, together):
            rows = min(together, first + count - row)
            for step in range(0, full, most):
                every = min(most, full - step)
                yield Stretch(self, row, rows, every, h, step, ends=not rest and step + every == full)
            if rest:
                yield Stretch(self, row, 1, 1, rest, lead=full * h)

    def time(self, steps: float) -> float:
        """The instant after a number of steps, whole or not."""
        row = min(int(steps // self._cut.steps), self._whole)
        cut = self._last if row == self._whole and self.samples > row else self._cut
        more = steps - row * self._cut.steps
        within = min(more, cut.full) * cut.h + max(more - cut.full, 0.0) * cut.rest
        return float(min(row * self.output + within, self.duration))


def _cut(length: float, step: float) -> _Cut:
    if length <= step:
        return _Cut(1, length, 0.0)
    full = floor(length / step * (1 + ROUNDING))
    rest = length - full * step
    if rest <= length * ROUNDING:
        return _Cut(full, length / full, 0.0)
    return _Cut(full, step, rest)
