"""Samples as filters see them: positions without noise, their derivatives, and the states of a fit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import factorial
from typing import TypeAlias

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.ndimage import minimum_filter1d
from scipy.signal import butter, sosfiltfilt, welch

from armdyn.identification.errors import IdentificationError
from armdyn.identification.log import Record

# ------------------------------------------------------------------------------------------------------------
# Low-pass filters without delay, and derivatives, on even grids.


ORDER = 4  # of the Butterworth filter, which runs forth and back: at the cut-off it halves the amplitude
_LEAST = 1e-6  # of the rate: filters with a lower cut-off are only rounding
_SETTLES = 9  # the signal is continued by this many 1/cut-off beyond each end, as so many inside say
_BEYOND = 1.5  # 1/cut-off beyond an end in which the filtered signal has to be its own continuation,
_PROBES = 8  # at so many instants
_LOOK = 0.1  # 1/cut-off at an end: there a motion that starts or stops is slower
_RESTING = 0.2  # than this part of its usual speed, all joints together

# Differences of fourth order at the first two instants; those at the last two mirror them.
_FIRST = np.array([[-25, 48, -36, 16, -3], [-3, -10, 18, -6, 1]]) / 12


def low_pass(x: np.ndarray, cutoff: float | None, rate: float) -> np.ndarray:
    """x (K, …) through a Butterworth low-pass with this cut-off [Hz], forth and back along the first axis.

    Beyond its ends x goes on along straight lines. None, and a cut-off that is not below half the rate, leave
    x as it is.
    """
    if not _filters(cutoff, rate):
        return x
    assert cutoff is not None
    flat = x.reshape(len(x), -1)
    wide, beyond = _continued(flat, cutoff / rate)
    return _forth_and_back(wide, cutoff / rate)[beyond:-beyond].reshape(x.shape)


def _filters(cutoff: float | None, rate: float) -> bool:
    if cutoff is None or 2 * cutoff >= 0.99 * rate:
        return False
    if cutoff < _LEAST * rate:
        raise IdentificationError(
            f"cutoff: found {cutoff:g} Hz; {_LEAST * rate:g} Hz or more is allowed at {rate:g} samples per s"
        )
    return True


def _forth_and_back(x: np.ndarray, ratio: float) -> np.ndarray:
    """x (K, c) low-passed; `ratio` is the cut-off over the rate."""
    return np.asarray(sosfiltfilt(_sections(ratio), x, axis=0, padlen=0))


@lru_cache(maxsize=64)  # most of the time that a short signal takes
def _sections(ratio: float) -> np.ndarray:
    return np.asarray(butter(ORDER, ratio, fs=1.0, output="sos"))


# A signal that ends in motion does not stop there. Whatever stands beyond an end reaches the filtered values
# within about one 1/cut-off of it, so the signal is continued by that polynomial which the filter returns as
# it is: filtered, the continued signal is the polynomial beyond the end. A cubic one makes this the smoothing
# spline of degree 7, or the smoother of Kalman, Rauch, Tung and Striebel for a motion whose fourth derivative
# is white noise: inside, both have this very filter's gain 1/(1 + (f/cut-off)⁸). As in that smoother, motion
# is known before it is seen: its velocity, acceleration and jerk are about what they usually are, and the
# more noise there is in a cubic, the more it is drawn to zero. An arm that starts or stops is another thing:
# it goes on straight.


def _continued(
    x: np.ndarray, ratio: float, cubics: tuple[np.ndarray | None, ...] = (None, None)
) -> tuple[np.ndarray, int]:
    """x (K, c) with polynomials before and after it, and over how many instants each.

    They are those of the coefficients (4, c), straight lines where None.
    """
    ratio = float(f"{ratio:.8g}")  # rates that differ by rounding are continued alike
    beyond, window = _reach(x, ratio)
    ends = []
    for y, cubic in zip((x, x[::-1]), cubics, strict=True):
        powers, fit = _continuation(ratio, window, beyond, _degree(x, ratio, 1 if cubic is None else 3))
        ends.append(y[0] + powers @ (fit @ (y[:window] - y[0]) if cubic is None else cubic))
    return np.concatenate([ends[0][::-1], x, ends[1]]), beyond


def _reach(x: np.ndarray, ratio: float) -> tuple[int, int]:
    """Over how many instants x is continued, and how many of its own say how."""
    beyond = int(np.ceil(_SETTLES / ratio))
    return beyond, min(len(x), beyond)


def _degree(x: np.ndarray, ratio: float, wanted: int) -> int:
    """A signal of less than one 1/cut-off gets lower degrees."""
    return min(wanted, int(2 * len(x) * ratio))


def passed(x: np.ndarray, cutoff: float | None, rate: float) -> tuple[np.ndarray, int]:
    """A motion x (K, c) low-passed, with as many instants before and after it as it says."""
    if not _filters(cutoff, rate):
        return x, 0
    assert cutoff is not None
    wide, beyond = _continued(x, cutoff / rate, _cubics(x, cutoff / rate))
    return _forth_and_back(wide, cutoff / rate), beyond


def under_way(x: np.ndarray, cutoff: float, rate: float) -> tuple[bool, bool]:
    """Whether the motion x (K, c) goes on at its first and last instants: it neither starts nor stops."""
    first, last = _cubics(x, cutoff / rate)
    return first is not None, last is not None


def _cubics(x: np.ndarray, ratio: float) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Coefficients (4, c) of the cubics along which x (K, c) goes on at both ends; None where it is at rest.

    Time counts from the end outward in 1/(2π cut-off).
    """
    ratio = float(f"{ratio:.8g}")
    if _degree(x, ratio, 3) < 3:
        return None, None
    beyond, window = _reach(x, ratio)
    fit = _continuation(ratio, window, beyond, 3)[1]
    sure = np.linalg.inv(fit @ fit.T)
    found: list[np.ndarray | None] = []
    for y in (x[:window], x[::-1][:window]):
        noise, usual = _usual_motion(y, ratio)
        moves = usual[2] > 0
        if not moves.any():
            found.append(None)
            continue
        c = fit @ (y - y[0])
        pull = np.zeros_like(c)
        np.divide(noise, usual, out=pull, where=usual > 0)
        pull[0] = 0.0  # the place is known from the samples alone
        c = np.linalg.solve(sure + pull.T[:, :, None] * np.eye(4), (sure @ c).T[..., None])[..., 0].T
        rows = min(max(2, int(np.ceil(_LOOK / ratio))), len(y))
        half = rows // 2
        went = np.square(y[rows - half : rows].mean(0) - y[:half].mean(0)) - 2 * noise / half
        speed = went / np.square(2 * np.pi * ratio * (rows - half))
        found.append(c if (speed[moves] / usual[1, moves]).mean() > _RESTING**2 else None)
    return found[0], found[1]


