"""From what was recorded to a robot's coordinates: motors, torque constants, joints that follow others."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.logs.log import Log
from armdyn.model import ModelError
from armdyn.robot import Robot, motors
from armdyn.robot.joints import joint_name
from armdyn.robot.related import Related

RELATION = 0.02  # of a joint's travel, and at least 1e-3 rad or m: how far it may be from where others put it


@dataclass(frozen=True)
class Linear:
    """Coordinates x = A y + b of what was recorded, y."""

    A: np.ndarray  # (n, columns)
    b: np.ndarray  # (n,)

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y @ self.A.T + self.b)

    def known(self, y: np.ndarray) -> np.ndarray:
        """The same for y with holes: NaN only where a coordinate is made of what is missing."""
        there = np.isfinite(y)
        return np.where(self.usable(there), self(np.where(there, y, 0.0)), np.nan)

    def derivative(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y @ self.A.T)

    def usable(self, mask: np.ndarray) -> np.ndarray:
        """Whether all that a coordinate is made of may be used; zeros in A need nothing."""
        return np.asarray((~mask).astype(int) @ (self.A != 0).T.astype(int) == 0)


def positions(log: Log, robot: Robot) -> Linear:
    """From the log's positions to q (7.22): q = K⁻¹ θ_m + zeros."""
    _check_elastic(log, robot)
    zeros = np.zeros(robot.n) if log.joint_zeros is None else _zeros(log, robot)
    if log.positions == "q":
        linear = _coordinates(log, robot)
        return Linear(linear.A, linear.b + zeros)
    K, shift = transmission(log, robot)
    _check_width(log, "motor_position", len(K))
    inverse = np.linalg.inv(K)
    return Linear(inverse, zeros - inverse @ shift)


def torques(log: Log, robot: Robot) -> Linear:
    """From the log's torques to those of the coordinates: Kᵀ τ_m, and Sᵀ τ for all joints."""
    _check_elastic(log, robot)
    if log.torques == "tau":
        width = log.tau.shape[1] if log.tau is not None else 0
        if width == robot.n:
            return Linear(np.eye(robot.n), np.zeros(robot.n))
        if robot.model.loops:  # torques at joints that follow depend on where the tree was cut
            _check_width(log, "tau", robot.n)
        related = Related.of(robot.model)
        _check_width(log, "tau", robot.n, len(related.S))
        return Linear(related.S.T, np.zeros(robot.n))
    K, _ = transmission(log, robot)
    _check_width(log, log.torques, len(K))
    if log.torques == "current":
        K = constants(log, robot)[:, None] * K
    return Linear(K.T, np.zeros(robot.n))


def derivatives(log: Log, robot: Robot) -> Linear:
    """From q̇ or q̈ of the joints to those of the coordinates."""
    linear = _coordinates(log, robot, "qd" if log.qd is not None else "qdd")
    return Linear(linear.A, np.zeros(robot.n))


