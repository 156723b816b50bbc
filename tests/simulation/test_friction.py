"""Dry friction: sticking and slipping at the analytic instants, rest that is rest, no chatter."""

import numpy as np
import pytest
from scipy.optimize import brentq

import armdyn
from armdyn import Robot
from armdyn.motion import Trajectory
from armdyn.simulation import ComputedTorque, PDGravity, SimulationError, simulate
from arms import slowly
from golden_messages import golden_error
from sliders import coupled, slider

PUMA = Robot.load("puma560")


def with_levels(forward, backward):
    """A slider with friction as an identification might find it; a description would be refused."""
    robot = slider(2.0, [3.0, -5.0])
    values = robot.parameters.copy()
    values[list(robot.parameter_names).index("Fs1")] = (forward - backward) / 2
    values[list(robot.parameter_names).index("Fa1")] = (forward + backward) / 2
    return robot.with_parameters(values)


def times(run, kind):
    return np.array([event.time for event in run.events if event.kind == kind])


def test_an_oscillator_with_dry_friction():
    """m ẍ = −k x ∓ F: each half period π√(m/k) takes 2F/k off the amplitude, until |k x| < F."""
    m, k, F = 2.0, 50.0, 3.0
    run = simulate(slider(m, F), [1.0], [0.0], 8.0, lambda t, q, qd: -k * q, output=0.01)
    half = np.pi * np.sqrt(m / k)
    peaks = [1.0]
    while k * abs(peaks[-1]) > F:
        peaks.append(-np.sign(peaks[-1]) * (abs(peaks[-1]) - 2 * F / k))
    turns = [event.time for event in run.events]
    np.testing.assert_allclose(turns, half * np.arange(1, len(peaks)), atol=1e-9)
    assert [event.kind for event in run.events] == ["reverse"] * (len(peaks) - 2) + ["stick"]
    rests = run.t > turns[-1]
    assert rests.any()
    assert (run.qd[rests] == 0).all()
    assert (run.q[rests] == run.q[-1]).all()
    np.testing.assert_allclose(run.q[-1], peaks[-1], atol=1e-9)
    np.testing.assert_allclose(run.dissipated[-1], F * np.abs(np.diff(peaks)).sum(), rtol=1e-8)


def test_stick_slip_of_a_joint_dragged_by_a_spring():
    """A joint pulled by a spring whose end moves at v, with a torque c q̇ that feeds the oscillation.

    It sticks until the spring has F; then y = q̇ obeys m ÿ = k(v − y) + c ẏ from rest:
    y = v(1 − e^{σt}(cos ωt − σ/ω sin ωt)), σ = c/2m, until y = 0 again at t_s. There the spring has
    F + m ẏ(t_s), and takes −m ẏ(t_s)/(k v) to gain F again. The motion is periodic from the first slip.
    """
    m, F, k, v, c = 2.0, 3.0, 50.0, 0.1, 2.0
    run = simulate(slider(m, F), [0.0], [0.0], 8.0, lambda t, q, qd: k * (v * t - q) + c * qd, output=0.01)
    s = c / 2 / m
    w = np.sqrt(k / m - s * s)

    def speed(t):
        return v * (1 - np.exp(s * t) * (np.cos(w * t) - s / w * np.sin(w * t)))

    slipping = brentq(speed, 1.2 * np.pi / w, 1.99 * np.pi / w, xtol=1e-14)
    rate = v * np.exp(s * slipping) * (w + s * s / w) * np.sin(w * slipping)
    period = slipping - m * rate / (k * v)
    slips, sticks = times(run, "slip"), times(run, "stick")
    assert len(run.events) == len(slips) + len(sticks)
    assert len(slips) == 6
    np.testing.assert_allclose(slips, F / (k * v) + period * np.arange(6), atol=1e-8)
    np.testing.assert_allclose(sticks, slips[: len(sticks)] + slipping, atol=1e-8)
    resting = (run.t > sticks[0]) & (run.t < slips[1])
    assert resting.any()
    assert (run.qd[resting] == 0).all()


