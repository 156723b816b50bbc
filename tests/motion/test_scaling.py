"""Linear scaling: the book's problem, friction against a search over c, what is impossible."""

from math import acos, pi

import numpy as np
import pytest
from hypothesis import strategies as st

import armdyn
from armdyn import Robot
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.scaling import largest_rate, scale_to_limits
from armdyn.motion.trajectory import Trajectory
from arms import law, robots, slowly
from golden_messages import golden_error
from one_joint import along, one_joint

NEAR = 1e-6  # of a limit: what a billionth of the motion's time changes


def example(step: float = 1e-3) -> tuple[Robot, Trajectory]:
    """Example 7.2: both joints by π/2 in 0.5 s, from the lower elbow with the tip at (0.2, 0) m."""
    q0 = np.array([-acos(0.1), 2 * acos(0.1)])
    return Robot.load("planar"), Trajectory.triangular(q0, q0 + pi / 2, 0.5, step=step)


def needed(robot: Robot, trajectory: Trajectory, c: float) -> np.ndarray:
    """Torques of the motion made c times as long, by inverse dynamics."""
    at = trajectory.samples(min(trajectory.step, trajectory.duration / 200))
    return np.asarray(robot.inverse_dynamics(at.q, at.qd / c, at.qdd / c**2))


def needed_beside(robot: Robot, trajectory: Trajectory, instants: np.ndarray, c: float) -> np.ndarray:
    """The same at instants of the given motion and just beside them, where dry friction has a direction."""
    near = 1e-9 * trajectory.duration
    t = np.concatenate([instants - near, instants, instants + near]).clip(0, trajectory.duration)
    q, qd, qdd = (np.concatenate(x) for x in zip(trajectory(t, "before"), trajectory(t), strict=True))
    qd = np.where(np.abs(qd) < 1e-14, 0.0, qd)  # a joint that stops rests there, whatever rounding says
    return np.asarray(robot.inverse_dynamics(q, qd / c, qdd / c**2))


def test_problem_7_9() -> None:
    robot, trajectory = example()
    slow = scale_to_limits(robot, trajectory)
    assert slow.factor**2 == pytest.approx(2.1549, abs=5e-5)
    assert slow.trajectory.duration == pytest.approx(0.73398, abs=5e-6)
    assert np.abs(slow.torque).max() == pytest.approx(3000, rel=1e-12)
    assert (slow.kind, slow.joint) == ("torque", 0)
    assert slow.instant == pytest.approx(slow.trajectory.duration / 2)
    # If the acceleration just before the switching instant is missed, the factor is too small.
    q, qd, qdd = trajectory.q, trajectory.qd, trajectory.qdd
    g = robot.gravity(q)
    scaled = robot.inverse_dynamics(q, qd, qdd) - g
    missed = (np.abs(scaled) / (3000 - np.sign(scaled) * g)).max()
    assert missed == pytest.approx(2.1394, abs=5e-5)
    assert 0.5 * missed**0.5 == pytest.approx(0.73133, abs=5e-6)


def test_scaled_motion_and_inverse_dynamics() -> None:
    robot, trajectory = example()
    slow = scale_to_limits(robot, trajectory)
    np.testing.assert_allclose(needed(robot, trajectory, slow.factor), slow.torque, rtol=1e-12, atol=1e-9)
    at = slow.trajectory.samples()
    assert slow.trajectory.step == trajectory.step
    assert np.abs(robot.inverse_dynamics(at.q, at.qd, at.qdd)).max() <= 3000 * (1 + 1e-12)
    np.testing.assert_allclose(slow.trajectory.jumps, slow.factor * trajectory.jumps, rtol=1e-15)
    for side in ("before", "after"):
        scaled, given = slow.trajectory(slow.trajectory.jumps, side), trajectory(trajectory.jumps, side)
        np.testing.assert_array_equal(scaled[0], given[0])
        np.testing.assert_allclose(scaled[2], given[2] / slow.factor**2, rtol=1e-14)


