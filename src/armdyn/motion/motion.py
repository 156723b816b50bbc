"""`Motion`, of which trajectories are made: a function of time; under a timing law; by polynomials.

Before it, instants: which are the same up to rounding, and where between two of them something changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from types import MethodType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.polynomial.polynomial import polyder, polyval

from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Carried

Side: TypeAlias = Literal["before", "after"]
States: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Evaluate: TypeAlias = Callable[[np.ndarray, Side], States]
SIDES: tuple[Side, Side] = ("before", "after")

STEP = 1e-3  # s, between samples where nothing else is said
MOST_SAMPLES = 20_000_000  # more would fill the memory, and are a step too small by mistake


# ------------------------------------------------------------------------------------------------------------
# Instants.


SAME_INSTANT = 1e-12  # relative: instants closer than this are one
ROUNDING = 8 * np.finfo(float).eps  # of the magnitudes of its terms: what a sum may be off by
PARTS = 32  # into which an interval is cut in one round of `change_between`


def nearest(t: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """Indices (N,) of the sorted instants (K,), K ≥ 1, that are nearest to t (N,)."""
    after = np.searchsorted(instants, t).clip(1, max(1, len(instants) - 1))
    last = after.clip(max=len(instants) - 1)
    return np.asarray(after - (np.abs(t - instants[after - 1]) <= np.abs(t - instants[last])))


def is_near(t: np.ndarray, instants: np.ndarray, tolerance: float) -> np.ndarray:
    """True (N,) where t (N,) is within `tolerance` of one of the sorted instants (K,)."""
    if not len(instants):
        return np.zeros(len(t), bool)
    return np.asarray(np.abs(t - instants[nearest(t, instants)]) <= tolerance)


def snapped(
    t: np.ndarray,
    instants: np.ndarray,
    values: np.ndarray | None = None,
    at: np.ndarray | None = None,
) -> np.ndarray:
    """Times t (N,), moved onto one of the sorted `instants` (K,) where they are equal up to rounding.

    With `values` (K,) and `at` (N,) it is `at` that is returned, and the value of the instant where t is one.
    Times that have been scaled and scaled back miss the jump they stand for by a rounding error. They would
    be on its wrong side; or miss the end, where the arm rests.
    """
    values, at = instants if values is None else values, t if at is None else at
    if not len(instants):
        return at
    k = nearest(t, instants)
    tolerance = SAME_INSTANT * np.abs(t) + ROUNDING * np.abs(instants).max()
    return np.where(np.abs(t - instants[k]) <= tolerance, values[k], at)


def place_among(instants: np.ndarray, t: np.ndarray, side: Side) -> np.ndarray:
    """How many of the sorted instants (K,) are over (N,) just before or just after t (N,)."""
    return np.searchsorted(instants, t, side="right" if side == "after" else "left")


def change_between(
    holds: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Instants (N,) between a (N,) and b (N,) at which a condition that holds at a ceases to, to rounding.

    `holds` takes instants (N, k), a row for each interval, and says (N, k) whether the condition holds.
    Returned are the last instant found at which it holds and the first at which it does not.
    """
    part = np.arange(1, PARTS) / PARTS
    for _ in range(10 if len(a) else 0):  # 32^10 = 2^50
        t = np.column_stack([a, a[:, None] + (b - a)[:, None] * part, b])
        k = np.argmin(np.column_stack([holds(t[:, 1:-1]), np.zeros(len(a), bool)]), axis=1)
        rows = np.arange(len(a))
        a, b = t[rows, k], t[rows, k + 1]
    return a, b


