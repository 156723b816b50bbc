"""Poses and Jacobians of the tip and of every link."""

import numpy as np
from hypothesis import strategies as st

from arms import assert_same, difference, generators, law, robots, state


def frames(robot):
    """Every frame a pose can be asked for: the tip's (None) and each link's."""
    return [None, *robot.model.index]


def vee(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def twist(pose, rate):
    """ṗ over ω of a frame from its pose and the rate of it."""
    return np.concatenate([rate[:3, 3], vee(rate[:3, :3] @ pose[:3, :3].T)])


@law(robots(), generators(), st.data())
def test_pose_and_rigid_motion(robot, rng, data):
    link = data.draw(st.sampled_from(frames(robot)))
    T = robot.pose(state(robot, rng)[0], link)
    assert_same(T[:3, :3] @ T[:3, :3].T, np.eye(3), 1e-13)
    assert np.linalg.det(T[:3, :3]) > 0
    assert (T[3] == [0, 0, 0, 1]).all()


@law(robots(), generators(), st.data())
def test_jacobian_and_pose(robot, rng, data):
    """J = ∂pose/∂q, linear rows over angular rows, base axes."""
    link = data.draw(st.sampled_from(frames(robot)))
    q, _, _ = state(robot, rng)
    T, J = robot.pose(q, link), robot.jacobian(q, link)
    for j, e in enumerate(np.eye(robot.n)):
        rate = difference(lambda t, e=e: robot.pose(q + t * e, link))
        assert_same(J[:, j], twist(T, rate), 1e-10)


@law(robots(), generators(), st.data())
def test_jacobian_times_speeds_and_velocity(robot, rng, data):
    """J q̇ = velocity of the frame along a motion."""
    link = data.draw(st.sampled_from(frames(robot)))
    q, qd, _ = state(robot, rng)
    rate = difference(lambda t: robot.pose(q + qd * t, link), 0.003)
    assert_same(robot.jacobian(q, link) @ qd, twist(robot.pose(q, link), rate), 1e-10)


@law(robots(), generators(), st.data())
def test_jacobian_dot_and_jacobian(robot, rng, data):
    """J̇ = dJ/dt along a motion."""
    link = data.draw(st.sampled_from(frames(robot)))
    q, qd, _ = state(robot, rng)
    rate = difference(lambda t: robot.jacobian(q + qd * t, link), 0.003)
    assert_same(robot.jacobian_dot(q, qd, link), rate, 1e-9)


@law(robots(), generators())
def test_tip_frame_and_tool_on_its_link(robot, rng):
    """The tip is its link's frame with the tool on it."""
    q, _, _ = state(robot, rng)
    tool, number = np.eye(4), robot.model.number
    tool[:3, :3] = [[number(x) for x in row] for row in robot.model.tool.R]
    tool[:3, 3] = [number(x) for x in robot.model.tool.p]
    assert_same(robot.pose(q), robot.pose(q, robot.model.tip) @ tool, 1e-13)
