"""Criterion and limits as smooth functions of the coefficients, with exact derivatives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from armdyn.identification.excitation.columns import Softening
from armdyn.identification.excitation.criterion import smoothed
from armdyn.identification.excitation.followers import Followed
from armdyn.identification.excitation.task import Task, position_sides
from armdyn.identification.excitation.workspace import Fence
from armdyn.robot.friction import dry_surfaces, friction_parts, gathered

SMALL = 0.04  # of a joint's speeds: below it, dry friction is smoothed


def coefficients_scale(task: Task) -> np.ndarray:
    """(d, n) by which coefficients are measured: the reach of postures, what limits allow of the others."""
    bounds, basis = task.bounds, task.basis
    scale = np.empty((basis.size, task.robot.n))
    scale[0] = bounds.reach
    scale[1:] = basis.scale(bounds.reach, bounds.allowed.velocity)
    return scale


def _speeds(task: Task) -> np.ndarray:
    """(n,) of the joints: what is allowed, or what their ranges leave time for."""
    ranged = 4 * np.pi * task.bounds.reach / task.basis.duration
    return np.asarray(np.minimum(task.bounds.allowed.velocity, ranged))


class Smooth:
    """A task at samples. Variables z are the coefficients in units of `coefficients_scale`.

    Of each joint's limit only the largest part used counts, as (1/s) log Σ exp(s u) over the samples, which
    is above it: s is `sharpness`.
    """

    def __init__(self, task: Task, power: float, sharpness: float) -> None:
        self.task, self.power, self.sharpness = task, power, sharpness
        self.rows = task.basis.rows(task.inner(task.samples))
        self.scale = coefficients_scale(task)
        self.soft = Softening(SMALL * _speeds(task))
        self.origin = np.zeros_like(self.scale)
        self.origin[0] = task.bounds.middle

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
        task, x = self.task, self.coefficients(z)
        q, qd, qdd = (rows @ x for rows in self.rows[:3])
        W = task.regressor(q, qd, qdd, self.soft)
        value, c, v = smoothed(task.criterion, W, self.power)
        torques = np.moveaxis((W @ v).reshape(*q.shape, -1), -1, 0)  # (k, N, n), weighted
        force = (2 / np.sqrt(len(q))) * c[:, None, None] * torques * task.weights
        gradient = np.zeros_like(x)
        for rows, change in zip(self.rows, task.columns.changes(q, qd, qdd, v, self.soft), strict=False):
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
        bounds, fence, followed = self.task.bounds, self.task.fence, self.task.followed
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
        """What depends on the joint alone: (m, d n) from derivatives (N, m) by its state of an order."""
        found = np.zeros((len(joints), *self.scale.shape))
        found[np.arange(len(joints)), :, joints] = (weight / limit).T @ self.rows[order]
        return self._by_variables(found)

    def _by_variables(self, found: np.ndarray) -> np.ndarray:
        """Derivatives (m, d, n) by coefficients as those (m, d n) by variables."""
        return np.asarray((found * self.scale).reshape(len(found), self.scale.size))

    def _torques(self, states: list[np.ndarray]) -> np.ndarray:
        """(N, n), dry friction smoothed."""
        q, qd, qdd, _ = states
        dry = friction_parts(self.task.robot, q)
        tau = np.asarray(self.task.robot.inverse_dynamics(q, qd, qdd))
        if not dry_surfaces(self.task.robot):
            return tau
        level, _ = self.soft.sign(qd, dry.rows)
        smooth = (dry.forward * (1 + level) + dry.backward * (1 - level)) / 2
        return np.asarray(tau - dry.dry(qd) + gathered(dry.rows, smooth))

    def _torque(
        self, states: list[np.ndarray], limit: np.ndarray, joints: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        robot = self.task.robot
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
