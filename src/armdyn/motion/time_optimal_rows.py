"""Limits along a path as rows for `kernels.path_pass`.

At a point of the path the torques are a u + b x + v √x + c, with x = ṡ² and u = s̈: a is B q', b is
B q'' + C(q, q') q', v is F_v q', and c dry friction in the direction of q', gravity, offset and tip wrench.
Accelerations are q' u + q'' x and velocities q' √x. All are held at the five points of every interval, where
x is x_i + 2 (s − s_i) u. For the passes √x is replaced by a tangent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.analysis.friction import FrictionParts
from armdyn.analysis.limits import JointLimits
from armdyn.kernels.path_pass import MOST, PathRows
from armdyn.motion.time_optimal_path import PathGrid
from armdyn.robot import Robot

ZERO = 1e-12  # of the largest coefficient of u: smaller ones count as this


@dataclass(frozen=True)
class PathTorques:
    """The coefficients of the torques at the points of N intervals, (N, 5, n) each."""

    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray
    dry: np.ndarray  # (N, 1, n) the part of c that is gone at rest

    def at(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 5, n) for x (N, 5) and u (N,)."""
        return value_of(self, x, u)


def path_torques(
    robot: Robot, friction: FrictionParts, grid: PathGrid, wrench: np.ndarray | None
) -> PathTorques:
    """The torques along a path."""
    zero = np.zeros_like(grid.q)
    static = np.asarray(robot.inverse_dynamics(grid.q, zero, zero, wrench))
    a = np.asarray(robot.inverse_dynamics(grid.q, zero, grid.dq, wrench)) - static
    moving = np.asarray(robot.inverse_dynamics(grid.q, grid.dq, grid.ddq, wrench)) - static
    b = moving - (np.asarray(robot.friction(grid.dq)) - friction.offset)
    # An interval has one direction: a joint that turns around does so at an end, where its sign is open.
    dry = friction.dry(grid.dq[:, 2:3])
    return PathTorques(a, b, grid.dq @ friction.viscous, static + dry, dry)


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

    def excess(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """By how much of a limit each interval goes beyond one (N,), for x (N, 5) and u (N,); ≤ 0: none."""
        value = value_of(self, x, u)
        beyond = np.maximum(value - self.high, self.low - value).max((1, 2), initial=-1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            speed = np.where(self.inner < MOST, np.sqrt(x / self.inner), 0.0).max(1)
        return np.asarray(np.maximum(beyond, speed - 1))


def value_of(of: PathTorques | PathLimits, x: np.ndarray, u: np.ndarray) -> np.ndarray:
    """a u + b x + v √x + c for x (N, 5) and u (N,)."""
    x = x[..., None]
    return np.asarray(of.a * u[:, None, None] + of.b * x + of.v * np.sqrt(x) + of.c)


def path_limits(grid: PathGrid, torques: PathTorques, limits: JointLimits) -> PathLimits:
    """The limits that are finite, as rows."""
    torque, acceleration = np.isfinite(limits.torque), np.isfinite(limits.acceleration)
    none = np.zeros((*grid.s.shape, acceleration.sum()))

    def rows(of_torque: np.ndarray, of_acceleration: np.ndarray | None = None) -> np.ndarray:
        first = of_torque[..., torque] / limits.torque[torque]
        if of_acceleration is None:
            return np.concatenate([first, none], -1)
        return np.concatenate(
            [first, of_acceleration[..., acceleration] / limits.acceleration[acceleration]], -1
        )

    resting = np.zeros((*grid.s.shape, 1))
    resting[:, 0, 0], resting[:, 4, 0] = grid.stops[:-1], grid.stops[1:]
    dry = rows(torques.dry * resting)
    with np.errstate(divide="ignore"):
        speed = np.minimum(np.min(limits.velocity / np.abs(grid.dq), -1) ** 2, MOST)
    most = np.append(speed[:, 0], MOST)
    most[1:] = np.minimum(most[1:], speed[:, 4])
    most[grid.stops] = 0.0
    return PathLimits(
        a=rows(torques.a, grid.dq),
        b=rows(torques.b, grid.ddq),
        v=rows(torques.v),
        c=rows(torques.c),
        low=np.maximum(dry, 0.0) - 1,
        high=np.minimum(dry, 0.0) + 1,
        ahead=2 * (grid.s - grid.s[:, :1]),
        most=most,
        inner=speed,
    )


def linear_rows(limits: PathLimits, x: np.ndarray | None = None) -> PathRows:
    """The rows with √x replaced by its tangent at x (N, 5), where there is viscous friction.

    A tangent lies above √x, so a limit that friction works against is nowhere exceeded by it.
    """
    a, b, c = limits.a, limits.b, limits.c
    if x is not None:
        root = np.sqrt(np.maximum(x, 1e-12 * max(float(x.max()), 1e-300)))[..., None]
        v = np.where(x[..., None] > 0, limits.v, 0.0)  # at rest there is none
        b = b + v / (2 * root)
        c = c + v * (root / 2)
    a = a + limits.ahead[..., None] * b
    count = len(a)
    a, b, low, high = (y.reshape(count, -1) for y in (a, b, limits.low - c, limits.high - c))
    least = ZERO * np.abs(a).max(initial=1e-300)
    per = 1 / np.where(np.abs(a) < least, np.copysign(least, a), a)
    low, high = low * per, high * per
    # At inner points speed is bounded by rows that have no lower side.
    ahead = limits.ahead[:, 1:4]
    return PathRows(
        step=limits.ahead[:, 4],
        slope=np.concatenate([-b * per, -1 / ahead], 1),
        low=np.concatenate([np.minimum(low, high), np.full_like(ahead, -MOST)], 1),
        high=np.concatenate([np.maximum(low, high), limits.inner[:, 1:4] / ahead], 1),
        most=limits.most,
    )
