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
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from armdyn.dynamics import gravity_torques
from armdyn.expression import shown
from armdyn.kernels import Kernel
from armdyn.model import Mechanism
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.robot.tip import at_link, tip_freedom
from armdyn.simulation.control import laws
from armdyn.simulation.control.laws import Given, Scalars
from armdyn.simulation.control.targets import TipTarget
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
        times = np.asarray(t, float)
        targets = self.targets(times.ravel())
        return self.evaluate(self._gains, targets.reshape(*times.shape, targets.shape[-1]), q, qd)

    @cached_property
    def _gains(self) -> np.ndarray:
        """The constants side by side, (..., columns)."""
        return side_by_side(self.constants().values())

    def targets(self, t: np.ndarray) -> np.ndarray:
        """The signals side by side, (N, columns) at times (N,)."""
        if not self.sizes[1]:
            return np.zeros((len(t), 0))
        return np.concatenate(list(self.signals(frozen(t)).values()), axis=-1)

    def evaluate(self, gains: np.ndarray, targets: np.ndarray, q: Array, qd: Array) -> Any:
        """Torques of constants and signals side by side."""
        given = [x for x in (gains, targets) if x.shape[-1]]
        return self.kernel(np.asarray(q, float), np.asarray(qd, float), *given)

    @cached_property
    def sizes(self) -> tuple[Sizes, Sizes]:
        """Names and sizes of constants and signals."""
        constants, signals = (
            tuple((name, x.shape[-1]) for name, x in given.items())
            for given in (self.constants(), self.signals(np.zeros(1)))
        )
        return constants, signals

    @cached_property
    def kernel(self) -> Kernel:
        """The law as a function of q, q̇, and constants and signals side by side."""
        return Kernel.of("torques", law_program(self.robot.n, self.law, *self.sizes))

    @cached_property
    def _mechanism(self) -> Mechanism:
        """The model without dry friction: a law that knew the sign of q̇ would jump where joints stick."""
        return without_dry_friction(self.robot.mechanism)


class _JointControl(Controller):
    """Feedback of joint positions and velocities, to a set point or along a trajectory."""

    target: Target
    stiffness: Array
    damping: Array
    followed: ClassVar[tuple[str, ...]]  # what of a trajectory the law is given

    def __post_init__(self) -> None:
        _check(self)
        if isinstance(self.target, Trajectory) and self.target.n != self.robot.n:
            raise SimulationError(
                f"target: the trajectory has {self.target.n} joints, the robot has {self.robot.n}"
            )
        self.constants()

    def constants(self) -> Arrays:
        n = self.robot.n
        place = {} if isinstance(self.target, Trajectory) else {"target": _place("target", self.target, n)}
        return place | _gains(n, stiffness=self.stiffness, damping=self._damping)

    @property
    def _damping(self) -> Any:
        return self.damping

    def signals(self, t: np.ndarray) -> Arrays:
        if not isinstance(self.target, Trajectory):
            return {}
        return dict(zip(self.followed, self.target(t), strict=False))

    @property
    def jumps(self) -> np.ndarray:
        target = self.target
        return np.array([*target.jumps, target.duration] if isinstance(target, Trajectory) else [])


@dataclass(frozen=True, eq=False)
class PDGravity(_JointControl):
    """PD with gravity compensation: τ = g(q) + K_P (q_d − q) + K_D (q̇_d − q̇).

    `stiffness` K_P [N m/rad or N/m] and `damping` K_D [N m s/rad or N s/m] are numbers or (..., n).
    """

    robot: Robot
    target: Target
    stiffness: Array
    damping: Array
    saturated: bool = False
    rate: Rate = "auto"
    followed = ("target", "target_velocity")

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        feedback = laws.feedback(q, qd, given)
        return [g + f for g, f in zip(gravity_torques(self._mechanism, q), feedback, strict=True)]


