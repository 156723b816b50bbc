"""Limits of joints that follow several others: along motions, in scaling and in least time."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, scale_to_limits, simulate, time_optimal
from armdyn.motion.timing.exceeded import exceeded
from armdyn.robot.joints import followers
from armdyn.simulation.errors import SimulationError, SimulationWarning
from golden_messages import golden_warning


def arm(**limits):
    """The parallelogram without limits but for those of its rod, ϑ_2' = q2 − q1."""
    table = Robot.load("parallelogram").to_dict()
    for link in table["link"]:
        link.pop("limits", None)
    table["link"][1]["limits"] = limits
    return Robot.from_dict(table)


def both(t):
    """Coordinates that turn against each other."""
    return Trajectory.quintic([3.4, 1.0], [2.8, 1.9], duration=t)


def test_rows_are_those_of_the_relations():
    found = followers(arm(position=[-2.7, -0.4], velocity=2, acceleration=30, jerk=200))
    limits = found.limits
    assert [link.name for link in found.links] == ["link 2'"]
    assert found.linear.S.tolist() == [[-1, 1]]
    assert (limits.lower, limits.upper, limits.velocity) == (-2.7, -0.4, 2)
    assert (limits.acceleration, limits.jerk) == (30, 200)
    assert followers(Robot.load("planar")) is None


def test_scaling_and_least_time_keep_the_speed_of_a_follower():
    robot, motion = arm(velocity=2.0), both(0.7)
    rate = np.abs(motion.samples().qd @ [-1, 1]).max()
    scaled = scale_to_limits(robot, motion)
    assert scaled.factor == pytest.approx(rate / 2.0, rel=1e-6)
    assert scaled.limited_by.name(robot) == "joint 'link 2'', which follows others,"
    assert scaled.limited_by.quantity == "velocity"
    fast = time_optimal(robot, motion).trajectory.samples(1e-3)
    assert np.abs(fast.qd @ [-1, 1]).max() == pytest.approx(2.0, rel=1e-3)
    free = time_optimal(arm(acceleration=1e4), motion)
    assert free.duration < fast.t[-1]


def test_least_time_keeps_the_acceleration_of_a_follower():
    robot, motion = arm(acceleration=20.0), both(0.7)
    found = time_optimal(robot, motion)
    at = found.trajectory.samples(1e-3)
    rate = np.abs(at.qdd @ [-1, 1])
    assert rate.max() < 20.0 * 1.001
    assert np.median(rate) > 19.0  # bang-bang, but for the middle
    assert found.duration == pytest.approx(2 * np.sqrt(1.5 / 20.0), rel=1e-3)


def test_a_motion_that_leaves_the_range_of_a_follower_is_told():
    robot = arm(position=[-2.0, -1.0])
    at = both(1.0).samples()
    (one,) = exceeded(robot, at.t, at.q)
    said = "joint 'link 2'', which follows others, leaves its range of -2 to -1 rad at 0 s"
    assert one.text.startswith(said)
    assert not exceeded(arm(position=[-3, 0]), at.t, at.q)


def test_a_line_that_leaves_the_range_of_a_follower_is_refused():
    robot = arm(position=[-2.0, -1.0])
    line = {"displacement": [0.1, 0.02, 0.0], "profile": "quintic", "duration": 1.0}
    with pytest.raises(
        ValueError, match=r"joint 'link 2'', which follows others, is at .*, beyond its limits -2 … -1"
    ):
        Trajectory.line(robot, [3.3, 1.4], **line)
    Trajectory.line(robot, [3.3, 1.4], **line, check_limits=False)


@pytest.mark.parametrize("method", [{}, {"method": "rk4", "step": 1e-3}])
def test_a_run_ends_where_a_follower_leaves_its_range(method):
    """Both integrators find the instant at which q2 − q1 passes −2.3."""
    robot = arm(position=[-2.3, -0.4])
    with pytest.warns(
        SimulationWarning, match=r"joint 'link 2'', which follows others, passes its limit of -2.3"
    ):
        run = simulate(robot, [3.2, 1.0], [0, 0], 2.0, limits="stop", **method)
    assert run.q[-1] @ [-1, 1] == pytest.approx(-2.3, abs=2e-3 if method else 1e-5)  # the end of a step
    with pytest.warns(SimulationWarning, match="passes its limit of -2.3"):
        on = simulate(robot, [3.2, 1.0], [0, 0], 0.6, **method)
    (passed,) = on.limits_passed
    free = simulate(arm(), [3.2, 1.0], [0, 0], 0.6, output=1e-4)
    rod = free.q @ [-1, 1]
    assert passed.time == pytest.approx(np.interp(2.3, -rod, free.t), abs=1e-5)
    assert passed.time == pytest.approx(run.limits_passed[0].time, abs=1e-9)
    with pytest.raises(SimulationError, match=r"expected joint 'link 2'', .* -2.3 to -0.4, .* found -2.5"):
        simulate(robot, [3.5, 1.0], [0, 0], 1.0, limits="stop", **method)


def test_a_batch_says_which_arms_pass_the_limit_of_a_follower():
    robot = arm(position=[-2.3, -0.4])
    with golden_warning(SimulationWarning):
        simulate(robot, [[3.2, 1.0], [2.4, 1.6]], np.zeros((2, 2)), 0.3, method="rk4", step=1e-3)
