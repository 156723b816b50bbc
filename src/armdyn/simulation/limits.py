"""Position limits: which joints are watched, and what is said where one passes its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.analysis.limits import JointLimits, joint_limits, joint_name
from armdyn.kernels.integrator_layout import Watch, Watched
from armdyn.model.arguments import shown
from armdyn.robot import Robot
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.run import LimitPassed

Limits: TypeAlias = Literal["warn", "stop", "ignore"]
WORDS: tuple[Limits, ...] = ("warn", "stop", "ignore")
WITHIN = 1e-9  # rad or m: a joint this little beyond its limit is at it


@dataclass(frozen=True)
class PositionLimits:
    """A robot's limits and what is done where they are passed."""

    robot: Robot
    word: Limits

    @cached_property
    def bounds(self) -> JointLimits:
        return joint_limits(self.robot)

    @cached_property
    def watch(self) -> Watch:
        """What the integrators look at; nothing where limits are ignored."""
        if self.word == "ignore":
            return Watch()
        pairs = zip(self.bounds.lower.tolist(), self.bounds.upper.tolist(), strict=True)
        joints = (Watched(j, low - WITHIN, high + WITHIN) for j, (low, high) in enumerate(pairs))
        limited = tuple(w for w in joints if np.isfinite((w.lower, w.upper)).any())
        return Watch(limited, self.word == "stop")

    def check_start(self, q: np.ndarray) -> None:
        """Refuse positions (arms, n) beyond a limit that is to stop the arm."""
        if self.word != "stop":
            return
        for joint, lower, upper in self.watch.joints:
            wrong = np.flatnonzero((q[:, joint] < lower) | (q[:, joint] > upper))
            if wrong.size:
                found = float(q[wrong[0], joint])
                low, high = self.bounds.lower[joint], self.bounds.upper[joint]
                raise SimulationError(
                    f"q0: expected {joint_name(self.robot, joint)} within its limits, {low:g} to {high:g}, "
                    f"where limits='stop'; found {found:g}"
                )

    def passed(self, joint: int, above: bool, time: float, arm: tuple[int, ...] = ()) -> LimitPassed:
        name, unit = self._names[joint]
        bounds = self.bounds.upper if above else self.bounds.lower
        return LimitPassed(time, joint, name, float(bounds[joint]), unit, arm)

    @cached_property
    def _names(self) -> list[tuple[str, str]]:
        """How each joint is called, and the unit of its position."""
        moving = self.robot.model.moving
        units = ("rad" if link.joint == "revolute" else "m" for link in moving)
        return [(joint_name(self.robot, j), unit) for j, unit in enumerate(units)]

    def warning(self, passed: Sequence[LimitPassed], batch: tuple[int, ...]) -> str:
        """Which joints pass which limits when; of a batch, the first arm and how many do."""
        first: dict[int, LimitPassed] = {}
        for one in passed:
            first.setdefault(one.joint, one)
        texts = [one.text for one in first.values()]
        if batch:
            arms = len({one.arm for one in passed})
            texts = [f"{text} in arm {one.arm}" for text, one in zip(texts, first.values(), strict=True)]
            texts[0] = f"{arms} of {int(np.prod(batch))} arms leave their ranges; first, {texts[0]}"
        return "; ".join(texts) + "; limits='stop' ends the run there, 'ignore' says nothing"


def position_limits(robot: Robot, word: Any) -> PositionLimits:
    for allowed in WORDS:
        if isinstance(word, str) and word == allowed:
            return PositionLimits(robot, allowed)
    raise SimulationError(f"limits: expected 'warn', 'stop' or 'ignore', found {shown(word)}")
