"""An arm with dry friction, in given modes: accelerations, friction of what sticks, and which modes fit.

Dry friction acts on surfaces e: joints, or motors that turn with several joints. The speed of a surface is
a_e · q̇, its friction f_e enters the joint torques as a_e f_e. A mode is +1 or −1 where a surface slides, with
f_e at that level, and 0 where it sticks: then a_e · q̈ = 0 and f_e is what this takes, between the levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import cholesky, null_space, solve_triangular
from scipy.optimize import linprog, lsq_linear

from armdyn.robot import Robot
from armdyn.robot.friction import friction_parts
from armdyn.robot.functions import make_kernel
from armdyn.robot.joints import joint_name
from armdyn.simulation.engine.integrand import without_dry_friction
from armdyn.simulation.errors import SimulationError

INSIDE = 1e-9  # of the distance of the levels: what counts as strictly between them


class Plant:
    """A robot as the adaptive integration sees it. Vectors are (n,), modes (E,)."""

    def __init__(self, robot: Robot) -> None:
        self.robot, self.n = robot, robot.n
        parts = friction_parts(robot)
        dry = parts.forward > parts.backward
        even = ~dry  # the same both ways: an offset
        self.rows, self.forward, self.backward = parts.rows[dry], parts.forward[dry], parts.backward[dry]
        self.offset = parts.offset + parts.forward[even] @ parts.rows[even]
        self.extra = self.offset - parts.offset  # what the kernels below do not know of
        self.viscous = parts.viscous
        self.names = [_surface_name(robot, row) for row in self.rows]
        self.rubs = bool(len(self.rows) or self.viscous.any() or self.offset.any())
        mechanism = without_dry_friction(robot.mechanism)
        self._freedoms: dict[tuple[int, ...], np.ndarray] = {}
        self._smooth = {
            (name, tip): make_kernel(name, mechanism, (), ("wrench",) if tip else ())
            for name in ("forward_dynamics", "inverse_dynamics")
            for tip in (False, True)
        }

    # ---- in given modes --------------------------------------------------------------------------------

    def speeds(self, qd: np.ndarray) -> np.ndarray:
        return np.asarray(self.rows @ qd)

    def friction(self, qd: np.ndarray, modes: np.ndarray) -> np.ndarray:
        """All friction torques but those of what sticks."""
        return np.asarray(self.viscous @ qd + self.offset + self.dry(modes))

    def dry(self, modes: np.ndarray) -> np.ndarray:
        """Dry friction torques of what slides."""
        levels = np.where(modes > 0, self.forward, np.where(modes < 0, self.backward, 0.0))
        return np.asarray(levels @ self.rows)

    def acceleration(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, wrench: Any, modes: np.ndarray
    ) -> np.ndarray:
        """q̈ (n,); exactly zero at joints that stick."""
        if modes.all():
            applied = tau - self.dry(modes) - self.extra
            return np.asarray(self._call("forward_dynamics", q, qd, applied, wrench))
        B, net = self.robot.inertia(q), self.net(q, qd, tau, wrench, modes)
        return self._constrained(B, net, modes)

    def net(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, wrench: Any, modes: np.ndarray
    ) -> np.ndarray:
        """The torques left to accelerate the arm and to be held by what sticks."""
        bias = self._call("inverse_dynamics", q, qd, np.zeros(self.n), wrench)
        return np.asarray(tau - bias - self.extra - self.dry(modes))

    def held(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, wrench: Any, modes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Friction (S,) of the surfaces that stick, and how far each is from its nearer level.

        The distance is relative to half the distance of the levels; negative: beyond. Where surfaces that
        stick depend on each other (a motor and all joints it turns with) their friction is not unique: it is
        taken where the least distance is greatest.
        """
        stuck = modes == 0
        A, low, high = self.rows[stuck], self.backward[stuck], self.forward[stuck]
        B, net = self.robot.inertia(q), self.net(q, qd, tau, wrench, modes)
        if not np.isfinite(net).all():
            return np.full(len(A), np.nan), np.full(len(A), np.nan)
        rest = net - B @ self._constrained(B, net, modes)
        f = np.linalg.lstsq(A.T, rest, rcond=None)[0]
        if np.linalg.matrix_rank(A) < len(A):
            f = _most_inside(A, rest, low, high, f)
        half = (high - low) / 2
        return f, np.minimum(f - low, high - f) / half

    def _constrained(self, B: np.ndarray, net: np.ndarray, modes: np.ndarray) -> np.ndarray:
        N = self._freedom(tuple(int(m) for m in modes))
        if not N.shape[1]:
            return np.zeros(self.n)
        return np.asarray(N @ np.linalg.solve(N.T @ B @ N, N.T @ net))

    def _freedom(self, modes: tuple[int, ...]) -> np.ndarray:
        """A basis (n, k) of the velocities that what sticks allows; unit vectors as long as joints do."""
        if modes not in self._freedoms:
            A = self.rows[[m == 0 for m in modes]]
            single = (A != 0).sum(axis=1) == 1
            free = ~(A[single] != 0).any(axis=0)
            N = np.eye(self.n)[:, free]
            if (~single).any():
                N = N @ null_space(A[~single] @ N) if N.shape[1] else N
            self._freedoms[modes] = N
        return self._freedoms[modes]

    def _call(self, name: str, *arguments: Any) -> Any:
        *given, wrench = arguments
        if wrench is None:
            return self._smooth[name, False](*given)
        return self._smooth[name, True](*given, wrench)

    # ---- which modes -----------------------------------------------------------------------------------

    def at_rest(self, qd: np.ndarray) -> np.ndarray:
        """Which surfaces do not move, up to the rounding of a sum."""
        size = np.abs(self.rows) @ np.abs(qd)
        return np.asarray(np.abs(self.speeds(qd)) <= 1e-13 * size)

    def stopped(self, q: np.ndarray, qd: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """q̇ without the speeds of the surfaces that rest: the least change in kinetic energy."""
        A = self.rows[rest]
        single = (A != 0).sum(axis=1) == 1
        joints = (A[single] != 0).any(axis=0)
        if not single.all():
            B = self.robot.inertia(q)
            spread = np.linalg.solve(B, A.T)
            qd = qd - spread @ np.linalg.lstsq(A @ spread, A @ qd, rcond=None)[0]
        return np.where(joints, 0.0, qd)

    def decide(
        self, q: np.ndarray, qd: np.ndarray, tau: np.ndarray, wrench: Any, modes: np.ndarray, rest: np.ndarray
    ) -> np.ndarray:
        """The modes (E,) with which surfaces at rest go on; the others keep theirs.

        Friction of what rests takes the values between its levels with the least acceleration, measured by
        B: a convex problem, min ‖L⁻¹(net − Aᵀf)‖ with B = L Lᵀ. What then lies between its levels sticks;
        what is at one slides that way.
        """
        new = np.where(rest, 0, modes)
        net = self.net(q, qd, tau, wrench, new)
        if not (rest.any() and np.isfinite(net).all()):  # torques that are no numbers: `rate` shows them
            return new
        A, low, high = self.rows[rest], self.backward[rest], self.forward[rest]
        L = cholesky(self.robot.inertia(q), lower=True)
        whitened = solve_triangular(L, np.column_stack([net, A.T]), lower=True)
        f = lsq_linear(whitened[:, 1:], whitened[:, 0], (low, high), method="bvls", tol=1e-14).x
        rate = A @ solve_triangular(L.T, whitened[:, 0] - whitened[:, 1:] @ f)
        margin = INSIDE * (high - low)
        threshold = 1e-10 * (np.abs(A @ solve_triangular(L.T, whitened[:, 0])) + 1e-300)
        found = np.zeros(len(A), int)
        found[(f >= high - margin) & (rate > threshold)] = 1
        found[(f <= low + margin) & (rate < -threshold)] = -1
        new[rest] = found
        return new


def check_friction(robot: Robot) -> None:
    """Refuse dry friction that would push."""
    parts = friction_parts(robot)
    if (wrong := np.flatnonzero(parts.forward < parts.backward)).size:
        e = int(wrong[0])
        raise SimulationError(
            f"friction of {_surface_name(robot, parts.rows[e])}: found {parts.forward[e]:g} forward and "
            f"{parts.backward[e]:g} backward; the first must not be less than the second"
        )


def _most_inside(
    A: np.ndarray, rest: np.ndarray, low: np.ndarray, high: np.ndarray, fallback: np.ndarray
) -> np.ndarray:
    """f with Aᵀ f = rest and the greatest least distance d from its levels: a linear program."""
    e, half = len(A), (high - low) / 2
    beyond = np.vstack([np.column_stack([np.eye(e), half]), np.column_stack([-np.eye(e), half])])
    limits = np.concatenate([high, -low])
    equal = np.column_stack([A.T, np.zeros(A.shape[1])])
    cost = np.zeros(e + 1)
    cost[-1] = -1.0
    found = linprog(cost, beyond, limits, equal, rest, bounds=[(None, None)] * (e + 1))
    return found.x[:e] if found.success else fallback


def _surface_name(robot: Robot, row: np.ndarray) -> str:
    joints = np.flatnonzero(row)
    if len(joints) == 1:
        return joint_name(robot, int(joints[0]))
    return "the motor that turns with joints " + ", ".join(str(j + 1) for j in joints)
