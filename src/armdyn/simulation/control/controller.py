"""What a controller is: torques from the state and a target, by a model of the robot.

A controller is called as controller(t, q, qd) and broadcasts like the methods of `Robot`. Its law is written
over scalars, so that `simulate` records it with the dynamics and compiles both together. The model may be
another robot than the one simulated. Gains and set points may differ from arm to arm: (..., n).

`rate` is the number of samples a second at which `simulate` evaluates the law; its torques are held in
between. None: the law acts continuously. "auto": 1000 where the law compensates dry friction or has a memory,
otherwise None. (A sign of speed that acts without delay may contradict the friction it compensates.)

A law may have a memory: numbers that it is given, and that it changes, at every sample.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.kernels.cuda.arrays import like
from armdyn.model import Mechanism
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control import own
from armdyn.simulation.control.laws import CARRIED, Given, Scalars
from armdyn.simulation.control.saturation import within_limits
from armdyn.simulation.engine.following import split
from armdyn.simulation.engine.integrand import Sizes, law_program, without_dry_friction
from armdyn.simulation.errors import SimulationError, check

Arrays: TypeAlias = dict[str, np.ndarray]
Array: TypeAlias = Any  # a number, or an array of them
Target: TypeAlias = Trajectory | Array  # a set point (..., n), or a motion
Rate: TypeAlias = float | Literal["auto"] | None
AUTO_RATE = 1000.0  # Hz


class Controller(ABC):
    """What `simulate` asks of a controller; `robot` is the model it computes with."""

    robot: Robot
    saturated: bool
    rate: Rate = "auto"

    @abstractmethod
    def constants(self) -> Arrays:
        """Gains and set points by name, (..., size) each."""

    def signals(self, t: np.ndarray) -> Arrays:
        """What changes with time, by name: (N, size) each for times (N,)."""
        return {}

    @abstractmethod
    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars | tuple[Scalars, Scalars]:
        """The law over any scalar, before saturation; `given` has constants and signals by name.

        Where the model has loops, given["positions"] are all positions: what its algorithms take as q. With a
        memory, that is given["memory"], and the law returns torques and the next memory.
        """

    @property
    def memory(self) -> np.ndarray:
        """What the law remembers, as it is at the start: (..., m). Without a memory, m is 0."""
        return np.zeros(0)

    @property
    def jumps(self) -> np.ndarray:
        """Instants at which the torques jump by themselves [s]."""
        return np.zeros(0)

    @property
    def compensates_dry_friction(self) -> bool:
        """Whether the torques follow the sign of a speed."""
        return False

    # ---- the same for all ------------------------------------------------------------------------------

    @cached_property
    def period(self) -> float | None:
        """The time for which torques are held [s]; None: the law acts continuously."""
        check_rate(self.rate)
        if self.rate is None and self.remembered:
            raise SimulationError("rate: found None; with a memory a positive number or 'auto' is expected")
        sampled = self.compensates_dry_friction or self.remembered
        if self.rate is None or (self.rate == "auto" and not sampled):
            return None
        return 1 / (AUTO_RATE if self.rate == "auto" else self.rate)

    @cached_property
    def remembered(self) -> int:
        """The size of the memory, m."""
        return int(self.first_memory.shape[-1])

    @property
    def _loops(self) -> bool:
        return bool(self.robot.model.loops)

    @cached_property
    def checked_constants(self) -> Arrays:
        """The constants, checked."""
        return own.arrays(f"{type(self).__name__}.constants", self.constants(), self._loops)

    @cached_property
    def first_memory(self) -> np.ndarray:
        """The memory at the start, checked."""
        return own.columns("memory", self.memory)

    def checked_torques(self, q: Scalars, qd: Scalars, given: Given) -> tuple[Scalars, Scalars]:
        """Torques before saturation, and the next memory; [] without one."""
        where = f"{type(self).__name__}.torques"
        try:
            found = self.torques(q, qd, given)
        except (TypeError, KeyError) as error:
            own.explain(where, error, given)
        return own.results(where, found, self.robot.n, self.remembered)

    def law(self, q: Scalars, qd: Scalars, given: Given) -> Any:
        """The law over any scalar, within the torque limits of joints and motors if `saturated`."""
        tau, memory = self.checked_torques(q, qd, given)
        if self.saturated:
            tau = within_limits(self.robot, tau)
        return (tau, memory) if self.remembered else tau

    def __call__(self, t: Array, q: Array, qd: Array, memory: Array = None) -> Any:
        """Torques (..., n) at times t (...) in states q, qd (..., n).

        With a memory, torques and the next memory; it is given one (..., m), or that of the start. Where the
        model has loops, q may be all positions (..., positions): of another assembly mode, say.
        """
        times, q, qd = (check.floats(name, x) for name, x in (("t", t), ("q", q), ("qd", qd)))
        targets = self.targets(times.ravel())
        if memory is not None:
            if not self.remembered:
                raise SimulationError(f"memory: {type(self).__name__} has none; leave it out")
            memory = check.numbers("memory", check.wide("memory", memory, self.remembered))
        followers = None
        if self._loops:
            q, followers = split(self.robot, self.robot.assembly(q))
        targets = targets.reshape(*times.shape, targets.shape[-1])
        return self.evaluate(self._gains, targets, q, qd, memory, followers)

    def __add__(self, other: Controller) -> Controller:
        """The controller whose torques are the sum of both."""
        from armdyn.simulation.control.sums import added  # which is made of controllers

        return added(self, other)

    @cached_property
    def _gains(self) -> np.ndarray:
        """The constants side by side, (..., columns)."""
        return side_by_side(self.checked_constants.values())

    def targets(self, t: np.ndarray) -> np.ndarray:
        """The signals side by side, (N, columns) at times (N,)."""
        if not self.sizes[1]:
            return np.zeros((len(t), 0))
        return np.concatenate(list(self.signals(frozen(t)).values()), axis=-1)

    def evaluate(
        self,
        gains: np.ndarray,
        targets: np.ndarray,
        q: Array,
        qd: Array,
        memory: np.ndarray | None = None,
        followers: np.ndarray | None = None,
    ) -> Any:
        """Torques of constants and signals side by side; with a memory, torques and the next memory.

        Where the model has loops, `followers` (..., d) are the positions that follow.
        """
        given = [x for x in (gains, targets, self.first_memory if memory is None else memory) if x.shape[-1]]
        if self._loops:
            given.insert(0, like(q, followers))
        return self.kernel(*(like(q, x) for x in (q, qd, *given)))

    @cached_property
    def sizes(self) -> tuple[Sizes, Sizes]:
        """Names and sizes of constants and signals."""
        where = f"{type(self).__name__}.signals"
        moving = own.arrays(where, self.signals(np.zeros(1)), self._loops)
        for name, x in moving.items():
            if name in self.checked_constants:
                raise SimulationError(f"{where}: found the name '{name}', which is that of a constant")
            if x.shape != (1, x.shape[-1]):
                raise SimulationError(f"{where}: {name}: expected (1, size) for one instant, found {x.shape}")
        constants, signals = (
            tuple((name, x.shape[-1]) for name, x in given.items())
            for given in (self.checked_constants, moving)
        )
        return constants, signals

    @cached_property
    def kernel(self) -> Kernel:
        """The law as a function of q, q̇, with loops followers, constants and signals side by side, memory."""
        return Kernel.of("torques", law_program(self.robot, self.law, *self.sizes, self.remembered))

    def carrying(self, mechanism: Mechanism, given: Given) -> Mechanism:
        """The mechanism with the payload at the robot's tip that the law is given, if it is given one."""
        if CARRIED not in given:
            return mechanism
        return replace(mechanism, bodies=self.robot.mechanism.carrying(given[CARRIED]).bodies)

    @cached_property
    def _mechanism(self) -> Mechanism:
        """The model without dry friction: a law that knew the sign of q̇ would jump where joints stick."""
        return without_dry_friction(self.robot.mechanism)


