"""The elastic joints of a robot as arrays, and what their springs have to give for a motion of the links.

With all springs locked, the motors would have to give their gears x with Mᵀ x = N(q, q̇, q̈), where M is the
transmission of the rigid arm and N is what the links need: inertia, Coriolis, gravity, springs and smooth
friction. The rotors of elastic joints are left out of N, and in the reduced model their accelerations are not
part of it. A rotor turns freely but for its spring and its gears, so that the same x acts there:

    D (θ̇ − q̇) + K (θ − q) = k x = W N(q, q̇, q̈)    of each elastic joint, with k its gear

Where no motor is coupled to the link of an elastic joint, W N is just the N of that link. The derivatives of
W N by time are those of the recorded program.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from armdyn.dynamics import friction_torques
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.kernels import Kernel
from armdyn.model.lowering import idlers
from armdyn.model.mechanism import FIXED_BASE, Mechanism, Rotor
from armdyn.model.parts import Link
from armdyn.model.vector import ZERO3
from armdyn.motion.errors import MotionError
from armdyn.program import Program, record, time_derivative
from armdyn.robot import Robot
from armdyn.robot.joints import joint_name

ORDERS = ("q", "qd", "qdd", "jerk", "snap", "crackle")
SHORTEST = 1e-6  # s, D/K: below it, a damper's motion is computed as a series in D/K


@dataclass(frozen=True)
class Transmissions:
    """The e elastic joints of a robot whose rotors spin about their own axes only."""

    robot: Robot

    def __post_init__(self) -> None:
        check_reduced(self.robot)

    @cached_property
    def stiffness(self) -> np.ndarray:
        """K (e,) [N m/rad or N/m]."""
        springs = self.robot.mechanism.springs
        return np.array([spring.stiffness for spring in springs if spring.part == "elastic"])

    @cached_property
    def damping(self) -> np.ndarray:
        """D (e,) [N m s/rad or N s/m]."""
        mechanism = self.robot.mechanism
        found = {f.joint: f.viscous for f in mechanism.friction if f.part == "damper"}
        joints = [spring.joint for spring in mechanism.springs if spring.part == "elastic"]
        return np.array([found.get(j, 0.0) for j in joints])

    @cached_property
    def lags(self) -> np.ndarray:
        """D/K (e,) [s]: for about that long a damped joint remembers."""
        return np.asarray(self.damping / self.stiffness)

    @cached_property
    def remembering(self) -> np.ndarray:
        """Whose deflections follow from an equation in time (e,); those of others follow from N at once."""
        return np.asarray(self.lags >= SHORTEST)

    @cached_property
    def links(self) -> np.ndarray:
        """Which coordinates the elastic links are (e,)."""
        return elastic_coordinates(self.robot)

    @property
    def own(self) -> int:
        """How many coordinates belong to links: the motors' come after these."""
        return self.robot.n - len(self.links)

    def needed(self, motion: list[np.ndarray]) -> np.ndarray:
        """W N (N, e) of q, q̇, q̈; of more derivatives of the motion, its derivative by time."""
        return np.asarray(self._kernels[len(motion) - 3](*motion))

    def deflections(self, motion: list[np.ndarray]) -> list[np.ndarray]:
        """δ, δ̇ and δ̈ (N, e) of joints that do not remember, from five derivatives, or four without damping.

        With N for W N, D δ̇ + K δ = N has the solution N/K − (D/K) Ṅ/K, but for (D/K)², which is nothing here.
        """
        found = [self.needed(motion[: 3 + k]) / self.stiffness for k in range(len(motion) - 2)]
        if len(found) == 3:
            return found
        lags = np.where(self.remembering, 0.0, self.lags)
        return [x - lags * rate for x, rate in pairwise(found)]

    @cached_property
    def order(self) -> int:
        """How many derivatives of a motion `deflections` needs."""
        return 5 if (self.lags[~self.remembering] > 0).any() else 4

    @cached_property
    def _kernels(self) -> list[Kernel]:
        found = [self._program]
        for order in range(3, self.order + 1):
            rates = dict(pairwise(ORDERS[: order + 1]))
            found.append(time_derivative(found[-1], rates))
        return [Kernel.of(f"elastic_torques_{k}", program) for k, program in enumerate(found)]

    @cached_property
    def _program(self) -> Program:
        """W N over positions, velocities and accelerations of the links."""
        mechanism, motors = without_transmissions(self.robot), [0] * len(self.links)
        W = spring_shares(self.robot)

        def torques(q: Any, qd: Any, qdd: Any) -> Any:
            q, qd, qdd = ([*x, *motors] for x in (q, qd, qdd))
            rigid, friction = rigid_torques(mechanism, q, qd, qdd), friction_torques(mechanism, qd)
            needed = [a + b for a, b in zip(rigid, friction, strict=True)]
            return weighted(W, needed[: self.own])

        inputs = [(name, self.own) for name in ORDERS[:3]]
        return record(torques, inputs, [("torques", (len(self.links),))])


def elastic_coordinates(robot: Robot) -> np.ndarray:
    """Which coordinates the links of elastic joints are (e,), in the order of the motors' coordinates."""
    names = [link.name for link in robot.model.coordinates]
    return np.array([names.index(link.name) for link in robot.model.elastic], int)


