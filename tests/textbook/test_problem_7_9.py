"""Problem 7.9: linear dynamic scaling of the trajectory of figure 7.5 to 3000 N m, sampled at 1 ms.

The book prints no solution. Here it is derived without armdyn: the equations by SymPy from the energies of
the bodies of section 7.3.2, with the data of example 7.2; then, with (7.117)–(7.121), the torques of a motion
made c times as long are τ_s/c² + g, τ_s being what goes with accelerations and squares of velocities.
"""

from functools import cache

import numpy as np
import pytest
import sympy as sp

from armdyn import Robot
from armdyn.motion import Trajectory, scale_to_limits

LIMIT, DURATION, STEP = 3000, sp.Rational(1, 2), 0.001
START = (-sp.acos(sp.Rational(1, 10)), 2 * sp.acos(sp.Rational(1, 10)))  # tip at (0.2, 0) m, elbow below
ACCELERATION = 4 * (sp.pi / 2) / DURATION**2  # of both joints: triangular velocity through π/2


@cache
def torques():
    """τ_s and g of both joints as functions of q1, q2, q̇1, q̇2, q̈1, q̈2: Lagrange, by SymPy."""
    t = sp.Symbol("t")
    q1, q2 = (sp.Function(name)(t) for name in ("q1", "q2"))
    m, m_m, inertia, rotor, k = 50, 5, 10, sp.Rational(1, 100), 100
    gravity, half = sp.Rational(981, 100), sp.Rational(1, 2)
    elbow, forearm = (sp.Matrix([sp.cos(x), sp.sin(x)]) for x in (q1, q1 + q2))
    places = [(m, elbow / 2), (m_m, elbow), (m, elbow + forearm / 2)]
    spins = [(inertia, q1), (inertia, q1 + q2), (rotor, k * q1), (rotor, q1 + k * q2)]
    T = sum(half * mass * p.diff(t).dot(p.diff(t)) for mass, p in places)
    T += sum(half * I * angle.diff(t) ** 2 for I, angle in spins)
    U = sum(mass * gravity * p[1] for mass, p in places)
    moving = [T.diff(q.diff(t)).diff(t) - T.diff(q) for q in (q1, q2)]
    plain = sp.symbols("Q1 Q2 V1 V2 A1 A2")
    old = (*(q.diff(t, 2) for q in (q1, q2)), *(q.diff(t) for q in (q1, q2)), q1, q2)
    names = dict(zip(old, (*plain[4:], *plain[2:4], *plain[:2]), strict=True))
    return plain, *(sp.Matrix(x).subs(names) for x in (moving, [U.diff(q) for q in (q1, q2)]))


def states():
    """All samples, the switching instant from both sides: (q1, q2, q̇1, q̇2, q̈1, q̈2) each."""
    a, end = float(ACCELERATION), float(DURATION)
    t = np.arange(501) * STEP
    rising = t[t <= end / 2]
    falling = end - t[t >= end / 2]
    way = np.concatenate([a * rising**2 / 2, np.pi / 2 - a * falling**2 / 2])
    speed = a * np.concatenate([rising, falling])
    acceleration = np.repeat([a, -a], [len(rising), len(falling)])
    start = [float(x) for x in START]
    return np.stack([start[0] + way, start[1] + way, speed, speed, acceleration, acceleration])


def least_square_of_c():
    """The least c² with |τ_s/c² + g| ≤ 3000 N m at every sample."""
    plain, moving, static = torques()
    tau, g = (sp.lambdify(plain, x, "numpy")(*states())[:, 0] for x in (moving, static))
    return np.max(tau / np.where(tau > 0, LIMIT - g, -LIMIT - g))


@cache
def example():
    start = np.array([float(x) for x in START])
    robot = Robot.load("planar")
    return robot, Trajectory.triangular(start, start + np.pi / 2, float(DURATION), step=STEP)


def test_equations_and_the_robot():
    robot, trajectory = example()
    plain, moving, static = torques()
    at = trajectory.samples()
    columns = np.concatenate([at.q, at.qd, at.qdd], axis=-1).T
    tau, g = (sp.lambdify(plain, x, "numpy")(*columns)[:, 0].T for x in (moving, static))
    np.testing.assert_allclose(robot.gravity(at.q), g, atol=1e-9)
    np.testing.assert_allclose(robot.inverse_dynamics(at.q, at.qd, at.qdd), tau + g, atol=1e-8)


def test_the_factor_over_all_samples():
    robot, trajectory = example()
    slow = scale_to_limits(robot, trajectory, torque=LIMIT)
    assert slow.factor**2 == pytest.approx(least_square_of_c(), rel=1e-12)
    at = slow.trajectory.samples()
    assert np.abs(robot.inverse_dynamics(at.q, at.qd, at.qdd)).max() == pytest.approx(LIMIT, rel=1e-9)


def test_the_factor_in_closed_form():
    """Joint 1 bounds it, just before the switch: q = q(0) + π/4, q̇ = 2π rad/s, q̈ = 8π rad/s² each."""
    plain, moving, static = torques()
    there = [START[0] + sp.pi / 4, START[1] + sp.pi / 4, *[2 * sp.pi] * 2, *[8 * sp.pi] * 2]
    assert 8 * sp.pi == ACCELERATION
    tau, g = (x[0].subs(dict(zip(plain, there, strict=True))) for x in (moving, static))
    square = sp.N(tau / (LIMIT - g), 30)
    assert float(square) == pytest.approx(2.15490, abs=5e-6)
    robot, trajectory = example()
    slow = scale_to_limits(robot, trajectory, torque=LIMIT)
    assert slow.factor**2 == pytest.approx(float(square), rel=1e-13)
    assert slow.trajectory.duration == pytest.approx(float(DURATION * sp.sqrt(square)), rel=1e-13)
    assert (slow.kind, slow.joint) == ("torque", 0)
    assert slow.instant == pytest.approx(slow.trajectory.duration / 2, rel=1e-13)
