"""Instants within a step at which something is reached, found on the step's dense output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.optimize import brentq

from armdyn.simulation.engine.limits import Watched

Dense: TypeAlias = Callable[[float], np.ndarray]  # the state at an instant of the step


def first_zero(margin: Callable[[float], float], a: float, b: float) -> float:
    """Where a margin that is positive at a and negative at b is zero; a or b if it is zero there."""
    ends = {a: margin(a), b: margin(b)}  # evaluated once: a torque with noise gives another value each time
    if ends[a] <= 0:
        return a
    if not ends[b] < 0:  # dense output and step differ by rounding
        return b

    def known(t: float) -> float:
        return ends[t] if t in ends else margin(t)

    return float(brentq(known, a, b, xtol=1e-15 + 1e-15 * b, rtol=8.9e-16))


@dataclass(frozen=True, eq=False)
class Span:
    """A part of a step, from one state (q, q̇, …) to another."""

    n: int
    start: float
    end: float
    before: np.ndarray
    after: np.ndarray
    dense: Dense

    def leaving(self, watched: Watched) -> tuple[float, bool] | None:
        """When a joint leaves its range, and whether above; also if it is back by the end of the step."""
        for above in (True, False):
            t = self._passing(watched.joint, watched.upper if above else watched.lower, 1 if above else -1)
            if t is not None:
                return t, above
        return None

    def _passing(self, joint: int, limit: float, sign: int) -> float | None:
        speed, end = self.n + joint, self.end

        def inside(t: float) -> float:
            return float(sign * (limit - self.dense(t)[joint]))

        if sign * self.after[joint] <= sign * limit:
            out, back = sign * self.before[speed], -sign * self.after[speed]
            furthest = sign * self.after[joint] + max(out, back) * (end - self.start)
            if not (out > 0 and back > 0 and furthest > sign * limit):
                return None
            end = first_zero(lambda t: float(sign * self.dense(t)[speed]), self.start, end)
            if inside(end) >= 0:
                return None
        return first_zero(inside, self.start, end)
