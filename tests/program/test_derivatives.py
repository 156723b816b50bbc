"""Derivatives of programs: adjoints, tangents and differences agree; their size is linear."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.program import OPS, evaluate, jacobian, record
from armdyn.program.derive import _by_adjoints, _by_tangents
from armdyn.robot.functions import STATE
from arms import generators, law, robots, slowly, state
from long_chains import chain


def complex_value(op, arguments):
    """An operation at complex arguments whose imaginary parts are infinitesimal."""
    real = [np.real(a) for a in arguments]
    if op == "sign":
        return np.sign(real[0])
    if op == "abs":
        return np.sign(real[0]) * arguments[0]
    if op == "min":
        return np.where(real[0] < real[1], *arguments)
    if op == "max":
        return np.where(real[0] > real[1], *arguments)
    if op == "select":
        return np.where(real[0] > 0, *arguments[1:])
    return OPS[op].value(*arguments)


def complex_step(program, inputs, by, h=1e-40):
    """∂output/∂input for one state, to rounding: the imaginary part of the program at x + ih."""
    flat = np.concatenate(inputs)
    start = 0
    results = []
    for name, size in program.inputs:
        if name in by:
            x = flat + 1j * h * np.eye(len(flat))[start : start + size]
            values = []
            for node in program.nodes:
                if node[0] == "const":
                    values.append(np.full(size, node[1]))
                elif node[0] == "input":
                    values.append(x[:, node[1]])
                else:
                    values.append(complex_value(node[0], [values[a] for a in node[1:]]))
            results.append(np.array([np.imag(values[r]) / h for r in program.results]))
        start += size
    return results


def assert_close(found, expected, tolerance, least=1e-300):
    size = max(least, np.abs(expected).max(initial=0.0))
    assert np.abs(found - expected).max(initial=0.0) <= tolerance * size


def check(program, inputs, by=STATE, tolerance=1e-9):
    expected = complex_step(program, inputs, by)
    cancelled = 1e-6 * max(np.abs(y).max(initial=0.0) for y in expected)  # zeros are rounding of the rest
    for derivative in (_by_adjoints, _by_tangents, jacobian):
        found = evaluate(derivative(program, by), *inputs)
        assert len(found) == len(by)
        for x, y in zip(found, expected, strict=True):
            assert x.shape == y.shape
            assert_close(x, y, tolerance, cancelled)


def mixed(x, y):
    """Every operation, with values shared and used twice."""
    a = x[0] * x[1] + y[0]
    b = a.sin() / (1 + y[1] * y[1]) - a.cos() * (-x[0])
    c = (a * a + 1).sqrt().minimum(b.exp())
    d = abs(b).maximum(x[2]) * a.sign() + b.select(x[0], y[1] * a)
    return [a * b, c * d, c * c - a.tanh(), x[1], 3, -x[2].sin()]


def test_a_program_with_every_operation():
    program = record(mixed, [("x", 3), ("y", 2)], [("z", (6,))])
    assert set(program.counts) == set(OPS)
    rng = np.random.default_rng(9)
    for _ in range(20):
        check(program, [rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 2)], ["x", "y"], 1e-12)


def test_outputs_are_named_and_shaped():
    program = record(mixed, [("x", 3), ("y", 2)], [("z", (6,))])
    assert jacobian(program, ["y", "x"]).outputs == (("dz/dy", (6, 2)), ("dz/dx", (6, 3)))
    assert jacobian(program, ["y"]).inputs == program.inputs


def test_constants_have_derivative_zero_and_inputs_one():
    program = record(lambda x: [3, x[1], x[0].sign()], [("x", 2)], [("y", (3,))])
    for derivative in (_by_adjoints, _by_tangents):
        slopes = derivative(program, ["x"])
        assert slopes.operations == 0
        np.testing.assert_array_equal(evaluate(slopes, [2.0, 5.0])[0], [[0, 0], [0, 1], [0, 0]])


def test_the_cheaper_way_is_taken():
    many_in = record(lambda x: sum(a * a.sin() for a in x), [("x", 12)], [("y", ())])
    many_out = record(lambda x: [(x[0] * k).sin() * x[0] for k in range(2, 14)], [("x", 1)], [("y", (12,))])
    for program in (many_in, many_out):
        adjoints, tangents = _by_adjoints(program, ["x"]), _by_tangents(program, ["x"])
        assert jacobian(program, ["x"]).operations == min(adjoints.operations, tangents.operations)


def test_second_derivatives():
    program = record(lambda x: x[0].sin() * x[1] * x[1], [("x", 2)], [("y", ())])
    first = jacobian(program, ["x"])
    second = jacobian(first, ["x"])
    a, b = 0.4, 1.7
    hessian = [[-np.sin(a) * b * b, 2 * b * np.cos(a)], [2 * b * np.cos(a), 2 * np.sin(a)]]
    np.testing.assert_allclose(evaluate(second, [a, b])[0], hessian, rtol=1e-14)


@pytest.mark.parametrize("name", ["planar", "stanford", slowly("manutec_r3"), slowly("panda")])
def test_inverse_dynamics_of_bundled_robots(name):
    robot = Robot.load(name)
    check(robot.program("inverse_dynamics"), state(robot, np.random.default_rng(3)))


@law(robots((1, 4), rotors=("exact", "reflected")), generators(), examples=6)
def test_inverse_dynamics_of_random_arms(robot, rng):
    check(robot.program("inverse_dynamics"), state(robot, rng))


@pytest.mark.parametrize("name", ["rp", "puma560"])
def test_by_wrench_and_parameters(name):
    """τ is linear in both: the derivatives are Jᵀ and the regressor."""
    robot = Robot.load(name)
    program = robot.program("inverse_dynamics", ["wrench", "parameters"])
    q, qd, qdd = state(robot, np.random.default_rng(4))
    inputs = [q, qd, qdd, np.arange(6.0), robot.parameters]
    by_wrench, by_parameters = evaluate(jacobian(program, ["wrench", "parameters"]), *inputs)
    (J,) = evaluate(robot.program("jacobian"), q)
    (Y,) = evaluate(robot.program("regressor"), q, qd, qdd)
    assert_close(by_wrench, J.T, 1e-12)
    assert_close(by_parameters, Y, 1e-12)


@pytest.mark.parametrize("name", ["scara", "puma560"])
def test_forward_dynamics_derivatives(name):
    robot = Robot.load(name)
    q, qd, tau = state(robot, np.random.default_rng(6))
    expected = complex_step(robot.program("forward_dynamics"), [q, qd, tau], ["q", "qd", "tau"])
    for x, y in zip(
        evaluate(robot.program("forward_dynamics_derivatives"), q, qd, tau), expected, strict=True
    ):
        assert_close(x, y, 1e-9)


def test_the_gradient_of_a_scalar_costs_a_few_times_the_scalar():
    ratios = []
    for n in (5, 10, 25):
        program = chain(n).program("kinetic_energy")
        ratios.append(_by_adjoints(program, ["q", "qd"]).operations / program.operations)
    assert max(ratios) <= 4
    assert max(ratios) <= 1.2 * min(ratios)


@pytest.mark.slow
def test_a_jacobian_costs_a_few_programs_per_joint():
    ratios = []
    for n in (4, 7, 10):
        program = chain(n).program("inverse_dynamics")
        ratios.append(jacobian(program, STATE).operations / (n * program.operations))
    assert max(ratios) <= 4
    assert ratios[-1] <= 1.2 * ratios[0]
