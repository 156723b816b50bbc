"""Trajectories of joints: what each maker promises, and what it refuses."""

from math import acos, pi
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from armdyn.motion import MotionError, Trajectory
from armdyn.motion.motion import Motion
from arms import assert_same
from golden_messages import golden_error

# Example 7.2: the planar arm from (0.2, 0) to (1.8, 0), the elbow below.
START = np.array([-acos(0.1), 2 * acos(0.1)])
END = np.array([-acos(0.9), 2 * acos(0.9)])


def assert_consistent(trajectory: Trajectory, h: float = 1e-4) -> None:
    """Velocity and acceleration are differences of position and velocity, away from knots."""
    knots = np.concatenate([[0.0], trajectory.motion.knots, [trajectory.duration]])
    t = np.random.default_rng(3).uniform(0, trajectory.duration, 400)
    t = t[np.abs(t[:, None] - knots).min(1) > 3 * h]
    assert len(t) > 50
    around = {k: trajectory(t + k * h) for k in (-2, -1, 1, 2)}
    here = trajectory(t)
    for k in (0, 1):
        rate = (8 * (around[1][k] - around[-1][k]) - (around[2][k] - around[-2][k])) / (12 * h)
        size = np.abs(here[k + 1]).max() + np.abs(here[k]).max()
        assert np.abs(rate - here[k + 1]).max() < 1e-9 * size


MAKERS: dict[str, Any] = {
    "triangular": lambda: Trajectory.triangular(START, END, [0.5, 0.7]),
    "trapezoidal": lambda: Trajectory.trapezoidal(START, END, acceleration_time=0.15, max_velocity=5),
    "synchronised": lambda: Trajectory.trapezoidal(
        START, END, max_velocity=[4, 5], max_acceleration=30, synchronised=True
    ),
    "cubic": lambda: Trajectory.cubic(START, END, [0.5, 0.7], qd0=0.3, qd1=[0, -0.2]),
    "quintic": lambda: Trajectory.quintic(START, END, 0.7, qd0=[0.3, 0.4], qdd1=2.0),
    "jerk-limited": lambda: Trajectory.jerk_limited(START, END, 5, 40, [900, 1000], synchronised=True),
    "each jerk-limited": lambda: Trajectory.jerk_limited(START, END, 5, 40, 900),
    "cubic spline": lambda: Trajectory.through([START, [0, 1], END], [0, 0.4, 1]),
    "quintic spline": lambda: Trajectory.through([START, [0, 1], END], [0, 0.4, 1], kind="quintic"),
    "blend": lambda: Trajectory.through([START, [0, 1], END], [0, 0.4, 1], kind="blend", blend_time=0.2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_states_of_every_kind_and_their_differences(name: str) -> None:
    trajectory = MAKERS[name]()
    assert_consistent(trajectory)
    assert_same(trajectory.q[[0, -1]], [START, END], 1e-15)
    for t in trajectory.jumps:
        before, after = trajectory(t, "before"), trajectory(t, "after")
        assert_same(before[:2], after[:2], 1e-12)
        assert np.abs(before[2] - after[2]).max() > 1e-3


# ---- example 7.2 -------------------------------------------------------------------------------------------


def test_figure_7_5_triangular_profiles_of_equal_duration() -> None:
    trajectory = Trajectory.triangular(START, START + pi / 2, 0.5)
    assert trajectory.duration == 0.5
    assert trajectory.jumps.tolist() == [0.25]
    assert len(trajectory.t) == 501
    assert_same(trajectory.qd.max(0), [2 * pi, 2 * pi])  # 2 Δ / T
    assert_same(np.abs(trajectory.qdd), np.full((501, 2), 8 * pi))  # 4 Δ / T²
    assert_same(trajectory(0.25)[0], START + pi / 4)


def test_figure_7_7_trapezoidal_profiles_of_different_duration() -> None:
    trajectory = Trajectory.trapezoidal(START, END, acceleration_time=0.15, max_velocity=5)
    turns = np.abs(END - START)
    assert_same(turns, [acos(0.1) - acos(0.9), 2 * (acos(0.1) - acos(0.9))])
    durations = turns / 5 + 0.15
    assert_same(trajectory.jumps, sorted([0.15, durations[0] - 0.15, durations[0], durations[1] - 0.15]))
    assert trajectory.duration == pytest.approx(durations[1], rel=1e-15)
    assert_same([trajectory.qd[:, 0].max(), trajectory.qd[:, 1].min()], [5.0, -5.0])
    q, qd, qdd = trajectory(durations[0] + 0.01)  # the first joint has arrived
    assert (q[0], qd[0], qdd[0]) == (END[0], 0.0, 0.0)
    assert (qd[1], qdd[1]) == (-5.0, 0.0)  # the second still turns at full speed
    assert_same(trajectory(durations[1] - 0.06)[1], [0.0, -5 / 0.15 * 0.06])


# ---- several joints ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        {"max_velocity": [1, 2, 3], "max_acceleration": [9, 3, 5]},
        {"max_velocity": 2.0, "acceleration_time": [0.1, 0.2, 0.3]},
        {"duration": [1, 2, 3], "acceleration_time": 0.2},
        {"duration": 3.0, "max_velocity": [1, 2, 3]},
        {"duration": 3.0, "max_acceleration": [9, 3, 5]},
    ],
)
def test_synchronised_joints_and_the_straight_line(data: dict[str, Any]) -> None:
    q0, q1 = np.array([0.1, 2.0, -1.0]), np.array([1.4, 1.5, -1.0])
    own = Trajectory.trapezoidal(q0, q1, **data)
    line = Trajectory.trapezoidal(q0, q1, **data, synchronised=True)
    part = (line.q - q0)[:, 0] / (q1 - q0)[0]
    assert_same(line.q, q0 + part[:, None] * (q1 - q0))
    assert_same(line.q[-1], q1, 0.0)
    assert line.duration >= own.duration - 1e-12
    for limit, found in (("max_velocity", line.qd), ("max_acceleration", line.qdd)):
        if limit in data:
            bound = np.broadcast_to(np.array(data[limit], float), 3)
            assert (np.abs(found) <= bound * (1 + 1e-12)).all()