def transmission(log: Log, robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """K (motors, n) and a shift with θ_m = K q + shift: the log's own, or that of the robot's motors."""
    if log.transmission is not None:
        if len(log.transmission) != robot.n:
            size = len(log.transmission)
            raise IdentificationError(
                f"transmission: expected ({robot.n}, {robot.n}), found ({size}, {size})"
            )
        return log.transmission, np.zeros(robot.n)
    driven = [link for link in robot.model.moving if link.motor is not None]
    n = robot.n - len(robot.model.elastic)  # torques act on as many coordinates
    if len(driven) != n:
        raise IdentificationError(
            f"{log.name}: '{robot.name}' has motors at {len(driven)} of its {n} joints; "
            "give transmission= to Log"
        )
    real = [link.motor is not None for link in motors.driven_links(robot.model)]
    K, shift = (x[real] for x in motors.transmission(robot.model))
    if np.linalg.matrix_rank(K) < n:
        raise IdentificationError(
            f"{log.name}: the motors of '{robot.name}' do not tell where its joints are"
        )
    return K, shift


def constants(log: Log, robot: Robot) -> np.ndarray:
    """Torque constants (motors,) [N m/A]."""
    if log.torque_constant is not None:
        return log.torque_constant
    motors = [link.motor for link in robot.model.moving]
    found = np.array([robot.model.number(m.torque_constant) for m in motors if m is not None])
    if len(found) != robot.n - len(robot.model.elastic):
        raise IdentificationError(f"{log.name}: currents need torque constants: give torque_constant= to Log")
    if (found == 1).all():
        warnings.warn(
            f"{log.name}: all torque constants of '{robot.name}' are 1 N m/A, which is what they are where "
            "a description does not give them; give torque_constant= to Log if they differ",
            IdentificationWarning,
            stacklevel=6,
        )
    return found


def _check_elastic(log: Log, robot: Robot) -> None:
    """Refuse logs that do not say where both the links and the motors of elastic joints are."""
    if not robot.model.elastic:
        return
    found = {"q": log.q, "tau": log.tau if log.torques == "tau" else None}
    widths = {name: x.shape[1] for name, x in found.items() if x is not None}
    wrong = [name for name, width in widths.items() if width != robot.n]
    if log.positions != "q" or wrong:
        given = f"{wrong[0]} with {widths[wrong[0]]} columns" if wrong else log.positions
        raise IdentificationError(
            f"{log.name}: '{robot.name}' has elastic joints: q (and tau, if not motor_torque or current) "
            f"needs {robot.n} columns, the links and then the motors of elastic joints at the joint's side "
            f"({', '.join(robot.coordinates)}); found {given}. robot.with_rigid_joints() takes one position "
            "for each joint"
        )


def _coordinates(log: Log, robot: Robot, channel: str = "q") -> Linear:
    values = getattr(log, channel)
    if values.shape[1] == robot.n:
        return Linear(np.eye(robot.n), np.zeros(robot.n))
    joints = len(robot.joints)
    _check_width(log, channel, robot.n, joints)
    chosen = list(robot.model.dependence.independent)
    if robot.model.loops:
        chosen = [robot.model.moving.index(link) for link in robot.model.coordinates]
    A = np.zeros((robot.n, joints))
    A[range(robot.n), chosen] = 1
    if channel == "q":
        _check_relations(log, robot, values, chosen)
    return Linear(A, np.zeros(robot.n))


def _check_relations(log: Log, robot: Robot, q: np.ndarray, chosen: list[int]) -> None:
    """Refuse joints that are not where the others put them."""
    known = np.isfinite(q).all(1)
    if not known.any():
        return
    off = np.abs(q[known] - _followed(log, robot, q[known][:, chosen]))
    if robot.model.loops:  # whole turns are not counted by all sensors
        turns = np.array([link.joint == "revolute" for link in robot.model.moving])
        off = np.where(turns, np.abs((off + np.pi) % (2 * np.pi) - np.pi), off)
    allowed = np.maximum(1e-3, RELATION * np.ptp(q[known], axis=0))
    worst = np.unravel_index(int(np.argmax(off / allowed)), off.shape)
    row, j = int(np.flatnonzero(known)[worst[0]]), int(worst[1])
    if off[worst] > allowed[j]:
        raise IdentificationError(
            f"{log.name}: row {row + log.first}: joint '{robot.joints[j]}' is {off[worst]:.3g} away from "
            f"where the joints that it follows put it; {allowed[j]:.3g} is allowed"
        )


def _followed(log: Log, robot: Robot, q: np.ndarray) -> np.ndarray:
    try:
        return np.asarray(robot.joint_positions(q))
    except ModelError as problem:
        raise IdentificationError(f"{log.name}: {problem}") from None


def _check_width(log: Log, channel: str, *allowed: int) -> None:
    found = getattr(log, channel).shape[1]
    if found not in allowed:
        widths = " or ".join(str(size) for size in dict.fromkeys(allowed))
        raise IdentificationError(
            f"{log.name}: {channel}: expected {widths} columns for this robot, found {found}"
        )


def _zeros(log: Log, robot: Robot) -> np.ndarray:
    if log.joint_zeros is None or len(log.joint_zeros) != robot.n:
        raise IdentificationError(f"joint_zeros: expected ({robot.n},), one for each joint of the robot")
    return log.joint_zeros


def check_kinds(log: Log, robot: Robot) -> None:
    """Refuse degrees for joints that slide, and the like."""
    for channel in ("q", "qd", "qdd", "tau"):
        kinds = log.kinds.get(channel, ())
        joints = robot.model.coordinates if len(kinds) == robot.n else robot.model.moving
        for j, (kind, link) in enumerate(zip(kinds, joints, strict=False)):
            if kind and kind != link.joint:
                name = joint_name(robot, j) if len(kinds) == robot.n else f"joint '{link.joint_label}'"
                raise IdentificationError(
                    f"{log.name}: units: {channel}: {name} is {link.joint}, but the unit is for {kind} ones"
                )
