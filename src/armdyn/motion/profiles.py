"""Polynomials of time, piece by piece: through via points, through samples, and by timing laws."""

from __future__ import annotations

from collections.abc import Callable, Collection
from math import cbrt, comb, inf, isfinite, sqrt
from typing import Any, Literal

import numpy as np
from numpy.polynomial import Polynomial
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline

from armdyn.motion.errors import MotionError, check
from armdyn.motion.motion import (
    ROUNDING,
    SAME_INSTANT,
    STEP,
    Motion,
    Profile,
    States,
    as_motion,
    hermite,
    rest,
    symmetric,
    together,
)

# ------------------------------------------------------------------------------------------------------------
# Motions through or past via points: splines, and straight pieces with parabolic blends.


Kind = Literal["cubic", "quintic", "blend"]

SOLVED = 1e-13  # of a joint's largest velocity: accuracy of velocities at the points of a spline


@check.computable()
def via_points(
    points: Any, times: Any, kind: Kind, ends: tuple[Any, Any], limits: tuple[Any, Any], blend_time: Any
) -> Motion:
    """A motion for points (K, n), reached at `times` (K,), which are counted from the first.

    kind "cubic": the spline of cubics with continuous acceleration; "quintic": the spline of quintics with
    continuous derivatives up to the fourth and no acceleration at the ends; both with velocities qd0 and qd1
    at the ends, zero where not given. Without times, the motion takes as long as the limits of velocity and
    acceleration need, one of them being reached. "blend": straight lines between the points and constant
    acceleration for `blend_time` around each, so that inner points are passed and not met; the motion is
    longer than the times by one blend time.
    """
    check.one_of("kind", kind, "cubic", "quintic", "blend")
    places = _points(points)
    n = places.shape[1]
    velocities = dict(zip(("qd0", "qd1"), ends, strict=True))
    bounds = dict(zip(("max_velocity", "max_acceleration"), limits, strict=True))
    if kind == "blend":
        _refuse("blend", **velocities, **bounds)
        if times is None or blend_time is None:
            raise MotionError("kind 'blend' takes times and a blend_time")
        return as_motion(_blended(places, _times(times, len(places)), blend_time), "via points, blended")
    _refuse(kind, blend_time=blend_time)
    qd0, qd1 = (np.array(check.per_joint(name, 0.0 if x is None else x, n)) for name, x in velocities.items())
    if not np.isfinite([qd0, qd1]).all():
        raise MotionError("qd0, qd1: finite velocities are expected")
    if times is not None:
        _refuse("times given", **bounds)
        instants = _times(times, len(places))
    elif np.any([qd0, qd1]):
        raise MotionError("times: they are needed where an end velocity is not zero")
    else:
        instants = _least_times(places, kind, bounds)
    return as_motion(_spline(places, instants, kind, qd0, qd1), f"via points, {kind}")


def _points(points: Any) -> np.ndarray:
    found = check.numbers("points", points)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or len(found) < 2 or not found.shape[1]:
        raise MotionError(f"points: two rows or more are expected, found an array of shape {found.shape}")
    return found


def _times(times: Any, count: int) -> np.ndarray:
    found = check.numbers("times", times)
    if found.shape != (count,):
        raise MotionError(f"times: {count} instants are expected, one per point, found shape {found.shape}")
    if (np.diff(found) <= 0).any():
        i = int((np.diff(found) <= 0).argmax())
        raise MotionError(
            f"times: point {i + 1} comes at {found[i + 1]:g} s, point {i} at {found[i]:g} s; times must grow"
        )
    return np.asarray(found - found[0])


def _refuse(what: str, **given: Any) -> None:
    for name, x in given.items():
        if x is not None:
            raise MotionError(f"{name}: it is not used with {what}")


def _spline(points: np.ndarray, t: np.ndarray, kind: str, qd0: Any = 0.0, qd1: Any = 0.0) -> Profile:
    moved = points - points[0]  # all zeros for a joint that stays, and so is its spline
    rest = np.zeros(points.shape[1])
    qd0, qd1 = rest + qd0, rest + qd1
    if kind == "cubic":
        spline = CubicSpline(t, moved, bc_type=((1, qd0), (1, qd1)))
    else:
        ends = ([(1, qd0), (2, rest)], [(1, qd1), (2, rest)])
        spline = make_interp_spline(t, moved, k=5, bc_type=ends)
    velocity, acceleration = _but_rounding(spline(t, 1)), spline(t, 2)
    velocity[0], velocity[-1] = qd0, qd1
    if kind == "quintic":
        acceleration[[0, -1]] = 0.0
    first: States = (points[:-1], velocity[:-1], acceleration[:-1])
    return hermite(t, first, (points[1:], velocity[1:], acceleration[1:]))