@pytest.mark.slow
def test_stick_slip_under_a_swinging_torque():
    """A sin ωt above F: slips at asin(F/A)/ω, and stops when the impulse is used up; then again, reversed."""
    m, F, A, w = 1.5, 3.0, 4.0, 2.0
    run = simulate(slider(m, F), [0.0], [0.0], 10.0, lambda t, q, qd: np.array([A * np.sin(w * t)]))
    begin = np.arcsin(F / A) / w

    def impulse(t):
        return A * (np.cos(w * begin) - np.cos(w * t)) / w - F * (t - begin)

    end = brentq(impulse, np.pi / w - begin, np.pi / w + begin, xtol=1e-14)
    slips, sticks = times(run, "slip"), times(run, "stick")
    np.testing.assert_allclose(slips, begin + np.pi / w * np.arange(len(slips)), atol=1e-8)
    np.testing.assert_allclose(sticks, end + np.pi / w * np.arange(len(sticks)), atol=1e-8)
    assert len(slips) == 7


def test_torques_that_jump():
    """A joint let go by a jump, braked and caught by another, whether the solver knows of it or not."""
    m, F = 2.0, 3.0
    robot, trajectory = slider(m, F), Trajectory.triangular([0.0], [0.3], duration=1.0)

    def torque(t, q, qd):
        return np.array([7.0 if 0.3141 < t < 0.5 else 0.0])

    run = simulate(robot, [0.0], [0.0], 1.5, torque)
    assert [event.kind for event in run.events] == ["slip", "stick"]
    speed = (7 - F) / m * (0.5 - 0.3141)
    np.testing.assert_allclose(times(run, "slip"), 0.3141, atol=1e-9)
    np.testing.assert_allclose(times(run, "stick"), 0.5 + speed * m / F, atol=1e-8)
    run = simulate(robot, [0.0], [0.0], 1.5, ComputedTorque(robot, trajectory, rate=None))
    np.testing.assert_allclose(run.q, trajectory(run.t)[0], atol=1e-9)
    assert [event.kind for event in run.events] == ["slip", "stick"]
    np.testing.assert_allclose(times(run, "slip"), 0.0, atol=1e-9)  # the target rests at 0, and only there
    np.testing.assert_allclose(times(run, "stick"), 1.0, atol=1e-4)


def test_a_joint_at_rest_and_a_short_push():
    """Steps grow while nothing moves; what comes late and short is seen all the same."""
    m, F = 2.0, 3.0
    distance = (8 - F) / m * 0.1**2 / 2 * 8 / F  # the speed gained is lost on (8 − F)/F times the way
    run = simulate(
        slider(m, F), [0.0], [0.0], 10.0, lambda t, q, qd: [8.0 if 3.1 < t < 3.2 else 0.0], output=0.1
    )
    np.testing.assert_allclose(run.q[-1], distance, rtol=1e-6)
    samples = np.zeros((101, 1))
    samples[31:33] = 8.0  # a trapezium: 2 · 8 · 0.1 N s
    run = simulate(slider(m, 0.0), [0.0], [0.0], 10.0, samples, output=10.0)
    np.testing.assert_allclose(run.qd[-1], 2 * 8 * 0.1 / m, rtol=1e-6)
    samples[:] = 0.0
    samples[47] = 8.0
    run = simulate(slider(m, F), [0.0], [0.0], 10.0, samples, output=10.0)
    assert [event.kind for event in run.events] == ["slip", "stick"]


def test_a_stop_at_the_very_end():
    """The last instant is there, whether the joint stops just before, at or just after it."""
    for m, F, v in [(0.5, 4.25, 2.25), (1.0, 1.75, 4.5), (3.75, 2.5, 3.0), (1.75, 0.5, 2.75)]:
        end = m * v / F
        run = simulate(slider(m, F), [0.0], [v], end, output=end / 2)
        np.testing.assert_array_equal(run.t, [0, end / 2, end])
        np.testing.assert_allclose(run.q[-1], v * end / 2, rtol=1e-9)


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_an_arm_that_friction_holds_stays_exactly_where_it_is(method):
    """The PUMA's friction carries its weight here, with a torque and a tip force besides."""
    q = np.array([0.3, np.pi / 2 + 0.05, -np.pi / 2 - 0.1, 0.2, 0.1, 0.0])
    tau, wrench = np.array([10.0, 3, -2, 0.5, 0.3, 0.1]), np.array([0.5, 1, -1, 0.1, 0, 0.1])
    run = simulate(PUMA, q, np.zeros(6), 3.0, tau, wrench=wrench, method=method, output=0.1)
    assert np.abs(tau - PUMA.gravity(q)).max() > 5
    assert (run.q == q).all()
    assert (run.qd == 0).all()
    assert run.events == ()
    assert (run.dissipated == 0).all()


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
@pytest.mark.parametrize(("share", "moves"), [(1 - 1e-9, False), (1.0, False), (1 + 1e-6, True)])
def test_the_torque_at_which_a_joint_breaks_away(method, share, moves):
    """Both levels of an asymmetric friction, exactly."""
    robot = slider(2.0, [3.0, -5.0])
    for level in (3.0, -5.0):
        run = simulate(robot, [0.1], [0.0], 2.0, [level * share], method=method, output=0.5)
        assert (run.q[-1, 0] != 0.1) == moves
        if moves:
            np.testing.assert_allclose(run.q[-1] - 0.1, level * 1e-6, rtol=1e-6)


