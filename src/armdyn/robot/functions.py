"""The numeric functions of a robot: one row each, from which kernels, the C export and the docs are made.

A new function is an algorithm in `dynamics/` and a row here, of which `Robot` makes a method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from armdyn import dynamics
from armdyn.dynamics import BaseMotion
from armdyn.dynamics.closures import Following, inner
from armdyn.dynamics.forward import factorised, substituted
from armdyn.dynamics.friction import has_load, load_factors, without_friction
from armdyn.dynamics.kinematics import longest_path
from armdyn.expression import ONE, Expression, MissingValueError, shown
from armdyn.expression.functions import over_scalars
from armdyn.kernels import Kernel, Shared, Specification
from armdyn.kernels.arrays import Numbers, joined, misfit, real_array
from armdyn.kernels.kernel import library_of
from armdyn.model.edit import check_link
from armdyn.model.errors import ModelError
from armdyn.model.mechanism import Mechanism, unchanged
from armdyn.model.parameters import Layout, mechanism_with
from armdyn.model.robot_model import RobotModel
from armdyn.model.vector import ZERO3
from armdyn.names import listed
from armdyn.program import Program, evaluate, hessian, jacobian, record, split, tangents, time_derivative
from armdyn.program.loops import Argument, Call, Each, Fetch, Local, Loop, Save, Set, Slice, Statement
from armdyn.program.program import Shape, inline

STATE = ("q", "qd", "qdd")
BASE_INPUTS = ("base.angular_velocity", "base.angular_acceleration", "base.linear_acceleration")
SHORT_PATH = 5  # of joints; beyond, derivatives of inverse dynamics do not come from the tape
NUMBERS = "numbers"  # the input that stands for a robot's numbers in kernels that robots share
PAYLOAD = "payload"  # the input for what the tip carries
SYMBOLS = "symbols"  # the input for the values of symbols
MULTIPLIERS = "multipliers"  # the input for λ
ALONG = "along"  # the input for a direction of change
SHORTEST = 4  # coordinates: from here on several columns are worth a register
LONG = 15  # coordinates: from here on a loop over columns is compiled in half the time, and no slower
Inputs = Sequence[tuple[str, int]]
Wrench: TypeAlias = Numbers | Mapping[str, Numbers]  # at the tip, or by link
SquareMatrix: TypeAlias = list[list[Any]]
Symbols: TypeAlias = Mapping[str, float | Numbers]  # values (...) by the names of symbols

MEANINGS = {
    "q": "joint positions [rad or m]",
    "qd": "joint velocities [rad/s or m/s]",
    "qdd": "joint accelerations [rad/s^2 or m/s^2]",
    "qd_r": "reference velocities [rad/s or m/s]",
    "qdd_r": "reference accelerations [rad/s^2 or m/s^2]",
    "tau": "joint torques [N m or N]",
    MULTIPLIERS: "numbers λ by which torques or accelerations are multiplied, one for each coordinate",
    "wrench": "force [N] over moment [N m] the tip exerts on its surroundings, world axes",
    "parameters": "dynamic parameters, in the order of parameter_names",
    PAYLOAD: "what the tip carries, in the tip frame: mass [kg], centre of mass x y z [m], inertia tensor "
    "about it xx xy xz yy yz zz [kg m^2]; zeros for nothing",
    SYMBOLS: "values of the robot's symbols, in the order in which they were named",
    BASE_INPUTS[0]: "angular velocity of the base [rad/s], world axes",
    BASE_INPUTS[1]: "angular acceleration of the base [rad/s^2], world axes",
    BASE_INPUTS[2]: "linear acceleration of the base [m/s^2], world axes, without gravity",
}


@dataclass(frozen=True)
class Result:
    """An output: its shape and meaning.

    In the shape, "n" is the number of coordinates, "3n" three times that, "joints" the number of moving
    joints, "p" that of parameters; "loops" and "driven" count loops and the joints that something drives;
    "bodies" the links behind moving joints and the base, "causes" what torques are split by.
    """

    shape: tuple[int | str, ...]
    meaning: str


@dataclass(frozen=True)
class Function:
    """A row of the table.

    `algorithm` takes the mechanism, one list of scalars per input and, by keyword, the optional ones given;
    `make` records it (by default as it is).
    """

    inputs: tuple[str, ...]
    results: tuple[Result, ...]
    algorithm: Callable[..., Any]
    optional: tuple[str, ...] = ("parameters",)
    make: Callable[[Function, Inputs, Context], Program] | None = None
    loop: Callable[[Function, Inputs, Context], Loop] | None = None  # the same as a loop, for long chains
    few_by_loop: bool = False  # the loop is the quicker one for a single row of short chains, too
    on_request: bool = False  # long: left out where all functions are compiled or exported


@dataclass(frozen=True)
class Context:
    """What a function is recorded for. In a shared form the mechanism has None in the place of numbers."""

    name: str
    mechanism: Mechanism  # with expressions in the place of numbers that depend on `symbols`
    layout: Layout
    symbols: tuple[str, ...] = ()

    def filled(self, given: dict[str, Any]) -> Mechanism:
        """The mechanism with what inputs say about it. These are taken out of `given`, inputs by name."""
        mechanism = self.mechanism
        if NUMBERS in given:
            mechanism = mechanism.filled(given.pop(NUMBERS))
        if SYMBOLS in given:
            values = dict(zip(self.symbols, given.pop(SYMBOLS), strict=True))
            mechanism = mechanism.map(lambda x: over_scalars(x, values) if isinstance(x, Expression) else x)
        if "parameters" in given:
            mechanism = mechanism_with(mechanism, given.pop("parameters"), self.layout)
        return mechanism.carrying(given.pop(PAYLOAD)) if PAYLOAD in given else mechanism

    @property
    def n(self) -> int:
        return self.mechanism.n

    @property
    def p(self) -> int:
        return len(self.layout)

    def shapes(self, row: Function) -> tuple[Shape, ...]:
        M = self.mechanism
        sizes: dict[int | str, Any] = {"n": self.n, "3n": 3 * self.n, "joints": M.joints, "p": self.p}
        sizes |= {"loops": len(M.loops), "driven": len(M.driven)}
        sizes |= {"bodies": M.joints + 1, "causes": len(dynamics.CAUSES)}
        return tuple(tuple(sizes.get(k, k) for k in result.shape) for result in row.results)


def _on_moving_base(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """An algorithm that takes the three inputs of a moving base by their names."""

    def called(M: Mechanism, *state: Any, wrench: Any = None, **motion: Any) -> Any:
        base = BaseMotion(*(tuple(motion[name]) for name in BASE_INPUTS)) if motion else None
        return algorithm(M, *state, wrench, base)

    return called


_inverse_dynamics = _on_moving_base(dynamics.inverse_dynamics)


def _load_factors(M: Mechanism, q: Any, qd: Any, qdd: Any, **given: Any) -> Any:
    """1 + Fl s sgn(τ_r) of a motion."""
    if not has_load(M):
        return [1] * M.n
    return load_factors(M, qd, _inverse_dynamics(without_friction(M), q, qd, qdd, **given))


def _recorded(row: Function, inputs: Inputs, context: Context) -> Program:
    """The algorithm as it is; what the mechanism has is taken from inputs where these are given."""
    outputs = [(context.name, shape) for shape in context.shapes(row)]

    def function(*columns: Any) -> Any:
        given = dict(zip([name for name, _ in inputs], columns, strict=True))
        mechanism = context.filled(given)
        required = [given.pop(name) for name in row.inputs]
        return row.algorithm(mechanism, *required, **given)

    return record(function, inputs, outputs)


def _forward(row: Function, inputs: Inputs, context: Context) -> Program:
    """Factorised inertia or articulated bodies, whichever has fewer operations."""
    factorised = _recorded(row, inputs, context)
    if not dynamics.articulated_is_possible(context.mechanism):
        return factorised
    other = replace(row, algorithm=_on_moving_base(dynamics.forward_dynamics_articulated))
    articulated = _recorded(other, inputs, context)
    return articulated if articulated.operations < factorised.operations else factorised


def _regressor(row: Function, inputs: Inputs, context: Context) -> Program:
    """With a column for each extra parameter of the robot."""
    algorithm = partial(row.algorithm, layout=context.layout)
    return _recorded(replace(row, algorithm=algorithm), inputs, context)


def _inverse_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈: by recursion, or from the tape if this takes fewer operations.

    It may where few joints follow one another, above all prismatic ones. Of long chains the tape takes twice
    the operations or more, and long to record: it is not tried. With loops there is the tape alone.
    """
    return _slopes(tuple(inputs), replace(context, name="inverse_dynamics_derivatives"))