def test_synchronised_joints_take_the_time_of_the_slowest() -> None:
    data = {"max_velocity": [1, 2], "max_acceleration": [2.0, 9.0]}
    own = Trajectory.trapezoidal([0, 0], [3, 1], **data)
    both = Trajectory.trapezoidal([0, 0], [3, 1], **data, synchronised=True)
    assert both.duration == pytest.approx(own.duration, rel=1e-14)  # the first joint is slowest in all
    smooth = Trajectory.jerk_limited([0, 0], [3, 1], [1, 2], [2, 9], 20, synchronised=True)
    alone = Trajectory.jerk_limited(0, 3, 1, 2, 20)
    assert smooth.duration == pytest.approx(alone.duration, rel=1e-14)


def test_a_joint_that_need_not_move_rests() -> None:
    trajectory = Trajectory.jerk_limited([0.5, 1], [0.5, 2], [0.1, 1], 2, 3)
    assert (trajectory.q[:, 0] == 0.5).all()
    assert trajectory.duration == pytest.approx(Trajectory.jerk_limited(1, 2, 1, 2, 3).duration)
    nothing = Trajectory.trapezoidal(
        [1, 2], [1, 2], acceleration_time=0.15, max_velocity=5, synchronised=True
    )
    assert nothing.duration == 0.3
    assert (nothing.q == [1, 2]).all()
    assert not nothing.qd.any()


def test_jumps_of_joints_that_differ_by_rounding_are_one() -> None:
    trajectory = Trajectory.trapezoidal(
        [0, 0, 0], [0.3, 0.1 + 0.2, 3 * 0.1], max_velocity=[1, 1, 1], max_acceleration=[10, 10, 10]
    )
    assert len(trajectory.jumps) == 2
    assert trajectory.qd[-1].tolist() == [0, 0, 0]
    assert trajectory.samples().t.size == len(trajectory.t) + 2


def test_outside_of_its_time_a_trajectory_rests() -> None:
    trajectory = Trajectory.cubic([0, 1], [1, 3], 2.0, qd1=1.0)
    for t, q in ((-1.0, [0, 1]), (2.5, [1, 3])):
        found = trajectory(t)
        assert_same(found[0], q)
        assert not np.any(found[1:])
    assert_same(trajectory(2.0)[1], [1, 1])


