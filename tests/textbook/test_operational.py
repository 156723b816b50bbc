"""Section 7.8 on random arms: (7.127)–(7.141), problems 7.10 and 7.11."""

import numpy as np
import pytest
from hypothesis import assume

from armdyn import Robot, backend
from armdyn.analysis import operational
from arms import assert_same, generators, law, robots
from regular_states import regular_model

ARMS = robots((2, 6), tree=False)
REDUNDANT = ("panda", "planar3", "scara")


@pytest.fixture(autouse=True)
def _evaluator():
    with backend("evaluator"):
        yield


def redundant(name):
    """A robot and a task with fewer rows than joints."""
    return Robot.load(name), {"panda": {}, "planar3": {"rows": (0, 1)}, "scara": {"rows": (0, 2)}}[name]


def condition(robot, q, found):
    """How much rounding is blown up."""
    return np.linalg.cond(found.J_A) ** 2 * np.linalg.cond(robot.inertia(q))


def along(robot, q, qd, task, h):
    """The models at q + t q̇ for t = ±h, ±2h, ±3h, and what differentiates them with respect to t."""
    steps = h * np.array([-3, -2, -1, 1, 2, 3])
    model = operational(
        robot, q + steps[:, None] * qd, qd, representation=task.representation, rows=task.rows, damping=1e-9
    )
    weights = np.array([-1, 9, -45, 45, -9, 1]) / (60 * h)
    return model, lambda values: np.tensordot(weights, values, 1)


@law(ARMS, generators(), examples=8)
def test_analytical_jacobian_is_the_derivative_of_position_and_angles(robot, rng):
    """(3.62), and its time derivative in (3.98)."""
    for representation in ("rpy", "zyz"):
        q, qd, found = regular_model(robot, rng, representation=representation)
        margin = min(1.0, float(found.margin))
        for direction in (qd, rng.normal(size=robot.n)):
            near, rate = along(robot, q, direction, found.task, 0.002 * margin)
            off = near.x - found.x
            angular = np.array(found.task.rows) > 2
            off = np.where(angular, (off + np.pi) % (2 * np.pi) - np.pi, off)
            scale = np.abs(found.J_A).max() / margin**3
            assert_same(rate(off), found.J_A @ direction, 1e-7, scale)
        near, rate = along(robot, q, qd, found.task, 0.002 * margin)
        assert_same(rate(near.J_A), found.Jdot_A, 1e-7, scale)
        assert_same(found.xd, found.J_A @ qd)


@law(ARMS, generators(), examples=8)
def test_model_of_arms_without_redundant_joints(robot, rng):
    """(7.134)–(7.136): B_A = J⁻ᵀ B J⁻¹, C_A ẋ = J⁻ᵀ C q̇ − B_A J̇ q̇, g_A = J⁻ᵀ g."""
    for representation in ("rpy", "zyz", "geometric"):
        q, qd, found = regular_model(robot, rng, representation=representation)
        assume(found.task.m == robot.n)
        tolerance = 1e-14 * condition(robot, q, found)
        inverse = np.linalg.inv(found.J_A)
        assert_same(found.B_A, inverse.T @ robot.inertia(q) @ inverse, tolerance)
        expected = inverse.T @ robot.coriolis(q, qd) @ qd - found.B_A @ found.Jdot_A @ qd
        assert_same(found.C_A_xd, expected, tolerance)
        assert_same(found.g_A, inverse.T @ robot.gravity(q), tolerance)
        assert_same(found.consistent_inverse, inverse, tolerance)
        assert_same(found.null_space, np.zeros((robot.n, robot.n)), tolerance, np.abs(inverse).max())
        assert_same(found.C_A @ found.xd, found.C_A_xd, tolerance)
        energy = found.xd @ found.B_A @ found.xd / 2
        assert_same(energy, robot.kinetic_energy(q, qd), tolerance)


@law(ARMS, generators(), examples=8)
def test_problem_7_10_skew_symmetry(robot, rng):
    """Ḃ_A − 2 C_A is skew, with Ḃ_A by differences along the motion."""
    for representation in ("rpy", "geometric"):
        q, qd, found = regular_model(robot, rng, representation=representation)
        assume(found.task.m == robot.n)
        assume(condition(robot, q, found) < 1e8)
        margin = min(1.0, float(found.margin))
        near, rate = along(robot, q, qd, found.task, 0.002 * margin)
        N = rate(near.B_A) - 2 * found.C_A
        assert_same(N, -N.T, 1e-6, np.abs(found.B_A).max() / margin**2)


@pytest.mark.parametrize("name", ["planar", "elbow", "puma560"])
def test_problem_7_10_on_bundled_arms(name):
    """The symmetric part of Ḃ_A − 2 C_A is nothing beside Ḃ_A."""
    robot = Robot.load(name)
    q, qd, found = regular_model(robot, np.random.default_rng(8))
    near, rate = along(robot, q, qd, found.task, 0.004)
    Bdot = rate(near.B_A)
    N = Bdot - 2 * found.C_A
    assert np.abs(N + N.T).max() <= 1e-8 * np.abs(Bdot).max()


