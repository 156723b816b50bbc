"""Random spatial loops: every function is that of the tree with its loops cut open, along closed motions.

How the joints follow is had from positions alone, by differences of assembled postures along a motion.
"""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import BaseMotion, Robot
from arms import assert_same, difference, gradient, slowly
from closed_chains import closed_states, random_loop

SEEDS = [0, *map(slowly, (*range(1, 8), *range(20, 30)))]
STEP = 1e-3
SHORT = 1e-4  # near singular postures energies bend sharply


def tree_of(robot: Robot) -> Robot:
    return Robot(replace(robot.model, loops=(), choice=None))


def along(q, qd, qdd):
    """The motion through a state."""
    return lambda t: q + qd * t + qdd * t * t / 2


@pytest.mark.parametrize("seed", SEEDS)
def test_every_function_is_that_of_the_tree_along_closed_motions(seed):
    robot = random_loop(seed)
    tree, rng = tree_of(robot), np.random.default_rng(seed)
    q, qd, qdd = (x[0] for x in closed_states(robot, rng, 1))
    path = along(q, qd, qdd)
    y, near = robot.assembly(q), robot.assembly(q)

    def closed(x):
        return robot.assembly(x, near=near)

    S = gradient(closed, q, STEP)
    yd = difference(lambda t: closed(path(t)), STEP)
    ydd = difference(lambda t: robot.joint_velocities(qd + qdd * t, path(t)), STEP)
    assert_same(robot.joint_positions(q), y)
    assert_same(robot.joint_velocities(qd, q), yd, 1e-8)
    yd = robot.joint_velocities(qd, q)  # exact, now that it has been checked
    S = np.stack([robot.joint_velocities(e, q) for e in np.eye(robot.n)], axis=-1)
    assert_same(S @ qd, yd)
    h, base = rng.normal(size=6), BaseMotion(*rng.normal(size=(3, 3)))
    tau = robot.inverse_dynamics(q, qd, qdd, h, base=base)
    assert_same(tau, S.T @ tree.inverse_dynamics(y, yd, ydd, h, base=base), 1e-8)
    assert_same(robot.forward_dynamics(q, qd, tau, h, base=base), qdd, 1e-8)
    assert_same(robot.inertia(q), S.T @ tree.inertia(y) @ S)
    assert_same(robot.gravity(q), S.T @ tree.gravity(y))
    assert_same(robot.springs(q), S.T @ tree.springs(y))
    assert_same(robot.friction(qd, q=q), S.T @ tree.friction(yd))
    assert_same(robot.kinetic_energy(q, qd), tree.kinetic_energy(y, yd))
    assert_same(robot.potential_energy(q), tree.potential_energy(y))
    assert_same(robot.pose(q), tree.pose(y))
    assert_same(robot.jacobian(q), tree.jacobian(y) @ S)
    assert_same(robot.jacobian_dot(q, qd), difference(lambda t: robot.jacobian(path(t)), STEP), 1e-7)
    assert_same(robot.regressor(q, qd, qdd), S.T @ tree.regressor(y, yd, ydd), 1e-8)


@pytest.mark.parametrize("seed", SEEDS)
def test_power_of_the_coordinates_is_the_rate_of_energy(seed):
    robot = random_loop(seed, friction=seed % 2 == 0)
    q, qd, qdd = closed_states(robot, np.random.default_rng(seed), 3)
    path = along(q, qd, qdd)
    energy = difference(
        lambda t: robot.kinetic_energy(path(t), qd + qdd * t) + robot.potential_energy(path(t)), SHORT
    )
    power = (robot.inverse_dynamics(q, qd, qdd) * qd).sum(-1)
    heat = (robot.friction(qd, q=q) * qd).sum(-1)
    scale = np.abs(power).max() + np.abs(robot.kinetic_energy(q, qd)).max()
    assert_same(power - heat, energy, 1e-9, scale)


@pytest.mark.parametrize("seed", SEEDS)
def test_terms_add_up_and_come_back(seed):
    robot = random_loop(seed)
    rng = np.random.default_rng(seed)
    q, qd, qdd = closed_states(robot, rng, 3)
    tau = robot.inverse_dynamics(q, qd, qdd)
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    parts = np.einsum("sij,sj->si", B, qdd) + np.einsum("sij,sj->si", C, qd)
    assert_same(parts + robot.gravity(q) + robot.springs(q) + robot.friction(qd, q=q), tau)
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, tau)
    qd_r, qdd_r = rng.normal(size=(2, *qd.shape))
    adaptive = robot.adaptive_regressor(q, qd, qd_r, qdd_r) @ robot.parameters
    other = np.einsum("sij,sj->si", B, qdd_r) + np.einsum("sij,sj->si", C, qd_r)
    assert_same(adaptive, other + robot.gravity(q) + robot.springs(q) + robot.friction(qd, q=q))
    condition = np.linalg.cond(B).max()
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-13 * max(100.0, condition))
    Bd = difference(lambda t: robot.inertia(q + qd * t), STEP)
    N = Bd - 2 * C
    assert_same(N, -N.transpose(0, 2, 1), 1e-7)
    assert_same(np.einsum("si,sij,sj->s", qd, N, qd), np.zeros(3), 1e-7, np.abs(Bd).max())


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_derivatives_are_those_of_differences(seed):
    robot = random_loop(seed)
    q, qd, qdd = (x[0] for x in closed_states(robot, np.random.default_rng(seed), 1))
    by_q, by_qd, by_qdd = robot.inverse_dynamics_derivatives(q, qd, qdd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(by_q, gradient(lambda x: robot.inverse_dynamics(x, qd, qdd), q, STEP), 1e-6)
    assert_same(by_qd, gradient(lambda x: robot.inverse_dynamics(q, x, qdd), qd, STEP), 1e-8)
    assert_same(by_qdd, robot.inertia(q))
    found = robot.forward_dynamics_derivatives(q, qd, tau)
    expected = [
        gradient(lambda x: robot.forward_dynamics(x, qd, tau), q, STEP),
        gradient(lambda x: robot.forward_dynamics(q, x, tau), qd, STEP),
        np.linalg.inv(robot.inertia(q)),
    ]
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b, 1e-6)


def test_parameters_of_one_robot_serve_another():
    robot, rng = random_loop(7), np.random.default_rng(7)
    q, qd, qdd = closed_states(robot, rng, 2)
    parameters = robot.parameters * rng.uniform(0.9, 1.1, robot.parameters.shape)
    other = robot.with_parameters(parameters)
    assert other.model.choice == robot.model.choice
    assert_same(robot.inverse_dynamics(q, qd, qdd, parameters=parameters), other.inverse_dynamics(q, qd, qdd))
    assert_same(robot.regressor(q, qd, qdd) @ parameters, other.inverse_dynamics(q, qd, qdd))
