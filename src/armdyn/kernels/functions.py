"""The numeric functions of a robot: one row each, with its inputs, output shape and algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from armdyn import dynamics
from armdyn.dynamics import BaseMotion
from armdyn.kernels.derivatives import derivatives
from armdyn.kernels.kernel import Kernel, Shape
from armdyn.model.mechanism import Mechanism
from armdyn.model.parameters import Extra

STATE = ("q", "qd", "qdd")
BASE_INPUTS = ("base.angular_velocity", "base.angular_acceleration", "base.linear_acceleration")
_SIZES = {"wrench": 6, **dict.fromkeys(BASE_INPUTS, 3)}  # all other inputs have one entry per joint


@dataclass(frozen=True)
class Function:
    """A row of the table. `algorithm` takes the mechanism and one list of scalars per input."""

    inputs: tuple[str, ...]
    shapes: Callable[[int, int], tuple[Shape, ...]]  # of n joints and p parameters
    algorithm: Callable[..., Any]
    differentiated: bool = False


def _vector(n: int, p: int) -> tuple[Shape, ...]:
    return ((n,),)


def _square(n: int, p: int) -> tuple[Shape, ...]:
    return ((n, n),)


def _scalar(n: int, p: int) -> tuple[Shape, ...]:
    return ((),)


def _on_moving_base(M: Mechanism, q: Any, qd: Any, qdd: Any, *rest: Any) -> list[Any]:
    *wrench, w, dw, a = rest
    base = BaseMotion((w[0], w[1], w[2]), (dw[0], dw[1], dw[2]), (a[0], a[1], a[2]))
    return dynamics.inverse_dynamics(M, q, qd, qdd, wrench[0] if wrench else None, base)


FUNCTIONS: dict[str, Function] = {
    "inverse_dynamics": Function(STATE, _vector, dynamics.inverse_dynamics),
    "inverse_dynamics_on_moving_base": Function(STATE, _vector, _on_moving_base),
    "forward_dynamics": Function(("q", "qd", "tau"), _vector, dynamics.forward_dynamics),
    "inertia": Function(("q",), _square, dynamics.inertia_matrix),
    "coriolis": Function(("q", "qd"), _square, dynamics.coriolis_matrix),
    "gravity": Function(("q",), _vector, dynamics.gravity_torques),
    "friction": Function(("qd",), _vector, dynamics.friction_torques),
    "kinetic_energy": Function(("q", "qd"), _scalar, dynamics.kinetic_energy),
    "potential_energy": Function(("q",), _scalar, dynamics.potential_energy),
    "pose": Function(("q",), lambda n, p: ((4, 4),), dynamics.pose),
    "jacobian": Function(("q",), lambda n, p: ((6, n),), dynamics.jacobian),
    "jacobian_dot": Function(("q", "qd"), lambda n, p: ((6, n),), dynamics.jacobian_dot),
    "joint_wrenches": Function(STATE, lambda n, p: ((n, 6),), dynamics.joint_wrenches),
    "regressor": Function(STATE, lambda n, p: ((n, p),), dynamics.regressor),
    "inverse_dynamics_derivatives": Function(
        STATE, lambda n, p: ((n, n),) * 3, dynamics.inverse_dynamics, differentiated=True
    ),
    "forward_dynamics_derivatives": Function(
        ("q", "qd", "tau"), lambda n, p: ((n, n),) * 3, dynamics.forward_dynamics, differentiated=True
    ),
}


def make_kernel(
    name: str, mechanism: Mechanism, further: Sequence[Extra], optional: Sequence[str] = ()
) -> Kernel:
    """The kernel of a function for a mechanism; `optional` names inputs given beyond the usual ones."""
    row = FUNCTIONS[name]
    inputs = [(key, _SIZES.get(key, mechanism.n)) for key in (*row.inputs, *optional)]

    def function(*columns: Any) -> Any:
        arguments = (*columns, further) if name == "regressor" else columns
        return row.algorithm(mechanism, *arguments)

    body = derivatives(function, len(row.inputs)) if row.differentiated else function
    return Kernel(name, inputs, row.shapes(mechanism.n, 13 * mechanism.n + len(further)), body)
