"""Timing: contenders take turns, so that whatever disturbs the machine disturbs all of them alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from timeit import Timer
from typing import Any


@dataclass(frozen=True)
class Call:
    """A function with its arguments; `rows` evaluations are done by one call."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rows: int = 1
    note: str = ""

    def __call__(self) -> Any:
        return self.function(*self.arguments)

    @property
    def timer(self) -> Timer:
        """Of the plain call `f(a0, a1, …)`: nothing of ours in between."""
        names = [f"a{k}" for k in range(len(self.arguments))]
        scope = dict(zip(names, self.arguments, strict=True)) | {"f": self.function}
        return Timer(f"f({', '.join(names)})", globals=scope)


@dataclass(frozen=True)
class Figure:
    """Ours and theirs in nanoseconds, for one evaluation or step; the target is a least ratio."""

    what: str
    ours: float
    peer: str
    theirs: float
    target: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours

    @property
    def met(self) -> bool | None:
        return None if self.target is None else self.ratio >= self.target


def race(
    calls: Sequence[Call],
    rounds: int,
    shortest: float = 0.02,
    longest: float = 0.25,
    before: Sequence[Callable[[], Any]] = (),
) -> list[float]:
    """The best time of each call in nanoseconds an evaluation: A B A B …, `rounds` times.

    All samples last about as long as the slowest call, within `shortest` and `longest` seconds: of many short
    samples the best is better than of a few long ones. `before[k]` runs, untimed, before each of call k's.
    """
    timers = [call.timer for call in calls]
    prepare = list(before) or [_nothing] * len(calls)
    once = []
    for timer, ready in zip(timers, prepare, strict=True):
        ready()
        timer.timeit(1)  # first use
        number, seconds = timer.autorange() if timer.timeit(1) < shortest else (1, timer.timeit(1))
        once.append(seconds / number)
    length = min(max(shortest, *once), longest)
    numbers = [max(1, round(length / seconds)) for seconds in once]
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for k, (timer, ready, number) in enumerate(zip(timers, prepare, numbers, strict=True)):
            ready()
            samples[k].append(timer.timeit(number) / number)
    return [1e9 * min(s) / call.rows for s, call in zip(samples, calls, strict=True)]


def _nothing() -> None:
    pass
