"""Motions of the tip: a path, a timing law along it, and the joints that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from armdyn.analysis.limits import joint_limits, joint_name
from armdyn.motion import profiles, tip_paths
from armdyn.motion.checks import posture
from armdyn.motion.errors import MotionError
from armdyn.motion.motion import Motion, Side, States, sample_times
from armdyn.motion.path_following import Follower, LostPath, follow, singular_text
from armdyn.motion.piecewise import Profile, rest, together
from armdyn.motion.tip_paths import TipPath
from armdyn.motion.tip_task import SINGULAR, can_keep_orientation, tip_task
from armdyn.robot import Robot

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


def line(
    robot: Robot, q0: Any, end: Any, displacement: Any, orientation: Any, step: float, check: bool, **law: Any
) -> Motion:
    """The tip straight from where it is at q0."""
    start = posture("q0", q0, robot.n)
    pose = robot.pose(start)
    final, counts = tip_paths.final_rotation(end, orientation, pose)
    path = tip_paths.line(pose, end, displacement, final)
    return _motion("line", robot, start, path, counts, step, check, law)


def circle(
    robot: Robot,
    q0: Any,
    centre: Any,
    axis: Any,
    angle: float,
    orientation: Any,
    step: float,
    check: bool,
    **law: Any,
) -> Motion:
    """The tip from where it is at q0 around an axis."""
    start = posture("q0", q0, robot.n)
    allowed = {"auto": None, "keep": True, "follow": True, "free": False, None: False}
    if not isinstance(orientation, str | None) or orientation not in allowed:
        raise MotionError(f"orientation: found {orientation!r}; allowed: 'auto', 'keep', 'follow' and 'free'")
    path = tip_paths.arc(robot.pose(start), centre, axis, angle, orientation == "follow")
    return _motion("circle", robot, start, path, allowed[orientation], step, check, law)


def _motion(
    label: str,
    robot: Robot,
    q0: np.ndarray,
    path: TipPath,
    orientation: bool | None,
    step: float,
    check: bool,
    law: dict[str, Any],
) -> Motion:
    timing = _timing(path.size, **law)
    if path.size == 0:
        return together([rest(float(q), timing.duration) for q in q0], label)
    task = tip_task(robot, can_keep_orientation(robot) if orientation is None else orientation)
    t = sample_times(timing.duration, step)
    try:
        follower = follow(task, path, q0)
    except LostPath as lost:
        k = int(np.searchsorted(timing.evaluate(t)[0], lost.s * (1 - 1e-12)).clip(max=len(t) - 1))
        raise MotionError(f"{label}: sample {k}, t = {t[k]:.6g} s: {lost.why}") from None
    _check(label, robot, follower, timing, t, check)

    def evaluate(t: np.ndarray, side: Side) -> States:
        return follower.states(*timing.evaluate(t, side))

    return Motion(robot.n, timing.duration, evaluate, timing.jumps, label, timing.knots)


def _timing(size: float, profile: str, **data: Any) -> Profile:
    """The law from 0 to `size`, by its name and the data it takes."""
    if profile not in LAWS:
        raise MotionError(f"profile: found {profile!r}; allowed: {', '.join(LAWS)}")
    law, names = LAWS[profile]
    given = {name: x for name, x in data.items() if x is not None}
    for name in given:
        if name not in names:
            raise MotionError(f"{name}: it has no meaning with a {profile} profile")
    for name in names:
        if name not in given and law is not profiles.trapezoidal:
            raise MotionError(f"a {profile} profile needs {name}")
    for name, x in given.items():
        if not isinstance(x, int | float | np.number):
            raise MotionError(f"{name}: found {x!r}; one number is expected")
    return law(0.0, size, **given)


def _check(
    label: str, robot: Robot, follower: Follower, timing: Profile, t: np.ndarray, limits: bool
) -> None:
    """Refuse samples that are singular, out of reach or beyond the joints' limits."""
    s = timing.evaluate(t)[0]
    (q, _, _), ratio = follower.posture(s)
    if (ratio < SINGULAR).any():
        k = int((ratio < SINGULAR).argmax())
        raise MotionError(f"{label}: sample {k}, t = {t[k]:.6g} s: {singular_text(ratio[k])}")
    missing = np.abs(follower.task.error(q, follower.path.poses(s))).max(1)
    if (missing > 1e-9 * follower.task.length).any():
        k = int((missing > 1e-9 * follower.task.length).argmax())
        raise MotionError(
            f"{label}: sample {k}, t = {t[k]:.6g} s: the tip misses its path by {missing[k]:.2g} m"
        )
    if not limits:
        return
    bounds = joint_limits(robot)
    beyond = np.argwhere((q < bounds.lower - 1e-9) | (q > bounds.upper + 1e-9))
    if len(beyond):
        k, i = beyond[0]
        raise MotionError(
            f"{label}: sample {k}, t = {t[k]:.6g} s: {joint_name(robot, i)} is at {q[k, i]:.6g}, beyond its "
            f"limits {bounds.lower[i]:.6g} … {bounds.upper[i]:.6g}; check_limits=False lets it pass"
        )
