"""Torques within the limits of the joints and of the motors.

Motors that turn with one joint each limit the torque of that joint, to |k| times that of the shaft. Joints
that share motors (a coupled wrist) are treated together: (1) each joint torque is clipped at its own limit,
(2) the motor torques K⁻ᵀ τ are clipped at theirs, and τ is Kᵀ times what is left, (3) where that exceeds the
limit of a joint again, the torques of the group are made smaller by one factor. So the result is within both.
Where more motors than joints share the torques by least squares, one factor takes the place of clipping:
clipped torques would be shared anew. The link of an elastic joint gets what motors coupled to it give then.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits
from armdyn.robot.motors import elastic_links, shaft_limits, to_motors
from armdyn.simulation.control.laws import Scalars, at_least, clipped, dot

LEAST = 1e-300  # for a joint whose limit is zero: nothing is divided by zero


def within_limits(robot: Robot, tau: Scalars) -> Scalars:
    """Torques over any scalar, within the limits of torque of a robot's joints and motors."""
    joints, shafts = joint_limits(robot).torque, shaft_limits(robot.model).torque
    elastic = elastic_links(robot.model)
    coupled = bool(elastic) and bool(robot.transmission[:, elastic].any())
    if coupled and len(shafts) == robot.n - len(elastic):  # the limits are those of their motors
        joints = np.where(np.isin(np.arange(robot.n), elastic), np.inf, joints)
    if not coupled and not np.isfinite(shafts).any():
        return [clipped(x, float(most)) for x, most in zip(tau, joints, strict=True)]
    K, P = robot.transmission, to_motors(robot.model)
    found = list(tau)
    for motors, together in groups(K):
        if len(together) == 1 and len(motors) == 1:
            most = min(joints[together[0]], abs(K[motors[0], together[0]]) * shafts[motors[0]])
            found[together[0]] = clipped(tau[together[0]], float(most))
            continue
        at = np.ix_(motors, together)
        shared = _group([tau[j] for j in together], K[at], P[at], joints[together], shafts[motors])
        for j, x in zip(together, shared, strict=True):
            found[j] = x
    return found


def _group(tau: Scalars, K: np.ndarray, P: np.ndarray, joints: np.ndarray, shafts: np.ndarray) -> Scalars:
    """The torques of joints that share motors."""
    tau = [clipped(x, float(most)) for x, most in zip(tau, joints, strict=True)]
    if len(K) == len(tau) and not np.isfinite(shafts).any():
        return tau
    motor = [dot(row.tolist(), tau) for row in P]
    if len(motor) > len(tau):
        return _smaller(tau, motor, shafts)
    motor = [clipped(x, float(most)) for x, most in zip(motor, shafts, strict=True)]
    tau = [dot(column.tolist(), motor) for column in K.T]
    return _smaller(tau, tau, joints)


def _smaller(tau: Scalars, held: Scalars, limits: np.ndarray) -> Scalars:
    """Torques times the largest factor, at most 1, with which `held` keeps to its limits."""
    factor: Any = 1.0
    for x, most in zip(held, limits, strict=True):
        if np.isfinite(most):
            largest = max(float(most), LEAST)
            factor = _lesser(factor, largest / at_least(abs(x), largest))
    return [factor * x for x in tau]


def _lesser(a: Any, b: Any) -> Any:
    for x, y in ((a, b), (b, a)):
        if hasattr(x, "minimum"):
            return x.minimum(y)
    return np.minimum(a, b)


def groups(K: np.ndarray) -> list[tuple[list[int], list[int]]]:
    """Motors and joints of K (m, n) that belong together; a joint alone with its motor is a group too."""
    left: list[tuple[set[int], set[int]]] = []
    for motor, row in enumerate(K):
        motors, joints = {motor}, set(np.flatnonzero(row).tolist())
        for group in [g for g in left if g[1] & joints]:
            left.remove(group)
            motors, joints = motors | group[0], joints | group[1]
        left.append((motors, joints))
    return [(sorted(motors), sorted(joints)) for motors, joints in left]
