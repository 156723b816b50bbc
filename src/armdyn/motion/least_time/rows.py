"""Limits along a path as rows for `passes`.

At a point of the path the torques are a u + b x + v √x + c, with x = ṡ² and u = s̈: a is B q', b is
B q'' + C(q, q') q', v is F_v q', and c dry friction in the direction of q', gravity, offset and tip wrench.
Accelerations are q' u + q'' x and velocities q' √x. All are held at the five points of every interval, where
x is x_i + 2 (s − s_i) u. For the passes √x is replaced by a tangent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.motion.least_time.passes import MOST, PathRows
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.timing.speed_parts import SteadyWrench, speed_parts
from armdyn.robot import Robot
from armdyn.robot.friction import FrictionParts
from armdyn.robot.joints import JointLimits

ZERO = 1e-12  # of the largest coefficient of u: smaller ones count as this


@dataclass(frozen=True)
class PathTorques:
    """The coefficients of the torques at the points of N intervals, (N, 5, n) each."""

    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray
    dry: np.ndarray  # (N, 1, n) the part of c that is gone at rest

    def at_ends(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 2, n) where the intervals begin and end, for x (N + 1,) and u (N,)."""
        a, b, v, c = (y[:, [0, 4]] for y in (self.a, self.b, self.v, self.c))
        x = np.stack([x[:-1], x[1:]], 1)[..., None]
        return np.asarray(a * u[:, None, None] + b * x + v * np.sqrt(x) + c)


def path_torques(robot: Robot, friction: FrictionParts, grid: PathGrid, wrench: SteadyWrench) -> PathTorques:
    """The torques along a path."""
    parts = speed_parts(robot, grid.q, grid.dq, grid.ddq, wrench)
    a = np.asarray(robot.inverse_dynamics(grid.q, np.zeros_like(grid.q), grid.dq, wrench)) - parts.static
    # An interval has one direction: a joint that turns around does so at an end, where its sign is open.
    dry = friction.dry(grid.dq[:, 2:3])
    return PathTorques(a, parts.squared, parts.linear, parts.static + dry, dry)


@dataclass(frozen=True)
class PathLimits:
    """Rows low ≤ a u + b x + v √x + c ≤ high at the points of N intervals, and bounds of x.

    The m rows are in parts of the limit: first those of torques, then those of accelerations.
    """

    a: np.ndarray  # (N, 5, m)
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray
    low: np.ndarray  # −1, and 1 below, but at rest no dry friction helps
    high: np.ndarray
    ahead: np.ndarray  # (N, 5) 2 (s − s_i)
    most: np.ndarray  # (N + 1,) of x at the ends of the intervals
    inner: np.ndarray  # (N, 5) of x at the points

    @property
    def has_viscous(self) -> bool:
        return bool(self.v.any())

    def at_points(self, x: np.ndarray) -> np.ndarray:
        """x at the points of the intervals (N, 5), from those at their ends (N + 1,)."""
        return between_ends(x, self.ahead / self.ahead[:, 4:])


def between_ends(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """x (N, k) at shares (N, k) of the intervals, from those at their ends (N + 1,): it is linear in s."""
    return np.asarray(np.maximum(x[:-1, None] + share * np.diff(x)[:, None], 0.0))


def path_limits(grid: PathGrid, torques: PathTorques, limits: JointLimits) -> PathLimits:
    """The limits that are finite, as rows."""
    kept = [np.flatnonzero(np.isfinite(x)) for x in (limits.torque, limits.acceleration)]
    per = [1 / limits.torque[kept[0]], 1 / limits.acceleration[kept[1]]]
    first, shape = len(kept[0]), (*grid.s.shape, len(kept[0]) + len(kept[1]))

    def rows(of_torque: np.ndarray, of_acceleration: np.ndarray | None = None) -> np.ndarray:
        result = np.zeros(shape)
        np.multiply(of_torque[..., kept[0]], per[0], out=result[..., :first])
        if of_acceleration is not None:
            np.multiply(of_acceleration[..., kept[1]], per[1], out=result[..., first:])
        return result

    low, high = np.full(shape, -1.0), np.full(shape, 1.0)
    for stops, column in ((grid.stops[:-1], 0), (grid.stops[1:], 4)):
        dry = torques.dry[stops, 0][:, kept[0]] * per[0]
        low[stops, column, :first] += np.maximum(dry, 0.0)
        high[stops, column, :first] += np.minimum(dry, 0.0)
    with np.errstate(divide="ignore", over="ignore"):
        speed = np.minimum(np.min(limits.velocity / np.abs(grid.dq), -1) ** 2, MOST)
    most = np.append(speed[:, 0], MOST)
    most[1:] = np.minimum(most[1:], speed[:, 4])
    most[grid.stops] = 0.0
    a, b = rows(torques.a, grid.dq), rows(torques.b, grid.ddq)
    ahead = 2 * grid.ahead
    return PathLimits(a, b, rows(torques.v), rows(torques.c), low, high, ahead, most, speed)


def linear_rows(limits: PathLimits, x: np.ndarray | None = None) -> PathRows:
    """The rows with √x replaced by its tangent at x (N, 5), where there is viscous friction.

    A tangent lies above √x, so a limit that friction works against is nowhere exceeded by it.
    """
    b, c = limits.b, limits.c
    if x is not None:
        root = np.sqrt(np.maximum(x, 1e-12 * max(float(x.max()), 1e-300)))[..., None]
        v = np.where(x[..., None] > 0, limits.v, 0.0)  # at rest there is none
        b = b + v / (2 * root)
        c = c + v * (root / 2)
    a = limits.a + limits.ahead[..., None] * b
    count, m = len(a), a.shape[1] * a.shape[2]
    a, b, one, other = (y.reshape(count, m) for y in (a, b, limits.low - c, limits.high - c))
    least = max(ZERO * np.abs(a).max(initial=0.0), 1e-200)  # all are zero where no joint with a limit moves
    per = 1 / np.where(np.abs(a) < least, np.copysign(least, a), a)
    one, other = one * per, other * per
    slope, low, high = (np.empty((count, m + 3)) for _ in range(3))
    np.multiply(b, -per, out=slope[:, :m])
    np.minimum(one, other, out=low[:, :m])
    np.maximum(one, other, out=high[:, :m])
    # At inner points speed is bounded by rows that have no lower side.
    ahead = limits.ahead[:, 1:4]
    slope[:, m:], low[:, m:], high[:, m:] = -1 / ahead, -MOST, limits.inner[:, 1:4] / ahead
    return PathRows(limits.ahead[:, 4], slope, low, high, limits.most)
