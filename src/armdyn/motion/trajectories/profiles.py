"""Timing laws of one joint, from rest to rest unless said: exact polynomials of time, piece by piece."""

from __future__ import annotations

from math import cbrt, comb, inf, isfinite, sqrt

import numpy as np
from numpy.polynomial import Polynomial

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.motion import STEP
from armdyn.motion.trajectories.piecewise import Profile, hermite, rest, symmetric

ROUNDING = 1e-9  # relative: data that miss each other by less are taken to agree


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
        if t_a > T / 2 * (1 + ROUNDING):
            raise MotionError(
                f"acceleration_time: found {t_a:g} s; speeding up and slowing down take longer than the "
                f"duration of {T:g} s"
            )
        return min(t_a, T / 2)
    if v:
        if v * T <= distance * (1 + ROUNDING):
            raise MotionError(
                f"max_velocity: found {v:g}; a distance of {distance:g} in {T:g} s needs more than "
                f"{distance / T:g}"
            )
        return min(T - distance / v, T / 2)
    assert a
    excess = 1 - 4 * distance / (a * T**2)
    if excess < -ROUNDING:
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
    """From rest to rest by a polynomial of degree 2k + 1 with k derivatives that vanish at both ends.

    As a part of the way that is u^(k + 1) Σ_j C(k + j, j) (1 − u)^j at the part u of the duration.
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
        if time <= ROUNDING * t_a:  # the largest acceleration is only touched
            continue
        breaks.append(breaks[-1] + time)
        powers.append([covered, speed, acceleration / 2, change / 6])
        covered += time * (speed + time * (acceleration / 2 + time * change / 6))
        speed += time * (acceleration + time * change / 2)
        acceleration += time * change
    breaks[-1] = t_a
    return symmetric(start, end, duration, np.array(breaks), np.array(powers))


def _jerk_times(distance: float, v: float, a: float, j: float) -> tuple[float, float]:
    """How long the jerk lasts, and how long the acceleration, of which it is the beginning and the end."""

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
