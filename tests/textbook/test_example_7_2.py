"""Example 7.2: the torques of the two-link arm along three trajectories, and what the book remarks on them.

Figures 7.5–7.6, 7.7–7.8 and 7.9–7.11; problem 7.7. Inertia torques have the rotors within, as in (7.82).
"""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import contributions
from armdyn.motion import Trajectory
from arms import assert_same

G, M, A, L, I, KR, MM, IM = 9.81, 50, 1, 0.5, 10, 100, 5, 0.01


def posture(x):
    """Joint angles with the tip at (x, 0) and the elbow below."""
    bend = np.arccos((x * x - 2) / 2)
    return np.array([-bend / 2, bend])


@pytest.fixture(scope="module")
def robot():
    return Robot.load("planar")


START = posture(0.2)
TRAJECTORIES = {
    "equal durations": lambda robot: Trajectory.triangular(START, START + np.pi / 2, 0.5),
    "different durations": lambda robot: Trajectory.trapezoidal(
        START, posture(1.8), acceleration_time=0.15, max_velocity=5.0
    ),
    "straight line": lambda robot: Trajectory.line(
        robot, START, end=[1.8, 0, 0], acceleration_time=0.15, max_velocity=5.0
    ),
}
every = pytest.mark.parametrize("name", TRAJECTORIES)


def torques(robot, name, wrench=None):
    """Samples with both sides of every jump of the acceleration, and the parts of the torques there."""
    s = TRAJECTORIES[name](robot).samples()
    return s, contributions(robot, s.q, s.qd, s.qdd, wrench, rotors="within")


def test_the_arm_starts_where_the_book_says(robot):
    assert_same(robot.pose(START)[:3, 3], [0.2, 0, 0])
    elbow = robot.pose(START, "link 1")[:3, 3]
    assert elbow[1] < 0


@every
def test_parts_are_the_terms_of_7_82(robot, name):
    s, found = torques(robot, name)
    c1, c12 = np.cos(s.q[:, 0]), np.cos(s.q.sum(1))
    c2, h = np.cos(s.q[:, 1]), -M * A * L * np.sin(s.q[:, 1])
    b11 = I + M * L**2 + KR**2 * IM + I + M * (A**2 + L**2 + 2 * A * L * c2) + IM + MM * A**2
    b12 = I + M * (L**2 + A * L * c2) + KR * IM
    b22 = I + M * L**2 + KR**2 * IM + 0 * c2
    (v1, v2), (a1, a2) = s.qd.T, s.qdd.T
    zero = 0 * c2
    assert_same(found.inertia, np.stack([b11 * a1, b12 * a2, b12 * a1, b22 * a2], -1).reshape(-1, 2, 2))
    assert_same(found.centrifugal, np.stack([zero, h * v2**2, -h * v1**2, zero], -1).reshape(-1, 2, 2))
    assert_same(found.coriolis, np.stack([2 * h * v1 * v2, zero], -1))
    g2 = M * L * G * c12
    assert_same(found.gravity, np.stack([(M * L + MM * A + M * A) * G * c1 + g2, g2], -1))
    assert_same(found.total, robot.inverse_dynamics(s.q, s.qd, s.qdd))
    assert not any(x.any() for x in (found.friction, found.rotor_coupling, found.tip_wrench))


@every
def test_inertia_torque_at_joint_2_by_itself_is_its_acceleration_times_a_constant(robot, name):
    s, found = torques(robot, name)
    assert_same(found.inertia[:, 1, 1], (I + M * L**2 + KR**2 * IM) * s.qdd[:, 1])


@every
def test_coriolis_only_at_joint_1(robot, name):
    """The tip moves with respect to link 1, but not with respect to link 2."""
    _, found = torques(robot, name)
    assert not found.coriolis[:, 1].any()
    assert np.abs(found.coriolis[:, 0]).max() > 100


# ---- figures 7.5, 7.6: equal durations ---------------------------------------------------------------------


def test_equal_durations_take_what_the_book_says(robot):
    trajectory = TRAJECTORIES["equal durations"](robot)
    assert trajectory.duration == 0.5
    assert_same(trajectory(0.5)[0] - trajectory(0.0)[0], [np.pi / 2, np.pi / 2])
    s = trajectory.samples()
    assert_same(s.qdd[:, 0], s.qdd[:, 1])
    assert np.abs(s.qd).max() == pytest.approx(2 * np.pi)


