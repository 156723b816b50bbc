"""What the diagonal rotor model misses, against (7.82) and against its definition."""

import random
from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import AnalysisError, contributions, rotor_error
from armdyn.expression import ZERO
from arms import assert_same, cloud, generators, law, related, robots, state, unit_vector
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


# ---- where it misses nothing -------------------------------------------------------------------------------


def across(axis, carrier="one", **motor):
    """A planar arm; the motor of its second joint has an axis and a tensor of its own."""
    link = {"joint": "revolute", "a": 0.5, "alpha": 0, "d": 0, "mass": 3, "inertia": {"zz": 0.25}}
    motor = {
        "carrier": carrier,
        "gear": 50,
        "axis": axis,
        "inertia": {"axial": 0.01, "transverse": 0.2},
    } | motor
    links = [link | {"name": "one"}, link | {"name": "two", "motor": motor}]
    return Robot.from_dict({"name": "across", "convention": "dh", "gravity": [0, "-9.81", 0], "link": links})


@pytest.mark.parametrize(
    ("robot", "exact", "uncoupled"),
    [
        (across([1, 0, 0]), False, True),
        (across([1, 0, 0], inertia=0.01), True, True),
        (across([0, 0, 1], inertia=0.01), False, False),
        (across([0, 0, 1], inertia=0), True, False),
        (across([0, 0, 1], carrier="base"), True, True),
    ],
)
def test_the_reflected_model_and_the_one_with_the_locked_rotors_tensor(robot, exact, uncoupled):
    (motor,) = robot.equations().rotor_couplings()
    assert (motor.diagonal_is_exact, motor.uncoupled) == (exact, uncoupled)
    assert (motor.speed == 0) == uncoupled
    assert (motor,) == tuple(robot.with_rotors("reflected").equations().rotor_couplings()) or not uncoupled
    assert (rotor_error(robot, [0.1, 0.2], [0.3, 1], [3, 1]).largest == 0).all() == exact


def flat_arm(rng):
    """Joints along z, or across; motors anywhere, of any axis, with or without inertia across it."""
    names, links = ["base"], []
    for i in range(rng.randint(2, 4)):
        axial = rng.choice([0, 0.01, 0.02])
        axis = rng.choice([[1, 0, 0], [0, 0, 1], [0, -1, 0], unit_vector(rng)])
        motor = {"carrier": rng.choice(names), "gear": rng.choice([-30, 1, 80]), "axis": axis, "mass": 0.3}
        motor["inertia"] = {"axial": axial, "transverse": rng.choice([0, 0.5]) * axial}
        joint = rng.choice(["revolute", "revolute", "prismatic"])
        places = {
            "a": 0.3,
            "alpha": rng.choice([0, 0, "pi/2"]),
            "theta" if joint == "prismatic" else "d": 0.1,
        }
        links.append({"name": f"{i}", "joint": joint, **places, **cloud(rng), "motor": motor})
        names.append(f"{i}")
    return Robot.from_dict({"name": "flat", "convention": "dh", "gravity": [0, 0, "-9.81"], "link": links})


def only(robot, name):
    """The robot with the inertia of one rotor alone; the others have their masses."""
    links = [
        link if link.name == name else replace(link, motor=replace(link.motor, axial=ZERO, transverse=ZERO))
        for link in robot.model.links
    ]
    return Robot(replace(robot.model, links=tuple(links)))


@law(generators(), examples=30, thorough=200)
def test_a_motor_whose_diagonal_model_is_exact_has_no_error_and_others_have(rng):
    """Motor by motor; relations between joints too, by which a carrier may keep from turning."""
    draw = random.Random(int(rng.integers(2**31)))
    robot = flat_arm(draw)
    if draw.random() < 0.3:
        robot = Robot(related(robot.model, draw.randrange(2**31), whole=True))
    q, qd, qdd = state(robot, rng, (3,))
    for motor in robot.equations().rotor_couplings():
        error = rotor_error(only(robot, motor.link), q, qd, qdd)
        none = np.abs(error.error).max() <= 1e-12 * np.abs(error.torque).max()
        assert none == motor.diagonal_is_exact, motor
        assert not motor.uncoupled or motor.speed == 0


def test_the_motor_of_a_joint_that_stands_is_among_them():
    """Locked, its rotor turns with its carrier, and the reflected model leaves out its tensor."""
    robot = across([1, 0, 0]).locked({"two": 0.3})
    (motor,) = robot.equations().rotor_couplings()
    assert (motor.link, motor.diagonal_is_exact, motor.uncoupled) == ("two", False, True)
    assert_same(rotor_error(robot, [0.1], [0.3], [3.0]).error, [0.6], scale=1.0)
