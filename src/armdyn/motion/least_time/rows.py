"""Limits along a path as rows for `passes`.

At a point of the path the torques are a u + b x + v √x + c, with x = ṡ² and u = s̈: a is B q', b is
B q'' + C(q, q') q', v is F_v q', and c dry friction in the direction of q', gravity, offset and tip wrench.
Accelerations are q' u + q'' x and velocities q' √x. All are held at the five points of every interval, where
x is x_i + 2 (s − s_i) u. For the passes √x is replaced by a tangent.

Cubic friction adds e x√x, fading Stribeck friction Σ l (exp(−p x) − 1); both are replaced by tangents, too.
Load friction makes of τ_r (the torque without friction) τ_r (1 + Fl s) where τ_r > 0 and τ_r (1 − Fl s) where
it is not. With f all other friction, τ ≤ limit is then τ_r (1 + Fl s) + f ≤ limit as long as f ≤ limit, else
it is τ_r (1 − Fl s) + f ≤ limit, and likewise below: a row with two limits becomes two rows with one each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from armdyn.motion.least_time.passes import MOST, PathRows
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.timing.speed_parts import SpeedParts, SteadyWrench, speed_parts
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
    parts: SpeedParts  # the same by how they grow with speed
    load: np.ndarray  # (N, 1, n) Fl s of load friction

    def at_ends(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 2, n) where the intervals begin and end, for x (N + 1,) and u (N,)."""
        a, b, v, c, offset = (y[:, [0, 4]] for y in (self.a, self.b, self.v, self.c, self.parts.offset))
        x = np.stack([x[:-1], x[1:]], 1)[..., None]
        friction = v * np.sqrt(x) + self.dry + offset
        rigid = a * u[:, None, None] + b * x + c - self.dry - offset
        curved, _ = self.curved(x, [0, 4])
        return np.asarray(rigid + self.load * np.abs(rigid) + friction + curved)

    def at_rest(self) -> np.ndarray:
        """Torques (N, 5, n) of motions that hardly move."""
        rigid = self.c - self.dry - self.parts.offset
        return np.asarray(self.c + self.load * np.abs(rigid))

    @property
    def is_curved(self) -> bool:
        """Whether friction has terms that neither are dry nor grow with √x."""
        return bool(self.parts.cubed.any() or self.parts.level.any())

    def curved(self, x: np.ndarray, points: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """These terms and their derivatives by x at some of the points, (N, k, n) each, for x (N, k, 1)."""
        cubed, level, pace = (y[:, points] for y in (self.parts.cubed, self.parts.level, self.parts.pace))
        root, by_surface = np.sqrt(x), x[..., None]
        value = cubed * x * root + (level * np.expm1(-pace * by_surface)).sum(-2)
        slope = 1.5 * cubed * root - (level * pace * np.exp(-pace * by_surface)).sum(-2)
        return np.asarray(value), np.asarray(slope)


def path_torques(robot: Robot, friction: FrictionParts, grid: PathGrid, wrench: SteadyWrench) -> PathTorques:
    """The torques along a path."""
    parts = speed_parts(robot, grid.q, grid.dq, grid.ddq, wrench)
    a = np.asarray(robot.inverse_dynamics(grid.q, np.zeros_like(grid.q), grid.dq, wrench)) - parts.static
    # An interval has one direction: a joint that turns around does so at an end, where its sign is open.
    dry = friction.dry(grid.dq[:, 2:3])
    load = friction.shares_of(grid.dq[:, 2:3])
    return PathTorques(a, parts.squared, parts.linear, parts.static + dry, dry, parts, load)


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
    rubs: np.ndarray  # (N, 5, m) the part of c that is friction
    load: np.ndarray  # (N, 5, m) Fl s of load friction
    stops: np.ndarray  # (N, 5) whether the path is at rest there
    curved: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]] | None  # friction and slope (N, 5, m) by x

    @property
    def is_linear(self) -> bool:
        """Whether the rows are linear in x."""
        return self.curved is None and not self.v.any() and not self.load.any()

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
    rubs = rows(np.broadcast_to(torques.dry + torques.parts.offset, torques.c.shape))
    load = np.zeros(shape)
    load[..., :first] = torques.load[..., kept[0]]
    at_rest = np.zeros(grid.s.shape, bool)
    at_rest[:, 0], at_rest[:, 4] = grid.stops[:-1], grid.stops[1:]

    def curved(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = torques.curved(x[..., None], range(5))
        return rows(value), rows(slope)

    further = (rubs, load, at_rest, curved if torques.is_curved else None)
    return PathLimits(a, b, rows(torques.v), rows(torques.c), low, high, ahead, most, speed, *further)


def linear_rows(limits: PathLimits, x: np.ndarray | None = None) -> PathRows:
    """The rows with √x replaced by its tangent at x (N, 5), where there is viscous friction.

    A tangent lies above √x, so a limit that friction works against is nowhere exceeded by it.
    """
    b, c = np.zeros_like(limits.b), limits.rubs  # of friction
    if x is not None:
        root = np.sqrt(np.maximum(x, 1e-12 * max(float(x.max()), 1e-300)))[..., None]
        v = np.where(x[..., None] > 0, limits.v, 0.0)  # at rest there is none
        b = b + v / (2 * root)
        c = c + v * (root / 2)
        if limits.curved is not None:
            value, slope = limits.curved(x)
            b, c = b + slope, c + (value - slope * x[..., None])
    if limits.load.any():
        friction = c if x is None else c + b * x[..., None]
        return _one_sided(limits, b, c, *_load_factors(limits, friction))
    a, b, c = limits.a, limits.b + b, limits.c - limits.rubs + c
    return _divided(limits, a + limits.ahead[..., None] * b, b, limits.low - c, limits.high - c)


def _load_factors(limits: PathLimits, friction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What τ_r is multiplied with in the rows that bound torques above and below, for all other friction."""
    above = 1 + np.where(limits.high >= friction, limits.load, -limits.load)
    below = 1 - np.where(limits.low <= friction, limits.load, -limits.load)
    rest = limits.stops[..., None]  # friction that a load adds does not help there either
    return np.where(rest, np.maximum(above, 1), above), np.where(rest, np.maximum(below, 1), below)


def _one_sided(
    limits: PathLimits, b: np.ndarray, c: np.ndarray, above: np.ndarray, below: np.ndarray
) -> PathRows:
    """Each row twice: with its upper limit and a factor of τ_r, and with its lower limit and another."""
    factor = np.concatenate([above, below], -1)
    a, of_x, rest, b, c = (
        np.concatenate([y, y], -1) for y in (limits.a, limits.b, limits.c - limits.rubs, b, c)
    )
    b, c = factor * of_x + b, factor * rest + c
    a = factor * a + limits.ahead[..., None] * b
    none = np.full_like(limits.low, MOST)
    low, high = np.concatenate([-none, limits.low], -1), np.concatenate([limits.high, none], -1)
    return _divided(limits, a, b, low - c, high - c)


def _divided(
    limits: PathLimits, a: np.ndarray, b: np.ndarray, one: np.ndarray, other: np.ndarray
) -> PathRows:
    """Rows one ≤ a u + b x ≤ other, solved for u."""
    count, m = len(a), a.shape[1] * a.shape[2]
    a, b, one, other = (y.reshape(count, m) for y in (a, b, one, other))
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
