"""B and C: symmetric, positive, three ways the same; C is Christoffel's."""

import numpy as np

from armdyn import Equations, Robot, dynamics
from armdyn.exact.basis import over_ring
from armdyn.model import lower
from arms import ROTORS, assert_same, difference, exact_array, generators, law, models, robots, state


@law(robots(rotors=ROTORS), generators())
def test_inertia_matrix_and_its_transpose(robot, rng):
    """B = Bᵀ > 0 for arms with masses."""
    B = robot.inertia(state(robot, rng)[0])
    assert_same(B, B.T, 1e-13)
    assert np.linalg.eigvalsh(B).min() > 0


@law(robots(rotors=ROTORS), generators())
def test_inertia_by_composites_and_by_unit_accelerations_and_by_jacobians(robot, rng):
    q, _, _ = state(robot, rng)
    mechanism = lower(robot.model, robot.model.number)
    B = robot.inertia(q)
    assert_same(dynamics.inertia_matrix(mechanism, q), B)
    assert_same(dynamics.inertia_by_unit_accelerations(mechanism, q), B)
    assert_same(dynamics.inertia_by_jacobians(mechanism, q), B)


@law(models((1, 4), rotors=ROTORS), examples=8)
def test_inertia_three_ways_over_the_exact_ring(model):
    """The same, as identities, and equal to ∂²T/∂q̇∂q̇."""
    equations = Equations(model)
    basis = equations.basis
    mechanism = over_ring(basis.exact, basis.full, basis.values, basis.layout)
    q, _, _ = basis.full.joint_variables()
    for way in (
        dynamics.inertia_matrix,
        dynamics.inertia_by_unit_accelerations,
        dynamics.inertia_by_jacobians,
    ):
        B = way(mechanism, q)
        for i in range(model.n):
            for j in range(model.n):
                assert basis.full.zero + B[i][j] == equations.B[i, j].expanded, (way.__name__, i, j)


@law(robots(rotors=ROTORS), generators())
def test_inertia_rate_and_coriolis(robot, rng):
    """Ḃ − 2C is skew-symmetric: Ḃ = C + Cᵀ."""
    q, qd, _ = state(robot, rng)
    C = robot.coriolis(q, qd)
    assert_same(C + C.T, difference(lambda t: robot.inertia(q + qd * t)), 1e-9)


@law(robots(rotors=ROTORS), generators())
def test_coriolis_and_christoffel_symbols(robot, rng):
    """c_ij = Σ_k ½(∂b_ij/∂q_k + ∂b_ik/∂q_j − ∂b_jk/∂q_i) q̇_k (7.44)–(7.45), symbols by differences."""
    q, qd, _ = state(robot, rng)
    d = np.stack(
        [difference(lambda t, e=e: robot.inertia(q + t * e)) for e in np.eye(robot.n)], axis=-1
    )  # ∂b_ij/∂q_k
    c = (d + d.transpose(0, 2, 1) - d.transpose(2, 0, 1)) / 2
    assert_same(robot.coriolis(q, qd), c @ qd, 1e-9)


@law(robots(rotors=ROTORS), generators())
def test_coriolis_is_linear_in_the_speeds_and_symmetric_in_them(robot, rng):
    """C(q, a) b = C(q, b) a, which no other choice of C has."""
    q, a, b = state(robot, rng)
    assert_same(robot.coriolis(q, a) @ b, robot.coriolis(q, b) @ a)
    assert_same(robot.coriolis(q, 2 * a - b), 2 * robot.coriolis(q, a) - robot.coriolis(q, b))


@law(models((1, 3), rotors=ROTORS), generators(), examples=10)
def test_coriolis_recursion_and_exact_christoffel(model, rng):
    """The recursion in floats, and the closed form evaluated at the same numbers."""
    robot, equations = Robot(model), Equations(model)
    q, qd, _ = state(robot, rng)
    assert_same(robot.coriolis(q, qd), exact_array(equations, equations.C, q, qd))


@law(models((1, 4), rotors=ROTORS), examples=8)
def test_coriolis_recursion_over_the_exact_ring(model):
    """The recursion and Christoffel's symbols, as identities; Ḃ − 2C skew with the recursion's C."""
    equations = Equations(model)
    basis, n = equations.basis, model.n
    mechanism = over_ring(basis.exact, basis.full, basis.values, basis.layout)
    q, qd, _ = basis.full.joint_variables()
    C = [[basis.full.zero + x for x in row] for row in dynamics.coriolis_matrix(mechanism, q, qd)]
    for i in range(n):
        for j in range(n):
            assert C[i][j] == equations.C[i, j].expanded, (i, j)
            assert C[i][j] + C[j][i] == equations.B_dot[i, j].expanded, (i, j)


def test_another_choice_of_coriolis_is_not_skew():
    """So that the test of skewness can fail: h_ijk of (7.41) gives the same torques but another C."""
    equations = Robot.load("planar").equations()
    N = equations.skew(equations.coriolis("h"))
    assert not (N[0, 1] + N[1, 0]).is_zero
    assert all((equations.N[i, j] + equations.N[j, i]).is_zero for i in range(2) for j in range(2))