@lru_cache(maxsize=1)  # derivatives of forward dynamics are made of the same program
def _slopes(inputs: tuple[tuple[str, int], ...], context: Context) -> Program:
    torques = FUNCTIONS["inverse_dynamics"]

    def recorded(algorithm: Callable[..., Any], inputs: Inputs, shapes: Sequence[Shape]) -> Program:
        results = tuple(Result(shape, "") for shape in shapes)
        return _recorded(replace(torques, results=results, algorithm=algorithm), inputs, context)

    if context.mechanism.loops:
        return _along_coordinates(jacobian(_recorded(torques, inputs, context), STATE), inputs, context)
    recursion = by_recursion(recorded, inputs, context.n)
    outputs = tuple((f"d{context.name}/d{x}", (context.n, context.n)) for x in STATE)
    recursion = replace(recursion, outputs=outputs)
    if longest_path(context.mechanism) > SHORT_PATH:
        return recursion
    tape = jacobian(_recorded(torques, inputs, context), STATE)
    return tape if tape.operations < recursion.operations else recursion


def _along_coordinates(program: Program, inputs: Inputs, context: Context) -> Program:
    """Derivatives by all positions, as derivatives by the coordinates that these follow: times S."""
    n = context.n

    def function(*columns: Any) -> Any:
        given = dict(zip([name for name, _ in inputs], columns, strict=True))
        mechanism = context.filled(given)
        following = Following(mechanism, given["q"])
        by_q, *others = inline(program, columns)
        size = mechanism.positions
        rows = [following.gathered(by_q[k : k + size]) for k in range(0, len(by_q), size)]
        return (rows, *others)

    return record(function, inputs, [(name, (rows, n)) for name, (rows, _) in program.outputs])


def _forward_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ: the inverse dynamics at the q̈ found, solved for accelerations."""
    return as_program(inputs, context.n, _forward_parts(row, inputs, context))


def _forward_derivatives_loop(row: Function, inputs: Inputs, context: Context) -> Loop:
    return as_loop(context.name, inputs, context.n, _forward_parts(row, inputs, context))


def _forward_parts(row: Function, inputs: Inputs, context: Context) -> ForwardParts:
    inner = at_acceleration(inputs)
    loads = replace(FUNCTIONS["inverse_dynamics"], algorithm=_load_factors)
    return ForwardParts(
        _forward(FUNCTIONS["forward_dynamics"], inputs, context),
        _inverse_derivatives(row, inner, context),
        _recorded(loads, inner, context),
    )


def _inverse_second_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂²τ/∂q∂q, ∂²τ/∂q̇∂q, ∂²τ/∂q̈∂q, ∂²τ/∂q̇∂q̇: tangents of the first derivatives, and sums of ∂B/∂q.

    What is symmetric is computed once.
    """
    _check_second_derivatives(inputs, context)
    n, M = context.n, _as_given(inputs, context)
    christoffel = not (M.loops or has_load(M))  # B is that of the kinetic energy, friction depends on q̇ alone
    rates = tangents(_inverse_derivatives(row, inputs, context), STATE[:1] if christoffel else STATE[:2])
    if M.loops:
        rates = _along_coordinates(rates, inputs, context)
    rubbing = replace(FUNCTIONS["inverse_dynamics"], algorithm=_friction_alone)
    bends = tangents(jacobian(_recorded(rubbing, inputs, context), ["qd"]), ["qd"]) if christoffel else None

    def function(*columns: Any) -> Any:
        by_q, *others = ([_matrix(x[k:], n) for k in range(0, len(x), n * n)] for x in inline(rates, columns))
        torques, speeds, B = by_q[:n], by_q[n : 2 * n], by_q[2 * n :]

        def by_speeds(i: int, j: int, k: int) -> Any:
            if bends is None:
                return others[0][n + i][j][k]
            return B[i][j][k] + B[i][k][j] - B[j][k][i] + curved[i][j][k]

        curved = (
            [_matrix(x[n * n * i :], n) for (x,) in [inline(bends, columns)] for i in range(n)]
            if bends
            else []
        )
        return (
            _symmetric(n, lambda i, j, k: torques[i][j][k]),
            speeds,
            B,
            _symmetric(n, by_speeds),
        )

    return record(function, inputs, [(result.meaning, (n, n, n)) for result in row.results])


def _inverse_second_derivatives_loop(row: Function, inputs: Inputs, context: Context) -> Loop:
    """The same: one program gives what changes along a joint, for each of them in turn."""
    _check_second_derivatives(inputs, context)
    return second_as_loop(context.name, inputs, context.n, _along_joint(inputs, context))


def _along_joint(inputs: Inputs, context: Context) -> Program:
    """∂τ/∂q, ∂τ/∂q̇, B as they change with q along a direction (n), and ∂τ/∂q̇ with q̇ along it; (n, n) each.

    The three themselves follow.
    """
    row, n = FUNCTIONS["inverse_dynamics_derivatives"], context.n
    slopes = _inverse_derivatives(row, inputs, context)
    by_q, by_qd = (time_derivative(slopes, {name: ALONG}) for name in STATE[:2])

    def function(*columns: Any) -> Any:
        return (*inline(by_q, columns), inline(by_qd, columns)[1], *inline(slopes, columns[:-1]))

    return record(function, by_q.inputs, [(f"slopes {k}", (n, n)) for k in range(7)])


def _matrix(flat: Sequence[Any], n: int) -> SquareMatrix:
    """The first n rows of n numbers, of which one comes after the other."""
    return [list(flat[n * i : n * i + n]) for i in range(n)]


def _symmetric(n: int, entry: Callable[[int, int, int], Any]) -> list[Any]:
    """The array of entries i, j, k, symmetric in the last two; the entry is asked for where k ≤ j."""
    return [_mirrored([[entry(i, j, k) for k in range(j + 1)] for j in range(n)]) for i in range(n)]


def _mirrored(half: SquareMatrix) -> SquareMatrix:
    """The symmetric matrix whose rows, up to the diagonal, are given."""
    return [[half[max(j, k)][min(j, k)] for k in range(len(half))] for j in range(len(half))]


def _friction_alone(M: Mechanism, q: Any, qd: Any, qdd: Any, wrench: Any = None) -> Any:
    return dynamics.friction_torques(M, qd, q=q if M.loops else None)


def _as_given(inputs: Inputs, context: Context) -> Mechanism:
    """The mechanism, with 1 for parameters that are an input: what it has depends on which there are."""
    return context.filled({name: [1] * size for name, size in inputs if name == "parameters"})


def _check_second_derivatives(inputs: Inputs, context: Context) -> None:
    """Refuse load friction with a width: of it the second derivatives are not all in the table's four."""
    if _is_bent_by_load(_as_given(inputs, context)):
        product = context.name.replace("second_derivatives", "hessian_product")
        raise ModelError(
            f"{context.name}: load friction with a width has further second derivatives, by velocities and "
            f"what torques depend on; {product} has them all"
        )


