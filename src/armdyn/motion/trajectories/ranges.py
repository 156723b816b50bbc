"""Where a motion leaves the ranges of its joints."""

from __future__ import annotations

import numpy as np

from armdyn.motion.trajectories.trajectory import Samples
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, JointLimits, followers, joint_limits, joint_name, joint_units


def beyond_limits(robot: Robot, samples: Samples) -> list[str]:
    """For each joint that leaves its range of positions on the way, one sentence that says where and when."""
    names = [joint_name(robot, i) for i in range(robot.n)]
    units = [joint_units(robot, i).position for i in range(robot.n)]
    found = _beyond(samples.t, samples.q, joint_limits(robot), names, units)
    if (others := followers(robot)) is not None:
        names = [others.name(k) for k in range(len(others.joints))]
        units = [UNITS[robot.model.moving[j].joint].position for j in others.joints]
        found += _beyond(samples.t, others.positions(samples.q), others.limits, names, units)
    return found


def _beyond(
    t: np.ndarray, positions: np.ndarray, limits: JointLimits, names: list[str], units: list[str]
) -> list[str]:
    found = []
    for i, (name, unit) in enumerate(zip(names, units, strict=True)):
        q, low, high = positions[:, i], float(limits.lower[i]), float(limits.upper[i])
        excess = np.maximum(q - high, low - q)
        if excess.max() <= 1e-9 * max(1.0, float(np.abs(q).max())):
            continue
        worst, first = int(excess.argmax()), int((excess > 0).argmax())
        found.append(
            f"{name} leaves its range of {low:.6g} to {high:.6g} {unit} at "
            f"{t[first]:.4g} s and goes to {q[worst]:.6g} {unit}"
        )
    return found
