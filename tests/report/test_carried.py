"""A report about a motion with a load counts the load in all of its sections."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, dynamic_manipulability
from armdyn.motion.loads import Carried, Load
from armdyn.report.sections.ellipsoids import accelerations, half_way
from armdyn.report.sections.rotors import error_along
from armdyn.report.sections.simulation import fall
from armdyn.report.subject import Subject
from motions_with_dwells import stations

ROBOT = Robot.load("planar")
LOAD = Load.of(8.0)
MOTION = stations(Trajectory.quintic([0, 0], [1, 1], 1.0), loads=[Carried(0.25, 0.75, LOAD)])
SUBJECT = Subject.of(ROBOT, MOTION)


def test_the_rotor_error_is_compared_with_the_torques_of_the_loaded_arm():
    found = error_along(SUBJECT)
    assert found.torque == pytest.approx(SUBJECT.torque)
    unloaded = error_along(Subject.of(ROBOT, Trajectory.quintic([0, 0], [1, 1], 1.0)))
    assert found.largest == pytest.approx(unloaded.largest)


def test_a_tip_wrench_counts_in_the_torques_that_the_rotor_error_is_compared_with():
    subject = Subject.of(ROBOT, MOTION, [0, 50, 0, 0, 0, 0])
    assert error_along(subject).torque == pytest.approx(subject.torque)


def test_half_way_the_arm_has_what_it_carries_there():
    loaded, q = LOAD.on(ROBOT), SUBJECT.middle.q
    assert SUBJECT.robot_half_way == loaded
    expected = dynamic_manipulability(loaded, q, weights="torque_limits")
    robot, posture = half_way(SUBJECT)
    found = accelerations(robot, posture.q, "torque_limits")[0]
    assert np.allclose(found.lengths, expected.lengths)
    run = fall(SUBJECT)
    assert run.kinetic[0] == pytest.approx(float(loaded.kinetic_energy(run.q[0], run.qd[0])))


def test_the_motion_says_what_the_arm_carries():
    end = "The arm carries 8 kg from 0.25 s to 0.75 s; all numbers below count it."
    assert SUBJECT.text == f"The motion given takes 1 s (stations). {end}"
