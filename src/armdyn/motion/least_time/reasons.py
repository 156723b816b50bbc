"""Why a path cannot be followed: the joint and the place on the path."""

from __future__ import annotations

import numpy as np

from armdyn.motion.least_time.passes import PathPass
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.least_time.rows import PathLimits, PathTorques
from armdyn.motion.timing.limits import Limit, Limits
from armdyn.robot import Robot


def why_not(
    robot: Robot, grid: PathGrid, torques: PathTorques, rows: PathLimits, limits: Limits, found: PathPass
) -> str:
    """One sentence about the interval at which a pass found no speed."""
    i = found.failed
    place = f"at {100 * grid.s[i, 0]:.4g} % of the path (t = {grid.t[i, 0]:.6g} s of the given motion)"
    stops = [point for point, end in ((0, i), (4, i + 1)) if grid.stops[end]]
    needs = np.concatenate([torques.at_rest()[i], (torques.c[i] - torques.dry[i])[stops]])
    share = limits.torque.share(needs)
    row, column = (int(k) for k in np.unravel_index(np.argmax(share), share.shape))
    if share[row, column] > 1:
        cause = (
            "gravity and dry friction alone need" if row < 5 else "gravity at rest, without friction, needs"
        )
        return too_much(robot, limits, needs[row], column, place, cause)
    limit = _culprit(limits, rows, found, limits.velocities(grid.q[i, 2], grid.dq[i, 2]))
    return (
        f"{limit.name(robot)} {place}: at every speed its limit of {limit.quantity} is exceeded or the rest "
        "of the path cannot be followed"
    )


def too_much(robot: Robot, limits: Limits, torque: np.ndarray, row: int, place: str, cause: str) -> str:
    """That torques (n,) are beyond the limit of a row."""
    rows = limits.torque
    limit, unit = rows.limits[row], rows.limits[row].unit(robot)
    needs, most = (rows.as_limited(row, float(x[row])) for x in (rows.of(torque), rows.bound))
    return f"{limit.name(robot)} {place}: {cause} {needs:.6g} {unit}, the limit is {abs(most):.6g} {unit}"


def _culprit(limits: Limits, rows: PathLimits, found: PathPass, dq: np.ndarray) -> Limit:
    """The limit of the rows that exclude each other; velocity where it is no other."""
    known = [rows.place(row) for row in (found.lower, found.upper)]
    places = [place for place in known if place is not None]
    if not places:
        return limits.velocity.limits[int(np.argmax(limits.velocity.share(dq)))]
    return rows.every_limit[min(places)]