# ------------------------------------------------------------------------------------------------------------
# A motion: a function of time.


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions, velocities, accelerations of n joints from 0 to `duration`.

    `evaluate(t, side)` takes t (N,) within [0, duration] and gives three arrays (N, n); where the
    acceleration jumps, `side` says whether the value just before or just after the instant is meant (at 0
    and at the end there is only one). `knots` are the instants at which some derivative jumps, those of the
    acceleration included; between them the motion is smooth. `evaluate` is a method of data, not a closure,
    so that a motion can be pickled and compared.

    `dwells` are rests that are wanted, from start to end [s]: timing keeps how long they last. `loads` are
    what the arm carries and when; instants at which they change are among the `jumps`: torques jump there.
    """

    n: int
    duration: float  # s
    evaluate: Evaluate = field(repr=False)
    jumps: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    label: str = "motion"
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    dwells: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    loads: tuple[Carried, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise MotionError(f"duration: found {self.duration:g} s; a motion takes a positive time")
        object.__setattr__(self, "duration", float(self.duration))
        loads = check_loads(self.loads, self.duration)
        object.__setattr__(self, "loads", loads)
        changes = [t for one in loads for t in (one.start, one.end)]
        object.__setattr__(self, "jumps", self._inner(np.append(self.jumps, changes)))
        object.__setattr__(self, "knots", self._inner(np.append(self.knots, self.jumps)))

    def _inner(self, instants: np.ndarray) -> np.ndarray:
        """Instants, sorted, each once, without the ends; read-only."""
        found = np.unique(np.asarray(instants, float))
        found = found[(found > 0) & (found < self.duration)]
        found.flags.writeable = False
        return found


def check_loads(loads: Sequence[Carried], duration: float) -> tuple[Carried, ...]:
    """The loads in the order of time; refuse those outside of the motion.

    Loads may overlap: a gripper and what it holds. Instants that miss the motion's ends by rounding are moved
    there: a load that ends with the motion is not put down just before.
    """
    ends = np.array([0.0, duration])
    found = []
    for one in sorted(loads, key=lambda x: (x.start, x.end)):
        start, end = snapped(np.array([one.start, one.end]), ends).tolist()
        if not 0 <= start < end <= duration:
            raise MotionError(
                f"loads: found one from {one.start:g} to {one.end:g} s; the motion lasts from 0 to "
                f"{duration:g} s"
            )
        found.append(Carried(start, end, one.load))
    return tuple(found)


def same(a: Any, b: Any) -> bool:
    """True if two motions, or parts of them, are made of the same numbers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, MethodType):
        return a.__func__ is b.__func__ and same(a.__self__, b.__self__)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


def sample_times(duration: float, step: float) -> np.ndarray:
    """0, step, 2 step, … and the end."""
    wanted = duration / check.positive_time("step", step) * (1 - 1e-12)
    if wanted > MOST_SAMPLES:
        raise MotionError(
            f"step: found {step:g} s; {duration:g} s would be {wanted:.2g} samples, and at most "
            f"{MOST_SAMPLES:.0e} are made"
        )
    count = int(np.ceil(wanted))
    return np.append(np.arange(count) * step, duration)


# ------------------------------------------------------------------------------------------------------------
# A motion under a timing law: q(t) = q̄(r(t)), (7.119) to (7.121).


NONE = np.zeros(0)


@dataclass(frozen=True)
class Composed:
    """A motion over r and the law r(t), a motion of one joint."""

    motion: Motion
    law: Motion
    places: np.ndarray  # (K,) the law's times at which r must be exact: at knots, and perhaps at the end
    values: np.ndarray  # (K,) r there

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        motion = self.motion
        r, rate, change = self.law.evaluate(t, side)
        at = snapped(t, self.places, self.values, r[:, 0])
        q, qd, qdd = motion.evaluate(at.clip(0.0, motion.duration), side)
        return q, rate * qd, rate**2 * qdd + change * qd


def composed(
    motion: Motion, law: Motion, label: str, knots: np.ndarray = NONE, jumps: np.ndarray = NONE
) -> Motion:
    """The motion under the law; `knots` and `jumps` are when the law reaches those of the motion [s]."""
    places, values, end = knots, motion.knots, np.array([law.duration])
    if law.evaluate(end, "before")[0][0, 0] != motion.duration:  # by rounding
        places, values = np.append(places, end), np.append(values, motion.duration)
    evaluate = Composed(motion, law, places, values).evaluate
    # Where both jump it is one instant, not two a rounding error apart.
    jumps, knots = (np.append(x, snapped(own, x)) for x, own in ((jumps, law.jumps), (knots, law.knots)))
    return Motion(motion.n, law.duration, evaluate, jumps, label, knots)


# ------------------------------------------------------------------------------------------------------------
# `Profile`: a motion as polynomials of time, one after the other.


