"""∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ as one program: rigid bodies by recursion, springs and friction from the tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from armdyn import dynamics
from armdyn.model.mechanism import Mechanism
from armdyn.program import Program, jacobian, record
from armdyn.program.program import Shape, inline

Inputs = Sequence[tuple[str, int]]
RIGID = "rigid"  # the input for the torques τ_r without friction


class Recorded(Protocol):
    """Records an algorithm over a mechanism, with the inputs q, q̇, q̈ and whatever else is given."""

    def __call__(self, algorithm: Callable[..., Any], inputs: Inputs, shapes: Sequence[Shape]) -> Program: ...


def by_recursion(recorded: Recorded, inputs: Inputs, n: int) -> Program:
    """The slopes of all torques of n coordinates, (n, n) each.

    With τ = τ_r + τ_f(q̇, τ_r), where τ_f is friction: ∂τ_r/∂q has the stiffness of springs, rows are
    multiplied by 1 + ∂τ_f/∂τ_r, and ∂τ_f/∂q̇ is added.
    """
    square = (n, n)
    bodies = recorded(dynamics.torque_derivatives, inputs, [square] * 3)
    rest = recorded(_springs_and_friction, [*inputs, (RIGID, n)], [(n,)])
    slopes = jacobian(rest, ["q", "qd", RIGID])
    if all(slopes.nodes[r] == ("const", 0.0) for r in slopes.results):
        return bodies
    torques = recorded(dynamics.rigid_torques, inputs, [(n,)])

    def function(*columns: Any) -> Any:
        (tau,) = inline(torques, columns)
        found = (*inline(bodies, columns), *inline(slopes, [*columns, tau]))
        by_q, by_qd, by_qdd, stiffness, rates, loads = (
            [flat[n * i : n * i + n] for i in range(n)] for flat in found
        )
        for i in range(n):
            loaded = 1 + loads[i][i]  # load friction depends on the torque of its own joint alone
            by_q[i] = [loaded * (x + k) for x, k in zip(by_q[i], stiffness[i], strict=True)]
            by_qd[i] = [loaded * x + rate for x, rate in zip(by_qd[i], rates[i], strict=True)]
            by_qdd[i] = [loaded * x for x in by_qdd[i]]
        return by_q, by_qd, by_qdd

    return record(function, inputs, bodies.outputs)


def _springs_and_friction(M: Mechanism, q: Any, qd: Any, qdd: Any, rigid: Any, wrench: Any = None) -> Any:
    """The torques that are added to those of rigid bodies."""
    springs, friction = dynamics.spring_torques(M, q), dynamics.friction_torques(M, qd, None, rigid)
    return [a + b for a, b in zip(springs, friction, strict=True)]
