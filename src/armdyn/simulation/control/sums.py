"""Controllers made of others: sums, `a + b`, and the same with another time or model."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control.controller import Arrays, Controller, Rate, side_by_side
from armdyn.simulation.control.laws import CARRIED, POSITIONS, Given, Scalars
from armdyn.simulation.errors import SimulationError


def added(a: Controller, b: Any) -> Controller:
    """The sum of two controllers, which may be sums."""
    if not isinstance(b, Controller):
        raise SimulationError(f"sum: expected a controller, found {type(b).__name__}")
    return Sum(tuple(part for x in (a, b) for part in (x.parts if isinstance(x, Sum) else (x,))))


@dataclass(frozen=True, eq=False)
class Sum(Controller):
    """Controllers whose torques are added. Constants and signals are called 1_name, 2_name, …

    The sum is within torque limits if one of the parts is `saturated`. Parts with rate="auto" follow the rate
    of the others. The memory is that of all parts, side by side.
    """

    parts: tuple[Controller, ...]
    rate: Rate = field(init=False, default="auto")

    def __post_init__(self) -> None:
        n = {part.robot.n for part in self.parts}
        if len(n) > 1:
            raise SimulationError(f"sum: the controllers are for {' and '.join(map(str, sorted(n)))} joints")
        if len({(part.robot.mechanism.positions, part.robot.mechanism.free) for part in self.parts}) > 1:
            raise SimulationError(
                "sum: the models of the controllers have different loops; the same are expected"
            )
        rates = {part.rate for part in self.parts if part.rate != "auto"}
        if len(rates) > 1:
            found = ", ".join(str(part.rate) for part in self.parts)
            raise SimulationError(f"sum: found controllers of rates {found}; one rate is expected")
        object.__setattr__(self, "rate", next(iter(rates), "auto"))
        for part in self.parts:
            if part.remembered and part.period != self.period:
                raise SimulationError(
                    f"sum: {type(part).__name__} has a memory and samples every {part.period:g} s, the sum "
                    f"every {self.period:g} s; give both the same rate"
                )

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.parts[0].robot

    @property
    def saturated(self) -> bool:  # type: ignore[override]
        return any(part.saturated for part in self.parts)

    @property
    def target(self) -> Trajectory | None:
        """The trajectory of the first part that follows one: what it carries, the arm carries."""
        targets = (getattr(part, "target", None) for part in self.parts)
        return next((x for x in targets if isinstance(x, Trajectory)), None)

    def constants(self) -> Arrays:
        return self._named([part.checked_constants for part in self.parts])

    def signals(self, t: np.ndarray) -> Arrays:
        return self._named([part.signals(t) for part in self.parts])

    def _named(self, given: list[Arrays]) -> Arrays:
        return {f"{k}_{name}": x for k, found in enumerate(given, 1) for name, x in found.items()}

    @cached_property
    def memory(self) -> np.ndarray:
        return side_by_side(part.first_memory for part in self.parts)

    @property
    def jumps(self) -> np.ndarray:
        return np.unique(np.concatenate([part.jumps for part in self.parts]))

    @property
    def compensates_dry_friction(self) -> bool:
        return any(part.compensates_dry_friction for part in self.parts)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars | tuple[Scalars, Scalars]:
        total: Scalars = [0] * len(q)
        memory: Scalars = []
        for k, part in enumerate(self.parts, 1):
            own = {name.removeprefix(f"{k}_"): x for name, x in given.items() if name.startswith(f"{k}_")}
            own |= {name: given[name] for name in (POSITIONS, CARRIED) if name in given}
            start = len(memory)
            if part.remembered:
                own["memory"] = given["memory"][start : start + part.remembered]
            tau, later = part.checked_torques(q, qd, own)
            total, memory = [a + b for a, b in zip(total, tau, strict=True)], memory + later
        return (total, memory) if self.remembered else total


class Later(Controller):
    """A controller with a time that begins at `start` [s] of its own."""

    def __init__(self, inner: Controller, start: float) -> None:
        self.inner, self.start = inner, start
        self.robot, self.saturated, self.rate = inner.robot, inner.saturated, inner.rate

    def constants(self) -> Arrays:
        return self.inner.constants()

    def signals(self, t: np.ndarray) -> Arrays:
        return self.inner.signals(t + self.start)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars | tuple[Scalars, Scalars]:
        return self.inner.torques(q, qd, given)

    @property
    def jumps(self) -> np.ndarray:
        return np.asarray(self.inner.jumps - self.start)

    @property
    def compensates_dry_friction(self) -> bool:
        return self.inner.compensates_dry_friction

    @property
    def memory(self) -> np.ndarray:
        return self.inner.memory


def with_model(controller: Controller, robot: Robot) -> Controller:
    """With another model.

    A controller with a memory keeps its own, which it adapts to what it carries; so do one that is not made
    of fields and parts of a sum with another model.
    """
    if controller.remembered and not isinstance(controller, Sum):
        return controller
    if isinstance(controller, Sum):
        own = controller.robot
        return Sum(tuple(with_model(x, robot) if x.robot == own else x for x in controller.parts))
    made: Any = controller
    found: Controller = replace(made, robot=robot) if is_dataclass(type(controller)) else controller
    return found