def test_inertia_torque_at_joint_1_by_itself_follows_the_acceleration(robot):
    """Same sign throughout, and of a size that the changing b_11 varies by little."""
    s, found = torques(robot, "equal durations")
    own = found.inertia[:, 0, 0]
    assert (np.sign(own) == np.sign(s.qdd[:, 0])).all()
    ratio = own / s.qdd[:, 0]
    assert ratio.max() / ratio.min() < 1.3


def test_inertia_torque_at_joint_2_by_itself_is_piecewise_constant(robot):
    _, found = torques(robot, "equal durations")
    own = found.inertia[:, 1, 1]
    assert len(np.unique(own.round(6))) == 2
    assert np.flatnonzero(np.abs(np.diff(own)) > 1).size == 1


def test_mutual_inertia_torques_show_the_symmetry_of_the_inertia_matrix(robot):
    _, found = torques(robot, "equal durations")
    assert_same(found.inertia[:, 0, 1], found.inertia[:, 1, 0])
    assert np.abs(found.inertia[:, 0, 1]).max() > 10


def test_centrifugal_and_coriolis_torques_show_the_same_symmetry(robot):
    """With equal speeds: opposite centrifugal torques, and twice the one of joint 1 by Coriolis."""
    _, found = torques(robot, "equal durations")
    assert_same(found.centrifugal[:, 0, 1], -found.centrifugal[:, 1, 0])
    assert_same(found.coriolis[:, 0], 2 * found.centrifugal[:, 0, 1])


# ---- figures 7.7, 7.8: different durations -----------------------------------------------------------------


def test_different_durations_take_what_the_book_says(robot):
    trajectory = TRAJECTORIES["different durations"](robot)
    assert_same(robot.pose(trajectory(trajectory.duration)[0])[:3, 3], [1.8, 0, 0])
    s = trajectory.samples()
    assert_same(np.abs(s.qd).max(0), [5, 5])
    turns = np.abs(posture(1.8) - START)
    for joint, ends in enumerate(turns / 5 + 0.15):
        assert np.abs(s.qd[s.t > ends + 1e-9, joint]).max(initial=0.0) == 0
        assert np.abs(s.qd[s.t < ends - 1e-3, joint])[1:].min() > 0
    assert trajectory.duration == pytest.approx(turns.max() / 5 + 0.15)


def test_mutual_inertia_torques_are_opposite_while_the_accelerations_are(robot):
    s, found = torques(robot, "different durations")
    opposite = (s.qdd[:, 0] == -s.qdd[:, 1]) & (s.qdd[:, 0] != 0)
    assert s.t[opposite].min() == 0
    assert s.t[opposite].max() == pytest.approx(0.15)
    assert_same(found.inertia[opposite, 0, 1], -found.inertia[opposite, 1, 0])
    assert np.abs(found.inertia[opposite, 0, 1]).max() > 10


def test_centrifugal_effect_at_joint_1_dies_out_later(robot):
    s, found = torques(robot, "different durations")
    at_1, at_2 = found.centrifugal[:, 0, 1], found.centrifugal[:, 1, 0]
    last_1, last_2 = (s.t[np.flatnonzero(np.abs(x) > 1e-6).max()] for x in (at_1, at_2))
    turns = np.abs(posture(1.8) - START)
    assert last_2 == pytest.approx(turns[0] / 5 + 0.15, abs=1.1e-3)
    assert last_1 == pytest.approx(turns[1] / 5 + 0.15, abs=1.1e-3)
    assert last_1 > last_2 + 0.2


def test_gravity_at_joint_2_is_constant_while_link_2_keeps_its_posture(robot):
    """Until joint 1 brakes, its turn and joint 2's cancel: link 2 is only shifted."""
    s, found = torques(robot, "different durations")
    brakes = np.abs(posture(1.8) - START)[0] / 5
    first = s.t <= brakes
    assert np.ptp(found.gravity[first, 1]) < 1e-9
    assert np.ptp(found.gravity[:, 1]) > 100


def test_gravity_at_joint_1_grows_as_the_centre_of_mass_moves_away(robot):
    """The moment of the weights about joint 1 grows with the distance of the centre of mass."""
    s, found = torques(robot, "different durations")
    q1, q12 = s.q[:, 0], s.q.sum(1)
    weights = np.array([M * L + MM * A + M * A, M * L])
    centre = np.stack([np.cos(q1), np.cos(q12)], -1) @ weights / (2 * M + MM)
    assert (np.diff(centre) > -1e-12).all()
    assert_same(found.gravity[:, 0], (2 * M + MM) * G * centre)
    assert found.gravity[-1, 0] > 5 * found.gravity[0, 0]


