"""Other timing laws: torques from stored parts against inverse dynamics of the new motion (7.126)."""

import numpy as np
import pytest
from hypothesis import strategies as st

import armdyn
from armdyn import Robot
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.retime import Retimed, motion_parts, retime
from armdyn.motion.trajectory import Trajectory
from arms import law, robots, slowly
from golden_messages import golden_error

END = 1.1  # s, of the given motions


def laws() -> dict[str, tuple]:
    """Timing laws from 0 to END: with and without jumps of r̈, at rest at the ends or not."""
    w = 2 * np.pi / 3

    def wavy(t):
        return (
            END * t / 3 + 0.1 * np.sin(w * t),
            END / 3 + 0.1 * w * np.cos(w * t),
            -0.1 * w**2 * np.sin(w * t),
        )

    return {
        "linear": (lambda t: (END * t / 2.0, END / 2.0, 0.0), 2.0),
        "quintic": (Trajectory.quintic([0], [END], 2.3), None),
        "trapezoidal": (Trajectory.trapezoidal([0], [END], acceleration_time=0.5, duration=2.0), None),
        "wavy": (wavy, 3.0),
    }


def assert_torques(robot: Robot, found: Retimed, wrench=None) -> None:
    """At every instant the torques are those of one side of it; away from jumps there is only one."""
    expected = [
        robot.inverse_dynamics(*found.trajectory(found.t, side), wrench) for side in ("before", "after")
    ]
    error = np.min([np.abs(x - found.torque).max(1) for x in expected], axis=0)
    assert error.max() <= 1e-10 * max(1.0, np.abs(found.torque).max())


@pytest.mark.parametrize("name", laws())
@pytest.mark.parametrize("arm", ["planar", slowly("puma560")])
def test_torques_and_inverse_dynamics(arm: str, name: str) -> None:
    robot, rng = Robot.load(arm), np.random.default_rng(3)
    start, end = rng.uniform(-1, 1, (2, robot.n))
    for given in (
        Trajectory.trapezoidal(start, end, duration=END, acceleration_time=rng.uniform(0.1, 0.5, robot.n)),
        Trajectory.quintic(start, end, END),
    ):
        rule, duration = laws()[name]
        assert_torques(robot, retime(robot, given, rule, duration))


def test_law_and_motion_that_jump_at_the_same_instant() -> None:
    """After 0.5 s the law ends to accelerate and r is 0.1 s, where joint 1 does so too."""
    robot = Robot.load("planar")
    given = Trajectory.trapezoidal([0, 1], [1, 0.3], max_velocity=2.0, acceleration_time=0.1)
    law = Trajectory.trapezoidal([0], [given.duration], duration=2.0, acceleration_time=0.5)
    np.testing.assert_allclose(law([0.5])[0], 0.1, atol=1e-12)
    found = retime(robot, given, law)
    assert_torques(robot, found)
    for jump in found.trajectory.jumps:
        there = np.abs(found.t - jump) < 1e-12
        expected = [robot.inverse_dynamics(*found.trajectory(jump, side)) for side in ("before", "after")]
        np.testing.assert_allclose(found.torque[there], expected, rtol=1e-9)


@law(robots((1, 4)), st.integers(0, 2**32 - 1), examples=15)
def test_random_arms(robot: Robot, seed: int) -> None:
    with armdyn.backend("evaluator"):
        rng = np.random.default_rng(seed)
        given = Trajectory.triangular(*rng.uniform(-2, 2, (2, robot.n)), END, step=0.02)
        wrench = rng.normal(size=6)
        for rule, duration in laws().values():
            assert_torques(robot, retime(robot, given, rule, duration, wrench=wrench), wrench)


def test_path_stays_and_velocities_are_derivatives() -> None:
    robot = Robot.load("planar")
    given = Trajectory.triangular([0, 1], [1, -1], END)
    for rule, duration in laws().values():
        found = retime(robot, given, rule, duration).trajectory
        np.testing.assert_allclose(found([0.0, found.duration])[0], given([0.0, END])[0], atol=1e-12)
        t, h = np.linspace(0.01, found.duration - 0.01, 500) + 1e-4, 1e-6
        t = t[np.abs(t[:, None] - found.jumps).min(1) > 1e-4]
        (q0, v0, _), (q1, v1, _) = found(t - h), found(t + h)
        _, qd, qdd = found(t)
        np.testing.assert_allclose((q1 - q0) / (2 * h), qd, atol=1e-7)
        np.testing.assert_allclose((v1 - v0) / (2 * h), qdd, atol=1e-6)


def test_no_inverse_dynamics_for_a_further_law(monkeypatch: pytest.MonkeyPatch) -> None:
    robot, given = Robot.load("planar"), Trajectory.quintic([0, 1], [1, -1], END)
    parts = motion_parts(robot, given)
    expected = retime(robot, given, *laws()["wavy"])
    for name in ("inverse_dynamics", "inertia"):
        monkeypatch.setattr(Robot, name, lambda *_, **__: pytest.fail("computed again"))
    np.testing.assert_array_equal(retime(robot, given, *laws()["wavy"], parts=parts).torque, expected.torque)


def test_wrong_laws_are_refused() -> None:
    robot, given = Robot.load("planar"), Trajectory.quintic([0, 1], [1, -1], END)
    for problem, rule, duration in (
        ("r must end with 1.1 s, found 2 s", Trajectory.cubic([0], [2], 1.0), None),
        ("r must begin with 0 s, found 0.5 s", Trajectory.cubic([0.5], [END], 1.0), None),
        ("a trajectory of one joint", Trajectory.cubic([0, 0], [1, 1], 1.0), None),
        ("a law that is a function needs one", lambda t: (t, 1 + 0 * t, 0 * t), None),
        ("must increase strictly", lambda t: (END * t + 0.5 * np.sin(6 * np.pi * t), END, 0), 1.0),
        ("must give three arrays", lambda t: t, 1.0),
        ("gave shapes", lambda t: (t[:3], t, t), 1.0),
        ("its rate is not finite at t = 0 s", lambda t: (END * t, np.where(t > 0, END, np.nan), 0), 1.0),
        ("expected a Trajectory of one joint or a function", 3.0, 1.0),
        ("its rate is not the derivative of r", lambda t: (END * t, 2 * END, 0), 1.0),
        ("change is not the derivative of the rate", lambda t: (END * t, END, END), 1.0),
        (
            "law: expected real numbers for r, .* found an array of complex",
            lambda t: (END * t + 0j, END, 0),
            1.0,
        ),
        ("duration: expected one number, found 'x'", lambda t: (END * t, END, 0), "x"),
        (r"duration: expected one number, found \[1\.0, 2\.0\]", lambda t: (END * t, END, 0), [1.0, 2.0]),
        ("duration: found -1 s; a positive time", lambda t: (END * t, END, 0), -1),
    ):
        with pytest.raises(MotionError, match=problem):
            retime(robot, given, rule, duration)
    parts = motion_parts(robot, Trajectory.quintic([0, 1], [1, -2], END))
    with golden_error(MotionError):
        retime(robot, given, *laws()["wavy"], parts=parts)
    with golden_error(MotionError):
        retime(robot, given, *laws()["wavy"], parts=3)  # type: ignore[arg-type]