def test_within_limits_nothing_changes_unless_faster() -> None:
    robot, trajectory = example()
    same = scale_to_limits(robot, trajectory, torque=1e5)
    assert (same.factor, same.kind, same.joint, same.instant) == (1.0, None, None, None)
    fast = scale_to_limits(robot, trajectory, torque=1e5, faster=True)
    assert fast.factor < 1
    assert np.abs(fast.torque).max() == pytest.approx(1e5, rel=1e-12)


@pytest.mark.parametrize("step", [1e-3, 0.1, 0.5, 1.0, 10.0])
def test_few_samples_hide_nothing(step: float) -> None:
    """At the ends of a quintic there is neither velocity nor acceleration, whatever it needs between."""
    robot, trajectory = Robot.load("planar"), Trajectory.quintic([0, 0], [1, 1], 0.01, step=1e-5)
    expected = scale_to_limits(robot, trajectory).factor
    assert expected > 90
    assert scale_to_limits(robot, trajectory.with_step(step)).factor == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("kind", ["velocity", "acceleration"])
def test_limits_of_velocity_and_acceleration(kind: str) -> None:
    robot, trajectory = example()
    largest = {"velocity": np.abs(trajectory.qd).max(0), "acceleration": np.abs(trajectory.qdd).max(0)}[kind]
    slow = scale_to_limits(robot, trajectory, torque=np.inf, **{kind: [largest[0], largest[1] / 2]})
    assert slow.factor == pytest.approx(2.0 if kind == "velocity" else 2**0.5, rel=1e-12)
    assert (slow.kind, slow.joint) == (kind, 1)


@law(robots((1, 4), rotors=("exact", "reflected")), st.integers(0, 2**32 - 1), examples=12)
def test_least_factor_and_search(robot: Robot, seed: int) -> None:
    """With viscous and Coulomb friction, offsets and coupled motors: nothing below c does, c does."""
    with armdyn.backend("evaluator"):
        rng = np.random.default_rng(seed)
        start, end = rng.uniform(-1.5, 1.5, (2, robot.n))
        trajectory = Trajectory.trapezoidal(start, end, max_velocity=3.0, acceleration_time=0.1, step=0.02)
        limit = np.abs(needed(robot, trajectory, 1e9)).max(0) * rng.uniform(1.01, 1.5, robot.n) + 0.1
        slow = scale_to_limits(robot, trajectory, torque=limit)
        instants = slow.t / slow.factor

        def excess(c: float) -> float:
            return float((np.abs(needed_beside(robot, trajectory, instants, c)) / limit).max())

        assert (np.abs(needed(robot, trajectory, slow.factor)) / limit).max() <= 1 + 1e-9
        assert excess(slow.factor) <= 1 + NEAR
        if slow.kind is None:
            assert slow.factor == 1
            return
        assert excess(slow.factor) == pytest.approx(1, abs=NEAR)
        for c in np.linspace(1, slow.factor, 40)[:-1]:
            assert excess(c) > 1 - NEAR


def test_admissible_factors_in_two_pieces() -> None:
    """Braking against gravity with friction: possible fast, impossible at medium speed, possible slowly."""
    robot = one_joint(inertia=2.0, torque=10.0, offset=9.0, viscous=6.0)
    # One sample that counts: q̇ = 1, q̈ = −4, so the torque is 9 + 6k − 8k² for the rate k.
    trajectory = along(1, 0.1, lambda t: ([t - 2 * t**2], [1 - 4 * t], [-4 + 0 * t])).with_step(0.1)
    torque = [needed(robot, trajectory, 1 / k)[0, 0] for k in (1.0, 0.375, 0.05)]
    assert torque[0] < 10 < torque[1]
    assert torque[2] < 10
    assert scale_to_limits(robot, trajectory).factor == 1.0
    slower = scale_to_limits(robot, trajectory, velocity=0.9)  # the piece that is too fast is now closed
    assert slower.factor == pytest.approx(1 / 0.9, rel=1e-12)
    slower = scale_to_limits(robot, trajectory, velocity=0.4)
    assert slower.torque[0, 0] == pytest.approx(10, rel=1e-12)
    assert 1 / slower.factor == pytest.approx((6 - (36 - 32) ** 0.5) / 16, rel=1e-9)


