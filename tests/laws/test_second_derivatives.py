"""Second derivatives of inverse and forward dynamics, and their products with multipliers."""

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from arms import ROTORS, assert_same, generators, gradient, law, robots, rotors_turn, state


def check_inverse(robot, state, multipliers, wrench=None, tolerance=1e-8):
    """Tensors and products against differences of sixth order of the first derivatives."""
    n, (q, qd, qdd) = robot.n, state
    first = robot.inverse_dynamics_derivatives
    found = robot.inverse_dynamics_second_derivatives(q, qd, qdd, wrench)
    by_q = [gradient(lambda x, k=k: first(x, qd, qdd, wrench)[k], q) for k in range(3)]
    by_qd = [gradient(lambda x, k=k: first(q, x, qdd, wrench)[k], qd, 1e-3) for k in range(3)]
    size = max(np.abs(x).max() for x in (*by_q, *by_qd))
    for x, y in zip(found, (*by_q, by_qd[1]), strict=True):
        assert_same(x, y, tolerance, size)
    assert_same(by_qd[2], np.zeros((n, n, n)), tolerance, size)  # what is not among them
    product = robot.inverse_dynamics_hessian_product(q, qd, qdd, multipliers, wrench=wrench)
    assert_same(product, assembled(found, multipliers), 1e-11, size)


def check_forward(robot, state, multipliers, wrench=None, tolerance=1e-5):
    q, qd, tau = state
    first = robot.forward_dynamics_derivatives
    found = robot.forward_dynamics_second_derivatives(q, qd, tau, wrench)
    by_q = [gradient(lambda x, k=k: first(x, qd, tau, wrench)[k], q, 2e-3) for k in range(3)]
    by_qd = [gradient(lambda x, k=k: first(q, x, tau, wrench)[k], qd, 1e-3) for k in range(3)]
    size = max(np.abs(x).max() for x in (*by_q, *by_qd))
    for x, y in zip(found, (*by_q, by_qd[1]), strict=True):
        assert_same(x, y, tolerance, size)
    product = robot.forward_dynamics_hessian_product(q, qd, tau, multipliers, wrench=wrench)
    assert_same(product, assembled(found, multipliers), 1e-9, size)


def assembled(tensors, multipliers):
    """λᵀ of all second derivatives, by blocks; the last is zero, and that by q̇ and the third."""
    qq, qd_q, third_q, qd_qd = (np.einsum("i,ijk->jk", multipliers, x) for x in tensors)
    zero = np.zeros_like(qq)
    return np.block([[qq, qd_q.T, third_q.T], [qd_q, qd_qd, zero], [third_q, zero, zero]])


@law(robots((1, 4), rotors=ROTORS), generators(), st.booleans(), examples=8)
def test_inverse_dynamics_and_differences(robot, rng, loaded):
    at = state(robot, rng)
    assume(rotors_turn(robot, at[1]))
    check_inverse(robot, at, rng.uniform(-2, 2, robot.n), rng.uniform(-9, 9, 6) if loaded else None)


@law(robots((1, 4), rotors=ROTORS), generators(), st.booleans(), examples=8)
def test_forward_dynamics_and_differences(robot, rng, loaded):
    at = state(robot, rng)
    assume(rotors_turn(robot, at[1]))
    check_forward(robot, at, rng.uniform(-2, 2, robot.n), rng.uniform(-9, 9, 6) if loaded else None)
