"""Derivatives of inverse and forward dynamics, against differences of sixth order."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from arms import ROTORS, assert_same, generators, gradient, law, robots, rotors_turn, state


@law(robots((1, 4), rotors=ROTORS), generators(), st.booleans(), examples=12)
def test_inverse_dynamics_derivatives_and_differences(robot, rng, loaded):
    q, qd, qdd = state(robot, rng)
    assume(rotors_turn(robot, qd))
    wrench = rng.uniform(-9, 9, 6) if loaded else None
    found = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench)
    expected = (
        gradient(lambda x: robot.inverse_dynamics(x, qd, qdd, wrench), q),
        gradient(lambda x: robot.inverse_dynamics(q, x, qdd, wrench), qd, 1e-3),
        gradient(lambda x: robot.inverse_dynamics(q, qd, x, wrench), qdd),
    )
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b, 1e-9, scale=np.abs(found[0]).max())
    assert_same(found[2], robot.inertia(q), 1e-12)


@law(robots((1, 4), rotors=ROTORS), generators(), st.booleans(), examples=12)
def test_forward_dynamics_derivatives_and_differences(robot, rng, loaded):
    q, qd, tau = state(robot, rng)
    assume(rotors_turn(robot, qd))
    wrench = rng.uniform(-9, 9, 6) if loaded else None
    found = robot.forward_dynamics_derivatives(q, qd, tau, wrench)
    expected = (
        gradient(lambda x: robot.forward_dynamics(x, qd, tau, wrench), q, 2e-3),
        gradient(lambda x: robot.forward_dynamics(q, x, tau, wrench), qd, 1e-3),
        gradient(lambda x: robot.forward_dynamics(q, qd, x, wrench), tau),
    )
    for a, b in zip(found, expected, strict=True):
        assert_same(a, b, 1e-6)
    assert_same(found[2] @ robot.inertia(q), np.eye(robot.n), 1e-9, np.abs(found[2]).max())


@law(robots((1, 4), rotors=ROTORS), generators(), examples=10)
def test_forward_and_inverse_dynamics_derivatives(robot, rng):
    """∂q̈/∂q = −B⁻¹ ∂τ/∂q, ∂q̈/∂q̇ = −B⁻¹ ∂τ/∂q̇, taken at the same motion."""
    q, qd, qdd = state(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)
    by_q, by_qd, B = robot.inverse_dynamics_derivatives(q, qd, qdd)
    forward_q, forward_qd, forward_tau = robot.forward_dynamics_derivatives(q, qd, tau)
    scale = np.abs(by_q).max() + np.abs(by_qd).max()
    assert_same(B @ forward_q, -by_q, 1e-9, scale)
    assert_same(B @ forward_qd, -by_qd, 1e-9, scale)
    assert_same(B @ forward_tau, np.eye(robot.n), 1e-9)
