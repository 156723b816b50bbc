"""Limits at the shafts in simulation: torques of controllers within them, and speeds beyond them said."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model import Relation
from armdyn.model.parts import Limits, MotorLimits
from armdyn.simulation import PDGravity, SimulationWarning, simulate
from armdyn.simulation.controller import groups, within_limits
from armdyn.simulation.run import speeds_passed
from arms import assert_same, generators, law, robots

TX40 = Robot.load("tx40")
WRIST = TX40.with_motors({"link 5": {"limits": {"torque": 0.1}}, "link 6": {"limits": {"torque": 0.2}}})
PLANAR = Robot.load("planar")


def joint_limited(robot, rng):
    """The robot with random limits of torque at about half of its joints, and at half of its motors."""

    def limited(link):
        if link.joint == "fixed":
            return link
        if rng.random() < 0.5:
            link = replace(link, limits=Limits(torque=Expression.of(float(rng.uniform(0.5, 3)))))
        if link.motor is not None and rng.random() < 0.7:
            link = replace(
                link,
                motor=replace(link.motor, limits=MotorLimits(Expression.of(float(rng.uniform(0.01, 0.3))))),
            )
        return link

    return Robot(replace(robot.model, links=tuple(map(limited, robot.model.links))))


@law(robots(n=(2, 5)), generators(), examples=20)
def test_saturated_torques_are_within_the_limits_of_joints_and_motors(robot, rng):
    robot = joint_limited(robot, rng)
    model = robot.model
    joints, shafts = (
        np.array([np.inf if x is None or x.torque is None else model.number(x.torque) for x in found])
        for found in zip(*((x.limits, x.motor and x.motor.limits) for x in model.coordinates), strict=True)
    )
    for tau in rng.normal(size=(20, robot.n)) * 10 ** rng.uniform(-2, 2, (20, 1)):
        found = np.array(within_limits(robot, list(tau)))
        motor = np.linalg.solve(robot.transmission.T, found)
        assert (np.abs(found) <= joints * (1 + 1e-12)).all()
        assert (np.abs(motor) <= shafts * (1 + 1e-9)).all()
        asked = np.linalg.solve(robot.transmission.T, tau)
        if (np.abs(asked) <= shafts).all() and (np.abs(tau) <= joints).all():
            assert_same(found, tau, 1e-12)


def test_a_motor_alone_with_its_joint_limits_that_joint():
    robot = PLANAR.with_motors({"link 2": {"limits": {"torque": 5}}})
    assert within_limits(robot, [4000.0, -4000.0]) == [3000.0, -500.0]
    assert within_limits(robot, [-10.0, 499.0]) == [-10.0, 499.0]
    wide = PLANAR.with_motors({"link 2": {"limits": {"torque": 50}}})
    assert within_limits(wide, [0.0, 4000.0]) == [0.0, 3000.0]


def test_the_coupled_wrist_is_limited_at_its_motors():
    """τ5 = 45 τ_m5 + 32 τ_m6 and τ6 = 32 τ_m6, with at most 0.1 and 0.2 N m at the shafts."""
    most = 32 * 0.2
    assert_same(within_limits(WRIST, [0, 0, 0, 0, 0, 10.0])[4:], [45 * -0.1 + most, most], 1e-12)
    assert_same(within_limits(WRIST, [0, 0, 0, 0, 50.0, 0])[4:], [4.5, 0], 1e-12)
    assert_same(within_limits(WRIST, [0, 0, 0, 0, 4.0, 3.0])[4:], [4.0, 3.0], 1e-12)


def test_motors_that_share_a_joint_are_limited_as_they_share_it():
    """θ_m1 = 100 q and θ_m2 = 50 q: by least squares τ_m1 = τ 100/12500, and τ_m2 is half of it."""
    follows = Relation((("link 2", Expression.of(2)), ("link 1", Expression.of(-1))))
    limited = PLANAR.with_motors({"link 1": {"limits": {"torque": 8}}, "link 2": {"limits": {"torque": 5}}})
    robot = Robot(replace(limited.model, relations=(follows,)))
    assert_same(within_limits(robot, [2000.0]), [1000.0], 1e-12)
    assert_same(within_limits(robot, [-900.0]), [-900.0], 1e-12)
    assert_same(robot.drives.to_motors @ [1000.0], [8, 4], 1e-12)


def test_a_limit_of_current_limits_torque():
    constant = {"torque_constant": 0.5, "limits": {"current": 4}}
    robot = PLANAR.with_motors({"link 1": constant})
    assert within_limits(robot, [1000.0, 0.0]) == [200.0, 0.0]


def test_a_saturated_controller_keeps_to_the_shafts():
    hard = PDGravity(WRIST, np.full(6, 0.5), stiffness=2000.0, damping=20.0, saturated=True)
    run = simulate(WRIST, np.zeros(6), np.zeros(6), 0.05, hard, method="rk4", limits="ignore")
    motor = run.tau @ np.linalg.inv(TX40.transmission)
    assert (np.abs(motor[:, 4:]) <= np.array([0.1, 0.2]) * (1 + 1e-9)).all()
    assert (np.abs(motor[:, 4:]) >= np.array([0.1, 0.2]) * (1 - 1e-9)).any(0).all()
    plain = replace(hard, robot=TX40)(0.0, np.zeros(6), np.zeros(6))
    assert_same(hard(0.0, np.zeros(6), np.zeros(6))[:4], plain[:4], 1e-12)


def test_joints_and_motors_that_belong_together():
    K = np.array([[2, 0, 0, 0], [0, 0, 3, 1.0], [0, 4, 0, 0], [0, 1, 1, 0]])
    assert groups(K) == [([0], [0]), ([1, 2, 3], [1, 2, 3])]
    assert groups(np.diag([1.0, 2])) == [([0], [0]), ([1], [1])]


# ---- speeds ------------------------------------------------------------------------------------------------

FAST = PLANAR.with_motors({"link 2": {"limits": {"velocity": 120}}})


def test_a_motor_beyond_its_speed_is_said_with_the_first_time():
    """Joint 2 starts with 1 rad/s and is pushed; its motor may turn at 120 rad/s, the joint at 1.2 rad/s."""
    robot = FAST.with_gravity([0, 0, 0])
    with pytest.warns(
        SimulationWarning, match="the motor of 'link 2' exceeds its limit of 120 rad/s from t = "
    ):
        run = simulate(robot, [0, 0], [0, 1.0], 1.0, [0.0, 100.0], limits="stop")
    (passed,) = run.speeds_passed
    speed = 100 * np.abs(run.qd[:, 1])
    k = int((speed > 120).argmax())
    assert run.t[k - 1] <= passed.time <= run.t[k]
    assert passed.largest == speed.max()
    assert (passed.motor, passed.name) == (1, "link 2")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(robot, [0, 0], [0, 1.0], 1.0, [0.0, 100.0], limits="ignore")
        assert not simulate(PLANAR, [0, 0], [0, 1.0], 0.1).speeds_passed


def test_speeds_of_a_batch_and_from_the_start():
    robot = FAST.with_gravity([0, 0, 0])
    with pytest.warns(SimulationWarning, match=r"from t = 0 s on and reaches 200 rad/s in arm \(1,\)$"):
        run = simulate(robot, np.zeros((3, 2)), [[0, 0.1], [0, 2], [0, 0]], 0.01, method="rk4")
    assert [(one.arm, one.time) for one in run.speeds_passed] == [((1,), 0.0)]


def test_the_speed_of_a_coupled_motor_is_that_of_both_joints():
    robot = TX40.with_motors({"link 6": {"limits": {"velocity": 40}}})
    qd = np.zeros((2, 6))
    qd[1, 4:] = 0.9
    (passed,) = speeds_passed(robot, np.array([0.0, 1.0]), qd)
    assert_same([passed.largest, passed.time], [32 * 1.8, 40 / (32 * 1.8)], 1e-12)
    assert not speeds_passed(robot, np.array([0.0, 1.0]), qd * [0, 0, 0, 0, 1, -1])
