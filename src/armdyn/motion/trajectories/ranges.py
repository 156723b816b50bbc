"""Where a motion leaves the ranges of its joints."""

from __future__ import annotations

import numpy as np

from armdyn.motion.trajectories.trajectory import Samples
from armdyn.robot import Robot
from armdyn.robot.joints import joint_limits, joint_name, joint_units


def beyond_limits(robot: Robot, samples: Samples) -> list[str]:
    """For each joint that leaves its range of positions on the way, one sentence that says where and when."""
    limits, found = joint_limits(robot), []
    for i in range(robot.n):
        q, low, high = samples.q[:, i], float(limits.lower[i]), float(limits.upper[i])
        excess = np.maximum(q - high, low - q)
        if excess.max() <= 1e-9 * max(1.0, float(np.abs(q).max())):
            continue
        unit = joint_units(robot, i).position
        worst, first = int(excess.argmax()), int((excess > 0).argmax())
        found.append(
            f"{joint_name(robot, i)} leaves its range of {low:.6g} to {high:.6g} {unit} at "
            f"{samples.t[first]:.4g} s and goes to {q[worst]:.6g} {unit}"
        )
    return found
