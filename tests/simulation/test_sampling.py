"""Sampled controllers: torques held from one sample to the next."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion import Trajectory
from armdyn.simulation import ComputedTorque, PDGravity, SimulationError, simulate
from arms import slowly
from golden_messages import golden_error
from sliders import slider

PUMA = Robot.load("puma560")
PLANAR = Robot.load("planar")
Q0 = np.array([0, 0.8, -2.6, 0, 0.3, 0])
METHODS = ("adaptive", "rk4")


def by_hand(robot, controller, q, qd, duration, period, **named):
    """Constant torques from sample to sample, each piece a simulation of its own."""
    states, torques = [(q, qd)], []
    for k in range(round(duration / period)):
        torques.append(controller(k * period, *states[-1]))
        run = simulate(robot, *states[-1], period, torques[-1], output=period, **named)
        states.append((run.q[-1], run.qd[-1]))
    return np.array([q for q, _ in states]), np.array(torques)


@pytest.mark.parametrize("method", METHODS)
def test_samples_and_a_loop_of_holds(method):
    motion = Trajectory.quintic([0.3, 0.5], [0.6, 0.2], 0.1)
    controller = ComputedTorque(PLANAR, motion, rate=100)
    arguments = {"method": method, "step": 1e-3}
    q, tau = by_hand(PLANAR, controller, [0.4, 0.5], [0, 0], 0.1, 0.01, **arguments)
    run = simulate(PLANAR, [0.4, 0.5], 0, 0.1, controller, output=0.01, **arguments)
    np.testing.assert_allclose(run.q, q, atol=1e-11)
    np.testing.assert_allclose(run.tau[:-1], tau, rtol=1e-8)
    fine = simulate(PLANAR, [0.4, 0.5], 0, 0.1, controller, **arguments)
    np.testing.assert_allclose(fine.tau[:-1], np.repeat(tau, 10, axis=0), rtol=1e-8)
    assert np.abs(fine.balance).max() < 1e-7


@pytest.mark.parametrize("method", METHODS)
def test_samples_of_each_arm_of_a_batch(method):
    targets = np.array([[0.4, 0.4], [0.2, 0.7], [0.0, 0.0]])
    controller = PDGravity(PLANAR, targets, 500.0, 100.0, rate=200)
    run = simulate(PLANAR, [0.3, 0.5], np.zeros((3, 2)), 0.05, controller, method=method)
    for k in range(3):
        own = PDGravity(PLANAR, targets[k], 500.0, 100.0, rate=200)
        alone = simulate(PLANAR, [0.3, 0.5], [0, 0], 0.05, own, method=method)
        np.testing.assert_allclose(run.q[:, k], alone.q, atol=1e-13)
        np.testing.assert_allclose(run.tau[:, k], alone.tau, atol=1e-10)


def test_faster_samples_and_the_continuous_law():
    start, errors = [0.3, 0.5], []
    truth = simulate(PLANAR, start, 0, 0.2, PDGravity(PLANAR, [0.6, 0.2], 500.0, 100.0), output=0.02)
    for rate in (250, 1000, 4000):
        controller = PDGravity(PLANAR, [0.6, 0.2], 500.0, 100.0, rate=rate)
        run = simulate(PLANAR, start, 0, 0.2, controller, output=0.02)
        errors.append(np.abs(run.q - truth.q).max())
    assert errors[0] > 3 * errors[1] > 9 * errors[2] > 0


def test_fixed_steps_are_cut_to_fit_the_samples():
    controller = PDGravity(PLANAR, [0.6, 0.2], 500.0, 100.0, rate=400)
    fixed = simulate(PLANAR, [0.3, 0.5], 0, 0.05, controller, method="rk4", step=1e-3)
    np.testing.assert_allclose(np.diff(fixed.t), 2.5e-3 / 3, rtol=1e-9)
    exact = simulate(PLANAR, [0.3, 0.5], 0, 0.05, controller, output=2.5e-3 / 3)
    np.testing.assert_allclose(fixed.q, exact.q, atol=1e-8)
    np.testing.assert_allclose(fixed.tau, exact.tau, atol=1e-4)


@pytest.mark.parametrize("rate", [333, 77.7, 5000])
@pytest.mark.parametrize(("step", "output"), [(1e-3, 0.01), (1e-3, 0.0033), (7e-4, 0.05)])
def test_samples_that_fit_neither_steps_nor_output(rate, step, output):
    """What is kept changes nothing; fixed steps take a sample up to a step late."""
    controller = PDGravity(PLANAR, [0.6, 0.2], 500.0, 100.0, rate=rate)
    exact, fixed = (
        simulate(PLANAR, [0.3, 0.5], 0, 0.1, controller, method=method, step=step, output=output)
        for method in METHODS
    )
    often = simulate(PLANAR, [0.3, 0.5], 0, 0.1, controller, output=1e-3)
    np.testing.assert_array_equal(exact.q[-1], often.q[-1])
    np.testing.assert_allclose(fixed.q, exact.q, atol=5e-6)
    for run in (exact, fixed):
        assert np.abs(run.balance).max() < 1e-11


def test_which_controllers_are_sampled_by_themselves():
    motion = Trajectory.quintic(Q0, Q0 + 0.3, 0.5)
    assert ComputedTorque(PUMA, motion).period == 1e-3
    for control in (
        ComputedTorque(PUMA, motion, rate=None),
        ComputedTorque(PUMA, motion, friction=False),
        ComputedTorque(PUMA, Q0),  # a set point: no velocity to compensate friction for
        ComputedTorque(PLANAR, Trajectory.quintic([0, 0], [1, 1], 1.0)),  # no dry friction
        PDGravity(PUMA, motion, 1.0, 1.0),
    ):
        assert control.period is None
    assert PDGravity(PUMA, motion, 1.0, 1.0, rate=250).period == 4e-3


@pytest.mark.parametrize("wrong", [0, -100, np.inf, np.nan, "fast", True, [1, 2]])
def test_rates_that_are_refused(wrong):
    with golden_error(SimulationError):
        ComputedTorque(PUMA, Q0, rate=wrong)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
@pytest.mark.parametrize("path", ["joints", slowly("line")])
def test_an_unknown_payload_while_dry_friction_is_compensated(path, method):
    """The compensation follows the sign of the target's speed: continuous, its modes did not settle."""
    motion = Trajectory.quintic(Q0, Q0 + 0.3, 0.5)
    if path == "line":
        motion = Trajectory.line(PUMA, Q0, displacement=[0, 0, -0.2], duration=0.5, acceleration_time=0.1)
    errors = []
    for stiffness in (100.0, 400.0):
        controller = ComputedTorque(PUMA, motion, stiffness)
        run = simulate(PUMA.with_payload(2.0), Q0, 0, 0.5, controller, method=method)
        assert run.completed
        errors.append(np.abs(run.q - motion(run.t)[0]).max())
        limit = 1e-7 if method == "adaptive" else 0.1
        assert np.abs(run.balance).max() < limit
    assert errors[0] < 0.1
    assert errors[1] < errors[0] / 2