# ---- figures 7.9 to 7.11: a straight line of the tip -------------------------------------------------------


def test_tip_moves_along_the_horizontal_axis_with_a_trapezoidal_velocity(robot):
    trajectory = TRAJECTORIES["straight line"](robot)
    assert trajectory.duration == pytest.approx(1.6 / 5 + 0.15)
    s = trajectory.samples()
    tip = robot.pose(s.q)[:, :3, 3]
    velocity = np.einsum("kij,kj->ki", robot.jacobian(s.q)[:, :3], s.qd)
    assert_same(tip[:, 1:], 0 * tip[:, 1:], 1e-9)
    assert_same(tip[[0, -1], 0], [0.2, 1.8], 1e-9)
    ramp = np.minimum(np.minimum(s.t, trajectory.duration - s.t) / 0.15, 1)
    assert_same(velocity[:, 0], 5 * ramp, 1e-8)
    assert (s.q[:, 1] > 0).all()


def test_tip_acceleration_of_the_line(robot):
    """Figure 7.9: 5/0.15 m/s² up, nothing, down; the joints' differ from it by the kinematics."""
    s = TRAJECTORIES["straight line"](robot).samples()
    J, Jdot = robot.jacobian(s.q)[:, :3], robot.jacobian_dot(s.q, s.qd)[:, :3]
    found = (J @ s.qdd[..., None] + Jdot @ s.qd[..., None])[..., 0]
    size = 5 / 0.15
    assert_same(found[:, 1:], 0 * found[:, 1:], 1e-7, size)
    away = np.abs(found[:, 0][:, None] - [size, 0, -size]).min(-1)
    assert away.max() < 1e-6 * size
    assert len(np.unique(s.qdd[:, 0].round(3))) > 50


def test_joints_of_the_line_share_one_motion(robot):
    """Equal links and y = 0: joint 2 turns by −2 times joint 1, and so do the mutual inertia torques."""
    s, found = torques(robot, "straight line")
    assert_same(s.qd[:, 1], -2 * s.qd[:, 0], 1e-8)
    assert_same(found.inertia[:, 0, 1], -2 * found.inertia[:, 1, 0], 1e-8)
    assert_same(found.centrifugal[:, 0, 1], -4 * found.centrifugal[:, 1, 0], 1e-8)


# ---- problem 7.7 -------------------------------------------------------------------------------------------


@every
def test_problem_7_7_tip_forces(robot, name):
    """f = (500, 500) N that the tip exerts adds Jᵀ f; exerted on the tip, it takes as much off."""
    s, free = torques(robot, name)
    _, pressing = torques(robot, name, [500, 500, 0, 0, 0, 0])
    _, pushed = torques(robot, name, [-500, -500, 0, 0, 0, 0])
    q1, q12 = s.q[:, 0], s.q.sum(1)
    at_2 = 500 * (np.cos(q12) - np.sin(q12))
    at_1 = 500 * (np.cos(q1) - np.sin(q1)) + at_2
    expected = np.stack([at_1, at_2], -1)
    assert_same(pressing.tip_wrench, expected)
    assert_same(pressing.total - free.total, expected, 1e-10)
    assert_same(pushed.total - free.total, -expected, 1e-10)
    assert_same(pressing.total, robot.inverse_dynamics(s.q, s.qd, s.qdd, [500, 500, 0, 0, 0, 0]))


# ---- rotors apart ------------------------------------------------------------------------------------------


@every
def test_remarks_hold_with_the_rotor_coupling_as_a_part_of_its_own(robot, name):
    """k_r2 I_m2 leaves both mutual inertias, which stay symmetric, and the sum stays the same."""
    s, within = torques(robot, name)
    apart = contributions(robot, s.q, s.qd, s.qdd)
    (a1, a2) = s.qdd.T
    assert_same(apart.rotor_coupling, np.stack([IM * a1 + KR * IM * a2, KR * IM * a1], -1), 1e-11)
    assert_same(apart.inertia[:, 0, 1] * a1, apart.inertia[:, 1, 0] * a2)
    assert_same(apart.total, within.total)
