"""Limits along a path as rows for `passes`.

At a point of the path the torques are a u + b x + v √x + c, with x = ṡ² and u = s̈: a is B q', b is
B q'' + C(q, q') q', v is F_v q', and c dry friction in the direction of q', gravity, offset and tip wrench.
Accelerations are q' u + q'' x and velocities q' √x. All are held at the five points of every interval, where
x is x_i + 2 (s − s_i) u. For the passes √x is replaced by a tangent.

Friction that is curved over speed, such as cubic and Stribeck friction, is replaced by tangents, too.
Load friction makes of τ_r (the torque without friction) τ_r (1 + Fl s) where τ_r > 0 and τ_r (1 − Fl s) where
it is not. With f all other friction, τ ≤ limit is then τ_r (1 + Fl s) + f ≤ limit as long as f ≤ limit, else
it is τ_r (1 − Fl s) + f ≤ limit, and likewise below: a row with two limits becomes two rows with one each.

A motor that drives several joints has a row R τ, and so have all coefficients. With load friction this is
Σ_j R_j (τ_rj + Fl_j s_j |τ_rj|) + R f. Where R_j Fl_j s_j > 0 the term is the larger one of two that are
linear, and both are held against the upper limit; where it is negative, load friction would help and is not
counted. So limits are kept, and the motion is somewhat slower than it could be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

import numpy as np

from armdyn.motion.loads import Loaded
from armdyn.motion.timing.limits import Limit, Limits, Rows
from armdyn.motion.timing.passes import MOST, PathRows
from armdyn.motion.timing.path import PathGrid
from armdyn.motion.timing.speed_parts import SpeedParts, SteadyWrench, loaded_parts
from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts

Curved: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Linear: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

ZERO = 1e-12  # of the largest coefficient of u: smaller ones count as this


@dataclass(frozen=True)
class PathTorques:
    """The coefficients of the torques at the points of N intervals, (N, 5, n) each."""

    a: np.ndarray
    b: np.ndarray
    v: np.ndarray
    c: np.ndarray
    dry: np.ndarray  # the part of c that is gone at rest
    parts: SpeedParts  # the same by how they grow with speed
    load: np.ndarray  # (N, 1, n) Fl s of load friction

    def at_ends(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 2, n) where the intervals begin and end, for x (N + 1,) and u (N,)."""
        a, b, v, c, dry = (y[:, [0, 4]] for y in (self.a, self.b, self.v, self.c, self.dry))
        offset = self.parts.offset[:, [0, 4]]
        x = np.stack([x[:-1], x[1:]], 1)[..., None]
        friction = v * np.sqrt(x) + dry + offset
        rigid = a * u[:, None, None] + b * x + c - dry - offset
        curved = self.parts.map(lambda y: y[:, [0, 4]]).curved(np.sqrt(x))
        return np.asarray(rigid + self.load * np.abs(rigid) + friction + curved)

    def at_rest(self) -> np.ndarray:
        """Torques (N, 5, n) of motions that hardly move."""
        rigid = self.c - self.dry - self.parts.offset
        return np.asarray(self.c + self.load * np.abs(rigid))

    @property
    def is_curved(self) -> bool:
        """Whether friction has terms that neither are dry nor grow with √x."""
        return bool(self.parts.speeds.any())

    def curved(self, root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """These terms and their derivatives by x, (N, 5, n) each, for √x (N, 5, 1), which is not zero."""
        return self.parts.curved(root), self.parts.slope(root) / (2 * root)


def path_torques(loaded: Loaded, grid: PathGrid, wrench: SteadyWrench) -> PathTorques:
    """The torques along a path, on each interval with the load there."""
    parts = loaded_parts(loaded, grid.t[:, 2], (grid.q, grid.dq, grid.ddq), wrench)

    def pushed(robot: Robot, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, np.zeros_like(q), dq, wrench))

    a = loaded.evaluate(pushed, grid.t[:, 2], grid.q, grid.dq) - parts.static
    # An interval has one direction: a joint that turns around does so at an end, where its sign is open.
    middle = friction_parts(loaded.robot, grid.q[:, 2:3])
    ways, everywhere = middle.speed(grid.dq[:, 2:3]), friction_parts(loaded.robot, grid.q)
    dry = np.broadcast_to(everywhere.dry_of(ways), parts.static.shape)
    load = middle.shares(ways)
    return PathTorques(a, parts.squared, parts.linear, parts.static + dry, dry, parts, load)


