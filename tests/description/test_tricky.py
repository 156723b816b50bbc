"""Each of the tricky public files gives its refusal, its warning or its repair."""

import warnings

import numpy as np
import pytest

from armdyn import DescriptionError, PhysicsWarning, Robot
from public_files import FOLDER, needs_files, quiet_load

pytestmark = needs_files
TRICKY = FOLDER / "tricky"


def refused(name, **options):
    with pytest.raises(DescriptionError) as caught:
        Robot.load(TRICKY / name, **options)
    return str(caught.value)


def told(name, **options):
    """The robot and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        robot = Robot.load(TRICKY / name, **options)
    assert all(w.category is PhysicsWarning for w in found)
    return robot, [str(w.message) for w in found]


@pytest.mark.parametrize(
    ("name", "line", "link"),
    [
        ("tiago.urdf", 179, "base_antenna_left_link"),
        ("romeo_laas_small.urdf", 331, "body"),
        ("kuka_lwr4_gaz.urdf", 107, "lwr_1_link"),
    ],
)
def test_tensors_that_are_not_positive_are_refused_and_repaired(name, line, link):
    text = refused(name)
    assert f"{name}: line {line}: <inertia>: link '{link}': inertia: principal moments -" in text
    assert "repair=True" in text
    robot, texts = told(name, repair=True)
    assert any(f"line {line}: <inertia>: link '{link}': principal moments" in text for text in texts)
    assert any(f"link '{link}': principal moments" in note for note in robot.model.notes)
    rng = np.random.default_rng(1)
    for q in rng.uniform(-2, 2, (5, robot.n)):
        values = np.linalg.eigvalsh(robot.inertia(q))
        assert values[0] >= -1e-12 * values[-1]


def test_fetch_is_malformed_xml():
    text = refused("fetch.urdf")
    assert "line 655: <sensor:camera" in text
    assert "malformed XML: the prefix 'sensor:' is not declared" in text
    robot, texts = told("fetch.urdf", repair=True)
    assert robot.n == 14
    assert any("line 655" in text and "read as written" in text for text in texts)


def test_r2_declares_a_link_twice_and_a_parent_never():
    text = refused("r2_left_gripper.urdf")
    assert "line 61: <link" in text
    assert "'r2/left_leg/ati' is declared twice, first at line 18" in text
    text = refused("r2_left_gripper.urdf", repair=True)
    assert "line 56: <joint" in text
    assert "the parent link 'r2/left_ankle_roll' does not exist" in text


def test_sia5d_has_no_inertials():
    """Its left-over ${90*deg} stands in a comment, which is no part of the description."""
    robot, texts = told("sia5d.urdf")
    assert robot.n == 7
    assert any("link_s" in text and "move no inertia" in text for text in texts)


def test_robotiq_tendons_breaks_the_triangle_inequality_and_has_cables():
    robot, texts = told("robotiq_tendons.urdf")
    assert robot.n == 10
    assert robot.model.root == "palm"
    assert any("finger_1_link_0" in text and "triangle inequality" in text for text in texts)
    assert any("<cable" in text and "left out" in text for text in texts)
    assert any("<force_element" in text and "and 8 more" in text for text in texts)
    repaired, texts = told("robotiq_tendons.urdf", repair=True)
    assert not any("triangle" in text for text in texts)
    assert not any("triangle" in text for text in repaired.warnings)


def test_robotiq2f85_has_five_mimic_joints():
    robot = quiet_load(TRICKY / "robotiq2F85.urdf")
    assert (robot.n, len(robot.model.moving), len(robot.model.relations)) == (1, 6, 5)


def test_pr2_has_mimic_joints_a_prismatic_one_and_large_reductions():
    robot = quiet_load(TRICKY / "pr2.urdf")
    assert (robot.n, len(robot.model.moving)) == (20, 30)
    links = {link.joint_name: link for link in robot.model.links}
    torso = links["torso_lift_joint"]
    assert torso.joint == "prismatic"
    assert float(torso.motor.gear.number) == pytest.approx(-52143.33)
    assert robot.model.rotors == "reflected"
    assert any("WristTransmission" in note for note in robot.model.notes)


def test_go1_has_rotors_as_fixed_links():
    robot = quiet_load(TRICKY / "go1.urdf")
    rotor = robot.model.links[robot.model.index["FR_hip_rotor"]]
    assert (robot.n, rotor.joint) == (12, "fixed")
    assert float(rotor.inertia.mass.number) > 0


def test_double_pendulum_turns_without_limits():
    robot = quiet_load(TRICKY / "double_pendulum_continuous.urdf")
    assert [link.joint for link in robot.model.moving] == ["revolute"] * 2
    assert all(link.limits.position is None for link in robot.model.moving)
    assert all(link.limits.torque is None for link in robot.model.moving)
    assert any("effort 0 is taken for unknown" in note for note in robot.model.notes)
