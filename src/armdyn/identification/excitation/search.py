"""The search: what is sought, and how much of the limits a motion uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from armdyn.identification.excitation.basis import MotionBasis
from armdyn.identification.excitation.bounds import Bounds, Fence, Followed
from armdyn.identification.excitation.columns import BaseColumns, Criterion, Softening, of_regressor, smoothed
from armdyn.motion.motion import sample_times
from armdyn.robot import Robot
from armdyn.robot.assembly import LoopError
from armdyn.robot.friction import dry_surfaces, friction_parts, gathered, surface_speeds
from armdyn.robot.joints import Followers, JointLimits, followers
from armdyn.robot.postures import can_be

FINE = 5e-4  # s between the samples at which limits are checked
BLOCK = 4096  # samples looked at together
BEYOND = 2.0  # of limits: what a motion uses on which loops do not close
KINDS = ("position", "velocity", "acceleration", "jerk", "torque")


@dataclass(frozen=True)
class Search:
    """A search, the same for all starts."""

    robot: Robot
    columns: BaseColumns
    weights: np.ndarray  # (n,) of the joints' rows
    criterion: Criterion
    basis: MotionBasis
    bounds: Bounds
    fence: Fence | None
    followed: Followed | None = None  # limits of joints that follow several others

    @cached_property
    def followers(self) -> Followers | None:
        """Joints that follow by loops and have limits."""
        return followers(self.robot)

    @property
    def samples(self) -> int:
        """Equal intervals for the search: 20 and more for the fastest of the functions."""
        return max(100, 20 * self.basis.size)

    # ---- motions ---------------------------------------------------------------------------------------

    def grid(self, count: int) -> np.ndarray:
        """Instants of `count` equal intervals, both ends included."""
        return np.linspace(0.0, self.basis.duration, count + 1)

    def inner(self, count: int) -> np.ndarray:
        """The middles of `count` equal intervals: the ends, where dry friction has no direction, are out."""
        return (np.arange(count) + 0.5) * (self.basis.duration / count)

    def regressor(
        self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, smooth: Softening | None = None
    ) -> np.ndarray:
        """W (N n, b): the base columns at N states one below the other, weighted, divided by √N."""
        W = self.columns.matrix(q, qd, qdd, smooth) * self.weights[:, None]
        return np.asarray(W.reshape(-1, W.shape[-1]) / np.sqrt(len(q)))

    def value(self, x: np.ndarray, count: int) -> float:
        """The criterion of the motion with coefficients x (d, n); infinite where it leaves loops open."""
        q, qd, qdd, _ = (rows @ x for rows in self.basis.rows(self.inner(count)))
        try:
            return of_regressor(self.criterion, self.regressor(q, qd, qdd))
        except LoopError:
            return np.inf

    def triangle(self, x: np.ndarray, step: float) -> np.ndarray:
        """R (b, b) with RᵀR = WᵀW/N, at samples `step` apart: as accurate as W."""
        t, motion = sample_times(self.basis.duration, step), self.basis.motion(x)
        R: np.ndarray = np.zeros((0, len(self.columns)))
        for k in range(0, len(t), BLOCK):
            q, qd, qdd = motion.evaluate(t[k : k + BLOCK], "after")
            W = self.regressor(q, qd, qdd) * np.sqrt(len(q) / len(t))
            R = np.asarray(np.linalg.qr(np.concatenate([R, W]), mode="r"))
        return R

    # ---- limits ----------------------------------------------------------------------------------------

    def used(self, x: np.ndarray, t: np.ndarray) -> dict[str, np.ndarray]:
        """The largest part (n,) of what is allowed, by kind of limit, that a motion uses at instants t.

        1 is the limit. Between the samples a peak may be higher than at them, by an eighth of the second
        difference there; so much is added. Zero where there is no limit.
        """
        found: dict[str, np.ndarray] = {}
        for k in range(0, len(t) - 1, BLOCK):
            states = [rows @ x for rows in self.basis.rows(t[k : k + BLOCK + 2])]
            if self.robot.model.loops and not can_be(self.robot.assembly, states[0]).all():
                return {kind: np.full(self.robot.n, BEYOND) for kind in KINDS}
            turns = self._turns(*states[:2])
            for kind, u in self._parts(states).items():
                peak = _peak(u, turns if kind == "torque" else None)
                found[kind] = np.maximum(found.get(kind, 0.0), peak)
        return found

    def _parts(self, states: list[np.ndarray]) -> dict[str, np.ndarray]:
        """The part of what is allowed (N, m), by kind of limit, that states use."""
        q, qd, qdd, jerk = states
        allowed = self.bounds.allowed
        parts = {"position": np.maximum(np.maximum(*position_sides(self.bounds, q)), 0.0)}
        for kind, value in (("velocity", qd), ("acceleration", qdd), ("jerk", jerk)):
            parts[kind] = np.abs(value) / getattr(allowed, kind)
        if np.isfinite(allowed.torque).any():
            parts["torque"] = np.abs(self.robot.inverse_dynamics(q, qd, qdd)) / allowed.torque
        if self.followers is not None:
            parts["loops"] = _of_followers(self.followers, self.bounds.part, q, qd, qdd)
        if self.fence is not None:
            parts["workspace"] = 1 + self.fence.excess(q)
        if self.followed is not None:
            parts["followers"] = np.maximum(*self.followed.sides(states))
        return parts

    def _turns(self, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        """(N − 2,) Whether dry friction jumps beside an inner sample: the torque there is no peak."""
        way = np.sign(surface_speeds(self.robot)(q, qd))
        jumps = (way[1:] != way[:-1]).any(1)
        return np.asarray(jumps[1:] | jumps[:-1])

    def most_used(self, x: np.ndarray, t: np.ndarray) -> float:
        return float(max(u.max() for u in self.used(x, t).values()))

    def fine(self) -> np.ndarray:
        """The instants at which limits are checked."""
        return self.grid(max(1000, int(np.ceil(self.basis.duration / FINE))))


def position_sides(bounds: Bounds, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The parts (N, n) of allowed ranges that positions use, toward the upper and the lower end.

    They are −inf where there is none, and 0 where a joint cannot move.
    """
    limits: JointLimits = bounds.allowed
    moves = bounds.reach > 0
    reach = np.where(moves, bounds.reach, 1.0)
    above, below = 1 + (q - limits.upper) / reach, 1 + (limits.lower - q) / reach
    return np.where(moves, above, 0.0), np.where(moves, below, 0.0)


