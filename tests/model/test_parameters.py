"""The parameter vector: its names, its order, and what each entry is of the description."""

import numpy as np
import pytest

from armdyn import Robot, bundled_robots
from arms import assert_same

PER_JOINT = ["m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz", "Im", "Fv", "Fs"]


def arm(*links, **top):
    entries = []
    for i, link in enumerate(links):
        body = {"mass": 1, "inertia": {"xx": 1, "yy": 1, "zz": 1}}
        place = {"joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 1, 0]}
        entries.append({"name": f"link {i + 1}", **place, **body, **link})
    return Robot.from_dict(
        {"name": "arm", "convention": "frames", "gravity": [0, 0, -10], "link": entries} | top
    )


def values(robot):
    return dict(zip(robot.parameter_names, robot.parameters, strict=True))


@pytest.mark.parametrize("name", bundled_robots())
def test_thirteen_names_a_joint(name):
    robot = Robot.load(name)
    joints = len(robot.joints)
    expected = [f"{key}{j + 1}" for j in range(joints) for key in PER_JOINT]
    assert list(robot.parameter_names[: 13 * joints]) == expected
    assert len(robot.parameters) == len(robot.parameter_names)


def test_a_link_about_its_frame():
    """m, m·com, and the tensor about the frame's origin."""
    tensor = {"xx": 3, "yy": 4, "zz": 5, "xy": 0.1, "xz": 0.2, "yz": 0.3}
    found = values(arm({"mass": 2, "com": [1, 2, 3], "inertia": tensor}))
    assert [found[k + "1"] for k in PER_JOINT[:4]] == [2, 2, 4, 6]
    about_origin = [3 + 2 * 13, 0.1 - 2 * 2, 0.2 - 2 * 3, 4 + 2 * 10, 0.3 - 2 * 6, 5 + 2 * 5]
    assert_same([found[k + "1"] for k in PER_JOINT[4:10]], about_origin, 1e-15)
    assert [found[k + "1"] for k in PER_JOINT[10:]] == [0, 0, 0]


def test_a_motor_belongs_to_its_carrier_and_its_inertia_to_its_joint():
    motor = {"gear": 10, "inertia": {"axial": 0.5, "transverse": 0.2}, "mass": 3, "position": [1, 0, 0]}
    robot = arm({}, {"motor": motor | {"axis": [0, 0, 1]}})
    exact = values(robot)
    assert exact["Im1"] == 0
    assert exact["Im2"] == 0.5
    assert exact["m1"] == 1 + 3
    assert exact["mx1"] == 3
    assert_same([exact[k] for k in ("Ixx1", "Iyy1", "Izz1")], [1 + 0.2, 1 + 0.2 + 3, 1 + 0.5 + 3], 1e-15)
    reflected = values(robot.with_rotors("reflected"))
    assert_same([reflected[k] for k in ("Ixx1", "Iyy1", "Izz1")], [1, 1 + 3, 1 + 3], 1e-15)
    assert reflected["Im2"] == 0.5
    none = values(robot.with_rotors("none"))
    assert none["Im2"] == 0
    assert none["m1"] == 1


def test_a_motor_on_the_base_belongs_to_no_link():
    motor = {"gear": 10, "inertia": 0.5, "mass": 3, "carrier": "base", "axis": [1, 0, 0]}
    found = values(arm({}, {"motor": motor}))
    assert found["m1"] == 1
    assert found["Im2"] == 0.5


def test_a_plate_belongs_to_the_link_it_is_on():
    tensor = {"xx": 1, "yy": 1, "zz": 1}
    plate = {"joint": "fixed", "mass": 2, "origin": {"xyz": [0, 0, 1]}, "inertia": tensor}
    robot = Robot.from_dict(
        {
            "name": "arm",
            "convention": "frames",
            "gravity": [0, 0, -10],
            "link": [
                {"joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 1, 0], "mass": 1},
                plate,
            ],
        }
    )
    found = values(robot)
    assert found["m1"] == 3
    assert found["mz1"] == 2
    assert found["Ixx1"] == 1 + 2


def test_friction_of_an_uncoupled_motor_is_the_joints():
    """Fv = viscous + k² of the motor's, Fs = Coulomb + |k| of the motor's."""
    motor = {"gear": -10, "inertia": 1, "friction": {"viscous": 0.01, "coulomb": 0.2}}
    robot = arm({"friction": {"viscous": 3, "coulomb": 4}, "motor": motor})
    found = values(robot)
    assert_same([found["Fv1"], found["Fs1"]], [3 + 1, 4 + 2], 1e-15)
    assert len(robot.parameters) == 13
    assert values(robot.with_rotors("none"))["Fv1"] == 3


def test_extras_come_in_order_and_only_where_there_are_any():
    """Asymmetry by joint, motor friction of coupled motors, offsets by joint."""
    coupled = {"gear": 2, "inertia": 1, "friction": {"viscous": 0.1, "coulomb": 0.2}}
    robot = arm(
        {"friction": {"offset": 0.5}},
        {"friction": {"coulomb": [0.3, -0.1]}, "motor": coupled | {"coupling": {"link 1": 3}}},
        {
            "friction": {"coulomb": [0.1, -0.3], "offset": -0.7},
            "motor": coupled | {"coupling": {"link 2": 1}},
        },
        {"motor": {"gear": -4, "inertia": 1, "friction": {"coulomb": [0.2, -0.1]}}},
    )
    names = robot.parameter_names[13 * 4 :]
    assert names == ("Fa2", "Fa3", "Fa4", "Fvm2", "Fsm2", "Fvm3", "Fsm3", "F01", "F03")
    expected = [0.1, -0.1, -4 * 0.05, 0.1, 0.2, 0.1, 0.2, 0.5, -0.7]
    assert_same(robot.parameters[13 * 4 :], expected, 1e-15)
    assert_same([values(robot)["Fs2"], values(robot)["Fs4"]], [0.2, 4 * 0.15], 1e-15)
    assert arm({}, {}).parameter_names[-1] == "Fs2"


def test_a_coupled_motor_leaves_the_joints_friction_alone():
    motor = {"gear": 2, "inertia": 1, "friction": {"viscous": 0.1, "coulomb": 0.2}, "coupling": {"link 1": 3}}
    found = values(arm({}, {"motor": motor}))
    assert found["Fv2"] == 0
    assert found["Fs2"] == 0
    uncoupled = values(arm({}, {"motor": motor | {"coupling": {"link 1": 0}}}))
    assert uncoupled["Fv2"] == pytest.approx(0.4)
    assert "Fvm2" not in uncoupled


def test_parameters_of_the_planar_arm_and_the_book():
    """(7.83): π_1 = m1 = ml1 + mm2 and so on, about the links' own frames."""
    found = values(Robot.load("planar"))
    assert found["m1"] == 50 + 5
    assert found["mx1"] == 50 * (0.5 - 1)
    assert_same(found["Izz1"], 10 + 50 * 0.25 + 0.01, 1e-15)
    assert found["Im1"] == found["Im2"] == 0.01
    assert found["m2"] == 50
    assert np.isclose(found["Izz2"], 10 + 50 * 0.25)
