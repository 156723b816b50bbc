"""Least time along a path: answers on paper, limits between the grid's points, linear scaling, refusals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import armdyn
from armdyn import Robot
from armdyn.kernels import loop_kernel
from armdyn.motion.errors import MotionError
from armdyn.motion.timing.scaling import scale_to_limits
from armdyn.motion.timing.time_optimal import time_optimal
from armdyn.motion.trajectory import Trajectory
from armdyn.report import plot_path_speed
from arms import law, robots, slowly
from golden_messages import golden_error
from one_joint import along, one_joint, shares, waypoints

D, I, TAU = 1.7, 2.0, 3.0  # distance, inertia, torque limit of the single joint

MOTIONS = {
    "quintic": Trajectory.quintic([0.2], [0.2 + D], 1.0),
    "triangular": Trajectory.triangular([0.2], [0.2 + D], 1.0),
    "trapezoidal": Trajectory.trapezoidal([0.2], [0.2 + D], duration=1.0, acceleration_time=0.2),
    "at speed": along(1, 1.0, lambda t: ([0.2 + D * t], [D], [0.0])),
}


def assert_within(robot: Robot, result: Any, torque: float = 1.0) -> None:
    """Limits are kept to 0.1 %, and the torque's is reached."""
    found = shares(robot, result)
    assert max(found) <= 1.001
    assert found[0] == pytest.approx(torque, abs=1e-3)


# ---- one joint, on paper -----------------------------------------------------------------------------------


@pytest.mark.parametrize("motion", MOTIONS)
def test_full_torque_one_way_then_the_other(motion: str) -> None:
    robot = one_joint(I, TAU)
    fast = time_optimal(robot, MOTIONS[motion])
    assert fast.duration == pytest.approx(2 * np.sqrt(D * I / TAU), rel=1e-6)
    assert_within(robot, fast)
    q, qd, _ = fast.trajectory([0.0, fast.duration])
    np.testing.assert_allclose(q[:, 0], [0.2, 0.2 + D], atol=1e-12)
    assert (qd == 0).all()


@pytest.mark.parametrize("motion", MOTIONS)
def test_trapezoid_under_a_limit_of_velocity(motion: str) -> None:
    robot, v = one_joint(I, TAU), 0.8
    fast = time_optimal(robot, MOTIONS[motion], velocity=v)
    assert fast.duration == pytest.approx(D / v + v * I / TAU, rel=1e-4)
    assert shares(robot, fast)[1] == pytest.approx(1, abs=1e-4)
    kinematic = time_optimal(robot, MOTIONS[motion], velocity=v, acceleration=1.1, torque=np.inf)
    assert kinematic.duration == pytest.approx(D / v + v / 1.1, rel=1e-4)


@pytest.mark.parametrize("viscous", [slowly(0.05), 0.5, slowly(5.0), 50.0])
def test_viscous_friction_and_the_solved_equation(viscous: float) -> None:
    """I v̇ = ±τ − F v: up to the speed from which braking ends where it should."""
    k, end = viscous / I, TAU / viscous

    def braking(v: float) -> tuple[float, float]:
        t = np.log1p(v / end) / k
        return t, (v + end) * -np.expm1(-k * t) / k - end * t

    def left(t: float) -> float:
        return end * (t + np.expm1(-k * t) / k) + braking(-end * np.expm1(-k * t))[1] - D

    t = brentq(left, 1e-9, 1e4)
    duration = t + braking(-end * np.expm1(-k * t))[0]
    robot = one_joint(I, TAU, viscous=viscous)
    for motion in MOTIONS.values():
        fast = time_optimal(robot, motion)
        assert fast.duration == pytest.approx(duration, rel=1e-3)
        assert fast.duration >= duration * (1 - 1e-9)
        assert_within(robot, fast)


def test_dry_friction_helps_braking() -> None:
    robot = one_joint(I, TAU, coulomb=[0.7, -0.2])
    up, down = (TAU - 0.7) / I, (TAU + 0.7) / I
    fast = time_optimal(robot, MOTIONS["quintic"])
    assert fast.duration == pytest.approx(np.sqrt(2 * D * (1 / up + 1 / down)), rel=1e-3)
    assert_within(robot, fast)
    back = time_optimal(robot, Trajectory.quintic([0], [-D], 1.0))
    up, down = (TAU - 0.2) / I, (TAU + 0.2) / I
    assert back.duration == pytest.approx(np.sqrt(2 * D * (1 / up + 1 / down)), rel=1e-3)


