"""Timing laws of one joint, against formulas, against their own integrals, against a linear program."""

from math import acos, inf, pi, sqrt

import numpy as np
import pytest
from scipy.optimize import linprog

from armdyn.motion import MotionError
from armdyn.motion.motion import Profile
from armdyn.motion.profiles import cubic, jerk_limited, quintic, trapezoidal, triangular
from arms import assert_same
from golden_messages import golden_error


def at(profile: Profile, t: float, side: str = "after") -> list[float]:
    return [float(x[0]) for x in profile.evaluate(np.array([t]), side)]


def assert_derivatives_fit(profile: Profile) -> None:
    """Velocity and acceleration, integrated over a piece, are its changes of position and velocity."""
    nodes, weights = np.polynomial.legendre.leggauss(4)
    states = [profile.evaluate(profile.breaks, side) for side in ("after", "before")]
    for i, (a, b) in enumerate(zip(profile.breaks, profile.breaks[1:], strict=False)):
        _, qd, qdd = profile.evaluate((a + b) / 2 + (b - a) / 2 * nodes)
        for k, rate in ((0, qd), (1, qdd)):
            change = states[1][k][i + 1] - states[0][k][i]
            scale = max(1.0, float(np.abs(states[0][k]).max()))
            assert abs((b - a) / 2 * weights @ rate - change) < 1e-12 * scale
    for k in (0, 1):  # nothing but the acceleration jumps
        assert_same(states[0][k], states[1][k], 1e-12)


# ---- triangular and trapezoidal ----------------------------------------------------------------------------


def test_triangular_profile_and_its_formula() -> None:
    profile = triangular(-1.0, 2.0, 0.8)
    a = 4 * 3.0 / 0.8**2
    assert profile.jumps.tolist() == [0.4]
    assert at(profile, 0.0)[:2] == [-1.0, 0.0]
    assert_same(at(profile, 0.0), [-1.0, 0.0, a])
    assert_same(at(profile, 0.1), [-1 + a * 0.01 / 2, a * 0.1, a])
    assert_same(at(profile, 0.6), [2 - a * 0.04 / 2, a * 0.2, -a])
    assert_same(at(profile, 0.4), [0.5, a * 0.4, -a])
    assert_same(at(profile, 0.4, "before"), [0.5, a * 0.4, a])
    assert at(profile, 0.8)[:2] == [2.0, 0.0]  # exactly, so that friction sees no motion


@pytest.mark.parametrize(("start", "end"), [(0.3, 1.9), (1.9, 0.3)])
def test_all_data_of_one_trapezoid_give_the_same_profile(start: float, end: float) -> None:
    distance, t_a, v = 1.6, 0.15, 5.0
    T, a = distance / v + t_a, v / t_a
    one = trapezoidal(start, end, acceleration_time=t_a, max_velocity=v)
    sign = np.sign(end - start)
    assert one.duration == pytest.approx(0.47, rel=1e-15)
    assert_same(at(one, 0.1), [start + sign * a * 0.005, sign * a * 0.1, sign * a])
    assert_same(at(one, 0.2), [start + sign * v * (0.2 - t_a / 2), sign * v, 0.0])
    assert_same(at(one, 0.4), [end - sign * a * 0.07**2 / 2, sign * a * 0.07, -sign * a])
    assert_same(one.jumps, [0.15, 0.32])
    for data in (
        {"duration": T, "acceleration_time": t_a},
        {"duration": T, "max_velocity": v},
        {"duration": T, "max_acceleration": a},
        {"max_velocity": v, "max_acceleration": a},
        {"acceleration_time": t_a, "max_acceleration": a},
    ):
        other = trapezoidal(start, end, **data)
        t = np.linspace(0, min(one.duration, other.duration), 101)
        for x, y in zip(one.evaluate(t, "after")[:2], other.evaluate(t, "after")[:2], strict=True):
            assert_same(x, y, 1e-13)
        assert_same(other.jumps, one.jumps, 1e-13)


def test_top_speed_never_reached() -> None:
    with_time = trapezoidal(0.0, 0.3, acceleration_time=0.15, max_velocity=5.0)
    assert with_time.duration == 0.3  # twice the acceleration time
    assert_same(at(with_time, 0.15), [0.15, 0.3 / 0.15, -0.3 / 0.15**2])
    with_acceleration = trapezoidal(0.0, 0.3, max_velocity=5.0, max_acceleration=2.0)
    assert with_acceleration.duration == pytest.approx(2 * sqrt(0.3 / 2))
    assert_same(np.abs(with_acceleration.evaluate(with_acceleration.breaks)[2]), [2.0, 2.0, 2.0])
    with_duration = trapezoidal(0.0, 0.3, duration=1.0, max_velocity=5.0)
    assert_same(with_duration.jumps, [0.5])
    exactly = trapezoidal(0.0, 1.0, max_velocity=2.0, max_acceleration=4.0)
    assert exactly.jumps.tolist() == [0.5]


