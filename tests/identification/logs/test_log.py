"""`Log` as a value, and how it comes to the joints of a robot."""

import pickle

import numpy as np
import pytest

from armdyn import Log as PublicLog
from armdyn import Robot, Trajectory, simulate
from armdyn.identification import IdentificationError, IdentificationWarning, Log
from armdyn.model import RobotModel
from arms import quietly, related
from golden_messages import golden_error, golden_warning
from recordings import arm, motion, recording


def test_a_log_is_a_value():
    log = recording(rate=250, duration=8)
    assert PublicLog is Log
    assert (len(log), log.n, log.rate, log.duration) == (2000, 3, pytest.approx(250), pytest.approx(7.996))
    assert repr(log) == "<Log 'test', 3 joints, 2000 samples, 7.996 s at 250 Hz: q, tau>"
    again = pickle.loads(pickle.dumps(log))
    np.testing.assert_array_equal(again.tau, log.tau)
    with pytest.raises(ValueError, match="read-only"):
        log.q[0, 0] = 1
    with pytest.raises(AttributeError):
        log.q = None


def test_a_log_keeps_its_own_numbers():
    q = np.zeros((5, 1))
    log = Log(np.arange(5.0), q, q + 1)
    q[:] = 7
    assert not log.q.any()


def test_parts_of_a_log():
    log = recording()
    part = log[100:300]
    assert (len(part), part.first) == (200, 100)
    assert part[50:].first == 150
    np.testing.assert_array_equal(part.q, log.q[100:300])
    seconds = log.between(1.0, 2.0)
    np.testing.assert_array_equal(seconds.t, log.t[250:500])
    assert seconds.first == 250
    assert len(log[-10:]) == 10
    for wrong in (5, slice(0, 10, 2), slice(5, 5), slice(3, 4), "t"):
        with golden_error(IdentificationError):
            log[wrong]
    with pytest.raises(IdentificationError, match=r"between 9 and 10 s there is no stretch"):
        log.between(9, 10)


@pytest.mark.parametrize(
    "arguments",
    [
        {"t": [0.0], "q": [[1]], "tau": [[1]]},
        {"t": [[0.0, 1]], "q": [1, 2], "tau": [1, 2]},
        {"t": [0, 1], "q": [1, 2, 3], "tau": [1, 2]},
        {"t": range(2), "q": [1, 2], "tau": [1, 2]},
        {"t": [0, 1, 2], "q": np.ones((2, 3)), "tau": [1, 2, 3]},
        {"t": [0, 1], "q": [1, 2]},
        {"t": [0, 1], "tau": [1, 2]},
        {"t": [0, 1], "q": [1, 2], "motor_position": [1, 2], "tau": [1, 2]},
        {"t": [0, 1], "q": [1, 2], "tau": ["a", "b"]},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "qd": np.ones((2, 2))},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "transmission": np.ones((2, 2))},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "transmission": [0.0]},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "torque_constant": [1, 2]},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "joint_zeros": np.nan},
        {"t": [0, 1], "q": [1, 2], "tau": [1, 2], "name": 3},
    ],
)
def test_what_is_no_log_is_refused(arguments):
    with golden_error(IdentificationError):
        Log(**arguments)


def test_a_log_of_a_simulation():
    robot = Robot.load("planar")
    run = simulate(robot, [0.1, 0.2], [0, 0], 0.1, torque=[1.0, 0.5])
    log = Log.from_run(run)
    np.testing.assert_array_equal(log.q, run.q)
    np.testing.assert_array_equal(log.qd, run.qd)
    np.testing.assert_array_equal(log.tau, run.tau)
    with golden_error(IdentificationError):
        Log.from_run(log)


def test_a_log_of_a_trajectory():
    there = Trajectory.quintic([0, 0, 0], [1, 0.2, -1], duration=1.0, step=0.01)
    log = Log.from_trajectory(arm(), there)
    np.testing.assert_allclose(arm().inverse_dynamics(log.q, log.qd, log.qdd), log.tau)
    with golden_error(IdentificationError):
        Log.from_trajectory(arm(), log)


# ---- motors ------------------------------------------------------------------------------------------------


def gears():
    """K of the arm, from its description."""
    K = np.zeros((3, 3))
    for i, link in enumerate(arm().model.moving):
        K[i, i] = float(link.motor.gear)
        for name, factor in link.motor.coupling:
            K[i, int(name[-1]) - 1] = float(factor)
    return K