def _is_bent_by_load(M: Mechanism) -> bool:
    return any(surface.has_load and surface.is_rounded for surface in M.friction)


def _inverse_hessian(row: Function, inputs: Inputs, context: Context) -> Program:
    """λᵀ ∂²τ/∂x∂x, where x is q, q̇, q̈: one sweep backwards; of closed chains the slope of the gradient."""
    torques = replace(row, results=_one("lambda^T tau"), algorithm=_multiplied)
    if not context.mechanism.loops:
        return hessian(_recorded(torques, inputs, context), STATE)
    n, names = context.n, [name for name, _ in inputs]
    given = [x for x in inputs if x[0] != MULTIPLIERS]
    first = _inverse_derivatives(FUNCTIONS["inverse_dynamics_derivatives"], given, context)

    def gradient(*columns: Any) -> Any:
        weights = columns[names.index(MULTIPLIERS)]
        others = [x for name, x in zip(names, columns, strict=True) if name != MULTIPLIERS]
        slopes = inline(first, others)
        return [inner(weights, flat[k::n]) for flat in slopes for k in range(n)]

    rates = tangents(record(gradient, inputs, [("gradient", (3 * n,))]), STATE)
    rates = _along_coordinates(rates, inputs, context)

    def function(*columns: Any) -> Any:
        found = inline(rates, columns)
        half = [[y for x in found for y in x[n * k : n * k + n]][: k + 1] for k in range(3 * n)]
        return _mirrored(half)

    return record(function, inputs, [(row.results[0].meaning, (3 * n, 3 * n))])


def _inverse_hessian_loop(row: Function, inputs: Inputs, context: Context) -> Loop:
    return hessian_as_loop(context.name, inputs, context.n, _gradient_along(row, inputs, context))