@pytest.mark.parametrize(
    ("profile", "duration"),
    [
        (triangular(1.5, 1.5, 0.4), 0.4),
        (trapezoidal(1.5, 1.5, acceleration_time=0.15, max_velocity=5.0), 0.3),
        (trapezoidal(1.5, 1.5, acceleration_time=0.15, max_acceleration=5.0), 0.3),
        (trapezoidal(1.5, 1.5, acceleration_time=0.15, duration=0.7), 0.7),
        (trapezoidal(1.5, 1.5, max_velocity=2.0, max_acceleration=5.0), 1e-3),
        (jerk_limited(1.5, 1.5, 1.0, 2.0, 3.0), 1e-3),
        (cubic(1.5, 1.5, 2.0), 2.0),
        (quintic(1.5, 1.5, 2.0), 2.0),
    ],
)
def test_start_equals_end_is_rest(profile: Profile, duration: float) -> None:
    assert profile.duration == duration
    assert not profile.jumps.size
    for t in np.linspace(0, duration, 7):
        assert at(profile, t) == [1.5, 0.0, 0.0]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"duration": 0.0, "max_velocity": 1.0}, "duration: found 0 s; a positive time is expected"),
        ({"duration": -2.0, "max_velocity": 1.0}, "duration: found -2 s"),
        ({"duration": inf, "max_velocity": 1.0}, "duration: found inf s"),
        ({"acceleration_time": 0.0, "max_velocity": 1.0}, "acceleration_time: found 0 s"),
        ({"acceleration_time": 0.1, "max_velocity": float("nan")}, "max_velocity: found nan"),
        ({"acceleration_time": 0.6, "duration": 1.0}, "acceleration_time: found 0.6 s; speeding up and slow"),
        ({"max_velocity": 1.0, "duration": 1.0}, "max_velocity: found 1; a distance of 1 in 1 s needs more"),
        ({"max_acceleration": 3.9, "duration": 1.0}, "max_acceleration: found 3.9; a distance of 1 in 1 s n"),
        ({"max_velocity": 1.0}, "a trapezoidal profile takes two of"),
        ({"max_velocity": 1.0, "duration": 2.0, "acceleration_time": 0.1}, "a trapezoidal profile takes two"),
        ({}, "a trapezoidal profile takes two of"),
    ],
)
def test_impossible_trapezoids_are_refused(data: dict[str, float], message: str) -> None:
    with pytest.raises(MotionError) as caught:
        trapezoidal(0.0, 1.0, **data)
    assert str(caught.value).startswith(message)


def test_trapezoid_at_the_edge_of_its_data_is_a_triangle() -> None:
    for data in ({"max_acceleration": 4.0}, {"max_velocity": 2.0}, {"acceleration_time": 0.5}):
        assert trapezoidal(0.0, 1.0, duration=1.0, **data).jumps.tolist() == [0.5]


# ---- polynomials -------------------------------------------------------------------------------------------


def test_cubic_and_quintic_and_their_end_states() -> None:
    T, t = 1.3, np.linspace(0, 1.3, 30)
    third = cubic(0.2, -1.0, T, 0.4, -0.7)
    powers = np.linalg.solve(
        [[1, 0, 0, 0], [0, 1, 0, 0], [1, T, T**2, T**3], [0, 1, 2 * T, 3 * T**2]], [0.2, 0.4, -1.0, -0.7]
    )
    for found, p in zip(
        third.evaluate(t), (np.polynomial.Polynomial(powers).deriv(k) for k in range(3)), strict=True
    ):
        assert_same(found, p(t), 1e-13)
    fifth = quintic(0.2, -1.0, T, 0.4, -0.7, 1.1, -2.0)
    assert at(fifth, 0.0) == [0.2, 0.4, 1.1]
    assert at(fifth, T) == [-1.0, -0.7, -2.0]
    plain = quintic(0.0, 1.0, 1.0)
    s = np.linspace(0, 1, 20)
    assert_same(plain.evaluate(s)[0], 10 * s**3 - 15 * s**4 + 6 * s**5)
    assert not third.jumps.size
    assert not third.knots.size


@pytest.mark.parametrize("duration", [0.0, -1.0, float("nan")])
def test_polynomials_of_no_duration_are_refused(duration: float) -> None:
    for law in (triangular, cubic, quintic):
        with golden_error(MotionError):
            law(0.0, 1.0, duration)


# ---- jerk-limited ------------------------------------------------------------------------------------------