def _but_rounding(velocity: np.ndarray) -> np.ndarray:
    """Velocities (K, n), with zeros for those that are rounding errors beside their joint's largest one."""
    return np.where(np.abs(velocity) <= SOLVED * np.abs(velocity).max(0), 0.0, velocity)


def _least_times(points: np.ndarray, kind: str, bounds: dict[str, Any]) -> np.ndarray:
    """Instants in the proportion of the largest joint distances, as short as the limits allow."""
    if all(x is None for x in bounds.values()):
        raise MotionError("times: give them, or max_velocity, max_acceleration or both")
    n = points.shape[1]
    v, a = (np.array(check.per_joint(name, np.inf if x is None else x, n)) for name, x in bounds.items())
    for name, x in zip(bounds, (v, a), strict=True):
        if not (x > 0).all():
            i = int((~(x > 0)).argmax())
            raise MotionError(f"{name}: joint {i + 1}: found {x[i]:g}; a positive number is expected")
    if not np.isfinite([*v, *a]).any():
        raise MotionError("max_velocity, max_acceleration: one of them must be finite")
    distance = np.abs(np.diff(points, axis=0))
    weight = 1 / (v if np.isfinite(v).all() else a if np.isfinite(a).all() else np.ones(n))
    length = (distance * weight).max(1)
    if not length.all():
        i = int((length == 0).argmax())
        raise MotionError(f"points: points {i} and {i + 1} are the same; give times")
    t = np.concatenate([[0.0], np.cumsum(length / length.max())])
    spline = _spline(points, t, kind)  # every other piece is written from the end of the one before
    velocity = PPoly(spline.coefficients[::2, ::-1].swapaxes(0, 1), spline.breaks[::2]).derivative()
    factor = max((_largest(velocity) / v).max(), np.sqrt((_largest(velocity.derivative()) / a).max()))
    return np.asarray(t * factor)


def _largest(of: PPoly) -> np.ndarray:
    """The largest magnitude (n,) of piecewise polynomials, found at ends of pieces and zeros of the slope."""
    roots = of.derivative().roots(extrapolate=False)
    places = [np.append(of.x, x[np.isfinite(x)]) for x in roots]
    return np.array([np.abs(of(x)[:, i]).max() for i, x in enumerate(places)])


def _blended(points: np.ndarray, t: np.ndarray, blend_time: float) -> Profile:
    """Straight lines between the points, with constant acceleration around each and at both ends."""
    blend_time = check.positive_time("blend_time", blend_time)
    if (np.diff(t) < blend_time * (1 - 1e-9)).any():
        i = int((np.diff(t) < blend_time).argmax())
        raise MotionError(
            f"blend_time: found {blend_time:g} s; points {i} and {i + 1} are only {t[i + 1] - t[i]:g} s apart"
        )
    rest = np.zeros((1, points.shape[1]))
    velocity = np.concatenate([rest, np.diff(points, axis=0) / np.diff(t)[:, None], rest])
    count, half = len(points), blend_time / 2
    middle = t + half  # of the blends, on the motion's own clock
    pieces = np.zeros((2 * count - 1, 3, points.shape[1]))
    # A blend is written from its middle, where the two lines meet at the point; the last one from its end.
    bend = np.diff(velocity, axis=0) / blend_time
    pieces[::2, 0] = points + bend * half**2 / 2
    pieces[::2, 1] = _but_rounding((velocity[1:] + velocity[:-1]) / 2)
    pieces[::2, 2] = bend / 2
    pieces[1::2, 0], pieces[1::2, 1] = points[:-1], velocity[1:-1]
    origins = np.empty(2 * count - 1)
    origins[::2], origins[1::2] = middle, middle[:-1]
    breaks = np.column_stack([middle - half, middle + half]).ravel()
    breaks[0] = 0.0
    for piece, instant, k in ((0, breaks[0], 0), (-1, breaks[-1], -1)):
        origins[piece] = instant
        pieces[piece, 0], pieces[piece, 1] = points[k], 0.0
    keep = np.append(True, np.diff(breaks) > SAME_INSTANT * breaks[1:])
    return Profile(breaks[keep], origins[keep[1:], None], pieces[keep[1:]])