# ---- what enters -------------------------------------------------------------------------------------------


def frozen(x: np.ndarray) -> np.ndarray:
    """A read-only copy for a function of the user, who may keep it: it never changes."""
    own = np.array(x)
    own.setflags(write=False)
    return own


def side_by_side(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Columns next to each other, repeated over arms (and instants) where only some parts differ there."""
    found = list(parts)
    if not found:
        return np.zeros(0)
    rows = np.broadcast_shapes(*(x.shape[:-1] for x in found))
    return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in found], axis=-1)


def critical(stiffness: Any) -> np.ndarray:
    """2√K_P; negative stiffness is refused elsewhere."""
    return np.asarray(2 * np.sqrt(np.maximum(check.floats("stiffness", stiffness), 0.0)))


def place_of(name: str, x: Any, size: int) -> np.ndarray:
    """A set point (..., size)."""
    return check.numbers(name, check.wide(name, x, size))


def gains_of(size: int, **gains: Any) -> Arrays:
    """Gains (..., size) by name."""
    found = {name: check.wide(name, x, size) for name, x in gains.items()}
    for name, x in found.items():
        if not (np.isfinite(x) & (x >= 0)).all():
            raise SimulationError(f"{name}: found {shown(gains[name])}; gains are finite and not negative")
    return found


def follows(robot: Robot, target: Trajectory) -> None:
    """Refuse a trajectory of another number of joints."""
    if target.n != robot.n:
        raise SimulationError(f"target: the trajectory has {target.n} joints, the robot has {robot.n}")


def check_controller(controller: Controller) -> None:
    check.robot(controller.robot)
    saturated: Any = controller.saturated
    if not isinstance(saturated, bool | np.bool_):
        raise SimulationError(f"saturated: found {shown(saturated)}; True or False is expected")
    check_rate(controller.rate)


def check_driven(controller: Controller) -> None:
    """Refuse robots with elastic joints: these laws act on every coordinate, and no torque acts on links."""
    check_controller(controller)
    if controller.robot.model.elastic:
        name = controller.robot.model.elastic[0].joint_label
        raise SimulationError(
            f"robot: {type(controller).__name__} would put torques on the links of elastic joints "
            f"('{name}'), where none act; MotorPD is for them"
        )


def check_rate(rate: Any) -> None:
    """Refuse what is no number of samples a second, "auto" or None."""
    if rate is None or (isinstance(rate, str) and rate == "auto"):
        return
    number = check.floats("rate", rate, "a number of samples a second, 'auto' or None")
    if number.ndim or not 0 < number < np.inf:
        raise SimulationError(f"rate: found {shown(rate)}; expected a positive number, 'auto' or None")
