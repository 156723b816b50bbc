"""Wrenches on links over time: constants, samples and functions, their work, and those that are refused."""

import numpy as np
import pytest

from armdyn import Robot, simulate
from armdyn.model import ModelError
from armdyn.simulation import OperationalControl, SimulationError, TipPoint
from arms import slowly
from branched_arms import dual_arm
from golden_messages import golden_error

METHODS = pytest.mark.parametrize("method", ["adaptive", "rk4"])
ROBOT = dual_arm("planar")  # five joints with motors, on a torso with an upright axis
Q0, QD0 = np.linspace(0.2, 0.7, ROBOT.n), np.zeros(ROBOT.n)
LEFT, RIGHT = np.array([30.0, -20, 5, 1, 2, 3]), np.array([-10.0, 15, 25, 0, 1, -2])
OPTIONS = {"output": 0.05, "step": 1e-3}


@pytest.mark.slow
@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_wrenches_and_the_same_torques(method):
    """What the joints feel of wrenches, as torques that depend on the posture."""
    wrench = {"left gripper": LEFT, "right gripper": RIGHT}

    def torque(t, q, qd):
        felt = [np.einsum("...ij,i->...j", ROBOT.jacobian(q, link), h) for link, h in wrench.items()]
        return -sum(felt)

    found = simulate(ROBOT, Q0, QD0, 0.2, wrench=wrench, method=method, **OPTIONS)
    expected = simulate(ROBOT, Q0, QD0, 0.2, torque, method=method, **OPTIONS)
    np.testing.assert_allclose(found.q, expected.q, atol=1e-8)
    np.testing.assert_allclose(found.wrench_work, expected.torque_work, atol=1e-7)
    assert found.completed
    assert np.abs(found.wrench_work[-1]) > 0.1


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_constants_samples_and_functions(method):
    ways = [
        {"left gripper": LEFT, "torso": RIGHT},
        {"torso": np.stack([RIGHT] * 3), "left gripper": LEFT},
        {"left gripper": lambda t, q, qd: LEFT, "torso": np.stack([RIGHT] * 2)},
        {"left gripper": np.stack([LEFT] * 2), "torso": lambda t, q, qd: RIGHT},
    ]
    first, *others = [simulate(ROBOT, Q0, QD0, 0.1, wrench=way, method=method, **OPTIONS) for way in ways]
    for other in others:
        np.testing.assert_allclose(other.q, first.q, atol=1e-9)
        np.testing.assert_allclose(other.wrench_work, first.wrench_work, atol=1e-8)


@METHODS
def test_arms_with_wrenches_of_their_own(method):
    q0 = np.stack([Q0, -Q0])
    wrench = {"left gripper": np.stack([LEFT, RIGHT]), "right gripper": RIGHT}
    both = simulate(ROBOT, q0, QD0, 0.1, wrench=wrench, method=method, **OPTIONS)
    for k, left in enumerate((LEFT, RIGHT)):
        alone = {"left gripper": left, "right gripper": RIGHT}
        one = simulate(ROBOT, q0[k], QD0, 0.1, wrench=alone, method=method, **OPTIONS)
        np.testing.assert_allclose(both.q[:, k], one.q, atol=1e-10)


@pytest.mark.slow
@METHODS
def test_dry_friction_and_wrenches(method):
    """The arm with joints that stick, by the link of its tip and as its tip."""
    robot = Robot.load("puma560")
    robot = robot.with_tip(robot.model.tip)
    q0, h = np.array([0.1, -0.7, 0.4, 0.2, 0.5, 0.1]), np.array([0.5, 1, -1, 0.1, 0, 0.1])
    found, expected = (
        simulate(robot, q0, np.zeros(6), 0.3, wrench=wrench, method=method, output=0.1, limits="ignore")
        for wrench in ({robot.model.tip: h}, h)
    )
    np.testing.assert_allclose(found.q, expected.q, atol=1e-9)
    np.testing.assert_allclose(found.wrench_work, expected.wrench_work, atol=1e-8)


@pytest.mark.slow
def test_no_wrench_at_all():
    run = simulate(ROBOT, Q0, QD0, 0.05, wrench={}, **OPTIONS)
    np.testing.assert_array_equal(run.q, simulate(ROBOT, Q0, QD0, 0.05, **OPTIONS).q)


def test_wrong_wrenches():
    with golden_error(ModelError):
        simulate(ROBOT, Q0, QD0, 0.1, wrench={"tail": LEFT})
    with golden_error(SimulationError):
        simulate(ROBOT, Q0, QD0, 0.1, wrench={"torso": [1, 2, 3]})
    with golden_error(SimulationError):
        simulate(ROBOT, Q0, QD0, 0.1, wrench={"torso": lambda t, q, qd: [1, 2]})


def test_operational_control_of_a_link_and_of_a_tip():
    """The law for a link is that of the robot whose tip it is; it takes the link to its target."""
    robot = ROBOT
    q0 = np.array([0.3, 0.4, 0.9, 0.2, -0.8])
    place = robot.pose(q0, "left gripper")[:3, 3] + [0.02, 0.03, -0.02]
    law = OperationalControl(robot, TipPoint(place), link="left gripper", stiffness=400.0)
    tip = OperationalControl(robot.with_tip("left gripper"), TipPoint(place), stiffness=400.0)
    np.testing.assert_allclose(law(0.0, q0, 0.1 * q0), tip(0.0, q0, 0.1 * q0), rtol=1e-12)
    run = simulate(robot, q0, np.zeros(robot.n), 1.0, law, method="rk4", limits="ignore", **OPTIONS)
    np.testing.assert_allclose(robot.pose(run.q[-1], "left gripper")[:3, 3], place, atol=1e-5)
    with golden_error(ModelError):
        OperationalControl(robot, TipPoint(place), link="tail")
