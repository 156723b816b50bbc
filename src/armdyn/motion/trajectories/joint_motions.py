"""Motions of n joints from one posture to another, by the timing laws of `profiles`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armdyn.motion.checks import computable, per_joint, posture
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories import profiles
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.piecewise import Profile, as_motion, rest, together

Law = Callable[..., Profile]  # (start, end, one number of each kind by name)
NEEDED = {"duration", "max_velocity", "max_acceleration", "max_jerk"}  # where a law takes them


@computable()
def each(label: str, law: Law, q0: Any, q1: Any, **data: Any) -> Motion:
    """Every joint by its own law; `data` are numbers, or one per joint, which the law takes by name.

    The law's own defaults stand for what is None.
    """
    start, end, rows = _per_joint(q0, q1, data, law)
    found = [_named(i, law, *x) for i, x in enumerate(zip(start, end, rows, strict=True))]
    duration = max(profile.duration for profile in found)
    for i, profile in enumerate(found):
        speed = profile.evaluate(profile.breaks[-1:])[1][0]
        if speed and profile.duration < duration:
            raise MotionError(
                f"joint {i + 1}: it arrives at {profile.duration:g} s with a velocity of {speed:g}, so it "
                f"cannot wait at rest until the others arrive at {duration:g} s"
            )
    return together(found, label)


@computable()
def synchronised(label: str, law: Law, q0: Any, q1: Any, limits: dict[str, Any], **times: Any) -> Motion:
    """All joints along the straight line of joint space by one law, as fast as the slowest joint allows.

    `limits` bound each joint's velocity, acceleration or jerk; the law of the line takes the tightest of
    them, each divided by its joint's distance. Of `times` it takes the longest.
    """
    start, end, rows = _per_joint(q0, q1, limits | times, law)
    distance = np.abs(end - start)
    data = {
        name: max(row[name] for row in rows)
        if name in times
        else min((row[name] / d for row, d in zip(rows, distance, strict=True) if d), default=1.0)
        for name in rows[0]
    }
    for i, row in enumerate(rows):  # so that the message names the joint
        _named(i, law, start[i], end[i], row | {name: x for name, x in data.items() if name in times})
    if not distance.any():
        profile = law(0.0, 0.0, **data)
        return together([rest(float(q), profile.duration) for q in start], label)
    return as_motion(law(0.0, 1.0, **data).between(start, end), label)


def trapezoidal(q0: Any, q1: Any, *, together: bool, **data: Any) -> Motion:
    """Trapezoidal velocities, each joint for itself or all `together`."""
    times = {name: data.pop(name) for name in ("acceleration_time", "duration")}
    if together:
        return synchronised("trapezoidal", profiles.trapezoidal, q0, q1, data, **times)
    return each("trapezoidal", profiles.trapezoidal, q0, q1, **data, **times)


def jerk_limited(q0: Any, q1: Any, *, together: bool, **limits: Any) -> Motion:
    """The fastest motion under limits of velocity, acceleration and jerk, for each joint or on a line."""
    if together:
        return synchronised("jerk-limited", profiles.jerk_limited, q0, q1, limits)
    return each("jerk-limited", profiles.jerk_limited, q0, q1, **limits)


def _per_joint(
    q0: Any, q1: Any, data: dict[str, Any], law: Law
) -> tuple[np.ndarray, np.ndarray, list[dict[str, float]]]:
    start = posture("q0", q0)
    end = posture("q1", q1, len(start))
    for name, x in data.items():  # the trapezoidal law has its own message
        if x is None and name in NEEDED and law is not profiles.trapezoidal:
            raise MotionError(f"{name}: expected one number or one per joint, found None")
    columns = {name: per_joint(name, x, len(start)) for name, x in data.items() if x is not None}
    return start, end, [{name: column[i] for name, column in columns.items()} for i in range(len(start))]


def _named(joint: int, law: Law, start: float, end: float, data: dict[str, float]) -> Profile:
    """The law of one joint; messages about its data name the joint."""
    try:
        return law(float(start), float(end), **data)
    except MotionError as problem:
        raise MotionError(f"joint {joint + 1}: {problem}") from None
