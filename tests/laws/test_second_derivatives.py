"""Second derivatives of torques and accelerations: proved over the exact ring, and equal to other routes."""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from armdyn import Robot, backend, dynamics
from armdyn.exact.basis import Basis, over_ring
from armdyn.exact.ring import Poly
from armdyn.model import ModelError
from armdyn.model.mechanism import unchanged
from armdyn.program import OPS
from armdyn.robot.functions import FUNCTIONS, NUMBERS, Context
from arms import (
    ROTORS,
    WITHOUT_LOOPS,
    assert_same,
    bundled,
    generators,
    gradient,
    in_suites,
    law,
    models,
    related,
    robots,
    rotors_turn,
    slowly,
    state,
)
from closed_chains import five_bar, four_bar, reference
from elastic_arms import elastic_robots
from friction_arms import rubbing
from golden_messages import golden_error
from kernel_tools import arguments
from spring_arms import sprung

RECURSION = sys.modules["armdyn.dynamics.derivatives"]
DERIVE, TABLE = sys.modules["armdyn.program.derive"], sys.modules["armdyn.robot.functions"]
INVERSE = ("inverse_dynamics_second_derivatives", "inverse_dynamics_hessian_product")
FORWARD = ("forward_dynamics_second_derivatives", "forward_dynamics_hessian_product")


# ---- proofs ------------------------------------------------------------------------------------------------


def over_symbols(model, n):
    """A model over its exact ring, with every parameter, wrench and multiplier a generator."""
    basis = Basis(model)
    given = [f"h{k + 1}" for k in range(6)], [f"lambda{k + 1}" for k in range(n)]
    ring = basis.with_names([*(f"[{name}]" for name in basis.parameter_names), *given[0], *given[1]])
    named = [ring.gen(f"[{name}]") for name in basis.parameter_names]
    mechanism = replace(over_ring(basis.exact, ring, named, basis.layout), friction=(), springs=(), struts=())
    mechanism = mechanism.map(lambda x: 0 if isinstance(x, Poly) and not x else x, unchanged)
    return basis, ring, mechanism, *([ring.gen(name) for name in names] for names in given)


def exactly(name, basis, mechanism, columns):
    """The program that robots of this structure share, over the ring, with numbers of the ring."""
    numbers = []

    def opened(x):
        if isinstance(x, int):
            return x
        numbers.append(x)
        return None

    row, pattern = FUNCTIONS[name], mechanism.map(opened, opened)
    inputs = [(NUMBERS, len(numbers)), *((x, mechanism.n) for x in row.inputs), ("wrench", 6)]
    program = row.make(row, inputs, Context(name, pattern, basis.layout))
    scalars = [*numbers, *(x for column in columns for x in column)]
    return program.values(scalars, apply, lambda x: int(x) if x == int(x) else Fraction(x))


def apply(operation, *arguments):
    match operation, arguments:
        case "sin" | "cos", (a,):
            return getattr(a, operation)()
        case "neg", (a,):
            return -a
        case "add", (a, b):
            return a + b
        case "sub", (a, b):
            return a - b
        case "mul", (a, b):
            return a * b
    raise AssertionError(operation)


def prove(model):
    """All entries against derivatives of the exact torques, the blocks of zeros too; the terms compared."""
    n = model.n
    basis, ring, mechanism, wrench, multipliers = over_symbols(model, n)
    variables = ring.joint_variables()
    torques = [ring.zero + x for x in dynamics.rigid_torques(mechanism, *variables, wrench)]
    tensors = exactly(INVERSE[0], basis, mechanism, [*variables, wrench])
    (product,) = exactly(INVERSE[1], basis, mechanism, [*variables, multipliers, wrench])

    def slope(x, k):
        return x.by_joint(k) if k < n else x.derivative(f"{('qd', 'qdd')[k // n - 1]}{k % n + 1}")

    second = [[[slope(slope(x, j), k) for k in range(3 * n)] for j in range(3 * n)] for x in torques]
    terms = 0
    for name, found, (a, b) in zip("abcd", tensors, ((0, 0), (1, 0), (2, 0), (1, 1)), strict=True):
        for place, x in zip(np.ndindex(n, n, n), found, strict=True):
            i, j, k = place
            expected = second[i][a * n + j][b * n + k]
            assert not ring.zero + x - expected, f"{name}{place}"
            terms += len(expected)
    for (j, k), x in zip(np.ndindex(3 * n, 3 * n), product, strict=True):
        expected = sum((c * y[j][k] for c, y in zip(multipliers, second, strict=True)), ring.zero)
        assert not ring.zero + x - expected, f"product {j} {k}"
    return terms


