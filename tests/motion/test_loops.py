"""Motions of robots with loops: on the coordinates, with friction and limits of the joints that follow."""

import numpy as np
import pytest

from armdyn import (
    Robot,
    Trajectory,
    inverse_kinematics,
    operational,
    scale_to_limits,
    time_optimal,
)
from armdyn.motion import MotionError
from armdyn.motion.timing.exceeded import exceeded
from armdyn.motion.torques import speed_parts
from armdyn.robot.friction import friction_parts
from arms import assert_same
from closed_chains import closed_states, five_bar_table, random_loop, reference
from golden_messages import golden_error

RUBS = {"viscous": 0.4, "coulomb": 0.6, "offset": 0.1}
MOST = {"velocity": 6, "acceleration": 60, "torque": 12}


def five_bar(passive=None, follower=None, **driven):
    """With friction at all joints, and limits; `follower`: limits of the left forearm."""
    motor = {"gear": 20, "inertia": 1e-4}
    table = five_bar_table(friction=RUBS, limits=MOST, motor=motor, **driven)
    table["link"][1]["friction"] = passive or {"viscous": 0.3, "coulomb": [0.5, -0.4]}
    table["link"][3]["friction"] = {
        "coulomb": 0.3,
        "cubic": 0.01,
        "stribeck": {"level": 0.2, "velocity": 0.5},
    }
    if follower:
        table["link"][1]["limits"] = follower
    return Robot.from_dict(table)


def motion_of(robot, duration=0.3):
    q = reference(robot)
    return Trajectory.quintic(q, q + np.array([0.4, -0.5]), duration=duration)


@pytest.mark.parametrize("seed", [7, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 2, 5))])
def test_parts_of_friction_add_up(seed):
    robot = random_loop(seed)
    q, qd, _ = closed_states(robot, np.random.default_rng(seed), 6)
    parts = friction_parts(robot, q)
    assert_same(parts.growing(qd) + parts.dry(qd) + parts.fading(qd) + parts.offset, robot.friction(qd, q=q))


@pytest.mark.parametrize("rate", [0.5, 1.0, 2.0])
def test_torques_of_a_faster_motion(rate):
    robot = five_bar()
    motion = motion_of(robot)
    parts = speed_parts(robot, motion.q, motion.qd, motion.qdd)
    faster = robot.inverse_dynamics(motion.q, rate * motion.qd, rate**2 * motion.qdd)
    assert_same(parts.torque(rate), faster)


@pytest.mark.parametrize("follower", [None, {"velocity": 2.0}, {"acceleration": 15.0}])
def test_scaled_and_optimal_motions_use_a_limit_and_keep_all(follower):
    robot = five_bar(follower=follower)
    motion = motion_of(robot)
    scaled = scale_to_limits(robot, motion, faster=True)
    best = time_optimal(robot, motion)
    assert best.duration < scaled.trajectory.duration
    for found in (scaled.trajectory, best.trajectory):
        used = [
            np.abs(found.qd).max() / MOST["velocity"],
            np.abs(found.qdd).max() / MOST["acceleration"],
            np.abs(robot.inverse_dynamics(found.q, found.qd, found.qdd)).max() / MOST["torque"],
        ]
        if follower:
            quick = robot.joint_velocities(found.qd, found.q)[:, 1]
            turns = robot.assembly.accelerations(found.q, found.qd, found.qdd)[:, 1]
            own = quick if "velocity" in follower else turns
            used.append(np.abs(own).max() / next(iter(follower.values())))
        assert 0.99 < max(used) < 1.001
    if follower:
        kind = next(iter(follower))
        assert scaled.limited_by.kind == f"follower {kind}"
        assert scaled.joint == 1
        assert scaled.limited_by.name(robot).startswith("joint 'left forearm', which follows")


def test_ranges_of_joints_that_follow_are_looked_at():
    robot = five_bar(follower={"position": [-1.0, 0.0]})
    motion = motion_of(robot)
    joint = robot.joint_positions(motion.q)[:, 1]
    assert joint.min() < -1
    (said,) = exceeded(robot, motion.t, motion.q)
    assert said.text.startswith("joint 'left forearm', which follows others, leaves its range of -1 to 0 rad")


def test_the_tip_goes_straight():
    robot = five_bar()
    q = reference(robot)
    start = robot.pose(q)[:3, 3]
    motion = Trajectory.line(robot, q, displacement=[0.05, 0.04, 0], duration=1.0, profile="quintic")
    way = robot.pose(motion.q)[:, :3, 3] - start
    assert_same(way[-1], [0.05, 0.04, 0])
    assert_same(np.cross(way, [0.05, 0.04, 0]), np.zeros_like(way))
    velocity = np.einsum("sij,sj->si", robot.jacobian(motion.q), motion.qd)[:, :3]
    assert_same(np.cross(velocity, [0.05, 0.04, 0]), np.zeros_like(velocity))


def test_where_the_tip_cannot_go():
    robot = five_bar()
    with golden_error(MotionError):
        Trajectory.line(robot, reference(robot), displacement=[0.5, 0.4, 0], duration=1.0, profile="quintic")
    with golden_error(MotionError):
        inverse_kinematics(robot, [2.0, 2.0, 0.0], reference(robot))


def test_inverse_kinematics_stays_in_the_assembly_mode():
    robot = five_bar()
    q = reference(robot) + np.array([0.2, -0.1])
    assert_same(inverse_kinematics(robot, robot.pose(q)[:3, 3], reference(robot)), q, 1e-9)


def test_operational_space_at_the_tip():
    """Of the dynamics at the tip: Λ⁻¹ = J B⁻¹ Jᵀ in the two rows that it can move."""
    robot = five_bar()
    q, qd = reference(robot), np.array([0.3, -0.2])
    found = operational(robot, q, qd)
    J = robot.jacobian(q)[:2]
    assert_same(np.linalg.inv(found.B_A), J @ np.linalg.solve(robot.inertia(q), J.T), 1e-9)
