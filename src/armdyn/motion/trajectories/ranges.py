"""Where a motion leaves the ranges of its joints."""

from __future__ import annotations

import numpy as np

from armdyn.motion.trajectories.trajectory import Samples
from armdyn.robot import Robot
from armdyn.robot.joints import UNITS, follower_limits, joint_limits, joint_name, joint_units


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
    return found + _followers(robot, samples)


def _followers(robot: Robot, samples: Samples) -> list[str]:
    """The same of joints that follow several others."""
    limits, found = follower_limits(robot), []
    positions, beyond = limits.positions(samples.q), limits.excess(samples.q)
    for k, link in enumerate(limits.links):
        q, excess, unit = positions[:, k], beyond[:, k], UNITS[link.joint].position
        if excess.max() > 1e-9 * max(1.0, float(np.abs(q).max())):
            worst, first = int(excess.argmax()), int((excess > 0).argmax())
            found.append(
                f"{limits.name(k)} leaves its range of {limits.lower[k]:.6g} to {limits.upper[k]:.6g} {unit} "
                f"at {samples.t[first]:.4g} s and goes to {q[worst]:.6g} {unit}"
            )
    return found