def test_pendulum_and_integration() -> None:
    """Full torque against gravity and friction, then full the other way: the switch is found by shooting."""
    robot = one_joint(I, 5.0, gravity=3.0, viscous=0.8, coulomb=0.3)
    start, end = -0.4, 1.1

    def course(sign: float, q: float, goal: float) -> tuple[np.ndarray, ...]:
        """Time, position and speed at full torque: from rest at q, or (in reverse) to rest at q."""

        def rate(_: float, y: np.ndarray) -> list[float]:
            torque = sign * 5.0 - 3.0 * np.cos(y[0]) - 0.8 * y[1] - 0.3
            return [y[1], torque / I]

        found = solve_ivp(rate, (0, 2.0 * sign), [q, 0.0], rtol=1e-10, atol=1e-12, dense_output=True)
        t = np.linspace(0, 2.0 * sign, 200_001)
        position, speed = found.sol(t)
        inside = np.cumsum(np.abs(position - q) > abs(goal - q)) == 0
        return np.abs(t[inside]), position[inside], speed[inside]

    t_up, q_up, v_up = course(1.0, start, end)
    t_down, q_down, v_down = (x[::-1] for x in course(-1.0, end, start))
    switch = brentq(
        lambda q: np.interp(q, q_up, v_up) - np.interp(q, q_down, v_down), start + 0.01, end - 0.01
    )
    expected = np.interp(switch, q_up, t_up) + np.interp(switch, q_down, t_down)
    fast = time_optimal(robot, Trajectory.quintic([start], [end], 1.0))
    assert fast.duration == pytest.approx(expected, rel=1e-3)
    assert_within(robot, fast)


def test_swinging_past_what_cannot_be_held() -> None:
    """At the horizontal gravity exceeds the torque: no slow motion passes, one with momentum does."""
    robot = one_joint(I, 4.0, gravity=4.5)
    given = Trajectory.quintic([-1.5], [1.2], 1.0)
    with golden_error(MotionError):
        scale_to_limits(robot, given)
    assert_within(robot, time_optimal(robot, given))


# ---- shapes of the path ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.5, 0.3, 0.5001, 0.499])
def test_a_path_that_turns_around_stops_there(shift: float) -> None:
    w = np.pi
    given = along(
        1,
        1.0,
        lambda t: (
            [np.sin(w * (t + shift))],
            [w * np.cos(w * (t + shift))],
            [-(w**2) * np.sin(w * (t + shift))],
        ),
    )
    turns = [shift, *(x for x in (0.5, 1.5) if shift < x < 1 + shift), 1 + shift]
    ways = np.abs(np.diff(np.sin(w * np.array(turns))))
    robot = one_joint(I, TAU)
    fast = time_optimal(robot, given)
    assert fast.duration == pytest.approx(np.sum(2 * np.sqrt(ways[ways > 0] * I / TAU)), rel=1e-4)
    assert_within(robot, fast)
    assert np.sum(fast.speed == 0) == np.sum(ways > 0) + 1


@pytest.mark.parametrize("grid", [10, 500])
@pytest.mark.parametrize("turns", [5, 60])
def test_every_one_of_many_turns_is_a_stop(turns: int, grid: int) -> None:
    """Also where the motion turns around between two of the instants at which it is first looked at."""
    ways = np.random.default_rng(3).uniform(0.2, 2, turns) * (-1.0) ** np.arange(turns)
    given = Trajectory.through(np.cumsum(ways)[:, None], np.arange(float(turns)))
    t = np.linspace(0, given.duration, 200 * turns + 1)
    speed = given(t)[1][:, 0]
    cells = np.flatnonzero(speed[1:-1] * speed[2:] < 0) + 1
    roots = [brentq(lambda t: given(t)[1][0], t[k], t[k + 1]) for k in cells]
    ways = np.abs(np.diff(given(np.array([0.0, *roots, given.duration]))[0][:, 0]))
    robot = one_joint(I, TAU)
    fast = time_optimal(robot, given, grid=grid)
    assert fast.duration == pytest.approx(np.sum(2 * np.sqrt(ways * I / TAU)), rel=1e-3)
    assert np.sum(fast.speed == 0) == len(ways) + 1
    assert_within(robot, fast)


