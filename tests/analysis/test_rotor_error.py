"""What the diagonal rotor model misses, against (7.82) and against its definition."""

import numpy as np

from armdyn import Robot
from armdyn.analysis import AnalysisError, contributions, rotor_error
from arms import assert_same, generators, law, robots, state
from golden_messages import golden_error


@law(robots((2, 5), rotors=("exact", "reflected")), generators(), examples=8)
def test_error_is_exact_minus_reflected_and_the_rotor_coupling(robot, rng):
    q, qd, qdd = state(robot, rng, (4, 3))
    found = rotor_error(robot, q, qd, qdd)
    exact = robot.with_rotors("exact")
    difference = exact.inverse_dynamics(q, qd, qdd) - robot.with_rotors("reflected").inverse_dynamics(
        q, qd, qdd
    )
    size = np.abs(found.torque).max()
    assert_same(found.error, difference, scale=size)
    assert_same(found.error, contributions(exact, q, qd, qdd).rotor_coupling, scale=size)


def test_planar_arm_in_closed_form():
    """(7.82): the diagonal model misses I_m2 q̈_1 + k_r2 I_m2 q̈_2 at joint 1 and k_r2 I_m2 q̈_1 at joint 2."""
    robot = Robot.load("planar")
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.normal(size=(3, 30, 2))
    found = rotor_error(robot, q, qd, qdd)
    assert_same(found.error, np.stack([0.01 * qdd[:, 0] + qdd[:, 1], qdd[:, 0]], -1), scale=1e3)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(found.torque, tau)
    assert found.worst[1] == np.abs(qdd[:, 0]).argmax()
    assert_same(found.largest[1], np.abs(qdd[:, 0]).max())
    assert_same(found.rms[1], np.sqrt(np.mean(qdd[:, 0] ** 2)))
    assert_same(found.percent[1], 100 * np.abs(qdd[:, 0]).max() / np.abs(tau[:, 1]).max())
    worst = found.worst[1]
    assert_same(found.percent_at_worst[1], 100 * np.abs(qdd[worst, 0] / tau[worst, 1]))


def test_table_has_a_row_for_each_joint():
    q, qd, qdd = np.random.default_rng(6).normal(size=(3, 20, 4))
    robot = Robot.load("scara")
    found = rotor_error(robot, q, qd, qdd)
    rows = found.table()
    assert [row.unit for row in rows] == [
        "N m" if link.joint == "revolute" else "N" for link in robot.model.moving
    ]
    assert [row.largest_error for row in rows] == found.largest.tolist()
    assert [row.worst_sample for row in rows] == found.worst.tolist()
    assert rows[0].joint.startswith("joint 1 (")


def test_robot_without_motors_says_so():
    found = rotor_error(Robot.load("planar3"), [0.1, 0.2, 0.3], [1, 1, 1], [1, 2, 3])
    assert not found.error.any()
    assert not found.percent.any()
    assert not found.percent_at_worst.any()
    assert "no motors" in found.note
    assert rotor_error(Robot.load("planar"), [0, 0], [0, 0], [1, 1]).note == ""


def test_rounding_is_no_error():
    """The waist of the Stanford arm alone at constant speed needs no torque in either model."""
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-2, 2, (200, 6)), np.zeros((200, 6))
    qd[:, 0] = rng.normal(size=200)
    found = rotor_error(Robot.load("stanford"), q, qd, np.zeros(6))
    assert found.torque[:, 0].any()  # but for rounding
    assert found.percent[0] == found.percent_at_worst[0] == 0


def test_bad_samples_are_named():
    with golden_error(AnalysisError):
        rotor_error(Robot.load("planar"), np.zeros((0, 2)), [0, 0], [0, 0])
    with golden_error(AnalysisError):
        rotor_error(Robot.load("planar"), [0, 0], [0, 0], [0])
