"""Links of a tree by name: inverse kinematics, lines and circles; wrenches on links of timed motions."""

import numpy as np
import pytest

from armdyn import MotionError, Robot, Trajectory, inverse_kinematics, scale_to_limits
from armdyn.model import ModelError
from arms import assert_same
from branched_arms import dual_arm
from golden_messages import golden_error

BOLTED = dual_arm(torso=False)  # two Stanford arms, which have a closed form
TURNING = dual_arm("panda")  # seven joints and the torso's: redundant, no closed form


def side(robot, name):
    return np.array([link.name.startswith(name) for link in robot.model.moving])


def posture(robot, seed):
    """Of the right arm in the middle of its joints' limits, that of the left one within them."""
    return np.random.default_rng(seed).uniform(0.3, 0.9, robot.n)


@pytest.mark.parametrize("robot", [BOLTED, TURNING], ids=["closed form", "damped"])
@pytest.mark.parametrize("orientation", [True, False])
def test_inverse_kinematics_of_a_link(robot, orientation):
    for seed in range(5):
        q0, q1 = posture(robot, seed), posture(robot, seed + 100)
        target = robot.pose(q1, "left gripper")
        q = inverse_kinematics(robot, target, q0, link="left gripper", orientation=orientation)
        rows = slice(None) if orientation else slice(3, None)
        assert_same(robot.pose(q, "left gripper")[:3, rows], target[:3, rows], 1e-9)
        np.testing.assert_array_equal(q[side(robot, "right")], q0[side(robot, "right")])


def test_joints_of_other_branches_stay_after_restarts():
    """From q0 the damped method ends where the arm is stretched: it starts again elsewhere."""
    robot = TURNING
    rng = np.random.default_rng(5)
    for _ in range(5):
        q0 = rng.uniform(-2, 2, robot.n)
        target = robot.pose(rng.uniform(-2, 2, robot.n), "left gripper")
        q = inverse_kinematics(robot, target, q0, link="left gripper", restarts=40)
        assert_same(robot.pose(q, "left gripper"), target, 1e-9)
        np.testing.assert_array_equal(q[side(robot, "right")], q0[side(robot, "right")])


def test_a_branch_and_the_arm_alone():
    """A branch has the closed forms of the arm it is."""
    alone = Robot.load("stanford")
    q0, q1 = posture(BOLTED, 1), posture(BOLTED, 2)
    left = side(BOLTED, "left")
    found = inverse_kinematics(BOLTED, BOLTED.pose(q1, "left gripper"), q0, link="left gripper")
    expected = inverse_kinematics(alone, alone.pose(q1[left]), q0[left])
    assert_same(found[left], expected, 1e-9)


def test_a_link_between():
    """Joints after the link stay where they are."""
    robot = Robot.load("puma560")
    q0, q1 = posture(robot, 3), posture(robot, 4)
    q = inverse_kinematics(robot, robot.pose(q1, "forearm")[:3, 3], q0, link="forearm")
    assert_same(robot.pose(q, "forearm")[:3, 3], robot.pose(q1, "forearm")[:3, 3], 1e-9)
    np.testing.assert_array_equal(q[3:], q0[3:])


@pytest.mark.parametrize("robot", [BOLTED, TURNING], ids=["bolted", "turning"])
def test_lines_and_circles_of_a_link(robot):
    q0 = posture(robot, 7)
    law = {"duration": 1.0, "profile": "quintic", "check_limits": False, "link": "left gripper"}
    start = robot.pose(q0, "left gripper")
    line = Trajectory.line(robot, q0, displacement=[0.02, -0.03, 0.04], **law)
    end = robot.pose(line(1.0)[0], "left gripper")
    assert_same(end[:3, 3], start[:3, 3] + [0.02, -0.03, 0.04], 1e-9)
    circle = Trajectory.circle(robot, q0, start[:3, 3] + [0.05, 0, 0], [0, 0, 1], 0.5, **law)
    there = robot.pose(circle(np.linspace(0, 1, 7))[0], "left gripper")[:, :3, 3]
    assert_same(np.linalg.norm(there - start[:3, 3] - [0.05, 0, 0], axis=1), np.full(7, 0.05), 1e-9)
    for motion in (line, circle):
        np.testing.assert_array_equal(motion(0.5)[0][side(robot, "right")], q0[side(robot, "right")])


def test_wrong_links_and_wrenches():
    q = posture(BOLTED, 1)
    with golden_error(ModelError):
        inverse_kinematics(BOLTED, [0.3, 0, 0], q, link="tail")
    with pytest.raises(MotionError, match=r"^the tip cannot reach \(0\.3, 0, 0\) m"):
        inverse_kinematics(BOLTED, [0.3, 0, 0], q, link="base")
    np.testing.assert_array_equal(inverse_kinematics(BOLTED, np.zeros(3), q, link="base"), q)
    motion = Trajectory.trapezoidal(q, q + 0.1, duration=2.0, acceleration_time=0.5)
    with golden_error(MotionError):
        scale_to_limits(BOLTED, motion, wrench={"left gripper": np.zeros((2, 6))})