def test_a_corner_is_a_stop_and_a_pause_is_not() -> None:
    robot = Robot.load("planar")

    def pause(t: np.ndarray) -> Any:  # joint 1, rest, joint 2 (or joint 1 again), each for a second
        a, b = np.clip(t, 0, 1), np.clip(t - 2, 0, 1)
        q, qd, qdd = (
            [x**3 * (10 + x * (6 * x - 15)) for x in (a, b)],
            [30 * x**2 * (1 - x) ** 2 for x in (a, b)],
            [60 * x * (1 - x) * (1 - 2 * x) for x in (a, b)],
        )
        return q, qd, qdd

    corner = along(2, 3.0, pause)
    straight = along(2, 3.0, lambda t: [[x[0] + x[1], 0 * t] for x in pause(t)])
    turned = time_optimal(robot, corner)
    assert np.sum(turned.speed == 0) == 3
    assert_within(robot, turned)
    assert turned.trajectory.duration < 3
    passed = time_optimal(robot, straight)
    assert np.sum(passed.speed == 0) == 2
    direct = time_optimal(robot, Trajectory.quintic([0, 0], [2, 0], 1.0))
    assert passed.duration == pytest.approx(direct.duration, rel=1e-3)


@pytest.mark.parametrize("creep", [1e-4, slowly(1e-5), 1e-6, slowly(1e-7), 1e-8])
def test_a_path_that_all_but_turns_around(creep: float) -> None:
    """Joint 2 turns around while joint 1 creeps: within a very short way the path turns by half a turn."""
    robot = Robot.load("planar")

    def back(t: np.ndarray) -> Any:
        return [creep * t, (t - 1) ** 2], [creep + 0 * t, 2 * (t - 1)], [0 * t, 2 + 0 * t]

    fast = time_optimal(robot, along(2, 2.0, back))
    turned = time_optimal(robot, along(2, 2.0, lambda t: [[0 * t, x[1]] for x in back(t)]))
    assert fast.duration == pytest.approx(turned.duration, rel=1e-3)
    assert_within(robot, fast)


def test_samples_with_noise_are_kept_within_limits_too() -> None:
    """Between samples they are quintics, whose third derivatives jump from one to the next."""
    robot, t = Robot.load("puma560"), np.linspace(0, 2, 201)
    q = np.sin(np.outer(t, [1, 0.5, 0.2, 0.3, 0.7, 0.9]))
    q += np.random.default_rng(0).normal(0, 1e-5, q.shape)
    assert_within(robot, time_optimal(robot, Trajectory.from_samples(t, q)))


def test_many_revolutions_need_more_intervals() -> None:
    robot = Robot.load("planar")
    fast = time_optimal(robot, Trajectory.quintic([0, 0], [300, 600], 1.0))
    assert shares(robot, fast)[0] <= 1.003
    assert fast.duration < 63  # 66 s where an interval is a radian and more


def test_timing_of_the_given_motion_does_not_matter() -> None:
    robot = Robot.load("puma560")
    start, end = np.random.default_rng(2).uniform(-1, 1, (2, 6))
    given = [
        Trajectory.quintic(start, end, 1.0),
        Trajectory.cubic(start, end, 7.0),
        Trajectory.trapezoidal(start, end, duration=2.0, acceleration_time=0.3),
        along(
            6,
            1.0,
            lambda t: ([a + (b - a) * t for a, b in zip(start, end, strict=True)], end - start, 0 * start),
        ),
    ]
    durations = [time_optimal(robot, trajectory).duration for trajectory in given]
    np.testing.assert_allclose(durations, durations[0], rtol=1e-3)


