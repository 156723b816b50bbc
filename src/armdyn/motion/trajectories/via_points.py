"""Motions through or past via points: splines, and straight pieces with parabolic blends."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.interpolate import CubicSpline, PPoly, make_interp_spline

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.instants import SAME_INSTANT
from armdyn.motion.trajectories.motion import Motion, States
from armdyn.motion.trajectories.piecewise import Profile, as_motion, hermite

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
