"""Controllers: torques from the state and a target, by a model of the robot.

A controller is called as controller(t, q, qd) and broadcasts like the methods of `Robot`. Its law is written
over scalars, so that `simulate` records it with the dynamics and compiles both together. The model may be
another robot than the one simulated. Gains and set points may differ from arm to arm: (..., n).

`rate` is the number of samples a second at which `simulate` evaluates the law; its torques are held in
between. None: the law acts continuously. "auto": 1000 where the law compensates dry friction, otherwise None.
(A sign of speed that acts without delay may contradict the friction it compensates.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.analysis.arrays import floats
from armdyn.analysis.limits import joint_limits
from armdyn.dynamics import gravity_torques
from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.kernels.cache import digest_of
from armdyn.model import Mechanism
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control import laws
from armdyn.simulation.control.laws import Given, Scalars
from armdyn.simulation.control.targets import TipTarget
from armdyn.simulation.engine.integrand import Sizes, law_program, without_dry_friction
from armdyn.simulation.errors import SimulationError
from armdyn.simulation.frozen import frozen

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
    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        """The law over any scalar, before saturation; `given` has constants and signals by name."""

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
        if self.rate is None or (self.rate == "auto" and not self.compensates_dry_friction):
            return None
        return 1 / (AUTO_RATE if self.rate == "auto" else self.rate)

    def law(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        """The law over any scalar, within the robot's torque limits if `saturated`."""
        tau = self.torques(q, qd, given)
        if not self.saturated:
            return tau
        limits = joint_limits(self.robot).torque
        return [laws.clipped(x, float(most)) for x, most in zip(tau, limits, strict=True)]

    def __call__(self, t: Array, q: Array, qd: Array) -> Any:
        """Torques (..., n) at times t (...) in states q, qd (..., n)."""
        return self.evaluate(list(self.constants().values()), t, q, qd)

    def evaluate(self, constants: Sequence[np.ndarray], t: Array, q: Array, qd: Array) -> Any:
        """The same with other constants, in the order of `constants()`."""
        times = np.asarray(t, float)
        signals = self.signals(frozen(times.ravel()))
        shaped = [x.reshape(*times.shape, x.shape[-1]) for x in signals.values()]
        return self.kernel(np.asarray(q, float), np.asarray(qd, float), *constants, *shaped)

    @cached_property
    def sizes(self) -> tuple[Sizes, Sizes]:
        """Names and sizes of constants and signals."""
        constants, signals = self.constants(), self.signals(np.zeros(1))
        return tuple((k, x.shape[-1]) for k, x in constants.items()), tuple(
            (k, x.shape[-1]) for k, x in signals.items()
        )

    @cached_property
    def kernel(self) -> Kernel:
        """The law as a function of q, q̇, constants and signals."""
        program = law_program(self.robot.n, self.law, [*self.sizes[0], *self.sizes[1]])
        return Kernel("torques", program.inputs, ((self.robot.n,),), lambda: program, digest_of(str(program)))

    @cached_property
    def _mechanism(self) -> Mechanism:
        """The model without dry friction: a law that knew the sign of q̇ would jump where joints stick."""
        return without_dry_friction(self.robot.mechanism)


