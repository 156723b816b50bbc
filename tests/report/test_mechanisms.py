"""Closed chains, springs and elastic joints as reports and `armdyn show` tell of them."""

from html import unescape

import pytest

from armdyn import Robot
from armdyn.report.sections.ellipsoids import write_ellipsoids
from armdyn.report.sections.equations import write_equations
from armdyn.report.sections.motion import torque_peaks
from armdyn.report.sections.robot import subtitle, write_description, write_robot
from armdyn.report.sections.simulation import write_fall
from armdyn.report.subject import Subject
from arms import slowly
from commands import run
from spring_arms import sprung


def words(parts):
    """What the parts of a section say; of pictures the captions."""
    return unescape(" ".join(str(part) for part in parts))


def test_joints_that_follow_are_named_by_the_joints_they_follow():
    """Also where loops make some of these follow others themselves."""
    assert Robot.load("delta").model.followers == ["unswung = -forearm 1", "platform = -arm 1 - bend 1"]
    said = " ".join(run("show", "delta").split())
    assert "unswung = -forearm 1; platform = -arm 1 - bend 1" in said
    assert "; bend 1, forearm 1, bend 2, forearm 2, bend 3, forearm 3 follow by loops" in said


@pytest.mark.parametrize("name", [slowly("delta"), "four_bar"])
def test_reports_of_loops_say_what_follows_and_why_there_are_no_equations(name):
    subject = Subject.of(Robot.load(name))
    page = words(write_robot(subject))
    assert "those that follow others named" in page
    assert ("platform = -arm 1 - bend 1" in page) == (name == "delta")
    assert "They are not written here: " + subject.robot.name in words(write_equations(subject))
    assert "<h3>Loops</h3>" in words(write_description(subject))


@pytest.mark.slow
def test_a_delta_that_falls_into_a_singular_posture_is_told_on_the_page_alone():
    page = words(write_fall(Subject.of(Robot.load("delta"))))
    assert "a singular posture" in page


def test_reports_of_elastic_joints_have_their_springs_and_ellipsoids():
    subject = Subject.of(Robot.load("elastic_link"))
    assert subtitle(subject.robot) == "1 moving joint, 1 elastic (R)"
    assert "<h3>Elastic joints</h3>" in words(write_description(subject))
    assert "coordinate 2 is that of the motor of rod" in words(write_equations(subject))
    peak, _, rms = torque_peaks(subject)
    assert peak[0] == rms[0] == 0 < peak[1]  # no torque acts on the link
    assert "Elastic joints are taken as rigid" in words(write_ellipsoids(subject))


def test_the_steps_of_an_elastic_arm_end_with_the_torques_of_its_motors():
    equations = Robot.load("elastic_link").equations()
    text = equations.steps()
    assert "Torques of the motors of elastic joints" in text
    assert text.count("Forward recursion") == 1
    assert "tau2 = K*(q2 - q1)" in text.splitlines()[-1]


@pytest.mark.parametrize("joints", [True, False])
def test_reports_list_springs(joints):
    subject = Subject.of(Robot(sprung(Robot.load("planar").model, 3, joints, 2 - joints)))
    page = words(write_description(subject))
    assert ("<h3>Springs at joints</h3>" in page) == joints
    assert "<h3>Springs between points</h3>" in page
    said = words(write_equations(subject))
    assert "They are not written here: spring 'spring 1' between" in said
