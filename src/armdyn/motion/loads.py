"""Loads: payloads that the arm picks up, carries and puts down during a motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from armdyn.kernels.arrays import array, zeros
from armdyn.model import Inertia
from armdyn.model.edit import payload
from armdyn.robot import Robot


@dataclass(frozen=True)
class Load:
    """A body in the tip frame, or in the frame of `link`: what `robot.with_payload` takes."""

    body: Inertia
    link: str | None = None

    @classmethod
    def of(cls, mass: Any, com: Any = (0, 0, 0), inertia: Any = None, link: str | None = None) -> Load:
        """A load, as for `robot.with_payload`: a mass [kg] or a whole body; or an identified `Payload`."""
        if isinstance(mass, Load):
            return mass
        if hasattr(mass, "arguments"):  # a Payload of `identify_payload`
            return cls.of(**mass.arguments)
        return cls(payload(mass, com, inertia), link)

    def on(self, robot: Robot) -> Robot:
        """The robot carrying the body."""
        return robot.with_payload(self.body, link=self.link)


def payload_numbers(robot: Robot, body: Inertia) -> list[float]:
    """A body by ten numbers, as the input "payload" of programs has them.

    They are its mass, its centre of mass and the tensor about that, xx xy xz yy yz zz.
    """
    mass, *others = (robot.model.number(x) for x in body.entries)
    known = Inertia.of([mass, *others])
    return [mass, *known.com, *known.tensor_at_com] if mass else [mass, 0.0, 0.0, 0.0, *known.tensor]


@dataclass(frozen=True)
class Carried:
    """A load, and from when to when it is carried [s]."""

    start: float
    end: float
    load: Load


@dataclass(frozen=True)
class Loaded:
    """A robot that carries different loads at different times of a motion of a `duration` [s].

    What it carries at the beginning or at the end it also carries before and after.
    """

    robot: Robot
    loads: tuple[Carried, ...]
    duration: float

    @cached_property
    def boundaries(self) -> np.ndarray:
        """The instants within the motion at which a load is taken up or put down (K,) [s]."""
        changes = np.unique([t for one in self.loads for t in (one.start, one.end)])
        return np.asarray(changes[(changes > 0) & (changes < self.duration)], float)

    @cached_property
    def carried(self) -> tuple[tuple[Load, ...], ...]:
        """Loads carried before the first boundary, between boundaries and after the last."""
        times = [0.0, *self.boundaries, self.duration] if self.loads else [0.0, 0.0]
        return tuple(
            tuple(one.load for one in self.loads if one.start <= a and b <= one.end)
            for a, b in pairwise(times)
        )

    @cached_property
    def robots(self) -> tuple[Robot, ...]:
        """The robot before the first boundary, between boundaries and after the last: K + 1 robots."""
        made: dict[tuple[Load, ...], Robot] = {(): self.robot}
        found = []
        for there in self.carried:
            if there not in made:
                robot = self.robot
                for load in there:
                    robot = load.on(robot)
                made[there] = robot
            found.append(made[there])
        return tuple(found)

    @cached_property
    def links(self) -> tuple[str | None, ...]:
        """Links that carry loads; None is the tip."""
        return tuple(dict.fromkeys(one.load.link for one in self.loads))

    @cached_property
    def payloads(self) -> np.ndarray:
        """(K + 1, 10 links): the numbers of the load that each of `links` carries between boundaries."""
        bodies = [
            sum((load.body for load in there if load.link == link), Inertia())
            for there in self.carried
            for link in self.links
        ]
        numbers = [payload_numbers(self.robot, body) for body in bodies]
        return np.array(numbers).reshape(len(self.carried), 10 * len(self.links))

    def index(self, t: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        """Indices (N,) into `robots` for instants t (N,).

        At a boundary it is the later one, or where `before` (N,) the earlier. Without `before`, of two
        equal instants in a row the first counts as before.
        """
        if before is None:
            before = np.append(np.diff(t) == 0, False) if len(t) else np.zeros(0, bool)
        later = np.searchsorted(self.boundaries, t, side="right")
        earlier = np.searchsorted(self.boundaries, t, side="left")
        return np.asarray(np.where(before, earlier, later))

    def groups(self, t: np.ndarray, before: np.ndarray | None = None) -> Iterator[tuple[np.ndarray, Robot]]:
        """Masks (N,) of instants, and the robot of these."""
        index = self.index(t, before)
        for k in np.unique(index):
            yield index == k, self.robots[k]

    def evaluate(
        self,
        function: Callable[..., Any],
        t: np.ndarray,
        *arrays: np.ndarray,
        before: np.ndarray | None = None,
    ) -> np.ndarray:
        """`function(robot, *rows)` for the rows (N, …) of arrays at instants t (N,), each with its robot."""
        if not self.loads or not len(t):
            return array(function(self.robot, *arrays))
        result: np.ndarray | None = None
        for mask, robot in self.groups(t, before):
            part = array(function(robot, *(x[mask] for x in arrays)))
            if result is None:
                result = zeros(part, (len(t), *part.shape[1:]))
            result[mask] = part
        assert result is not None
        return result
