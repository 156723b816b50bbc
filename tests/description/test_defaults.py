"""What the robot file means where it says nothing, and the parts of it that have two spellings."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model.inertia import TENSOR_KEYS
from arms import assert_same

BODY = {"mass": 1, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}
DH = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, **BODY}
FRAMES = {"joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 0, 1], **BODY}


def arm(convention, *links, **top):
    return Robot.from_dict(
        {"name": "arm", "convention": convention, "gravity": [0, 0, -9.81], "link": list(links), **top}
    )


def numbers(robot, entries):
    return np.array([robot.model.number(x) for x in entries])


def test_parent_is_the_entry_before():
    robot = arm("dh", DH | {"name": "a"}, DH | {"name": "b"}, DH | {"name": "c", "parent": "a"}, DH)
    assert [link.parent for link in robot.model.links] == ["base", "a", "a", "c"]


def test_names_are_counted():
    assert [link.name for link in arm("dh", DH, DH, DH).model.links] == ["link1", "link2", "link3"]


def test_tip_is_the_last_link():
    robot = arm("dh", DH | {"name": "a"}, DH | {"name": "b"})
    assert robot.model.tip == "b"
    q = [0.3, 0.4]
    assert_same(robot.pose(q), robot.pose(q, "b"), 0)
    other = arm("dh", DH | {"name": "a"}, DH | {"name": "b"}, tip="a")
    assert_same(other.pose(q), robot.pose(q, "a"), 0)


def test_tip_may_be_the_base():
    robot = arm("dh", DH, tip="base", tool={"xyz": [1, 2, 3]})
    assert_same(robot.pose([0.3])[:3, 3], [1, 2, 3], 0)
    assert_same(robot.jacobian([0.3]), np.zeros((6, 1)), 0)
    assert_same(
        robot.inverse_dynamics([0.3], [0], [0], np.ones(6)), robot.inverse_dynamics([0.3], [0], [0]), 0
    )


def test_rotors_are_exact():
    assert arm("dh", DH).model.rotors == "exact"


def test_joint_variable_needs_no_entry():
    """theta of a revolute joint and d of a prismatic one are offsets, zero if not given."""
    revolute = arm("dh", {**DH, "theta": 0})
    assert revolute == arm("dh", DH)
    slide = {"joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, **BODY}
    assert arm("dh", slide) == arm("dh", slide | {"d": 0})


def test_bodies_are_massless_and_central():
    link = arm("dh", DH, {"joint": "fixed", "a": 0, "alpha": 0, "d": 0, "theta": 0}).model.links[1]
    assert link.inertia.mass == 0
    assert list(link.inertia.moment) == [0, 0, 0]
    assert list(link.inertia.tensor) == [0] * 6


def test_motor_is_on_the_parent_at_its_origin():
    motor = arm("dh", DH, DH | {"motor": {"gear": 2, "inertia": 1}}).model.links[1].motor
    assert motor.carrier == "link1"
    assert list(motor.position) == [0, 0, 0]
    assert motor.mass == 0
    assert motor.transverse == 0
    assert motor.torque_constant == 1


def test_rotor_inertia_in_two_spellings():
    short = arm("dh", DH | {"motor": {"gear": 2, "inertia": 0.1}})
    assert short == arm("dh", DH | {"motor": {"gear": 2, "inertia": {"axial": 0.1}}})
    assert short == arm("dh", DH | {"motor": {"gear": 2, "inertia": {"axial": "1/10", "transverse": 0}}})


def test_coulomb_friction_in_two_spellings():
    assert arm("dh", DH | {"friction": {"coulomb": 0.4}}) == arm(
        "dh", DH | {"friction": {"coulomb": [0.4, -0.4]}}
    )


@pytest.mark.parametrize(
    ("convention", "link"),
    [
        ("dh", DH | {"alpha": "pi/3"}),
        ("mdh", DH | {"alpha": "pi/3"}),
        ("mdh", DH | {"alpha": 0.7, "theta": 0.3}),
        ("mdh", {"joint": "prismatic", "a": 1, "alpha": 0.7, "theta": 0.3, **BODY}),
        ("frames", FRAMES | {"origin": {"xyz": [0, 0, 1], "rpy": [0.3, -0.4, 0.5]}, "axis": [1, 2, 3]}),
    ],
)
def test_motor_axis_is_the_joint_axis_in_the_parents_frame(convention, link):
    first = DH if convention != "frames" else FRAMES
    robot = arm(convention, first, link | {"motor": {"gear": 2, "inertia": 0.1}})
    q = np.array([0.3, 0.4])
    parent = robot.pose(q, "link1")[:3, :3]
    J = robot.jacobian(q, "link2")[:, 1]
    joint_axis = J[3:] if link["joint"] == "revolute" else J[:3]
    assert_same(parent @ numbers(robot, robot.model.links[1].motor.axis), joint_axis, 1e-14)


def test_axes_are_made_unit_vectors_exactly():
    axis = arm("frames", FRAMES | {"axis": [1, -2, 2]}).model.links[0].axis
    assert [x * 3 for x in axis] == [1, -2, 2]
    axis = arm("frames", FRAMES | {"axis": [1, 1, 0]}).model.links[0].axis
    assert sum((x * x for x in axis), Expression.of(0)) == 1
    motor = {"gear": 2, "inertia": 0.1, "axis": [0, 0.3, -0.4]}
    assert list(arm("frames", FRAMES | {"motor": motor}).model.links[0].motor.axis) == [
        0,
        Expression.of(0.6),
        Expression.of(-0.8),
    ]


def test_rpy_turns_about_fixed_axes():
    """Roll about x first, then pitch about y, then yaw about z, all of the parent's frame."""
    robot = arm("frames", FRAMES | {"origin": {"xyz": [1, 2, 3], "rpy": ["pi/2", 0, "pi/2"]}})
    assert_same(robot.pose([0.0])[:3, :3] @ [0, 1, 0], [0, 0, 1], 1e-15)  # y → z by roll, z stays by yaw
    assert_same(robot.pose([0.0])[:3, :3] @ [1, 0, 0], [0, 1, 0], 1e-15)
    assert_same(robot.pose([0.0])[:3, 3], [1, 2, 3], 0)


