"""Analysis at a link by name and at the tip of the robot that ends there; wrenches on several links."""

import numpy as np
import pytest

from armdyn import (
    contributions,
    dynamic_manipulability,
    force_ellipsoid,
    manipulability,
    operational,
    velocity_ellipsoid,
)
from armdyn.analysis import AnalysisError
from armdyn.model import ModelError
from arms import assert_same, state
from trees import dual_arm

ROBOT = dual_arm()
Q, QD, QDD = state(ROBOT, np.random.default_rng(3), (4,))
LEFT, RIGHT = np.array([9.0, -3, 5, 1, 2, 3]), np.array([-4.0, 7, 2, 0, 1, -2])
ELLIPSOIDS = pytest.mark.parametrize("find", [dynamic_manipulability, velocity_ellipsoid, force_ellipsoid])


@pytest.mark.parametrize("representation", ["position", "geometric"])
def test_operational_space_of_a_link_and_of_a_tip(representation):
    found = operational(ROBOT, Q, QD, link="left gripper", representation=representation)
    tip = operational(ROBOT.with_tip("left gripper"), Q, QD, representation=representation)
    other = operational(ROBOT, Q, QD, representation=representation)
    for name in ("J_A", "B_A", "C_A_xd", "g_A", "consistent_inverse"):
        np.testing.assert_array_equal(getattr(found, name), getattr(tip, name))
        assert np.abs(getattr(found, name) - getattr(other, name)).max() > 1e-3


def test_torques_for_an_acceleration_of_a_link():
    """They give it, whatever other links exert meanwhile."""
    wrench = {"left gripper": LEFT, "right gripper": RIGHT, "torso": RIGHT}
    model = operational(ROBOT, Q, QD, link="left gripper", representation="position", wrench=wrench)
    wanted = np.array([1.0, -2, 3])
    qdd = ROBOT.forward_dynamics(Q, QD, model.torques(wanted), wrench)
    J, Jdot = ROBOT.jacobian(Q, "left gripper"), ROBOT.jacobian_dot(Q, QD, "left gripper")
    found = np.einsum("...ij,...j->...i", J, qdd) + np.einsum("...ij,...j->...i", Jdot, QD)
    assert_same(found[..., :3], np.broadcast_to(wanted, (4, 3)), 1e-8)


@ELLIPSOIDS
def test_ellipsoids_of_a_link_and_of_a_tip(find):
    found, tip = find(ROBOT, Q, link="left gripper"), find(ROBOT.with_tip("left gripper"), Q)
    np.testing.assert_array_equal(found.lengths, tip.lengths)
    np.testing.assert_array_equal(found.centre, tip.centre)


def test_manipulability_of_a_link():
    J = ROBOT.jacobian(Q, "left gripper")[..., :3, :]
    expected = np.sqrt(np.linalg.det(J @ J.swapaxes(-1, -2)))
    assert_same(manipulability(ROBOT, Q, link="left gripper"), expected)


def test_contributions_with_wrenches_on_links():
    wrench = {"left gripper": np.stack([LEFT] * 4), "right gripper": RIGHT}
    parts = contributions(ROBOT, Q, QD, QDD, wrench)
    assert_same(parts.total, ROBOT.inverse_dynamics(Q, QD, QDD, wrench), 1e-10)
    expected = sum(np.einsum("...ij,...i->...j", ROBOT.jacobian(Q, link), h) for link, h in wrench.items())
    assert_same(parts.tip_wrench, expected)


def test_states_broadcast_to_wrenches():
    parts = contributions(ROBOT, Q[0], QD[0], QDD[0], {"torso": np.ones((5, 6))})
    assert parts.total.shape == (5, ROBOT.n)


def test_wrong_links():
    for find in (operational, lambda robot, q, _, **more: manipulability(robot, q, **more)):
        with pytest.raises(ModelError, match=r"^link: found 'tail'; links: base, torso, "):
            find(ROBOT, Q, QD, link="tail")
    with pytest.raises(AnalysisError, match=r"the tip of 'dual stanford' does not"):
        manipulability(ROBOT, Q, link="base")
    with pytest.raises(AnalysisError, match=r"^wrench\['torso'\]: found shape \(3, 6\); it does not fit"):
        contributions(ROBOT, Q, QD, QDD, {"torso": np.ones((3, 6))})
    with pytest.raises(AnalysisError, match=r"^wrench\['torso'\]: expected finite numbers, found nan"):
        operational(ROBOT, Q, QD, wrench={"torso": np.full(6, np.nan)})
