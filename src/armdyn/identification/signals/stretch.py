"""A segment of a record on an even grid in time, which filters and derivatives need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import CubicSpline

from armdyn.identification.logs.record import Record

_EVEN = 1e-3  # of a step: an instant this near to the grid is on it
_SMOOTHER = 0.7  # of the roughness by the stamps: less by an even clock means that the stamps are late


@dataclass(frozen=True)
class Stretch:
    """A segment: the times at which its samples were taken, and an even grid over them.

    Stamps are often written late by a computer, while the robot sampled evenly. Where positions are smoother
    over even times than over their stamps, the even times are taken (`restamped`).
    """

    part: slice  # of the record
    times: np.ndarray  # (samples,) s
    grid: np.ndarray  # (K,) s, evenly spaced
    nearest: np.ndarray  # (K,) the sample of the record that is nearest to each instant
    on_grid: bool  # whether the samples are the grid
    restamped: bool

    @property
    def rate(self) -> float:
        """Instants per second."""
        return float((len(self.grid) - 1) / (self.grid[-1] - self.grid[0]))

    def gridded(self, x: np.ndarray) -> np.ndarray:
        """Values (samples, …) of the whole record, at the instants of the grid."""
        x = x[self.part]
        return x if self.on_grid else np.asarray(CubicSpline(self.times, x)(self.grid))

    def sampled(self, y: np.ndarray) -> np.ndarray:
        """Values (K, …) on the grid, at the segment's samples."""
        return y if self.on_grid else np.asarray(CubicSpline(self.grid, y)(self.times))


def stretches(record: Record) -> tuple[Stretch, ...]:
    """The segments of a record that have four samples or more; shorter ones show no acceleration."""
    return tuple(_stretch(record, part) for part in record.segments if part.stop - part.start >= 4)


def _stretch(record: Record, part: slice) -> Stretch:
    t, q = record.t[part], record.q[part]
    numbers, even = _even_clock(t)
    jitter = np.abs(t - even).max() * (numbers[-1] / (even[-1] - even[0]))
    restamped = bool(jitter > _EVEN and _is_smoother(q, t, even))
    times = even if restamped or jitter <= _EVEN else t
    complete = bool(numbers[-1] == len(t) - 1)
    on_grid = complete and times is even
    grid = np.linspace(even[0], even[-1], numbers[-1] + 1)
    nearest = np.arange(len(t)) if on_grid else _nearest(times, grid)
    return Stretch(part, times, grid, part.start + nearest, on_grid, restamped)


def _even_clock(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each sample's number on an even clock, where some may be missing, and its time by that clock."""
    steps = np.diff(t)
    period = np.median(steps)
    numbers = np.concatenate([[0], np.cumsum(np.maximum(np.rint(steps / period), 1))])
    # Late stamps leave steps that are too long and then too short: count by the average rate where that fits.
    by_rate = np.rint((t - t[0]) * (len(t) - 1) / (t[-1] - t[0]))
    if numbers[-1] != len(t) - 1 and np.array_equal(by_rate, np.arange(len(t))):
        numbers = by_rate
    slope, start = np.polyfit(numbers, t - t[0], 1)
    return numbers.astype(int), t[0] + start + slope * numbers


def _is_smoother(q: np.ndarray, stamps: np.ndarray, even: np.ndarray) -> bool:
    """Whether joints that move have smaller third differences over even times than over their stamps."""
    moving = np.ptp(q, axis=0) > 0
    if not moving.any():
        return False
    ratio = _roughness(q[:, moving], even) / np.maximum(_roughness(q[:, moving], stamps), 1e-300)
    return bool(np.median(ratio) < _SMOOTHER)


def _roughness(q: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The typical third divided difference of each joint."""
    for k in (1, 2, 3):
        q = np.diff(q, axis=0) / (t[k:] - t[:-k])[:, None]
    return np.asarray(np.mean(np.abs(q), axis=0))


def _nearest(times: np.ndarray, grid: np.ndarray) -> np.ndarray:
    after = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
    return np.asarray(after - (grid - times[after - 1] < times[after] - grid))