def _usual_motion(x: np.ndarray, ratio: float) -> tuple[np.ndarray, np.ndarray]:
    """Variance (c,) of the noise of x (K, c), and mean squares (4, c) of the coefficients of its cubics."""
    wide, beyond = _continued(x, ratio)
    smooth = _forth_and_back(wide, ratio)[beyond:-beyond]
    edge = int(min(1 / ratio, len(x) / 4))
    inside = slice(edge, len(x) - edge)
    usual = np.zeros((4, x.shape[1]))
    y = smooth
    for k in range(1, 4):
        y = np.gradient(y, 2 * np.pi * ratio, axis=0)
        usual[k] = np.square(y[inside]).mean(0) / factorial(k) ** 2
    return np.asarray((x - smooth)[inside].var(0)), usual


@lru_cache(maxsize=64)
def _continuation(ratio: float, window: int, beyond: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Powers (beyond, d) of the time before a signal, and its polynomial's coefficients (d, window).

    The filter F is symmetric: its output at an instant outside is the product of the signal and of what F
    makes of an impulse there. The polynomial p is the one with F(x − p) = 0 outside, by least squares.
    """
    probes = np.unique(np.rint(np.linspace(0, _BEYOND, _PROBES) / ratio).astype(int))
    impulses = np.zeros((2 * beyond + window, len(probes)))
    impulses[beyond - 1 - probes, np.arange(len(probes))] = 1.0
    seen = _forth_and_back(impulses, ratio)[beyond : beyond + window].T
    inside, outside = (2 * np.pi * ratio * k for k in (np.arange(window), -np.arange(1.0, beyond + 1)))
    exponents = np.arange(min(degree, len(probes) - 1) + 1)
    fit = np.linalg.lstsq(seen @ inside[:, None] ** exponents, seen, rcond=None)[0]
    return outside[:, None] ** exponents, fit


def derivative(x: np.ndarray, rate: float) -> np.ndarray:
    """dx/dt (K, …) by differences of fourth order; of second order for fewer than six instants."""
    if len(x) < 6:
        return np.asarray(np.gradient(x, 1 / rate, axis=0, edge_order=2))
    found = np.empty_like(x)
    found[2:-2] = (x[:-4] - 8 * x[1:-3] + 8 * x[3:-1] - x[4:]) / 12
    for k in (0, 1):
        found[k] = np.tensordot(_FIRST[k], x[:5], 1)
        found[-1 - k] = -np.tensordot(_FIRST[k], x[-1:-6:-1], 1)
    return found * rate


# ------------------------------------------------------------------------------------------------------------
# A segment of a record on an even grid in time, which filters and derivatives need.


_EVEN = 1e-3  # of a step: an instant this near to the grid is on it
_SMOOTHER = 0.7  # of the roughness by the stamps: less by an even clock means that the stamps are late


@dataclass(frozen=True)
class Segment:
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


def segments_of(record: Record) -> tuple[Segment, ...]:
    """The segments of a record that have four samples or more; shorter ones show no acceleration."""
    return tuple(_segment(record, part) for part in record.segments if part.stop - part.start >= 4)


def _segment(record: Record, part: slice) -> Segment:
    t, q = record.t[part], record.q[part]
    numbers, even = _even_clock(t)
    jitter = np.abs(t - even).max() * (numbers[-1] / (even[-1] - even[0]))
    restamped = bool(jitter > _EVEN and _is_smoother(q, t, even))
    times = even if restamped or jitter <= _EVEN else t
    complete = bool(numbers[-1] == len(t) - 1)
    on_grid = complete and times is even
    grid = np.linspace(times[0], times[-1], numbers[-1] + 1)  # no instant outside, where splines run away
    nearest = np.arange(len(t)) if on_grid else _nearest(times, grid)
    return Segment(part, times, grid, part.start + nearest, on_grid, restamped)


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


# ------------------------------------------------------------------------------------------------------------
# A cut-off for filters, from what was recorded of the positions alone.


_ABOVE = 30.0  # times the noise's spectrum: what is above is motion
_LOWEST, _SHARE = 2.0, 0.2  # Hz, and of the rate: the range of the cut-off


def cutoff_of_motion(record: Record) -> float | None:
    """Twice the highest frequency at which the positions' spectrum stands out of the noise [Hz].

    None where the longest segment is too short for a spectrum, or at rest.
    """
    longest = max(record.segments, key=lambda part: part.stop - part.start)
    q, rate = record.q[longest], record.rate
    moving = np.ptp(q, axis=0) > 0
    if len(q) < 64 or not moving.any():
        return None
    window = min(len(q) - 1, max(64, int(8 * rate)))
    f, power = welch(np.diff(q[:, moving], axis=0), rate, nperseg=window, axis=0)
    # White noise has this spectrum after the difference; its level is that of the upper half, where
    # sin² is sin²(3π/8) in the middle.
    level = np.median(power[f > rate / 4], axis=0) / np.sin(np.pi * 3 / 8) ** 2
    noise = level * np.sin(np.pi * f / rate)[:, None] ** 2
    stands_out = (power > _ABOVE * noise + 1e-12 * power.max(axis=0)).any(axis=1)
    return float(np.clip(2 * f[stands_out].max(initial=0.0), _LOWEST, _SHARE * rate))


# ------------------------------------------------------------------------------------------------------------
# Positions without noise, and their derivatives.


_AT_REST = 1e-9  # of a joint's greatest speed
_ROUNDING = 1e-13  # of a position, per sample


@dataclass(frozen=True)
class Kinematics:
    """Positions, velocities and accelerations, (samples, n) each; rad or m, and per s and s²."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray

    def at(self, rows: slice) -> Kinematics:
        """Some of the samples."""
        return Kinematics(self.q[rows], self.qd[rows], self.qdd[rows])


def kinematics(record: Record, cutoff: float | None = None) -> Kinematics:
    """Positions of a record, low-passed at `cutoff` [Hz] without delay, and their derivatives, by segment.

    Accelerations that the log has are exact or measured with care: then all is used as it is. Velocities that
    it has are low-passed like positions. A segment of fewer than four samples rests in this account.
    """
    q, qd, qdd = record.q.copy(), np.zeros_like(record.q), np.zeros_like(record.q)
    for segment in segments_of(record):
        found = on_grid(record, segment, cutoff)
        for whole, x in ((q, found.q), (qd, found.qd), (qdd, found.qdd)):
            whole[segment.part] = segment.sampled(x)
    return Kinematics(q, qd, qdd)


def on_grid(record: Record, segment: Segment, cutoff: float | None) -> Kinematics:
    """The kinematics at the instants of a stretch's grid, (K, n) each."""
    q = segment.gridded(record.q)
    qd = None if record.qd is None else segment.gridded(record.qd)
    rate = segment.rate
    if record.qdd is not None:
        qd = _resting(derivative(q, rate), q, rate) if qd is None else qd
        return Kinematics(q, qd, segment.gridded(record.qdd))
    return at_rest(q, smoothed(q, cutoff, rate, qd))


def smoothed(
    q: np.ndarray, cutoff: float | None, rate: float, measured: np.ndarray | None = None
) -> Kinematics:
    """Positions (K, n) low-passed, and their derivatives; measured velocities are low-passed too."""
    wide, beyond = passed(q, cutoff, rate)
    first = derivative(wide, rate)
    own = slice(beyond, len(wide) - beyond)
    smooth = wide[own]
    if measured is not None:
        qd, beyond = passed(measured, cutoff, rate)
        own = slice(beyond, len(qd) - beyond)
        return Kinematics(smooth, qd[own], derivative(qd, rate)[own])
    return Kinematics(smooth, _resting(first[own], smooth, rate), derivative(first, rate)[own])


def _resting(qd: np.ndarray, q: np.ndarray, rate: float) -> np.ndarray:
    """Velocities without those that are only rounding: a joint at rest has no direction of friction."""
    rounding = _ROUNDING * rate * (1 + np.abs(q).max(axis=0))
    return np.where(np.abs(qd) <= np.maximum(rounding, _AT_REST * np.abs(qd).max(axis=0)), 0.0, qd)


def at_rest(measured: np.ndarray, motion: Kinematics) -> Kinematics:
    """The motion, joints that never move exactly at rest: rounding errors would have a direction."""
    still = np.ptp(measured, axis=0) == 0
    if not still.any():
        return motion
    qd, qdd = np.where(still, 0.0, motion.qd), np.where(still, 0.0, motion.qdd)
    return Kinematics(np.where(still, measured, motion.q), qd, qdd)


# ------------------------------------------------------------------------------------------------------------
# What of a log enters a fit: states and torques on an even grid, as dense as the filter makes worthwhile.
#
# The regressor's columns are filtered with the same cut-off as the positions, because drives and loggers
# smooth torques, too. The torques themselves keep what they have, but for what the thinning would fold down:
# so errors with different cut-offs compare, and what a cut-off takes away that the torques have counts
# against it.


TAIL = 8  # periods of the cut-off after which 1e-8 is left of what the filter saw
DENSE = 16  # instants per period of the cut-off: more of them say nothing new
_ROWS = 4_000  # instants whose regressor is in memory at a time
_SAME_RATE = 1e-6  # rates that differ by rounding are thinned alike
# What a fit leaves out at the ends of a segment, in 1/cut-off (predictions and errors have all of it):
_NOISY = 0.25  # where the arm is under way: noise in accelerations is greatest at an end
_STARTING = 0.5  # where it starts or stops: joints stick, and jerks shake the arm


@dataclass(frozen=True)
class States:
    """M instants of one stretch of a log, evenly spaced."""

    motion: Kinematics  # (M, n) each
    tau: np.ndarray  # (M, n) of the motion: without what a wrench at the tip needs
    use: np.ndarray  # (M, n) bool: what may enter the fit
    rate: float  # instants per second
    cutoff: float | None  # Hz
    contact: np.ndarray  # (M, n) what that wrench needs

    def __len__(self) -> int:
        return len(self.tau)

    def seen(self, x: np.ndarray) -> np.ndarray:
        """A regressor or torques (M, …) as the low-pass shows them.

        Most columns of a regressor may be zero, because a joint feels only the links beyond it: they stay so.
        """
        flat = x.reshape(len(x), -1)
        alive = flat.any(0)
        if self.cutoff is None or alive.all():
            return low_pass(x, self.cutoff, self.rate)
        found = np.zeros_like(flat)
        found[:, alive] = low_pass(flat[:, alive], self.cutoff, self.rate)
        return found.reshape(x.shape)

    def seen_by(self, f: Callable[[Kinematics], np.ndarray]) -> Iterator[tuple[slice, np.ndarray]]:
        """f (M, …) of the motion as the low-pass shows it, some instants at a time, where any may be used."""
        for start, stop in self.blocks:
            if self.use[start:stop].any():
                yield slice(start, stop), self.seen_between(f, start, stop)

    @property
    def blocks(self) -> list[tuple[int, int]]:
        """Start and stop of blocks whose regressors fit in memory."""
        rows = max(_ROWS, 4 * self._overlap)
        return [(start, min(start + rows, len(self))) for start in range(0, len(self), rows)]

    def seen_between(self, f: Callable[[Kinematics], np.ndarray], start: int, stop: int) -> np.ndarray:
        """f (M, …) of the motion, at some of the instants, as the low-pass shows it."""
        first, last = max(start - self._overlap, 0), min(stop + self._overlap, len(self))
        wide = self.between(first, last)
        return self.seen(f(wide.motion))[start - first : stop - first]

    @property
    def _overlap(self) -> int:
        """Instants beside a block that its filtered values depend on."""
        return 0 if self.cutoff is None else int(np.ceil(TAIL * self.rate / self.cutoff))

    def between(self, start: int, stop: int) -> States:
        """Some of the instants."""
        part = slice(start, stop)
        tau, contact, use = self.tau[part], self.contact[part], self.use[part]
        return replace(self, motion=self.motion.at(part), tau=tau, use=use, contact=contact)


Motion: TypeAlias = Callable[[Record, Segment, float | None], Kinematics]


def states(
    record: Record, cutoff: float | None, fastest: float | None = None, motion: Motion = on_grid
) -> Iterator[States]:
    """The stretches of a record that have samples which may enter a fit.

    The instants are as dense as a cut-off of `fastest` [Hz] asks for, by default the cut-off itself. `motion`
    says how positions are made into kinematics.
    """
    for segment in segments_of(record):
        if (record.usable & record.own[:, None])[segment.part].any():
            yield _states(record, segment, cutoff, fastest or cutoff, motion)


def effective_cutoff(record: Record, cutoff: float | None) -> float | None:
    """None where the log has accelerations: then nothing is filtered."""
    return None if record.qdd is not None else cutoff


def _states(
    record: Record, segment: Segment, cutoff: float | None, fastest: float | None, motion_of: Motion
) -> States:
    cutoff = effective_cutoff(record, cutoff)
    motion = motion_of(record, segment, cutoff)
    tau = segment.gridded(record.tau)
    contact = np.zeros_like(tau) if record.contact is None else segment.gridded(record.contact)
    tau = np.stack([tau - contact, contact], axis=1)
    used, own, rate = record.usable[segment.nearest], record.own[segment.nearest, None], segment.rate
    if cutoff is None or fastest is None:
        return States(motion, tau[:, 0], used & own, rate, cutoff, tau[:, 1])
    ends = [_NOISY if passes else _STARTING for passes in under_way(segment.gridded(record.q), cutoff, rate)]
    first, last = (min(int(np.ceil(share * rate / cutoff)), len(tau) // 4) for share in ends)
    used[:first] = used[len(tau) - last :] = False
    thin = max(1, int(rate / (DENSE * fastest) + _SAME_RATE))
    if thin > 1:
        tau = low_pass(tau, 0.4 * rate / thin, rate)
        used = minimum_filter1d(used, 2 * thin + 1, axis=0)
    # By the rows of the file: blocks of it take the same instants as the whole.
    row = int(record.rows[segment.part.start]) + record.first
    at = slice((thin // 2 - row) % thin, None, thin)
    return States(motion.at(at), tau[at, 0], (used & own)[at], rate / thin, cutoff, tau[at, 1])