def test_positions_follow_the_given_path_and_derivatives_agree() -> None:
    robot = Robot.load("planar")
    given = waypoints(np.random.default_rng(4).uniform(-1, 1, (5, 2)))
    fast = time_optimal(robot, given)
    dense = given(np.linspace(0, 1, 20_001))[0]
    for x in fast.trajectory(np.linspace(0, fast.duration, 100))[0]:
        k = np.linalg.norm(dense - x, axis=1)[1:-1].argmin()
        chord, there = dense[k + 2] - dense[k], x - dense[k]
        across = (chord[0] * there[1] - chord[1] * there[0]) / np.linalg.norm(chord)
        assert abs(across) < 1e-5  # from a chord from which the path itself is about as far
    ends = fast.trajectory.jumps
    t, h = (ends[1:] + ends[:-1]) / 2, 1e-6
    t = t[np.diff(ends) > 1e-3]
    (q0, v0, _), (q1, v1, _), (_, qd, qdd) = (fast.trajectory(x) for x in (t - h, t + h, t))
    np.testing.assert_allclose((q1 - q0) / (2 * h), qd, atol=1e-6)
    np.testing.assert_allclose((v1 - v0) / (2 * h), qdd, atol=1e-4)


def test_torques_and_inverse_dynamics() -> None:
    robot = Robot.load("puma560")
    given = waypoints(np.random.default_rng(5).uniform(-1, 1, (4, 6)))
    fast = time_optimal(robot, given)
    for side, part in (("after", slice(0, None, 2)), ("before", slice(1, None, 2))):
        t = fast.t[part][1:-1]
        expected = robot.inverse_dynamics(*fast.trajectory(t, side))
        np.testing.assert_allclose(fast.torque[part][1:-1], expected, rtol=1e-6, atol=1e-5)
    assert (np.abs(fast.torque) / fast.limits.torque).max() <= 1 + 1e-5
    at = fast.trajectory.samples()
    assert (np.abs(robot.inverse_dynamics(at.q, at.qd, at.qdd)) / fast.limits.torque).max() < 1.001


# ---- any arm -----------------------------------------------------------------------------------------------


@law(robots((1, 4), rotors=("exact", "reflected")), st.integers(0, 2**32 - 1), examples=10, thorough=60)
def test_feasible_and_not_slower_than_linear_scaling(robot: Robot, seed: int) -> None:
    """With viscous friction up to where it alone decides."""
    rng = np.random.default_rng(seed)
    compiled, loop_kernel.get_backend = loop_kernel.get_backend, lambda: "compiled"
    try:
        with armdyn.backend("evaluator"):
            pi, factor = robot.parameters.copy(), rng.choice([1.0, 10.0, 100.0])
            pi[[name.startswith("Fv") for name in robot.parameter_names]] *= factor
            robot = robot.with_parameters(pi)
            start, end = rng.uniform(-1.5, 1.5, (2, robot.n))
            given = Trajectory.trapezoidal(start, end, max_velocity=2.0, acceleration_time=0.3, step=0.01)
            slow = scale_to_limits(robot, given, torque=np.inf, velocity=1e-9)
            limit = np.abs(slow.torque).max(0) * rng.uniform(1.05, 2, robot.n) + rng.uniform(0.2, 5, robot.n)
            fast = time_optimal(robot, given, torque=limit, grid=200)
            assert shares(robot, fast)[0] <= 1.001
            assert (
                fast.duration <= scale_to_limits(robot, given, torque=limit, faster=True).trajectory.duration
            )
    finally:
        loop_kernel.get_backend = compiled


def test_where_linear_scaling_is_the_best_it_is_the_result() -> None:
    robot = one_joint(I, TAU)
    for grid in (11, 50, 501):
        scaled = scale_to_limits(robot, MOTIONS["triangular"], faster=True)
        fast = time_optimal(robot, MOTIONS["triangular"], grid=grid)
        assert fast.duration <= scaled.trajectory.duration
        assert len(fast.s) == len(fast.speed) == len(fast.acceleration) + 1
        assert fast.speed.max() == pytest.approx(2 / fast.duration, rel=0.2)


