"""Assembly: postures that close the loops, all modes of planar ones, and what cannot be closed."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.model import ModelError
from armdyn.robot.assembly import LoopError
from closed_chains import closed_states, five_bar, four_bar, four_bar_table, random_loop
from golden_messages import golden_error


def circles(a, r, b, s):
    """The two points at distance r from a and s from b."""
    d = np.linalg.norm(b - a)
    along = (r * r - s * s + d * d) / (2 * d)
    e = (b - a) / d
    off = np.sqrt(r * r - along * along) * np.array([-e[1], e[0]])
    return a + along * e + off, a + along * e - off


def four_bar_by_hand(crank, side):
    """Coupler and rocker of the four-bar of `loops.py`, on one of the two sides."""
    knee = 0.3 * np.array([np.cos(crank), np.sin(crank)])
    meeting = circles(knee, 0.9, np.array([1.0, 0.0]), 0.7)[side]
    coupler = np.arctan2(*(meeting - knee)[::-1]) - crank
    rocker = np.arctan2(meeting[1], meeting[0] - 1.0)
    return np.array([crank, coupler, rocker])


def same_angles(a, b):
    return np.abs(np.angle(np.exp(1j * (np.asarray(a) - np.asarray(b))))).max() < 1e-12


def test_four_bar_and_the_intersection_of_circles():
    robot = four_bar()
    cranks = np.linspace(-9, 9, 41)
    found = robot.joint_positions(cranks[:, None])
    for crank, joints in zip(cranks, found, strict=True):
        assert same_angles(joints, four_bar_by_hand(crank, 0))
        assert joints[0] == crank


def test_all_modes_of_planar_loops():
    robot = four_bar()
    modes = robot.assembly_modes([0.7])
    assert modes.shape == (2, 3)
    by_hand = sorted([four_bar_by_hand(0.7, side) for side in (0, 1)], key=lambda joints: joints[1])
    assert same_angles(modes, by_hand)
    assert five_bar().assembly_modes([2.0, 1.0]).shape == (2, 4)


def test_a_robot_in_its_other_mode_is_kept_by_its_description():
    robot = four_bar()
    for mode in robot.assembly_modes([0.7]):
        other = robot.with_posture(mode)
        assert same_angles(other.joint_positions([0.7]), mode)
        again = Robot.from_toml(other.to_toml())
        assert same_angles(again.joint_positions([0.9]), other.joint_positions([0.9]))


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_spatial_loops_are_closed_to_rounding_and_results_do_not_depend_on_the_batch(seed):
    from armdyn.robot.closing import Closed

    robot = random_loop(seed)
    q, _, _ = closed_states(robot, np.random.default_rng(seed), rows=9)
    y = robot.assembly(q)
    gap, _, upright = Closed.of(robot.model)(y)  # of all rows, also those left out
    assert np.abs(gap).max() < 1e-13
    assert (upright > 0).all()
    single = np.array([robot.assembly(row) for row in q])
    assert np.abs(single - y).max() < 1e-13
    assert np.abs(robot.assembly(q, near=y) - y).max() < 1e-13


def test_what_cannot_be_closed_is_said():
    table = four_bar_table()
    table["link"][2]["origin"]["xyz"] = [1.6, 0, 0]
    robot = Robot.from_dict(table)
    with golden_error(LoopError):
        robot.inverse_dynamics([2.0], [0.0], [0.0])
    with pytest.raises(LoopError, match=r"q = \[2\] \(row 1\)"):
        robot.gravity([[0.5], [2.0]])
    table["link"][2]["origin"]["xyz"] = [5, 0, 0]
    with golden_error(ModelError):
        Robot.from_dict(table)


def test_singular_postures_are_named():
    table = four_bar_table()  # the rocker is the coordinate: its dead centres are singular
    table["link"][0]["actuated"], table["link"][2]["actuated"] = False, True
    robot = Robot.from_dict(table)
    assert robot.coordinates == ("rocker",)
    reach = (0.3 + 0.9) / 1.0  # crank and coupler in line
    end = np.pi - np.arccos((0.7**2 + 1 - reach**2) / (2 * 0.7))
    robot.inverse_dynamics([end + 0.01], [0], [0])
    with golden_error(LoopError):
        robot.inverse_dynamics([end], [0], [0])


def test_numbers_that_are_none_stay_so():
    robot = four_bar()
    found = robot.inverse_dynamics([[np.nan], [1.0]], [0.1], [0.2])
    assert np.isnan(found[0]).all()
    assert np.isfinite(found[1]).all()
    assert robot.gravity(np.empty((0, 1))).shape == (0, 1)
    assert robot.inverse_dynamics(np.ones((3, 2, 1)), [0.1], [0.2]).shape == (3, 2, 1)


def test_float32_gives_float32():
    robot = four_bar()
    q = np.array([[0.5]], np.float32)
    assert robot.inverse_dynamics(q, q, q).dtype == np.float32
    assert robot.joint_positions(q).shape == (1, 3)


def test_planar_loops_keep_two_of_five_rows():
    choice = four_bar().model.choice
    assert choice.rows == ((0, 1),)
    assert choice.redundant == 3


@pytest.mark.parametrize(
    ("q", "near"),
    [
        ([[1.0, 2.0], [3.0]], None),
        ([1.0], [0.0, 1.0]),
        ([1.0], "there"),
        ([1.0], np.zeros((4, 3))),
    ],
)
def test_arrays_of_wrong_shape_are_refused(q, near):
    with golden_error(ModelError):
        four_bar().assembly(q, near=near)