@dataclass(frozen=True)
class PathLimits:
    """Rows low ≤ a u + b x + v √x + c ≤ high at the points of N intervals, and bounds of x.

    The m rows are in parts of the limit: first those of torques, then those of accelerations. `further` are
    rows of their own.
    """

    limits: tuple[Limit, ...]  # (m,) what the rows limit
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
    curved: Curved | None  # friction and its slope by x (N, 5, m), of √x (N, 5, 1)
    further: PathLimits | None = None

    @property
    def is_linear(self) -> bool:
        """True if the rows are linear in x."""
        own = self.curved is None and not self.v.any() and not self.load.any()
        return own and (self.further is None or self.further.is_linear)

    def at_points(self, x: np.ndarray) -> np.ndarray:
        """x at the points of the intervals (N, 5), from those at their ends (N + 1,)."""
        return between_ends(x, self.ahead / self.ahead[:, 4:])

    @property
    def every_limit(self) -> tuple[Limit, ...]:
        """Limits of all rows, those of `further` included."""
        return self.limits + (() if self.further is None else self.further.limits)

    def place(self, row: int) -> int | None:
        """The place among `every_limit` of a row of `linear_rows`; None where that is one of velocity."""
        m = len(self.limits)
        own = 2 * m if self.load.any() else m
        count = own + len(self.every_limit) - m
        if not 0 <= row < 5 * count:
            return None
        row %= count
        return row % m if row < own else row - own + m


