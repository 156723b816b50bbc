"""B q̇ and Cᵀ q̇ by one recursion: equal to the matrices, and linear in the parameters."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.dynamics.momentum import momentum, momentum_regressor
from armdyn.model.parameters import layout
from armdyn.program import record
from armdyn.program.evaluate import evaluate
from arms import ROTORS, assert_same, generators, law, models, related, robots, slowly, state
from closed_chains import closed_states, random_loop


def agrees(robot, q, qd, positions=None):
    n, columns = robot.n, layout(robot.model)
    y = q if positions is None else positions
    inputs, both = [("q", len(y)), ("qd", n)], [("p", (n, len(columns))), ("d", (n, len(columns)))]
    M = robot.mechanism
    program = record(lambda q, qd: momentum(M, q, qd), inputs, [("p", (n,)), ("d", (n,))])
    p, d = evaluate(program, y, qd)
    Y_p, Y_d = evaluate(record(lambda q, qd: momentum_regressor(M, q, qd, columns), inputs, both), y, qd)
    scale = max(np.abs(Y_p * robot.parameters).max(), np.abs(Y_d * robot.parameters).max())
    assert_same(p, robot.inertia(q) @ qd, 1e-11, scale)
    assert_same(d, robot.coriolis(q, qd).T @ qd, 1e-11, scale)
    assert_same(Y_p @ robot.parameters, p, 1e-12, scale)
    assert_same(Y_d @ robot.parameters, d, 1e-12, scale)


@law(robots(rotors=ROTORS), generators(), examples=6, thorough=50)
def test_momenta_and_the_matrices(robot, rng):
    q, qd, _ = state(robot, rng)
    agrees(robot, q, qd)


@law(models((2, 4), rotors=ROTORS), generators(), examples=3, thorough=20)
def test_momenta_and_the_matrices_of_related_joints(model, rng):
    robot = Robot(related(model, int(rng.integers(2**31))))
    q, qd, _ = state(robot, rng)
    agrees(robot, q, qd)


@pytest.mark.parametrize("seed", [0, *map(slowly, range(1, 6))])
def test_momenta_and_the_matrices_of_closed_chains(seed):
    robot = random_loop(seed)
    q, qd, _ = (x[0] for x in closed_states(robot, np.random.default_rng(seed), 1))
    agrees(robot, q, qd, robot.assembly(q))