def test_samples_are_read_only() -> None:
    trajectory = Trajectory.triangular(START, END, 1)
    for x in (trajectory.t, trajectory.q, trajectory.qd, trajectory.qdd, trajectory.jumps):
        with pytest.raises(ValueError, match="read-only"):
            x[...] = 0.0


def test_samples_at_another_step_and_shapes_of_times() -> None:
    trajectory = Trajectory.quintic(START, END, 1.0, step=0.1)
    assert len(trajectory.t) == 11
    assert len(trajectory.with_step(0.01).t) == 101
    assert trajectory(np.zeros((3, 4)))[0].shape == (3, 4, 2)
    assert trajectory(0.5)[0].shape == (2,)
    assert len(Trajectory.quintic(START, END, 1.0, step=0.3).t) == 5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Trajectory.triangular(START, END, [1, 0]),
            "joint 2: duration: found 0 s; a positive time",
        ),
        (
            lambda: Trajectory.triangular(START, END, [1, 2, 3]),
            "duration: expected one number or (2,), one per joint",
        ),
        (
            lambda: Trajectory.triangular(START, END[:1], 1),
            "q1: expected (2,), one number per joint, found (1,)",
        ),
        (
            lambda: Trajectory.triangular([[1, 2]], END, 1),
            "q0: expected (n,), one number per joint, found (1, 2)",
        ),
        (lambda: Trajectory.triangular([1, np.nan], END, 1), "q0: expected finite numbers, found nan"),
        (lambda: Trajectory.triangular("here", END, 1), "q0: expected numbers, found 'here'"),
        (
            lambda: Trajectory.cubic(START, END, "long"),
            "duration: expected one number or one per joint, found 'long'",
        ),
        (lambda: Trajectory.cubic(START, END, 1, qd0=np.nan), "joint 1: qd0: found nan"),
        (
            lambda: Trajectory.cubic(START, END, [2, 1], qd1=0.5),
            "joint 2: it arrives at 1 s with a velocity of",
        ),
        (
            lambda: Trajectory.trapezoidal(START, END, duration=[1, 0.3], max_velocity=5),
            "joint 2: max_velocity: found 5; a distance of 2.0392 in 0.3 s needs more than 6.79",
        ),
        (
            lambda: Trajectory.trapezoidal(START, END, duration=0.3, max_velocity=5, synchronised=True),
            "joint 2: max_velocity: found 5; a distance of 2.0392 in 0.3 s needs more than 6.79",
        ),
        (lambda: Trajectory.jerk_limited(START, END, 1, [2, -2], 3), "joint 2: max_acceleration: found -2"),
        (lambda: Trajectory.triangular(START, END, 1, step=0), "step: found 0 s"),
        (lambda: Trajectory.triangular(START, END, 1)(np.nan), "t: expected finite numbers, found nan"),
        (lambda: Trajectory.triangular(START, END, 1)(0.1, "left"), "side: found 'left'; allowed"),
    ],
)
def test_impossible_motions_are_refused(make: Any, message: str) -> None:
    with pytest.raises(MotionError) as caught:
        make()
    assert message in str(caught.value)


# ---- via points --------------------------------------------------------------------------------------------

POINTS = np.array([[0.0, 1.0], [0.5, 0.2], [1.5, 0.4], [1.0, -1.0]])
TIMES = np.array([2.0, 2.4, 3.1, 4.0])  # counted from the first


def test_cubic_spline_through_points_and_scipy() -> None:
    trajectory = Trajectory.through(POINTS, TIMES, qd0=[0.3, 0.0])
    assert_same(trajectory(TIMES - 2)[0], POINTS, 1e-15)
    assert trajectory.qd[0].tolist() == [0.3, 0.0]
    assert trajectory.qd[-1].tolist() == [0.0, 0.0]
    assert not trajectory.jumps.size
    assert_same(trajectory.motion.knots, [0.4, 1.1])
    spline = CubicSpline(TIMES - 2, POINTS, bc_type=((1, [0.3, 0.0]), (1, [0.0, 0.0])))
    for k, found in enumerate(trajectory(trajectory.t)):
        assert_same(found, spline(trajectory.t, k), 1e-12)


