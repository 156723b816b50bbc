"""Stribeck, cubic and load friction in scaling, retiming and least time: limits kept, and used up."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, exceeded_limits, retime, scale_to_limits, time_optimal
from arms import slowly
from one_joint import one_joint, shares

STRIBECK = {"level": 0.8, "velocity": 0.5}
EVERYTHING = {
    "load": 0.2,
    "coulomb": 0.3,
    "viscous": 0.2,
    "cubic": 0.05,
    "stribeck": STRIBECK | {"level": 0.4},
}
KINDS = pytest.mark.parametrize(
    "friction",
    [
        {"cubic": 0.1},
        {"cubic": -0.02, "viscous": 0.5, "coulomb": 0.1},
        {"stribeck": STRIBECK},
        {"coulomb": 0.5, "stribeck": STRIBECK | {"level": -0.3}},
        {"load": 0.3},
        EVERYTHING,
    ],
    ids=["cubic", "negative cubic", "stribeck", "negative level", "load", "everything"],
)
SWING = Trajectory.quintic([0.0], [2.0], 1.0)


def arm(gravity, friction):
    robot = one_joint(gravity=gravity).to_dict()
    robot["link"][0]["limits"]["velocity"] = 4
    robot["link"][0]["friction"] = friction
    return Robot.from_dict(robot)


def torque_share(robot, trajectory):
    t = np.linspace(0, trajectory.duration, 4001)[1:-1]
    return np.abs(robot.inverse_dynamics(*trajectory(t))).max() / 3


@KINDS
@pytest.mark.parametrize("gravity", [slowly(0.0), 1.0])
def test_scaled_motion_uses_its_limit_up(friction, gravity):
    robot = arm(gravity, friction)
    scaled = scale_to_limits(robot, SWING, faster=True)
    assert np.abs(scaled.torque).max() == pytest.approx(3, rel=1e-9)
    assert torque_share(robot, scaled.trajectory) == pytest.approx(1, abs=1e-4)
    assert (scaled.kind, scaled.joint) == ("torque", 0)
    faster = scale_to_limits(robot, scaled.trajectory)
    assert faster.factor == pytest.approx(1, rel=1e-5)  # held at other samples


@KINDS
@pytest.mark.parametrize("gravity", [slowly(0.0), 1.0])
def test_least_time_keeps_the_limit_and_is_bang_bang(friction, gravity):
    """One joint: a motion in least time is at its torque limit all along, or at its speed limit."""
    robot = arm(gravity, friction)
    fast = time_optimal(robot, SWING, grid=200)
    assert max(shares(robot, fast)) < 1 + 5e-4
    scaled = scale_to_limits(robot, SWING, faster=True)
    assert fast.duration < 0.9 * scaled.trajectory.duration
    share = np.maximum(np.abs(fast.torque[:, 0]) / 3, np.abs(fast.trajectory(fast.t)[1][:, 0]) / 4)
    assert np.mean(share.reshape(-1, 2).max(1) > 0.999) > 0.97  # s̈ is constant on an interval
    for first, side in ((2, "after"), (1, "before")):  # where intervals begin and end, but not at rest
        t, torque = fast.t[first:-1:2], fast.torque[first:-1:2]
        assert torque == pytest.approx(robot.inverse_dynamics(*fast.trajectory(t, side)), abs=1e-5)


def test_least_time_with_load_friction_by_hand():
    """Inertia 2, torque 3, load 0.3: accelerations 3/2.6 and 3/1.4, so T = √(2 d (2.6/3 + 1.4/3))."""
    fast = time_optimal(arm(0.0, {"load": 0.3}), SWING, grid=400)
    assert fast.duration == pytest.approx(np.sqrt(2 * 2.0 * 4 / 3), rel=1e-3)


def test_least_time_with_cubic_friction_and_an_integration():
    """Full torque until the switch, then full brake: both integrated backward and forward in the speed."""
    e, J, limit, d = 0.1, 2.0, 3.0, 2.0
    v = np.linspace(0, 2.99 ** (1 / 3) / e ** (1 / 3), 200_001)
    up, down = (limit - e * v**3) / J, (limit + e * v**3) / J

    def run(a):
        """Distance and time from rest to each speed."""
        cells = np.diff(v) / 2
        return [np.concatenate([[0], np.cumsum(cells * (f[1:] + f[:-1]))]) for f in (v / a, 1 / a)]

    (x1, t1), (x2, t2) = run(up), run(down)
    switch = np.interp(d, x1 + x2, v)
    expected = np.interp(switch, v, t1) + np.interp(switch, v, t2)
    fast = time_optimal(arm(0.0, {"cubic": e}), SWING, grid=400)
    assert fast.duration == pytest.approx(expected, rel=1e-3)


def test_arm_of_several_joints_with_every_friction():
    table = Robot.load("planar").to_dict()
    for link, scale in zip(table["link"], (200, 100), strict=True):
        stribeck = {"level": 0.5 * scale, "velocity": 0.3}
        link["friction"] = {
            "viscous": 0.2 * scale,
            "coulomb": 0.3 * scale,
            "cubic": 0.02 * scale,
            "load": 0.1,
        }
        link["friction"]["stribeck"] = stribeck
        link["limits"] = {"torque": 20 * scale, "velocity": 3, "acceleration": 40}
    robot = Robot.from_dict(table)
    swing = Trajectory.quintic([0.2, -0.5], [1.5, 0.8], 1.0)
    fast = time_optimal(robot, swing, grid=200)
    assert max(shares(robot, fast)) < 1 + 1e-3
    assert fast.duration <= scale_to_limits(robot, swing, faster=True).trajectory.duration


@KINDS
def test_retimed_torques_and_inverse_dynamics(friction):
    robot = arm(1.0, friction)
    swing = Trajectory.trapezoidal([0.0], [2.0], acceleration_time=0.3, max_velocity=3.0)
    law = Trajectory.quintic([0.0], [swing.duration], 1.7)
    found = retime(robot, swing, law)
    inside = slice(5, -5)
    jumps = np.isin(found.t, found.t[:-1][np.diff(found.t) == 0])
    expected = robot.inverse_dynamics(*found.trajectory(found.t))
    same = ~jumps
    assert found.torque[same][inside] == pytest.approx(expected[same][inside], abs=1e-6)


def test_impossible_load_is_named():
    robot = arm(2.9, {"load": 0.3})
    down = Trajectory.quintic([-0.3], [0.3], 1.0)
    with pytest.raises(
        Exception, match=r"gravity and dry friction alone need 3\.\d+ N m, the limit is 3 N m"
    ):
        scale_to_limits(robot, down)


@pytest.mark.slow
@KINDS
def test_limits_under_a_smooth_sign(friction):
    """Load friction helps to brake and fades near rest: a motion in least time does not count on it there."""
    sharp = time_optimal(arm(1.0, friction), SWING)
    for width in (0.02, 0.3):
        robot = arm(1.0, friction).with_friction(width=width)
        fast = time_optimal(robot, SWING)
        assert torque_share(robot, fast.trajectory) <= 1 + 1e-3
        assert all(abs(x.value) <= 1.0002 * x.upper for x in exceeded_limits(robot, fast.trajectory))
        assert fast.duration < sharp.duration * 1.02
        scaled = scale_to_limits(robot, SWING, faster=True)
        assert torque_share(robot, scaled.trajectory) == pytest.approx(1, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.02, 0.2])
@pytest.mark.parametrize("name", ["planar", "puma560", "tx40", "scara", "ur10"])
def test_limits_of_arms_under_a_smooth_sign(name, width):
    robot, rng = Robot.load(name), np.random.default_rng(1)
    q, qd, qdd = rng.uniform(-1, 1, (3, 300, robot.n)) * [[[1]], [[1]], [[2]]]
    needs = np.abs(robot.inverse_dynamics(q, qd, qdd)).max(0)
    needs = np.maximum(needs, 0.05 * needs.max())
    terms = [
        {
            "viscous": 0.05 * x,
            "coulomb": 0.15 * x,
            "load": 0.1,
            "stribeck": {"level": 0.1 * x, "velocity": 0.3},
        }
        for x in needs.tolist()
    ]
    limits = [{"torque": 1.6 * x, "velocity": 3.0, "position": None} for x in needs.tolist()]
    robot = robot.with_friction(dict(zip(robot.joints, terms, strict=True)), width=width)
    robot = robot.with_limits(dict(zip(robot.joints, limits, strict=True)))
    motion = Trajectory.quintic(*rng.uniform(-0.8, 0.8, (2, robot.n)), duration=1.0)
    fast = time_optimal(robot, motion)
    assert all(abs(x.value) <= 1.0002 * x.upper for x in exceeded_limits(robot, fast.trajectory))
    scaled = scale_to_limits(robot, motion, faster=True).trajectory
    between = 1 + 1e-5  # the samples looked at afterwards are others than those that were held
    assert all(abs(x.value) <= between * x.upper for x in exceeded_limits(robot, scaled))