def test_linear_scaling_as_the_result_and_both_ends_of_the_intervals() -> None:
    robot, motion = one_joint(I, TAU), Trajectory.triangular([0.2], [0.2 + D], 2.0)
    fast = time_optimal(robot, motion)
    assert fast.duration == scale_to_limits(robot, motion, faster=True).trajectory.duration
    assert len(fast.t) == len(fast.torque) == 2 * len(fast.acceleration)
    assert (np.diff(fast.t) >= 0).all()
    np.testing.assert_allclose(np.abs(fast.torque), TAU)
    assert plot_path_speed(robot, fast).axes


@pytest.mark.parametrize("grid", [50, 200, 1000])
def test_duration_and_grid(grid: int) -> None:
    robot = Robot.load("puma560")
    given = waypoints(np.random.default_rng(6).uniform(-1, 1, (5, 6)))
    fast, fine = time_optimal(robot, given, grid=grid), time_optimal(robot, given, grid=3000)
    assert fast.duration == pytest.approx(fine.duration, rel=1.5 / grid)
    assert max(shares(robot, fast)) <= 1.001


def test_evaluated_and_compiled() -> None:
    robot, given = Robot.load("puma560"), Trajectory.quintic(np.zeros(6), np.linspace(0.3, 0.9, 6), 1.0)
    compiled = time_optimal(robot, given, grid=np.int64(40))
    with armdyn.backend("evaluator"):
        evaluated = time_optimal(robot, given, grid=40)
    np.testing.assert_allclose(evaluated.speed, compiled.speed, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(evaluated.torque, compiled.torque, rtol=1e-6, atol=1e-6)


def test_wrench_of_the_tip_counts() -> None:
    robot, given, h = Robot.load("planar"), Trajectory.quintic([0, 1], [1, 0], 1.0), [300, -400, 0, 0, 0, 0]
    fast = time_optimal(robot, given, wrench=h)
    t = np.linspace(0, fast.duration, 5001)
    torque = np.abs(robot.inverse_dynamics(*fast.trajectory(t), np.array(h, float)))
    assert torque.max() == pytest.approx(3000, rel=1e-3)
    assert abs(fast.duration - time_optimal(robot, given).duration) > 1e-3


# ---- what is refused ---------------------------------------------------------------------------------------


def test_what_only_friction_holds_cannot_be_held_at_rest() -> None:
    robot = one_joint(I, TAU, offset=3.2, coulomb=0.5)
    with pytest.raises(
        MotionError,
        match=r"joint 1 \('arm'\) at .* of the path .*: gravity at rest, without friction, needs 3.2",
    ):
        time_optimal(robot, Trajectory.quintic([0], [-D], 1.0))


def test_a_limit_of_a_joint_that_rests_bounds_nothing() -> None:
    robot, given = Robot.load("planar"), Trajectory.quintic([0, 1], [1, 1], 1.0)
    with golden_error(MotionError):
        time_optimal(robot, given, torque=np.inf, acceleration=[np.inf, 1.0])


def test_impossible_paths_name_joint_and_place() -> None:
    robot, given = Robot.load("planar"), Trajectory.quintic([0, 0], [1, 0.5], 1.0)
    with golden_error(MotionError):
        time_optimal(robot, given, torque=[500, 3000])
    with pytest.raises(
        MotionError, match=r"joint 2 \('link 2'\) at .* % of the path .* need .* N m, the limit is 30"
    ):
        time_optimal(robot, given, torque=[5000, 30])


def test_wrong_input_is_refused() -> None:
    robot, given = Robot.load("planar"), Trajectory.quintic([0, 0], [1, 0.5], 1.0)
    for problem, arguments in {
        "grid: found 3; a whole number, 10 or more, is expected": {"grid": 3},
        "grid: found 'many'; a whole number": {"grid": "many"},
        "grid: found 2000000; at most 1000000 intervals": {"grid": 2_000_000},
        "no limit bounds the speed at": {"torque": np.inf},
        "the limit of joint 1": {"velocity": 0.0},
        "too large or too small to compute with": {"velocity": 1e-300},
    }.items():
        with pytest.raises(MotionError, match=problem):
            time_optimal(robot, given, **arguments)
    with golden_error(MotionError):
        time_optimal(robot, Trajectory.quintic([1, 2], [1, 2], 1.0))
