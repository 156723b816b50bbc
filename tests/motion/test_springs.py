"""Torques of motions with springs: by their causes, scaled, and in least time."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot, Trajectory, contributions, operational, scale_to_limits, time_optimal
from armdyn.analysis import dynamic_manipulability
from armdyn.expression import Expression
from arms import assert_same
from sprung import sprung


@pytest.fixture(scope="module")
def arm():
    return Robot(sprung(Robot.load("planar").model, 4, struts=2))


@pytest.fixture(scope="module")
def motion():
    return Trajectory.quintic([0.2, -0.8], [1.4, 0.9], duration=0.6)


def test_springs_are_a_part_of_the_torques(arm, motion):
    at = motion.samples()
    parts = contributions(arm, at.q, at.qd, at.qdd)
    assert_same(parts.springs, arm.springs(at.q), 1e-12)
    assert_same(parts.total, arm.inverse_dynamics(at.q, at.qd, at.qdd), 1e-10)
    assert "springs" in dict(parts.at(0))
    assert not contributions(Robot.load("planar"), at.q, at.qd, at.qdd).springs.any()


def limited(arm, motion, share):
    """With limits of torque at this share of what the motion takes, above what its postures take."""
    at = motion.samples()
    zero = np.zeros_like(at.q)
    still = np.abs(arm.inverse_dynamics(at.q, zero, zero)).max(0)
    most = np.abs(arm.inverse_dynamics(at.q, at.qd, at.qdd)).max(0)
    links = tuple(
        replace(link, limits=replace(link.limits, torque=Expression.of(float(torque))))
        for link, torque in zip(arm.model.links, np.maximum(share * most, 1.2 * still), strict=True)
    )
    return Robot(replace(arm.model, links=links))


@pytest.mark.parametrize("share", [0.6, 0.9])
def test_scaling_and_least_time_keep_the_limits(arm, motion, share):
    """Springs stay when a motion slows down: only what is left of the limits is there for moving."""
    robot = limited(arm, motion, share)
    most = np.array([robot.model.number(link.limits.torque) for link in robot.model.moving])
    slow = scale_to_limits(robot, motion)
    fast = time_optimal(robot, motion)
    for found in (slow.trajectory, fast.trajectory):
        at = found.samples()
        tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
        assert (np.abs(tau) <= most * (1 + 1e-6)).all()
    assert np.isclose(np.abs(slow.trajectory.samples().q[-1] - motion.samples().q[-1]).max(), 0, atol=1e-12)
    assert fast.duration < slow.trajectory.duration
    at = fast.trajectory.samples()
    assert (np.abs(robot.inverse_dynamics(at.q, at.qd, at.qdd)) / most).max() > 0.99


def test_operational_space_and_forward_dynamics_with_springs(arm):
    rng = np.random.default_rng(2)
    q, qd, tau = rng.uniform(0.3, 1.0, (3, 4, 2))
    found = operational(arm, q, qd)
    qdd = arm.forward_dynamics(q, qd, tau)
    J, Jd = arm.jacobian(q)[:, :2], arm.jacobian_dot(q, qd)[:, :2]
    expected = (J @ qdd[..., None] + Jd @ qd[..., None])[..., 0]
    assert_same(found.acceleration(tau), expected, 1e-10)
    assert_same(found.torques(expected), tau, 1e-9)
    ellipsoid = dynamic_manipulability(arm, q)
    rest = (arm.jacobian(q)[:, :2] @ arm.forward_dynamics(q, 0 * q, 0 * q)[..., None])[..., 0]
    assert_same(ellipsoid.centre, rest, 1e-10)