@pytest.mark.parametrize("most", [slowly(1.0), 5.0, slowly(np.inf)])
def test_largest_rate_and_search(most: float) -> None:
    """Rows of all sizes, also such that two large terms cancel: no k of a fine grid does that is larger."""
    rng = np.random.default_rng(0)
    k = np.geomspace(1e-4, min(most, 1e6), 2000)
    for _ in range(2000):
        m = rng.integers(1, 5)
        A, B, C = (rng.normal(0, 1, m) * rng.choice([0, 1, 10, 1e-8], m) for _ in range(3))
        limit = np.where(rng.random(m) < 0.2, np.inf, rng.uniform(0.1, 2, m))
        found = largest_rate(A, B, C, limit, most)
        within = (np.abs(np.outer(k**2, A) + np.outer(k, B) + C) <= limit).all(1)
        assert found.value >= k[within].max(initial=0.0)
        if 0 < found.value < np.inf:
            terms = np.stack([A * found.value**2, B * found.value, C])
            assert (np.abs(terms.sum(0)) <= limit + 1e-9 * (1 + np.abs(terms).sum(0))).all()


def test_a_constant_wrench_counts() -> None:
    robot, trajectory = example()
    h = np.array([500, 500, 0, 0, 0, 0.0])
    slow = scale_to_limits(robot, trajectory, wrench=h)
    at = slow.trajectory.samples()
    assert np.abs(robot.inverse_dynamics(at.q, at.qd, at.qdd, h)).max() == pytest.approx(3000, rel=1e-9)
    assert slow.factor != scale_to_limits(robot, trajectory).factor


def test_impossible_by_gravity_names_joint_and_instant() -> None:
    robot, trajectory = example()
    with golden_error(MotionError):
        scale_to_limits(robot, trajectory, torque=[50, 3000])
    with golden_error(MotionError):
        scale_to_limits(robot, trajectory, torque=[50, 3000])


def test_where_the_arm_rests_no_speed_helps_against_gravity() -> None:
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0, 0], [1, 0.3], 1.0)  # at t = 0 neither speed nor acceleration
    for faster in (False, True):
        with golden_error(MotionError):
            scale_to_limits(robot, motion, torque=1000, faster=faster)


def test_impossible_slowly_but_not_fast_says_so() -> None:
    robot = one_joint(inertia=2.0, torque=10.0, offset=12.0, viscous=0.0)
    trajectory = along(1, 0.1, lambda t: ([t - t**2], [1 - 2 * t], [-2 + 0 * t])).with_step(0.1)
    assert scale_to_limits(robot, trajectory).factor == 1.0  # 12 − 4 N m
    with pytest.raises(
        MotionError, match=r"slowing down does not help, .* can pass there only at high speed, up to 2\.345"
    ):
        scale_to_limits(robot, trajectory, acceleration=0.8)


def test_wrong_input_is_refused() -> None:
    robot, trajectory = example()
    for problem, arguments in {
        r"torque: expected one number or \(2,\)": {"torque": [1, 2, 3]},
        "the limit of joint 2 .* is -1; positive": {"torque": [1, -1]},
        "velocity: the limit of joint 1 .* is nan": {"velocity": np.nan},
        "wrench: found shape": {"wrench": np.zeros(5)},
        "wrench: found shape .*six numbers": {"wrench": np.zeros((3, 6))},
        "no limit bounds": {"torque": np.inf, "faster": True},
    }.items():
        with pytest.raises(armdyn.ArmdynError, match=problem):
            scale_to_limits(robot, trajectory, **arguments)
    with golden_error(MotionError):
        scale_to_limits(robot, Trajectory.cubic([0], [1], 1.0))
    with golden_error(MotionError):
        scale_to_limits(robot, np.zeros(3))  # type: ignore[arg-type]


