"""Trajectories are values: every kind pickles, compares by its numbers, and says what it is."""

import copy
import pickle

import numpy as np
import pytest

from armdyn import Robot, Trajectory, load_cycle, retime, scale_to_limits, time_optimal

PLANAR, PUMA, PANDA = (Robot.load(name) for name in ("planar", "puma560", "panda"))
HOME = np.array([0.1, 0.8, -2.6, 0.2, 0.3, 0.1])
READY = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.8, 0.3])
MOVE = Trajectory.quintic([0, 0], [1.0, -0.5], 1.0)
LINE = {"displacement": [0, 0, -0.1], "profile": "quintic"}


def smooth(t):
    """A timing law as a function of a module, which can be pickled by name."""
    r = t / 2 - np.sin(np.pi * t) / (2 * np.pi)
    return r, 0.5 - np.cos(np.pi * t) / 2, np.pi / 2 * np.sin(np.pi * t)


def csv(tmp_path):
    MOVE.to_csv(tmp_path / "motion.csv")
    return Trajectory.from_csv(tmp_path / "motion.csv")


MAKERS = {
    "triangular": lambda _: Trajectory.triangular([0, 0], [1, 2], 1.0),
    "trapezoidal": lambda _: Trajectory.trapezoidal([0, 0], [1, 2], acceleration_time=0.1, max_velocity=2.0),
    "each its own": lambda _: Trajectory.trapezoidal(
        [0, 0], [1, 2], acceleration_time=[0.1, 0.2], max_velocity=[2.0, 3.0]
    ),
    "jerk-limited": lambda _: Trajectory.jerk_limited([0, 0], [1, 2], 1.0, 5.0, 50.0),
    "cubic": lambda _: Trajectory.cubic([0, 0], [1, 2], 1.0),
    "quintic": lambda _: MOVE,
    "spline": lambda _: Trajectory.through([[0, 0], [1, 2], [0, 1]], [0, 1, 2]),
    "blend": lambda _: Trajectory.through([[0, 0], [1, 2], [0, 1]], [0, 1, 2], kind="blend", blend_time=0.2),
    "samples": lambda _: Trajectory.from_samples(MOVE.t, MOVE.q),
    "CSV": csv,
    "line": lambda _: Trajectory.line(PUMA, HOME, duration=0.5, **LINE),
    "circle": lambda _: Trajectory.circle(
        PUMA, HOME, PUMA.pose(HOME)[:3, 3] + [0, 0, 0.05], [1, 0, 0], 0.5, duration=1, profile="cubic"
    ),
    "redundant line": lambda _: Trajectory.line(PANDA, READY, duration=0.5, **LINE),
    "no way": lambda _: Trajectory.line(PUMA, HOME, displacement=[0, 0, 0], profile="cubic", duration=0.5),
    "rest": lambda _: MOVE.rest(0.2),
    "reversed": lambda _: MOVE.reversed(),
    "repeated": lambda _: (MOVE + MOVE.reversed().carrying(2.0)).repeated(3),
    "blended": lambda _: Trajectory.sequence([MOVE, MOVE.reversed()], blend=0.2),
    "cycle": lambda _: load_cycle(PUMA, "puma560_pick_and_place"),
    "slowed": lambda _: scale_to_limits(PLANAR, MOVE, torque=[1200, 400]).trajectory,
    "least time": lambda _: time_optimal(PLANAR, MOVE, torque=[2000, 600]).trajectory,
    "retimed": lambda _: retime(PLANAR, MOVE, Trajectory.quintic([0], [1], 2.0)).trajectory,
    "retimed by a function": lambda _: retime(PLANAR, MOVE, smooth, 2.0).trajectory,
    "line in least time": lambda _: (
        time_optimal(PUMA, Trajectory.line(PUMA, HOME, duration=0.2, **LINE), grid=50).trajectory
    ),
    "retimed circle": lambda tmp: (
        retime(PUMA, MAKERS["circle"](tmp), Trajectory.quintic([0], [1], 2.0)).trajectory
    ),
    "slowed line": lambda _: (
        scale_to_limits(PUMA, Trajectory.line(PUMA, HOME, duration=0.2, **LINE), velocity=0.5).trajectory
    ),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_pickled_trajectory_is_the_same(name, tmp_path):
    made = MAKERS[name](tmp_path)
    for other in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
        assert other is not made
        assert other == made
        assert hash(other) == hash(made)
        assert repr(other) == repr(made)
        t = np.linspace(-0.1, made.duration + 0.1, 50)
        for side in ("before", "after"):
            for a, b in zip(other(t, side), made(t, side), strict=True):
                np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(other.jumps, made.jumps)


@pytest.mark.parametrize("name", MAKERS)
def test_the_same_made_twice_is_equal_and_another_is_not(name, tmp_path):
    made, again = MAKERS[name](tmp_path), MAKERS[name](tmp_path)
    assert made == again
    assert made != made.with_step(2e-3)
    other = MAKERS["cubic" if name != "cubic" else "quintic"](tmp_path)
    assert made != other
    assert made != "a text"
    assert repr(made).startswith("<Trajectory ")
