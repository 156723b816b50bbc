"""What is no number, too many samples or beyond arithmetic is refused on one line, whatever the argument."""

from typing import Any

import numpy as np
import pytest

from armdyn import Robot
from armdyn.motion import MotionError, Trajectory, inverse_kinematics
from golden_messages import golden_error

START, END = [0.1, 0.2], [1.0, -0.5]
POINTS, TIMES = [START, END, START], [0, 1, 2]
PLANAR = [-1.2, 2.1]
HUGE = 10**400
WORDS = ["x", "1", 1j, True, [], [1, 2, 3, 4], {}, np.eye(2), ["a", "b"], [1, [2]], HUGE]


def line(**data: Any) -> Trajectory:
    given = {"displacement": [0.3, 0, 0], "acceleration_time": 0.1, "max_velocity": 1.0}
    return Trajectory.line(Robot.load("planar"), PLANAR, **(given | data))


def circle(**data: Any) -> Trajectory:
    given: dict[str, Any] = {"centre": [0.9, 0, 0], "axis": [0, 0, 1], "angle": 0.4} | {
        "duration": 1.0,
        "profile": "cubic",
    }
    return Trajectory.circle(Robot.load("planar"), PLANAR, **(given | data))


def limited(**data: Any) -> Trajectory:
    given = {"max_velocity": 1.0, "max_acceleration": 2.0, "max_jerk": 9.0}
    return Trajectory.jerk_limited(START, END, **(given | data))


def kinematics(**data: Any) -> np.ndarray:
    return inverse_kinematics(Robot.load("planar"), **({"target": [0.9, 0, 0], "q0": PLANAR} | data))


MAKERS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "triangular": (
        lambda **x: Trajectory.triangular(**({"q0": START, "q1": END, "duration": 1} | x)),
        ("q1", "duration", "step"),
    ),
    "jerk limited": (limited, ("max_velocity", "max_acceleration", "max_jerk")),
    "blend": (
        lambda **x: Trajectory.through(POINTS, TIMES, **({"kind": "blend", "blend_time": 0.2} | x)),
        ("kind", "blend_time", "step"),
    ),
    "line": (line, ("displacement", "max_velocity", "profile", "step")),
    "circle": (circle, ("angle", "duration", "orientation", "profile")),
    "call": (lambda **x: limited()(0.1, **x), ("side",)),
    "kinematics": (kinematics, ("q0", "orientation", "tolerance", "restarts")),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_no_number_or_no_word_is_refused_on_one_line(maker: str) -> None:
    make, names = MAKERS[maker]
    for name in names:
        for wrong in WORDS:
            if (name == "orientation" and wrong is True) or (name == "restarts" and wrong is HUGE):
                continue
            with pytest.raises(MotionError) as caught:
                make(**{name: wrong})
            assert str(caught.value).startswith(f"{name}: ")
            assert "\n" not in str(caught.value)
            assert len(str(caught.value)) < 200


def test_times_of_a_call_are_numbers() -> None:
    for wrong in ("x", 1j, [0.0, np.inf], None):
        with golden_error(MotionError):
            limited()(wrong)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Trajectory.triangular(START, END, 1e-300),
        lambda: Trajectory.quintic(START, END, 1e-300),
        lambda: Trajectory.quintic(START, END, 1e300),
        lambda: Trajectory.trapezoidal(START, END, max_acceleration=10.0, duration=1e300),
        lambda: limited(max_jerk=1e-300),
        lambda: Trajectory.through(POINTS, kind="quintic", max_acceleration=1e-300),
        lambda: line(acceleration_time=None, max_velocity=None, profile="cubic", duration=1e300),
    ],
)
def test_numbers_beyond_arithmetic_are_refused(make: Any) -> None:
    with golden_error(MotionError):
        make()


def test_what_a_law_needs_cannot_be_none() -> None:
    none: Any = None
    with golden_error(MotionError):
        Trajectory.cubic(START, END, none)
    with golden_error(MotionError):
        limited(max_jerk=none)
    with golden_error(MotionError):
        Trajectory.through(POINTS, max_velocity=np.inf)
    with pytest.raises(MotionError, match="qdd: as many columns as q are expected, 2, found 1"):
        Trajectory.from_samples(TIMES, POINTS, POINTS, [1, 2, 3])


def test_samples_that_would_fill_the_memory_are_refused() -> None:
    day = Trajectory.cubic(START, END, 86400.0)
    with pytest.raises(MotionError, match=r"step: found 0.001 s; 86400 s would be 8.6e\+07 samples"):
        _ = day.t
    assert len(day.with_step(1.0).t) == 86401


def test_a_long_motion_of_the_tip_names_the_sample_among_all() -> None:
    slow: dict[str, Any] = {
        "acceleration_time": None,
        "max_velocity": None,
        "duration": 1e5,
        "profile": "cubic",
    }
    assert line(**slow).duration == 1e5
    with pytest.raises(MotionError) as caught:
        line(displacement=[3, 0, 0], **slow)
    words = str(caught.value).replace(":", "").replace(",", "").split()
    assert float(words[5]) == pytest.approx(int(words[2]) * 1e-3, rel=1e-5)


def test_a_way_of_rounding_with_a_turn_is_timed_by_the_turn() -> None:
    """The position of the end is that of the start up to rounding: the speed is meant in radians."""
    robot, q0 = Robot.load("puma560"), np.array([0.3, 0.8, -2.8, 0.4, 0.7, 0.2])
    end = robot.pose(q0 + np.array([0, 0, 0, 0, 0, 0.5]))
    law = {"max_velocity": 1.0, "max_acceleration": 2.0}
    exact = Trajectory.line(robot, q0, end, **law)
    end[0, 3] += 1e-11
    nearly = Trajectory.line(robot, q0, end, **law)
    assert nearly.duration == pytest.approx(exact.duration)
    assert np.abs(robot.pose(nearly.q[-1]) - end).max() < 1e-14


@pytest.mark.parametrize("kind", ["cubic", "quintic"])
def test_limits_hold_between_the_samples_of_random_via_points(kind: Any) -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        count, n = rng.integers(2, 8), rng.integers(1, 5)
        v, a = rng.uniform(0.1, 3, n), rng.uniform(0.1, 3, n)
        points = rng.normal(size=(count, n))
        trajectory = Trajectory.through(points, kind=kind, max_velocity=v, max_acceleration=a)
        _, qd, qdd = trajectory(np.linspace(0, trajectory.duration, 4001))
        used = max((np.abs(qd) / v).max(), (np.abs(qdd) / a).max())
        assert 0.99 < used < 1 + 1e-9