def test_tensor_entries_are_matrix_entries():
    """`xy` is I[0,1], as in URDF, not the product of inertia."""
    entries = {"xx": 0.5, "xy": 0.01, "xz": 0.02, "yy": 0.6, "yz": 0.03, "zz": 0.7}
    robot = arm("frames", FRAMES | {"inertia": entries})
    assert_same(robot.parameters[4:10], [entries[key] for key in TENSOR_KEYS], 0)
    J = np.array([[0.5, 0.01, 0.02], [0.01, 0.6, 0.03], [0.02, 0.03, 0.7]])
    for axis in ([1, 0, 0], [0, 1, 0], [1, 1, 0], [1, 0, 1], [1, 2, 3]):
        turning = arm("frames", FRAMES | {"inertia": entries, "axis": axis})
        u = np.array(axis) / np.linalg.norm(axis)
        assert_same(turning.inertia([0.4]), [[u @ J @ u]], 1e-15)


def test_limits_are_kept():
    limits = {"position": [-1, "pi/2"], "velocity": 2, "acceleration": 3, "jerk": 4, "torque": 5}
    found = arm("dh", DH | {"limits": limits}).model.links[0].limits
    assert found.position == (Expression.of(-1), Expression.pi() / 2)
    assert (found.velocity, found.acceleration, found.jerk, found.torque) == (2, 3, 4, 5)
    empty = arm("dh", DH).model.links[0].limits
    assert empty.position is None
    assert empty.torque is None


def test_fixed_links_have_no_variable():
    plate = {"joint": "fixed", "a": 0, "alpha": "pi/2", "d": 1, "theta": 0}
    robot = arm("dh", plate, DH, plate, DH)
    assert robot.n == 2
    assert [link.name for link in robot.model.moving] == ["link2", "link4"]


def test_the_book_writes_coulomb_friction_by_direction():
    robot = arm("dh", DH | {"friction": {"coulomb": [0.395, -0.435]}})
    assert_same(robot.friction([[2.0], [-2.0], [0.0]]), [[0.395], [-0.435], [0.0]], 1e-15)


def test_symbols_and_numbers_are_the_same_robot_in_numbers():
    symbols = arm("dh", DH | {"a": "l", "mass": "2*m"}, symbols={"l": 1, "m": "1/2"})
    plain = arm("dh", DH)
    assert symbols != plain
    q = [0.4]
    assert_same(symbols.inertia(q), plain.inertia(q), 0)
    assert_same(symbols.parameters, plain.parameters, 0)
