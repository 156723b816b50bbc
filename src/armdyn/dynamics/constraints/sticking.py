"""Accelerations under constraints: surfaces that stick, over any scalar.

Where a surface with the row a_e sticks, its speed a_e · q̇ stays 0, and its friction f_e is what this takes:

    B q̈ = net − Σ a_e f_e,    a_e · q̈ = 0 where surface e sticks,    f_e = 0 where it does not.

A row with one entry is a joint: where it sticks, the joint is left out of the elimination of B, and its
friction follows from its line of the equation. The other rows A remain. With B⁻¹ that of the joints left,

    q̈ = a₀ − Z f,    a₀ = B⁻¹ net,    Z = B⁻¹ Aᵀ,    G f = A a₀,    G = A Z,

for the rows that stick. A row that depends on others that stick (a motor, all of whose joints stick) has a
pivot of zero in the elimination of G; it is left out, and its friction counts as zero. The mask is made of
numbers, so that all of this can be recorded.
"""

from __future__ import annotations

from collections.abc import Sequence

from armdyn.dynamics.forward import solve
from armdyn.expression.functions import select
from armdyn.model.friction import Row, along
from armdyn.model.vector import Scalar

DEPENDENT = 1e-10  # of a row's size in G: a pivot less than this is zero
ROUNDING = 1e-12  # of the terms of a sum: a sum less than this is zero


def constrained(
    B: list[list[Scalar]], net: Sequence[Scalar], rows: Sequence[Row], sticks: Sequence[Scalar]
) -> tuple[list[Scalar], list[Scalar]]:
    """q̈ (n) and f (one a row); `sticks` is 1 where a row sticks, else 0. Elsewhere f is zero by rounding."""
    n = len(B)
    free: list[Scalar] = [1] * n
    for row, stick in zip(rows, sticks, strict=True):
        if len(row) == 1:
            free[row[0][0]] = 1 - stick
    several = {e: [dict(row).get(j, 0) for j in range(n)] for e, row in enumerate(rows) if len(row) > 1}
    qdd, *Z = solve(B, [net, *several.values()], free)
    rest = list(net)  # what joints that stick hold
    forces: dict[int, Scalar] = {}
    if several:
        G = [[along(rows[e], column) for column in Z] for e in several]
        least = [DEPENDENT * sum(k * k / B[j][j] for j, k in rows[e]) for e in several]
        (found,) = solve(G, [[along(rows[e], qdd) for e in several]], [sticks[e] for e in several], least)
        forces = dict(zip(several, found, strict=True))
        qdd = [less(x, [z[j] * f for z, f in zip(Z, found, strict=True)]) for j, x in enumerate(qdd)]
        for e, f in forces.items():
            rest = [x - a * f for x, a in zip(rest, several[e], strict=True)]
    for e, row in enumerate(rows):
        if len(row) == 1:
            ((j, k),) = row
            held = rest[j] - along(tuple(enumerate(B[j])), qdd)
            forces[e] = held if k == 1 else held / k
    return qdd, [forces[e] for e in range(len(rows))]


def less(x: Scalar, terms: Sequence[Scalar]) -> Scalar:
    """x minus the terms; zero where only rounding is left."""
    total, size = x, abs(x)
    for term in terms:
        total, size = total - term, size + abs(term)
    return select(abs(total) - ROUNDING * size, total, 0)