# ------------------------------------------------------------------------------------------------------------
# Motions through samples: states at instants, joined by polynomials.


Where = Callable[[int], str]  # the name of a sample in messages


def _sample(i: int) -> str:
    return f"sample {i}"


@check.computable()
def through_samples(t: Any, q: Any, qd: Any = None, qdd: Any = None, where: Where = _sample) -> Motion:
    """The motion with states q, qd, qdd (N, n) at instants t (N,), which are counted from the first.

    Between samples it is the quintic that has the states at both ends. Without accelerations these are the
    slopes of a cubic spline through the velocities; without velocities either, the motion is a cubic spline
    through the positions. An instant that appears twice is one at which the acceleration jumps.
    """
    times = check.numbers("t", t)
    if times.ndim != 1 or len(times) < 2:
        raise MotionError(f"t: a list of two instants or more is expected, found shape {times.shape}")
    position = _states("q", q, len(times))
    velocity, acceleration = (
        None if x is None else _states(name, x, len(times), position.shape[1])
        for name, x in (("qd", qd), ("qdd", qdd))
    )
    if velocity is None and acceleration is not None:
        raise MotionError("qdd: accelerations without velocities; give qd too")
    twice = _check_instants(times, where)
    if twice.any() and (velocity is None or acceleration is None):
        i = int(twice.argmax())
        raise MotionError(
            f"{where(i + 1)}: the time stamp t = {times[i]:.9g} s is repeated; this marks a jump of the "
            "acceleration, and needs qd and qdd too"
        )
    if velocity is None:
        position = np.where(
            np.ptp(position, axis=0) <= ROUNDING * np.abs(position).max(0), position[0], position
        )
        spline, rests = CubicSpline(times, position), _rests(position)
        velocity, acceleration = (np.where(rests, 0.0, spline(times, k)) for k in (1, 2))
    elif acceleration is None:
        rests = _rests(position) & _rests(velocity)
        acceleration = np.where(rests, 0.0, CubicSpline(times, velocity)(times, 1))
    assert acceleration is not None
    _check_jumps(times, twice, position, velocity, where)
    here, there = np.flatnonzero(~twice), np.flatnonzero(~twice) + 1
    data = (position, velocity, acceleration)
    first, last = (tuple(x[rows] for x in data) for rows in (here, there))
    instants = np.append(times[here], times[-1]) - times[0]
    return as_motion(hermite(instants, first, last), "through samples")  # type: ignore[arg-type]


def _rests(x: np.ndarray) -> np.ndarray:
    """True (N, n) where a sample equals those before and after it: the joint rests, a spline would not."""
    same = np.diff(x, axis=0) == 0
    inner = same[1:] & same[:-1] if len(same) > 1 else same
    return np.concatenate([inner[:1], inner, inner[-1:]])[: len(x)]


def _states(name: str, x: Any, rows: int, columns: int | None = None) -> np.ndarray:
    found = check.numbers(name, x)
    found = found[:, None] if found.ndim == 1 else found
    if found.ndim != 2 or len(found) != rows or not found.shape[1]:
        raise MotionError(
            f"{name}: {rows} rows are expected, as many as instants, found an array of shape {found.shape}"
        )
    if columns is not None and found.shape[1] != columns:
        raise MotionError(f"{name}: as many columns as q are expected, {columns}, found {found.shape[1]}")
    return found


def _check_instants(t: np.ndarray, where: Where) -> np.ndarray:
    """True (N − 1,) where an instant equals the next; times that go back are refused."""
    gaps = np.diff(t)
    if (gaps < 0).any():
        i = int((gaps < 0).argmax())
        raise MotionError(
            f"{where(i + 1)}: t = {t[i + 1]:.9g} s comes after {t[i]:.9g} s; times must not go back"
        )
    twice: np.ndarray = gaps == 0
    often = twice[1:] & twice[:-1]
    if often.any():
        i = int(often.argmax()) + 2
        raise MotionError(f"{where(i)}: t = {t[i]:.9g} s appears more than twice")
    if twice[0] or twice[-1]:
        i = 1 if twice[0] else len(t) - 1
        raise MotionError(f"{where(i)}: t = {t[i]:.9g} s, an end of the motion, appears twice")
    return twice