@dataclass(frozen=True, eq=False)
class PDGravity(Controller):
    """PD with gravity compensation: τ = g(q) + K_P (q_d − q) + K_D (q̇_d − q̇).

    `stiffness` K_P [N m/rad or N/m] and `damping` K_D [N m s/rad or N s/m] are numbers or (..., n).
    """

    robot: Robot
    target: Target
    stiffness: Array
    damping: Array
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        _check(self, stiffness=self.stiffness, damping=self.damping)

    def constants(self) -> Arrays:
        return _set_point(self) | _gains(self.robot, stiffness=self.stiffness, damping=self.damping)

    def signals(self, t: np.ndarray) -> Arrays:
        return _reference(self.target, t, ("target", "target_velocity"))

    @property
    def jumps(self) -> np.ndarray:
        return _jumps(self.target)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        feedback = laws.feedback(q, qd, given)
        return [g + f for g, f in zip(gravity_torques(self._mechanism, q), feedback, strict=True)]


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """Inverse dynamics control: τ = B(q) (q̈_d + K_D (q̇_d − q̇) + K_P (q_d − q)) + C q̇ + F_v q̇ + g.

    `stiffness` K_P [1/s²] and `damping` K_D [1/s] are numbers or (..., n); damping None: critical, 2√K_P.
    With `friction` the model's dry friction is compensated, by the sign of the *target's* velocity.
    """

    robot: Robot
    target: Target
    stiffness: Array = 100.0
    damping: Array = None
    friction: bool = True
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        _check(self, stiffness=self.stiffness, damping=self._damping)

    @property
    def _damping(self) -> Any:
        return _critical(self.stiffness) if self.damping is None else self.damping

    def constants(self) -> Arrays:
        return _set_point(self) | _gains(self.robot, stiffness=self.stiffness, damping=self._damping)

    def signals(self, t: np.ndarray) -> Arrays:
        return _reference(self.target, t, ("target", "target_velocity", "target_acceleration"))

    @property
    def jumps(self) -> np.ndarray:
        return _jumps(self.target)

    @property
    def compensates_dry_friction(self) -> bool:
        moving = self.friction and isinstance(self.target, Trajectory)
        return moving and any(f.coulomb for f in self.robot.mechanism.friction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        full = self.robot.mechanism if self.friction else None
        return laws.computed_torque(self._mechanism, full, q, qd, given)


@dataclass(frozen=True, eq=False)
class OperationalControl(Controller):
    """Operational-space control of the tip: τ = Jᵀ Λ (ẍ_c − J̇ q̇) + C q̇ + F_v q̇ + g + null-space torques.

    ẍ_c = ẍ_d + K_D (ẋ_d − ẋ) + K_P e with e the error of position and, if the target has a `rotation`, of
    orientation, ½ Σ axis × target axis in base axes. An error of position longer than `furthest` [m] counts
    as that long: a target far away does not tear at the arm. Λ = (J B⁻¹ Jᵀ)⁻¹; near a singularity the
    inverse is damped, by up to `damped` of its mean. Directions in which the tip can never move are left out.
    Freedom that the tip leaves is braked with `null_damping` [1/s] and drawn to `posture` (..., n) with
    `null_stiffness` [1/s²], without moving the tip. Gains as in `ComputedTorque`, for all directions alike.
    """

    robot: Robot
    target: TipTarget
    stiffness: Array = 100.0
    damping: Array = None
    posture: Array = None
    null_stiffness: Array = 0.0
    null_damping: Array = 10.0
    furthest: float = 0.2
    damped: float = 0.2
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        if not isinstance(self.target, TipTarget):
            raise SimulationError(
                f"target: found {type(self.target).__name__}; operational control takes a TipPoint or TipLine"
            )
        _check_robot(self.robot)
        _check_rate(self.rate)
        m, n = len(self._rows), self.robot.n
        if m > n:
            raise SimulationError(f"target: {m} directions for {n} joints; leave out the rotation")
        _check_gains(m, stiffness=self.stiffness, damping=self._damping)
        _check_gains(n, null_stiffness=self.null_stiffness, null_damping=self.null_damping)
        _check_gains(1, damped=self.damped)
        if not np.isscalar(self.furthest) or not _wide(self.furthest, 1, "furthest")[0] > 0:
            raise SimulationError(f"furthest: found {shown(self.furthest)}; a positive length is expected")
        if self.posture is not None:
            _check_place("posture", self.posture, n)
        elif np.any(np.asarray(self.null_stiffness) != 0):
            raise SimulationError("null_stiffness: it draws to a posture; give posture= too")

    @property
    def _damping(self) -> Any:
        return _critical(self.stiffness) if self.damping is None else self.damping

    def constants(self) -> Arrays:
        m, n = len(self._rows), self.robot.n
        found = {
            "stiffness": _wide(self.stiffness, m, "stiffness"),
            "damping": _wide(self._damping, m, "damping"),
            "null_damping": _wide(self.null_damping, n, "null_damping"),
        }
        if self.posture is not None:
            found["posture"] = _wide(self.posture, n, "posture")
            found["null_stiffness"] = _wide(self.null_stiffness, n, "null_stiffness")
        return found

    def signals(self, t: np.ndarray) -> Arrays:
        return self.target.at(t)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        threshold = 2e-2 if self.target.rotation is None else 2e-3  # ordinary postures are not damped
        return laws.operational(
            self._mechanism, q, qd, given, self._rows, float(self.furthest), self.damped, threshold
        )

    @cached_property
    def _rows(self) -> list[int]:
        """The directions controlled: those of the target in which the tip can move."""
        q = np.random.default_rng(0).uniform(-2, 2, (10, self.robot.n))
        reach = np.abs(self.robot.jacobian(q)).max(axis=(0, 2))
        return [k for k in range(3 if self.target.rotation is None else 6) if reach[k] > 1e-9 * reach.max()]


# ---- what enters -------------------------------------------------------------------------------------------


def _set_point(controller: PDGravity | ComputedTorque) -> Arrays:
    if isinstance(controller.target, Trajectory):
        return {}
    return {"target": _wide(controller.target, controller.robot.n, "target")}


def _gains(robot: Robot, **gains: Any) -> Arrays:
    return {name: _wide(x, robot.n, name) for name, x in gains.items()}


def _reference(target: Any, t: np.ndarray, names: tuple[str, ...]) -> Arrays:
    return dict(zip(names, target(t), strict=False)) if isinstance(target, Trajectory) else {}


def _jumps(target: Any) -> np.ndarray:
    if not isinstance(target, Trajectory):
        return np.zeros(0)
    return np.array([*target.jumps, target.duration])


def _wide(x: Any, size: int, name: str) -> np.ndarray:
    """(..., size) of a number or an array (..., size)."""
    array = floats(SimulationError, name, x)
    if array.ndim == 0:
        return np.full(size, float(array))
    if array.shape[-1] != size:
        raise SimulationError(f"{name}: expected one number or (..., {size}), found {array.shape}")
    return array


def _critical(stiffness: Any) -> np.ndarray:
    """2√K_P; gains that are none are refused elsewhere."""
    return np.asarray(2 * np.sqrt(np.maximum(floats(SimulationError, "stiffness", stiffness), 0.0)))


def _check(controller: PDGravity | ComputedTorque, **gains: Any) -> None:
    robot, target = controller.robot, controller.target
    _check_robot(robot)
    _check_rate(controller.rate)
    if not isinstance(target, Trajectory):
        _check_place("target", target, robot.n)
    elif target.n != robot.n:
        raise SimulationError(f"target: the trajectory has {target.n} joints, the robot {robot.n}")
    _check_gains(robot.n, **gains)


def _check_robot(robot: Any) -> None:
    if not isinstance(robot, Robot):
        raise SimulationError(f"robot: expected a Robot, found {type(robot).__name__}")


def _check_rate(rate: Any) -> None:
    if rate is None or (isinstance(rate, str) and rate == "auto"):
        return
    number = floats(SimulationError, "rate", rate, "a number of samples a second, 'auto' or None")
    if number.ndim or not 0 < number < np.inf:
        raise SimulationError(f"rate: found {shown(rate)}; expected a positive number, 'auto' or None")


def _check_place(name: str, place: Any, size: int) -> None:
    if not np.isfinite(_wide(place, size, name)).all():
        raise SimulationError(f"{name}: a set point must be finite")


def _check_gains(size: int, **gains: Any) -> None:
    for name, gain in gains.items():
        array = _wide(gain, size, name)
        if not (np.isfinite(array) & (array >= 0)).all():
            raise SimulationError(f"{name}: found {shown(gain)}; gains are finite and not negative")
