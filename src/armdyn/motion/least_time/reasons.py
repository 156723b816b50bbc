"""Why a path cannot be followed: the joint and the place on the path."""

from __future__ import annotations

import numpy as np

from armdyn.motion.least_time.passes import PathPass
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.least_time.rows import PathTorques
from armdyn.robot import Robot
from armdyn.robot.joints import JointLimits, joint_name, torque_unit


def why_not(robot: Robot, grid: PathGrid, torques: PathTorques, limits: JointLimits, found: PathPass) -> str:
    """One sentence about the interval at which a pass found no speed."""
    i = found.failed
    place = f"at {100 * grid.s[i, 0]:.4g} % of the path (t = {grid.t[i, 0]:.6g} s of the given motion)"
    stops = [point for point, end in ((0, i), (4, i + 1)) if grid.stops[end]]
    needs = np.concatenate([torques.at_rest()[i], (torques.c[i] - torques.dry[i])[stops]])
    share = np.abs(needs) / limits.torque
    row, joint = (int(k) for k in np.unravel_index(np.argmax(share), share.shape))
    if share[row, joint] > 1:
        unit = torque_unit(robot, joint)
        cause = (
            "gravity and dry friction alone need" if row < 5 else "gravity at rest, without friction, needs"
        )
        return (
            f"{joint_name(robot, joint)} {place}: {cause} {needs[row, joint]:.6g} {unit}, "
            f"the limit is {limits.torque[joint]:.6g} {unit}"
        )
    kind, joint = _culprit(limits, found, grid.dq[i, 2], bool(torques.load.any()))
    return (
        f"{joint_name(robot, joint)} {place}: at every speed its limit of {kind} is exceeded or the rest of "
        "the path cannot be followed"
    )


def _culprit(limits: JointLimits, found: PathPass, dq: np.ndarray, loaded: bool) -> tuple[str, int]:
    """The kind of limit and the joint of the rows that exclude each other; velocity where it is no other.

    With load friction there are two rows a limit.
    """
    torque, acceleration = (np.flatnonzero(np.isfinite(x)) for x in (limits.torque, limits.acceleration))
    m = len(torque) + len(acceleration)
    bounds = 10 * m if loaded else 5 * m
    rows = [row % m for row in (found.lower, found.upper) if 0 <= row < bounds]
    if not rows:
        return "velocity", int(np.argmax(np.abs(dq) / limits.velocity))
    row = min(rows)
    if row < len(torque):
        return "torque", int(torque[row])
    return "acceleration", int(acceleration[row - len(torque)])
