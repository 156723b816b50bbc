"""`linearize`: the equations of motion near a state as a linear system, continuous and discrete.

With x = (q, q̇) and u = τ the equations are ẋ = f(x, u). Near x₀, u₀

    ẋ ≈ f(x₀, u₀) + A (x − x₀) + B (u − u₀),    A = [0 1; ∂q̈/∂q  ∂q̈/∂q̇],    B = [0; ∂q̈/∂τ].
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armdyn.analysis.errors import AnalysisError, check
from armdyn.robot import Robot


@dataclass(frozen=True, eq=False)
class DiscreteSystem:
    """x₊ − x₀ = drift + A (x − x₀) + B (u − u₀) from one sample to the next, u being held in between.

    `drift` is how far x₀ itself moves in a step, zero at an equilibrium.
    """

    step: float  # s
    A: np.ndarray = field(repr=False)  # (..., 2n, 2n)
    B: np.ndarray = field(repr=False)  # (..., 2n, n)
    drift: np.ndarray = field(repr=False)  # (..., 2n)


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """ẋ = drift + A (x − x₀) + B (u − u₀), with x = (q, q̇) and u = τ, at states (..., n)."""

    robot: Robot = field(repr=False)
    q: np.ndarray  # (..., n), with qd x₀
    qd: np.ndarray  # (..., n)
    tau: np.ndarray  # (..., n), u₀
    A: np.ndarray = field(repr=False)  # (..., 2n, 2n)
    B: np.ndarray = field(repr=False)  # (..., 2n, n)
    drift: np.ndarray = field(repr=False)  # (..., 2n): f(x₀, u₀), zero at an equilibrium

    def discrete(self, step: float) -> DiscreteSystem:
        """The same from sample to sample, `step` seconds apart, with torques held in between.

        Exact for the linear system: all three are blocks of exp(h [A B f; 0 0 0; 0 0 0]).
        """
        from scipy.linalg import expm

        h = check.positive_time("step", step)
        wide, n = self.A.shape[-1], self.B.shape[-1]
        M = np.zeros((*self.A.shape[:-2], wide + n + 1, wide + n + 1))
        M[..., :wide, :wide], M[..., :wide, wide:-1], M[..., :wide, -1] = self.A, self.B, self.drift
        with np.errstate(over="ignore", invalid="ignore"):
            E = expm(h * M) if M.size else M
        if not np.isfinite(E).all():
            raise AnalysisError(
                f"step: found {h:g} s; the linear system grows beyond all numbers in that time"
            )
        return DiscreteSystem(h, E[..., :wide, :wide], E[..., :wide, wide:-1], E[..., :wide, -1])


def linearize(robot: Robot, q: Any, qd: Any = 0, tau: Any = None, *, wrench: Any = None) -> LinearSystem:
    """The linear system near states q, q̇ under torques τ, (..., n) each (or q̇ one number).

    Without `tau` the torques are those of no acceleration: at rest, what holds the posture. `wrench` (..., 6)
    is what the tip exerts on its surroundings, world axes, or {link: (..., 6)} what links exert; it stays.

    Derivatives are those of `robot.forward_dynamics_derivatives`. Friction has the slope it has at q̇, its
    direction unchanged; of a joint at rest, where dry friction has no slope (sgn(0) = 0), only viscous
    friction counts. A joint that sticks in `simulate` moves in the linear system.
    """
    check.robot(robot)
    speeds = check.wide("qd", qd, robot.n)
    given = {} if tau is None else {"tau": tau}
    q, qd, *torques = check.joint_arrays(robot, q=q, qd=speeds, **given)
    acting = wrench if check.wrenches(robot, wrench) else None
    if acting is not None:
        q, qd, *torques = check.beside_wrenches(robot, acting, q, qd, *torques)
    tau = torques[0] if torques else robot.inverse_dynamics(q, qd, np.zeros(robot.n), acting)
    by_q, by_qd, by_tau = robot.forward_dynamics_derivatives(q, qd, tau, acting)
    n = robot.n
    A, B = np.zeros((*q.shape[:-1], 2 * n, 2 * n)), np.zeros((*q.shape[:-1], 2 * n, n))
    A[..., :n, n:] = np.eye(n)
    A[..., n:, :n], A[..., n:, n:], B[..., n:, :] = by_q, by_qd, by_tau
    qdd = robot.forward_dynamics(q, qd, tau, acting) if torques else np.zeros(q.shape)
    drift = np.concatenate([qd, qdd], axis=-1)
    return LinearSystem(robot, np.array(q), np.array(qd), np.array(tau), A, B, drift)