def _gradient_along(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂(λᵀτ)/∂x, where x is q, q̇, q̈, as it changes with q and q̇ along a direction (2n)."""
    torques, n = replace(row, results=_one("lambda^T tau"), algorithm=_multiplied), context.n
    gradient = jacobian(_recorded(torques, inputs, context), STATE)
    rates = time_derivative(gradient, {name: f"{ALONG} {name}" for name in STATE[:2]})

    def function(*columns: Any) -> Any:
        *given, along = columns
        return [inline(rates, [*given, along[:n], along[n:]])]

    return record(function, [*inputs, (ALONG, 2 * n)], [("rates", (3 * n,))])


def _multiplied(M: Mechanism, q: Any, qd: Any, qdd: Any, multipliers: Any, **given: Any) -> Any:
    return [inner(multipliers, _inverse_dynamics(M, q, qd, qdd, **given))]


def _forward_second_derivatives(row: Function, inputs: Inputs, context: Context) -> Program:
    """∂²q̈/∂q∂q, ∂²q̈/∂q̇∂q, ∂²q̈/∂τ∂q, ∂²q̈/∂q̇∂q̇, from those of inverse dynamics at the q̈ found."""
    _check_second_derivatives(inputs, context)
    inverse = FUNCTIONS["inverse_dynamics_second_derivatives"]
    second = _inverse_second_derivatives(inverse, at_acceleration(inputs), context)
    return second_as_program(row, inputs, context.n, _forward_parts(row, inputs, context), second)


def _forward_second_derivatives_loop(row: Function, inputs: Inputs, context: Context) -> Loop:
    _check_second_derivatives(inputs, context)
    along = _along_joint(at_acceleration(inputs), context)
    return forward_second_as_loop(
        context.name, inputs, context.n, _forward_parts(row, inputs, context), along
    )


def _forward_hessian_loop(row: Function, inputs: Inputs, context: Context) -> Loop:
    inverse = FUNCTIONS["inverse_dynamics_hessian_product"]
    along = _gradient_along(inverse, at_acceleration(inputs), context)
    given = [x for x in inputs if x[0] != MULTIPLIERS]
    parts = _forward_parts(row, given, context)
    return forward_hessian_as_loop(context.name, inputs, context.n, parts, along)


def _forward_hessian(row: Function, inputs: Inputs, context: Context) -> Program:
    """λᵀ ∂²q̈/∂x∂x, where x is q, q̇, τ, from that of inverse dynamics at the q̈ found."""
    inner_inputs = at_acceleration(inputs)
    second = _inverse_hessian(FUNCTIONS["inverse_dynamics_hessian_product"], inner_inputs, context)
    given = [x for x in inputs if x[0] != MULTIPLIERS]
    return hessian_as_program(row, inputs, context.n, _forward_parts(row, given, context), second)


def _one(meaning: str, *shape: int | str) -> tuple[Result, ...]:
    return (Result(shape, meaning),)


def _squares(*meanings: str) -> tuple[Result, ...]:
    return tuple(Result(("n", "n"), meaning) for meaning in meanings)


def _cubes(*meanings: str) -> tuple[Result, ...]:
    return tuple(Result(("n", "n", "n"), meaning) for meaning in meanings)


_WITH_WRENCH = ("wrench", "parameters")
_TORQUES, _ACCELERATIONS = _one(MEANINGS["tau"], "n"), _one(MEANINGS["qdd"], "n")
_FORCES = ("q", "qd", "tau")
FUNCTIONS: dict[str, Function] = {
    "inverse_dynamics": Function(STATE, _TORQUES, _inverse_dynamics, (*_WITH_WRENCH, *BASE_INPUTS)),
    "forward_dynamics": Function(
        _FORCES,
        _ACCELERATIONS,
        _on_moving_base(dynamics.forward_dynamics),
        (*_WITH_WRENCH, *BASE_INPUTS),
        _forward,
    ),
    "inertia": Function(("q",), _squares("inertia matrix B, row by row"), dynamics.inertia_matrix),
    "coriolis": Function(("q", "qd"), _squares("Coriolis matrix C, row by row"), dynamics.coriolis_matrix),
    "gravity": Function(("q",), _one("gravity torques [N m or N]", "n"), dynamics.gravity_torques),
    "springs": Function(
        ("q",),
        _one("torques that hold the robot against its springs [N m or N]", "n"),
        dynamics.spring_torques,
    ),
    "friction": Function(("qd",), _one("friction torques [N m or N]", "n"), dynamics.friction_torques),
    "kinetic_energy": Function(("q", "qd"), _one("kinetic energy [J]"), dynamics.kinetic_energy),
    "potential_energy": Function(("q",), _one("potential energy [J]"), dynamics.potential_energy),
    "pose": Function(
        ("q",), _one("homogeneous transform of the tip, row by row", 4, 4), dynamics.pose, optional=()
    ),
    "jacobian": Function(
        ("q",),
        _one("geometric Jacobian of the tip, linear rows over angular, row by row", 6, "n"),
        dynamics.jacobian,
        optional=(),
    ),
    "jacobian_dot": Function(
        ("q", "qd"),
        _one("time derivative of the Jacobian, row by row", 6, "n"),
        dynamics.jacobian_dot,
        optional=(),
    ),
    "poses": Function(
        ("q",),
        _one("homogeneous transforms of the moving links, then of the base, row by row", "bodies", 4, 4),
        dynamics.poses,
        optional=(),
    ),
    "contributions": Function(
        STATE,
        _one(f"torques by cause, row by row: {', '.join(dynamics.CAUSES)} [N m or N]", "causes", "n"),
        dynamics.contributions,
        _WITH_WRENCH,
    ),
    "joint_wrenches": Function(
        STATE,
        _one("force over moment at each joint, link axes, row by row", "joints", 6),
        dynamics.wrenches_in_joints,
        _WITH_WRENCH,
    ),
    "regressor": Function(
        STATE, _one("regressor Y, row by row", "n", "p"), dynamics.regressor, (), _regressor
    ),
    "adaptive_regressor": Function(
        ("q", "qd", "qd_r", "qdd_r"),
        _one("regressor Y of adaptive control, row by row", "n", "p"),
        dynamics.adaptive_regressor,
        (),
        _regressor,
    ),
    "inverse_dynamics_derivatives": Function(
        STATE,
        _squares("d tau/d q", "d tau/d qd", "d tau/d qdd"),
        _inverse_dynamics,
        _WITH_WRENCH,
        _inverse_derivatives,
    ),
    "forward_dynamics_derivatives": Function(
        _FORCES,
        _squares("d qdd/d q", "d qdd/d qd", "d qdd/d tau"),
        dynamics.forward_dynamics,
        _WITH_WRENCH,
        _forward_derivatives,
        _forward_derivatives_loop,
    ),
    "inverse_dynamics_second_derivatives": Function(
        STATE,
        _cubes("d2 tau/d q d q", "d2 tau/d qd d q", "d2 tau/d qdd d q", "d2 tau/d qd d qd"),
        _inverse_dynamics,
        _WITH_WRENCH,
        _inverse_second_derivatives,
        _inverse_second_derivatives_loop,
        few_by_loop=True,
        on_request=True,
    ),
    "forward_dynamics_second_derivatives": Function(
        _FORCES,
        _cubes("d2 qdd/d q d q", "d2 qdd/d qd d q", "d2 qdd/d tau d q", "d2 qdd/d qd d qd"),
        dynamics.forward_dynamics,
        _WITH_WRENCH,
        _forward_second_derivatives,
        _forward_second_derivatives_loop,
        few_by_loop=True,
        on_request=True,
    ),
    "inverse_dynamics_hessian_product": Function(
        (*STATE, MULTIPLIERS),
        _one("lambda^T d2 tau/d x d x with x = q, qd, qdd, row by row", "3n", "3n"),
        _inverse_dynamics,
        _WITH_WRENCH,
        _inverse_hessian,
        _inverse_hessian_loop,
        few_by_loop=True,
        on_request=True,
    ),
    "forward_dynamics_hessian_product": Function(
        (*_FORCES, MULTIPLIERS),
        _one("lambda^T d2 qdd/d x d x with x = q, qd, tau, row by row", "3n", "3n"),
        dynamics.forward_dynamics,
        _WITH_WRENCH,
        _forward_hessian,
        _forward_hessian_loop,
        few_by_loop=True,
        on_request=True,
    ),
}
CLOSED_FUNCTIONS: dict[str, Function] = {  # of robots with loops only
    "loop_wrenches": Function(
        STATE,
        _one("force over moment that closes each loop, axes of its first frame, row by row", "loops", 6),
        dynamics.loop_wrenches,
        _WITH_WRENCH,
    ),
    "actuator_torques": Function(
        ("q", "tau"),
        _one("torques of the joints that something drives [N m or N]", "driven"),
        dynamics.actuator_torques,
        optional=(),
    ),
}
ROTOR_JACOBIAN = "rotor_jacobian"  # of the tip in a mechanism that has one rotor alone, which is there
_OF_ROTOR = Function(
    ("q",),
    _one("geometric Jacobian of a rotor, linear rows over angular, row by row", 6, "n"),
    dynamics.jacobian_at_rotor,
    optional=(),
)
OF_TIP = (
    "pose",
    "jacobian",
    "jacobian_dot",
    ROTOR_JACOBIAN,
)  # others depend on the tip only where a wrench acts there
_ROWS = FUNCTIONS | CLOSED_FUNCTIONS


def functions_of(model: RobotModel) -> dict[str, Function]:
    """The functions that a robot has: not those that `_check_second_derivatives` refuses."""
    rows = _ROWS if model.loops else FUNCTIONS
    frictions = [link.friction for link in model.links]  # exact: symbols may have no value yet
    if not any(not x["load"].is_zero and not x.width.is_zero for x in frictions):
        return rows
    return {name: row for name, row in rows.items() if not name.endswith("second_derivatives")}


def usual_functions(model: RobotModel) -> list[str]:
    """The names of a robot's functions but for those that are made only when they are named."""
    return [name for name, row in functions_of(model).items() if not row.on_request]


def inputs_of(model: RobotModel, name: str) -> tuple[str, ...]:
    """The inputs that the program of a function can have beyond the usual ones, the robot's symbols last."""
    optional = functions_of(model)[name].optional
    payload = (PAYLOAD,) if "parameters" in optional else ()
    return (*optional, *payload, *(symbol for symbol, _ in model.symbols))


def check_function(
    model: RobotModel, name: str, optional: Sequence[str] = (), allowed: Sequence[str] | None = None
) -> None:
    """Refuse a function that the robot does not have, or optional inputs that it does not take.

    `allowed` are these inputs: by default those that the method takes.
    """
    functions = functions_of(model)
    if name not in list(functions):
        raise ModelError(f"function: found {shown(name)}; allowed: {', '.join(functions)}")
    allowed = functions[name].optional if allowed is None else allowed
    if isinstance(optional, str) or len(set(optional)) != len(optional):
        raise ModelError(f"optional: found {shown(optional)}; a list of different names is expected")
    if unknown := [key for key in optional if key not in allowed]:
        raise ModelError(f"{name}: no input '{unknown[0]}'; allowed: {', '.join(allowed) or 'none'}")
    if 0 < sum(key in BASE_INPUTS for key in optional) < len(BASE_INPUTS):
        raise ModelError(f"{name}: a moving base takes all of {', '.join(BASE_INPUTS)}")


def check_program(model: RobotModel, name: str, optional: Sequence[str]) -> None:
    """Refuse inputs that the program of a function cannot have."""
    known = [symbol for symbol, _ in model.symbols]
    check_function(model, name)
    check_function(model, name, optional, inputs_of(model, name))
    for key in optional:
        if key in MEANINGS and key in known:
            raise ModelError(f"optional: '{key}' is an input and a symbol of this robot; rename the symbol")


def make_kernel(
    name: str, mechanism: Mechanism, layout: Layout, optional: Sequence[str] = (), symbols: Sequence[str] = ()
) -> Kernel:
    """The kernel of a function for a mechanism; `optional` names inputs given beyond the usual ones.

    Where the mechanism has expressions, values of `symbols` are a further input, the last one, and the
    function must not depend on other symbols.
    """
    row = row_of(name, mechanism)
    if name not in OF_TIP and PAYLOAD not in optional:
        mechanism = mechanism.loaded_alone("wrench" in optional)
    if "parameters" not in row.optional or "parameters" in optional:
        mechanism = mechanism.map(unchanged, lambda _: 0)  # its own parameters do not matter
    context = Context(name, mechanism, layout, tuple(symbols))
    sizes = {"wrench": 6 * len(mechanism.loaded), "parameters": context.p, **dict.fromkeys(BASE_INPUTS, 3)}
    sizes |= {"q": mechanism.positions, PAYLOAD: 10, SYMBOLS: len(symbols)}
    names = (*row.inputs, *optional, *([SYMBOLS] if symbols else []))
    inputs = tuple((key, sizes.get(key, mechanism.n)) for key in names)
    if _symbols_in(mechanism.scalars()):
        _check_loops(mechanism)
        context = _without_others(row, inputs, context)
        if _symbols_in(context.mechanism.scalars()):  # no robot shares this one
            return Kernel(_specification(row, inputs, context))
    pattern, numbers = context.mechanism.opened()
    shared = _specification(row, ((NUMBERS, len(numbers)), *inputs), replace(context, mechanism=pattern))
    return Kernel(
        _specification(row, inputs, context, Shared(shared, np.array(numbers)) if numbers else None)
    )


def _symbols_in(scalars: Sequence[Any]) -> set[str]:
    return {name for x in scalars if isinstance(x, Expression) for name in x.symbols()}


def _check_loops(mechanism: Mechanism) -> None:
    """Refuse loops whose shape depends on symbols: they are closed with numbers."""
    shape = _symbols_in(replace(mechanism, gravity=ZERO3).scalars(parameters=False))
    if mechanism.loops and shape:
        raise ModelError(
            f"symbol '{min(shape)}': it needs a value and cannot be an input, as the loops of this robot are "
            "closed with it; symbols of gravity, masses, inertias, friction and springs can"
        )


def _without_others(row: Function, inputs: Inputs, context: Context) -> Context:
    """With numbers for the free symbols that are no inputs; refused if the function depends on some."""
    pattern, numbers = context.mechanism.opened()
    opened = replace(context, mechanism=pattern)
    program = (row.make or _recorded)(row, ((NUMBERS, len(numbers)), *inputs), opened)
    if missing := [name for name in _depends_on(program, numbers) if name not in context.symbols]:
        symbols = f"symbol '{missing[0]}' has" if len(missing) == 1 else f"symbols {listed(missing)} have"
        raise MissingValueError(
            f"{symbols} no value, and {context.name} depends on {'it' if len(missing) == 1 else 'them'}; "
            f"robot.with_symbols({missing[0]}=…) gives values, and programs and C take symbols as inputs"
        )
    return replace(context, mechanism=_closed(context.mechanism, context.symbols))


def _depends_on(program: Program, numbers: Sequence[Any]) -> list[str]:
    """The symbols in a robot's numbers that a program of these numbers depends on.

    Those that stand in it may still cancel: at random values the outputs change with the others only. Signs
    and bells of friction would hide symbols there, as a bell is zero away from rest: waves take their place.
    """
    waves = {"sign": "sin", "exp": "sin", "tanh": "sin"}
    program = replace(program, nodes=tuple((waves.get(x[0], x[0]), *x[1:]) for x in program.nodes))
    used = {node[1] for node in program.nodes if node[0] == "input" and node[1] < len(numbers)}
    names = sorted(_symbols_in([numbers[i] for i in used]))
    rng = np.random.default_rng(0)
    before = dict(zip(names, rng.uniform(0.5, 1.5, len(names)), strict=True))
    values = [before, *(before | {name: 1.4 * before[name]} for name in names)]
    rows = [[_value(x, at) if i in used else 0.0 for i, x in enumerate(numbers)] for at in values]
    state = [rng.uniform(-1.5, 1.5, (4, 1, size)) for _, size in program.inputs[1:]]
    changed = np.zeros(len(values), bool)
    for output in evaluate(program, np.array(rows), *state):
        flat = output.reshape(4, len(values), -1)
        same = np.abs(flat - flat[:, :1]) <= 1e-12 * np.abs(flat).max(initial=0.0)
        changed |= ~same.all(axis=(0, 2))  # what is not a number counts as changed
    return [name for name, moved in zip(names, changed[1:], strict=True) if moved]


def _value(x: Any, values: Mapping[str, float]) -> Any:
    return x.value(values) if isinstance(x, Expression) else x


def _closed(mechanism: Mechanism, inputs: Sequence[str] = ()) -> Mechanism:
    """With 1 for all symbols that are no inputs."""

    def closed(x: Any) -> Any:
        if not isinstance(x, Expression):
            return x
        left = x.substitute({name: ONE for name in x.symbols() if name not in inputs})
        return left if left.symbols() else left.value()

    return mechanism.map(closed)


def numeric_mechanism(model: RobotModel, layout: Layout) -> Mechanism:
    """A robot's mechanism in numbers; refused where torques, energy or the tip depend on free symbols."""
    if model.loops or not model.free:
        return model.mechanism
    mechanism = model.mechanism_in()
    for name, optional in (("inverse_dynamics", ("wrench",)), ("kinetic_energy", ()), ("pose", ())):
        make_kernel(name, mechanism, layout, optional)
    return _closed(mechanism)


def row_of(name: str, mechanism: Mechanism) -> Function:
    """The row of a function; with loops, friction depends on the posture too."""
    row = _OF_ROTOR if name == ROTOR_JACOBIAN else _ROWS[name]
    if name == "friction" and mechanism.loops:
        return replace(row, inputs=("q", "qd"), algorithm=_friction_at)
    return row


def _friction_at(M: Mechanism, q: Any, qd: Any) -> Any:
    return dynamics.friction_torques(M, qd, q=q)


def _specification(
    row: Function, inputs: Inputs, context: Context, shared: Shared | None = None
) -> Specification:
    identity = f"{context.mechanism!r} {[p.name for p in context.layout]} {inputs!r}"
    identity += f" {context.symbols}" if context.symbols else ""
    record = partial(row.make or _recorded, row, inputs, context)
    looped = partial(row.loop, row, inputs, context) if row.loop and not context.mechanism.loops else None
    loop = looped if context.n >= LONG else None
    few = looped if row.few_by_loop and SHORTEST <= context.n < LONG else None
    identity += " as a loop" if loop else " as a loop for few rows" if few else ""
    return Specification(
        context.name, tuple(inputs), context.shapes(row), record, identity, shared, loop, few
    )


# ------------------------------------------------------------------------------------------------------------
# ∂q̈/∂q, ∂q̈/∂q̇, ∂q̈/∂τ from programs: as one program, and as a loop with one program for all columns.
#
# As one program they grow with n³: of 30 joints, 81 000 multiplications and as many subtractions are the
# substitutions of 90 columns, which differ in nothing but their numbers.


class ForwardParts(NamedTuple):
    """Programs: `forward` gives q̈ (n) from the inputs; the others take q̈ in the place of τ.

    `slopes` gives ∂τ/∂q, ∂τ/∂q̇ and B (n, n) of inverse dynamics, `factors` the factors 1 + Fl s sgn(τ_r) of
    load friction (n). These multiply the rows of ∂τ/∂q̈ = B. All rows are divided by them first, which leaves
    a symmetric matrix.
    """

    forward: Program
    slopes: Program
    factors: Program


def at_acceleration(inputs: Inputs) -> Inputs:
    """The inputs with q̈ in the place of τ."""
    return [("qdd", size) if name == "tau" else (name, size) for name, size in inputs]


def as_program(inputs: Inputs, n: int, parts: ForwardParts) -> Program:
    """∂q̈/∂q = −B⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −B⁻¹ ∂τ/∂q̇, ∂q̈/∂τ = B⁻¹, (n, n) each."""

    def function(*columns: Any) -> Any:
        found = Solved.of(inputs, n, parts, columns)
        return found.by_q, found.by_qd, found.by_tau

    return record(function, inputs, [(f"d qdd/d {name}", (n, n)) for name in ("q", "qd", "tau")])


@dataclass(frozen=True)
class Solved:
    """q̈ and its derivatives at one state, over scalars; B is kept factorised, to solve further with."""

    qdd: list[Any]
    loaded: list[Any]
    L: SquareMatrix
    D: list[Any]
    by_q: SquareMatrix
    by_qd: SquareMatrix
    by_tau: SquareMatrix

    @staticmethod
    def of(inputs: Inputs, n: int, parts: ForwardParts, columns: Sequence[Any]) -> Solved:
        (qdd,) = inline(parts.forward, columns)
        arguments = [qdd if name == "tau" else x for (name, _), x in zip(inputs, columns, strict=True)]
        (loaded,) = inline(parts.factors, arguments)
        by_q, by_qd, B = (
            [[x / loaded[i] for x in flat[n * i : n * i + n]] for i in range(n)]
            for flat in inline(parts.slopes, arguments)
        )
        L, D = factorised(B)
        unit = [[1 / loaded[j] if i == j else 0 for i in range(n)] for j in range(n)]
        negative = [[[-x for x in column] for column in zip(*M, strict=True)] for M in (by_q, by_qd)]
        found = [[substituted(L, D, b) for b in columns] for columns in (*negative, unit)]
        return Solved(qdd, loaded, L, D, *([list(row) for row in zip(*x, strict=True)] for x in found))

    def acceleration(self, torques: Sequence[Any]) -> list[Any]:
        """The change of q̈ that a lack of torques (n) makes: −B⁻¹ τ."""
        return substituted(
            self.L, self.D, [-x / loaded for x, loaded in zip(torques, self.loaded, strict=True)]
        )

    def transposed(self, multipliers: Sequence[Any]) -> list[Any]:
        """μ with μᵀ ∂τ/∂q̈ = λᵀ: B is symmetric but for the factors of load friction."""
        found = substituted(self.L, self.D, multipliers)
        return [x / loaded for x, loaded in zip(found, self.loaded, strict=True)]


# With τ = f(q, q̇, q̈), the second derivatives of q̈ by q, q̇, τ follow from those of f: along x and y,
#
#     ∂f/∂q̈ ∂²q̈/∂x∂y = −(f_xy + f_xq̈ ∂q̈/∂y + f_yq̈ ∂q̈/∂x),
#
# as f is linear in q̈. Without the load friction that is refused here, f_q̇q̈ is zero too.


def second_as_program(row: Function, inputs: Inputs, n: int, parts: ForwardParts, second: Program) -> Program:
    """∂²q̈/∂q∂q, ∂²q̈/∂q̇∂q, ∂²q̈/∂τ∂q, ∂²q̈/∂q̇∂q̇, (n, n, n) each."""

    def function(*columns: Any) -> Any:
        at = Solved.of(inputs, n, parts, columns)
        arguments = [at.qdd if name == "tau" else x for (name, _), x in zip(inputs, columns, strict=True)]
        by_pairs = [[_matrix(x[k:], n) for k in range(0, n**3, n * n)] for x in inline(second, arguments)]
        qq, qd_q, qdd_q, qd_qd = by_pairs
        along_q, along_qd, along_tau = (  # Σ_l f_q̈q[i][l][k] ∂q̈_l/∂x_j
            [
                [[inner(x, y) for y in zip(*rows, strict=True)] for x in zip(*slopes, strict=True)]
                for rows in qdd_q
            ]
            for slopes in (at.by_q, at.by_qd, at.by_tau)
        )

        def solved(entry: Callable[[int, int, int], Any], symmetric: bool = False) -> Any:
            pairs = [(j, k) for j in range(n) for k in range(j + 1 if symmetric else n)]
            found = {(j, k): at.acceleration([entry(i, j, k) for i in range(n)]) for j, k in pairs}
            if symmetric:
                return _symmetric(n, lambda i, j, k: found[j, k][i])
            return [[[found[j, k][i] for k in range(n)] for j in range(n)] for i in range(n)]

        return (
            solved(lambda i, j, k: qq[i][j][k] + (along_q[i][j][k] + along_q[i][k][j]), symmetric=True),
            solved(lambda i, j, k: qd_q[i][j][k] + along_qd[i][j][k]),
            solved(lambda i, j, k: along_tau[i][j][k]),
            solved(lambda i, j, k: qd_qd[i][j][k], symmetric=True),
        )

    return record(function, inputs, [(result.meaning, (n, n, n)) for result in row.results])


def hessian_as_program(
    row: Function, inputs: Inputs, n: int, parts: ForwardParts, second: Program
) -> Program:
    """λᵀ ∂²q̈/∂x∂x, (3n, 3n): the above for μᵀf, where μ makes λᵀ of the left-hand side."""

    def function(*columns: Any) -> Any:
        given = dict(zip([name for name, _ in inputs], columns, strict=True))
        multipliers = given.pop(MULTIPLIERS)
        state = [(name, len(x)) for name, x in given.items()]
        at = Solved.of(state, n, parts, list(given.values()))
        exchanged = {"tau": at.qdd, MULTIPLIERS: at.transposed(multipliers)}
        (flat,) = inline(
            second, [exchanged.get(name, x) for (name, _), x in zip(inputs, columns, strict=True)]
        )
        H = [flat[3 * n * i : 3 * n * i + 3 * n] for i in range(3 * n)]
        slopes = [a + b + c for a, b, c in zip(at.by_q, at.by_qd, at.by_tau, strict=True)]
        by_column = list(zip(*slopes, strict=True))
        along = [[inner(x[2 * n :], y) for y in by_column] for x in H[: 2 * n]]

        def entry(i: int, j: int) -> Any:
            found = along[j][i] if j < 2 * n else 0
            if i < 2 * n:
                found = H[i][j] + (along[i][j] + found)
            return -found

        return _mirrored([[entry(i, j) for j in range(i + 1)] for i in range(3 * n)])

    return record(function, inputs, [(row.results[0].meaning, (3 * n, 3 * n))])


def as_loop(name: str, inputs: Inputs, n: int, parts: ForwardParts) -> Loop:
    """The same; B is factorised once, and one program solves for each column in turn."""
    at = _Solving(inputs, n, parts, "slopes", parts.slopes)
    results = [Argument(f"by_{key}", n * n, written=True) for key in ("q", "qd", "tau")]
    saved = [Save(y, 0, x.all) for x, y in zip(at.solved, results, strict=True)]
    return Loop(name, (), (*at.arguments, *results), (*at.body, *saved), at.programs)


class _Solving:
    """The statements of a loop that find q̈ and its derivatives, and what further statements may use.

    The program `slopes` gives numbers for the arrays `before`, and then ∂τ/∂q, ∂τ/∂q̇ and B.
    """

    def __init__(
        self,
        inputs: Inputs,
        n: int,
        parts: ForwardParts,
        name: str,
        slopes: Program,
        before: Sequence[Local] = (),
    ) -> None:
        self.given = {key: Local(key, size) for key, size in inputs}
        self.arguments = [Argument(key, size) for key, size in inputs]
        self.qdd, loaded, D = Local("found", n), Local("loaded", n), Local("D", n)
        by_q, by_qd, B, unit = (Local(key, n * n) for key in ("by_q", "by_qd", "B", "unit"))
        self.solved = [Local(f"solved_by_{key}", n * n) for key in ("q", "qd", "tau")]
        columns = tuple(x.all for key, x in self.given.items() if key != MULTIPLIERS)
        self.inner = self.with_acceleration(x for x in self.given if x != MULTIPLIERS)
        self.programs = {"forward": parts.forward, name: slopes}
        found = (*(x.all for x in before), by_q.all, by_qd.all, B.all)
        self.body: list[Statement] = [
            *(Fetch(x.all, y) for x, y in zip(self.given.values(), self.arguments, strict=True)),
            Call("forward", columns, (self.qdd.all,)),
            Call(name, self.inner, found),
        ]
        scale: tuple[Slice, ...] = ()
        if not _all_are(parts.factors, 1):
            self.programs["factors"], scale = parts.factors, (loaded.all,)
            self.body.append(Call("factors", self.inner, scale))
        self.loaded = [("loaded", n)] if scale else []
        self.programs["factorised"], self.places = _factorising(n, parts.slopes, self.loaded)
        self.programs["substituted"] = _substituting(n, self.places, self.loaded)
        L = Local("L", len(self.places))
        self.factors = (L.all, D.all, *scale)
        self.body.append(Call("factorised", (B.all, *scale), (L.all, D.all)))
        self.body += [Set(unit[n * i + i], -1) for i in range(n)]  # what is solved for gets a minus sign
        for matrix, result in zip((by_q, by_qd, unit), self.solved, strict=True):
            self.body.append(Each("substituted", n, self.factors, (matrix.all,), (result.all,)))

    def with_acceleration(self, names: Iterable[str]) -> tuple[Slice, ...]:
        """The inputs of those names, with q̈ in the place of τ."""
        return tuple(self.qdd.all if key == "tau" else self.given[key].all for key in names)


def _all_are(program: Program, value: float) -> bool:
    return all(program.nodes[r] == ("const", value) for r in program.results)


def _factorising(n: int, slopes: Program, loaded: Inputs) -> tuple[Program, list[tuple[int, int]]]:
    """A program that factorises B into L and 1/d, and the places of the entries of L that are not zero.

    It takes only entries of B that are not zero: between branches of a tree, those of L are zero too.
    """
    zero = _zeros(slopes, n)

    def factors(flat: Any, *others: Any) -> Any:
        over = others[0] if others else [1] * n
        return factorised(
            [[0 if zero[n * i + j] else flat[n * i + j] / over[i] for j in range(n)] for i in range(n)]
        )

    whole = record(factors, [("B", n * n), *loaded], [("L", (n, n)), ("D", (n,))])
    kept = [
        k
        for k, left_out in enumerate(_zeros(replace(whole, results=whole.results[: n * n]), n))
        if not left_out
    ]
    results = (*(whole.results[k] for k in kept), *whole.results[n * n :])
    program = replace(whole, outputs=(("L", (len(kept),)), ("D", (n,))), results=results)
    return program, [divmod(k, n) for k in kept]


def _zeros(program: Program, n: int) -> list[bool]:
    """Which entries of a program's last output, a matrix, are the number zero."""
    nodes = [program.nodes[r] for r in program.results[-n * n :]]
    return [node[0] == "const" and node[1] == 0 for node in nodes]


def _substituting(
    n: int, places: Sequence[tuple[int, int]], loaded: Inputs, transposed: bool = False
) -> Program:
    """A program that finds −x with B x = b, from what the other gives and b.

    `transposed`: x with xᵀB = bᵀ, where load friction has multiplied the rows of B.
    """

    def solution(entries: Any, D: Any, *others: Any) -> Any:
        *over, b = others
        L: list[list[Any]] = [[0] * n for _ in range(n)]
        for (i, j), x in zip(places, entries, strict=True):
            L[i][j] = x
        if transposed:
            found = substituted(L, D, b)
            return [x / d for x, d in zip(found, over[0], strict=True)] if over else found
        column = [x / d for x, d in zip(b, over[0], strict=True)] if over else b
        return [-x for x in substituted(L, D, column)]

    inputs = [("L", len(places)), ("D", n), *loaded, ("column", n)]
    return record(solution, inputs, [("negative", (n,))])


def second_as_loop(name: str, inputs: Inputs, n: int, along: Program) -> Loop:
    """Second derivatives of inverse dynamics; what does not depend on the direction is computed once."""
    given = {key: Local(key, size) for key, size in inputs}
    along = replace(along, outputs=along.outputs[:4], results=along.results[: 4 * n * n])
    programs = dict(zip(("first", "along"), split(along, ALONG), strict=True))
    kept, unit = Local("kept", programs["first"].outputs[0][1][0]), Local("unit", n * n)
    found = [Local(f"found{k}", n**3) for k in range(4)]
    arguments = [Argument(key, size) for key, size in inputs]
    results = [Argument(f"result{k}", n**3, written=True) for k in range(4)]
    body: list[Statement] = [Fetch(x.all, y) for x, y in zip(given.values(), arguments, strict=True)]
    body.append(Call("first", tuple(x.all for x in given.values()), (kept.all,)))
    body += [Set(unit[n * i + i], 1) for i in range(n)]
    body.append(Each("along", n, (kept.all,), (unit.all,), tuple(x.all for x in found)))
    body += [Save(y, 0, x.all) for x, y in zip(found, results, strict=True)]
    return Loop(name, (), (*arguments, *results), tuple(body), programs)


def forward_second_as_loop(name: str, inputs: Inputs, n: int, parts: ForwardParts, along: Program) -> Loop:
    """Second derivatives of forward dynamics: one program solves for all pairs with a joint."""
    first, rest = split(along, ALONG, apart=3)
    kept, unit = Local("kept", first.outputs[0][1][0]), Local("directions", n * n)
    at = _Solving(inputs, n, parts, "first", first, [kept])
    f = [Local(f"f_{key}", n**3) for key in ("q_q", "qd_q", "qdd_q", "qd_qd")]
    second = [Local(f"by_{key}", n**3) for key in ("q_q", "qd_q", "tau_q", "qd_qd")]
    results = [Argument(x.name, n**3, written=True) for x in second]
    shared = (*at.factors, *(x.all for x in at.solved), f[2].all)
    matrices = (*(x.all for x in f), at.solved[0].all)
    body = [
        *at.body,
        *(Set(unit[n * k + k], 1) for k in range(n)),
        Each("along", n, (kept.all,), (unit.all,), tuple(x.all for x in f)),
        Each("combined", n, shared, matrices, tuple(x.all for x in second)),
        *(Save(y, 0, x.all) for x, y in zip(second, results, strict=True)),
    ]
    programs = at.programs | {"along": rest, "combined": _combining(n, at.places, at.loaded)}
    return Loop(name, (), (*at.arguments, *results), tuple(body), programs)


def _combining(n: int, places: Sequence[tuple[int, int]], loaded: Inputs) -> Program:
    """A program of one joint k: ∂²q̈/∂x∂q_k, and ∂²q̈/∂q̇∂q̇_k, (n, n) each, by the equation above."""

    def function(entries: Any, D: Any, *others: Any) -> Any:
        *over, by_q, by_qd, by_tau, all_qdd_q, q_q, qd_q, qdd_q, qd_qd, own = others
        L: list[list[Any]] = [[0] * n for _ in range(n)]
        for (i, j), x in zip(places, entries, strict=True):
            L[i][j] = x

        def along(slopes: Any, i: int, j: int) -> Any:
            return inner(qdd_q[n * i : n * i + n], slopes[j::n])

        def solved(entry: Callable[[int, int], Any]) -> Any:
            columns = []
            for j in range(n):
                b = [entry(i, j) / over[0][i] if over else entry(i, j) for i in range(n)]
                columns.append([-x for x in substituted(L, D, b)])
            return [list(row) for row in zip(*columns, strict=True)]

        def twice(i: int, j: int) -> Any:
            return q_q[n * i + j] + (
                along(by_q, i, j) + inner(all_qdd_q[n * n * i + j : n * n * (i + 1) : n], own)
            )

        return (
            solved(twice),
            solved(lambda i, j: qd_q[n * i + j] + along(by_qd, i, j)),
            solved(lambda i, j: along(by_tau, i, j)),
            solved(lambda i, j: qd_qd[n * i + j]),
        )

    square = n * n
    inputs = [("L", len(places)), ("D", n), *loaded, ("by_q", square), ("by_qd", square), ("by_tau", square)]
    inputs += [("all", n**3), *((f"f{k}", square) for k in range(4)), ("own", n)]
    return record(function, inputs, [(f"second {k}", (n, n)) for k in range(4)])


def hessian_as_loop(name: str, inputs: Inputs, n: int, along: Program) -> Loop:
    """λᵀ ∂²τ/∂x∂x: the gradient's slopes along q and q̇, column by column; it is linear in q̈."""
    first, rest = split(along, ALONG)
    given = {key: Local(key, size) for key, size in inputs}
    arguments, result = (
        [Argument(key, size) for key, size in inputs],
        Argument("result", 9 * n * n, written=True),
    )
    H, (body, columns) = (
        Local("H", 9 * n * n),
        _columns_of_hessian(n, first, tuple(x.all for x in given.values())),
    )
    statements = [
        *(Fetch(x.all, y) for x, y in zip(given.values(), arguments, strict=True)),
        *body,
        Call("mirrored", (columns.all,), (H.all,)),
        Save(result, 0, H.all),
    ]
    programs = {"gradient": first, "along": rest, "mirrored": _mirroring(n)}
    return Loop(name, (), (*arguments, result), tuple(statements), programs)


def _columns_of_hessian(n: int, first: Program, given: tuple[Slice, ...]) -> tuple[list[Statement], Local]:
    """Statements that find the columns by q and q̇ of a Hessian, and where they are, (3n, 2n)."""
    kept = Local("kept", first.outputs[0][1][0])
    unit, columns = Local("directions", 4 * n * n), Local("columns", 6 * n * n)
    return [
        Call("gradient", given, (kept.all,)),
        *(Set(unit[2 * n * k + k], 1) for k in range(2 * n)),
        Each("along", 2 * n, (kept.all,), (unit.all,), (columns.all,)),
    ], columns


def _mirroring(n: int) -> Program:
    """A symmetric matrix (3n, 3n) from its first 2n columns; the others have zeros below."""

    def function(columns: Any) -> Any:
        def entry(i: int, j: int) -> Any:
            i, j = max(i, j), min(i, j)
            return columns[2 * n * i + j] if j < 2 * n else 0

        return [[entry(i, j) for j in range(3 * n)] for i in range(3 * n)]

    return record(function, [("columns", 6 * n * n)], [("matrix", (3 * n, 3 * n))])


def forward_hessian_as_loop(name: str, inputs: Inputs, n: int, parts: ForwardParts, along: Program) -> Loop:
    """λᵀ ∂²q̈/∂x∂x: one program makes each column of it from one of μᵀ ∂²τ/∂x∂x."""
    first, rest = split(along, ALONG)
    at = _Solving(inputs, n, parts, "slopes", parts.slopes)
    mu, joined, H = Local("mu", n), Local("joined", 2 * n * n), Local("H", 9 * n * n)
    given = at.with_acceleration(at.given)
    place = list(at.given).index(MULTIPLIERS)
    body, columns = _columns_of_hessian(n, first, (*given[:place], mu.all, *given[place + 1 :]))
    found, result = Local("of_q_and_qd", 6 * n * n), Argument("result", 9 * n * n, written=True)
    shared = (columns[4 * n * n :], *(x.all for x in at.solved))
    statements = [
        *at.body,
        Call("transposed", (*at.factors, at.given[MULTIPLIERS].all), (mu.all,)),
        *body,
        Call("joined", (at.solved[0].all, at.solved[1].all), (joined.all,)),
        Each("combined", 2 * n, shared, (columns.all, joined.all), (found.all,)),
        Call("mirrored", (found.all,), (H.all,)),
        Save(result, 0, H.all),
    ]
    transposed = _substituting(n, at.places, at.loaded, transposed=True)
    further = {"transposed": transposed, "joined": _joining(n), "combined": _combining_hessian(n)}
    programs = at.programs | {"gradient": first, "along": rest, "mirrored": _mirroring(n)} | further
    return Loop(name, (), (*at.arguments, result), tuple(statements), programs)


def _joining(n: int) -> Program:
    """Two matrices (n, n) side by side."""
    square = n * n
    inputs = [("a", square), ("b", square)]
    return record(
        lambda a, b: [[*a[n * i : n * i + n], *b[n * i : n * i + n]] for i in range(n)],
        inputs,
        [("ab", (n, 2 * n))],
    )


def _combining_hessian(n: int) -> Program:
    """A column of λᵀ ∂²q̈/∂x∂x by q or q̇, from that of μᵀ ∂²τ/∂x∂x, by the equation above."""

    def function(by_qdd: Any, by_q: Any, by_qd: Any, by_tau: Any, column: Any, own: Any) -> Any:
        last = column[2 * n :]
        slopes = [inner(last, x[k::n]) for x in (by_q, by_qd, by_tau) for k in range(n)]
        found = [column[k] + (inner(by_qdd[k :: 2 * n], own) + slopes[k]) for k in range(2 * n)]
        return [-x for x in (*found, *slopes[2 * n :])]

    square = n * n
    inputs = [("by_qdd", 2 * square), ("by_q", square), ("by_qd", square), ("by_tau", square)]
    return record(function, [*inputs, ("column", 3 * n), ("own", n)], [("column", (3 * n,))])


# ---- ∂τ/∂q, ∂τ/∂q̇, ∂τ/∂q̈ as one program: rigid bodies by recursion, the rest from the tape ---------------

RIGID = "rigid"  # the input for the torques τ_r without friction


class Recording(Protocol):
    """Records an algorithm over a mechanism, with the inputs q, q̇, q̈ and whatever else is given."""

    def __call__(self, algorithm: Callable[..., Any], inputs: Inputs, shapes: Sequence[Shape]) -> Program: ...


def by_recursion(recorded: Recording, inputs: Inputs, n: int) -> Program:
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


# ------------------------------------------------------------------------------------------------------------
# Wrenches on links by name: {"left hand": (..., 6), "elbow": (..., 6)} as one array for a kernel.


def of_links(model: RobotModel, wrench: Mapping[Any, Any]) -> dict[str, Any]:
    """What is given by link, in the order of the model's links: kernels do not depend on the caller's."""
    given = {check_link(model, "wrench", link): x for link, x in wrench.items()}
    return {link: given[link] for link in (model.root, *model.index) if link in given}


def label(link: str) -> str:
    """What the wrench of a link is called in messages."""
    return f"wrench[{shown(link)}]"


def side_by_side(wrenches: Mapping[str, Any], beside: Sequence[Any]) -> Any:
    """Wrenches (..., 6) on k links, broadcast against each other: (..., 6 k), in their own library.

    Lists beside arrays of another library stay a list, which every library reads.
    """
    called = {label(link): x for link, x in wrenches.items()}
    if library := library_of(list(called.values())):
        return library.side_by_side("wrench", called, 6)
    arrays = {name: real_array(name, x, "numbers (..., 6)") for name, x in called.items()}
    found = joined("wrench", arrays, 6)
    listed_only = all(isinstance(x, list | tuple) for x in called.values())
    return found.tolist() if listed_only and library_of(beside) else found


# ------------------------------------------------------------------------------------------------------------
# Values of symbols by name: {"a2": 0.4, "m1": (...)} as one array for a kernel.


def of_symbols(model: RobotModel, values: Mapping[str, Any]) -> dict[str, Any]:
    """What is given by symbol, in the order of the model's symbols: kernels do not depend on the caller's."""
    if not isinstance(values, Mapping):
        raise ModelError(f"symbols: found {shown(values)}; a mapping {{name: value}} is expected")
    known = [name for name, _ in model.symbols]
    if unknown := [name for name in values if name not in known]:
        names = f"symbols: {listed(known)}" if known else "it has none"
        raise ModelError(f"symbols: {shown(unknown[0])} is no symbol of this robot; {names}")
    if taken := [name for name in values if name in MEANINGS]:
        raise ModelError(f"symbols: '{taken[0]}' is an input and a symbol of this robot; rename the symbol")
    return {name: values[name] for name in known if name in values}


def as_columns(values: Mapping[str, Any], beside: Sequence[Any]) -> Any:
    """Values (...) of k symbols, broadcast against each other: (..., k).

    They are in the library of theirs, or of the arrays beside them, where plain numbers have their precision.
    """
    called = {f"symbols[{shown(name)}]": x for name, x in values.items()}
    arrays = [*called.values(), *beside]
    if library := library_of(arrays):
        first = next(x for x in arrays if library_of([x]) is library)
        columns = {name: library.column(x, first) for name, x in called.items()}
        return library.side_by_side("symbols", columns, 1)
    found = {name: real_array(name, x, "numbers (...)") for name, x in called.items()}
    try:
        same = np.broadcast_arrays(*found.values())
    except ValueError:
        raise misfit("symbols", found, found.values()) from None
    typed = [x for x in arrays if isinstance(x, np.ndarray)]
    single = bool(typed) and all(x.dtype == np.float32 for x in typed)
    return np.stack(same, axis=-1).astype(np.float32 if single else float, copy=False)
