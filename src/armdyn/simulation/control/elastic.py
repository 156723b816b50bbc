"""PD on the motors of elastic joints, with gravity compensation or with feed-forward torques."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.dynamics.newton_euler import holding_torques
from armdyn.kernels import Kernel
from armdyn.model import Mechanism
from armdyn.motion.elastic.feedforward import ElasticFeedforward
from armdyn.motion.elastic.transmissions import (
    check_elastic,
    elastic_coordinates,
    spring_shares,
    weighted,
    without_transmissions,
)
from armdyn.program import record
from armdyn.robot import Robot
from armdyn.simulation.control import laws
from armdyn.simulation.control.controller import (
    Array,
    Arrays,
    Controller,
    Rate,
    check_controller,
    gains_of,
    place_of,
)
from armdyn.simulation.control.laws import Given, Scalars
from armdyn.simulation.errors import SimulationError, check

At: TypeAlias = Literal["target", "motor"]


@dataclass(frozen=True, eq=False)
class MotorPD(Controller):
    """PD on the motors of an arm with elastic joints: τ = g + K_P (θ_d − θ) + K_D (θ̇_d − θ̇), of the motors.

    `target` are positions q_d of the links (..., n − e): θ_d = q_d + K⁻¹ g(q_d), with K the stiffness of the
    transmissions. The gravity torques g are g(q_d), which stays (gravity="target": Tomei, "A simple PD
    controller for robots with elastic joints", IEEE Trans. Automatic Control 36, 1991), or those at the motor
    positions g(θ − K⁻¹ g(q_d)) (gravity="motor": De Luca, Siciliano, Zollo, "PD control with on-line gravity
    compensation for robots with elastic joints", Automatica 41, 2005). Both are stable where transmissions
    and gains are stiff against gravity. Springs at joints and between points count as gravity does. Of a link
    that other motors are coupled to, these bear a part of the weight; g is what the spring bears.

    Or `target` is an `ElasticFeedforward`: τ is its torque and feedback of its motor positions and
    velocities; without gains it acts alone.

    `stiffness` K_P [N m/rad or N/m] and `damping` K_D [N m s/rad or N s/m], at the joint's side, are
    numbers or (..., n − e): one for each coordinate of the links. Of rigid joints the own positions count.
    """

    robot: Robot
    target: ElasticFeedforward | Array
    stiffness: Array
    damping: Array
    gravity: At = "target"
    saturated: bool = False
    rate: Rate = "auto"

    def __post_init__(self) -> None:
        check_controller(self)
        check_elastic(self.robot)
        check.one_of("gravity", self.gravity, "target", "motor")
        plan = self._plan
        if plan is not None:
            if plan.robot.n != self.robot.n:
                found = f"the feed-forward is for {plan.robot.n} coordinates, the robot has {self.robot.n}"
                raise SimulationError(f"target: {found}")
            if self.gravity != "target":
                raise SimulationError("gravity: found 'motor'; a feed-forward has its own, leave it out")
        self.constants()

    @property
    def _plan(self) -> ElasticFeedforward | None:
        return self.target if isinstance(self.target, ElasticFeedforward) else None

    def constants(self) -> Arrays:
        gains = gains_of(self._links, stiffness=self.stiffness, damping=self.damping)
        if self._plan is not None:
            return gains
        target = place_of("target", self.target, self._links)
        held = np.asarray(self._holding(target))
        bent = np.zeros_like(held)
        elastic = elastic_coordinates(self.robot)
        bent[..., elastic] = held[..., elastic] / self._stiffness
        given = {"held": held} if self.gravity == "target" else {"bent": bent}
        return {"target": target + bent, **given, **gains}

    def signals(self, t: np.ndarray) -> Arrays:
        plan = self._plan
        if plan is None:
            return {}
        q, qd, _ = plan.trajectory(t)
        motors = self._motors
        found = {"target": q, "target_velocity": qd, "held": plan(t)}
        return {name: np.ascontiguousarray(x[:, motors]) for name, x in found.items()}

    @property
    def jumps(self) -> np.ndarray:
        plan = self._plan
        return np.zeros(0) if plan is None else np.array([*plan.trajectory.jumps, plan.duration])

    def torques(self, q: Scalars, qd: Scalars, given: Given) -> Scalars:
        motors = self._motors
        at, speed = [q[i] for i in motors], [qd[i] for i in motors]
        if "held" in given:
            held = given["held"]
        else:
            held = self._held([x - bent for x, bent in zip(at, given["bent"], strict=True)])
        tau: Scalars = [0] * self.robot.n
        for i, g, f in zip(motors, held, laws.feedback(at, speed, given), strict=True):
            tau[i] = g + f
        coupled = weighted(self._coupled, [tau[i] for i in motors])
        for i, x in zip(elastic_coordinates(self.robot).tolist(), coupled, strict=True):
            tau[i] = x
        return tau

    # ---- the model -------------------------------------------------------------------------------------

    @cached_property
    def _motors(self) -> list[int]:
        """For each coordinate of the links, that of its motor: itself, where the joint is rigid."""
        found = list(range(self._links))
        for e, i in enumerate(elastic_coordinates(self.robot).tolist()):
            found[i] = self._links + e
        return found

    @property
    def _links(self) -> int:
        """How many coordinates belong to links."""
        return self.robot.n - len(self.robot.model.elastic)

    @cached_property
    def _stiffness(self) -> np.ndarray:
        """Of the transmissions (e,)."""
        springs = self.robot.mechanism.springs
        return np.array([spring.stiffness for spring in springs if spring.part == "elastic"])

    @cached_property
    def _loose(self) -> Mechanism:
        return without_transmissions(self.robot)

    @cached_property
    def _coupled(self) -> np.ndarray:
        """(e, n − e): what motors that are coupled to elastic links give there with the torques at motors."""
        K = self.robot.transmission
        return np.asarray(K[:, elastic_coordinates(self.robot)].T @ np.linalg.pinv(K[:, self._motors].T))

    def _held(self, links: Scalars) -> Scalars:
        """What holds the links against gravity and springs: at rigid joints, and behind elastic ones."""
        motors = [0] * (self.robot.n - self._links)
        found = holding_torques(self._loose, [*links, *motors])[: self._links]
        behind = weighted(spring_shares(self.robot), found)
        for i, x in zip(elastic_coordinates(self.robot).tolist(), behind, strict=True):
            found[i] = x
        return found

    @cached_property
    def _holding(self) -> Kernel:
        size = self._links
        found: Any = record(self._held, [("q", size)], [("held", (size,))])
        return Kernel.of("held", found)
