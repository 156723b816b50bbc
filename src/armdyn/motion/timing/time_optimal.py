"""Least time along a path under limits of torque, velocity and acceleration, with friction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from armdyn.display import Shown
from armdyn.expression import shown
from armdyn.motion.errors import MotionError, check
from armdyn.motion.loads import Loaded
from armdyn.motion.motion import SAME_INSTANT, Motion, Side, States, place_among, snapped
from armdyn.motion.timing.limits import Limit, LimitRows, MotionLimits, limits_for
from armdyn.motion.timing.passes import MOST, PathPass, PathRows, path_pass
from armdyn.motion.timing.path import (
    NEAR,
    POINTS,
    RESTING,
    WHOLE,
    PathGrid,
    by_length,
    dwelt,
    path_grid,
    speed_of,
)
from armdyn.motion.timing.retime import checked_dwells, stretched, with_instants
from armdyn.motion.timing.scaling import rate_within, scaled_within
from armdyn.motion.timing.several import of_several
from armdyn.motion.torques import SpeedParts, SteadyWrench, check_timed, loaded_parts, share_at, steady_wrench
from armdyn.motion.trajectory import Samples, Trajectory
from armdyn.progress import stage
from armdyn.robot import Robot
from armdyn.robot.drives import ShaftLimits
from armdyn.robot.friction import dry_surfaces, friction_parts, surface_speeds
from armdyn.robot.joints import JointLimits

# ------------------------------------------------------------------------------------------------------------
# Limits along a path as rows for `passes`.
#
# At a point of the path the torques are a u + b x + v √x + c, with x = ṡ² and u = s̈: a is B q', b is B q'' +
# C(q, q') q', v is F_v q', and c dry friction in the direction of q', gravity, offset and tip wrench.
# Accelerations are q' u + q'' x and velocities q' √x. All are held at the five points of every interval,
# where x is x_i + 2 (s − s_i) u. For the passes √x is replaced by a tangent.
#
# Friction that is curved over speed, such as cubic and Stribeck friction, is replaced by tangents, too. Load
# friction makes of τ_r (the torque without friction) τ_r (1 + Fl s) where τ_r > 0 and τ_r (1 − Fl s) where it
# is not. With f all other friction, τ ≤ limit is then τ_r (1 + Fl s) + f ≤ limit as long as f ≤ limit, else
# it is τ_r (1 − Fl s) + f ≤ limit, and likewise below: a row with two limits becomes two rows with one each.
#
# A motor that drives several joints has a row R τ, and so have all coefficients. With load friction this is
# Σ_j R_j (τ_rj + Fl_j s_j |τ_rj|) + R f. Where R_j Fl_j s_j > 0 the term is the larger one of two that are
# linear, and both are held against the upper limit; where it is negative, load friction would help and is not
# counted. So limits are kept, and the motion is somewhat slower than it could be. Load friction with a width
# fades with the speed; its part is that at the tangent's point.


Curved: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
Linear: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

ZERO = 1e-12  # of the largest coefficient of u: smaller ones count as this


@dataclass(frozen=True)
class PathTorques:
    """The torques at the points of N intervals, (N, 5, n): a u, and at the rate √x those of `parts`."""

    a: np.ndarray
    parts: SpeedParts  # an interval has one direction of dry friction and of load friction

    @property
    def c(self) -> np.ndarray:
        """What does not depend on the speed."""
        return np.asarray(self.parts.static + self.parts.dry)

    @property
    def rubs(self) -> np.ndarray:
        """The part of c that is friction."""
        return np.asarray(self.parts.dry + self.parts.offset)

    def at_ends(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Torques (N, 2, n) where the intervals begin and end, for x (N + 1,) and u (N,)."""
        a, c, parts = self.a[:, [0, 4]], self.c[:, [0, 4]], self.parts.map(lambda y: y[:, [0, 4]])
        x = np.stack([x[:-1], x[1:]], 1)[..., None]
        friction = parts.linear * np.sqrt(x) + parts.dry + parts.offset
        rigid = a * u[:, None, None] + parts.squared * x + c - parts.dry - parts.offset
        root = np.sqrt(x)
        return np.asarray(rigid + parts.loaded(root) * np.abs(rigid) + friction + parts.curved(root))

    def at_rest(self) -> np.ndarray:
        """Torques (N, 5, n) of motions that hardly move."""
        rigid = self.c - self.parts.dry - self.parts.offset
        return np.asarray(self.c + self.parts.loaded(0.0) * np.abs(rigid))

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
    # A joint that turns around does so at an end of an interval, where its sign is open.
    middle = friction_parts(loaded.robot, grid.q[:, 2:3])
    ways, everywhere = middle.speed(grid.dq[:, 2:3]), friction_parts(loaded.robot, grid.q)
    dry, load = (np.broadcast_to(x, a.shape) for x in (everywhere.dry_of(ways), middle.shares(ways)))
    return PathTorques(a, replace(parts, dry=dry, load=load))


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
    slowness: np.ndarray  # (N, 5, m) of load friction with a width: its part at √x is Fl s tanh(√x/slowness)
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