def _of_followers(
    followers: Followers, part: float, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray
) -> np.ndarray:
    """How much joints that follow use (N, 3 f) of what they may: of positions, velocities, accelerations."""
    y, limits = followers.positions(q), followers.limits
    beyond = np.maximum(y - limits.upper, limits.lower - y)
    return np.concatenate(
        [
            np.maximum(1 + beyond, 0.0),
            np.abs(followers.velocities(q, qd)) / (part * limits.velocity),
            np.abs(followers.accelerations(q, qd, qdd)) / (part * limits.acceleration),
        ],
        1,
    )


def _peak(u: np.ndarray, jumps: np.ndarray | None) -> np.ndarray:
    """The largest value (m,) of u (N, m), and between samples but at `jumps` (N − 2,); at least zero."""
    bend = np.abs(np.diff(u, 2, axis=0)) / 8
    between = u[1:-1] + (bend if jumps is None else np.where(jumps[:, None], 0.0, bend))
    return np.asarray(np.concatenate([u, between, np.zeros((1, u.shape[1]))]).max(0))


# ------------------------------------------------------------------------------------------------------------
# Criterion and limits as smooth functions of the coefficients, with exact derivatives.


SMALL = 0.04  # of a joint's speeds: below it, dry friction is smoothed


def coefficients_scale(search: Search) -> np.ndarray:
    """(d, n) by which coefficients are measured: the reach of postures, what limits allow of the others."""
    bounds, basis = search.bounds, search.basis
    scale = np.empty((basis.size, search.robot.n))
    scale[0] = bounds.reach
    scale[1:] = basis.scale(bounds.reach, bounds.allowed.velocity)
    return scale


