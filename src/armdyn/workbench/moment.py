"""A robot at one instant, and what is computed from it: each when first asked for, and once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np

from armdyn.analysis.contributions import Contributions, contributions
from armdyn.expression import ArmdynError
from armdyn.model.mechanism import unchanged
from armdyn.robot import Robot

Colour = Literal["blue", "green", "orange", "red"]  # of notes


class ViewError(ArmdynError):
    """A robot, a motion or an address that the workbench cannot show or listen at."""


@dataclass(frozen=True, eq=False)
class EditedRobot:
    """A robot as it is edited, and how its numbers are computed.

    `robot` is what is planned with, saved and exported. `runs` is a robot with the same joints and gears
    whose functions are compiled already: they run with `parameters`, the vector of `robot`, so that a change
    of a mass, a payload or friction compiles nothing.
    """

    robot: Robot
    runs: Robot
    parameters: np.ndarray  # (p,)
    unloaded: EditedRobot | None = None  # the same without what a motion carries at the time shown

    @classmethod
    def of(cls, robot: Robot) -> EditedRobot:
        """With functions of its own, which run with parameters: so the first change compiles nothing."""
        return cls(robot, robot, np.asarray(robot.parameters, float))

    def changed(self, robot: Robot) -> EditedRobot:
        """With another robot: what is compiled stays if it differs in its parameters only."""
        if not self._runs(robot):
            return EditedRobot.of(robot)
        found = dict(zip(robot.parameter_names, np.asarray(robot.parameters, float), strict=True))
        return EditedRobot(robot, self.runs, np.array([found.get(x, 0.0) for x in self.runs.parameter_names]))

    def _runs(self, robot: Robot) -> bool:
        """Whether `runs` computes the numbers of a robot: same joints, gears and gravity."""
        if not set(robot.parameter_names) <= set(self.runs.parameter_names):
            return False
        one, other = (x.mechanism.map(unchanged, lambda _: 0) for x in (robot, self.runs))
        return one == other

    def torques(self, *state: Any) -> np.ndarray:
        """`inverse_dynamics` of q, qd, qdd and, if there is one, a wrench [N m or N]."""
        return np.asarray(self.runs.inverse_dynamics(*state, parameters=self.parameters))

    def causes(self, *state: Any) -> Contributions:
        """The same by what causes them, rotor coupling apart."""
        return contributions(self.runs, *state, parameters=self.parameters)

    @property
    def bare(self) -> EditedRobot:
        """Without what a motion carries: the robot as it is edited."""
        return self if self.unloaded is None else self.unloaded

    def carrying(self, robot: Robot) -> EditedRobot:
        """With loads of a motion: `robot` is the edited one with these."""
        bare = self.bare
        if robot is bare.robot:
            return bare
        return replace(bare.changed(robot), unloaded=bare)


@dataclass(frozen=True, eq=False)
class Moment:
    """The state shown: positions, velocities and accelerations (n,) [rad or m, and per s and s²]."""

    subject: EditedRobot
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
    def poses(self) -> np.ndarray:
        """(bodies, 4, 4): where the bodies are in the world, the base last, as `robot.poses` has them."""
        return np.asarray(self.subject.runs.poses(self.q))

    @cached_property
    def tip(self) -> np.ndarray:
        """(4, 4): the frame of the tip in the world."""
        return np.asarray(self.subject.runs.pose(self.q))

    @cached_property
    def tau(self) -> np.ndarray:
        """(n,): the torques of `robot.inverse_dynamics` [N m or N]."""
        return self.subject.torques(self.q, self.qd, self.qdd, self.wrench)

    @cached_property
    def parts(self) -> Contributions:
        """The torques by what causes them."""
        return self.subject.causes(self.q, self.qd, self.qdd, self.wrench)

    @cached_property
    def power(self) -> float:
        """τᵀ q̇ [W]: what the joints give to the arm."""
        return float(self.tau @ self.qd)

    @cached_property
    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy [J]."""
        runs, parameters = self.subject.runs, self.subject.parameters
        kinetic = runs.kinetic_energy(self.q, self.qd, parameters=parameters)
        return float(kinetic), float(runs.potential_energy(self.q, parameters=parameters))


class Holder(Protocol):
    """What holds the state: the bench, for those parts of it that know no more of it."""

    gui: Any  # viser's

    @property
    def closed(self) -> bool: ...

    def change(self, **changes: Any) -> None: ...

    def update(self, change: Callable[[Moment], Moment]) -> bool: ...

    def guard(self, work: Callable[..., Any], *arguments: Any) -> Any: ...

    def tell(self, title: str, text: str, colour: Colour = "blue") -> None: ...
