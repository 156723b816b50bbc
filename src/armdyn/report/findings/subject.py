"""The subject of a report: a robot, one of its motions, and what several findings need to know about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.motion.timing.speed_parts import SteadyWrench, check_robot, steady_wrench
from armdyn.motion.torques import torques_along
from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.trajectory import Samples, Trajectory
from armdyn.report.errors import check
from armdyn.report.findings.drawn.skeleton import Skeleton, skeleton
from armdyn.report.findings.drawn.views import View, view_of
from armdyn.report.findings.example_motion import default_motion
from armdyn.report.findings.tables import short
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_limits

_LEAST, _MOST = 400, 20_000  # intervals between the samples that a motion's numbers are taken from
_LISTED = 4  # loads that are named one by one


@dataclass(frozen=True)
class Posture:
    """A robot in a posture: joint positions (n,), what is drawn of it, and from where it is seen."""

    q: np.ndarray
    arm: Skeleton
    view: View

    @classmethod
    def of(cls, robot: Robot, q: Any) -> Posture:
        """One posture q (n,), checked."""
        found = check.posture("q", q, robot.n)
        arm = skeleton(robot, found)
        return cls(found, arm, view_of(robot, arm))


@dataclass(frozen=True)
class Subject:
    """A robot, a motion of it (None: one is chosen), and the wrench (6,) its tip exerts all along.

    What several findings need is computed when first asked for, and once.
    """

    robot: Robot
    given: Trajectory | None = None
    wrench: SteadyWrench = None

    @classmethod
    def of(cls, robot: Robot, trajectory: Trajectory | None = None, wrench: Any = None) -> Subject:
        """The subject, its motion and wrench checked."""
        if trajectory is not None:
            check_robot(robot, trajectory)
        return cls(robot, trajectory, steady_wrench(robot, wrench))

    @cached_property
    def free_symbols(self) -> tuple[str, ...]:
        """Symbols without a value: with any of them there are equations but no numbers."""
        return tuple(name for name, value in self.robot.model.symbols if value is None)

    @cached_property
    def _chosen(self) -> tuple[Trajectory, str]:
        if self.given is None:
            chosen = default_motion(self.robot)
            return chosen.trajectory, chosen.text
        text = f"The motion given: {self.given.motion.label}, {self.given.duration:g} s."
        return self.given, text + _carried_text(self.given.motion.loads)

    @property
    def text(self) -> str:
        """Which motion this is."""
        return self._chosen[1]

    @cached_property
    def trajectory(self) -> Trajectory:
        """The motion, with samples fine enough for the numbers, and not more than fit in memory."""
        motion = self._chosen[0]
        step = min(max(motion.step, motion.duration / _MOST), motion.duration / _LEAST)
        return motion if step == motion.step else motion.with_step(step)

    @cached_property
    def samples(self) -> Samples:
        """Samples of the motion, with both sides of every jump."""
        return self.trajectory.samples()

    @cached_property
    def torque(self) -> np.ndarray:
        """(N, n): the torques of the motion at its samples [N m or N]."""
        return torques_along(self.trajectory.loaded(self.robot), self.samples, self.wrench)

    @cached_property
    def robot_half_way(self) -> Robot:
        """The robot with what it carries half-way through the motion."""
        loaded = self.trajectory.loaded(self.robot)
        return loaded.robots[int(loaded.index(np.array([self.trajectory.duration / 2]))[0])]

    @cached_property
    def limits(self) -> JointLimits:
        return joint_limits(self.robot)

    @cached_property
    def middle(self) -> Posture:
        """The posture half-way through the motion."""
        return Posture.of(self.robot, self.trajectory(self.trajectory.duration / 2)[0])


def _carried_text(loads: Sequence[Carried]) -> str:
    """What the arm carries on its way, and when."""
    if not loads:
        return ""
    if len(loads) > _LISTED:
        return f" The arm takes up {len(loads)} loads on its way; all numbers below count them."
    each = [f"{short(one.load.body.mass)} kg from {one.start:.4g} s to {one.end:.4g} s" for one in loads]
    return (
        f" The arm carries {', '.join(each)}; all numbers below count {'it' if len(each) == 1 else 'them'}."
    )
