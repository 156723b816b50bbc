"""Hessians of programs: one sweep backwards, and derivatives of derivatives."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.program import OPS, Program, evaluate, hessian, jacobian, record, split, tangents
from armdyn.program.program import inline
from arms import assert_same, generators, law, robots, state

INPUTS = [("x", 3), ("p", 1), ("y", 2)]


def nested(program, by):
    """Derivatives of the adjoint, all of them: symmetric by itself, not by construction."""
    first = jacobian(program, by)
    rows = Program(first.inputs, (("slopes", (len(first.results),)),), first.nodes, first.results)
    return tangents(rows, by)


def check(program, by, *values, tolerance=1e-12):
    found = hessian(program, by)
    (H,) = evaluate(found, *values)
    expected = np.concatenate(evaluate(nested(program, by), *values), axis=-1)
    assert_same(H, expected, tolerance, max(1e-9, np.abs(expected).max()))
    np.testing.assert_array_equal(H, np.swapaxes(H, -1, -2))
    return found


def scalar(function):
    return record(lambda *columns: [function(*columns)], INPUTS, [("f", (1,))])


FUNCTIONS = {
    "a square of a node": lambda x, p, y: (x[0] * x[1] + p[0]) * (x[0] * x[1] + p[0]) * y[0],
    "a node that is both arguments": lambda x, p, y: (x[0].sin() * x[0].sin()).exp() * y[1],
    "a quotient by itself": lambda x, p, y: (x[0] + y[0]) / (x[0] * y[0] + 2) / (x[0] + y[0]),
    "roots and bells": lambda x, p, y: (x[0] * x[0] + y[0] * y[0]).sqrt() * (-(x[1] * x[1])).exp(),
    "smooth signs": lambda x, p, y: (x[2] * y[1]).tanh() * abs(x[0] - y[0] * x[1]) * p[0],
    "choices": lambda x, p, y: (x[0] * y[0]).minimum(x[1] * x[1]) * x[2].maximum(y[1] * x[0]),
    "a branch": lambda x, p, y: (x[0] - y[0]).select(x[1] * x[1] * x[2], y[1].sin() * x[1]),
    "an input": lambda x, p, y: x[1],
    "a constant": lambda x, p, y: 3,
    "a product of all": lambda x, p, y: x[0] * x[1] * x[2] * p[0] * y[0] * y[1] * y[1],
    "an argument of its own function": lambda x, p, y: (
        ((x[0] * y[0]).sin() * x[0] * y[0]) - x[0] * (x[0] * y[0])
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hessian_and_derivatives_of_the_gradient(name):
    rng = np.random.default_rng(0)
    values = [rng.uniform(0.2, 1.5, (7, size)) for _, size in INPUTS]
    program = scalar(FUNCTIONS[name])
    check(program, ["x", "y"], *values)
    check(program, ["y"], *values)
    check(program, ["y", "p", "x"], *values)


@pytest.mark.parametrize("operation", OPS)
def test_every_operation(operation):
    row = OPS[operation]

    def function(x):
        arguments = [x[0] * x[1], x[1] + x[2] * x[2], x[0] * x[2]][: row.arity]
        tape = x[0].tape
        return [type(x[0])(tape, tape.apply(operation, *(a.index for a in arguments))) * x[2]]

    program = record(function, [("x", 3)], [("f", (1,))])
    check(program, ["x"], np.random.default_rng(1).uniform(0.3, 1.2, (5, 3)))


@law(robots((1, 3), rotors=("exact", "reflected")), generators(), examples=3)
def test_torques_of_random_arms(robot, rng):
    torques, weights = robot.program("inverse_dynamics"), rng.uniform(-1, 1, robot.n)

    def weighted(*columns):
        (tau,) = inline(torques, columns)
        return [sum(w * x for w, x in zip(weights, tau, strict=True))]

    program = record(weighted, torques.inputs, [("sum", (1,))])
    check(program, ["q", "qd", "qdd"], *state(robot, rng), tolerance=1e-11)


def test_one_sweep_takes_fewer_operations_than_nesting():
    program = Robot.load("puma560").program("kinetic_energy")
    by = ["q", "qd"]
    assert hessian(program, by).operations < 0.8 * nested(program, by).operations


def test_tangents_of_several_outputs_are_jacobians_one_above_the_other():
    program = Robot.load("rp").program("inverse_dynamics_derivatives")
    by, values = ["q", "qdd"], np.random.default_rng(2).uniform(0.3, 1, (3, 2))
    found = evaluate(tangents(program, by), *values)
    for k, x in enumerate(found):
        expected = []
        for name, shape in program.outputs:
            place = [name for name, _ in program.outputs].index(name)
            results = program.results[4 * place : 4 * place + 4]
            one = Program(program.inputs, ((name, (4,)),), program.nodes, results)
            expected.append(evaluate(jacobian(one, [by[k]]), *values)[0])
            assert shape == (2, 2)
        assert_same(x, np.concatenate(expected, axis=-2), 1e-13)


def test_parts_of_a_program_that_need_its_last_input_and_that_do_not():
    def function(x, y, z):
        a = (x[0] * x[1]).sin() + y[0]
        return [a * z[0], z[1] * x[1], a, 3], [a - x[0]]

    program = record(function, [("x", 2), ("y", 1), ("z", 2)], [("f", (4,)), ("g", (1,))])
    rng = np.random.default_rng(3)
    x, y, z = (rng.uniform(0.5, 1, (6, size)) for _, size in program.inputs)
    expected = evaluate(program, x, y, z)
    first, rest = split(program, "z", apart=1)
    kept, g = evaluate(first, x, y)
    (f,) = evaluate(rest, kept, z)
    assert "sin" not in rest.counts
    assert_same(f, expected[0], 1e-14)
    assert_same(g, expected[1], 1e-14)
    with pytest.raises(ValueError, match="is not the last input"):
        split(program, "y")
