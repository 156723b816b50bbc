"""Motions of the tip: a path, a timing law along it, and the joints that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.tip.following import LostPath, follow, singular_text
from armdyn.motion.tip.paths import TipPath
from armdyn.motion.tip.task import SINGULAR, TipTask, can_keep_orientation, tip_task
from armdyn.motion.trajectories import profiles
from armdyn.motion.trajectories.composed import composed
from armdyn.motion.trajectories.motion import Motion, sample_times
from armdyn.motion.trajectories.piecewise import Profile, as_motion, rest, together
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, followers, joint_limits, joint_name

# By name: the law and the data it takes, which all laws but the trapezoidal need in full.
LAWS: dict[str, tuple[Callable[..., Profile], tuple[str, ...]]] = {
    "trapezoidal": (
        profiles.trapezoidal,
        ("acceleration_time", "max_velocity", "max_acceleration", "duration"),
    ),
    "triangular": (profiles.triangular, ("duration",)),
    "cubic": (profiles.cubic, ("duration",)),
    "quintic": (profiles.quintic, ("duration",)),
    "jerk_limited": (profiles.jerk_limited, ("max_velocity", "max_acceleration", "max_jerk")),
}

MOST_CHECKED = 100_000  # samples of a tip's motion


class TipLaw(TypedDict, total=False):
    """What may be said about the speed of the tip."""

    profile: str
    acceleration_time: float | None
    max_velocity: float | None
    max_acceleration: float | None
    max_jerk: float | None
    duration: float | None


def tip_motion(
    label: str,
    robot: Robot,
    q0: np.ndarray,
    path: TipPath,
    orientation: bool | None,
    limits: bool,
    step: float,
    law: TipLaw,
) -> Motion:
    """The arm that takes its tip from its pose at q0 (n,) along a path; `orientation` None: where it can."""
    timing = _timing(path.size, **law)
    if path.size == 0:
        return together([rest(float(q), timing.duration) for q in q0], label)
    task = tip_task(robot, can_keep_orientation(robot) if orientation is None else orientation)
    # All samples are checked, or every k-th of very many.
    every = max(1.0, np.ceil(timing.duration / check.positive_time("step", step) / MOST_CHECKED))
    t = sample_times(timing.duration, step * every)
    s = timing.evaluate(t)[0]
    try:
        table = follow(task, path, q0)
        _check(task, path, s, table.evaluate(s)[0], limits)
    except LostPath as lost:
        k = int(np.searchsorted(s, lost.s * (1 - 1e-12)).clip(max=len(s) - 1))
        sample = int(np.ceil(t[k] / step * (1 - 1e-12)))
        raise MotionError(f"{label}: sample {sample}, t = {t[k]:.6g} s: {lost.why}") from None
    return composed(as_motion(table, label), together([timing], label), label)


@check.computable()
def _timing(size: float, profile: str = "trapezoidal", **data: Any) -> Profile:
    """The law from 0 to `size`, by its name and the data it takes."""
    check.one_of("profile", profile, *LAWS)
    law, names = LAWS[profile]
    known = {name for _, takes in LAWS.values() for name in takes}
    given = {name: check.number(name, x) for name, x in data.items() if x is not None or name not in known}
    for name in given:
        if name not in names:
            raise MotionError(f"{name}: a {profile} profile does not take it, but {', '.join(names)}")
    for name in names:
        if name not in given and law is not profiles.trapezoidal:
            raise MotionError(f"a {profile} profile needs {name}")
    return law(0.0, size, **given)


def _check(task: TipTask, path: TipPath, s: np.ndarray, q: np.ndarray, limits: bool) -> None:
    """Refuse postures (N, n) at s (N,) that are singular, miss the path or are beyond the joints' limits."""
    ratio = task.ratio(q)
    if (ratio < SINGULAR).any():
        k = int((ratio < SINGULAR).argmax())
        raise LostPath(s[k], singular_text(ratio[k]))
    missing = np.abs(task.error(q, path.poses(s))).max(1)
    if (missing > 1e-9 * task.length).any():
        k = int((missing > 1e-9 * task.length).argmax())
        raise LostPath(s[k], f"the tip misses its path by {missing[k]:.2g} m")
    if limits:
        _check_range(s, q, joint_limits(task.robot), lambda i: joint_name(task.robot, i))
        if (others := followers(task.robot)) is not None:
            _check_range(s, others.positions(q), others.limits, others.name)


def _check_range(s: np.ndarray, q: np.ndarray, bounds: JointLimits, name: Callable[[int], str]) -> None:
    beyond = np.argwhere((q < bounds.lower - 1e-9) | (q > bounds.upper + 1e-9))
    if len(beyond):
        k, i = beyond[0]
        raise LostPath(
            s[k],
            f"{name(i)} is at {q[k, i]:.6g}, beyond its limits "
            f"{bounds.lower[i]:.6g} … {bounds.upper[i]:.6g}; check_limits=False lets it pass",
        )
