"""Motions of the tip: a path, a timing law along it, and the joints that follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.motion.checks import computable, number, one_of, positive_time, posture
from armdyn.motion.errors import MotionError
from armdyn.motion.tip import paths as tip_paths
from armdyn.motion.tip.following import LostPath, follow, singular_text
from armdyn.motion.tip.paths import TipPath
from armdyn.motion.tip.task import SINGULAR, TipTask, can_keep_orientation, tip_task
from armdyn.motion.trajectories import profiles
from armdyn.motion.trajectories.motion import Motion, Side, States, sample_times
from armdyn.motion.trajectories.piecewise import Profile, rest, together
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name

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
        raise MotionError(
            f"orientation: found {shown(orientation)}; allowed: 'auto', 'keep', 'follow' and 'free'"
        )
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
    samples = _Samples.of(label, timing, step)
    try:
        table = follow(task, path, q0)
    except LostPath as lost:
        k = int(np.searchsorted(samples.s, lost.s * (1 - 1e-12)).clip(max=len(samples.s) - 1))
        raise MotionError(f"{samples.name(k)}: {lost.why}") from None
    _check(samples, task, path, table.evaluate(samples.s)[0], check)
    evaluate = _Following(table, timing).evaluate
    return Motion(robot.n, timing.duration, evaluate, timing.jumps, label, timing.knots)


@dataclass(frozen=True)
class _Following:
    """An arm that follows a path of the tip: q̇ = q' ṡ, q̈ = q'' ṡ² + q' s̈."""

    table: Profile  # the posture q over s
    timing: Profile  # s over time

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        s, sd, sdd = self.timing.evaluate(t, side)
        q, first, second = self.table.evaluate(s)
        sd = sd[:, None]
        return q, first * sd, second * sd**2 + first * sdd[:, None]


@computable()
def _timing(size: float, profile: str, **data: Any) -> Profile:
    """The law from 0 to `size`, by its name and the data it takes."""
    one_of("profile", profile, *LAWS)
    law, names = LAWS[profile]
    given = {name: x for name, x in data.items() if x is not None}
    for name in given:
        if name not in names:
            raise MotionError(f"{name}: it is not used with a {profile} profile")
    for name in names:
        if name not in given and law is not profiles.trapezoidal:
            raise MotionError(f"a {profile} profile needs {name}")
    return law(0.0, size, **{name: number(name, x) for name, x in given.items()})


@dataclass(frozen=True)
class _Samples:
    """The samples of a motion that are checked: all, or every k-th of very many."""

    label: str
    step: float
    t: np.ndarray  # (N,)
    s: np.ndarray  # (N,), the path's parameter

    @classmethod
    def of(cls, label: str, timing: Profile, step: float) -> _Samples:
        every = max(1.0, np.ceil(timing.duration / positive_time("step", step) / MOST_CHECKED))
        t = sample_times(timing.duration, step * every)
        return cls(label, step, t, timing.evaluate(t)[0])

    def name(self, k: int) -> str:
        """The name of sample k in messages: its number among all samples, and its time."""
        number = int(np.ceil(self.t[k] / self.step * (1 - 1e-12)))
        return f"{self.label}: sample {number}, t = {self.t[k]:.6g} s"


def _check(samples: _Samples, task: TipTask, path: TipPath, q: np.ndarray, limits: bool) -> None:
    """Refuse samples that are singular, out of reach or beyond the joints' limits."""
    ratio = task.ratio(q)
    if (ratio < SINGULAR).any():
        k = int((ratio < SINGULAR).argmax())
        raise MotionError(f"{samples.name(k)}: {singular_text(ratio[k])}")
    missing = np.abs(task.error(q, path.poses(samples.s))).max(1)
    if (missing > 1e-9 * task.length).any():
        k = int((missing > 1e-9 * task.length).argmax())
        raise MotionError(f"{samples.name(k)}: the tip misses its path by {missing[k]:.2g} m")
    if not limits:
        return
    bounds = joint_limits(task.robot)
    beyond = np.argwhere((q < bounds.lower - 1e-9) | (q > bounds.upper + 1e-9))
    if len(beyond):
        k, i = beyond[0]
        raise MotionError(
            f"{samples.name(k)}: {joint_name(task.robot, i)} is at {q[k, i]:.6g}, beyond its limits "
            f"{bounds.lower[i]:.6g} … {bounds.upper[i]:.6g}; check_limits=False lets it pass"
        )
