"""Elastic joints in motion: against closed solutions, the rigid arm, and with feedback of the motors."""

from __future__ import annotations

import numpy as np
import pytest

from armdyn import (
    ArmdynError,
    ComputedTorque,
    GravityCompensation,
    MotorPD,
    PDGravity,
    Robot,
    Trajectory,
    elastic_feedforward,
    linearize,
    simulate,
)
from armdyn.motion.errors import MotionError
from armdyn.simulation import controller_source
from armdyn.simulation.errors import SimulationError
from elastic_arms import geared_wrist, single, two_links
from golden_messages import golden_error

LINK, MOTOR = 0.02 + 2 * 0.3**2, 50**2 / 25000  # the two inertias of `single`, at the joint


def test_free_oscillation_and_two_masses_on_a_spring() -> None:
    """ω² = K (1/B + 1/J), about a centre of mass that moves on evenly."""
    K = 100.0
    robot, (q0, qd0) = single(stiffness=K), (np.array([0.4, -0.1]), np.array([0.5, 2.0]))
    run = simulate(robot, q0, qd0, 1.0)
    w = np.sqrt(K * (1 / LINK + 1 / MOTOR))
    share = MOTOR / (LINK + MOTOR)
    middle = (1 - share) * q0[0] + share * q0[1] + ((1 - share) * qd0[0] + share * qd0[1]) * run.t
    e = (q0[0] - q0[1]) * np.cos(w * run.t) + (qd0[0] - qd0[1]) / w * np.sin(w * run.t)
    expected = np.stack([middle + share * e, middle - (1 - share) * e], axis=1)
    assert np.abs(run.q - expected).max() < 1e-8
    assert np.ptp(run.energy) < 1e-7
    poles = np.linalg.eigvals(linearize(robot, [0.0, 0.0]).A)
    assert np.abs(poles.imag).max() == pytest.approx(w, rel=1e-9)


@pytest.mark.slow
def test_damped_oscillation_and_its_formula() -> None:
    """e'' + D (1/B + 1/J) e' + K (1/B + 1/J) e = 0, also with fixed steps."""
    K, D = 100.0, 0.8
    robot, q0 = single(stiffness=K, damping=D), np.array([0.3, 0.0])
    a, b = D * (1 / LINK + 1 / MOTOR) / 2, K * (1 / LINK + 1 / MOTOR)
    w = np.sqrt(b - a * a)
    for method, tolerance in (("adaptive", 1e-8), ("rk4", 1e-7)):
        run = simulate(robot, q0, [0, 0], 0.5, method=method)
        e = 0.3 * np.exp(-a * run.t) * (np.cos(w * run.t) + a / w * np.sin(w * run.t))
        assert np.abs(run.q[:, 0] - run.q[:, 1] - e).max() < tolerance
        assert run.completed


@pytest.mark.slow
def test_growing_stiffness_and_the_rigid_arm() -> None:
    """The motion under gravity and a torque of the motor differs from the rigid arm's by 1/K."""
    errors = []
    rigid = single(gravity=True).with_rigid_joints()
    expected = simulate(rigid, [0.5], [0], 0.4, [3.0], output=0.01)
    for K in (1e3, 1e4, 1e5):
        run = simulate(single(stiffness=int(K), gravity=True), [0.5, 0.5], [0, 0], 0.4, [0, 3.0], output=0.01)
        errors.append(np.abs(run.q - expected.q).max())
    assert errors[0] < 0.05
    assert 7 < errors[0] / errors[1] < 14
    assert 7 < errors[1] / errors[2] < 14


def test_a_motor_with_dry_friction_sticks_while_its_link_swings() -> None:
    """The motor stays where its friction holds the spring; the link swings like one on a spring to a wall."""
    K = 100.0
    robot = single(stiffness=K, motor_friction={"coulomb": 0.4})  # 20 N m at the joint
    run = simulate(robot, [0.1, 0.0], [0, 0], 0.5)  # at most 10 N m
    assert not run.q[:, 1].any()
    w = np.sqrt(K / LINK)
    assert np.abs(run.q[:, 0] - 0.1 * np.cos(w * run.t)).max() < 1e-8
    loose = simulate(robot, [0.3, 0.0], [0, 0], 0.5)  # 30 N m
    assert np.abs(loose.q[:, 1]).max() > 0.01
    assert loose.completed


