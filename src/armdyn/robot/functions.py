"""The numeric functions of a robot: one row each, from which kernels, the C export and the docs are made.

A new function is an algorithm in `dynamics/` and a row here, of which `Robot` makes a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from armdyn import dynamics
from armdyn.dynamics import BaseMotion
from armdyn.dynamics.closures import Following
from armdyn.dynamics.forward import factorised, solve, substituted
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
from armdyn.program import Program, evaluate, jacobian, record
from armdyn.program.loops import Argument, Call, Each, Fetch, Local, Loop, Save, Set, Slice, Statement
from armdyn.program.program import Shape, inline

STATE = ("q", "qd", "qdd")
BASE_INPUTS = ("base.angular_velocity", "base.angular_acceleration", "base.linear_acceleration")
SHORT_PATH = 5  # of joints; beyond, derivatives of inverse dynamics do not come from the tape
NUMBERS = "numbers"  # the input that stands for a robot's numbers in kernels that robots share
PAYLOAD = "payload"  # the input for what the tip carries
SYMBOLS = "symbols"  # the input for the values of symbols
LONG = 15  # coordinates: from here on a loop over columns is compiled in half the time, and no slower
Inputs = Sequence[tuple[str, int]]
Wrench: TypeAlias = Numbers | Mapping[str, Numbers]  # at the tip, or by link
Symbols: TypeAlias = Mapping[str, float | Numbers]  # values (...) by the names of symbols

MEANINGS = {
    "q": "joint positions [rad or m]",
    "qd": "joint velocities [rad/s or m/s]",
    "qdd": "joint accelerations [rad/s^2 or m/s^2]",
    "qd_r": "reference velocities [rad/s or m/s]",
    "qdd_r": "reference accelerations [rad/s^2 or m/s^2]",
    "tau": "joint torques [N m or N]",
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

    In the shape, "n" is the number of coordinates, "joints" that of moving joints, "p" that of parameters;
    "loops" and "driven" count loops and the joints that something drives; "bodies" the links behind moving
    joints and the base, "causes" what torques are split by.
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
        sizes: dict[int | str, Any] = {"n": self.n, "joints": M.joints, "p": self.p}
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
        rows = [following.gathered(by_q[size * i : size * i + size]) for i in range(n)]
        return (rows, *([flat[n * i : n * i + n] for i in range(n)] for flat in others))

    return record(function, inputs, [(name, (n, n)) for name, _ in program.outputs])


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


def _one(meaning: str, *shape: int | str) -> tuple[Result, ...]:
    return (Result(shape, meaning),)


def _squares(*meanings: str) -> tuple[Result, ...]:
    return tuple(Result(("n", "n"), meaning) for meaning in meanings)


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
    """The functions that a robot has."""
    return _ROWS if model.loops else FUNCTIONS


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
    loop = partial(row.loop, row, inputs, context) if row.loop and context.n >= LONG else None
    identity += " as a loop" if loop else ""
    return Specification(context.name, tuple(inputs), context.shapes(row), record, identity, shared, loop)


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
        (qdd,) = inline(parts.forward, columns)
        arguments = [qdd if name == "tau" else x for (name, _), x in zip(inputs, columns, strict=True)]
        (loaded,) = inline(parts.factors, arguments)
        by_q, by_qd, B = (
            [[x / loaded[i] for x in flat[n * i : n * i + n]] for i in range(n)]
            for flat in inline(parts.slopes, arguments)
        )
        unit = [[1 / loaded[j] if i == j else 0 for i in range(n)] for j in range(n)]
        negative = [[[-x for x in column] for column in zip(*M, strict=True)] for M in (by_q, by_qd)]
        solved = solve(B, [*negative[0], *negative[1], *unit])
        return tuple([list(row) for row in zip(*solved[n * k : n * k + n], strict=True)] for k in range(3))

    return record(function, inputs, [(f"d qdd/d {name}", (n, n)) for name in ("q", "qd", "tau")])


def as_loop(name: str, inputs: Inputs, n: int, parts: ForwardParts) -> Loop:
    """The same; B is factorised once, and one program solves for each column in turn."""
    given = {key: Local(key, size) for key, size in inputs}
    qdd, loaded, D = Local("found", n), Local("loaded", n), Local("D", n)
    by_q, by_qd, B, unit = (Local(key, n * n) for key in ("by_q", "by_qd", "B", "unit"))
    solved = [Local(f"solved_by_{key}", n * n) for key in ("q", "qd", "tau")]
    results = [Argument(f"by_{key}", n * n, written=True) for key in ("q", "qd", "tau")]
    arguments = [Argument(key, size) for key, size in inputs]
    columns = tuple(x.all for x in given.values())
    inner = tuple(qdd.all if key == "tau" else x.all for key, x in given.items())
    programs = {"forward": parts.forward, "slopes": parts.slopes}
    body: list[Statement] = [Fetch(x.all, y) for x, y in zip(given.values(), arguments, strict=True)]
    body += [
        Call("forward", columns, (qdd.all,)),
        Call("slopes", inner, (by_q.all, by_qd.all, B.all)),
    ]
    scale: tuple[Slice, ...] = ()
    if not _all_are(parts.factors, 1):
        programs["factors"], scale = parts.factors, (loaded.all,)
        body.append(Call("factors", inner, scale))
    further = [("loaded", n)] if scale else []
    programs["factorised"], places = _factorising(n, parts.slopes, further)
    programs["substituted"] = _substituting(n, places, further)
    L = Local("L", len(places))
    body.append(Call("factorised", (B.all, *scale), (L.all, D.all)))
    body += [Set(unit[n * i + i], -1) for i in range(n)]  # what is solved for gets a minus sign
    for matrix, result in zip((by_q, by_qd, unit), solved, strict=True):
        body.append(Each("substituted", n, (L.all, D.all, *scale), (matrix.all,), (result.all,)))
    body += [Save(y, 0, x.all) for x, y in zip(solved, results, strict=True)]
    return Loop(name, (), (*arguments, *results), tuple(body), programs)


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


def _substituting(n: int, places: Sequence[tuple[int, int]], loaded: Inputs) -> Program:
    """A program that finds −x with B x = b, from what the other gives and b."""

    def solution(entries: Any, D: Any, *others: Any) -> Any:
        *over, b = others
        L: list[list[Any]] = [[0] * n for _ in range(n)]
        for (i, j), x in zip(places, entries, strict=True):
            L[i][j] = x
        column = [x / d for x, d in zip(b, over[0], strict=True)] if over else b
        return [-x for x in substituted(L, D, column)]

    inputs = [("L", len(places)), ("D", n), *loaded, ("column", n)]
    return record(solution, inputs, [("negative", (n,))])


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