def test_a_torque_beyond_friction_by_rounding():
    """Between holding for sure and slipping for sure: either is right, to stop is not."""
    robot = slider(2.0, 3.0)
    for part in (1e-11, 2e-11, 5e-11, 1e-10, 1e-9, 1e-8):
        run = simulate(robot, [0.1], [0.0], 2.0, [3.0 * (1 + part)], output=0.5)
        assert run.completed
        np.testing.assert_allclose(run.q[-1], 0.1, atol=4 * part)
    run = simulate(robot, [0.1], [0.0], 5.0, lambda t, q, qd: [3.0 + 1e-9 * (t - 1)], output=0.5)
    assert run.completed
    np.testing.assert_allclose(run.q[-1] - 0.1, 1e-9 * 4**3 / 12, rtol=0.3)


def test_a_falling_arm_comes_to_rest_without_chatter():
    """The PUMA let go: every joint stops, some slip again, and the two methods tell the same story."""
    q, qd = np.array([0.3, 0.4, -0.1, 0.2, 0.1, 0.0]), np.array([1, 0.5, -1, 2, -3, 1.0])
    run = simulate(PUMA, q, qd, 3.0, output=0.01, limits="ignore")
    assert (run.qd[-1] == 0).all()
    assert len(run.events) == 9
    assert np.abs(run.balance).max() < 1e-7
    assert (np.diff(run.dissipated) >= 0).all()
    fixed = simulate(PUMA, q, qd, 3.0, method="rk4", step=2.5e-4, output=0.01, limits="ignore")
    assert (fixed.qd[-1] == 0).all()
    assert len(fixed.events) <= 10  # turning round takes two: it rests for a step
    np.testing.assert_allclose(fixed.q, run.q, atol=2e-3)
    np.testing.assert_allclose(fixed.dissipated[-1], run.dissipated[-1], rtol=1e-3)


def test_fixed_steps_and_the_order_of_their_error_at_stops():
    m, k, F = 2.0, 50.0, 3.0
    robot, errors = slider(m, F), []
    for step in (4e-3, 1e-3, 2.5e-4):
        spring = PDGravity(robot, [0.0], k, 0.0)
        run = simulate(robot, [1.0], [0.0], 6.0, spring, method="rk4", step=step, output=0.1)
        assert run.qd[-1] == 0
        errors.append(abs(run.q[-1, 0] - 0.04))
    assert errors[0] < 0.01
    assert errors[-1] < 3e-4


@pytest.mark.slow
def test_compiled_and_evaluated_friction():
    rng = np.random.default_rng(1)
    q = rng.uniform(-1, 1, (9, 6))
    qd = rng.uniform(-2, 2, (9, 6)) * (rng.random((9, 6)) > 0.3)
    compiled = simulate(PUMA, q, qd, 0.1, method="rk4", limits="ignore")
    with armdyn.backend("evaluator"):
        evaluated = simulate(PUMA, q, qd, 0.1, method="rk4", limits="ignore")
    np.testing.assert_allclose(compiled.q, evaluated.q, atol=1e-13)
    np.testing.assert_allclose(compiled.qd, evaluated.qd, atol=1e-12)
    np.testing.assert_allclose(compiled.dissipated, evaluated.dissipated, atol=1e-12)
    assert compiled.events == evaluated.events
    assert any(event.kind == "stick" for event in compiled.events)