@law(models((1, 2), rotors=ROTORS), examples=4, thorough=30)
def test_second_derivatives_and_those_of_exact_torques_of_rational_arms(model):
    assert prove(model) >= 0


SMALL = ("rp", "planar", "scara", "elastic_link", "palletizer")


@pytest.mark.parametrize("name", in_suites([x for x in WITHOUT_LOOPS if bundled(x).n <= 4], SMALL))
def test_second_derivatives_and_those_of_exact_torques_of_bundled_robots(name):
    """With their relations and elastic joints; all of their parameters are symbols."""
    terms = prove(Robot.load(name).model)
    assert terms == 0 if name.startswith("cartesian") else terms > 0


def no_forces_that_turn_with_the_body(patch):
    patch.setattr(RECURSION, "_turned_with", lambda body, composite: composite.wrench(body.by_q))


def equal_arguments_count_once(patch):
    patch.setattr(DERIVE, "_between", lambda x, same: x)


def columns_are_not_mirrored(patch):
    patch.setattr(
        TABLE,
        "_symmetric",
        lambda n, f: [[[f(i, j, max(j - 1, 0)) for _ in range(n)] for j in range(n)] for i in range(n)],
    )


FAULTS = [no_forces_that_turn_with_the_body, equal_arguments_count_once, columns_are_not_mirrored]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_function_and_a_failing_proof(fault, monkeypatch):
    monkeypatch.setattr(TABLE, "SHORT_PATH", 0)  # the recursion always
    monkeypatch.setattr(TABLE, "_slopes", TABLE._slopes.__wrapped__)  # recorded each time
    model = Robot.load("planar3").model
    assert prove(model)
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        prove(model)


# ---- numbers -----------------------------------------------------------------------------------------------


def check_inverse(robot, state, multipliers, wrench=None, tolerance=1e-8):
    """Tensors and products against differences of sixth order of the first derivatives."""
    n, (q, qd, qdd) = robot.n, state
    first = robot.inverse_dynamics_derivatives
    found = robot.inverse_dynamics_second_derivatives(q, qd, qdd, wrench)
    by_q = [gradient(lambda x, k=k: first(x, qd, qdd, wrench)[k], q, 1e-3) for k in range(3)]
    by_qd = [gradient(lambda x, k=k: first(q, x, qdd, wrench)[k], qd, 1e-3) for k in range(3)]
    size = max(np.abs(x).max() for x in (*by_q, *by_qd))
    for x, y in zip(found, (*by_q, by_qd[1]), strict=True):
        assert_same(x, y, tolerance, size)
    assert_same(by_qd[2], np.zeros((n, n, n)), tolerance, size)  # what is not among them
    product = robot.inverse_dynamics_hessian_product(q, qd, qdd, multipliers, wrench=wrench)
    assert (product == product.T).all()
    assert_same(product, assembled(found, multipliers), 1e-11, size)


def check_forward(robot, state, multipliers, wrench=None, tolerance=1e-5):
    q, qd, tau = state
    first = robot.forward_dynamics_derivatives
    found = robot.forward_dynamics_second_derivatives(q, qd, tau, wrench)
    by_q = [gradient(lambda x, k=k: first(x, qd, tau, wrench)[k], q, 1e-3) for k in range(3)]
    by_qd = [gradient(lambda x, k=k: first(q, x, tau, wrench)[k], qd, 1e-3) for k in range(3)]
    size = max(np.abs(x).max() for x in (*by_q, *by_qd))
    for x, y in zip(found, (*by_q, by_qd[1]), strict=True):
        assert_same(x, y, tolerance, size)
    product = robot.forward_dynamics_hessian_product(q, qd, tau, multipliers, wrench=wrench)
    assert (product == product.T).all()
    assert_same(product, assembled(found, multipliers), 1e-9, size)


