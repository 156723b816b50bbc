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
from branched_arms import dual_arm
from golden_messages import golden_error

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


@pytest.mark.parametrize("representation", ["position", "geometric", "rpy"])
def test_two_links_at_once_and_each_alone(representation):
    """Rows of both, their Jacobians one below the other; torques give both accelerations."""
    both = ["left gripper", "right gripper"]
    robot = dual_arm("panda")
    q, qd, _ = state(robot, np.random.default_rng(5), (3,))
    wrench = {"left gripper": LEFT, "right gripper": RIGHT}
    model = operational(robot, q, qd, link=both, representation=representation, wrench=wrench)
    width = 3 if representation == "position" else 6
    assert model.task.rows == tuple(range(2 * width))
    assert model.task.names[width] == "x of right gripper"
    for k, link in enumerate(both):
        alone = operational(robot, q, qd, link=link, representation=representation)
        rows = slice(width * k, width * k + width)
        np.testing.assert_array_equal(model.J_A[:, rows], alone.J_A)
        np.testing.assert_array_equal(model.xd[:, rows], alone.xd)
        np.testing.assert_array_equal(model.Jdot_A[:, rows], alone.Jdot_A)
    wanted = np.arange(2.0 * width)
    qdd = robot.forward_dynamics(q, qd, model.torques(wanted), wrench)
    found = np.einsum("...ij,...j->...i", model.J_A, qdd) + np.einsum("...ij,...j->...i", model.Jdot_A, qd)
    assert_same(found, np.broadcast_to(wanted, found.shape), 1e-6)


def test_rows_of_two_links_in_any_order():
    both = ["left gripper", "right gripper"]
    model = operational(ROBOT, Q, QD, link=both, representation="position", rows=[4, 0, 3])
    assert model.task.names == ("y of right gripper", "x of left gripper", "x of right gripper")
    left, right = (ROBOT.jacobian(Q, link) for link in both)
    assert_same(model.J_A, np.stack([right[:, 1], left[:, 0], right[:, 0]], axis=1))


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
        with golden_error(ModelError):
            find(ROBOT, Q, QD, link="tail")
    with golden_error(AnalysisError):
        operational(ROBOT, Q, QD, link=["torso", "torso"])
    with golden_error(AnalysisError):
        operational(ROBOT, Q, QD, link=["torso", "left gripper"], wrench=np.ones(6))
    with pytest.raises(
        AnalysisError, match=r"^rows: found \[12\]; allowed: some of 0 \(x of left gripper\), "
    ):
        operational(ROBOT, Q, QD, link=["left gripper", "right gripper"], rows=[12])
    with golden_error(AnalysisError):
        manipulability(ROBOT, Q, link="base")
    with golden_error(AnalysisError):
        contributions(ROBOT, Q, QD, QDD, {"torso": np.ones((3, 6))})
    with golden_error(AnalysisError):
        operational(ROBOT, Q, QD, wrench={"torso": np.full(6, np.nan)})
