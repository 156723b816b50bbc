"""Wrenches on links by name: joints feel Jᵀ h of each of them, whatever else they feel."""

import random
from dataclasses import replace

import numpy as np

from armdyn import Robot
from armdyn.dynamics import forward_dynamics, forward_dynamics_articulated
from arms import (
    ROTORS,
    assert_same,
    generators,
    gradient,
    law,
    rational_transform,
    related,
    robots,
    state,
)
from branched_arms import dual_arm


def some_links(robot, rng, rows=()):
    """Wrenches on up to three links, the base and links welded to it or to others among them."""
    links = rng.permutation([robot.model.root, *robot.model.index])[: rng.integers(1, 4)]
    return {str(link): rng.uniform(-20, 20, (*rows, 6)) for link in links}


def felt(robot, q, wrench):
    return sum(np.einsum("...ij,...i->...j", robot.jacobian(q, link), h) for link, h in wrench.items())


@law(robots(rotors=ROTORS), generators())
def test_wrenches_and_transposed_jacobians(robot, rng):
    q, qd, qdd = state(robot, rng, (2,))
    wrench = some_links(robot, rng, (2,))
    added = robot.inverse_dynamics(q, qd, qdd, wrench) - robot.inverse_dynamics(q, qd, qdd)
    assert_same(added, felt(robot, q, wrench))


@law(robots(rotors=ROTORS), generators())
def test_forward_dynamics_of_inverse_dynamics_with_wrenches(robot, rng):
    q, qd, qdd = state(robot, rng)
    wrench = some_links(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    condition = np.linalg.cond(robot.inertia(q))
    assert_same(robot.forward_dynamics(q, qd, tau, wrench), qdd, 1e-13 * condition, scale=np.abs(tau).max())


@law(robots(motors="parent", couplings=False), generators())
def test_both_ways_of_forward_dynamics_with_wrenches(robot, rng):
    """Articulated bodies and the factorised inertia."""
    q, qd, tau = (list(x) for x in state(robot, rng))
    wrench = some_links(robot, rng)
    mechanism = replace(robot.mechanism, places=robot.model.places(list(wrench)))
    h = np.concatenate(list(wrench.values())).tolist()
    expected = forward_dynamics(mechanism, q, qd, tau, h)
    condition = np.linalg.cond(robot.inertia(q))
    assert_same(forward_dynamics_articulated(mechanism, q, qd, tau, h), expected, 1e-13 * condition)


@law(robots((2, 4)), generators())
def test_wrenches_at_joints_and_torques(robot, rng):
    """A joint's torque is the component of its wrench along its axis, but for rotors and friction."""
    robot = robot.with_rotors("none")
    q, qd, qdd = state(robot, rng)
    wrench = some_links(robot, rng)
    change = robot.joint_wrenches(q, qd, qdd, wrench) - robot.joint_wrenches(q, qd, qdd)
    torque = robot.inverse_dynamics(q, qd, qdd, wrench) - robot.inverse_dynamics(q, qd, qdd)
    for i, (body, link) in enumerate(zip(robot.mechanism.bodies, robot.model.moving, strict=True)):
        z = np.array(body.R_after, float).T @ np.array(body.axis, float)
        assert_same(z @ change[i][3:] if link.joint == "revolute" else z @ change[i][:3], torque[i], 1e-10)


@law(robots((1, 3)), generators(), examples=5)
def test_derivatives_with_wrenches(robot, rng):
    q, qd, qdd = state(robot, rng)
    wrench = some_links(robot, rng)
    by_q, _, B = robot.inverse_dynamics_derivatives(q, qd, qdd, wrench)
    assert_same(by_q, gradient(lambda x: robot.inverse_dynamics(x, qd, qdd, wrench), q), 1e-7)
    assert_same(B, robot.inertia(q))
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    by_q_too, _, inverse = robot.forward_dynamics_derivatives(q, qd, tau, wrench)
    tolerance = 1e-12 * np.linalg.cond(B)
    assert_same(B @ inverse, np.eye(robot.n), tolerance)
    assert_same(B @ by_q_too, -by_q, tolerance)


@law(robots(), generators())
def test_the_tip_by_its_link_and_by_itself(robot, rng):
    """A wrench at the tip frame is one at its link's frame, its force with the tool as lever."""
    q, qd, qdd = state(robot, rng)
    h, tip = rng.uniform(-9, 9, 6), robot.model.tip
    arm = robot.pose(q)[:3, 3] - robot.pose(q, tip)[:3, 3]
    moved = np.concatenate([h[:3], h[3:] + np.cross(arm, h[:3])])
    expected = robot.inverse_dynamics(q, qd, qdd, h)
    assert_same(robot.inverse_dynamics(q, qd, qdd, {tip: moved}), expected)
    assert_same(robot.with_tip(tip).inverse_dynamics(q, qd, qdd, moved), expected)


@law(robots(), generators())
def test_frames_of_the_base(robot, rng):
    q, qd, _ = state(robot, rng)
    root = robot.model.root
    assert_same(robot.pose(q, root), np.eye(4))
    assert_same(robot.jacobian(q, root), np.zeros((6, robot.n)))
    assert_same(robot.jacobian_dot(q, qd, root), np.zeros((6, robot.n)))


@law(robots((2, 5)), generators())
def test_wrenches_with_relations_and_a_placed_base(robot, rng):
    """Joints that follow others, on a base that is turned: base axes are the world's, as in Jacobians."""
    seed = int(rng.integers(2**31))
    base = rational_transform(random.Random(seed))
    robot = Robot(replace(related(robot.model, seed), base=base))
    q, qd, qdd = state(robot, rng)
    wrench = some_links(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    assert_same(tau - robot.inverse_dynamics(q, qd, qdd), felt(robot, q, wrench))
    condition = np.linalg.cond(robot.inertia(q))
    found = robot.forward_dynamics(q, qd, tau, wrench)
    assert_same(found, qdd, 1e-13 * max(100.0, condition), scale=np.abs(tau).max())
    frame = np.eye(4)
    frame[:3, :3], frame[:3, 3] = [[x.value() for x in row] for row in base.R], [x.value() for x in base.p]
    assert_same(robot.pose(q, robot.model.root), frame)


def test_branches_do_not_feel_each_other():
    """Of a wrench on the left hand the right arm feels nothing; the torso does."""
    robot = dual_arm()
    q, qd, qdd = state(robot, np.random.default_rng(1))
    added = robot.inverse_dynamics(q, qd, qdd, {"left gripper": np.arange(1, 7)})
    added = added - robot.inverse_dynamics(q, qd, qdd)
    names = [link.name for link in robot.model.moving]
    right = [name.startswith("right") for name in names]
    assert not added[right].any()
    assert added[~np.array(right)].all()


def test_an_empty_mapping_is_no_wrench():
    robot = Robot.load("planar")
    x = np.ones(2)
    np.testing.assert_array_equal(robot.inverse_dynamics(x, x, x, {}), robot.inverse_dynamics(x, x, x))