@dataclass(frozen=True, eq=False)
class ComputedTorque(_JointControl):
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
    followed = ("target", "target_velocity", "target_acceleration")

    @property
    def _damping(self) -> Any:
        return _critical(self.stiffness) if self.damping is None else self.damping

    @property
    def compensates_dry_friction(self) -> bool:
        moving = self.friction and isinstance(self.target, Trajectory)
        return moving and any(f.coulomb or f.stribeck or f.load for f in self.robot.mechanism.friction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        full = self.robot.mechanism if self.friction else None
        return laws.computed_torque(self._mechanism, full, q, qd, given)


@dataclass(frozen=True, eq=False)
class OperationalControl(Controller):
    """Operational-space control of the tip: τ = Jᵀ Λ (ẍ_c − J̇ q̇) + C q̇ + F_v q̇ + g + null-space torques.

    ẍ_c = ẍ_d + K_D (ẋ_d − ẋ) + K_P e with e the error of position and, if the target has a `rotation`, of
    orientation, ½ Σ axis × target axis in world axes. An error of position longer than `furthest` [m] counts
    as that long: a target far away does not tear at the arm. Λ = (J B⁻¹ Jᵀ)⁻¹; near a singularity the
    inverse is damped, by up to `damped` of its mean. Directions in which the tip can never move are left out.
    Freedom that the tip leaves is braked with `null_damping` [1/s] and drawn to `posture` (..., n) with
    `null_stiffness` [1/s²], without moving the tip. Gains as in `ComputedTorque`, for all directions alike.
    With `link` the frame of that link takes the place of the tip.
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
    link: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.target, TipTarget):
            raise SimulationError(
                f"target: found {type(self.target).__name__}; operational control takes a TipPoint or TipLine"
            )
        _check(self)
        m, n = len(self._rows), self.robot.n
        if m > n:
            cure = "" if self.target.rotation is None else "; leave out the rotation"
            raise SimulationError(f"target: {n} joints cannot control {m} directions of the tip{cure}")
        _gains(1, damped=self.damped)
        if not check.number("furthest", self.furthest) > 0:
            raise SimulationError(f"furthest: found {shown(self.furthest)}; a positive length is expected")
        if self.posture is None and _gains(n, null_stiffness=self.null_stiffness)["null_stiffness"].any():
            raise SimulationError(
                f"null_stiffness: found {shown(self.null_stiffness)} without a posture; give posture= too"
            )
        self.constants()

    def constants(self) -> Arrays:
        m, n = len(self._rows), self.robot.n
        damping = _critical(self.stiffness) if self.damping is None else self.damping
        found = _gains(m, stiffness=self.stiffness, damping=damping)
        found |= _gains(n, null_damping=self.null_damping)
        if self.posture is not None:
            found["posture"] = _place("posture", self.posture, n)
            found |= _gains(n, null_stiffness=self.null_stiffness)
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
        wanted = 3 if self.target.rotation is None else 6
        return [k for k in tip_freedom(self._at_link).rows if k < wanted]

    @cached_property
    def _at_link(self) -> Robot:
        return at_link(self.robot, self.link)

    @cached_property
    def _mechanism(self) -> Mechanism:
        return without_dry_friction(self._at_link.mechanism)


class Later(Controller):
    """A controller with a time that begins at `start` [s] of its own."""

    def __init__(self, inner: Controller, start: float) -> None:
        self.inner, self.start = inner, start
        self.robot, self.saturated, self.rate = inner.robot, inner.saturated, inner.rate

    def constants(self) -> Arrays:
        return self.inner.constants()

    def signals(self, t: np.ndarray) -> Arrays:
        return self.inner.signals(t + self.start)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        return self.inner.torques(q, qd, given)

    @property
    def jumps(self) -> np.ndarray:
        return np.asarray(self.inner.jumps - self.start)

    @property
    def compensates_dry_friction(self) -> bool:
        return self.inner.compensates_dry_friction


# ---- what enters -------------------------------------------------------------------------------------------


def frozen(x: np.ndarray) -> np.ndarray:
    """A read-only copy for a function of the user, who may keep it: it never changes."""
    own = np.array(x)
    own.setflags(write=False)
    return own


def side_by_side(parts: Iterable[np.ndarray]) -> np.ndarray:
    """Columns next to each other, repeated over arms (and instants) where only some parts differ there."""
    found = list(parts)
    rows = np.broadcast_shapes(*(x.shape[:-1] for x in found))
    return np.concatenate([np.broadcast_to(x, (*rows, x.shape[-1])) for x in found], axis=-1)


def _critical(stiffness: Any) -> np.ndarray:
    """2√K_P; negative stiffness is refused elsewhere."""
    return np.asarray(2 * np.sqrt(np.maximum(check.floats("stiffness", stiffness), 0.0)))


def _place(name: str, x: Any, size: int) -> np.ndarray:
    """A set point (..., size)."""
    return check.numbers(name, check.wide(name, x, size))


def _gains(size: int, **gains: Any) -> Arrays:
    """Gains (..., size) by name."""
    found = {name: check.wide(name, x, size) for name, x in gains.items()}
    for name, x in found.items():
        if not (np.isfinite(x) & (x >= 0)).all():
            raise SimulationError(f"{name}: found {shown(gains[name])}; gains are finite and not negative")
    return found


def _check(controller: Controller) -> None:
    check.robot(controller.robot)
    rate: Any = controller.rate
    if rate is None or (isinstance(rate, str) and rate == "auto"):
        return
    number = check.floats("rate", rate, "a number of samples a second, 'auto' or None")
    if number.ndim or not 0 < number < np.inf:
        raise SimulationError(f"rate: found {shown(rate)}; expected a positive number, 'auto' or None")