LIMITS = [  # distance, velocity, acceleration, jerk; which limits are reached
    (5.0, 1.0, 2.0, 8.0),  # all
    (0.6, 1.0, 2.0, 8.0),  # acceleration and jerk
    (0.1, 1.0, 2.0, 8.0),  # jerk
    (5.0, 1.0, 5.0, 8.0),  # velocity and jerk
    (5.0, inf, 2.0, 8.0),
    (5.0, 1.0, inf, 8.0),
    (5.0, inf, inf, 8.0),
    (1.0, 1.0, 2.0, 4.0),  # the velocity is only just reached
    (5.0, 1.0, 2.0, 4.0),  # the acceleration is only just reached
    (1.0, inf, 2.0, 4.0),  # both
]


@pytest.mark.parametrize(("distance", "v", "a", "j"), LIMITS)
def test_jerk_limited_profile_and_its_limits(distance: float, v: float, a: float, j: float) -> None:
    for sign in (1.0, -1.0):
        profile = jerk_limited(0.5, 0.5 + sign * distance, v, a, j)
        assert_derivatives_fit(profile)
        assert not profile.jumps.size
        assert at(profile, 0.0) == [0.5, 0.0, 0.0]
        assert at(profile, profile.duration) == [0.5 + sign * distance, 0.0, 0.0]
        t = np.unique(np.concatenate([profile.breaks, np.linspace(0, profile.duration, 500)]))
        _, qd, qdd = profile.evaluate(t)
        assert (sign * qd >= -1e-12).all()
        assert np.abs(qd).max() <= v * (1 + 1e-12)
        assert np.abs(qdd).max() <= a * (1 + 1e-12)
        assert_same(np.abs(6 * profile.coefficients[:, 3]).max(), j, 1e-12)
        assert np.abs(profile.coefficients[:, 3]).max() <= j / 6 * (1 + 1e-12)


@pytest.mark.parametrize(("distance", "v", "a", "j"), LIMITS)
def test_jerk_limited_duration_and_a_linear_program(distance: float, v: float, a: float, j: float) -> None:
    """The farthest that jerks, constant on a grid, can take the joint in that time is just the distance."""
    duration, count = jerk_limited(0.0, distance, v, a, j).duration, 120
    h = duration / count
    ages = np.arange(count, 0, -1) * h  # from the beginning of each piece to the end
    speed = np.tril(np.broadcast_to(h, (count, count)))  # jerk to acceleration at the ends of pieces
    to_velocity = np.array(
        [[h * ((i - k) * h - h / 2) if k < i else 0.0 for k in range(count)] for i in range(1, count + 1)]
    )
    to_distance = (ages**3 - (ages - h) ** 3) / 6
    rows, sides = [], []
    for matrix, limit in ((speed, a), (to_velocity, v)):
        if np.isfinite(limit):
            rows += [matrix, -matrix]
            sides += [np.full(2 * count, limit)]
    ends = np.array([speed[-1], to_velocity[-1]])
    run = linprog(
        -to_distance,
        A_ub=np.concatenate(rows) if rows else None,
        b_ub=np.concatenate(sides) if sides else None,
        A_eq=ends,
        b_eq=np.zeros(2),
        bounds=(-j, j),
    )
    assert run.status == 0
    assert -run.fun == pytest.approx(distance, rel=2e-3)


def test_random_profiles_and_their_own_integrals() -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        start, end = rng.uniform(-3, 3, 2)
        t_a, v, a, j, T = 10 ** rng.uniform(-1, 1, 5)
        for profile in (
            triangular(start, end, T),
            trapezoidal(start, end, acceleration_time=t_a, max_velocity=v),
            trapezoidal(start, end, max_acceleration=a, max_velocity=v),
            trapezoidal(start, end, acceleration_time=T / 2 * rng.uniform(0.1, 1), duration=T),
            trapezoidal(start, end, max_velocity=abs(end - start) / T * rng.uniform(1.1, 3), duration=T),
            cubic(start, end, T, *rng.uniform(-2, 2, 2)),
            quintic(start, end, T, *rng.uniform(-2, 2, 4)),
            jerk_limited(start, end, v, a, j),
        ):
            assert_derivatives_fit(profile)
            assert at(profile, 0.0)[0] == pytest.approx(start, abs=1e-14)
            assert at(profile, profile.duration)[0] == end
        assert np.abs(profile.evaluate(profile.breaks)[1]).max() <= v * (1 + 1e-12)
        assert np.abs(profile.evaluate(profile.breaks)[2]).max() <= a * (1 + 1e-12)


@pytest.mark.parametrize(
    "data",
    [
        (0.0, 1.0, 1.0),
        (1.0, -1.0, 1.0),
        (1.0, 1.0, inf),
        (float("nan"), 1.0, 1.0),
    ],
)
def test_impossible_jerk_limits_are_refused(data: tuple[float, float, float]) -> None:
    with golden_error(MotionError):
        jerk_limited(0.0, pi - acos(0.1), *data)
