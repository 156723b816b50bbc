"""The linear system near a state: against finite differences, against its own integral and a simulation."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import armdyn
from armdyn import Robot, linearize, simulate
from armdyn.analysis import AnalysisError
from arms import ROTORS, assert_same, generators, gradient, law, robots, state
from friction_arms import rubbing
from golden_messages import golden_error

PUMA, PANDA = Robot.load("puma560"), Robot.load("panda")


def assert_slopes(robot, q, qd, tau, wrench, found):
    """A, B and drift are those of ẋ = (q̇, forward dynamics), differentiated numerically."""
    n = robot.n

    def rate(z):
        x, u = z[: 2 * n], z[2 * n :]
        return np.concatenate([x[n:], robot.forward_dynamics(x[:n], x[n:], u, wrench)])

    z = np.concatenate([q, qd, tau])
    slopes = gradient(rate, z, 1e-3)
    assert_same(np.hstack([found.A, found.B]), slopes, 1e-7)
    assert_same(found.drift, rate(z), 1e-11)


@law(robots((1, 3), rotors=ROTORS), generators(), examples=8)
def test_a_random_arm_against_finite_differences(robot, rng):
    q, qd, _ = state(robot, rng)
    tau, wrench = rng.normal(size=robot.n) * 20, rng.normal(size=6) * 10
    with armdyn.backend("evaluator"):
        assert_slopes(robot, q, qd, tau, wrench, linearize(robot, q, qd, tau, wrench=wrench))


@law(rubbing((1, 2)), generators(), examples=3)
def test_friction_of_all_kinds_against_finite_differences(robot, rng):
    q, qd, qdd = state(robot, rng)
    with armdyn.backend("evaluator"):
        tau = robot.inverse_dynamics(q, qd, qdd)
        assert_slopes(robot, q, qd, tau, None, linearize(robot, q, qd, tau))


def test_blocks_are_the_compiled_derivatives_in_any_batch():
    rng = np.random.default_rng(3)
    q, qd, tau = rng.normal(size=(2, 1, 6)), rng.normal(size=(3, 6)), rng.normal(size=6)
    found = linearize(PUMA, q, qd, tau)
    by_q, by_qd, by_tau = PUMA.forward_dynamics_derivatives(q, qd, tau)
    assert found.A.shape == (2, 3, 12, 12)
    assert found.B.shape == (2, 3, 12, 6)
    assert (found.A[..., 6:, :6] == by_q).all()
    assert (found.A[..., 6:, 6:] == by_qd).all()
    assert (found.B[..., 6:, :] == by_tau).all()
    assert (found.A[..., :6, 6:] == np.eye(6)).all()
    assert not found.A[..., :6, :6].any()
    assert not found.B[..., :6, :].any()
    assert_same(found.drift[..., 6:], PUMA.forward_dynamics(q, qd, tau))
    alone = linearize(PUMA, q[1, 0], qd[2], tau).discrete(0.01)
    for name in ("A", "B", "drift"):
        assert_same(getattr(found.discrete(0.01), name)[1, 2], getattr(alone, name), 1e-12)


def test_without_torques_the_posture_is_held():
    q, wrench = np.array([0.2, 0.8, -2.6, 0.1, 0.3, 0]), {"forearm": [10.0, 5, -20, 1, 2, 3]}
    held = linearize(PUMA, q)
    assert_same(held.tau, PUMA.gravity(q))
    assert not held.drift.any()
    pushed = linearize(PUMA, q, wrench=wrench)
    assert_same(pushed.tau, PUMA.gravity(q) + PUMA.jacobian(q, "forearm").T @ wrench["forearm"], 1e-12)
    assert_same(PUMA.forward_dynamics(q, np.zeros(6), pushed.tau, wrench), np.zeros(6), 1e-10)
    assert abs(pushed.A - held.A).max() > 1
    moving = linearize(PUMA, q, 0.3)
    assert_same(moving.drift, np.repeat([0.3, 0], 6))
    assert_same(moving.tau, PUMA.inverse_dynamics(q, np.full(6, 0.3), np.zeros(6)))


def test_dry_friction_of_a_joint_at_rest_has_no_slope():
    """The PUMA's Coulomb friction does not count at rest; its viscous friction does."""
    q = np.array([0.2, 0.8, -2.6, 0.1, 0.3, 0])
    viscous = np.diag([PUMA.parameters[13 * k + 11] for k in range(6)])
    assert_same(PUMA.inertia(q) @ linearize(PUMA, q).A[6:, 6:], -viscous, 1e-12)


def test_the_discrete_system_is_the_integral_of_the_continuous_one():
    rng, h = np.random.default_rng(5), 0.02
    q, qd, tau = (rng.normal(size=7) * s for s in (0.5, 0.3, 10))
    system = linearize(PANDA, q, qd, tau)
    dx, du = rng.normal(size=14) * 0.1, rng.normal(size=7)
    solved = solve_ivp(
        lambda _, x: system.drift + system.A @ x + system.B @ du, (0, h), dx, "DOP853", rtol=1e-12, atol=1e-12
    )
    step = system.discrete(h)
    assert step.step == h
    assert_same(step.drift + step.A @ dx + step.B @ du, solved.y[:, -1], 1e-10)


@pytest.mark.parametrize("h", [2e-2, 1e-2])
def test_small_deviations_in_a_simulation(h):
    """Ten samples with held torques: the rest falls with the square of the deviation."""
    rng, q = np.random.default_rng(7), np.array([0, -0.5, 0, -2, 0, 1.6, 0.7])
    system = linearize(PANDA, q)
    step = system.discrete(h)
    direction, push = rng.normal(size=14), rng.normal(size=7)
    errors = []
    for size in (1e-3, 5e-4):
        dx, du = size * direction, size * push
        x = dx
        for _ in range(10):
            x = step.drift + step.A @ x + step.B @ du
        run = simulate(PANDA, q + dx[:7], dx[7:], 10 * h, system.tau + du, limits="ignore")
        errors.append(abs(np.concatenate([run.q[-1] - q, run.qd[-1]]) - x).max())
        assert errors[-1] < 0.02 * abs(x).max()
    assert 3 < errors[0] / errors[1] < 5


def test_wrong_input_is_refused():
    q = np.zeros(6)
    with golden_error(AnalysisError):
        linearize(PUMA, np.zeros(5))
    with golden_error(AnalysisError):
        linearize("puma560", q)
    with golden_error(AnalysisError):
        linearize(PUMA, q, q, q * np.nan)
    with golden_error(AnalysisError):
        linearize(PUMA, np.zeros((2, 6)), np.zeros((3, 6)))
    with golden_error(AnalysisError):
        linearize(PUMA, q, wrench=[1, 2, 3])
    with pytest.raises(AnalysisError, match="step: found 0 s; a positive time is expected"):
        linearize(PUMA, q).discrete(0)
    with golden_error(AnalysisError):
        linearize(PUMA, q).discrete(1e6)
