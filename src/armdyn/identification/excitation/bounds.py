"""Within which limits a motion has to stay: the robot's, or those given instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armdyn.expression import shown
from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits, joint_name, revolute_joints

SPEEDS = ("velocity", "acceleration", "jerk", "torque")


@dataclass(frozen=True)
class Bounds:
    """Limits (n,) and the part of them that a motion may use."""

    limits: JointLimits
    allowed: JointLimits  # the part: of a range of positions, that around its middle
    part: float
    reach: np.ndarray  # (n,) half of the allowed range; half a turn or 1 m where there is none

    @property
    def middle(self) -> np.ndarray:
        """(n,) of the range of positions; near an only limit; zero where there is none."""
        low, high = self.allowed.lower, self.allowed.upper
        both = np.where(np.isfinite(low), low + self.reach, np.where(np.isfinite(high), high - self.reach, 0))
        return np.asarray(both)


def bounds_for(robot: Robot, use: Any, position: Any, **given: Any) -> Bounds:
    """The robot's limits with those given instead: one number, or one per joint; infinite for none.

    `position` is (lower, upper). A joint needs a limit to its speed (of velocity, acceleration or torque)
    and, if it slides, a range.
    """
    part = check.positive("use", use)
    if part > 1:
        raise IdentificationError(f"use: found {shown(use)}; the part of the limits to use is at most 1")
    limits = joint_limits(robot)
    changed = {
        name: np.array(check.per_joint(name, x, robot.n)) for name, x in given.items() if x is not None
    }
    if position is not None:
        changed |= dict(zip(("lower", "upper"), _range(position, robot.n), strict=True))
    limits = replace(limits, **changed)
    _refuse(robot, limits)
    with np.errstate(invalid="ignore"):
        half = (limits.upper - limits.lower) / 2
        spare = np.where(np.isfinite(half), (1 - part) * half, 0.0)
        reach = np.where(np.isfinite(half), part * half, np.where(revolute_joints(robot), np.pi, 1.0))
    allowed = JointLimits(
        limits.lower + spare, limits.upper - spare, *(part * getattr(limits, name) for name in SPEEDS)
    )
    return Bounds(limits, allowed, part, reach)


def _range(position: Any, n: int) -> list[np.ndarray]:
    if not hasattr(position, "__len__") or len(position) != 2:
        raise IdentificationError(f"position: found {shown(position)}; two are expected, (lower, upper)")
    return [np.array(check.per_joint("position", x, n)) for x in position]


def _refuse(robot: Robot, limits: JointLimits) -> None:
    """Limits that are wrong or missing."""
    for name in SPEEDS:
        bad = np.flatnonzero(~(getattr(limits, name) > 0))
        if bad.size:
            found = getattr(limits, name)[bad[0]]
            raise IdentificationError(
                f"{name}: the limit of {joint_name(robot, bad[0])} is {found:g}; positive is expected"
            )
    wrong = np.flatnonzero(~(limits.lower <= limits.upper))
    if wrong.size:
        i = int(wrong[0])
        raise IdentificationError(
            f"position: the range of {joint_name(robot, i)} is {limits.lower[i]:g} to {limits.upper[i]:g}; "
            "its lower end must come first"
        )
    bounded = np.isfinite(limits.velocity) | np.isfinite(limits.acceleration) | np.isfinite(limits.torque)
    ranged = np.isfinite(limits.lower) & np.isfinite(limits.upper) | revolute_joints(robot)
    missing = []
    if not bounded.all():
        names = _names(robot, ~bounded)
        missing.append(f"{names}: no limit of velocity, acceleration or torque; give velocity= or torque=")
    if not ranged.all():
        missing.append(f"{_names(robot, ~ranged)}: no range of positions; give position=(lower, upper)")
    if missing:
        raise IdentificationError(f"{robot.name}: limits are missing: {'; '.join(missing)}")


def _names(robot: Robot, chosen: np.ndarray) -> str:
    return ", ".join(joint_name(robot, int(i)) for i in np.flatnonzero(chosen))
