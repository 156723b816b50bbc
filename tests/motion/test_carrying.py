"""What the arm carries counts while it is carried: limits kept with the right robot, and used up."""

import warnings
from typing import Any

import numpy as np
import pytest

from armdyn import MotionError, PhysicsWarning, Robot, Trajectory, retime, scale_to_limits, time_optimal
from armdyn.motion.motion import Motion
from motions_with_dwells import carried, most, stations, torques
from one_joint import along, one_joint

A, B = np.array([-0.4, -0.2, -1.2, 0, 0.4, 0]), np.array([-1.6, 0.5, -2.0, 0.8, 0.5, 1])
GO, BACK = Trajectory.quintic(A, B, 1.0), Trajectory.trapezoidal(B, A, duration=1.2, acceleration_time=0.3)
HEAVY = (4.0, (0.02, 0, 0.1))
PUMA = Robot.load("puma560")
MOTIONS = {
    "picked up at a dwell": stations(GO, 0.4, BACK, loads=[carried(1.1, 2.6, *HEAVY)]),
    "put down while moving": stations(0.2, GO, 0.4, BACK, loads=[carried(0.0, 2.3, *HEAVY)]),
    "one on top of the other": stations(
        GO, 0.4, BACK, 0.25, loads=[carried(0, 2.85, 1.0), carried(0.45, 1.95, *HEAVY)]
    ),
    "picked up where it starts and stops": stations(GO, 0.4, BACK, loads=[carried(1.4, 2.0, *HEAVY)]),
}


def arm(kind: str) -> Robot:
    """A PUMA, or one with friction of all kinds."""
    if kind == "plain":
        return PUMA
    table = PUMA.to_dict()
    for link, level in zip(table["link"], (5.0, 8.0, 4.0, 0.5, 0.5, 0.3), strict=True):
        link["friction"] = {
            "viscous": 0.5 * level,
            "coulomb": level,
            "cubic": 0.05 * level,
            "stribeck": {"level": 0.5 * level, "velocity": 0.2},
            "load": 0.05,
        }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)  # the forearm's published moments
        return Robot.from_dict(table)


RUBBING = ("one on top of the other",)


@pytest.mark.parametrize(
    ("motion", "kind"), [*((x, "plain") for x in MOTIONS), *((x, "rubbing") for x in RUBBING)]
)
def test_limits_with_the_loads_of_each_time(motion: str, kind: str) -> None:
    robot, given = arm(kind), MOTIONS[motion]
    if kind == "rubbing":  # its factor is searched for
        given = given.with_step(5e-3)
    slow = scale_to_limits(robot, given, faster=True)
    fast = time_optimal(robot, given, grid=300 if kind == "plain" else 80)
    between = 2e-3 if kind == "plain" else 5e-3  # samples
    assert most(robot, slow, 1e-3)["torque"] == pytest.approx(1, abs=between)
    assert most(robot, fast, 1e-3)["torque"] == pytest.approx(1, abs=1e-3)
    assert fast.duration <= slow.trajectory.duration
    for made in (slow.trajectory, fast.trajectory):
        assert [x.load for x in made.loads] == [x.load for x in given.loads]
        for before, after in zip(given.loads, made.loads, strict=True):
            for a, b in ((before.start, after.start), (before.end, after.end)):
                np.testing.assert_allclose(made(b)[0], given(a)[0], atol=1e-9)  # the same place
    # Torques with the robot that carries nothing, or everything all the time, would be other ones.
    empty = Trajectory(Motion(6, fast.duration, fast.trajectory.motion.evaluate, fast.trajectory.jumps))
    assert np.abs(torques(robot, empty, 1e-3)[1] - torques(robot, fast.trajectory, 1e-3)[1]).max() > 1


def test_scaled_factor_and_brute_force() -> None:
    given = MOTIONS["put down while moving"]
    slow = scale_to_limits(PUMA, given, faster=True)

    def share(factor: float) -> float:
        at = given.samples()
        states = (at.q, at.qd / factor, at.qdd / factor**2)
        tau = given.loaded(PUMA).evaluate(lambda r, *x: r.inverse_dynamics(*x), at.t, *states)
        return float((np.abs(tau) / slow.limits.torque).max())

    low, high = 0.1, 10.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if share(middle) <= 1 else (middle, high)
    assert slow.factor == pytest.approx(high, rel=1e-3)
    assert slow.factor >= high * (1 - 1e-8)