@pytest.mark.parametrize(
    ("Fm", "k1", "k2"), [*map(slowly, (0.05, 0.5), (5.0, 5.0), (20.0, 20.0)), (0.5, 5.0, 2.0)]
)
def test_joints_and_the_motor_that_turns_with_both(Fm, k1, k2):
    """Joint 1 must drag the motor along (F1 + k1 Fm) or, the motor at rest, joint 2 (F1 + F2 k1/k2)."""
    F1, F2 = 1.0, 2.0
    drags_motor, drags_joint = F1 + k1 * Fm, F1 + F2 * k1 / k2
    expected = min(drags_motor, drags_joint)
    run = simulate(
        coupled(F1, F2, Fm, k1, k2), [0.2, 0.3], [0, 0], expected + 0.3, lambda t, q, qd: np.array([t, 0.0])
    )
    assert run.completed
    first = [event for event in run.events if event.time < expected + 0.01]
    np.testing.assert_allclose([event.time for event in first], expected, atol=1e-8)
    other = "the motor that turns with joints 1, 2" if drags_motor < drags_joint else "joint 2 ('two')"
    assert {(event.surface, event.kind) for event in first} == {("joint 1 ('one')", "slip"), (other, "slip")}
    before = run.t < expected
    assert (run.q[before] == [0.2, 0.3]).all()
    speed = k1 * run.qd[:, 0] + k2 * run.qd[:, 1]
    if drags_motor < drags_joint:
        assert (run.qd[:, 1] == 0).all()
    else:
        np.testing.assert_allclose(speed, 0, atol=1e-12)
    assert np.abs(run.balance).max() < 1e-9


@pytest.mark.parametrize("torque", [slowly([0.0, 0.0]), [1.2, 0.0], slowly([3.0, -1.0]), slowly([-0.5, 6.0])])
def test_coupled_motors_in_fixed_and_in_adaptive_steps(torque):
    """Both come to rest, or go on, alike; the error of fixed steps shrinks with the step."""
    rng = np.random.default_rng(5)
    qd = np.vstack([rng.uniform(-3, 3, (4, 2)), [0.0, 0.0], [2.0, -0.5]])  # the last: the motor at rest
    q, arm = np.tile([0.2, 0.3], (6, 1)), coupled()
    exact = simulate(arm, q, qd, 1.0, torque, output=0.05)
    errors = []
    for step in (1e-3, 1e-4):
        fixed = simulate(arm, q, qd, 1.0, torque, method="rk4", step=step, output=0.05)
        assert fixed.completed
        errors.append(np.abs(fixed.q - exact.q).max())
        stopped = (exact.qd[-1] == 0).all(axis=-1)
        assert (fixed.qd[-1][stopped] == 0).all()
        np.testing.assert_allclose(fixed.dissipated[-1], exact.dissipated[-1], rtol=0.02, atol=5e-3)
    size = np.abs(exact.q - q).max()
    assert errors[0] < 5e-3 * size
    assert errors[1] < 5e-4 * size


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
@pytest.mark.parametrize("torque", [[1.2, 0.0], [-1.2, 0.0], [0.0, 2.9], [1.1, 2.5]])
def test_surfaces_that_depend_on_each_other_hold_together(method, torque):
    """A motor and all its joints: none alone could hold these torques, together they do (sum of levels)."""
    run = simulate(coupled(), [0.2, 0.3], [0.0, 0.0], 0.5, torque, method=method, output=0.1)
    assert run.completed
    assert (run.q == [0.2, 0.3]).all()
    assert (run.qd == 0).all()
    assert run.events == ()


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_friction_that_is_the_same_both_ways_is_an_offset(method):
    run = simulate(with_levels(3.0, 3.0), [0.0], [0.0], 1.0, [5.0], method=method, output=0.5)
    np.testing.assert_allclose(run.q[-1], 0.5 * (5 - 3) / 2, rtol=1e-9)
    np.testing.assert_allclose(run.dissipated[-1], 3 * run.q[-1, 0], rtol=1e-9)


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_levels_that_exclude_rest_are_refused(method):
    with golden_error(SimulationError):
        simulate(with_levels(-1.0, 2.0), [0.0], [0.0], 1.0, method=method)


def test_viscous_friction_and_its_exponential():
    run = simulate(slider(2.0, 0.0, 3.0), [0.0], [1.5], 1.0, output=0.1)
    np.testing.assert_allclose(run.qd[:, 0], 1.5 * np.exp(-1.5 * run.t), rtol=1e-9)
    np.testing.assert_allclose(run.dissipated, 2.25 - run.kinetic, atol=1e-9)