def _check_jumps(t: np.ndarray, twice: np.ndarray, q: np.ndarray, qd: np.ndarray, where: Where) -> None:
    """Refuse samples whose position or velocity jumps where the acceleration does."""
    for name, x in (("position", q), ("velocity", qd)):
        jump = np.abs(np.diff(x, axis=0))[twice]
        bad = np.argwhere(jump > 1e-9 * max(np.abs(x).max(), 1e-3))
        if len(bad):
            i, joint = np.flatnonzero(twice)[bad[0][0]], bad[0][1]
            raise MotionError(
                f"{where(i + 1)}: the {name} of joint {joint + 1} jumps at t = {t[i]:.9g} s, from "
                f"{x[i, joint]:.9g} to {x[i + 1, joint]:.9g}; only the acceleration may"
            )


# ------------------------------------------------------------------------------------------------------------
# Timing laws of one joint, from rest to rest unless said: exact polynomials of time, piece by piece.


AGREE = 1e-9  # relative: data that miss each other by less are taken to agree


def triangular(start: float, end: float, duration: float) -> Profile:
    """Constant acceleration for half of the time, then the opposite one."""
    return _trapezoid(start, end, check.positive_time("duration", duration) / 2, duration)


def trapezoidal(
    start: float,
    end: float,
    *,
    acceleration_time: float | None = None,
    max_velocity: float | None = None,
    max_acceleration: float | None = None,
    duration: float | None = None,
) -> Profile:
    """Constant acceleration, constant velocity, constant deceleration, from two of the four data.

    The profile is triangular where the top speed is not reached. Without a distance to cover the joint rests:
    for the duration, for twice the acceleration time, or, with neither, for one step.
    """
    t_a = None if acceleration_time is None else check.positive_time("acceleration_time", acceleration_time)
    v = None if max_velocity is None else check.positive("max_velocity", max_velocity)
    a = None if max_acceleration is None else check.positive("max_acceleration", max_acceleration)
    T = None if duration is None else check.positive_time("duration", duration)
    if sum(x is not None for x in (t_a, v, a, T)) != 2:
        names = "acceleration_time, max_velocity, max_acceleration and duration"
        raise MotionError(f"a trapezoidal profile takes two of {names}")
    distance = abs(end - start)
    if distance == 0:
        return rest(start, T or (2 * t_a if t_a else STEP))
    if t_a and a:
        v = a * t_a
    if T:
        return _trapezoid(start, end, _acceleration_time(distance, T, t_a, v, a), T)
    assert v
    if a and not t_a:
        t_a = min(v / a, sqrt(distance / a))
    assert t_a
    return _trapezoid(start, end, t_a, max(distance / v + t_a, 2 * t_a))


def _acceleration_time(
    distance: float, T: float, t_a: float | None, v: float | None, a: float | None
) -> float:
    """The time of speeding up of a trapezoid of given duration."""
    if t_a:
        if t_a > T / 2 * (1 + AGREE):
            raise MotionError(
                f"acceleration_time: found {t_a:g} s; speeding up and slowing down take longer than the "
                f"duration of {T:g} s"
            )
        return min(t_a, T / 2)
    if v:
        if v * T <= distance * (1 + AGREE):
            raise MotionError(
                f"max_velocity: found {v:g}; a distance of {distance:g} in {T:g} s needs more than "
                f"{distance / T:g}"
            )
        return min(T - distance / v, T / 2)
    assert a
    excess = 1 - 4 * distance / (a * T**2)
    if excess < -AGREE:
        raise MotionError(
            f"max_acceleration: found {a:g}; a distance of {distance:g} in {T:g} s needs "
            f"{4 * distance / T**2:g}"
        )
    # T/2 (1 − √excess), without the cancellation of a short acceleration.
    return 2 * distance / (a * T) / (1 + sqrt(max(excess, 0.0)))


def _trapezoid(start: float, end: float, t_a: float, duration: float) -> Profile:
    if start == end:
        return rest(start, duration)
    velocity = (end - start) / (duration - t_a)
    powers = np.array([[0.0, 0.0, velocity / t_a / 2]])
    return symmetric(start, end, duration, np.array([0.0, t_a]), powers)