def between_ends(x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """x (N, k) at shares (N, k) of the intervals, from those at their ends (N + 1,): it is linear in s."""
    return np.asarray(np.maximum(x[:-1, None] + share * np.diff(x)[:, None], 0.0))


def path_limits(grid: PathGrid, torques: PathTorques, limits: Limits) -> PathLimits:
    """The limits that are finite, as rows."""
    rows = limits.torque
    if not (torques.load.any() and len(rows.coupled)):
        return _path_limits(grid, torques, limits, _Chosen.of(rows, slice(None)))
    joints = _Chosen.of(rows, slice(torques.a.shape[-1]))
    further = _one_limit_each(grid, torques, limits)
    return replace(_path_limits(grid, torques, limits, joints), further=further)


@dataclass(frozen=True)
class _Chosen:
    """The finite ones of some rows of torques, in parts of their limits."""

    rows: Rows
    kept: np.ndarray  # (m,)
    per: np.ndarray  # (m,)
    limits: tuple[Limit, ...]

    @classmethod
    def of(cls, rows: Rows, chosen: slice) -> _Chosen:
        kept = np.arange(len(rows.bound))[chosen]
        kept = kept[np.isfinite(rows.bound[kept])]
        return cls(rows, kept, 1 / rows.bound[kept], tuple(rows.limits[k] for k in kept))

    def __call__(self, torques: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return np.asarray(np.multiply(self.rows.of(torques)[..., self.kept], self.per, out=out))


def _path_limits(grid: PathGrid, torques: PathTorques, limits: Limits, chosen: _Chosen) -> PathLimits:
    """Rows of accelerations, and the chosen rows of torques."""
    bound = limits.acceleration.bound
    accelerations = np.flatnonzero(np.isfinite(bound))
    first, shape = len(chosen.kept), (*grid.s.shape, len(chosen.kept) + len(accelerations))

    def rows(of_torque: np.ndarray, of_acceleration: np.ndarray | None = None) -> np.ndarray:
        result = np.zeros(shape)
        chosen(of_torque, out=result[..., :first])
        if of_acceleration is not None:
            by = 1 / bound[accelerations]
            np.multiply(
                limits.acceleration.of(of_acceleration)[..., accelerations], by, out=result[..., first:]
            )
        return result

    low, high = np.full(shape, -1.0), np.full(shape, 1.0)
    for stops, column in ((grid.stops[:-1], 0), (grid.stops[1:], 4)):
        dry = chosen(torques.dry[stops, column])
        low[stops, column, :first] += np.maximum(dry, 0.0)
        high[stops, column, :first] += np.minimum(dry, 0.0)
    load = np.zeros(shape)
    if torques.load.any():  # rows of joints only
        load[..., :first] = torques.load[..., chosen.kept]

    def curved(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = torques.curved(root)
        return rows(value), rows(slope)

    most, speed, at_rest = _speeds(grid, limits)
    return PathLimits(
        limits=(*chosen.limits, *(limits.acceleration.limits[k] for k in accelerations)),
        a=rows(torques.a, limits.velocities(grid.q, grid.dq)),
        b=rows(torques.b, limits.accelerations(grid.q, grid.dq, grid.ddq)),
        v=rows(torques.v),
        c=rows(torques.c),
        low=low,
        high=high,
        ahead=2 * grid.ahead,
        most=most,
        inner=speed,
        rubs=rows(np.broadcast_to(torques.dry + torques.parts.offset, torques.c.shape)),
        load=load,
        stops=at_rest,
        curved=curved if torques.is_curved else None,
    )


def _speeds(grid: PathGrid, limits: Limits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bounds of x at the ends of intervals (N + 1,) and at points (N, 5), and whether these are at rest."""
    with np.errstate(divide="ignore", over="ignore"):
        each = limits.velocity.bound / np.abs(limits.velocity.of(limits.velocities(grid.q, grid.dq)))
        speed = np.minimum(np.min(each, -1) ** 2, MOST)
    most = np.append(speed[:, 0], MOST)
    most[1:] = np.minimum(most[1:], speed[:, 4])
    most[grid.stops] = 0.0
    at_rest = np.zeros(grid.s.shape, bool)
    at_rest[:, 0], at_rest[:, 4] = grid.stops[:-1], grid.stops[1:]
    return most, speed, at_rest


def _one_limit_each(grid: PathGrid, torques: PathTorques, limits: Limits) -> PathLimits:
    """The rows of motors that drive several joints, under load friction: each has an upper limit only.

    The lower limit of a row is the upper one of its negative.
    """
    n = torques.a.shape[-1]
    coupled, bound, labels = limits.torque.coupled, limits.torque.bound[n:], limits.torque.limits[n:]
    rubbing = np.flatnonzero(torques.load.any((0, 1)))  # joints with load friction
    rows, factors, of_rows = [], [], []
    for row, most, label in zip(coupled, bound, labels, strict=True):
        for sign in (1.0, -1.0):
            one = sign / most * row
            against = np.maximum(one * torques.load, 0.0)  # (N, 1, n)
            joints = [j for j in rubbing if one[j]]
            for chosen in product((1.0, -1.0), repeat=len(joints)):
                signs = np.zeros(n)
                signs[joints] = chosen
                rows.append(one)
                factors.append(one + signs * against)
                of_rows.append(label)
    R, F = np.array(rows), np.stack(factors, -1)  # (m, n), (N, 1, n, m)

    def of_friction(x: np.ndarray) -> np.ndarray:
        return np.asarray(x @ R.T)

    def of_rigid(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("kpj,kjm->kpm", x, F[:, 0]))

    def curved(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = torques.curved(root)
        return of_friction(value), of_friction(slope)

    friction = np.broadcast_to(torques.dry + torques.parts.offset, torques.c.shape)
    rubs = of_friction(friction)
    high = np.ones(rubs.shape)
    for stops, column in ((grid.stops[:-1], 0), (grid.stops[1:], 4)):
        high[stops, column] += np.minimum(of_friction(torques.dry[stops, column]), 0.0)
    most, speed, at_rest = _speeds(grid, limits)
    return PathLimits(
        limits=tuple(of_rows),
        a=of_rigid(torques.a),
        b=of_rigid(torques.b),
        v=of_friction(torques.v),
        c=of_rigid(torques.c - friction) + rubs,
        low=np.full(rubs.shape, -MOST),
        high=high,
        ahead=2 * grid.ahead,
        most=most,
        inner=speed,
        rubs=rubs,
        load=np.zeros(rubs.shape),
        stops=at_rest,
        curved=curved if torques.is_curved else None,
    )


def linear_rows(limits: PathLimits, x: np.ndarray | None = None) -> PathRows:
    """The rows with √x replaced by its tangent at x (N, 5), where there is viscous friction.

    A tangent lies above √x, so a limit that friction works against is nowhere exceeded by it.
    """
    rows = _linear(limits, x)
    if limits.further is not None:
        pairs = zip(rows, _linear(limits.further, x), strict=True)
        a, b, one, other = (np.concatenate(pair, -1) for pair in pairs)
        rows = a, b, one, other
    return _divided(limits, *rows)


def _linear(limits: PathLimits, x: np.ndarray | None) -> Linear:
    """a, b and the two limits of rows one ≤ a u + b x ≤ other, (N, 5, m) each, x that of the start."""
    b, c = np.zeros_like(limits.b), limits.rubs  # of friction
    if x is not None:
        root = np.sqrt(np.maximum(x, 1e-12 * max(float(x.max()), 1e-300)))[..., None]
        moves = x[..., None] > 0  # at rest there is none
        v = np.where(moves, limits.v, 0.0)
        b = b + v / (2 * root)
        c = c + v * (root / 2)
        if limits.curved is not None:
            value, slope = limits.curved(root)
            b, c = b + np.where(moves, slope, 0.0), c + np.where(moves, value - slope * root * root, 0.0)
    if limits.load.any():
        friction = c if x is None else c + b * x[..., None]
        return _one_sided(limits, b, c, *_load_factors(limits, friction))
    a, b, c = limits.a, limits.b + b, limits.c - limits.rubs + c
    return a + limits.ahead[..., None] * b, b, limits.low - c, limits.high - c


def _load_factors(limits: PathLimits, friction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Factors of τ_r in the rows that bound torques above and below, where all other friction is given."""
    above = 1 + np.where(limits.high >= friction, limits.load, -limits.load)
    below = 1 - np.where(limits.low <= friction, limits.load, -limits.load)
    rest = limits.stops[..., None]  # friction that a load adds does not help there either
    return np.where(rest, np.maximum(above, 1), above), np.where(rest, np.maximum(below, 1), below)


def _one_sided(
    limits: PathLimits, b: np.ndarray, c: np.ndarray, above: np.ndarray, below: np.ndarray
) -> Linear:
    """Rows, each twice: with its upper limit and a factor of τ_r, and with its lower limit and another."""
    factor = np.concatenate([above, below], -1)
    a, of_x, rest, b, c = (
        np.concatenate([y, y], -1) for y in (limits.a, limits.b, limits.c - limits.rubs, b, c)
    )
    b, c = factor * of_x + b, factor * rest + c
    a = factor * a + limits.ahead[..., None] * b
    none = np.full_like(limits.low, MOST)
    low, high = np.concatenate([-none, limits.low], -1), np.concatenate([limits.high, none], -1)
    return a, b, low - c, high - c


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
