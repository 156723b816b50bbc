"""Position limits: which joints are watched, and the message when one passes its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.model.friction import along
from armdyn.robot import Robot
from armdyn.robot.joints import (
    UNITS,
    Followers,
    JointLimits,
    followers,
    joint_limits,
    joint_name,
    joint_units,
)
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.run import LimitPassed

Limits: TypeAlias = Literal["warn", "stop", "ignore"]
WORDS: tuple[Limits, ...] = ("warn", "stop", "ignore")
WITHIN = 1e-9  # rad or m: a joint beyond its limit by less than this is at its limit


class Watched(NamedTuple):
    """A joint whose position is watched, and its limits.

    A joint that follows several others has a row over these, limits of what the row gives, and a number from
    n on.
    """

    joint: int
    lower: float
    upper: float
    row: tuple[tuple[int, float], ...] = ()

    def position(self, q: Any) -> Any:
        """Of scalars q: the joint's own, or what its row gives."""
        return along(self.row, q) if self.row else q[self.joint]

    def of(self, x: np.ndarray) -> np.ndarray:
        """The same of states (..., width), or their rates, which begin with q."""
        return np.asarray(self.position(np.moveaxis(x, -1, 0))) if self.row else x[..., self.joint]

    def within(self, x: np.ndarray) -> np.ndarray:
        """How far the joint is within its range in states (..., width)."""
        q = self.of(x)
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
        return joint_limits(self.robot)

    @cached_property
    def watch(self) -> Watch:
        """The joints that the integrators watch; none if limits are ignored."""
        if self.word == "ignore":
            return Watch()
        pairs = zip(self.bounds.lower.tolist(), self.bounds.upper.tolist(), strict=True)
        joints = (Watched(j, low - WITHIN, high + WITHIN) for j, (low, high) in enumerate(pairs))
        watched = (*joints, *self._followers())
        limited = tuple(w for w in watched if np.isfinite((w.lower, w.upper)).any())
        return Watch(limited, self.word == "stop")

    @cached_property
    def followers(self) -> Followers | None:
        return followers(self.robot)

    def _followers(self) -> Iterator[Watched]:
        """Joints that follow several others, by their rows."""
        linear = self.followers.linear if self.followers is not None else None
        if self.followers is None or linear is None:
            return
        found = self.followers.limits
        for k, row in enumerate(linear.S):
            low, high = (float(x[k] - linear.s0[k]) for x in (found.lower, found.upper))
            terms = tuple((int(j), float(row[j])) for j in np.flatnonzero(row))
            yield Watched(self.robot.n + k, low - WITHIN, high + WITHIN, terms)

    def range_of(self, joint: int) -> tuple[str, float, float, str]:
        """Of a watched joint its name, the ends of its range and their unit."""
        k = joint - self.robot.n
        if k < 0:
            name, unit = joint_name(self.robot, joint), joint_units(self.robot, joint).position
            return name, float(self.bounds.lower[joint]), float(self.bounds.upper[joint]), unit
        others = self.followers
        assert others is not None
        low, high = float(others.limits.lower[k]), float(others.limits.upper[k])
        return others.name(k), low, high, UNITS[others.links[k].joint].position

    def check_start(self, q: np.ndarray) -> None:
        """Refuse positions (arms, n) beyond a limit that is to stop the arm."""
        if self.word != "stop":
            return
        for watched in self.watch.joints:
            x = watched.of(q)
            wrong = np.flatnonzero((x < watched.lower) | (x > watched.upper))
            if wrong.size:
                name, low, high, _ = self.range_of(watched.joint)
                found = float(x[wrong[0]]) + self._shift(watched)
                raise SimulationError(
                    f"q0: expected {name} within its limits, {low:g} to {high:g}, "
                    f"where limits='stop'; found {found:g}"
                )

    def _shift(self, watched: Watched) -> float:
        """What a joint's position has more than its row gives."""
        linear = self.followers.linear if self.followers is not None else None
        return float(linear.s0[watched.joint - self.robot.n]) if watched.row and linear is not None else 0.0

    def passed(self, joint: int, above: bool, time: float, arm: tuple[int, ...] = ()) -> LimitPassed:
        name, low, high, unit = self.range_of(joint)
        return LimitPassed(time, joint, name, high if above else low, unit, arm)

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