def assembled(tensors, multipliers):
    """λᵀ of all second derivatives, by blocks; the last is zero, and that by q̇ and the third."""
    qq, qd_q, third_q, qd_qd = (np.einsum("i,ijk->jk", multipliers, x) for x in tensors)
    zero = np.zeros_like(qq)
    return np.block([[qq, qd_q.T, third_q.T], [qd_q, qd_qd, zero], [third_q, zero, zero]])


def by_complex_steps(robot, function, values):
    """∂(first derivatives)/∂q and ∂/∂q̇, (n, n, n) each: to rounding, where all functions are smooth."""
    program, n, h = robot.program(function), robot.n, 1e-40
    found = []
    for k in range(2):
        columns = [np.tile(x.astype(complex), (n, 1)) for x in values]
        columns[k] = columns[k] + 1j * h * np.eye(n)
        scalars = [x[:, i] for x in columns for i in range(n)]
        results = program.values(scalars, lambda op, *x: OPS[op].value(*x))
        flat = (np.array([np.imag(np.broadcast_to(x, n)) / h for x in flat]) for flat in results)
        found += [x.reshape(n, n, n) for x in flat]
    return found


@pytest.mark.parametrize("kind", ["inverse", "forward"])
@pytest.mark.parametrize("name", ["scara", slowly("puma560"), slowly("panda")])
def test_second_derivatives_and_complex_steps(name, kind):
    robot = Robot.load(name).with_friction(None)
    second, product = INVERSE if kind == "inverse" else FORWARD
    *values, multipliers = arguments(robot, product)
    found = getattr(robot, second)(*values)
    steps = by_complex_steps(robot, f"{kind}_dynamics_derivatives", values)
    for x, y in zip(found, (*steps[:3], steps[4]), strict=True):
        assert_same(x, y, 1e-9, np.abs(steps[0]).max())
    whole = getattr(robot, product)(*values, multipliers)
    assert_same(whole, assembled(found, multipliers), 1e-9, np.abs(steps[0]).max())


@pytest.mark.parametrize("name", ["scara", slowly("panda")])
def test_forward_and_inverse_second_derivatives(name):
    """f(q, q̇, q̈(q, q̇, τ)) = τ, differentiated twice by q, q̇ and τ."""
    robot = Robot.load(name)
    n = robot.n
    q, qd, qdd, multipliers = arguments(robot, INVERSE[1], (3,))
    tau = robot.inverse_dynamics(q, qd, qdd)
    B = robot.inverse_dynamics_derivatives(q, qd, qdd)[2]
    slopes = np.concatenate(robot.forward_dynamics_derivatives(q, qd, tau), axis=-1)
    J = np.concatenate([np.broadcast_to(np.eye(3 * n)[: 2 * n], (3, 2 * n, 3 * n)), slopes], axis=-2)
    mu = np.einsum("sji,sj->si", B, multipliers)
    left = robot.forward_dynamics_hessian_product(q, qd, tau, mu)
    right = np.swapaxes(J, -1, -2) @ robot.inverse_dynamics_hessian_product(q, qd, qdd, multipliers) @ J
    assert_same(left, -right, 1e-9, np.abs(right).max())


def check_both(robot, rng, wrench=None, at=None):
    """By the evaluator: nothing is compiled for arms that are used once."""
    with backend("evaluator"):
        at = state(robot, rng) if at is None else at
        multipliers = rng.uniform(-2, 2, robot.n)
        check_inverse(robot, at, multipliers, wrench)
        tau = robot.inverse_dynamics(*at, wrench)
        check_forward(robot, (*at[:2], tau), multipliers, wrench)


