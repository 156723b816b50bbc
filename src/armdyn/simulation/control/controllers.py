"""Feedback of joints and of the tip: PD with gravity compensation, computed torque, operational space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from armdyn.dynamics import holding_torques
from armdyn.expression import shown
from armdyn.model import Mechanism
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.robot.tip import at_link, tip_freedom
from armdyn.simulation.control import laws
from armdyn.simulation.control.controller import (
    Array,
    Arrays,
    Controller,
    Rate,
    Target,
    check_driven,
    critical,
    follows,
    gains_of,
    place_of,
)
from armdyn.simulation.control.laws import Given, Scalars
from armdyn.simulation.control.targets import TipTarget
from armdyn.simulation.engine.integrand import without_dry_friction
from armdyn.simulation.errors import SimulationError, check


class JointControl(Controller):
    """Feedback of joint positions and velocities, to a set point or along a trajectory."""

    target: Target
    stiffness: Array
    damping: Array
    followed: ClassVar[tuple[str, ...]]  # what of a trajectory the law is given

    def __post_init__(self) -> None:
        check_driven(self)
        if isinstance(self.target, Trajectory):
            follows(self.robot, self.target)
        self.constants()

    def constants(self) -> Arrays:
        return self.set_point() | gains_of(self.robot.n, stiffness=self.stiffness, damping=self._damping)

    def set_point(self) -> Arrays:
        """The target, if it stays."""
        if isinstance(self.target, Trajectory):
            return {}
        return {"target": place_of("target", self.target, self.robot.n)}

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
class PDGravity(JointControl):
    """PD with gravity compensation: τ = g(q) + K_P (q_d − q) + K_D (q̇_d − q̇).

    What holds the arm against springs is part of g, as in `GravityCompensation`.

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
        model = self.carrying(self._mechanism, given)
        held = holding_torques(model, laws.posture(model, q, given))
        return [g + f for g, f in zip(held, feedback, strict=True)]


@dataclass(frozen=True, eq=False)
class ComputedTorque(JointControl):
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
        return critical(self.stiffness) if self.damping is None else self.damping

    @property
    def compensates_dry_friction(self) -> bool:
        moving = self.friction and isinstance(self.target, Trajectory)
        return moving and any(f.coulomb or f.stribeck or f.load for f in self.robot.mechanism.friction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        full = self.robot.mechanism if self.friction else None
        return laws.computed_torque(self.carrying(self._mechanism, given), full, q, qd, given)


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
        check_driven(self)
        m, n = len(self._rows), self.robot.n
        if m > n:
            cure = "" if self.target.rotation is None else "; leave out the rotation"
            raise SimulationError(f"target: {n} joints cannot control {m} directions of the tip{cure}")
        gains_of(1, damped=self.damped)
        if not check.number("furthest", self.furthest) > 0:
            raise SimulationError(f"furthest: found {shown(self.furthest)}; a positive length is expected")
        if self.posture is None and gains_of(n, null_stiffness=self.null_stiffness)["null_stiffness"].any():
            raise SimulationError(
                f"null_stiffness: found {shown(self.null_stiffness)} without a posture; give posture= too"
            )
        self.constants()

    def constants(self) -> Arrays:
        m, n = len(self._rows), self.robot.n
        damping = critical(self.stiffness) if self.damping is None else self.damping
        found = gains_of(m, stiffness=self.stiffness, damping=damping)
        found |= gains_of(n, null_damping=self.null_damping)
        if self.posture is not None:
            found["posture"] = place_of("posture", self.posture, n)
            found |= gains_of(n, null_stiffness=self.null_stiffness)
        return found

    def signals(self, t: np.ndarray) -> Arrays:
        return self.target.at(t)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        threshold = 2e-2 if self.target.rotation is None else 2e-3  # ordinary postures are not damped
        model = self.carrying(self._mechanism, given)
        return laws.operational(model, q, qd, given, self._rows, float(self.furthest), self.damped, threshold)

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
