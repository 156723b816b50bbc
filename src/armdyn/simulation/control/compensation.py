"""Controllers that compensate gravity and friction. Under their sum an arm can be guided by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armdyn.dynamics import friction_torques, holding_torques
from armdyn.dynamics.friction import has_load, rows_of_friction
from armdyn.expression import shown
from armdyn.model.friction import along
from armdyn.motion.trajectories.trajectory import Trajectory
from armdyn.robot import Robot
from armdyn.simulation.control.controller import (
    Array,
    Arrays,
    Controller,
    Rate,
    check_driven,
    follows,
    gains_of,
)
from armdyn.simulation.control.laws import LEAST, Given, Scalars, friction_apart, posture, smooth_sign
from armdyn.simulation.errors import SimulationError


@dataclass(frozen=True, eq=False)
class GravityCompensation(Controller):
    """The torques that hold the model against gravity: τ = fraction · g(q).

    Those that hold it against springs at joints and between points are part of g here; elastic transmissions,
    which carry the arm, are not.

    `fraction` is a number or (..., n).
    """

    robot: Robot
    fraction: Array = 1.0
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_driven(self)
        self.constants()

    def constants(self) -> Arrays:
        return gains_of(self.robot.n, fraction=self.fraction)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        model = self.carrying(self._mechanism, given)
        held = holding_torques(model, posture(model, q, given))
        return [k * g for k, g in zip(given["fraction"], held, strict=True)]


@dataclass(frozen=True, eq=False)
class FrictionCompensation(Controller):
    """The friction of the model: τ = fraction · (viscous, dry and all other friction at q̇).

    A sign that jumps with a measured speed would make joints tremble. So dry friction goes by a smooth sign
    v/√(v² + v₀²) with v₀ = `smoothing` [rad/s or m/s], a number or (..., n). With a `target`, a trajectory,
    it goes by the sign of the target's velocity instead, as in `ComputedTorque`. Motors that turn with
    several joints have the largest smoothing of these, times what they turn. Load friction is that of the
    torques that hold the arm. `fraction`, a number or (..., n), is below 1 where friction must not be
    overcompensated. At rest a smooth sign is zero: a joint that sticks still has to be pushed free.
    """

    robot: Robot
    fraction: Array = 1.0
    smoothing: Array = 0.05
    target: Trajectory | None = None
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_driven(self)
        target: Any = self.target
        if target is not None and not isinstance(target, Trajectory):
            found = type(target).__name__
            raise SimulationError(f"target: expected a Trajectory or None, found {found}")
        if target is not None:
            follows(self.robot, target)
        if not (self.constants()["smoothing"] >= LEAST).all():
            found = shown(self.smoothing)
            raise SimulationError(f"smoothing: found {found}; speeds of at least {LEAST:g} are expected")

    def constants(self) -> Arrays:
        return gains_of(self.robot.n, fraction=self.fraction, smoothing=self.smoothing)

    def signals(self, t: np.ndarray) -> Arrays:
        return {} if self.target is None else {"target_velocity": self.target(t)[1]}

    @property
    def jumps(self) -> np.ndarray:
        return np.zeros(0) if self.target is None else np.array([*self.target.jumps, self.target.duration])

    @property
    def compensates_dry_friction(self) -> bool:
        dry = (f.coulomb or f.stribeck or f.load for f in self.robot.mechanism.friction)
        return self.target is not None and any(dry)

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        mechanism = self.carrying(self.robot.mechanism, given)
        y = posture(mechanism, q, given)
        rigid = holding_torques(mechanism, y) if has_load(mechanism) else None
        if self.target is None:
            rows = rows_of_friction(mechanism, y)
            directions = [smooth_sign(along(row, qd), row, given["smoothing"]) for row in rows]
            friction = friction_torques(mechanism, qd, directions, rigid, y)
        else:
            friction = friction_apart(mechanism, y, qd, given["target_velocity"], rigid)
        return [k * f for k, f in zip(given["fraction"], friction, strict=True)]
