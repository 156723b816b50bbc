"""Forward dynamics q̈ = B⁻¹(τ − τ') (7.115)–(7.116), as section 7.6 describes."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.friction import has_load, rigid_of
from armdyn.dynamics.inertia_matrix import inertia_matrix
from armdyn.dynamics.newton_euler import inverse_dynamics, rigid_torques
from armdyn.expression.functions import select
from armdyn.model import ModelError
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def forward_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Joint accelerations under torques: τ' is Newton–Euler with q̈ = 0, friction and tip wrench included.

    Load friction depends on the torque without friction, not on τ': it is divided out of τ first.
    """
    still = [0] * mechanism.n
    if has_load(mechanism):
        tau, bias = rigid_of(mechanism, qd, tau, q), rigid_torques(mechanism, q, qd, still, wrench)
    else:
        bias = inverse_dynamics(mechanism, q, qd, still, wrench)
    (qdd,) = solve(inertia_matrix(mechanism, q), [[t - b for t, b in zip(tau, bias, strict=True)]])
    return qdd


def over_inertia(x: Scalar, inertia: Scalar, joint: int) -> Scalar:
    """x / inertia; an inertia that is the number zero is refused."""
    try:
        return x / inertia
    except ZeroDivisionError:
        raise ModelError(
            f"joint {joint + 1} moves no inertia: its acceleration under a torque is not determined"
        ) from None


def solve(
    B: list[list[Scalar]],
    columns: Sequence[Sequence[Scalar]],
    free: Sequence[Scalar] | None = None,
    least: Sequence[Scalar] | None = None,
) -> list[list[Scalar]]:
    """Solve B x = b for symmetric positive definite B and several b by LᵀDL, without pivoting.

    From the last row to the first: joints stand after those that carry them, so that zeros between the
    branches of a tree stay zero. With `free`, only rows where it is 1 are solved; where it is 0, x is: such a
    row, its 1/d being zero, neither gives nor takes in the elimination. With `least`, so are rows whose pivot
    d is not greater: B may be semidefinite then.
    """
    factors = factorised(B, free, least)
    return [substituted(*factors, column) for column in columns]


def factorised(
    B: list[list[Scalar]], free: Sequence[Scalar] | None = None, least: Sequence[Scalar] | None = None
) -> tuple[list[list[Scalar]], list[Scalar]]:
    """L and 1/d with B = L D Lᵀ; L is upper triangular with ones on the diagonal, which are left out.

    Sums end with what was found last, so that a processor can begin them before it is known.
    """
    n = len(B)
    L: list[list[Scalar]] = [[0] * n for _ in range(n)]
    D: list[Scalar] = [0] * n
    for i in reversed(range(n)):
        LD: list[Scalar] = [0] * n  # L_ij d_j
        for j in reversed(range(i + 1, n)):
            LD[j] = B[i][j]
            for k in reversed(range(j + 1, n)):
                LD[j] = LD[j] - LD[k] * L[j][k]
            L[i][j] = LD[j] * D[j]
        pivot = B[i][i]
        for k in reversed(range(i + 1, n)):
            pivot = pivot - L[i][k] * LD[k]
        one = 1 if free is None else free[i]
        if least is not None:
            one = select(pivot - least[i], one, 0)
            pivot = select(one, pivot, 1)
        D[i] = over_inertia(one, pivot, i)
    return L, D


def substituted(L: list[list[Scalar]], D: list[Scalar], b: Sequence[Scalar]) -> list[Scalar]:
    """x with L D Lᵀ x = b, from what `factorised` gives: L and 1/d."""
    n = len(b)
    x: list[Scalar] = list(b)
    for i in reversed(range(n)):
        for k in reversed(range(i + 1, n)):
            x[i] = x[i] - L[i][k] * x[k]
    x = [x_i * d for x_i, d in zip(x, D, strict=True)]
    for i in range(n):
        for k in range(i):
            x[i] = x[i] - L[k][i] * x[k]
    return x
