"""What the joints can do to the tip: rows that move, how many at once, and whether the tip can stay level."""

import pytest

from armdyn import Robot
from armdyn.analysis.task import tip_freedom
from armdyn.robot.joints import joint_units, revolute_joints


@pytest.mark.parametrize(
    ("name", "rows", "ranks", "keeps"),
    [
        ("pendulum", (0, 1, 5), (1, 1, 1), False),
        ("planar", (0, 1, 5), (2, 1, 2), False),
        ("planar3", (0, 1, 5), (2, 1, 3), True),
        ("scara", (0, 1, 2, 5), (3, 1, 4), True),
        ("puma560", (0, 1, 2, 3, 4, 5), (3, 3, 6), True),
        ("panda", (0, 1, 2, 3, 4, 5), (3, 3, 6), True),
    ],
)
def test_rows_and_ranks_of_bundled_arms(name, rows, ranks, keeps):
    tip = tip_freedom(Robot.load(name))
    assert (tip.position_rank, tip.orientation_rank, tip.pose_rank) == ranks
    assert tip.rows == rows
    assert tip.keeps_orientation is keeps


def test_units_follow_the_kind_of_joint():
    robot = Robot.load("pr")
    assert list(revolute_joints(robot)) == [False, True]
    assert list(joint_units(robot, 0)) == ["m", "m/s", "m/s²", "N"]
    assert list(joint_units(robot, 1)) == ["rad", "rad/s", "rad/s²", "N m"]
