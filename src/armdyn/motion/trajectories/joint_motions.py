"""Motions of n joints from one posture to another, by the timing laws of `profiles`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories import profiles
from armdyn.motion.trajectories.motion import Motion
from armdyn.motion.trajectories.piecewise import Profile, as_motion, rest, together

Law = Callable[..., Profile]  # (start, end, one number of each kind by name)
Data = dict[str, float]
TIMES = ("acceleration_time", "duration")
OPTIONAL = ("qd0", "qd1", "qdd0", "qdd1")


@check.computable()
def between(law: Law, q0: Any, q1: Any, synchronised: bool = False, **data: Any) -> Motion:
    """From q0 (n,) to q1 (n,), each joint by its own law or all `synchronised`.

    `data` are numbers, or one per joint, which the law takes by name; its own defaults stand for None.
    """
    start = check.posture("q0", q0)
    end = check.posture("q1", q1, len(start))
    for name, x in data.items():  # the trapezoidal law has its own message
        if x is None and name not in OPTIONAL and law is not profiles.trapezoidal:
            raise MotionError(f"{name}: expected one number or one per joint, found None")
    columns = {name: check.per_joint(name, x, len(start)) for name, x in data.items() if x is not None}
    rows = [{name: column[i] for name, column in columns.items()} for i in range(len(start))]
    make = _synchronised if synchronised else _each
    return make(law, start, end, rows, law.__name__.replace("_", "-"))


def _each(law: Law, start: np.ndarray, end: np.ndarray, rows: list[Data], label: str) -> Motion:
    """Every joint by its own law."""
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
