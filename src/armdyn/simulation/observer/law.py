"""One sample of the generalized-momentum observer, and the loop over samples.

With p = B q̇ and Ḃ = C + Cᵀ (Christoffel's C), the equations of motion are

    ṗ = τ + τ_ext + β,        β = Cᵀ q̇ − g − springs − friction.

The observer of De Luca and Mattone (2003) is ṙ = K (τ_ext − r), with τ_ext replaced by ṗ − τ − β. Over a
step h the mean of τ_ext is e = (p_k − p_{k−1})/h − mean(τ + β), by the trapezoidal rule, and

    r_k = r_{k−1} + (1 − exp(−K h)) (e − r_{k−1})

is the exact answer of the filter to a torque that is e throughout the step. This is the integral form
r = K (p − p_0 − Σ (τ + β + r) h) taken from one sample to the next: no sum grows, and any gain is stable.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from armdyn.dynamics import coriolis_matrix, inertia_matrix
from armdyn.dynamics.friction import rigid_of
from armdyn.dynamics.newton_euler import rigid_torques
from armdyn.expression.functions import select
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program import Program, record
from armdyn.program.loops import Argument, Block, Call, Count, Counter, For, Load, Local, Loop, Save
from armdyn.robot import Robot
from armdyn.simulation.control.laws import Scalars, dot

ROWS, ROW = Count("rows"), Counter("row")


def state_size(n: int) -> int:
    """1 once a sample has been seen; momenta, β, torques and residuals of the sample before."""
    return 1 + 4 * n


def settings_size(n: int) -> int:
    """1/h; for each joint 1 − exp(−K h); for each joint 1/threshold, 0 where there is none."""
    return 1 + 2 * n


@lru_cache(32)
def observer_kernel(robot: Robot, held: bool) -> LoopKernel:
    return LoopKernel(observer_loop(robot, held))


def observer_loop(robot: Robot, held: bool) -> Loop:
    """The loop. Arguments: `settings`; `q`, `qd`, `tau` of each row; the `state`, which is changed; of each
    row the `residual` and the `joint` over its threshold, counted from 1, or 0. With loops q is all
    positions.
    """
    n, size = robot.n, robot.mechanism.positions
    settings, state = Argument("settings", settings_size(n)), Argument("state", state_size(n), written=True)
    samples = [Argument("q", size), *(Argument(name, n) for name in ("qd", "tau"))]
    residual, joint = Argument("residual", n, written=True), Argument("joint", 1, written=True)
    given = [Local(argument.name, argument.columns) for argument in samples]
    told, before, found = (
        Local("settings", settings.columns),
        Local("state", state.columns),
        Local("joint", 1),
    )
    body: Block = (
        *(Load(local.all, argument, ROW) for local, argument in zip(given, samples, strict=True)),
        Call("advance", (*(x.all for x in given), told.all, before.all), (before.all, found.all)),
        Save(residual, ROW, before[state.columns - n :]),
        Save(joint, ROW, found.all),
    )
    statements: Block = (
        Load(told.all, settings),
        Load(before.all, state),
        For(ROW, 0, ROWS, body),
        Save(state, 0, before.all),
    )
    arguments = (settings, *samples, state, residual, joint)
    return Loop("observer", (ROWS,), arguments, statements, {"advance": _program(robot, held)})


def _program(robot: Robot, held: bool) -> Program:
    """From a sample and the state before: the state after, and the joint over its threshold."""
    mechanism, n = robot.mechanism, robot.n

    def advance(q: Scalars, qd: Scalars, tau: Scalars, settings: Scalars, state: Scalars) -> Any:
        seen, (p_old, beta_old, tau_old, r_old) = state[0], [state[1 + n * k :][:n] for k in range(4)]
        rate, weights, levels = settings[0], settings[1 : 1 + n], settings[1 + n :]
        still = [0] * n
        C, g = coriolis_matrix(mechanism, q, qd), rigid_torques(mechanism, q, still, still)  # with springs
        free = rigid_of(mechanism, qd, tau, q)  # τ − friction
        p = [dot(row, qd) for row in inertia_matrix(mechanism, q)]
        beta = [dot([row[i] for row in C], qd) - g[i] + (free[i] - tau[i]) for i in range(n)]
        r: Scalars = []
        for i in range(n):
            acting = tau_old[i] if held else (tau_old[i] + tau[i]) / 2
            mean = acting + (beta_old[i] + beta[i]) / 2
            external = (p[i] - p_old[i]) * rate - mean
            r.append(select(seen, r_old[i] + weights[i] * (external - r_old[i]), 0))
        most: Any = 1
        joint: Any = 0
        for i in range(n):
            ratio = abs(r[i]) * levels[i]
            joint = select(ratio + 1, select(ratio - most, i + 1, joint), i + 1)  # NaN is an alarm, too
            most = ratio.maximum(most)
        return [1, *p, *beta, *tau, *r], [joint]

    inputs = [
        ("q", mechanism.positions),
        ("qd", n),
        ("tau", n),
        ("settings", settings_size(n)),
        ("state", state_size(n)),
    ]
    return record(advance, inputs, [("state", (state_size(n),)), ("joint", (1,))])