def test_retimed_torques_with_loads() -> None:
    given = MOTIONS["put down while moving"]
    law = Trajectory.quintic([0.0], [given.duration], 3.1, qd0=0.4, qd1=0.3)
    slow = retime(PUMA, given, law)
    # A sample just before and just after the load is put down: its weight is the difference.
    (load,) = slow.trajectory.loads
    assert slow.trajectory(load.end)[0] == pytest.approx(given(2.3)[0], abs=1e-9)
    edges = np.concatenate([[0.0], slow.trajectory.jumps, [slow.trajectory.duration]])
    inner = np.abs(slow.t[:, None] - edges).min(1) > 1e-9
    states = slow.trajectory(slow.t[inner])
    expected = slow.trajectory.loaded(PUMA).evaluate(
        lambda r, *x: r.inverse_dynamics(*x), slow.t[inner], *states
    )
    np.testing.assert_allclose(slow.torque[inner], expected, rtol=0, atol=1e-6)
    sides = slow.torque[np.isclose(slow.t, load.end, rtol=0, atol=1e-12)]
    assert len(sides) == 2
    assert np.abs(sides[1] - sides[0]).max() > 1


def test_one_joint_that_drops_half_of_its_inertia_on_paper() -> None:
    """Torque T, inertia I₁ on the first half of the way, I₂ on the second: T x is the energy, up and down."""
    robot, torque, D = one_joint(1.5, 3.0), 3.0, 2.0
    motion = Trajectory.quintic([0.0], [D], 1.0)
    half = Trajectory(
        Motion(1, 1.0, motion.motion.evaluate, loads=(carried(0.0, 0.5, 1.0),))  # 1 kg at the tip, 1 m out
    )
    assert half.loaded(robot).robots[0].inertia([0.0])[0, 0] == pytest.approx(2.5)
    # At the middle ṡ² is the least of 2 T (D/2) / I₁ and 2 T (D/2) / I₂: braking with I₂ is easier.
    v = np.sqrt(torque * D / 2.5)
    # From the middle on: faster until w, then braking; x₁ + x₂ = D/2 with a = T / I₂.
    a = torque / 1.5
    w = np.sqrt((v**2 + 2 * a * D / 2) / 2)
    expected = 2 * (D / 2) / v + (w - v) / a + w / a
    fast = time_optimal(robot, half)
    assert fast.duration == pytest.approx(expected, rel=1e-3)
    assert most(robot, fast)["torque"] == pytest.approx(1, abs=1e-3)
    assert fast.trajectory.loads[0].end == pytest.approx(D / v, rel=1e-3)


def test_too_heavy_at_a_dwell_is_refused_with_joint_and_dwell() -> None:
    robot = one_joint(2.0, 12.0, gravity=9.81)
    there = Trajectory.quintic([-0.5], [0.0], 1.0)
    back = Trajectory.quintic([0.0], [-0.5], 1.0)
    # Held only while the arm rests: neither the way there nor the way back feels it.
    motion = stations(there, 1.0, back, loads=[carried(1.2, 1.7, 1.0)])
    with pytest.raises(
        MotionError, match=r"joint 1 \('arm'\) at the dwell from 1\.2 to 1\.7 s .* 19\.62 N m"
    ):
        time_optimal(robot, motion)
    with pytest.raises(MotionError, match=r"joint 1 \('arm'\) at t = 1\.\d+ s .* 19\.62 N m"):
        scale_to_limits(robot, motion)
    light = stations(there, 1.0, back, loads=[carried(1.2, 1.7, 0.1)])
    fast = time_optimal(robot, light)
    assert np.count_nonzero(np.diff(fast.s) == 0) == 3  # before, with and after the load
    mere = stations(there, 1.0, back, loads=[carried(1.2, 1.7, 0.1)], declared=False)
    with pytest.raises(MotionError, match=r"from 1\.2 to 1\.7 s is carried only while the arm rests"):
        time_optimal(robot, mere)


def test_carrying_and_the_robot_with_the_payload() -> None:
    """A load all the way is the same as a robot that has it."""
    results: list[Any] = []
    for robot, motion in ((PUMA, GO.carrying(*HEAVY)), (PUMA.with_payload(*HEAVY), GO)):
        results.append(
            (scale_to_limits(robot, motion).factor, time_optimal(robot, motion, grid=100).duration)
        )
    assert results[0] == results[1]


def test_a_rubbing_joint_at_constant_speed_with_a_load() -> None:
    """Friction that nowhere turns, and a load that is put down on the way."""
    robot = one_joint(2.0, 12.0, gravity=1.0, coulomb=1.0)
    steady = along(1, 1.0, lambda t: ([0.2 + t], [1.0], [0.0]))
    motion = Trajectory(Motion(1, 1.0, steady.motion.evaluate, loads=(carried(0.0, 0.5, 2.0),)))
    slow = scale_to_limits(robot, motion, torque=4.0)
    assert slow.factor == 1
    assert slow.torque[0, 0] == pytest.approx(1.0 + 3.0 * np.cos(0.2))
    assert slow.torque[-1, 0] == pytest.approx(1.0 + 1.0 * np.cos(1.2))
    with pytest.raises(MotionError, match=r"joint 1 \('arm'\) at t = 0 s .* need 3\.94"):
        scale_to_limits(robot, motion, torque=3.9)
