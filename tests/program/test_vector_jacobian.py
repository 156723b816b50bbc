"""Vector–Jacobian products of programs: one reverse sweep gives what the rows of Jacobians add up to."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels.derivatives import adjoint_of, tangent_of
from armdyn.program import evaluate, jacobian, record, vector_jacobian
from arms import assert_same, generators, law, robots, state
from kernel_tools import arguments


def mixed(x, y):
    """Several outputs; one node is a result twice, one result is an input, one a constant."""
    a = (x[0] * y[1]).sin() / (2 + x[1] * x[1])
    b = abs(a - y[0]).sqrt() * y[0].sign() + x[2].exp().minimum(y[1])
    return [[a, b], [b, x[2] * a]], a, [y[0], 3]


INPUTS, OUTPUTS = [("x", 3), ("y", 2)], [("A", (2, 2)), ("b", ()), ("c", (2,))]


def by_jacobians(function, inputs, outputs, by, values, cotangents):
    """The same from the Jacobian of each output."""
    total = [0.0] * len(by)
    for k, (name, shape) in enumerate(outputs):
        one = record(lambda *columns, k=k: function(*columns)[k], inputs, [(name, shape)])
        slopes = evaluate(jacobian(one, by), *values)
        total = [t + cotangents[k] @ J for t, J in zip(total, slopes, strict=True)]
    return total


def test_several_outputs_and_shapes():
    rng = np.random.default_rng(4)
    program = vector_jacobian(record(mixed, INPUTS, OUTPUTS), ["y", "x"])
    assert [size for _, size in program.inputs] == [3, 2, 4, 1, 2]
    assert [shape for _, shape in program.outputs] == [(2,), (3,)]
    for _ in range(5):
        values = [rng.uniform(0.1, 1, 3), rng.uniform(0.1, 1, 2)]
        cotangents = [rng.uniform(-1, 1, size) for size in (4, 1, 2)]
        expected = by_jacobians(mixed, INPUTS, OUTPUTS, ["y", "x"], values, cotangents)
        for found, row in zip(evaluate(program, *values, *cotangents), expected, strict=True):
            assert_same(found, row, 1e-13)


def test_names_stay_different_in_products_of_products():
    program = record(lambda x: [x[0] * x[1].sin()], [("x", 2)], [("y", (1,))])
    twice = vector_jacobian(vector_jacobian(program, ["x"]), ["x", "cotangent 0"])
    assert [name for name, _ in twice.inputs] == ["x", "cotangent 0", "cotangent 1"]
    a, b, c, v = 0.3, 0.7, 1.9, np.array([0.4, -0.6])
    by_x, by_c = evaluate(twice, [a, b], [c], v)
    hessian = c * np.array([[0, np.cos(b)], [np.cos(b), -a * np.sin(b)]])
    assert_same(by_x, hessian @ v, 1e-15)
    assert_same(by_c, [np.array([np.sin(b), a * np.cos(b)]) @ v], 1e-15)


def test_a_jump_has_slope_zero_and_an_unused_input_too():
    program = record(lambda x, y: [x[0].sign(), 3 * y[0]], [("x", 2), ("y", 1)], [("z", (2,))])
    by_x, by_y = evaluate(vector_jacobian(program, ["x", "y"]), [0.0, 1.0], [2.0], [5.0, 7.0])
    np.testing.assert_array_equal(by_x, [0, 0])
    np.testing.assert_array_equal(by_y, [21])


@law(robots((1, 3), rotors=("exact", "reflected")), generators(), examples=3)
def test_inverse_dynamics_of_random_arms(robot, rng):
    q, qd, qdd = state(robot, rng)
    inputs = [q, qd, qdd, rng.uniform(-5, 5, 6), robot.parameters]
    by = ["q", "qd", "qdd", "wrench", "parameters"]
    program = robot.program("inverse_dynamics", ["wrench", "parameters"])
    c = rng.uniform(-1, 1, robot.n)
    found = evaluate(vector_jacobian(program, by), *inputs, c)
    for x, J in zip(found, evaluate(jacobian(program, by), *inputs), strict=True):
        assert_same(x, c @ J, 1e-11)


@pytest.mark.parametrize("name", ["inverse_dynamics", "inertia", "kinetic_energy", "regressor"])
def test_a_sweep_costs_a_few_times_the_function(name):
    program = Robot.load("puma560").program(name)
    by = [name for name, _ in program.inputs]
    assert vector_jacobian(program, by).operations <= 4 * program.operations


def test_kernels_are_made_once_and_robots_of_one_structure_share_code():
    robot = Robot.load("rp")
    other = robot.with_payload(0.5)
    inputs = arguments(robot, "coriolis", (3,))
    cotangents = np.random.default_rng(2).uniform(-1, 1, (3, 4))
    for one in (robot, other):
        kernel = one._kernels["coriolis"]
        adjoint = adjoint_of(kernel, ["q", "qd"])
        assert adjoint is adjoint_of(kernel, ["q", "qd"])
        expected = evaluate(vector_jacobian(one.program("coriolis"), ["q", "qd"]), *inputs, cotangents)
        for x, y in zip(adjoint(*inputs, cotangents), expected, strict=True):
            assert_same(x, y, 1e-13)
    shared = [adjoint_of(x._kernels["coriolis"], ["q", "qd"]).specification.shared for x in (robot, other)]
    assert shared[0].specification.identity == shared[1].specification.identity


def test_tangents_and_gradients_agree():
    """c · (J v) = (Jᵀ c) · v, and again for the tangent's own."""
    robot, rng = Robot.load("rp"), np.random.default_rng(5)
    q, qd = arguments(robot, "coriolis", (3,))
    v, w, c = rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (3, 2)), rng.uniform(-1, 1, (3, 4))
    kernel = robot._kernels["coriolis"]
    tangent, by_q, by_qd = tangent_of(kernel, ["q", "qd"]), *adjoint_of(kernel, ["q", "qd"])(q, qd, c)
    found = (c * tangent(q, qd, v, w).reshape(3, 4)).sum(-1)
    assert_same(found, (by_q * v + by_qd * w).sum(-1), 1e-13)
    twice = tangent_of(tangent_of(kernel, ["q"]), ["q"])
    h = 1e-5
    near = [tangent_of(kernel, ["q"])(q + s * h * w, qd, v) for s in (1, -1)]
    assert_same(twice(q, qd, v, w), (near[0] - near[1]) / (2 * h), 1e-8)
