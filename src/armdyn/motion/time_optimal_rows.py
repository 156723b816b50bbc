"""Limits along a path as rows for `kernels.path_pass`.

At a point of the path the torques are a u + b x + v √x + c with x = ṡ², u = s̈:
a = B q', b = B q'' + C(q, q') q', v = F_v q', c = dry friction in the direction of q', gravity, offset and
tip wrench. Accelerations are q' u + q'' x, velocities q' √x. All are held at the start, the middle and the end
of every interval, where x is x_i + 2 (s − s_i) u. For the pass √x is replaced by a tangent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.analysis.friction import FrictionParts
from armdyn.analysis.limits import JointLimits
from armdyn.kernels.path_pass import MOST, PathRows
from armdyn.motion.time_optimal_path import PathGrid
from armdyn.robot import Robot


@dataclass(frozen=True)
class PathTorques:
    """The coefficients of the torques at the three points of N intervals, (N, 3, n) each."""

    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray

    def at(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 3, n) for x (N, 3) and u (N,)."""
        x = x[..., None]
        return np.asarray(self.a * u[:, None, None] + self.b * x + self.v * np.sqrt(x) + self.c)


def path_torques(
    robot: Robot, friction: FrictionParts, grid: PathGrid, wrench: np.ndarray | None
) -> PathTorques:
    zero = np.zeros_like(grid.q)
    static = np.asarray(robot.inverse_dynamics(grid.q, zero, zero, wrench))
    a = np.asarray(robot.inverse_dynamics(grid.q, zero, grid.dq, wrench)) - static
    moving = np.asarray(robot.inverse_dynamics(grid.q, grid.dq, grid.ddq, wrench)) - static
    b = moving - (np.asarray(robot.friction(grid.dq)) - friction.offset)
    # An interval has one direction: a joint that turns around does so at an end, where its sign is open.
    dry = friction.dry(grid.dq[:, 1:2])
    return PathTorques(a, b, grid.dq @ friction.viscous, static + dry)


@dataclass(frozen=True)
class PathLimits:
    """Rows |a u + b x + v √x + c| ≤ 1 at the three points of N intervals, and bounds of x."""

    a: np.ndarray  # (N, 3, m)
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray
    ahead: np.ndarray  # (N, 3) 2 (s − s_i) of the points
    most: np.ndarray  # (N + 1,) of x at the ends of the intervals
    middle: np.ndarray  # (N,) of x in the middle of the intervals

    @property
    def has_viscous(self) -> bool:
        return bool(self.v.any())


def path_limits(grid: PathGrid, torques: PathTorques, limits: JointLimits) -> PathLimits:
    """The limits that are finite, as rows: first those of torques, then those of accelerations."""
    torque, acceleration = np.isfinite(limits.torque), np.isfinite(limits.acceleration)

    def rows(of_torque: np.ndarray | None, of_acceleration: np.ndarray | None) -> np.ndarray:
        none = np.zeros_like(grid.dq)
        first = (none if of_torque is None else of_torque)[..., torque] / limits.torque[torque]
        second = (none if of_acceleration is None else of_acceleration)[..., acceleration]
        return np.concatenate([first, second / limits.acceleration[acceleration]], -1)

    with np.errstate(divide="ignore"):
        speed = np.minimum(np.min(limits.velocity / np.abs(grid.dq), -1) ** 2, MOST)
    most = np.full(len(grid.s) + 1, MOST)
    most[:-1] = speed[:, 0]
    most[1:] = np.minimum(most[1:], speed[:, 2])
    most[grid.stops] = 0.0
    return PathLimits(
        rows(torques.a, grid.dq),
        rows(torques.b, grid.ddq),
        rows(torques.v, None),
        rows(torques.c, None),
        2 * (grid.s - grid.s[:, :1]),
        most,
        speed[:, 1],
    )


def linear_rows(limits: PathLimits, x: np.ndarray | None, tighter: np.ndarray | None = None) -> PathRows:
    """The rows with √x replaced by its tangent at x (N, 3); `tighter` (N, 3, m) divides the limits.

    A tangent lies above √x, so a limit that friction works against is not exceeded away from it.
    """
    a, b, c, bound = limits.a, limits.b, limits.c, np.ones_like(limits.a) if tighter is None else 1 / tighter
    if x is not None and limits.has_viscous:
        root = np.sqrt(np.maximum(x, 1e-12 * max(float(x.max()), 1e-300)))[..., None]
        b = b + limits.v / (2 * root)
        c = c + limits.v * (root / 2)
    count = len(a)
    a = (a + limits.ahead[..., None] * b).reshape(count, -1)
    b, c, bound = (y.reshape(count, -1) for y in (b, c, bound))
    size = np.maximum(np.abs(a), 1e-12 * np.abs(a).max(initial=1e-300))
    sign = np.sign(a)
    sign[sign == 0] = 1.0
    slope, middle, half = -sign * b / size, -sign * c / size, bound / size
    # In the middle, speed is bounded by a row that has no lower side.
    ahead = limits.ahead[:, 1:2]
    return PathRows(
        step=limits.ahead[:, 2],
        slope=np.concatenate([slope, -1 / ahead], 1),
        low=np.concatenate([middle - half, np.full((count, 1), -MOST)], 1),
        high=np.concatenate([middle + half, limits.middle[:, None] / ahead], 1),
        most=limits.most,
    )
