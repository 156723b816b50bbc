"""Springs: torques and energy, power, regressor and torques, both forward dynamics, forces at joints."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot, dynamics
from armdyn.model.parts import NO_SPRING
from armdyn.model.robot_model import lower
from arms import ROTORS, assert_same, difference, generators, gradient, law, related, robots, state
from spring_arms import sprung


def with_springs(robot, rng, related_too=True):
    """The robot with springs, sometimes also with joints that follow others."""
    model = sprung(robot.model, int(rng.integers(1000)), struts=int(rng.integers(0, 4)))
    if related_too and robot.n > 1 and rng.random() < 0.5:
        model = related(model, int(rng.integers(1000)))
    return Robot(model)


@law(robots(rotors=ROTORS), generators(), examples=4)
def test_spring_torques_and_the_gradient_of_their_energy(robot, rng):
    """∂U/∂q = gravity + springs, and gravity is that of the robot without springs."""
    sprung_robot = with_springs(robot, rng)
    bare = Robot(replace(sprung_robot.model, links=without_springs(sprung_robot.model), springs=()))
    q, _, _ = state(sprung_robot, rng)
    total = sprung_robot.gravity(q) + sprung_robot.springs(q)
    assert_same(total, gradient(sprung_robot.potential_energy, q, 0.002), 1e-9)
    assert_same(sprung_robot.gravity(q), bare.gravity(q), 1e-13)
    assert np.abs(sprung_robot.springs(q)).max() > 0


def without_springs(model):
    return tuple(replace(link, spring=NO_SPRING) for link in model.links)


@law(robots(rotors=ROTORS, friction=False), generators(), examples=4)
def test_power_of_the_torques_and_the_rate_of_energy(robot, rng):
    """d/dt (T + U) = τᵀq̇ with the springs' energy in U (7.50)."""
    robot = with_springs(robot, rng)
    q, qd, qdd = state(robot, rng)

    def energy(t):
        at, speed = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        return robot.kinetic_energy(at, speed) + robot.potential_energy(at)

    assert_same(difference(energy, 0.001), robot.inverse_dynamics(q, qd, qdd) @ qd, 1e-8)


@law(robots(rotors=ROTORS), generators(), examples=4)
def test_regressors_and_torques(robot, rng):
    """Y π = τ, and Slotine and Li's Y with q̇_r = q̇ is the same."""
    robot = with_springs(robot, rng)
    q, qd, qdd = state(robot, rng, (3,))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, tau, 1e-12)
    assert_same(robot.adaptive_regressor(q, qd, qd, qdd) @ robot.parameters, tau, 1e-12)
    other = robot.parameters * rng.uniform(0.5, 1.5, robot.parameters.shape)
    assert_same(
        robot.regressor(q, qd, qdd) @ other, robot.inverse_dynamics(q, qd, qdd, parameters=other), 1e-12
    )
    assert_same(robot.springs(q, parameters=robot.parameters), robot.springs(q), 1e-12)


@law(robots(rotors=ROTORS), generators(), examples=4)
def test_forward_dynamics_and_inverse_dynamics(robot, rng):
    """By factorised inertia, by articulated bodies where they are possible, and back; B has no springs."""
    robot = with_springs(robot, rng)
    q, qd, qdd = state(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-8)
    mechanism = lower(robot.model, robot.model.number)
    assert_same(dynamics.forward_dynamics(mechanism, q, qd, tau), qdd, 1e-8)
    if dynamics.articulated_is_possible(mechanism):
        assert_same(dynamics.forward_dynamics_articulated(mechanism, q, qd, tau), qdd, 1e-8)
    assert_same(dynamics.inertia_by_unit_accelerations(mechanism, q), robot.inertia(q), 1e-10)


@law(robots(motors="parent", couplings=False), generators(), examples=4)
def test_articulated_bodies_with_springs(robot, rng):
    robot = with_springs(robot, rng, related_too=False)
    q, qd, qdd = state(robot, rng)
    mechanism = lower(robot.model, robot.model.number)
    assert dynamics.articulated_is_possible(mechanism)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(dynamics.forward_dynamics_articulated(mechanism, q, qd, tau), qdd, 1e-8)


@law(robots(motors="none", friction=False), generators(), examples=4)
def test_forces_at_joints_and_torques(robot, rng):
    """zᵀμ (or zᵀf) is the drive's torque less what the spring at the joint gives: springs between points
    load the joints, a spring at a joint is part of it."""
    robot = with_springs(robot, rng, related_too=False)
    q, qd, qdd = state(robot, rng)
    wrenches = robot.joint_wrenches(q, qd, qdd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    number = robot.model.number
    for i, link in enumerate(robot.model.moving):
        spring = number(link.spring.stiffness) * (q[i] - number(link.spring.rest))
        R = np.array([[number(x) for x in row] for row in link.after.R])
        z = R.T @ [number(x) for x in link.axis]
        half = wrenches[i, 3:] if link.joint == "revolute" else wrenches[i, :3]
        assert_same(z @ half, tau[i] - spring, 1e-10, scale=np.abs(tau).max())


def test_a_robot_without_springs_has_no_spring_torques():
    robot = Robot.load("puma560")
    assert np.array_equal(robot.springs(np.ones((3, 6))), np.zeros((3, 6)))


@pytest.mark.parametrize("name", ["four_bar", "five_bar"])
def test_springs_of_closed_chains_and_the_gradient_of_their_energy(name):
    """Springs at joints that follow, and between links of the loop."""
    robot = Robot(sprung(Robot.load(name).model, 2, struts=2))
    q = np.full(robot.n, 0.5)
    total = robot.gravity(q) + robot.springs(q)
    assert np.abs(robot.springs(q)).max() > 1
    assert_same(total, gradient(robot.potential_energy, q, 0.002), 1e-8)
    tau = robot.inverse_dynamics(q, 0 * q, 0 * q)
    assert_same(tau, total, 1e-10)
    assert_same(robot.regressor(q, 0 * q, 0 * q) @ robot.parameters, tau, 1e-10)