def cubic(start: float, end: float, duration: float, qd0: float = 0.0, qd1: float = 0.0) -> Profile:
    """The cubic with velocities qd0 and qd1 at its ends."""
    T = check.positive_time("duration", duration)
    mean = (end - start) / T
    qdd0, qdd1 = (6 * mean - 4 * qd0 - 2 * qd1) / T, (-6 * mean + 2 * qd0 + 4 * qd1) / T
    return quintic(start, end, duration, qd0, qd1, qdd0, qdd1)


def quintic(
    start: float,
    end: float,
    duration: float,
    qd0: float = 0.0,
    qd1: float = 0.0,
    qdd0: float = 0.0,
    qdd1: float = 0.0,
) -> Profile:
    """The polynomial of fifth degree with velocities qd0, qd1 and accelerations qdd0, qdd1 at its ends."""
    T = check.positive_time("duration", duration)
    for name, x in {"qd0": qd0, "qd1": qd1, "qdd0": qdd0, "qdd1": qdd1}.items():
        if not isfinite(x):
            raise MotionError(f"{name}: found {x}; a finite number is expected")
    ends = (start, qd0, qdd0), (end, qd1, qdd1)
    first, last = ((np.array([q]), np.array([v]), np.array([a])) for q, v, a in ends)
    return hermite(np.array([0.0, T]), first, last)


def smooth(start: float, end: float, duration: float, degree: float = 7) -> Profile:
    """Profile from rest to rest by a polynomial of degree 2k + 1; k derivatives vanish at both ends.

    The part of the way covered is u^(k + 1) Σ_j C(k + j, j) (1 − u)^j at the part u of the duration.
    """
    T = check.positive_time("duration", duration)
    if degree not in (5, 7, 9):
        raise MotionError(f"degree: found {degree:g}; 5, 7 or 9 is expected")
    k = (int(degree) - 1) // 2
    part = sum((comb(k + j, j) * Polynomial([1, -1]) ** j for j in range(k + 1)), Polynomial([0]))
    part = Polynomial([0] * (k + 1) + [1]) * part
    powers = (end - start) * np.asarray(part.coef, float) / T ** np.arange(int(degree) + 1)
    back = -powers * (-1.0) ** np.arange(int(degree) + 1)
    powers[0], back[0] = start, end
    return Profile(
        np.array([0.0, T / 2, T]), np.array([0.0, T]), np.array([powers, back]), smooth=np.array([1])
    )


def jerk_limited(
    start: float, end: float, max_velocity: float, max_acceleration: float, max_jerk: float
) -> Profile:
    """The fastest law under limits of velocity, acceleration and jerk: up to seven pieces of constant jerk.

    Velocity and acceleration may be unlimited (inf). Without a distance to cover the joint rests one step.
    """
    v = inf if max_velocity == inf else check.positive("max_velocity", max_velocity)
    a = inf if max_acceleration == inf else check.positive("max_acceleration", max_acceleration)
    j = check.positive("max_jerk", max_jerk)
    distance = abs(end - start)
    if distance == 0:
        return rest(start, STEP)
    t_j, t_a = _jerk_times(distance, v, a, j)
    # What is covered while speeding up is t_a/2 times the top speed, which is jerk · t_j · (t_a − t_j).
    duration = max(distance / v + t_a, 2 * t_a)
    jerk = (end - start) / ((duration - t_a) * t_j * (t_a - t_j))
    breaks, powers, covered, speed, acceleration = [0.0], [], 0.0, 0.0, 0.0
    for time, change in ((t_j, jerk), (t_a - 2 * t_j, 0.0), (t_j, -jerk)):
        if time <= AGREE * t_a:  # the largest acceleration is only touched
            continue
        breaks.append(breaks[-1] + time)
        powers.append([covered, speed, acceleration / 2, change / 6])
        covered += time * (speed + time * (acceleration / 2 + time * change / 6))
        speed += time * (acceleration + time * change / 2)
        acceleration += time * change
    breaks[-1] = t_a
    return symmetric(start, end, duration, np.array(breaks), np.array(powers))


def _jerk_times(distance: float, v: float, a: float, j: float) -> tuple[float, float]:
    """Times of the jerk and of the whole acceleration, which begins and ends with this jerk [s]."""

    def to_speed(v: float) -> tuple[float, float]:
        if v * j < a * a:
            return sqrt(v / j), 2 * sqrt(v / j)
        return a / j, a / j + v / a

    if isfinite(v):
        t_j, t_a = to_speed(v)
        if v * t_a <= distance:
            return t_j, t_a
    if isfinite(a) and 2 * a * (a / j) ** 2 <= distance:
        t_j = a / j
        return t_j, t_j / 2 + sqrt(t_j**2 / 4 + distance / a)
    t_j = cbrt(distance / (2 * j))
    return t_j, 2 * t_j