def test_the_peak_at_a_knot_between_samples_counts():
    """The acceleration of a cubic spline is largest at its points, here in between two samples."""
    robot = Robot.load("planar")
    points = np.outer([0, 0.3, -0.6, 0.3, 0], [1.0, 0.4])
    motion = Trajectory.through(points, [0, 0.25, 0.50037, 0.75, 1])
    peak = np.abs(motion(0.50037)[2])
    assert (np.abs(motion.qdd).max(0) < peak).all()
    slow = scale_to_limits(robot, motion, torque=np.inf, acceleration=peak / 4)
    assert slow.factor == pytest.approx(2, rel=1e-12)


# ---- dry friction where a joint starts, stops and turns ----------------------------------------------------


def slider(coulomb: float = 0.5, limit: float = 6.5, gravity: float = 0.0) -> Robot:
    """One kilogram on a slide, upright."""
    link = {"name": "slide", "joint": "prismatic", "a": 0, "alpha": 0, "theta": 0, "mass": 1}
    rest = {"friction": {"coulomb": coulomb}, "limits": {"torque": limit}}
    table = {"name": "slider", "convention": "dh", "gravity": [0, 0, -gravity], "link": [link | rest]}
    return Robot.from_dict(table)


@pytest.mark.parametrize("step", [1e-3, 1e-2, 0.3])
def test_the_force_just_after_a_start(step: float) -> None:
    """A cubic's acceleration is largest at its start, 600 m/s², where sign(0) leaves friction out."""
    slow = scale_to_limits(slider(), Trajectory.cubic([0], [100], 1, step=step))
    assert slow.factor == pytest.approx(10, rel=1e-12)
    assert (slow.kind, slow.joint, slow.instant) == ("torque", 0, 0.0)
    assert abs(slow.torque).max() == pytest.approx(6.5, rel=1e-12)
    t = np.geomspace(1e-9, 1, 1000) * slow.trajectory.duration
    assert abs(slider().inverse_dynamics(*slow.trajectory(t))).max() <= 6.5 * (1 + 1e-9)


def test_the_force_just_before_a_stop() -> None:
    """The load is let come to rest on its way up: weight and friction in full are needed only at the end."""

    def path(t: np.ndarray) -> tuple[list[np.ndarray], ...]:
        left = 1 - t
        return [-(left**3) / 3], [left**2], [-2 * left]

    motion = along(1, 1.0, path)
    assert scale_to_limits(slider(limit=10.5, gravity=10.0), motion).factor == 1.0
    with pytest.raises(
        MotionError, match=r"t = 1 s .* dry friction alone need 10.5 N, the limit is 10.4999 N"
    ):
        scale_to_limits(slider(limit=10.4999, gravity=10.0), motion)


@pytest.mark.parametrize("turn", [0.2037, 0.2, 0.20001])
def test_the_force_just_after_a_turn(turn: float) -> None:
    """It is largest just after the turn, between samples: 1 N to accelerate and friction the same way."""

    def path(t: np.ndarray) -> tuple[list[np.ndarray], ...]:
        x = t - turn
        return [-(x**2) / 2 + 0.3 * x**3], [-x + 0.9 * x**2], [-1 + 1.8 * x]

    slow = scale_to_limits(slider(limit=0.75), along(1, 1.0, path))
    assert slow.factor == pytest.approx(2, rel=1e-9)
    assert slow.instant == pytest.approx(2 * turn, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, *map(slowly, range(2, 6))])
def test_no_limit_is_exceeded_beside_turns(seed: int) -> None:
    """A spline of the PUMA 560, its joints turning at different instants, and samples all around these."""
    robot, rng = Robot.load("puma560"), np.random.default_rng(seed)
    motion = Trajectory.through(rng.uniform(-1, 1, (5, 6)), np.arange(5.0), step=0.02)
    slow = scale_to_limits(robot, motion, faster=True)
    t = np.linspace(0, slow.trajectory.duration, 5001)
    signs = np.sign(slow.trajectory(t)[1])
    turns = t[:-1][(signs[1:] != signs[:-1]).any(1)]
    fine = np.unique(np.concatenate([x + np.linspace(0, t[1], 200) for x in turns]))
    tau = robot.inverse_dynamics(*slow.trajectory(fine[fine <= t[-1]]))
    assert (abs(tau) / slow.limits.torque).max() <= 1 + 1e-4