@dataclass(frozen=True)
class Profile:
    """Position over time as m polynomials, for one joint or, with common breaks, for several.

    Piece i holds from `breaks[i]` to `breaks[i + 1]`, and is Σ_k coefficients[i, k] (t − origins[i])^k. A
    piece that ends at rest has its origin at its end, so that its last velocity is zero and not nearly so.
    `smooth` names the inner breaks at which only the origin changes and not the polynomial.
    """

    breaks: np.ndarray  # (m + 1,), from 0 to the duration [s]
    origins: np.ndarray  # (m,); for several joints (m, 1), or (m, n): a joint's pieces may be longer [s]
    coefficients: np.ndarray  # (m, degree + 1) or (m, degree + 1, n)
    smooth: np.ndarray = field(default_factory=lambda: np.zeros(0, int))  # indices into breaks
    least: np.ndarray | None = None  # (m, n) a smaller velocity is rounding error; None: known from its terms

    @property
    def duration(self) -> float:
        """Duration of the profile [s]."""
        return float(self.breaks[-1])

    def evaluate(self, t: np.ndarray, side: Side = "after") -> States:
        """Position, velocity, acceleration at t (N,) within the profile, each (N,) or (N, n).

        A velocity that is only rounding error is set to zero: where a joint reverses it has no direction.
        """
        inside = np.clip(t, 0.0, self.duration)
        piece = place_among(self.breaks[1:-1], inside, side)
        time = (inside if self.origins.ndim == 1 else inside[:, None]) - self.origins[piece]
        powers = self._powers
        q = powers[-1][piece]
        qd, half = np.zeros_like(q), np.zeros_like(q)  # half of the acceleration
        for power in powers[-2::-1]:
            for x, y in ((half, qd), (qd, q), (q, power[piece])):
                x *= time
                x += y
        half *= 2
        least = self._rounding(piece, np.abs(time)) if self.least is None else self.least[piece]
        return q, np.where(np.abs(qd) <= least, 0.0, qd), half

    def derivatives(self, t: np.ndarray, side: Side = "after", highest: int = 4) -> list[np.ndarray]:
        """Position and its derivatives up to the one named at t (N,), each (N, n), for several joints."""
        inside = np.clip(t, 0.0, self.duration)
        piece = place_among(self.breaks[1:-1], inside, side)
        time = inside[:, None] - self.origins[piece]
        found = []
        powers = self._powers
        for _ in range(highest + 1):
            x = np.zeros((len(t), self.coefficients.shape[2]))
            for power in powers[::-1]:
                x = x * time + power[piece]
            found.append(x)
            powers = np.arange(1, len(powers))[:, None, None] * powers[1:]
        return found

    @cached_property
    def _powers(self) -> np.ndarray:
        """The coefficients by degree, (degree + 1, m) or (degree + 1, m, n)."""
        return np.ascontiguousarray(self.coefficients.swapaxes(0, 1))

    def _rounding(self, piece: np.ndarray, time: np.ndarray) -> np.ndarray:
        """The rounding errors of velocities `time` from the origins of pieces (N,)."""
        powers = np.abs(self._powers)
        size = np.zeros_like(powers[-1][piece])
        for k in range(len(powers) - 1, 0, -1):
            size *= time
            size += k * powers[k][piece]
        return np.asarray(ROUNDING * size)

    @cached_property
    def knots(self) -> np.ndarray:
        """The inner breaks at which the polynomial changes [s]."""
        return np.delete(self.breaks, self.smooth)[1:-1]

    @cached_property
    def jumps(self) -> np.ndarray:
        """Instants at which the acceleration jumps [s]: some of the knots, the start or the end."""
        places = np.concatenate([[0.0], self.knots, [self.duration]])
        before, after = (self.evaluate(places, side)[2] for side in SIDES)
        largest = np.maximum(np.abs(before), np.abs(after)).max(0)
        differs: np.ndarray = np.abs(after - before) > 1e-9 * largest
        return np.asarray(places[differs.reshape(len(places), -1).any(1)])

    def snapped(self, instants: np.ndarray) -> Profile:
        """The same profile with breaks that are nearly one of `instants` moved onto it."""
        return replace(self, breaks=snapped(self.breaks, instants), origins=snapped(self.origins, instants))

    def between(self, start: np.ndarray, end: np.ndarray) -> Profile:
        """The profile of several joints that go from `start` to `end` as this one goes from 0 to 1."""
        distance = end - start
        powers = self.coefficients[:, :, None] * distance
        place = self.coefficients[:, 0, None]
        powers[:, 0] = np.where(place == 1.0, end, start + place * distance)
        return replace(self, origins=self.origins[:, None], coefficients=powers)


def rest(position: float, duration: float) -> Profile:
    return Profile(np.array([0.0, duration]), np.zeros(1), np.array([[position, 0.0, 0.0]]))