def _speeds(search: Search) -> np.ndarray:
    """(n,) of the joints: what is allowed, or what their ranges leave time for."""
    ranged = 4 * np.pi * search.bounds.reach / search.basis.duration
    return np.asarray(np.minimum(search.bounds.allowed.velocity, ranged))


class Smooth:
    """A search at samples. Variables z are the coefficients in units of `coefficients_scale`.

    Of each joint's limit only the largest part used counts, as (1/s) log Σ exp(s u) over the samples, which
    is above it: s is `sharpness`.
    """

    def __init__(self, search: Search, power: float, sharpness: float) -> None:
        self.search, self.power, self.sharpness = search, power, sharpness
        self.rows = search.basis.rows(search.inner(search.samples))
        self.scale = coefficients_scale(search)
        self.soft = Softening(SMALL * _speeds(search))
        self.origin = np.zeros_like(self.scale)
        self.origin[0] = search.bounds.middle

    def variables(self, x: np.ndarray) -> np.ndarray:
        z = np.divide(x - self.origin, self.scale, out=np.zeros_like(x), where=self.scale > 0)
        return np.asarray(z.ravel())

    def coefficients(self, z: np.ndarray) -> np.ndarray:
        return np.asarray(self.origin + self.scale * z.reshape(self.scale.shape))

    # ---- criterion -------------------------------------------------------------------------------------

    def objective(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The smoothed criterion and its gradient by z.

        J(G) changes by Σ_k c_k v_kᵀ dG v_k, and G = Σ YᵀY by 2 (Y v_k) · d(Y v_k): torques of an arm with
        parameters v_k.
        """
        search, x = self.search, self.coefficients(z)
        q, qd, qdd = (rows @ x for rows in self.rows[:3])
        W = search.regressor(q, qd, qdd, self.soft)
        value, c, v = smoothed(search.criterion, W, self.power)
        torques = np.moveaxis((W @ v).reshape(*q.shape, -1), -1, 0)  # (k, N, n), weighted
        force = (2 / np.sqrt(len(q))) * c[:, None, None] * torques * search.weights
        gradient = np.zeros_like(x)
        for rows, change in zip(self.rows, search.columns.changes(q, qd, qdd, v, self.soft), strict=False):
            gradient += rows.T @ (force[:, :, None] @ change).sum(0)[:, 0]
        return value, (gradient * self.scale).ravel()

    # ---- limits ----------------------------------------------------------------------------------------

    def room(self, z: np.ndarray) -> np.ndarray:
        """How far the limits are (m,), each in parts of itself."""
        return self._room(z, False)[0]

    def room_changes(self, z: np.ndarray) -> np.ndarray:
        """Its derivative (m, d n) by z."""
        return self._room(z, True)[1]

    def _room(self, z: np.ndarray, changes: bool) -> tuple[np.ndarray, np.ndarray]:
        x = self.coefficients(z)
        values, slopes = [np.zeros(0)], [np.zeros((0, z.size))]
        for limit in self._limits([rows @ x for rows in self.rows]):
            high, weight = self._largest(limit.above, limit.below)
            values.append(1 - high)
            if changes:
                slopes.append(-limit.slope(weight))
        return np.concatenate(values), np.concatenate(slopes)

    def _limits(self, states: list[np.ndarray]) -> Iterator[_Limit]:
        """Every kind of limit that some joint has."""
        bounds, fence, followed = self.search.bounds, self.search.fence, self.search.followed
        joints = np.flatnonzero(
            (np.isfinite(bounds.allowed.lower) | np.isfinite(bounds.allowed.upper)) & (bounds.reach > 0)
        )
        above, below = (u[:, joints] for u in position_sides(bounds, states[0]))
        yield _Limit(above, below, partial(self._own, 0, bounds.reach[joints], joints))
        for order, kind in ((1, "velocity"), (2, "acceleration"), (3, "jerk")):
            joints, limit = _finite(getattr(bounds.allowed, kind))
            u = states[order][:, joints] / limit
            yield _Limit(u, -u, partial(self._own, order, limit, joints))
        joints, limit = _finite(bounds.allowed.torque)
        if len(joints):
            u = self._torques(states)[:, joints] / limit
            yield _Limit(u, -u, partial(self._torque, states, limit, joints))
        if fence is not None:
            u = 1 + fence.excess(states[0])
            yield _Limit(u, np.full_like(u, -np.inf), partial(self._fence, fence, states[0]))
        if followed is not None:
            yield _Limit(*followed.sides(states), partial(self._followed, followed))

    def _largest(self, above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The largest (m,) of two sets (N, m), smoothly, and its derivative: by `above` minus by `below`."""
        top = np.maximum(above.max(0), below.max(0))
        high, low = (np.exp(self.sharpness * (u - top)) for u in (above, below))
        total = (high + low).sum(0)
        return top + np.log(total) / self.sharpness, (high - low) / total

    def _own(self, order: int, limit: np.ndarray, joints: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Derivatives (m, d n) of a joint's own limits, from those (N, m) by its state of an order."""
        found = np.zeros((len(joints), *self.scale.shape))
        found[np.arange(len(joints)), :, joints] = (weight / limit).T @ self.rows[order]
        return self._by_variables(found)

    def _by_variables(self, found: np.ndarray) -> np.ndarray:
        """Derivatives (m, d, n) by coefficients as those (m, d n) by variables."""
        return np.asarray((found * self.scale).reshape(len(found), self.scale.size))

    def _torques(self, states: list[np.ndarray]) -> np.ndarray:
        """(N, n), dry friction smoothed."""
        q, qd, qdd, _ = states
        dry = friction_parts(self.search.robot, q)
        tau = np.asarray(self.search.robot.inverse_dynamics(q, qd, qdd))
        if not dry_surfaces(self.search.robot):
            return tau
        level, _ = self.soft.sign(qd, dry.rows)
        smooth = (dry.forward * (1 + level) + dry.backward * (1 - level)) / 2
        return np.asarray(tau - dry.dry(qd) + gathered(dry.rows, smooth))

    def _torque(
        self, states: list[np.ndarray], limit: np.ndarray, joints: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        robot = self.search.robot
        changes = robot.inverse_dynamics_derivatives(*states[:3])
        dry = friction_parts(robot, states[0])
        if dry_surfaces(robot):
            _, slope = self.soft.sign(states[1], dry.rows)
            changes[1][:] += self.soft.spread(slope * (dry.forward - dry.backward) / 2, dry.rows)
        found = np.zeros((len(joints), *self.scale.shape))
        for rows, change in zip(self.rows, changes, strict=False):
            found += _over_time(rows, (weight / limit)[:, :, None] * change[:, joints])
        return self._by_variables(found)

    def _fence(self, fence: Fence, q: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return self._by_variables(_over_time(self.rows[0], weight[:, :, None] * fence.changes(q)))

    def _followed(self, followed: Followed, weight: np.ndarray) -> np.ndarray:
        return self._by_variables(followed.slopes(list(self.rows), weight))


@dataclass(frozen=True)
class _Limit:
    """Parts of limits that are used, at most 1 (N, m): upward and downward, and what changes them."""

    above: np.ndarray
    below: np.ndarray
    slope: Callable[[np.ndarray], np.ndarray]  # from derivatives (N, m) by `above` to (m, d n)


def _finite(limit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The joints that have a limit, and the limits."""
    joints = np.flatnonzero(np.isfinite(limit))
    return joints, limit[joints]


def _over_time(rows: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Σ_t Φ_td c_tmj: (m, d, n) of functions (N, d) and derivatives (N, m, n)."""
    found = rows.T @ change.reshape(len(rows), -1)
    return np.asarray(np.moveaxis(found.reshape(-1, *change.shape[1:]), 0, 1))