def without_transmissions(robot: Robot) -> Mechanism:
    """Links on their own: without springs, dampers and rotors of elastic joints, and without dry friction."""
    mechanism, first = robot.mechanism, len(robot.model.moving)
    motors = {i for i, _ in _motors(robot)}
    return replace(
        mechanism,
        rotors=tuple(rotor for rotor in mechanism.rotors if all(j < first for j, _ in rotor.row)),
        springs=tuple(spring for spring in mechanism.springs if spring.part != "elastic"),
        friction=tuple(
            f.smooth for f in mechanism.friction if f.part == "joint" or not motors & {i for i, _ in f.row}
        ),
    )


def spring_shares(robot: Robot) -> np.ndarray:
    """W (e, n − e): what the elastic transmissions give where the links need N is W N."""
    links, elastic = robot.n - len(robot.model.elastic), elastic_coordinates(robot)
    K = robot.transmission
    if not K[:, elastic].any():
        return np.asarray(np.eye(links)[elastic])
    W = K[:, links:].T @ np.linalg.pinv(_locked(robot).T)
    return np.asarray(np.where(np.abs(W) < 1e-14 * np.abs(W).max(), 0.0, W))


def _locked(robot: Robot) -> np.ndarray:
    """M (m, n − e): how the motors turn with the links where θ = q."""
    K, links = robot.transmission, robot.n - len(robot.model.elastic)
    M = K[:, :links].copy()
    M[:, elastic_coordinates(robot)] += K[:, links:]
    return np.asarray(M)


def weighted(W: np.ndarray, x: Any) -> list[Any]:
    """W x over any scalar."""
    return [sum(x[i] if w == 1 else w * x[i] for i, w in enumerate(row) if w) for row in W.tolist()]


# ---- what is possible --------------------------------------------------------------------------------------


def check_elastic(robot: Robot) -> None:
    """Refuse robots without elastic joints, with loops, and whose springs do not follow from the links."""
    model = robot.model
    if not model.elastic:
        raise MotionError(f"{robot.name}: it has no elastic joint; inverse_dynamics gives its torques")
    if model.loops:
        raise MotionError(
            f"{robot.name}: it has loops beside elastic joints; feed-forward torques and MotorPD are for "
            "robots without loops"
        )
    names = {link.name for link in model.coordinates}
    tied = [link.name for link in model.elastic if link.name not in names]
    if not tied:
        K, M = robot.transmission[:, robot.n - len(model.elastic) :], _locked(robot)
        if np.linalg.matrix_rank(M) < M.shape[1]:
            raise MotionError(
                f"{robot.name}: its couplings let the motors drive only {np.linalg.matrix_rank(M)} of "
                f"{M.shape[1]} joints independently where the springs are locked; then the motion of the "
                "links does not determine the motors'"
            )
        off = np.abs(spring_shares(robot) @ M.T - K.T).max(axis=1)
        tied = [link.name for link, x in zip(model.elastic, off, strict=True) if x > 1e-9 * np.abs(K).max()]
    for name in tied:
        raise MotionError(
            f"link '{name}': a closure ties its elastic joint to joints with motors; then the motion of the "
            "links does not determine its motor's"
        )


def check_reduced(robot: Robot) -> None:
    """Refuse robots whose motors' torques do not follow from the motion of the links."""
    check_elastic(robot)
    motors = {coordinate: link.name for coordinate, link in _motors(robot)}
    own = dict(zip(elastic_coordinates(robot).tolist(), motors.values(), strict=True))
    shared = set(np.flatnonzero(spring_shares(robot).any(axis=0)).tolist())
    for rotor in robot.mechanism.rotors:
        _check_rotor(robot, rotor)
    for f in robot.mechanism.friction:
        for i, _ in f.row if f.coulomb or f.asymmetry or f.stribeck or f.load else ():
            if name := motors.get(i, own.get(i)):
                raise MotionError(
                    f"link '{name}': its elastic joint or that joint's motor has dry friction, whose torque "
                    "jumps where a speed changes its sign and is not determined at rest; smooth friction is "
                    "allowed (viscous, cubic, offset)"
                )
            if i in shared:
                raise MotionError(
                    f"{joint_name(robot, i)}: it or its motor has dry friction, and a coupling brings that "
                    "to a spring: the torque jumps where a speed changes its sign and is not determined at "
                    "rest; smooth friction is allowed (viscous, cubic, offset)"
                )


def _motors(robot: Robot) -> Iterator[tuple[int, Link]]:
    """The coordinates of motors of elastic joints, and the links that these drive."""
    return enumerate(robot.model.elastic, start=robot.n - len(robot.model.elastic))


def _check_rotor(robot: Robot, rotor: Rotor) -> None:
    """Refuse a motor that the links turn: its acceleration enters the equations of the links."""
    mechanism, first = robot.mechanism, len(robot.model.moving)
    spins = any(j >= first for j, _ in rotor.row)
    links = robot.model.moving if rotor.part == "rotor" else idlers(robot.model)
    name = links[rotor.joint].name
    if spins and rotor.axis != ZERO3 and _turns(mechanism, rotor.carrier):
        raise MotionError(
            f"link '{name}': its motor is carried by a link that turns, and "
            "with exact rotors the motor's acceleration enters the equations of the links: its torque is not "
            "algebraic in their motion. The reduced model is robot.with_rotors('reflected')"
        )


def _turns(mechanism: Mechanism, body: int) -> bool:
    while body != FIXED_BASE:
        if mechanism.bodies[body].joint == "revolute":
            return True
        body = mechanism.bodies[body].parent
    return False