@pytest.mark.parametrize("damping", [0, pytest.param(0.5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rotors", ["reflected", pytest.param("exact", marks=pytest.mark.slow)])
def test_feedforward_and_the_link_motion(damping: float, rotors: str) -> None:
    """Open loop, a link under gravity moves as wanted to 1e-6; its motor stands on the base."""
    robot = single(stiffness=400, damping=damping, gravity=True).with_rotors(rotors)
    wanted = Trajectory.smooth([-1.5], [0.5], 0.5)
    plan = elastic_feedforward(robot, wanted)
    run = simulate(robot, *plan.start, plan.duration, plan)
    assert np.abs(run.q[:, :1] - wanted(run.t)[0]).max() < 1e-6
    assert np.abs(run.q - plan.trajectory(run.t)[0]).max() < 1e-6
    assert not plan.torques[:, 0].any()
    assert not plan.start[1].any()


@pytest.mark.parametrize(
    "damping", [pytest.param(x, marks=pytest.mark.slow) for x in ((2, 0), (0, 0), (2, 1))]
)
def test_feedforward_of_two_links_in_closed_loop(damping: tuple[float, float]) -> None:
    """Two elastic joints, one damped, none or both: with feedback of the motors, from a wrong start."""
    robot = two_links(damping).with_rotors("reflected")
    wanted = Trajectory.through(np.array([[0.0, 0], [0.3, -0.2], [0.5, 0.2]]), [0, 0.25, 0.5], kind="quintic")
    plan = elastic_feedforward(robot, wanted)
    law = MotorPD(robot, plan, stiffness=0, damping=0)
    run = simulate(robot, *plan.start, plan.duration, law, output=0.01)
    assert np.abs(run.q[:, :2] - wanted(run.t)[0]).max() < 1e-6
    q, qd = plan.start
    pushed = simulate(robot, q + 0.01, qd, plan.duration, MotorPD(robot, plan, 400, 40), output=0.01)
    off = np.abs(pushed.q - plan.trajectory(pushed.t)[0]).max(axis=1)
    assert off[-1] < 0.2 * off[0]


@pytest.mark.parametrize("gravity", ["target", "motor"])
def test_motor_feedback_brings_links_to_their_target(gravity: str) -> None:
    """The links come to rest at the target itself: gravity bends the springs, and θ_d allows for that."""
    robot = two_links((4, 4))
    targets = np.array([[0.7, -0.9], [-0.4, 1.2]])
    law = MotorPD(robot, targets, stiffness=300, damping=60, gravity=gravity)
    run = simulate(robot, np.zeros((2, 4)), 0, 6.0, law, method="rk4", step=5e-4, output=0.5)
    assert run.completed
    assert np.abs(run.q[-1, :, :2] - targets).max() < 1e-4
    assert np.abs(run.q[-1, :, 2:] - targets).min() > 1e-3  # the springs bear the weight
    assert not law(0.0, run.q[-1], run.qd[-1])[:, :2].any()
    assert "torques" in str(controller_source(law).source)


def test_laws_that_need_a_torque_on_every_coordinate_say_so() -> None:
    robot = single(gravity=True)
    for make in (
        lambda: PDGravity(robot, [0.1, 0.1], 1, 1),
        lambda: ComputedTorque(robot, [0.1, 0.1]),
        lambda: GravityCompensation(robot),
    ):
        with golden_error(SimulationError):
            make()
    with golden_error(SimulationError):
        simulate(robot, [0, 0], [0, 0], 0.1, [1, 0])
    with golden_error(MotionError):
        MotorPD(robot.with_rigid_joints(), [0.1], 1, 1)
    plan = elastic_feedforward(robot, Trajectory.smooth([0], [1], 0.5))
    with golden_error(SimulationError):
        MotorPD(robot, plan, 1, 1, gravity="motor")
    with golden_error(ArmdynError):
        MotorPD(robot, [0.1], [1, 1], 1)


@pytest.mark.slow
def test_energies_of_a_stiff_arm_add_up() -> None:
    """Fixed and adaptive steps, motor friction, damping and exact rotors on links that turn."""
    robot = Robot(two_links((1, 0.5)).model)
    for method in ("adaptive", "rk4"):
        run = simulate(robot, [0.3, -0.4, 0.3, -0.4], 0, 0.3, [0, 0, 2, 1], method=method, step=2e-4)
        assert run.completed, run.message


def test_functions_may_not_put_torques_on_links_of_elastic_joints_but_for_rounding():
    robot = Robot.load("elastic_link")
    with pytest.raises(SimulationError, match=r"torque: found 3 on joint 1 \('rod'\)"):
        simulate(robot, [0, 0], [0, 0], 0.01, lambda t, q, qd: [3.0, 1.0])
    with pytest.raises(SimulationError, match="torque: found 3 on joint 1"):
        simulate(robot, [0, 0], [0, 0], 0.01, [3.0, 1.0], method="rk4")
    exact = simulate(robot, [0, 0], [0, 0], 0.01, [0.0, 1.0])
    for rounded in ([1e-13, 1.0], lambda t, q, qd: [1e-13, 1.0]):
        assert np.allclose(simulate(robot, [0, 0], [0, 0], 0.01, rounded).q, exact.q, atol=1e-12)


@pytest.mark.slow
def test_feedforward_where_a_motor_rolls_on_an_elastic_link() -> None:
    robot = geared_wrist()
    wanted = Trajectory.smooth([0.2, -0.3], [0.8, 0.4], 0.4)
    plan = elastic_feedforward(robot, wanted)
    run = simulate(robot, *plan.start, plan.duration, plan, output=0.01)
    assert np.abs(run.q[:, :2] - wanted(run.t)[0]).max() < 1e-6
    np.testing.assert_allclose(plan.torques[:, 0], plan.torques[:, 1] * 40 / 60, rtol=1e-12)


def test_a_motor_that_rolls_on_an_elastic_link_holds_it_too() -> None:
    """With MotorPD the arm rests where the links are at their target."""
    robot, target = geared_wrist(), [0.7, -0.9]
    assert robot.transmission.tolist() == [[0, 0, 60], [40, 60, 0]]
    for gravity in ("target", "motor"):
        law = MotorPD(robot, target, stiffness=300, damping=60, gravity=gravity)
        q = np.array([*target, 0.0])
        q[2] = law.constants()["target"][0]
        held = law(0.0, q, np.zeros(3))
        np.testing.assert_allclose(robot.inverse_dynamics(q, 0 * q, 0 * q), held, atol=1e-12)
        assert held[0] == pytest.approx(held[1] * 40 / 60, rel=1e-12)


def test_limits_and_checks_know_what_couplings_bring_to_elastic_links() -> None:
    robot = geared_wrist(torque=0.1)
    law = MotorPD(robot, [0.7, -0.9], stiffness=300, damping=60, saturated=True)
    tau = law(0.0, np.zeros(3), np.zeros(3))
    np.testing.assert_allclose(tau, [4, 6, tau[2]] * np.sign(tau), rtol=1e-12)
    simulate(robot, np.zeros(3), 0, 0.01, [4, 6, 1.0])
    with pytest.raises(
        SimulationError, match=r"torque: found 0 on joint 1 \('link 1'\).* but 4 is what motors"
    ):
        simulate(robot, np.zeros(3), 0, 0.01, [0, 6, 1.0])
    with golden_error(SimulationError):
        simulate(robot, np.zeros(3), 0, 0.01, lambda t, q, qd: [5, 6, 1.0])
