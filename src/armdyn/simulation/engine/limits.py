"""Position limits: which joints are watched, and the message when one passes its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.model.parts import Link
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, JointLimits, joint_name, watched_limits
from armdyn.simulation.engine.following import split
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.run import LimitPassed

Limits: TypeAlias = Literal["warn", "stop", "ignore"]
WORDS: tuple[Limits, ...] = ("warn", "stop", "ignore")
WITHIN = 1e-9  # rad or m: a joint beyond its limit by less than this is at its limit


class Watched(NamedTuple):
    """A joint whose position is watched, and its limits."""

    joint: int  # its column in a state: one of q, or of the positions that follow
    lower: float
    upper: float

    def within(self, x: np.ndarray) -> np.ndarray:
        """How far the joint is within its range in states (..., width)."""
        q = x[..., self.joint]
        return np.asarray(np.minimum(q - self.lower, self.upper - q))


@dataclass(frozen=True)
class Watch:
    """The joints that are watched, and whether an arm stops where one leaves its range."""

    joints: tuple[Watched, ...] = ()
    stops: bool = False


@dataclass(frozen=True)
class PositionLimits:
    """A robot's position limits, and what to do when a joint passes one."""

    robot: Robot
    word: Limits

    @cached_property
    def bounds(self) -> JointLimits:
        """Of the coordinates, then of the positions that follow because of loops."""
        return watched_limits(self.robot)

    def _column(self, joint: int) -> int:
        """Where a joint is in a state: those that follow stand after q̇."""
        return joint if joint < self.robot.n else joint + self.robot.n

    def _joint(self, column: int) -> int:
        return column if column < self.robot.n else column - self.robot.n

    @cached_property
    def watch(self) -> Watch:
        """The joints that the integrators watch; none if limits are ignored."""
        if self.word == "ignore":
            return Watch()
        pairs = zip(self.bounds.lower.tolist(), self.bounds.upper.tolist(), strict=True)
        joints = (
            Watched(self._column(j), low - WITHIN, high + WITHIN) for j, (low, high) in enumerate(pairs)
        )
        limited = tuple(w for w in joints if np.isfinite((w.lower, w.upper)).any())
        return Watch(limited, self.word == "stop")

    def check_start(self, q: np.ndarray) -> None:
        """Refuse positions (arms, positions) beyond a limit that is to stop the arm."""
        if self.word != "stop":
            return
        q = np.concatenate(split(self.robot, q), axis=-1)
        for column, lower, upper in self.watch.joints:
            joint = self._joint(column)
            wrong = np.flatnonzero((q[:, joint] < lower) | (q[:, joint] > upper))
            if wrong.size:
                found = float(q[wrong[0], joint])
                low, high = self.bounds.lower[joint], self.bounds.upper[joint]
                raise SimulationError(
                    f"q0: expected {self._name(joint)} within its limits, {low:g} to {high:g}, "
                    f"where limits='stop'; found {found:g}"
                )

    def _name(self, joint: int) -> str:
        n = self.robot.n
        return (
            joint_name(self.robot, joint) if joint < n else f"the joint '{self._followers[joint - n].name}'"
        )

    @cached_property
    def _followers(self) -> list[Link]:
        """The links whose joints follow because of loops."""
        free = self.robot.mechanism.free
        return [link for i, link in enumerate(self.robot.model.positions) if free and i not in free]

    def passed(self, column: int, above: bool, time: float, arm: tuple[int, ...] = ()) -> LimitPassed:
        """A joint, by its column in a state, leaves its range."""
        joint, links = self._joint(column), (*self.robot.model.coordinates, *self._followers)
        name, unit = self._name(joint), UNITS[links[joint].joint].position
        bounds = self.bounds.upper if above else self.bounds.lower
        return LimitPassed(time, joint, name, float(bounds[joint]), unit, arm)

    def warning(self, passed: Sequence[LimitPassed], batch: tuple[int, ...]) -> str:
        """Which joints pass which limits and when; for a batch, how many arms do and the first of them."""
        first: dict[int, LimitPassed] = {}
        for one in passed:
            first.setdefault(one.joint, one)
        texts = [one.text for one in first.values()]
        if batch:
            arms = len({one.arm for one in passed})
            texts = [f"{text} in arm {one.arm}" for text, one in zip(texts, first.values(), strict=True)]
            texts[0] = f"{arms} of {int(np.prod(batch))} arms pass limits; first, {texts[0]}"
        return "; ".join(texts) + "; limits='stop' ends the run there, limits='ignore' does not check"


def position_limits(robot: Robot, word: Limits) -> PositionLimits:
    check.one_of("limits", word, *WORDS)
    return PositionLimits(robot, word)
