"""Example 7.2's arm at its motors: computed by hand from (7.82), τ_m = τ/k_r and θ̇_m = k_r q̇.

With the data of the example (a = 1 m, l = 0.5 m, m_l = 50 kg, I_l = 10 kg m², k_r = 100, m_m = 5 kg,
I_m = 0.01 kg m² for both links and motors) the coefficients of (7.82) are

    b11 = I_l1 + m_l1 l1² + k_r1² I_m1 + I_l2 + m_l2 (a1² + l2² + 2 a1 l2 c2) + I_m2 + m_m2 a1²
        = 10 + 12.5 + 100 + 10 + 50 (1.25 + c2) + 0.01 + 5   = 200.01 + 50 c2
    b12 = I_l2 + m_l2 (l2² + a1 l2 c2) + k_r2 I_m2 = 10 + 12.5 + 25 c2 + 1 = 23.5 + 25 c2
    b22 = I_l2 + m_l2 l2² + k_r2² I_m2 = 10 + 12.5 + 100     = 122.5
    h   = −m_l2 a1 l2 s2 = −25 s2
    g1  = (m_l1 l1 + m_m2 a1 + m_l2 a1) g c1 + m_l2 l2 g c12  = 9.81 (80 c1 + 25 c12)
    g2  = m_l2 l2 g c12                                       = 9.81 · 25 c12
"""

import numpy as np
import pytest

from armdyn import MotorLoads, Robot, Trajectory, motor_loads
from arms import assert_same

# With the tip at (0.2, 0): c2 = (0.2² − 2)/2 = −0.98 and θ1 = −θ2/2, so c1 = c12 = √((1 + c2)/2) = 0.1.
START = np.array([-np.arccos(-0.98) / 2, np.arccos(-0.98)])
DURATION = 0.5


@pytest.fixture(scope="module")
def robot():
    return Robot.load("planar")


@pytest.fixture(scope="module")
def loads(robot):
    """Along the first trajectory: both joints by π/2 in 0.5 s, triangular velocities."""
    return motor_loads(robot, Trajectory.triangular(START, START + np.pi / 2, DURATION))


def test_at_a_state_of_round_numbers(robot):
    """q = (0, π/2), q̇ = (1, 2), q̈ = (3, −4): c1 = s2 = 1, c2 = c12 = 0.

    τ1 = 200.01·3 + 23.5·(−4) + 2 h·1·2 + h·2² + 9.81·80 = 600.03 − 94 − 100 − 100 + 784.8 = 1090.83
    τ2 = 23.5·3 + 122.5·(−4) − h·1²                      = 70.5 − 490 + 25                  = −394.5
    """
    q, qd, qdd = [0, np.pi / 2], [1, 2], [3, -4]
    tau = robot.inverse_dynamics(q, qd, qdd)
    at = MotorLoads.from_torques(robot, [0, 1], [qd, qd], [tau, tau])
    assert_same(at.torque[0], [10.9083, -3.945], 1e-13)
    assert_same(at.speed[0], [100, 200], 1e-13)
    assert_same(at.power[0], [1090.83, -789.0], 1e-13)


def test_at_the_start_of_the_first_trajectory(loads):
    """q̇ = 0 and q̈ = 4 (π/2)/0.5² = 8π for both joints.

    τ1 = (200.01 − 49 + 23.5 − 24.5)·8π + 9.81·(8 + 2.5) = 150.01·8π + 103.005
    τ2 = (23.5 − 24.5 + 122.5)·8π + 9.81·2.5             = 121.5·8π + 24.525
    """
    expected = [12.0008 * np.pi + 1.03005, 9.72 * np.pi + 0.24525]
    assert_same(expected, [38.731675, 30.781531], 1e-7)  # N m, as numbers
    assert_same(loads.torque[0], expected, 1e-12)
    assert_same(loads.speed[0], [0, 0])


def test_most_of_a_motor_torque_turns_its_own_rotor(robot, loads):
    """k_r I_m q̈ = 100·0.01·8π = 8π N m of the torque of either motor accelerate its rotor: 65 and 82 %."""
    bare = motor_loads(
        robot.with_rotors("none"), Trajectory.triangular(START, START + np.pi / 2, DURATION)
    ).torque[0]
    own = 8 * np.pi
    # Beside its own rotor, motor 1 turns motor 2, which hangs on link 1: mass 5 kg at 1 m, I_m2, and the spin
    # of its rotor, k_r2 I_m2 q̈2; and it holds its weight. Motor 2 is turned along with link 1.
    rest = [(5 + 0.01 + 1) * 8 * np.pi / 100 + 5 * 9.81 * 0.1 / 100, 1 * 8 * np.pi / 100]
    assert_same(loads.torque[0] - bare, own + np.array(rest), 1e-12)
    assert_same(own / loads.torque[0], [0.64890, 0.81650], 1e-4)


def test_both_sides_of_the_change_from_acceleration_to_deceleration(loads):
    """At 0.25 s, q̇ = 2π for both; the acceleration jumps from 8π to −8π, so torques by 16π (b_i1 + b_i2)/100.

    θ2 is π/4 further: c2 = (−0.98 − s)/√2 and s2 = (s − 0.98)/√2 with s = √(1 − 0.98²).
    """
    s = np.sqrt(1 - 0.98**2)
    c2, s2 = (-0.98 - s) / np.sqrt(2), (s - 0.98) / np.sqrt(2)
    b = np.array([223.51 + 75 * c2, 146 + 25 * c2])
    h = -25 * s2
    before, after = np.flatnonzero(loads.t == 0.25)
    assert_same(loads.torque[before] - loads.torque[after], 16 * np.pi * b / 100, 1e-11)
    assert_same(loads.speed[before], [200 * np.pi, 200 * np.pi], 1e-12)
    theta1 = START[0] + np.pi / 4
    c1, c12 = np.cos(theta1), np.cos(theta1 + START[1] + np.pi / 4)
    speed = np.array([3 * h, -h]) * (2 * np.pi) ** 2
    gravity = 9.81 * np.array([80 * c1 + 25 * c12, 25 * c12])
    assert_same(loads.torque[before], (8 * np.pi * b + speed + gravity) / 100, 1e-11)


def test_torque_limits_of_problem_7_9_at_the_shafts(robot, loads):
    """3000 N m at the joints are 30 N m at the shafts: both motors need more at the start."""
    limited = robot.with_motors({name: {"limits": {"torque": 30}} for name in ("link 1", "link 2")})
    found = MotorLoads(limited, loads.t, loads.torque, loads.speed)
    assert not found.within_limits
    assert (found.torque_share >= [38.731675 / 30, 30.781531 / 30]).all()