def test_motors_come_to_the_joints_by_the_robots_transmission():
    K, log = gears(), recording()
    assert K[2, 0]
    zeros = [0.1, -0.2, 0.3]
    theta, tau_m = (log.q - zeros) @ K.T, np.linalg.solve(K.T, log.tau.T).T
    motors = Log(log.t, motor_position=theta, motor_torque=tau_m, joint_zeros=zeros)
    for same in (
        motors,
        Log(log.t, motor_position=theta, motor_torque=tau_m, joint_zeros=zeros, transmission=K),
    ):
        record = same.at_joints(arm())
        np.testing.assert_allclose(record.q, log.q, atol=1e-12)
        np.testing.assert_allclose(record.tau, log.tau, atol=1e-9)
        assert record.usable.all()


def test_power_is_the_same_at_motors_and_joints():
    K, log = gears(), recording(derivatives=True)
    tau_m = np.linalg.solve(K.T, log.tau.T).T
    record = Log(log.t, log.q, motor_torque=tau_m).at_joints(arm())
    motor_speed = log.qd @ K.T
    np.testing.assert_allclose(
        (record.tau * log.qd).sum(1), (tau_m * motor_speed).sum(1), rtol=1e-9, atol=1e-9
    )


def test_a_motor_torque_that_is_missing_spoils_every_joint_it_drives():
    K, log = gears(), recording()
    tau_m = np.linalg.solve(K.T, log.tau.T).T
    tau_m[40, 2] = np.nan  # motor 3 drives joints 3 and 1
    record = Log(log.t, log.q, motor_torque=tau_m).at_joints(arm())
    np.testing.assert_array_equal(np.argwhere(~record.usable), [[40, 0], [40, 2]])


def test_currents_become_torques():
    K, log = gears(), recording()
    k = np.array([0.1, 0.2, 0.05])
    current = np.linalg.solve(K.T, log.tau.T).T / k
    record = Log(log.t, log.q, current=current, torque_constant=k).at_joints(arm())
    np.testing.assert_allclose(record.tau, log.tau, atol=1e-9)
    table = arm().to_dict()
    for link, constant in zip((x for x in table["link"] if x["joint"] != "fixed"), k, strict=True):
        link["motor"]["torque_constant"] = float(constant)
    robot = quietly(lambda: Robot.from_dict(table))
    np.testing.assert_allclose(Log(log.t, log.q, current=current).at_joints(robot).tau, log.tau, atol=1e-9)
    with golden_warning(IdentificationWarning):
        Log(log.t, log.q, current=current).at_joints(arm())


def test_motors_that_the_robot_does_not_have_are_refused():
    log, robot = recording(), Robot.load("ur10")
    motors = Log(log.t, motor_position=log.q, motor_torque=log.tau)
    with golden_error(IdentificationError):
        motors.at_joints(robot)
    with golden_error(IdentificationError):
        Log(log.t, motor_position=log.q, motor_torque=log.tau, transmission=np.eye(3)).at_joints(robot)


# ---- joints that follow others -----------------------------------------------------------------------------


def following() -> Robot:
    model: RobotModel = related(arm().model, seed=3)
    return Robot(model)


def test_all_joints_come_to_the_coordinates():
    robot = following()
    assert (robot.n, len(robot.joints)) == (2, 3)
    t = np.arange(1000) / 250
    x, xd, _ = motion(t, joints=2)
    rng = np.random.default_rng(0)
    tau = rng.normal(size=(1000, 3)).cumsum(0)
    log = Log(t, robot.joint_positions(x), tau, qd=robot.joint_velocities(xd))
    record = log.at_joints(robot)
    np.testing.assert_allclose(record.q, x, atol=1e-12)
    np.testing.assert_allclose(record.qd, xd, atol=1e-12)
    power = (tau * robot.joint_velocities(xd)).sum(1)
    np.testing.assert_allclose((record.tau * xd).sum(1), power, atol=1e-9)
    alone = Log(t, x, tau[:, :2]).at_joints(robot)
    np.testing.assert_array_equal(alone.tau, tau[:, :2])


def test_joints_that_do_not_follow_are_refused():
    robot = following()
    t = np.arange(1000) / 250
    q = robot.joint_positions(motion(t, joints=2)[0])
    j = next(k for k in range(3) if k not in robot.model.dependence.independent)
    q[500, j] += 0.3
    with pytest.raises(IdentificationError, match=rf"row 500: joint 'link {j + 1}' is 0.3 away from where"):
        Log(t, q, q).at_joints(robot)