def path_limits(grid: PathGrid, torques: PathTorques, limits: MotionLimits) -> PathLimits:
    """The limits that are finite, as rows."""
    n, rows = torques.a.shape[-1], limits.torque
    kept = np.flatnonzero(np.isfinite(rows.bound))
    if not (torques.parts.load.any() and len(rows.coupled)):
        return _path_limits(grid, torques, limits, kept)
    joints = _path_limits(grid, torques, limits, kept[kept < n])
    return replace(joints, further=_one_limit_each(grid, torques, rows, joints))


def _path_limits(grid: PathGrid, torques: PathTorques, limits: MotionLimits, kept: np.ndarray) -> PathLimits:
    """Rows of accelerations, and those rows of torques that are `kept`, in parts of their limits."""
    bounded = np.flatnonzero(np.isfinite(limits.acceleration.bound))
    first, shape = len(kept), (*grid.s.shape, len(kept) + len(bounded))

    def of_torque(x: np.ndarray) -> np.ndarray:
        return np.asarray(limits.torque.of(x)[..., kept] * (1 / limits.torque.bound[kept]))

    def rows(torque: np.ndarray, acceleration: np.ndarray | None = None) -> np.ndarray:
        result = np.zeros(shape)
        result[..., :first] = of_torque(torque)
        if acceleration is not None:
            per = 1 / limits.acceleration.bound[bounded]
            result[..., first:] = limits.acceleration.of(acceleration)[..., bounded] * per
        return result

    low, high = np.full(shape, -1.0), np.full(shape, 1.0)
    for stops, column in ((grid.stops[:-1], 0), (grid.stops[1:], 4)):
        dry = of_torque(torques.parts.dry[stops, column])
        low[stops, column, :first] += np.maximum(dry, 0.0)
        high[stops, column, :first] += np.minimum(dry, 0.0)
    load, slowness = np.zeros(shape), np.zeros(shape)
    if torques.parts.load.any():  # rows of joints only
        load[..., :first] = torques.parts.load[..., kept]
        slowness[..., :first] = torques.parts.slowness[..., kept]

    def curved(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = torques.curved(root)
        return rows(value), rows(slope)

    most, speed, at_rest = _speeds(grid, limits)
    return PathLimits(
        limits=(
            *(limits.torque.limits[k] for k in kept),
            *(limits.acceleration.limits[k] for k in bounded),
        ),
        a=rows(torques.a, limits.velocities(grid.q, grid.dq)),
        b=rows(torques.parts.squared, limits.accelerations(grid.q, grid.dq, grid.ddq)),
        v=rows(torques.parts.linear),
        c=rows(torques.c),
        low=low,
        high=high,
        ahead=2 * grid.ahead,
        most=most,
        inner=speed,
        rubs=rows(torques.rubs),
        load=load,
        slowness=slowness,
        stops=at_rest,
        curved=curved if torques.is_curved else None,
    )


def _speeds(grid: PathGrid, limits: MotionLimits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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


def _one_limit_each(
    grid: PathGrid, torques: PathTorques, limits: LimitRows, joints: PathLimits
) -> PathLimits:
    """The rows of motors that drive several joints, under load friction: each has an upper limit only.

    The lower limit of a row is the upper one of its negative. What is the same for all rows is that of the
    rows of `joints`.
    """
    n, load = torques.a.shape[-1], torques.parts.load[:, 0]
    rubbing = np.flatnonzero(load.any(0))  # joints with load friction
    rows, factors, of_rows = [], [], []
    for row, most, label in zip(limits.coupled, limits.bound[n:], limits.limits[n:], strict=True):
        for sign in (1.0, -1.0):
            one = sign / most * row
            against = np.maximum(one * load, 0.0)  # (N, n)
            driven = [j for j in rubbing if one[j]]
            for chosen in product((1.0, -1.0), repeat=len(driven)):
                signs = np.zeros(n)
                signs[driven] = chosen
                rows.append(one)
                factors.append(one + signs * against)
                of_rows.append(label)
    R, F = np.array(rows), np.stack(factors, -1)  # (m, n), (N, n, m)

    def of_friction(x: np.ndarray) -> np.ndarray:
        return np.asarray(x @ R.T)

    def of_rigid(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.einsum("kpj,kjm->kpm", x, F))

    def curved(root: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, slope = torques.curved(root)
        return of_friction(value), of_friction(slope)

    rubs = of_friction(torques.rubs)
    high = np.ones(rubs.shape)
    for stops, column in ((grid.stops[:-1], 0), (grid.stops[1:], 4)):
        high[stops, column] += np.minimum(of_friction(torques.parts.dry[stops, column]), 0.0)
    return replace(
        joints,
        limits=tuple(of_rows),
        a=of_rigid(torques.a),
        b=of_rigid(torques.parts.squared),
        v=of_friction(torques.parts.linear),
        c=of_rigid(torques.c - torques.rubs) + rubs,
        low=np.full(rubs.shape, -MOST),
        high=high,
        rubs=rubs,
        load=np.zeros(rubs.shape),
        slowness=np.zeros(rubs.shape),
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
        load = limits.load if x is None else share_at(limits.load, limits.slowness, root)
        return _one_sided(limits, b, c, *_load_factors(limits, load, friction))
    a, b, c = limits.a, limits.b + b, limits.c - limits.rubs + c
    return a + limits.ahead[..., None] * b, b, limits.low - c, limits.high - c


def _load_factors(
    limits: PathLimits, load: np.ndarray, friction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Factors of τ_r in the rows that bound torques above and below, where all other friction is given.

    `load` (N, 5, m) is the part of |τ_r| that load friction is.
    """
    above = 1 + np.where(limits.high >= friction, load, -load)
    below = 1 - np.where(limits.low <= friction, load, -load)
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


# ------------------------------------------------------------------------------------------------------------
# Messages about paths that cannot be followed: the joint, and the place on the path.


def why_not(
    robot: Robot,
    grid: PathGrid,
    torques: PathTorques,
    rows: PathLimits,
    limits: MotionLimits,
    found: PathPass,
) -> str:
    """One sentence about the interval at which a pass found no speed."""
    i = found.failed
    place = f"at {100 * grid.s[i, 0]:.4g} % of the path (t = {grid.t[i, 0]:.6g} s of the given motion)"
    stops = [point for point, end in ((0, i), (4, i + 1)) if grid.stops[end]]
    needs = np.concatenate([torques.at_rest()[i], (torques.c[i] - torques.parts.dry[i])[stops]])
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


def too_much(robot: Robot, limits: MotionLimits, torque: np.ndarray, row: int, place: str, cause: str) -> str:
    """Sentence that torques (n,) are beyond the limit of a row."""
    rows = limits.torque
    limit, unit = rows.limits[row], rows.limits[row].unit(robot)
    needs, most = (rows.as_limited(row, float(x[row])) for x in (rows.of(torque), rows.bound))
    return f"{limit.name(robot)} {place}: {cause} {needs:.6g} {unit}, the limit is {abs(most):.6g} {unit}"


def _culprit(limits: MotionLimits, rows: PathLimits, found: PathPass, dq: np.ndarray) -> Limit:
    """The limit of the rows that exclude each other; velocity where it is no other."""
    known = [rows.place(row) for row in (found.lower, found.upper)]
    places = [place for place in known if place is not None]
    if not places:
        return limits.velocity.limits[int(np.argmax(limits.velocity.share(dq)))]
    return rows.every_limit[min(places)]


# ------------------------------------------------------------------------------------------------------------
# Dwells of a motion in least time: checks that the arm can be held there, and their intervals.


@dataclass(frozen=True)
class Intervals:
    """A path in N intervals: when they begin and end, the torques there, and s, ṡ and s̈."""

    t: np.ndarray  # (N, 2) [s]
    torque: np.ndarray  # (N, 2, n) [N m or N]
    s: np.ndarray  # (N + 1,)
    speed: np.ndarray  # (N + 1,) [1/s]
    acceleration: np.ndarray  # (N,) [1/s²]


def check_holds(loaded: Loaded, trajectory: Trajectory, wrench: SteadyWrench, limits: MotionLimits) -> None:
    """Refuse dwells on which the arm is too heavy to be held, with whatever it carries then."""
    for start, end in trajectory.dwells:
        t = _cut(start, end, loaded.boundaries)
        torque = _held(loaded, trajectory, t, wrench)
        share = limits.torque.share(torque)
        if (share > 1).any():
            part, row = (int(k) for k in np.unravel_index(np.argmax(share), share.shape))
            place = f"at the dwell from {t[part, 0]:.6g} to {t[part, 1]:.6g} s of the given motion"
            cause = "gravity at rest, without friction, needs"
            raise MotionError(too_much(loaded.robot, limits, torque[part], row, place, cause))


def with_dwells(
    moving: Intervals, grid: PathGrid, timed: Trajectory, task: Loaded, wrench: SteadyWrench
) -> Intervals:
    """The intervals with those of the dwells among them: s stays, and the arm is held.

    `timed` is the motion found. Where a load changes during a dwell, it is two intervals.
    """
    places = np.flatnonzero(grid.pauses > 0)
    if not places.size:
        return moving
    arrives, leaves = np.append(0.0, moving.t[:, 1]), np.append(moving.t[:, 0], timed.duration)
    loaded = timed.loaded(task.robot)
    cuts = [_cut(arrives[i], leaves[i], loaded.boundaries) for i in places]
    at, t = np.repeat(places, [len(cut) for cut in cuts]), np.concatenate(cuts)
    torque = _held(loaded, timed, t, wrench)
    return Intervals(
        t=np.insert(moving.t, at, t, axis=0),
        torque=np.insert(moving.torque, at, torque[:, None], axis=0),
        s=np.insert(moving.s, at, moving.s[at]),
        speed=np.insert(moving.speed, at, 0.0),
        acceleration=np.insert(moving.acceleration, at, 0.0),
    )


def _cut(start: float, end: float, boundaries: np.ndarray) -> np.ndarray:
    """Intervals (k, 2) from start to end, cut at the boundaries between."""
    t = np.concatenate([[start], boundaries[(boundaries > start) & (boundaries < end)], [end]])
    return np.column_stack([t[:-1], t[1:]])


def _held(loaded: Loaded, trajectory: Trajectory, t: np.ndarray, wrench: SteadyWrench) -> np.ndarray:
    """Torques (k, n) that hold the arm in its postures from t[:, 0] to t[:, 1]."""
    middle = t.mean(1)

    def held(robot: Robot, q: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q), wrench))

    return loaded.evaluate(held, middle, trajectory(middle)[0])


# ------------------------------------------------------------------------------------------------------------
# The fastest profile x(s) = ṡ² of a path under its limits.
#
# Without viscous friction one pass gives it. With it, √x in the rows is replaced by its tangent at the
# profile found last, and passes follow each other until the profile stays where it is: it then is the
# fastest under the limits themselves, among its neighbours. The first tangents are those of the fastest
# motion without viscous friction, made slower until a profile follows from them. The same holds for all
# friction that depends on speed in another way.


SAME = 1e-9  # of the top speed: a profile that changes less has converged
PASSES = 60
SLOWER = 20  # times that the first profile may be halved in speed


class NoWay(Exception):
    """No profile was found; the pass that found none says where."""

    def __init__(self, found: PathPass) -> None:
        super().__init__(found.failed)
        self.found = found


def best_profile(limits: PathLimits, known: np.ndarray | None = None) -> np.ndarray:
    """x at the ends of the intervals (N + 1,); `known` (N, 5) is the best one, from another grid."""
    if limits.is_linear:
        return _passed(limits, None)
    if known is not None:
        try:
            return _converged(limits, known)
        except NoWay:
            pass
    first = limits.at_points(_passed(limits, None))
    for _ in range(SLOWER):
        try:
            return _converged(limits, first)
        except NoWay:
            first = first / 4  # tangents at a profile far too fast forbid the slow ones
    return _converged(limits, first)


def _passed(limits: PathLimits, x: np.ndarray | None) -> np.ndarray:
    """The profile of one pass with tangents at x (N, 5)."""
    found = path_pass(linear_rows(limits, x))
    if found.failed >= 0:
        raise NoWay(found)
    return found.x


def _converged(limits: PathLimits, x: np.ndarray) -> np.ndarray:
    """The profile at which repeated passes from a first one (N, 5) end."""
    for _ in range(PASSES):
        found = _passed(limits, x)
        following = limits.at_points(found)
        moved = np.abs(np.sqrt(following) - np.sqrt(x)).max()
        x = following
        if moved <= SAME * np.sqrt(x.max()):
            break
    return found


# ------------------------------------------------------------------------------------------------------------
# The motion along a path whose acceleration s̈ is constant on each interval of its grid.


CLOSE = 1e-7  # of a part of an interval: where a step of Newton's method is smaller, the next one is nothing
INSIDE = 1e-9  # of an interval: how far inside of it derivatives at its ends are taken


@dataclass(frozen=True)
class TimedPath:
    """A path with x = ṡ² at the N + 1 ends of its intervals, linear in s between; dwells last as they did."""

    grid: PathGrid
    x: np.ndarray  # (N + 1,)

    @cached_property
    def _stretches(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Starts of intervals and dwells, and the end (k + 1,) [s]; the interval of each (k,); which dwell.

        A dwell has the interval that follows it; the last one, N.
        """
        y, pauses = np.sqrt(self.x), self.grid.pauses
        lengths = np.empty(2 * len(pauses) - 1)
        lengths[::2], lengths[1::2] = pauses, 2 * self.grid.ahead[:, 4] / (y[1:] + y[:-1])
        kept = lengths > 0
        kept[1::2] = True
        places = np.flatnonzero(kept)
        return np.append(0.0, np.cumsum(lengths[kept])), places // 2, places % 2 == 0

    @cached_property
    def times(self) -> np.ndarray:
        """Instants at which the intervals begin and end (N, 2) [s]."""
        edges, _, dwells = self._stretches
        return np.column_stack([edges[:-1][~dwells], edges[1:][~dwells]])

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return float(self._stretches[0][-1])

    @cached_property
    def u(self) -> np.ndarray:
        """s̈ on the intervals (N,) [1/s²]."""
        return np.asarray(np.diff(self.x) / (2 * self.grid.ahead[:, 4]))

    def motion(self, label: str) -> Motion:
        """The motion, with the dwells and loads of the given one."""
        edges, n = self._stretches[0], self.grid.q.shape[-1]
        motion = Motion(n, self.duration, self.evaluate, edges[1:-1], label)
        return with_instants(motion, self.grid.trajectory.motion, self.when)

    def when(self, t: np.ndarray) -> np.ndarray:
        """New instants (N,) [s] of instants t (N,) of the given motion at which a dwell or a load changes.

        These are ends of intervals, or nearly so, or in a rest. Only the dwells of a rest are kept.
        """
        grid = self.grid
        i = (np.searchsorted(grid.t[:, 0], t, side="right") - 1).clip(0)
        start, end = grid.t[i, 0], grid.t[i, 4]
        node = np.where(np.abs(t - start) <= np.abs(t - end), i, i + 1)
        arrives = np.append(self.times[0, 0] - grid.pauses[0], self.times[:, 1])[node]
        earlier = dwelt(grid.trajectory, np.append(0.0, grid.t[:, 4])[node])
        after = np.maximum(dwelt(grid.trajectory, t) - earlier, 0.0)
        return snapped(arrives + after, self._stretches[0])

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        """Positions, velocities, accelerations (N, n) at times (N,)."""
        edges, intervals, dwells = self._stretches
        length = self.grid.ahead[:, 4]
        k = place_among(edges[1:-1], t, side)
        late, i, rests = t - edges[k], intervals[k], dwells[k]
        ends = t == edges[k + 1]  # exactly: at the end the arm rests
        if rests.any():
            last = i == len(length)
            late, ends, i = np.where(rests, 0.0, late), np.where(rests, last, ends), np.where(last, i - 1, i)
        speed, u = np.sqrt(self.x[i]), np.where(rests, 0.0, self.u[i])
        ahead = (late * (speed + u * late / 2)).clip(0.0, length[i])
        ahead = np.where(ends, length[i], ahead)
        rate = np.where(ends, np.sqrt(self.x[i + 1]), np.maximum(speed + u * late, 0.0))
        rate = np.where(rests, 0.0, rate)
        q, dq, ddq = self._path(i, ahead)
        rate, u = rate[:, None], u[:, None]
        return q, rate * dq, rate**2 * ddq + u * dq

    def _path(self, i: np.ndarray, ahead: np.ndarray) -> States:
        """q, q', q'' on intervals i (N,), `ahead` (N,) of their starts, derivatives from their inside.

        So they are those of its side where the path jumps, and a joint that turns around has the direction it
        has on the interval. Beside a point of rest they are taken where the grid takes them.
        """
        grid = self.grid
        r = instants(grid, i, ahead)
        start, end = grid.t[i, 0], grid.t[i, 4]
        rests = grid.speed[i][:, [0, 4]] < RESTING * grid.speed.max()
        # Nearer than `least`, the given motion would take an instant for the end of the interval.
        width, least = end - start, 4 * SAME_INSTANT * grid.trajectory.duration
        first, last = (np.where(rest, NEAR, INSIDE) * width for rest in rests.T)
        inside = r.clip(start + np.maximum(first, least), end - np.maximum(last, least))
        evaluate = grid.trajectory.motion.evaluate
        q, qd, qdd = evaluate(inside, "after")
        ends = np.flatnonzero(inside < r)
        if ends.size:
            _, qd[ends], qdd[ends] = evaluate(inside[ends], "before")
        moved = np.flatnonzero(inside != r)
        if moved.size:
            q[moved] = evaluate(r[moved], "after")[0]
        dq, ddq, _ = by_length(qd, qdd, grid.weights, grid.length)
        return q, dq, ddq


def instants(grid: PathGrid, i: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """The instants of the given motion (N,) at which it is `ahead` (N,) of the starts of intervals i (N,)."""
    part = np.sum(ahead[:, None] > grid.ahead[i, 1:4], -1)
    start, end = grid.t[i, part], grid.t[i, part + 1]
    whole = grid.ahead[i, part + 1] - grid.ahead[i, part]
    ahead = ahead - grid.ahead[i, part]
    first, last = grid.speed[i, part], grid.speed[i, part + 1]
    # A first guess from a speed that is linear in time and covers the right distance.
    scale = 2 * whole / ((end - start) * (first + last))
    a, change = scale * first, scale * (last - first) / (end - start)
    root = np.sqrt(np.maximum(a * a + 2 * change * ahead, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = start + np.where(ahead > 0, 2 * ahead / (a + root), 0.0)
    r = r.clip(start, end)
    active = np.flatnonzero((ahead > 0) & (ahead < whole))
    r[ahead >= whole] = end[ahead >= whole]
    for _ in range(30):
        if not active.size:
            break
        begin, now = start[active], r[active]
        t = begin[:, None] + (now - begin)[:, None] / 2 * (POINTS + 1)
        qd = grid.trajectory.motion.evaluate(t.ravel(), "after")[1].reshape(*t.shape, -1)
        speed = speed_of(qd, grid.weights) / grid.length
        covered = (now - begin) / 2 * (speed @ WHOLE)
        with np.errstate(divide="ignore", invalid="ignore"):
            move = (covered - ahead[active]) / speed[:, 4]
        move = np.where(np.isfinite(move), move, 0.0)
        r[active] = (now - move).clip(begin, end[active])
        active = active[np.abs(move) > CLOSE * (end - start)[active]]
    return np.asarray(r)


# ------------------------------------------------------------------------------------------------------------
# `time_optimal`: grids are refined where motions between their points exceed a limit.


GRID = 1000  # intervals; costs about 0.1 % of the least time, and twice as many half of that
LEAST = 10
MOST_INTERVALS = 1_000_000
EXCESS = 2e-4  # of a limit: intervals that go beyond one by more between their points are cut in two
ROUNDS = 12  # of cutting, at most
ENDLESS = 1e15  # a larger x is not bounded by any limit [1/s²]
SOME = 5  # every fifth interval is used for a first comparison with linear scaling


@dataclass(frozen=True)
class TimeOptimal(Shown):
    """The fastest motion along the path of a given one.

    The path is known by s from 0 to 1, its arc length in joint space with weighted joints. `s` are the N + 1
    ends of intervals on which s̈ is constant, `speed` is ṡ there and `acceleration` s̈ between. At `t` the
    torques are `torque`: at both ends of each interval, so that most instants appear twice, before and after.
    `excess` is by how much of a limit the motion was found to go beyond one between the points of the grid.
    A dwell is an interval on which s stays where it is (two, where a load changes meanwhile). Where no faster
    motion is found than the given one scaled linearly, it is that one; s̈ is not constant on the intervals
    then, and `acceleration` is the one in their middle.
    """

    trajectory: Trajectory
    t: np.ndarray = field(repr=False)  # (K,), not decreasing [s]
    torque: np.ndarray = field(repr=False)  # (K, n) [N m or N]
    s: np.ndarray = field(repr=False)  # (N + 1,)
    speed: np.ndarray = field(repr=False)  # (N + 1,) [1/s]
    acceleration: np.ndarray = field(repr=False)  # (N,) [1/s²]
    limits: JointLimits = field(repr=False)
    excess: float
    motor_limits: ShaftLimits = field(repr=False)

    @property
    def duration(self) -> float:
        """Duration of the motion [s]."""
        return self.trajectory.duration


@dataclass(frozen=True)
class _Problem:
    """A robot with its loads, and its limits."""

    loaded: Loaded
    limits: MotionLimits
    wrench: SteadyWrench

    def on(self, grid: PathGrid) -> tuple[PathTorques, PathLimits]:
        torques = path_torques(self.loaded, grid, self.wrench)
        return torques, path_limits(grid, torques, self.limits)

    def torque(self, t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """Torques (N, k, n) of states (N, k, n) on intervals around instants t (N,) of the given motion."""
        return self.loaded.evaluate(
            lambda robot, *states: robot.inverse_dynamics(*states, self.wrench), t, q, qd, qdd
        )

    def excess(self, timed: TimedPath) -> np.ndarray:
        """Excess (N,) over limits between the points of each interval, as a part of the limit; ≤ 0: none."""
        ahead, (q, dq, ddq) = timed.grid.between()
        x = between_ends(timed.x, ahead / timed.grid.ahead[:, 4:])[..., None]
        qd, qdd = np.sqrt(x) * dq, x * ddq + timed.u[:, None, None] * dq
        values = (
            self.torque(timed.grid.t[:, 2], q, qd, qdd),
            self.limits.velocities(q, qd),
            self.limits.accelerations(q, qd, qdd),
        )
        share = [rows.share(value).max((1, 2)) for rows, value in zip(self.limits.kinds, values, strict=True)]
        return np.asarray(np.max(share, axis=0) - 1)

    def result(
        self, grid: PathGrid, trajectory: Trajectory, intervals: Intervals, excess: float
    ) -> TimeOptimal:
        found = with_dwells(intervals, grid, trajectory, self.loaded, self.wrench)
        return TimeOptimal(
            trajectory=trajectory,
            t=found.t.ravel(),
            torque=found.torque.reshape(-1, trajectory.n),
            s=found.s,
            speed=found.speed,
            acceleration=found.acceleration,
            limits=self.limits.joint,
            excess=max(excess, 0.0),
            motor_limits=self.limits.motor,
        )


@of_several
@check.computable()
@stage("least time")
def time_optimal(
    robot: Robot,
    trajectory: Trajectory,
    *,
    grid: int = GRID,
    torque: Any = None,
    velocity: Any = None,
    acceleration: Any = None,
    motor_torque: Any = None,
    motor_velocity: Any = None,
    wrench: Any = None,
) -> TimeOptimal:
    """The same path in least time, from rest to rest; of a list of motions, a list.

    The limits are the robot's own unless given here (one number, or one per joint; infinite for none), those
    of the motors at their shafts included (`motor_torque`, `motor_velocity`: one number, or one per motor).
    Friction of every kind, gravity, rotors and a constant `wrench` (6,) of the tip, or {link: (6,)},
    count, and so does what the arm carries while it carries it. Declared dwells last as long as they did;
    from one to the next the motion is from rest to rest. `grid` is the number of intervals; where the path
    demands it, some are cut further. Several motions are timed side by side, on as many threads as
    `set_threads` allows.
    """
    check_timed(robot, trajectory)
    limits = limits_for(robot, torque, velocity, acceleration, motor_torque, motor_velocity)
    wrench = steady_wrench(robot, wrench)
    task = _Problem(trajectory.loaded(robot), limits, wrench)
    count = check.whole_number("grid", grid, LEAST)
    if count > MOST_INTERVALS:
        raise MotionError(f"grid: found {shown(grid)}; at most {MOST_INTERVALS} intervals are possible")
    if len(checked_dwells(trajectory)):
        check_holds(task.loaded, trajectory, wrench, limits)
    first = path_grid(trajectory, count, surface_speeds(robot) if dry_surfaces(robot) else None)
    try:
        timed, torques, excess = _solved(task, first)
    except NoWay as problem:
        scaled = _scaled(task, first, np.inf)
        if scaled is None:
            raise MotionError(why_not(robot, first, *task.on(first), limits, problem.found)) from None
        return scaled
    if timed.x.max() > ENDLESS:
        raise MotionError(
            f"{robot.name}: no limit bounds the speed at {100 * timed.grid.nodes[timed.x.argmax()]:.4g} % of "
            "the path; give torque=, velocity= or acceleration="
        )
    faster = _scaled(task, first, timed.duration)
    if faster is not None:
        return faster
    motion = timed.motion(f"{trajectory.motion.label}, in least time")
    ends = torques.at_ends(timed.x, timed.u)
    found = Intervals(timed.times, ends, timed.grid.nodes, np.sqrt(timed.x), timed.u)
    return task.result(timed.grid, Trajectory(motion, trajectory.step), found, excess)


def _scaled(task: _Problem, grid: PathGrid, least: float) -> TimeOptimal | None:
    """The given motion scaled linearly, where that takes less than the `least` time; else None.

    Where the given motion has the fastest shape there is, it may win by what the grid costs.
    """
    given, limits, robot = grid.trajectory, task.limits, task.loaded.robot
    if np.abs(given([0.0, given.duration])[1] * grid.weights).max() > 1e-9:
        return None  # it does not begin and end at rest, as the result must
    t = grid.t[::SOME, 2]
    some = Samples(t, *given(t))  # these alone usually show that it takes longer
    parts = loaded_parts(task.loaded, t, (some.q, some.qd, some.qdd), task.wrench)
    rate, rests = rate_within(limits, parts, some, np.inf), grid.pauses.sum()
    if rate.value <= 0 or given.duration - rests >= (least - rests) * rate.value:
        return None
    try:
        scaled = scaled_within(robot, given, limits, task.wrench, faster=True)
    except MotionError:
        return None
    if scaled.trajectory.duration >= least:
        return None
    c, t = scaled.factor, grid.t[:, [0, 4]]
    ends = zip(given(t[:, 0]), given(t[:, 1], "before"), strict=True)
    q, qd, qdd = (np.stack(x, 1) for x in ends)  # (N, 2, n)
    found = Intervals(
        t=stretched(given, c)[1](t.ravel()).reshape(t.shape),
        torque=task.torque(grid.t[:, 2], q, qd / c, qdd / c**2),
        s=grid.nodes,
        speed=np.append(grid.speed[:, 0], grid.speed[-1, 4]) / c,
        acceleration=grid.change[:, 2] / c**2,
    )
    return task.result(grid, scaled.trajectory, found, 0.0)


def _solved(task: _Problem, grid: PathGrid) -> tuple[TimedPath, PathTorques, float]:
    """The fastest profile, on a grid fine enough to keep the limits between its points; and its excess."""
    found: tuple[TimedPath, PathTorques, float] | None = None
    for _ in range(ROUNDS):
        torques, limits = task.on(grid)
        known = None if found is None else np.interp(grid.s, found[0].grid.nodes, found[0].x)
        try:
            timed = TimedPath(grid, best_profile(limits, known))
        except NoWay:
            if found is None:
                raise
            break  # the result of the coarser grid stays
        excess = task.excess(timed)
        found = timed, torques, float(excess.max())
        if found[2] <= EXCESS:
            break
        grid = grid.halved(excess > EXCESS)
    assert found is not None
    return found