def symmetric(
    start: float, end: float, duration: float, breaks: np.ndarray, coefficients: np.ndarray
) -> Profile:
    """Profile from rest to rest: pieces of speeding up, constant speed, and the same pieces backwards.

    `breaks` (k + 1,) begin at 0 and end where the top speed is reached; `coefficients` (k, degree + 1) are
    distances covered, each piece from its own start.
    """
    cruises = int(duration - 2 * breaks[-1] > SAME_INSTANT * duration)
    if not cruises:
        breaks = np.append(breaks[:-1], duration / 2)
    up, down = coefficients.copy(), -coefficients[::-1] * (-1.0) ** np.arange(coefficients.shape[1])
    up[:, 0] += start
    down[:, 0] += end
    middle = np.zeros((cruises, coefficients.shape[1]))
    middle[:, 0] = start + (end - start) / 2
    middle[:, 1] = polyval(breaks[-1] - breaks[-2], polyder(coefficients[-1]))
    back = duration - breaks[::-1]
    return Profile(
        np.concatenate([breaks, back if cruises else back[1:]]),
        np.concatenate([breaks[:-1], [duration / 2] * cruises, back[1:]]),
        np.concatenate([up, middle, down]),
    )


def hermite(t: np.ndarray, first: States, last: States) -> Profile:
    """Quintic pieces between instants t (m + 1,), through the states at each piece's two ends.

    `first` are position, velocity, acceleration (m, ...) where a piece begins, `last` those where it ends.
    Each half of a piece is written from its own end, so that the states there are met exactly.
    """
    length = np.diff(t)
    pieces = len(length)
    coefficients = np.stack([_quintic(first, last, length), _quintic(last, first, -length)], axis=1)
    breaks = np.empty(2 * pieces + 1)
    breaks[::2], breaks[1::2] = t, t[:-1] + length / 2
    return Profile(
        breaks,
        np.column_stack([t[:-1], t[1:]]).reshape(-1, *(1,) * (coefficients.ndim - 3)),
        coefficients.reshape(2 * pieces, *coefficients.shape[2:]),
        smooth=np.arange(1, 2 * pieces, 2),
    )


def _quintic(here: States, there: States, length: np.ndarray) -> np.ndarray:
    """Powers (m, 6, ...) of the time since `here` of the polynomials that are `there` after `length`."""
    (q0, v0, a0), (q1, v1, a1) = here, there
    h = length.reshape(-1, *(1,) * (q0.ndim - 1))
    D = q1 - q0 - h * (v0 + h / 2 * a0)
    E = h * (v1 - v0 - h * a0)
    F = h**2 * (a1 - a0)
    return np.stack(
        [
            q0,
            v0,
            a0 / 2,
            (10 * D - 4 * E + F / 2) / h**3,
            (-15 * D + 7 * E - F) / h**4,
            (6 * D - 3 * E + F / 2) / h**5,
        ],
        axis=1,
    )


def together(profiles: list[Profile], label: str) -> Motion:
    """The motion of joints that start together, each with its own profile and resting after its end."""
    duration = max(profile.duration for profile in profiles)
    instants = np.unique(np.concatenate([profile.breaks for profile in profiles]))
    # Of instants that differ by rounding the last is kept, so that the end of the motion is among them.
    instants = instants[np.append(np.diff(instants) > SAME_INSTANT * instants[1:], True)]
    alike = all(np.array_equal(profile.breaks, instants) for profile in profiles)
    joined = profiles if alike else [profile.snapped(instants) for profile in profiles]
    starts = [profile.breaks[: -1 if profile.duration == duration else None] for profile in joined]
    breaks = np.append(np.unique(np.concatenate(starts)), duration)
    knots = np.concatenate([np.append(profile.knots, profile.duration) for profile in joined])
    powers = np.zeros((len(breaks) - 1, max(p.coefficients.shape[1] for p in joined), len(joined)))
    origins = np.empty((len(breaks) - 1, len(joined)))
    for i, profile in enumerate(joined):
        piece = np.searchsorted(profile.breaks[1:-1], breaks[:-1], side="right")
        powers[:, : profile.coefficients.shape[1], i] = profile.coefficients[piece]
        origins[:, i] = profile.origins[piece]
        rests = breaks[:-1] >= profile.duration
        if rests.any():
            powers[rests, :, i] = 0.0
            powers[rests, 0, i] = profile.evaluate(profile.breaks[-1:])[0][0]
    smooth = np.flatnonzero(~np.isin(breaks[1:-1], knots)) + 1
    return as_motion(Profile(breaks, origins, powers, smooth), label)


def as_motion(profile: Profile, label: str) -> Motion:
    """The motion of several joints with common breaks."""
    return Motion(
        n=profile.coefficients.shape[2],
        duration=profile.duration,
        evaluate=profile.evaluate,
        jumps=profile.jumps,
        label=label,
        knots=profile.knots,
    )