# By name: the law and the data it takes, which all laws but the trapezoidal need in full.
LAWS: dict[str, tuple[Callable[..., Profile], tuple[str, ...]]] = {
    "trapezoidal": (trapezoidal, ("acceleration_time", "max_velocity", "max_acceleration", "duration")),
    "triangular": (triangular, ("duration",)),
    "cubic": (cubic, ("duration",)),
    "quintic": (quintic, ("duration",)),
    "jerk_limited": (jerk_limited, ("max_velocity", "max_acceleration", "max_jerk")),
}


def check_law(profile: str, given: Collection[str]) -> None:
    """Refuse names of data that a law does not take, and where it lacks one."""
    _, names = LAWS[profile]
    for name in given:
        if name not in names:
            raise MotionError(f"{name}: a {profile} profile does not take it, but {', '.join(names)}")
    for name in names:
        if name not in given and profile != "trapezoidal":
            raise MotionError(f"a {profile} profile needs {name}")


# ------------------------------------------------------------------------------------------------------------
# Motions of n joints from one posture to another, by these laws.


Law = Callable[..., Profile]  # (start, end, one number of each kind by name)
Data = dict[str, float]
TIMES = ("acceleration_time", "duration")
OPTIONAL = ("qd0", "qd1", "qdd0", "qdd1")


@check.computable()
def between(law: Law, q0: Any, q1: Any, synchronised: bool = False, **data: Any) -> Motion:
    """Motion from q0 (n,) to q1 (n,), each joint by its own law or all `synchronised`.

    `data` are numbers, or one per joint, which the law takes by name; its own defaults stand for None.
    """
    start = check.posture("q0", q0)
    end = check.posture("q1", q1, len(start))
    for name, x in data.items():  # the trapezoidal law has its own message
        if x is None and name not in OPTIONAL and law is not trapezoidal:
            raise MotionError(f"{name}: expected one number or one per joint, found None")
    columns = {name: check.per_joint(name, x, len(start)) for name, x in data.items() if x is not None}
    rows = [{name: column[i] for name, column in columns.items()} for i in range(len(start))]
    make = _synchronised if synchronised else _each
    return make(law, start, end, rows, law.__name__.replace("_", "-"))


def _each(law: Law, start: np.ndarray, end: np.ndarray, rows: list[Data], label: str) -> Motion:
    """Motion in which every joint moves by its own law."""
    found = [_named(i, law, *x) for i, x in enumerate(zip(start, end, rows, strict=True))]
    duration = max(profile.duration for profile in found)
    for i, profile in enumerate(found):
        if profile.duration < duration and (speed := profile.evaluate(profile.breaks[-1:])[1][0]):
            raise MotionError(
                f"joint {i + 1}: it arrives at {profile.duration:g} s with a velocity of {speed:g}, so it "
                f"cannot wait at rest until the others arrive at {duration:g} s"
            )
    return together(found, label)


def _synchronised(law: Law, start: np.ndarray, end: np.ndarray, rows: list[Data], label: str) -> Motion:
    """All joints along the straight line of joint space by one law, as fast as the slowest joint allows.

    Of times the law of the line takes the longest. Of limits of velocity, acceleration and jerk it takes the
    tightest, each divided by its joint's distance.
    """
    distance = np.abs(end - start)
    times = {name: max(row[name] for row in rows) for name in rows[0] if name in TIMES}
    limits = {
        name: min((row[name] / d for row, d in zip(rows, distance, strict=True) if d), default=1.0)
        for name in rows[0]
        if name not in TIMES
    }
    for i, row in enumerate(rows):  # so that the message names the joint
        _named(i, law, start[i], end[i], row | times)
    if not distance.any():
        profile = law(0.0, 0.0, **limits, **times)
        return together([rest(float(q), profile.duration) for q in start], label)
    return as_motion(law(0.0, 1.0, **limits, **times).between(start, end), label)


def _named(joint: int, law: Law, start: float, end: float, data: Data) -> Profile:
    """The law of one joint; messages about its data name the joint."""
    try:
        return law(float(start), float(end), **data)
    except MotionError as problem:
        raise MotionError(f"joint {joint + 1}: {problem}") from None