@law(robots((1, 3), rotors=ROTORS), generators(), st.booleans(), examples=2, thorough=40)
def test_random_arms_and_differences(robot, rng, loaded):
    at = state(robot, rng)
    assume(rotors_turn(robot, at[1]))
    check_both(robot, rng, rng.uniform(-9, 9, 6) if loaded else None, at)


@law(rubbing((1, 2)), generators(), examples=1, thorough=20)
def test_friction_of_all_kinds_and_differences(robot, rng):
    check_both(robot, rng)


@law(robots((1, 2)), generators(), st.integers(0, 999), examples=1, thorough=20)
def test_springs_and_differences(robot, rng, seed):
    at = state(robot, rng)
    assume(rotors_turn(robot, at[1]))
    check_both(Robot(sprung(robot.model, seed, struts=1)), rng, at=at)


@law(robots((2, 3), friction=False), generators(), st.integers(0, 999), examples=1, thorough=20)
def test_relations_and_differences(robot, rng, seed):
    check_both(Robot(related(robot.model, seed)), rng)


@law(elastic_robots((1, 2)), generators(), examples=2, thorough=20)
def test_elastic_joints_and_differences(robot, rng):
    check_both(robot, rng)


@pytest.mark.parametrize("make", [four_bar, slowly(five_bar)])
def test_closed_chains_and_differences(make):
    robot = make(friction={"viscous": 0.4, "coulomb": 0.3})
    q = reference(robot)
    rng = np.random.default_rng(0)
    check_both(robot, rng, [3.0, -5.0, 0, 0, 0, 1], (q + 0.05, q - q + 0.7, q - q + 1.3))


# ---- what is refused ---------------------------------------------------------------------------------------


def rounded_load():
    links = {"link 1": {"viscous": 0.3}, "link 2": {"coulomb": 0.5, "load": 0.1, "width": 0.4}}
    return Robot.load("planar").with_friction(links)


@pytest.mark.parametrize("function", [INVERSE[0], FORWARD[0]])
def test_load_friction_with_a_width_has_more_than_four(function):
    robot = rounded_load()
    for given in ({}, {"parameters": robot.parameters}):
        with golden_error(ModelError):
            getattr(robot, function)([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], **given)
    with pytest.raises(ModelError, match="allowed: "):
        robot.program(function)


def test_load_friction_by_given_parameters_and_by_the_robots_own():
    """What has friction of the load is seen where its coefficients are an input, too."""
    robot = Robot.load("planar").with_friction({"link 2": {"coulomb": 0.5, "load": 0.1}})
    given = robot.parameters * 1.2
    with backend("evaluator"):
        for name in (*INVERSE, *FORWARD):
            values = arguments(robot, name)
            own = getattr(robot.with_parameters(given), name)(*values)
            found = getattr(robot, name)(*values, parameters=given)
            for x, y in zip(found, own, strict=True):
                assert_same(x, y, 1e-11)


def test_products_have_all_of_load_friction_with_a_width():
    robot, rng = rounded_load(), np.random.default_rng(1)
    at, multipliers = (
        (rng.uniform(-1, 1, 2), np.array([0.2, 0.3]), rng.uniform(-1, 1, 2)),
        rng.uniform(-1, 1, 2),
    )
    with backend("evaluator"):
        for kind in ("inverse", "forward"):
            first = getattr(robot, f"{kind}_dynamics_derivatives")

            def slopes(x, first=first):
                return multipliers @ np.concatenate(first(*np.split(x, 3)), axis=-1)

            found = getattr(robot, f"{kind}_dynamics_hessian_product")(*at, multipliers)
            assert np.abs(found[2:4, 4:]).max() > 1e-6
            assert_same(found, gradient(slopes, np.concatenate(at), 1e-3), 1e-7)


def test_symbols_without_a_value_as_inputs():
    robot = Robot.load("planar").with_symbols(ml1=None)
    given = arguments(Robot.load("planar"), INVERSE[0])
    found = getattr(robot, INVERSE[0])(*given, symbols={"ml1": 50})
    for x, y in zip(found, getattr(robot.with_symbols(ml1=50), INVERSE[0])(*given), strict=True):
        assert_same(x, y, 1e-12)
