"""Dwells last as long as they did: scaled, retimed and in least time."""

from typing import Any

import numpy as np
import pytest

from armdyn import MotionError, Robot, Trajectory, motor_loads, retime, scale_to_limits, time_optimal
from armdyn.motion.motion import Motion
from armdyn.report import plot_path_speed
from armdyn.robot.joints import joint_limits
from golden_messages import golden_error
from motions_with_dwells import lengths, most, stations
from one_joint import along, one_joint

A, B, C = ([-0.4, -0.2, -1.2, 0, 0.4, 0], [-1.6, 0.5, -2.0, 0.8, 0.5, 1], [-1, 0.3, -1.5, 0.2, 0.1, 0])
GO, ON, BACK = (
    Trajectory.quintic(A, B, 1.0),
    Trajectory.trapezoidal(B, C, duration=1.2, acceleration_time=0.3),
    Trajectory.triangular(C, A, 0.7),
)
MOTIONS = {
    "within": stations(GO, 0.4, ON),
    "at the ends": stations(0.3, GO, ON, 0.1),
    "several": stations(0.2, GO, 0.35, ON, 1e-3, BACK, 0.5),
    "one after the other": stations(GO, 0.2, 0.3, ON),
}
ROBOT = Robot.load("puma560")


def law_for(motion: Trajectory, times: float) -> Trajectory:
    T = motion.duration
    return Trajectory.quintic([0.0], [T], times * T, qd0=0.4, qd1=0.3)


TIMINGS = {
    "slower": lambda motion: scale_to_limits(ROBOT, motion, torque=[60, 80, 60, 10, 10, 10]),
    "faster": lambda motion: scale_to_limits(ROBOT, motion, faster=True),
    "least time": lambda motion: time_optimal(ROBOT, motion, grid=150),
    "law": lambda motion: retime(ROBOT, motion, law_for(motion, 1.7)),
}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("timing", TIMINGS)
def test_dwells_and_postures_are_kept(motion: str, timing: str) -> None:
    given = MOTIONS[motion]
    result = TIMINGS[timing](given)
    made = result.trajectory
    np.testing.assert_allclose(lengths(made), lengths(given), rtol=0, atol=1e-12)
    for (a, b), (start, end) in zip(given.dwells, made.dwells, strict=True):
        q, qd, qdd = made(np.linspace(start, end, 7)[1:-1])
        np.testing.assert_allclose(q, np.broadcast_to(given((a + b) / 2)[0], q.shape), atol=1e-12)
        assert not qd.any()
        assert not qdd.any()
        assert not made([start, end])[1].any()
    assert made(0.0)[0] == pytest.approx(given(0.0)[0])
    assert made(made.duration)[0] == pytest.approx(given(given.duration)[0])
    if timing != "least time":  # there all instants are jumps
        assert_torques(result)


def assert_torques(result: Any) -> None:
    """Those that come with a motion are its own, where they are not one of two sides."""
    edges = np.concatenate([[0.0], result.trajectory.jumps, [result.trajectory.duration]])
    _, count = np.unique(result.t, return_counts=True)
    once = np.repeat(count == 1, count) & (np.abs(result.t[:, None] - edges).min(1) > 1e-9)
    assert once.mean() > 0.9
    expected = ROBOT.inverse_dynamics(*result.trajectory(result.t[once]))
    np.testing.assert_allclose(result.torque[once], expected, rtol=0, atol=1e-6)


def test_scaled_torques_and_instants() -> None:
    given = MOTIONS["several"]
    slow = scale_to_limits(ROBOT, given, torque=[60, 80, 60, 10, 10, 10])
    moves = given.duration - lengths(given).sum()
    assert slow.factor > 1.1
    assert slow.trajectory.duration == pytest.approx(slow.factor * moves + lengths(given).sum(), abs=1e-12)
    assert most(ROBOT, slow)["torque"] == pytest.approx(1, abs=1e-4)
    # Brute force: the motions alone, each under the same limits, the slowest of them decides.
    alone = [scale_to_limits(ROBOT, part, torque=[60, 80, 60, 10, 10, 10]).factor for part in (GO, ON, BACK)]
    assert slow.factor == pytest.approx(max(alone), rel=1e-4)
    assert slow.instant is not None
    assert slow.joint is not None
    k = np.argmin(np.abs(slow.t - slow.instant))
    assert np.abs(slow.torque[slow.t == slow.t[k], slow.joint]).max() == pytest.approx(
        slow.limits.torque[slow.joint], rel=1e-9
    )


