"""Forward dynamics q̈ = B⁻¹(τ − τ') (7.115)–(7.116), as section 7.6 describes."""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.inertia_matrix import inertia_matrix
from armdyn.dynamics.newton_euler import newton_euler
from armdyn.model.mechanism import Mechanism
from armdyn.model.vector import Scalar


def forward_dynamics(
    mechanism: Mechanism,
    q: Sequence[Scalar],
    qd: Sequence[Scalar],
    tau: Sequence[Scalar],
    wrench: Sequence[Scalar] | None = None,
) -> list[Scalar]:
    """Joint accelerations under torques: τ' is Newton–Euler with q̈ = 0, friction and tip wrench included."""
    bias = newton_euler(mechanism, q, qd, [0] * mechanism.n, wrench).tau
    return solve(inertia_matrix(mechanism, q), [t - b for t, b in zip(tau, bias, strict=True)])


def solve(B: list[list[Scalar]], b: Sequence[Scalar]) -> list[Scalar]:
    """Solve B x = b for symmetric positive definite B by LDLᵀ, without pivoting and without branching."""
    n = len(b)
    L: list[list[Scalar]] = [[0] * n for _ in range(n)]
    D: list[Scalar] = [0] * n
    y: list[Scalar] = list(b)
    for i in range(n):
        for j in range(i):
            scaled = B[i][j]
            for k in range(j):
                scaled = scaled - L[i][k] * D[k] * L[j][k]
            L[i][j] = scaled / D[j]
        pivot = B[i][i]
        for k in range(i):
            pivot = pivot - L[i][k] * L[i][k] * D[k]
            y[i] = y[i] - L[i][k] * y[k]
        D[i] = pivot
    x = [y_i / d for y_i, d in zip(y, D, strict=True)]
    for i in reversed(range(n)):
        for k in range(i + 1, n):
            x[i] = x[i] - L[k][i] * x[k]
    return x