def test_quintic_spline_through_points_has_four_continuous_derivatives() -> None:
    trajectory = Trajectory.through(POINTS, TIMES, kind="quintic")
    assert_same(trajectory(TIMES - 2)[0], POINTS, 1e-15)
    assert not np.any([trajectory.qd[[0, -1]], trajectory.qdd[[0, -1]]])
    h = 1e-3
    for t in trajectory.motion.knots:  # differences of the acceleration, from either side of a knot
        left, right = (trajectory(t + side * h * np.arange(4))[2] for side in (-1, 1))
        for order in (1, 2):
            rates = [_one_sided(x, side * h, order) for x, side in ((left, -1), (right, 1))]
            assert_same(rates[0], rates[1], 1e-4 if order == 1 else 1e-3)


def _one_sided(x: np.ndarray, h: float, order: int) -> np.ndarray:
    """First or second derivative at x[0], exact for cubics."""
    weights = {1: [-11 / 6, 3, -3 / 2, 1 / 3], 2: [2, -5, 4, -1]}[order]
    return np.asarray(np.tensordot(weights, x, 1) / h**order)


@pytest.mark.parametrize("kind", ["cubic", "quintic"])
def test_times_found_from_limits_reach_one_and_break_none(kind: Any) -> None:
    v, a = np.array([1.0, 1.5]), np.array([4.0, 6.0])
    for limits in ({"max_velocity": v}, {"max_acceleration": a}, {"max_velocity": v, "max_acceleration": a}):
        trajectory = Trajectory.through(POINTS, kind=kind, **limits, step=1e-4)
        used = [np.abs(trajectory.qd).max(0) / v if "max_velocity" in limits else [0.0]]
        used += [np.abs(trajectory.qdd).max(0) / a if "max_acceleration" in limits else [0.0]]
        assert max(x for part in used for x in part) == pytest.approx(1.0, abs=1e-5)
    with golden_error(MotionError):
        Trajectory.through([[0, 0], [1, 1], [1, 1]], max_velocity=1)


def test_blends_are_straight_between_and_parabolic_around_the_points() -> None:
    trajectory = Trajectory.through(POINTS, TIMES, kind="blend", blend_time=0.2)
    assert trajectory.duration == pytest.approx(2.2)
    speeds = np.diff(POINTS, axis=0) / np.diff(TIMES)[:, None]
    for k, t in enumerate(TIMES - 2 + 0.1):  # the middles of the blends
        bend = (np.concatenate([[[0, 0]], speeds, [[0, 0]]])[[k, k + 1]] * [[-1], [1]]).sum(0) / 0.2
        assert_same(trajectory(t)[2], bend)
        if 0 < k < 3:
            assert_same(trajectory(t)[0], POINTS[k] + bend * 0.1**2 / 2)
    for k in range(3):
        middle = (TIMES[k] + TIMES[k + 1]) / 2 - 2 + 0.1
        assert_same(trajectory(middle)[0], (POINTS[k] + POINTS[k + 1]) / 2)
        assert_same(trajectory(middle)[1], speeds[k])
    touching = Trajectory.through([[0.0], [1.0], [0.0]], [0, 1, 2], kind="blend", blend_time=1.0)
    assert_consistent(touching)
    assert len(touching.jumps) == 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Trajectory.through(POINTS), "times: give them, or max_velocity"),
        (lambda: Trajectory.through(POINTS, TIMES[:3]), "times: 4 instants are expected"),
        (lambda: Trajectory.through(POINTS, [0, 1, 1, 2]), "times: point 2 comes at 1 s, point 1 at 1 s"),
        (lambda: Trajectory.through(POINTS[:1], [0]), "points: two rows or more"),
        (lambda: Trajectory.through(POINTS, TIMES, kind="linear"), "kind: found 'linear'; allowed"),
        (lambda: Trajectory.through(POINTS, TIMES, max_velocity=1), "max_velocity: it is not used"),
        (lambda: Trajectory.through(POINTS, TIMES, blend_time=1), "blend_time: it is not used with cubic"),
        (lambda: Trajectory.through(POINTS, max_velocity=[1, 0]), "max_velocity: joint 2: found 0"),
        (lambda: Trajectory.through(POINTS, qd0=1, max_velocity=1), "times: they are needed where an end"),
        (
            lambda: Trajectory.through(POINTS, TIMES, kind="blend"),
            "kind 'blend' takes times and a blend_time",
        ),
        (
            lambda: Trajectory.through(POINTS, TIMES, kind="blend", blend_time=0.5),
            "blend_time: found 0.5 s; points 0 and 1 are only 0.4 s apart",
        ),
    ],
)
def test_impossible_via_points_are_refused(make: Any, message: str) -> None:
    with pytest.raises(MotionError) as caught:
        make()
    assert message in str(caught.value)


