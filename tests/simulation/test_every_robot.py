"""Every controller on every bundled robot, with a payload of 20 % of its last links that the model lacks."""

import warnings

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion import MotionError, Trajectory
from armdyn.simulation import (
    ComputedTorque,
    OperationalControl,
    PDGravity,
    SimulationWarning,
    TipLine,
    simulate,
)
from arms import WITHOUT_LOOPS, in_suites, slowly

# Elastic joints are driven at their motors alone, which these controllers refuse: see test_elastic.py.
DRIVEN = [name for name in WITHOUT_LOOPS if not Robot.load(name).model.elastic]
ROBOTS = in_suites(DRIVEN, ("scara",))
DURATION = 0.5
POSTURES = {"puma560": [0, 0.8, -2.6, 0, 0.3, 0], "panda": [0, 0.3, 0, -1.5, 0, 1.8, 0]}
FREQUENCY = 50.0  # of the controllers [rad/s]


def robot_and_posture(name):
    robot = Robot.load(name)
    q = np.array(POSTURES.get(name, np.linspace(0.3, 0.7, robot.n)))
    return robot, q


def loaded(robot):
    """The robot with a payload at its tip of a fifth of its last two links."""
    masses = [float(robot.model.number(link.inertia.mass)) for link in robot.model.moving]
    return robot.with_payload(0.2 * sum(masses[-2:]))


def run_of(robot, q, controller, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("error", SimulationWarning)
        return simulate(loaded(robot), q, 0, DURATION, controller, limits="ignore", **named)


def computed(robot, motion):
    return ComputedTorque(robot, motion, stiffness=FREQUENCY**2)


def pd(robot, motion):
    inertia = np.diagonal(robot.inertia(motion.q[0]))
    return PDGravity(robot, motion, 4 * FREQUENCY**2 * inertia, 4 * FREQUENCY * inertia)


def explained(robot, motion, controller):
    """The error that the unknown payload explains: torques that are missing, over the stiffness.

    Missing is what the loaded robot needs along the motion beyond what the controller gives without an error.
    """
    t = np.linspace(0, DURATION, 201)
    q, qd, qdd = motion(t)
    missing = loaded(robot).inverse_dynamics(q, qd, qdd) - controller(t, q, qd)
    if isinstance(controller, ComputedTorque):
        return np.abs(np.linalg.solve(robot.inertia(q), missing[..., None])).max() / controller.stiffness
    return np.abs(missing / controller.stiffness).max()


def check_tracking(robot, motion, controller, **named):
    """The controllers are fast beside the motion, so the error is hardly more than what is explained."""
    run = run_of(robot, motion.q[0], controller, **named)
    error = np.abs(run.q - motion(run.t)[0]).max()
    assert run.completed
    assert 0.7 * explained(robot, motion, controller) < error < 1.4 * explained(robot, motion, controller)
    return error


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
@pytest.mark.parametrize("controller", [computed, pd])
@pytest.mark.parametrize("name", ROBOTS)
def test_joint_motions(name, controller, method):
    robot, q = robot_and_posture(name)
    motion = Trajectory.quintic(q, q + 0.3, DURATION)
    error = check_tracking(robot, motion, controller(robot, motion), method=method, step=2.5e-4)
    assert error < (0.13 if name == "tx40" else 0.11) * 0.3  # the TX40 rubs more than others, for its size


@pytest.mark.slow
@pytest.mark.parametrize("path", ["line", slowly("circle")])
@pytest.mark.parametrize("name", ROBOTS)
def test_lines_and_circles_in_joint_space(name, path):
    """Where the arm can follow."""
    robot, q = robot_and_posture(name)
    tip, reach = robot.pose(q)[:3, 3], robot.jacobian(q)[:3]
    way = 0.1 * (reach @ np.ones(robot.n)) / np.linalg.norm(reach @ np.ones(robot.n))
    timing = {"duration": DURATION, "acceleration_time": 0.1}
    try:
        if path == "line":
            motion = Trajectory.line(robot, q, displacement=way, **timing)
        else:
            axis = np.linalg.svd(reach)[0][:, 2]
            centre = tip + np.cross(axis, way)
            motion = Trajectory.circle(robot, q, centre, axis, 1.0, **timing)
    except MotionError as reason:
        pytest.skip(f"the arm cannot follow: {reason}")
    for controller in (computed, pd):
        check_tracking(robot, motion, controller(robot, motion))


@pytest.mark.slow
@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
@pytest.mark.parametrize("name", ROBOTS)
def test_operational_control_along_a_line(name, method):
    robot, q = robot_and_posture(name)
    tip, reach = robot.pose(q)[:3, 3], robot.jacobian(q)[:3]
    way = 0.1 * (reach @ np.ones(robot.n)) / np.linalg.norm(reach @ np.ones(robot.n))
    line = TipLine(tip, tip + way, DURATION)
    try:
        control = OperationalControl(robot, line, stiffness=FREQUENCY**2)
    except ValueError as reason:
        pytest.skip(f"the arm cannot follow: {reason}")
    run = run_of(robot, q, control, method=method)
    error = np.linalg.norm(robot.pose(run.q)[:, :3, 3] - line.position(run.t)[0], axis=-1).max()
    assert run.completed
    assert error < 0.1 * 0.1
