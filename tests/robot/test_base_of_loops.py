"""Base parameters of robots with loops: found in numbers, at postures that close."""

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.robot.postures import random_postures
from arms import assert_same
from closed_chains import closed_states, five_bar, five_bar_table, four_bar, random_loop
from golden_messages import golden_error


@pytest.fixture(autouse=True)
def evaluator():
    import armdyn

    with armdyn.backend("evaluator"):
        yield


def test_a_four_bar_has_eight_and_friction_six_more():
    """Three moving bodies of a plane have nine moments and inertias; the loop ties one to the others."""
    robot = four_bar()
    base = robot.base_parameters()
    assert base.route == "numeric"
    assert (len(base), len(robot.base_parameters(friction=True))) == (8, 14)
    assert base.leading == ("Izz1", "mx1", "my1", "Izz2", "mx2", "my2", "Izz3", "my3")
    # The mass of the coupler stands at the crank's end, and mx of the rocker at both of the others:
    assert base.combinations[1] == "mx1 + 0.3*m2 + 0.428571428571*mx3"  # 0.3 m, 0.3/0.7


@pytest.mark.parametrize("make", [five_bar, pytest.param(lambda: random_loop(7), marks=pytest.mark.slow)])
def test_they_give_the_torques(make):
    robot = make()
    base = robot.base_parameters(friction=True)
    state = closed_states(robot, np.random.default_rng(1), 5)
    assert_same(base.regressor(*state) @ base.values, robot.inverse_dynamics(*state))
    assert_same(robot.regressor(*state) @ base.right_inverse, base.regressor(*state))


@pytest.mark.slow
def test_a_payload_changes_values_but_not_their_number():
    robot = five_bar()
    assert len(robot.with_payload(1.5, com=[0.1, 0.05, 0]).base_parameters()) == len(robot.base_parameters())


@pytest.mark.slow
def test_zeros_given_stay_zero():
    robot = five_bar()
    base = robot.base_parameters(zeros="given")
    assert len(base) == 11
    assert "Im2" in base.left_out


def test_the_exact_route_is_refused():
    with golden_error(ArmdynError):
        five_bar().base_parameters(route="exact")


def test_random_postures_are_closed_within_limits_and_away_from_singular_ones():
    table = five_bar_table(limits={"position": [-2.5, 2.5]})
    table["link"][1]["limits"] = {"position": [-2.0, 0.0]}
    robot = Robot.from_dict(table)
    q = random_postures(robot.assembly, np.random.default_rng(0), 50)
    joints = robot.joint_positions(q)
    assert (np.abs(q) <= 2.5).all()
    assert ((joints[:, 1] >= -2) & (joints[:, 1] <= 0)).all()
    assert np.ptp(q, axis=0).min() > 1
    assert np.abs(robot.joint_velocities(np.ones(2), q)).max() < 50


def test_limits_that_leave_no_posture_are_named():
    table = five_bar_table()
    table["link"][1]["limits"] = {"position": [-1.0, -0.9999]}
    with golden_error(ArmdynError):
        random_postures(Robot.from_dict(table).assembly, np.random.default_rng(0), 2)


def test_equations_are_refused_and_the_tree_is_offered():
    robot = four_bar()
    with golden_error(ArmdynError):
        robot.equations()
    tree = robot.opened()
    assert tree.n == 3
    assert not tree.model.loops
    assert tree.equations().prove()


def test_relations_beside_loops_are_opened_too():
    """The gripper: B = Sᵀ B' S and g = Sᵀ g', with S the joints' rates by the coordinates'."""
    robot = Robot.load("gripper")
    tree = robot.opened()
    assert tree.coordinates == tree.actuated == robot.joints
    assert not tree.model.relations
    assert tree.warnings == robot.warnings == []
    q = [robot.model.choice.posture[i] for i in robot.model.choice.free]
    joints = robot.joint_positions(q)
    S = np.stack([robot.joint_velocities(x, q) for x in np.eye(robot.n)], axis=-1)
    np.testing.assert_allclose(robot.inertia(q), S.T @ tree.inertia(joints) @ S, rtol=1e-9)
    np.testing.assert_allclose(robot.gravity(q), S.T @ tree.gravity(joints), rtol=1e-9, atol=1e-12)


def test_a_motor_whose_joint_follows_is_named():
    links = [
        link | {"actuated": True, "motor": {"gear": 5, "inertia": 1e-4}} for link in five_bar_table()["link"]
    ]
    robot = Robot.from_dict(five_bar_table() | {"link": links})
    with golden_error(ArmdynError):
        _ = robot.transmission


def test_the_robot_comes_back_as_it_was(tmp_path):
    import pickle

    robot = five_bar(friction={"viscous": 0.2})
    for other in (
        pickle.loads(pickle.dumps(robot)),
        Robot.from_toml(robot.to_toml()),
        Robot.load(robot.save(tmp_path / "robot.toml")),
    ):
        assert other == robot
        assert other.model.choice == robot.model.choice
    assert "2 following others, 1 loop" in repr(robot)


def test_another_length_is_another_choice():
    """Symbols may change the geometry: where the loops are closed is found anew."""
    table = five_bar_table()
    table["symbols"] = {"L": 0.5}
    table["closure"][0]["at"] = [{"xyz": ["L", 0, 0]}, {"xyz": ["L", 0, 0]}]
    robot = Robot.from_dict(table)
    longer = robot.with_symbols(L=0.6)
    assert longer.model.choice.free == robot.model.choice.free
    assert longer.model.choice.posture != robot.model.choice.posture
    q = longer.assembly.reference
    ends = [longer.pose(q, link) @ [0.6, 0, 0, 1] for link in ("left forearm", "right forearm")]
    assert_same(*ends)