# ---- samples -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MAKERS)
def test_samples_of_a_trajectory_give_it_back(name: str) -> None:
    one = MAKERS[name]()
    found = one.samples(0.01, knots=True)
    other = Trajectory.from_samples(found.t, found.q, found.qd, found.qdd)
    t = np.linspace(0, one.duration, 777)
    assert_same(other.jumps, one.jumps, 1e-12)
    clear = np.abs(t[:, None] - np.append(one.jumps, -1)).min(1) > 1e-9
    for k, tolerance in enumerate((1e-13, 1e-11, 1e-9)):
        assert_same(other(t[clear])[k], one(t[clear])[k], tolerance)


def test_samples_without_accelerations_and_without_velocities() -> None:
    t = np.linspace(0, 2, 201)
    q = np.column_stack([np.sin(3 * t), np.cos(2 * t)])
    qd = np.column_stack([3 * np.cos(3 * t), -2 * np.sin(2 * t)])
    qdd = np.column_stack([-9 * np.sin(3 * t), -4 * np.cos(2 * t)])
    middle = (t[5:-6] + t[6:-5]) / 2
    exact = np.column_stack([-9 * np.sin(3 * middle), -4 * np.cos(2 * middle)])
    for given, error in (((q, qd, qdd), 1e-6), ((q, qd), 1e-4), ((q,), 1e-2)):
        trajectory = Trajectory.from_samples(t, *given)
        assert_same(trajectory(t)[0], q, 1e-15)
        assert_same(trajectory(middle)[2], exact, error)
        assert not trajectory.jumps.size
        assert_consistent(trajectory)
    assert Trajectory.from_samples([7, 8], [0, 1])(0.5)[0].tolist() == [0.5]  # counted from the first


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (([0.0], [[1.0]]), "t: a list of two instants or more is expected"),
        (([0, 2, 1], [1, 2, 3]), "sample 2: t = 1 s comes after 2 s; times must not go back"),
        (([0, 1, 2], [1, 2]), "q: 3 rows are expected"),
        (
            ([0, 1, 1, 2], [1, 2, 2, 3]),
            "sample 2: the time stamp t = 1 s is repeated; this marks a jump of the acceleration",
        ),
        (([0, 1, 2], [1, 2, 3], None, [1, 2, 3]), "qdd: accelerations without velocities"),
        (
            ([0, 1, 2], [1, 2, 3], [[1, 2], [1, 2], [1, 2]]),
            "qd: as many columns as q are expected, 1, found 2",
        ),
        (
            ([0, 1, 1, 2], [1, 2, 3, 3], [0] * 4, [0] * 4),
            "sample 2: the position of joint 1 jumps at t = 1 s",
        ),
        (
            ([0, 1, 1, 2], [1, 2, 2, 3], [0, 1, 2, 0], [0] * 4),
            "sample 2: the velocity of joint 1 jumps at t = 1",
        ),
        (([0, 1, 1, 1, 2], [1] * 5, [0] * 5, [0] * 5), "sample 3: t = 1 s appears more than twice"),
        (([0, 0, 1], [1] * 3, [0] * 3, [0] * 3), "sample 1: t = 0 s, an end of the motion, appears twice"),
    ],
)
def test_impossible_samples_are_refused(data: tuple[Any, ...], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        Trajectory.from_samples(*data)
    assert message in str(caught.value)


def test_a_motion_of_no_duration_is_refused() -> None:
    with pytest.raises(MotionError, match="duration: found 0 s"):
        Motion(1, 0.0, lambda t, side: (t, t, t))