@law(ARMS, generators(), examples=8)
def test_torques_for_a_tip_acceleration_give_it(robot, rng):
    """(7.133), (7.141) against forward dynamics: friction, tip wrench and any τ_0 included."""
    q, qd, _ = regular_model(robot, rng)
    wrench = rng.normal(size=6) * 20
    found = operational(robot, q, qd, wrench=wrench)
    xdd, tau0 = rng.normal(size=found.task.m) * 3, rng.normal(size=robot.n) * 10
    tau = found.torques(xdd, tau0)
    qdd = robot.forward_dynamics(q, qd, tau, wrench)
    size = np.abs(found.J_A).max() * np.abs(qdd).max()
    assert_same(found.J_A @ qdd + found.Jdot_A @ qd, xdd, 1e-9, size)
    assert_same(found.acceleration(tau), xdd, 1e-9, size)


@law(ARMS, generators(), examples=8)
def test_direct_dynamics_is_that_of_the_joints(robot, rng):
    """(7.129)."""
    q, qd, _ = regular_model(robot, rng)
    wrench, tau = rng.normal(size=6) * 20, rng.normal(size=robot.n) * 50
    found = operational(robot, q, qd, wrench=wrench)
    expected = found.J_A @ robot.forward_dynamics(q, qd, tau, wrench) + found.Jdot_A @ qd
    assert_same(found.acceleration(tau), expected, 1e-9)
    h_A = rng.normal(size=found.task.m)
    inverse_inertia = np.linalg.inv(found.B_A)
    by_model = inverse_inertia @ (
        found.consistent_inverse.T @ tau - found.C_A_xd - found.g_A - found.friction_A - h_A
    )
    assert_same(found.acceleration(tau, h_A), by_model, 1e-15 * condition(robot, q, found) + 1e-9)


@pytest.mark.parametrize("representation", ["rpy", "zyz"])
def test_wrench_in_the_rows_of_the_task(representation):
    """(7.128): h_A = T_Aᵀ h_e, with T_A from J = T_A J_A."""
    robot, rng = Robot.load("puma560"), np.random.default_rng(3)
    q, qd, found = regular_model(robot, rng, representation=representation)
    T = robot.jacobian(q) @ np.linalg.inv(found.J_A)
    h = rng.normal(size=6)
    assert_same(operational(robot, q, qd, representation=representation, wrench=h).h_A, T.T @ h, 1e-9)


@pytest.mark.parametrize("name", REDUNDANT)
def test_null_space_torques_do_not_move_the_tip(name):
    """(7.141): the second term leaves ẍ as it is, but moves the joints."""
    robot, choices = redundant(name)
    rng = np.random.default_rng(4)
    for _ in range(5):
        q, qd, found = regular_model(robot, rng, **choices)
        assert found.task.m < robot.n
        internal = found.null_space @ (rng.normal(size=robot.n) * 10)
        tau = rng.normal(size=robot.n)
        change = robot.forward_dynamics(q, qd, tau + internal) - robot.forward_dynamics(q, qd, tau)
        assert np.abs(found.J_A @ change).max() <= 1e-9 * max(1.0, np.abs(change).max())
        assert np.abs(change).max() > 1e-3
        assert_same(found.consistent_inverse.T @ internal, np.zeros(found.task.m), 1e-9)
        assert_same(found.null_space @ found.null_space, found.null_space, 1e-9)


@pytest.mark.parametrize("name", REDUNDANT)
def test_problem_7_11_every_solution_has_the_form(name):
    """J̄ᵀ τ = γ has the solutions J_Aᵀ γ + (I − J_Aᵀ J̄ᵀ) τ_0; τ_0 = 0 has the least τᵀ B⁻¹ τ."""
    robot, choices = redundant(name)
    rng = np.random.default_rng(5)
    q, _, found = regular_model(robot, rng, **choices)
    tau = rng.normal(size=robot.n)
    gamma = found.consistent_inverse.T @ tau
    assert_same(found.J_A.T @ gamma + found.null_space @ tau, tau)
    B = robot.inertia(q)
    least, other = (
        t @ np.linalg.solve(B, t)
        for t in (found.J_A.T @ gamma, found.J_A.T @ gamma + found.null_space @ rng.normal(size=robot.n))
    )
    assert least < other


@pytest.mark.parametrize("name", REDUNDANT)
def test_redundant_arm_is_the_model_of_7_130(name):
    """(7.130)–(7.132), (7.138) with plain inverses."""
    robot, choices = redundant(name)
    q, qd, found = regular_model(robot, np.random.default_rng(6), **choices)
    B_inverse = np.linalg.inv(robot.inertia(q))
    B_A = np.linalg.inv(found.J_A @ B_inverse @ found.J_A.T)
    J_bar = B_inverse @ found.J_A.T @ B_A
    assert_same(found.B_A, B_A, 1e-9)
    assert_same(found.consistent_inverse, J_bar, 1e-9)
    assert_same(found.C_A_xd, J_bar.T @ robot.coriolis(q, qd) @ qd - B_A @ found.Jdot_A @ qd, 1e-9)
    assert_same(found.g_A, J_bar.T @ robot.gravity(q), 1e-9)
    assert_same(found.J_A @ J_bar, np.eye(found.task.m), 1e-9)
