"""The numeric functions of a robot: one row each, with its inputs, output shapes and how it is recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from armdyn import dynamics
from armdyn.dynamics import BaseMotion
from armdyn.dynamics.forward import solve
from armdyn.kernels.kernel import Kernel
from armdyn.model.mechanism import Mechanism
from armdyn.model.parameters import Layout, mechanism_with
from armdyn.program import Program, jacobian, record
from armdyn.program.program import Shape, inline

STATE = ("q", "qd", "qdd")
BASE_INPUTS = ("base.angular_velocity", "base.angular_acceleration", "base.linear_acceleration")
Algorithm = Callable[..., Any]


@dataclass(frozen=True)
class Function:
    """A row of the table.

    `algorithm` takes the mechanism, one list of scalars per input and, by keyword, the optional ones given;
    `make` records it (by default as it is).
    """

    inputs: tuple[str, ...]
    shapes: Callable[[int, int], tuple[Shape, ...]]  # of n joints and p parameters
    algorithm: Algorithm
    optional: tuple[str, ...] = ("parameters",)
    make: Callable[[Function, Inputs, Context], Program] | None = None


Inputs = Sequence[tuple[str, int]]


@dataclass(frozen=True)
class Context:
    """What a function is recorded for."""

    name: str
    mechanism: Mechanism
    layout: Layout

    @property
    def n(self) -> int:
        return self.mechanism.n

    @property
    def p(self) -> int:
        return len(self.layout)


def _vector(n: int, p: int) -> tuple[Shape, ...]:
    return ((n,),)


def _square(n: int, p: int) -> tuple[Shape, ...]:
    return ((n, n),)


def _scalar(n: int, p: int) -> tuple[Shape, ...]:
    return ((),)


def _three_squares(n: int, p: int) -> tuple[Shape, ...]:
    return ((n, n),) * 3


def _inverse_dynamics(M: Mechanism, q: Any, qd: Any, qdd: Any, **given: Any) -> Any:
    base = None
    if BASE_INPUTS[0] in given:
        w, dw, a = (tuple(given[name]) for name in BASE_INPUTS)
        base = BaseMotion(w, dw, a)
    return dynamics.inverse_dynamics(M, q, qd, qdd, given.get("wrench"), base)


def _recorded(row: Function, inputs: Inputs, context: Context) -> Program:
    """The algorithm as it is, the model's parameters taken from an input where one is given."""
    outputs = [(context.name, shape) for shape in row.shapes(context.n, context.p)]

    def function(*columns: Any) -> Any:
        given = dict(zip([name for name, _ in inputs], columns, strict=True))
        mechanism = context.mechanism
        if "parameters" in given:
            mechanism = mechanism_with(mechanism, given.pop("parameters"), context.layout)
        required = [given.pop(name) for name in row.inputs]
        if context.name == "regressor":
            given["layout"] = context.layout
        return row.algorithm(mechanism, *required, **given)

    return record(function, inputs, outputs)


def _forward(row: Function, inputs: Inputs, context: Context) -> Program:
    """Factorised inertia or articulated bodies, whichever has fewer operations."""
    factorised = _recorded(row, inputs, context)
    if not dynamics.articulated_is_possible(context.mechanism):
        return factorised
    other = replace(row, algorithm=dynamics.forward_dynamics_articulated)
    articulated = _recorded(other, inputs, context)
    return articulated if articulated.operations < factorised.operations else factorised


def _inverse_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ of the recorded inverse dynamics."""
    program = _recorded(FUNCTIONS["inverse_dynamics"], inputs, context)
    return jacobian(program, STATE)


def _forward_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂q̈/∂q = −B⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −B⁻¹ ∂τ/∂q̇, ∂q̈/∂τ = B⁻¹, with τ = inverse dynamics at the q̈ found."""
    inner = [("qdd", size) if name == "tau" else (name, size) for name, size in inputs]
    slopes = jacobian(_recorded(FUNCTIONS["inverse_dynamics"], inner, context), STATE)
    forward = _forward(FUNCTIONS["forward_dynamics"], inputs, context)
    n = context.n

    def function(*columns: Any) -> Any:
        (qdd,) = inline(forward, columns)
        arguments = [qdd if name == "qdd" else x for (name, _), x in zip(inner, columns, strict=True)]
        by_q, by_qd, B = ([flat[n * i : n * i + n] for i in range(n)] for flat in inline(slopes, arguments))
        unit = [[1 if i == j else 0 for i in range(n)] for j in range(n)]
        negative = [[[-x for x in column] for column in zip(*M, strict=True)] for M in (by_q, by_qd)]
        solved = solve(B, [*negative[0], *negative[1], *unit])
        return tuple([list(row) for row in zip(*solved[n * k : n * k + n], strict=True)] for k in range(3))

    outputs = [(f"d qdd/d {name}", (n, n)) for name in ("q", "qd", "tau")]
    return record(function, inputs, outputs)


_WITH_WRENCH = ("wrench", "parameters")
FUNCTIONS: dict[str, Function] = {
    "inverse_dynamics": Function(STATE, _vector, _inverse_dynamics, (*_WITH_WRENCH, *BASE_INPUTS)),
    "forward_dynamics": Function(
        ("q", "qd", "tau"), _vector, dynamics.forward_dynamics, _WITH_WRENCH, _forward
    ),
    "inertia": Function(("q",), _square, dynamics.inertia_matrix),
    "coriolis": Function(("q", "qd"), _square, dynamics.coriolis_matrix),
    "gravity": Function(("q",), _vector, dynamics.gravity_torques),
    "friction": Function(("qd",), _vector, dynamics.friction_torques),
    "kinetic_energy": Function(("q", "qd"), _scalar, dynamics.kinetic_energy),
    "potential_energy": Function(("q",), _scalar, dynamics.potential_energy),
    "pose": Function(("q",), lambda n, p: ((4, 4),), dynamics.pose, ()),
    "jacobian": Function(("q",), lambda n, p: ((6, n),), dynamics.jacobian, ()),
    "jacobian_dot": Function(("q", "qd"), lambda n, p: ((6, n),), dynamics.jacobian_dot, ()),
    "joint_wrenches": Function(STATE, lambda n, p: ((n, 6),), dynamics.joint_wrenches, _WITH_WRENCH),
    "regressor": Function(STATE, lambda n, p: ((n, p),), dynamics.regressor, ()),
    "inverse_dynamics_derivatives": Function(
        STATE, _three_squares, _inverse_dynamics, _WITH_WRENCH, _inverse_derivatives
    ),
    "forward_dynamics_derivatives": Function(
        ("q", "qd", "tau"), _three_squares, dynamics.forward_dynamics, _WITH_WRENCH, _forward_derivatives
    ),
}


def make_kernel(name: str, mechanism: Mechanism, layout: Layout, optional: Sequence[str] = ()) -> Kernel:
    """The kernel of a function for a mechanism; `optional` names inputs given beyond the usual ones."""
    row = FUNCTIONS[name]
    context = Context(name, mechanism, layout)
    sizes = {"wrench": 6, "parameters": context.p, **dict.fromkeys(BASE_INPUTS, 3)}
    inputs = [(key, sizes.get(key, mechanism.n)) for key in (*row.inputs, *optional)]
    make = row.make or _recorded
    return Kernel(
        name,
        inputs,
        row.shapes(context.n, context.p),
        lambda: make(row, inputs, context),
        f"{mechanism!r} {[p.name for p in layout]!r} {inputs!r}",
    )