def test_numbers_for_all_joints():
    runs = [simulate(PLANAR, 0.2, speed, 0.1) for speed in (0.5, [0.5, 0.5])]
    np.testing.assert_array_equal(runs[0].q, runs[1].q)
    assert runs[0].q[0].tolist() == [0.2, 0.2]


def test_a_limit_while_torques_are_held():
    """The last instant is where the joint passed, with the torque that was held there."""
    robot = slider(1.0, 0.0)
    values = {"name": "carriage", "joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [1, 0, 0]}
    values |= {"mass": 1.0, "limits": {"position": [-1, 0.5]}}
    table = {"name": "rail", "convention": "frames", "gravity": [0, 0, 0], "link": [values]}
    rail = Robot.from_dict(table)
    controller = PDGravity(robot, [2.0], 10.0, 0.0, rate=10)
    for method in METHODS:
        with pytest.warns(UserWarning, match="passes its limit"):
            run = simulate(rail, 0, 0, 2.0, controller, method=method, limits="stop", output=0.05)
        assert len(run.tau) == len(run.t)
        assert run.tau[-1] == run.tau[-2]


@pytest.mark.filterwarnings("ignore::armdyn.PhysicsWarning")
@pytest.mark.parametrize("rate", [1000, 3000])
def test_a_slip_that_is_soon_over_is_simulated(rate):
    """At the start of this arc a joint is released with hardly any acceleration, which then turns round."""
    puma = Robot.load("puma560").with_payload(2.4, [0, 0, 0.11])
    high = [-0.0822, 0.5072, -3.0216, 0, 3.0216 - 0.5072 - np.pi, -0.0822]
    law = {"orientation": "keep", "max_velocity": 0.5, "max_acceleration": 3}
    low = Trajectory.line(puma, high, displacement=[0, 0, -0.12], **law).q[-1]
    centre = puma.pose(low)[:3, 3] + [0, 0.2, 0]
    arc = Trajectory.circle(puma, low, centre, [-1, 0, 0], np.pi, **law)
    run = simulate(puma, low, 0, 0.01, ComputedTorque(puma, arc, stiffness=400, rate=rate))
    assert run.completed
    assert abs(run.balance).max() < 1e-9
    assert abs(run.q - arc(run.t)[0]).max() < 1e-4
