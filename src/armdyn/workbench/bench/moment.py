"""A robot at one instant, and what is computed from it: each when first asked for, and once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from armdyn.analysis.contributions import Contributions, contributions
from armdyn.robot import Robot


@dataclass(frozen=True)
class Subject:
    """A robot as it is edited, and how its numbers are computed.

    `robot` is what is planned with, saved and exported. `runs` is a robot with the same joints and gears
    whose functions are compiled already: they run with `parameters`, the vector of `robot`, so that a change
    of a mass, a payload or friction compiles nothing.
    """

    robot: Robot
    runs: Robot
    parameters: np.ndarray | None = None  # (p,); None: those of `runs`
    unloaded: Subject | None = None  # the same without what a motion carries at the time shown

    @classmethod
    def of(cls, robot: Robot) -> Subject:
        return cls(robot, robot)

    def changed(self, robot: Robot) -> Subject:
        """With the robot changed in its parameters only."""
        return Subject(robot, self.runs, np.asarray(robot.parameters, float))

    @property
    def bare(self) -> Subject:
        """Without what a motion carries: the robot as it is edited."""
        return self if self.unloaded is None else self.unloaded

    def carrying(self, robot: Robot) -> Subject:
        """With loads of a motion: `robot` is the edited one with these."""
        bare = self.bare
        if robot is bare.robot:
            return bare
        return Subject(robot, bare.runs, np.asarray(robot.parameters, float), bare)


@dataclass(frozen=True)
class Moment:
    """The state shown: positions, velocities and accelerations (n,) [rad or m, and per s and s²]."""

    subject: Subject
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    wrench: np.ndarray | None = None  # (6,): force and moment the tip exerts [N, N m], world axes
    time: float | None = None  # [s] in the motion that is shown; None: posed by hand

    @property
    def robot(self) -> Robot:
        """With what the motion carries at this time; `Bench.robot` is without."""
        return self.subject.robot

    @cached_property
    def tau(self) -> np.ndarray:
        """(n,): the torques of `robot.inverse_dynamics` [N m or N]."""
        found = self.subject.runs.inverse_dynamics(
            self.q, self.qd, self.qdd, self.wrench, parameters=self.subject.parameters
        )
        return np.asarray(found)

    @cached_property
    def parts(self) -> Contributions:
        """The torques by what causes them, rotor coupling apart."""
        return contributions(
            self.subject.runs, self.q, self.qd, self.qdd, self.wrench, parameters=self.subject.parameters
        )
