"""Limits of joints that follow several others, along a motion: rows over the coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.robot import Robot
from armdyn.robot.joints import followers

_ORDERS = ("velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class Followed:
    """m limits low ≤ R q + shift ≤ high, or of derivatives of R q; at the ends the part used is 1."""

    order: np.ndarray  # (m,) 0 for positions, 1 for velocities, …
    rows: np.ndarray  # (m, n)
    shift: np.ndarray  # (m,)
    low: np.ndarray  # (m,) infinite where there is none
    high: np.ndarray
    scale: np.ndarray  # (m,) half of the range, or 1

    def sides(self, states: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The parts (N, m) used toward the upper and the lower ends, of q and three derivatives (N, n)."""
        x = np.stack([states[k] @ row for k, row in zip(self.order, self.rows, strict=True)], -1) + self.shift
        return 1 + (x - self.high) / self.scale, 1 + (self.low - x) / self.scale

    def slopes(self, functions: list[np.ndarray], weight: np.ndarray) -> np.ndarray:
        """(m, d, n) by coefficients, from derivatives (N, m) by `above`; functions (N, d) by order."""
        parts = [functions[k].T @ w for k, w in zip(self.order, (weight / self.scale).T, strict=True)]
        return np.asarray(np.array(parts)[:, :, None] * self.rows[:, None, :])


def followed(robot: Robot, part: float) -> Followed | None:
    """The part of the limits of followers that a motion may use; None where there are none."""
    others = followers(robot)
    linear = others.linear if others is not None else None
    if others is None or linear is None:
        return None
    found = others.limits
    lines: list[tuple[int, int, float, float]] = []
    for k in range(len(others.joints)):
        low, high = found.lower[k], found.upper[k]
        if np.isfinite((low, high)).any():
            spare = (1 - part) * (high - low) / 2 if np.isfinite((low, high)).all() else 0.0
            lines.append((0, k, low + spare, high - spare))
        for order, name in enumerate(_ORDERS, 1):
            bound = part * getattr(found, name)[k]
            if np.isfinite(bound):
                lines.append((order, k, -bound, bound))
    if not lines:
        return None
    orders, which, lows, highs = (np.array(column) for column in zip(*lines, strict=True))
    half = (highs - lows) / 2
    scale = np.where(np.isfinite(half) & (half > 0), half, 1.0)
    shift = np.where(orders == 0, linear.s0[which], 0.0)
    return Followed(orders, linear.S[which], shift, lows, highs, scale)
