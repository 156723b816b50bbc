"""Motions through samples: states at instants, joined by polynomials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.instants import ROUNDING
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.piecewise import as_motion, hermite

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
    return as_motion(hermite(instants, first, last), "samples")  # type: ignore[arg-type]


def _rests(x: np.ndarray) -> np.ndarray:
    """Whether a sample equals those before and after it (N, n): the joint rests, a spline would not."""
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
    """Whether each instant but the last is the same as the next (N − 1,)."""
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
    """Where the acceleration jumps, position and velocity may not."""
    for name, x in (("position", q), ("velocity", qd)):
        jump = np.abs(np.diff(x, axis=0))[twice]
        bad = np.argwhere(jump > 1e-9 * max(np.abs(x).max(), 1e-3))
        if len(bad):
            i, joint = np.flatnonzero(twice)[bad[0][0]], bad[0][1]
            raise MotionError(
                f"{where(i + 1)}: the {name} of joint {joint + 1} jumps at t = {t[i]:.9g} s, from "
                f"{x[i, joint]:.9g} to {x[i + 1, joint]:.9g}; only the acceleration may"
            )