def test_least_time_is_that_of_the_motions_between() -> None:
    given = MOTIONS["several"]
    fast = time_optimal(ROBOT, given, grid=600)
    alone = sum(time_optimal(ROBOT, part, grid=600).duration for part in (GO, ON, BACK))
    assert fast.duration == pytest.approx(alone + lengths(given).sum(), rel=2e-3)
    assert most(ROBOT, fast)["torque"] == pytest.approx(1, abs=1e-3)
    # s over the path: it stays where it is on the four dwells, and nowhere else.
    rests = np.flatnonzero(np.diff(fast.s) == 0)
    assert len(fast.t) == 2 * len(fast.acceleration) == 2 * (len(fast.s) - 1) == 2 * (len(fast.speed) - 1)
    np.testing.assert_allclose(fast.t.reshape(-1, 2)[rests], fast.trajectory.dwells, atol=1e-12)
    assert not fast.speed[rests].any()
    assert not fast.acceleration[rests].any()
    for k in rests:
        q = fast.trajectory(fast.t[2 * k])[0]
        np.testing.assert_allclose(fast.torque[2 * k], ROBOT.inverse_dynamics(q, 0 * q, 0 * q), atol=1e-9)
    assert (np.diff(fast.t) >= 0).all()
    assert plot_path_speed(ROBOT, fast) is not None


def test_a_straight_way_stops_at_a_dwell_only() -> None:
    """Without a declaration a rest on a straight line is passed; with one the arm stops."""
    robot = one_joint(2.0, 3.0)
    halves = Trajectory.quintic([0.0], [1.0], 1.0), Trajectory.quintic([1.0], [2.0], 1.0)
    stops = time_optimal(robot, stations(halves[0], 0.25, halves[1]))
    passes = time_optimal(robot, stations(halves[0], 0.25, halves[1], declared=False))
    assert stops.duration == pytest.approx(2 * 2 * np.sqrt(2 / 3) + 0.25, rel=1e-6)
    assert passes.duration == pytest.approx(2 * np.sqrt(2 * 2 / 3), rel=1e-6)
    assert not passes.trajectory.dwells


def test_a_motion_of_the_best_shape_stays_as_it_is_between_dwells() -> None:
    """Least time falls back on linear scaling; then, too, dwells are intervals."""
    robot = one_joint(2.0, 3.0)
    bang = Trajectory.triangular([0.0], [1.0], 1.0)
    given = stations(0.5, bang, 0.25, Trajectory.triangular([1.0], [0.0], 1.0), 0.125)
    fast = time_optimal(robot, given, grid=10)
    assert fast.duration == pytest.approx(4 * np.sqrt(2 / 3) + 0.875, rel=1e-12)
    np.testing.assert_allclose(lengths(fast.trajectory), [0.5, 0.25, 0.125], atol=1e-12)
    rests = np.flatnonzero(np.diff(fast.s) == 0)
    np.testing.assert_allclose(fast.t.reshape(-1, 2)[rests], fast.trajectory.dwells, atol=1e-12)


def test_timed_again() -> None:
    """Results are motions with dwells again."""
    once = time_optimal(ROBOT, MOTIONS["several"], grid=150)
    again = scale_to_limits(ROBOT, once.trajectory, torque=0.9 * once.limits.torque)
    third = time_optimal(ROBOT, again.trajectory, grid=150)
    np.testing.assert_allclose(lengths(third.trajectory), lengths(MOTIONS["several"]), atol=1e-12)
    assert third.duration == pytest.approx(once.duration, rel=1e-2)


WRONG = {
    "moves": (((0.2, 0.5),), "on which the arm moves"),
    "outside": (((0.9, 1.5),), r"from 0\.9 to 1\.5 s; the motion lasts from 0 to 1 s"),
    "turned round": (((1.0, 0.9),), "from 1 to 0.9 s"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize("timing", TIMINGS)
def test_dwells_that_are_none_are_refused(case: str, timing: str) -> None:
    dwells, message = WRONG[case]
    motion = Trajectory(Motion(6, 1.0, GO.motion.evaluate, dwells=dwells))
    with pytest.raises(MotionError, match=message):
        TIMINGS[timing](motion)


def test_dwells_that_overlap_are_refused() -> None:
    still = along(1, 3.0, lambda t: ([np.maximum(t - 2, 0) ** 3], [3 * np.maximum(t - 2, 0) ** 2], [0 * t]))
    motion = Trajectory(Motion(1, 3.0, still.motion.evaluate, dwells=((0.0, 1.0), (0.5, 1.5))))
    with golden_error(MotionError):
        scale_to_limits(one_joint(), motion)


@pytest.mark.filterwarnings("ignore::armdyn.PhysicsWarning")
def test_limits_hold_on_both_sides_of_where_joints_of_a_reversed_motion_start() -> None:
    """Joints start one after the other, at knots of the motion: accelerations there are those of one side."""
    robot, q = Robot.load("tx40"), np.array([0.5, -0.5, 0.7, 0.3, 0.6, -0.9])
    apart = Trajectory.trapezoidal(q, np.zeros(6), max_velocity=3.0, max_acceleration=9.0)
    fast = time_optimal(robot, apart.reversed().carrying(2.0)).trajectory
    share = np.abs(motor_loads(robot, fast).joint_torque) / joint_limits(robot).torque
    assert share.max() < 1.001
