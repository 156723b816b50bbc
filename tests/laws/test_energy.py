"""Energy: kinetic and inertia matrix, potential and gravity, power and torques, and what a motion keeps."""

import numpy as np

from armdyn import Robot
from arms import ROTORS, assert_same, difference, generators, gradient, law, robots, state


@law(robots(rotors=ROTORS), generators())
def test_kinetic_energy_and_inertia_matrix(robot, rng):
    """T = ½ q̇ᵀB q̇ (7.31)."""
    q, qd, _ = state(robot, rng)
    assert_same(robot.kinetic_energy(q, qd), qd @ robot.inertia(q) @ qd / 2)


@law(robots(rotors=ROTORS), generators())
def test_gravity_and_potential_energy(robot, rng):
    """g = ∂U/∂q (7.39)."""
    q, _, _ = state(robot, rng)
    assert_same(robot.gravity(q), gradient(robot.potential_energy, q), 1e-10)


def test_potential_energy_is_zero_at_the_base_origin_and_rises_against_gravity():
    link = {"joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1], "mass": 2}
    robot = Robot.from_dict({"name": "lift", "convention": "frames", "gravity": [0, 0, -10], "link": [link]})
    assert robot.potential_energy([0.0]) == 0
    assert robot.potential_energy([1.5]) == 30
    assert robot.gravity([1.5]) == 20


@law(robots(rotors=ROTORS), generators())
def test_potential_energy_and_the_masses_that_move(robot, rng):
    """−Σ m g₀ᵀp over links and motors (7.75), without what is welded to the base or sits on it."""
    q, _, _ = state(robot, rng)
    model, number = robot.model, robot.model.number
    moves = {"base": False}
    moments = np.zeros(3)
    for link in model.links:
        moves[link.name] = link.joint != "fixed" or moves[link.parent]
    for link in model.links:
        T, body = robot.pose(q, link.name), link.inertia
        if moves[link.name]:
            moments += number(body.mass) * T[:3, 3] + T[:3, :3] @ [number(x) for x in body.moment]
        if link.motor is not None and moves[link.motor.carrier] and model.rotors != "none":
            T, place = robot.pose(q, link.motor.carrier), [number(x) for x in link.motor.position]
            moments += number(link.motor.mass) * (T[:3, :3] @ place + T[:3, 3])
    gravity = np.array([number(x) for x in model.gravity])
    assert_same(robot.potential_energy(q), -gravity @ moments, 1e-10)


def test_what_the_base_carries_has_no_potential_energy():
    """A welded column and a motor on the base, both high up: as if they were not there."""
    turns = {"name": "arm", "joint": "revolute", "origin": {"xyz": [0, 0, 1]}, "axis": [0, 1, 0]}
    turns |= {"mass": 2, "com": [0.3, 0, 0], "inertia": {"xx": 1, "yy": 1, "zz": 1}}
    column = {"name": "column", "joint": "fixed", "origin": {"xyz": [0, 0, 5]}, "mass": 70}
    motor = {
        "gear": 1,
        "inertia": 0.1,
        "mass": 9,
        "carrier": "base",
        "position": [0, 0, 4],
        "axis": [0, 1, 0],
    }
    top = {"name": "lamp", "convention": "frames", "gravity": [0, 0, -10]}
    bare = Robot.from_dict(top | {"link": [turns]})
    whole = Robot.from_dict(top | {"link": [column, turns | {"parent": "base", "motor": motor}]})
    for q in ([0.0], [0.4], [-2.0]):
        assert whole.potential_energy(q) == bare.potential_energy(q)
    assert bare.potential_energy([0.0]) == 20  # 2 kg, 1 m up


@law(robots(rotors=ROTORS), generators())
def test_power_balance(robot, rng):
    """½ d/dt(q̇ᵀB q̇) = q̇ᵀ(τ − friction − g − Jᵀh_e) (7.50), along a motion from the forward dynamics."""
    q, qd, tau = state(robot, rng)
    wrench = rng.uniform(-5, 5, 6)
    qdd = robot.forward_dynamics(q, qd, tau, wrench)
    rate = difference(lambda t: robot.kinetic_energy(q + qd * t + qdd * t * t / 2, qd + qdd * t), 1e-3)
    rest = robot.friction(qd) + robot.gravity(q) + robot.jacobian(q).T @ wrench
    speed = max(1.0, np.abs(qdd).max())
    assert_same(rate, qd @ (tau - rest), 1e-9, scale=speed * robot.kinetic_energy(q, qd))


@law(robots((1, 4), rotors=ROTORS, friction=False), generators(), examples=3)
def test_energy_of_a_free_motion(robot, rng):
    """T + U is kept; what Runge–Kutta loses falls with the fourth power of the step."""
    starts = [state(robot, rng) for _ in range(4)]
    q0, qd0 = (np.stack([start[k] for start in starts]) for k in (0, 1))

    def rate(x):
        return np.stack([x[1], robot.forward_dynamics(x[0], x[1], np.zeros_like(x[0]))])

    def drift(steps, duration=0.2):
        h, x = duration / steps, np.stack([q0, qd0])
        for _ in range(steps):
            k1 = rate(x)
            k2 = rate(x + h / 2 * k1)
            k3 = rate(x + h / 2 * k2)
            k4 = rate(x + h * k3)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        before = robot.kinetic_energy(q0, qd0) + robot.potential_energy(q0)
        after = robot.kinetic_energy(x[0], x[1]) + robot.potential_energy(x[0])
        return np.abs(after - before).max() / max(1.0, robot.kinetic_energy(q0, qd0).max())

    coarse, fine = drift(40), drift(160)
    assert fine < 1e-7
    assert fine < coarse / 50 or coarse < 1e-11
