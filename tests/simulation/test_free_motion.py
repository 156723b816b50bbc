"""Free motion: energy, order of convergence, adaptive against fixed steps, batches against single arms."""

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.simulation import simulate
from arms import ROTORS, generators, law, robots, state
from sliders import without_friction

PUMA = without_friction(Robot.load("puma560"))  # let go, it swings through its limits
Q0 = np.array([0.1, 0.3, -0.2, 0.4, 0.5, 0.1])


@pytest.fixture
def evaluator():
    with armdyn.backend("evaluator"):
        yield


def drift(run):
    """Largest change of energy, relative to the largest kinetic energy: a stricter scale than the total."""
    return np.abs(run.energy - run.energy[0]).max() / run.kinetic.max()


@pytest.mark.slow
def test_energy_of_the_puma_in_ten_seconds():
    run = simulate(PUMA, Q0, np.zeros(6), 10.0, limits="ignore")
    assert run.completed
    assert run.t[-1] == 10.0
    assert run.kinetic.max() > 50  # J: it does move
    assert drift(run) < 1e-9
    assert np.abs(run.energy / run.energy[0] - 1).max() < 1e-9


def test_a_pendulum_of_one_joint_and_the_elliptic_period():
    """T = 4 K(sin θ₀/2)/ω₀ of a rod that swings through θ₀."""
    from scipy.special import ellipk

    rod = Robot.from_dict(
        {
            "name": "rod",
            "convention": "frames",
            "gravity": [0, -9.81, 0],
            "link": [
                {
                    "name": "rod",
                    "joint": "revolute",
                    "origin": {"xyz": [0, 0, 0]},
                    "axis": [0, 0, 1],
                    "mass": 3,
                    "com": [0, -0.5, 0],
                    "inertia": {"xx": 0.25, "zz": 0.25},
                }
            ],
        }
    )
    start = 2.0
    period = 4 * ellipk(np.sin(start / 2) ** 2) * np.sqrt((0.25 + 3 * 0.25) / (3 * 9.81 * 0.5))
    for method, tolerance in (("adaptive", 1e-9), ("rk4", 1e-8)):
        run = simulate(rod, [start], [0.0], 2 * period, method=method)
        np.testing.assert_allclose(run.q[-1], start, atol=tolerance)
        np.testing.assert_allclose(run.qd[-1], 0, atol=tolerance)


def test_fixed_steps_and_adaptive():
    fixed = simulate(PUMA, Q0, np.ones(6), 1.0, method="rk4", output=0.01, limits="ignore")
    adaptive = simulate(PUMA, Q0, np.ones(6), 1.0, output=0.01, limits="ignore")
    np.testing.assert_allclose(fixed.t, adaptive.t, atol=1e-15)
    np.testing.assert_allclose(fixed.q, adaptive.q, atol=1e-9)
    np.testing.assert_allclose(fixed.qd, adaptive.qd, atol=1e-8)


@pytest.mark.slow
def test_order_of_the_fixed_steps():
    tau = np.array([5.0, -8, 3, 1, 0.5, 0.2])
    truth = simulate(PUMA, Q0, np.zeros(6), 0.5, tau, rtol=1e-13, atol=1e-15, limits="ignore")
    errors = []
    for step in (0.02, 0.01, 0.005):
        run = simulate(PUMA, Q0, np.zeros(6), 0.5, tau, method="rk4", step=step, output=0.5, limits="ignore")
        errors.append(np.abs(run.q[-1] - truth.q[-1]).max())
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (orders > 3.6).all(), (errors, orders)
    assert (orders < 4.5).all(), (errors, orders)


def test_arms_of_a_batch_and_single_arms():
    """Bit for bit with fixed steps, in registers and left over; the same numbers with adaptive ones."""
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1, 1, (5, 2, 6)), rng.uniform(-1, 1, (2, 6))
    tau = rng.uniform(-5, 5, (5, 1, 6))
    run = simulate(PUMA, q, qd, 0.2, tau, method="rk4", output=0.05, limits="ignore")
    assert run.q.shape == run.tau.shape == (5, 5, 2, 6)
    assert run.energy.shape == run.torque_work.shape == (5, 5, 2)
    slow = simulate(PUMA, q[:2], qd, 0.1, tau[:2], output=0.05, limits="ignore")
    for i, j in np.ndindex(5, 2):
        alone = simulate(PUMA, q[i, j], qd[j], 0.2, tau[i, 0], method="rk4", output=0.05, limits="ignore")
        np.testing.assert_array_equal(alone.q, run.q[:, i, j])
        np.testing.assert_array_equal(alone.torque_work, run.torque_work[:, i, j])
        if i < 2:
            own = simulate(PUMA, q[i, j], qd[j], 0.1, tau[i, 0], output=0.05, limits="ignore")
            np.testing.assert_array_equal(own.q, slow.q[:, i, j])


def test_compiled_and_evaluated_steps(evaluator):
    q = np.random.default_rng(5).uniform(-1, 1, (9, 6))
    evaluated = simulate(PUMA, q, 0 * q, 0.05, method="rk4", limits="ignore")
    with armdyn.backend("compiled"):
        compiled = simulate(PUMA, q, 0 * q, 0.05, method="rk4", limits="ignore")
    np.testing.assert_allclose(compiled.q, evaluated.q, atol=1e-14)
    np.testing.assert_allclose(compiled.qd, evaluated.qd, atol=1e-12)


@law(robots((1, 4), rotors=ROTORS, friction=False), generators(), examples=4, thorough=15)
def test_energy_of_random_arms(robot, rng):
    """T + U is kept by both methods, whatever carries the motors."""
    with armdyn.backend("evaluator"):
        q0, qd0, _ = state(robot, rng)
        run = simulate(robot, q0, qd0, 0.3, output=0.05)
        fixed = simulate(robot, q0, qd0, 0.1, method="rk4", step=1e-3, output=0.05)
    size = max(1.0, run.kinetic.max())
    assert np.abs(run.energy - run.energy[0]).max() < 1e-8 * size
    np.testing.assert_allclose(fixed.q, run.q[:3], atol=1e-6 * max(1.0, np.abs(run.qd).max()))


@law(robots((1, 4), rotors=ROTORS), generators(), examples=4, thorough=15)
def test_power_balance_of_random_arms_with_friction(robot, rng):
    """E(t) − E(0) = work of torques and wrench − friction's (7.50), dry friction of motors included."""
    with armdyn.backend("evaluator"):
        q0, qd0, tau = state(robot, rng)
        run = simulate(robot, q0, qd0, 0.5, tau, wrench=rng.uniform(-3, 3, 6), output=0.1)
    assert run.completed
    assert np.abs(run.balance).max() < 1e-8 * max(1.0, run.kinetic.max(), np.abs(run.dissipated).max())


def test_a_tip_force_and_the_work_it_does():
    """The wrench is what the tip exerts: its reaction does −∫ h·v dt on the arm."""
    robot = Robot.load("planar")
    wrench = np.array([30.0, -20.0, 0, 0, 0, 5.0])
    for method in ("adaptive", "rk4"):
        run = simulate(robot, [0.3, 0.5], [0, 0], 0.5, wrench=wrench, method=method)
        tip = np.concatenate(
            [robot.pose(run.q)[:, :3, 3], np.array([[0, 0, x] for x in run.q.sum(axis=1)])], axis=1
        )
        work = -(tip - tip[0]) @ wrench
        np.testing.assert_allclose(run.wrench_work, work, atol=1e-8)
        assert np.abs(run.balance).max() < 1e-8 * np.abs(work).max() + 1e-7
