"""Position limits: which joints are watched, and the message when one passes its limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from armdyn.kernels.arrays import array, host
from armdyn.model.friction import along
from armdyn.robot import Robot
from armdyn.robot.assembly import Related
from armdyn.robot.joints import UNITS, followers, joint_limits, joint_name, joint_units
from armdyn.simulation.errors import SimulationError, check
from armdyn.simulation.integrand import split
from armdyn.simulation.run import LimitPassed

Limits: TypeAlias = Literal["warn", "stop", "ignore"]
WORDS: tuple[Limits, ...] = ("warn", "stop", "ignore")
WITHIN = 1e-9  # rad or m: a joint beyond its limit by less than this is at its limit


class Watched(NamedTuple):
    """A joint whose position is watched: a row over the columns of a state, and what it gives at the limits.

    The joint's position is that and `shift`. Joints that follow others are counted from n on.
    """

    joint: int
    row: tuple[tuple[int, float], ...]
    range: tuple[float, float]  # the limits of the joint
    name: str
    unit: str
    shift: float = 0.0

    @property
    def lower(self) -> float:
        """Value of the row at the lower limit, or a little less."""
        return self.range[0] - self.shift - WITHIN

    @property
    def upper(self) -> float:
        return self.range[1] - self.shift + WITHIN

    def position(self, x: Any) -> Any:
        """Value of the row for the scalars of a state."""
        return along(self.row, x)

    def of(self, x: np.ndarray) -> np.ndarray:
        """The same of states (..., width), or of their rates."""
        return array(self.position(np.moveaxis(x, -1, 0)))

    def within(self, x: np.ndarray) -> np.ndarray:
        """Distance of the joint from its limits, inside positive, in states (..., width)."""
        q = self.of(x)
        return np.asarray(np.minimum(q - self.lower, self.upper - q))

    def passed(self, above: bool, time: float, arm: tuple[int, ...] = ()) -> LimitPassed:
        return LimitPassed(time, self.joint, self.name, self.range[above], self.unit, arm)


@dataclass(frozen=True)
class Watch:
    """The joints that are watched, and whether an arm stops where one leaves its range."""

    joints: tuple[Watched, ...] = ()
    stops: bool = False

    def check_start(self, robot: Robot, q: np.ndarray) -> None:
        """Refuse positions (arms, positions) beyond a limit that is to stop the arm."""
        if not self.stops:
            return
        own, others = split(robot, host(q))
        states = np.concatenate([own, np.zeros_like(own), others], axis=-1)
        for watched in self.joints:
            x = watched.of(states)
            wrong = np.flatnonzero((x < watched.lower) | (x > watched.upper))
            if wrong.size:
                low, high = watched.range
                raise SimulationError(
                    f"q0: expected {watched.name} within its limits, {low:g} to {high:g}, "
                    f"where limits='stop'; found {float(x[wrong[0]]) + watched.shift:g}"
                )


def watch_of(robot: Robot, word: Limits) -> Watch:
    """The joints that the integrators watch; none if limits are ignored."""
    check.one_of("limits", word, *WORDS)
    if word == "ignore":
        return Watch()
    watched = (*_coordinates(robot), *_followers(robot))
    return Watch(tuple(w for w in watched if np.isfinite(w.range).any()), word == "stop")


def _coordinates(robot: Robot) -> Iterator[Watched]:
    bounds = joint_limits(robot)
    for j, limits in enumerate(zip(bounds.lower.tolist(), bounds.upper.tolist(), strict=True)):
        yield Watched(j, ((j, 1.0),), limits, joint_name(robot, j), joint_units(robot, j).position)


def _followers(robot: Robot) -> Iterator[Watched]:
    """Joints that follow several others, or follow in closed chains."""
    others = followers(robot)
    if others is None:
        return
    S, s0 = Related.of(robot.model)
    columns = _columns(robot)
    for k, (j, link) in enumerate(zip(others.joints, others.links, strict=True)):
        row = tuple((columns[p], float(S[j, p])) for p in np.flatnonzero(S[j]).tolist())
        limits = float(others.limits.lower[k]), float(others.limits.upper[k])
        name, unit = others.name(k), UNITS[link.joint].position
        yield Watched(robot.n + k, row, limits, name, unit, float(s0[j]))


def _columns(robot: Robot) -> list[int]:
    """Columns of a state that hold the positions: coordinates first, those that follow after q̇."""
    n, free = robot.n, robot.mechanism.free
    if not free:
        return list(range(n))
    others = [i for i in range(robot.mechanism.positions) if i not in free]
    place = {p: k for k, p in enumerate(free)} | {p: 2 * n + k for k, p in enumerate(others)}
    return [place[p] for p in range(len(place))]


def limits_text(passed: Sequence[LimitPassed], batch: tuple[int, ...]) -> str:
    """Words for the joints that pass limits, and when; for a batch, how many arms do and the first."""
    first: dict[int, LimitPassed] = {}
    for one in passed:
        first.setdefault(one.joint, one)
    texts = [one.text + f" in arm {one.arm}" * bool(batch) for one in first.values()]
    if batch:
        arms = len({one.arm for one in passed})
        texts[0] = f"{arms} of {int(np.prod(batch))} arms pass limits; first, {texts[0]}"
    return "; ".join(texts) + "; limits='stop' ends the run there, limits='ignore' does not check"
