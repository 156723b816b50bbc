"""Rotors: exact ones against separate spinning bodies, the simpler models against robots without motors.

`separate_bodies` shares nothing with armdyn but the description: every link and every rotor is a body of its
own with its own frame, the rotor's turned by θ_m = K q about its axis. Frames are truncated Taylor series in
time along q + q̇t + ½q̈t², and torques come from virtual power.
"""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.model import Inertia
from arms import assert_same, generators, law, models, robots, state

# A series is an array whose first axis counts the powers of t: x[0] + x[1] t + x[2] t².


def times(a, b):
    """Product of two series of matrices."""
    return np.stack([sum(a[i] @ b[k - i] for i in range(k + 1)) for k in range(min(len(a), len(b)))])


def constant(x, length=3):
    x = np.asarray(x, float)
    return np.stack([x, *[np.zeros_like(x)] * (length - 1)])


def turned(axis, angle):
    """Rotation about a unit vector by an angle that is a series: exp of the skew matrix, order by order."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]], float)
    a0, a1, a2 = angle
    R = np.eye(3) + np.sin(a0) * K + (1 - np.cos(a0)) * K @ K
    return np.stack([R, R @ K * a1, R @ (K * a2 + K @ K * a1 * a1 / 2)])


def pose(R, p):
    T = np.zeros((3, 4, 4))
    T[:, :3, :3], T[:, :3, 3], T[0, 3, 3] = R, p, 1
    return T


def bodies(model, q, qd, qdd):
    """Per moving link and rotor: mass, place of the centre of mass, orientation (series), tensor about it.

    A rotor on the base counts without its mass: it does not move, and its weight is the base's.
    """

    def numbers(entries):
        return np.array([numbers(x) if isinstance(x, tuple) else model.number(x) for x in entries])

    def still(T):
        return pose(constant(numbers(T.R)), constant(numbers(T.p)))

    joint_of = {link.name: j for j, link in enumerate(model.moving)}
    angle = {name: np.array([q[j], qd[j], qdd[j] / 2]) for name, j in joint_of.items()}
    frames, found, welded = {"base": pose(constant(np.eye(3)), constant(np.zeros(3)))}, [], {"base"}
    for link in model.links:
        axis, move = numbers(link.axis), frames["base"]
        if link.joint == "revolute":
            move = pose(turned(axis, angle[link.name]), constant(np.zeros(3)))
        elif link.joint == "prismatic":
            move = pose(constant(np.eye(3)), np.outer(angle[link.name], axis))
        frame = times(times(times(frames[link.parent], still(link.before)), move), still(link.after))
        frames[link.name] = frame
        if link.joint == "fixed" and link.parent in welded:
            welded.add(link.name)
            continue  # part of the base
        m, h = model.number(link.inertia.mass), numbers(link.inertia.moment)
        xx, xy, xz, yy, yz, zz = numbers(link.inertia.tensor)
        com = h / m if m else h
        shift = m * (com @ com * np.eye(3) - np.outer(com, com))
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) - shift
        found.append((m, times(frame, constant([*com, 1]))[:, :3], frame[:, :3, :3], tensor))
    for link in model.moving:
        if motor := link.motor:
            row = [(link.name, motor.gear), *motor.coupling]
            theta = sum(model.number(k) * angle[name] for name, k in row)
            frame, axis = frames[motor.carrier], numbers(motor.axis)
            mass = model.number(motor.mass) if motor.carrier not in welded else 0.0
            spinning = times(frame[:, :3, :3], turned(axis, theta))
            place = times(frame, constant([*numbers(motor.position), 1]))[:, :3]
            axial, transverse = model.number(motor.axial), model.number(motor.transverse)
            tensor = transverse * np.eye(3) + (axial - transverse) * np.outer(axis, axis)
            found.append((mass, place, spinning, tensor))
    return found


def motion(body):
    """v, a, ω, L = Iω and L̇ of a body."""
    _, place, R, tensor = body
    rate = np.stack([R[1], 2 * R[2]])  # Ṙ to first order
    W = times(rate, R.transpose(0, 2, 1))
    w = np.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], axis=1)
    I = times(times(R, constant(tensor)), R.transpose(0, 2, 1))
    L = times(I, w)
    return place[1], 2 * place[2], w[0], L[0], L[1]


def separate_bodies(model, q, qd, qdd):
    """Torques without friction, kinetic energy and potential energy."""
    still, gravity = np.zeros(model.n), np.array([model.number(x) for x in model.gravity])
    moving = bodies(model, q, qd, qdd)
    motions = [motion(body) for body in moving]
    tau = np.zeros(model.n)
    for j, e in enumerate(np.eye(model.n)):
        for body, (_, a, _, _, Ld), partial in zip(moving, motions, bodies(model, q, e, still), strict=True):
            v_j, _, w_j, _, _ = motion(partial)
            tau[j] += body[0] * (a - gravity) @ v_j + Ld @ w_j
    kinetic = sum(b[0] * v @ v / 2 + w @ L / 2 for b, (v, _, w, L, _) in zip(moving, motions, strict=True))
    return tau, kinetic, sum(-b[0] * gravity @ b[1][0] for b in moving)


@law(robots((1, 5)), generators(), examples=15)
def test_exact_rotors_and_separate_bodies(robot, rng):
    check_separate_bodies(robot, rng)


@law(models((1, 4)), generators(), examples=15)
def test_exact_rotors_and_separate_bodies_with_transforms_after_joints(model, rng):
    check_separate_bodies(Robot(model), rng)


def check_separate_bodies(robot, rng):
    q, qd, qdd = state(robot, rng)
    tau, kinetic, potential = separate_bodies(robot.model, q, qd, qdd)
    assert_same(robot.inverse_dynamics(q, qd, qdd) - robot.friction(qd), tau, 1e-10)
    assert_same(robot.kinetic_energy(q, qd), kinetic, 1e-10)
    assert_same(robot.potential_energy(q), potential, 1e-10)
    assert_same(
        robot.inertia(q) @ qdd,
        tau - separate_bodies(robot.model, q, qd, 0 * qdd)[0],
        1e-10,
        np.abs(tau).max(),
    )


@pytest.mark.parametrize("name", ["planar", "scara", "puma560", "manutec_r3"])
def test_exact_rotors_of_bundled_robots_and_separate_bodies(name):
    check_separate_bodies(Robot.load(name).with_rotors("exact"), np.random.default_rng(7))


def transmission(model):
    """K, row by motor."""
    names = [link.name for link in model.moving]
    K, Im = [], []
    for link in model.moving:
        if motor := link.motor:
            row = np.zeros(model.n)
            for name, k in [(link.name, motor.gear), *motor.coupling]:
                row[names.index(name)] += model.number(k)
            K.append(row)
            Im.append(model.number(motor.axial))
    return np.array(K).reshape(-1, model.n), np.array(Im)


def without_motors(model, masses=False):
    """The robot without motors, or with their masses as part of their carriers."""
    links = {link.name: replace(link, motor=None) for link in model.links}
    for link in model.moving:
        if masses and (motor := link.motor) and motor.carrier in links:
            mass = Inertia.at_com(motor.mass, motor.position, (0, 0, 0, 0, 0, 0))
            carrier = links[motor.carrier]
            links[motor.carrier] = replace(carrier, inertia=carrier.inertia + mass)
    return Robot(replace(model, links=tuple(links.values())))


@law(robots(), generators())
def test_rotors_none_and_a_robot_without_motors(robot, rng):
    state_ = state(robot, rng)
    none, bare = robot.with_rotors("none"), without_motors(robot.model)
    assert_same(none.inverse_dynamics(*state_), bare.inverse_dynamics(*state_), 1e-13)
    assert_same(none.parameters, bare.parameters, 1e-14)


@law(robots(), generators())
def test_rotors_reflected_and_masses_with_the_reflected_inertia(robot, rng):
    """B + Kᵀ diag(Im) K, nothing else of the rotors but their masses; motor friction stays."""
    q, qd, qdd = state(robot, rng)
    reflected, masses = robot.with_rotors("reflected"), without_motors(robot.model, masses=True)
    K, Im = transmission(robot.model)
    assert_same(reflected.inertia(q), masses.inertia(q) + K.T @ np.diag(Im) @ K)
    assert_same(reflected.coriolis(q, qd), masses.coriolis(q, qd))
    assert_same(reflected.gravity(q), masses.gravity(q))
    assert_same(reflected.friction(qd), robot.friction(qd), 1e-14)
    tau = masses.inverse_dynamics(q, qd, qdd) - masses.friction(qd) + K.T @ (Im * (K @ qdd))
    assert_same(reflected.inverse_dynamics(q, qd, qdd), tau + robot.friction(qd))


@law(robots(motors="base"), generators())
def test_rotors_exact_and_reflected_with_every_motor_on_the_base(robot, rng):
    state_ = state(robot, rng)
    reflected = robot.with_rotors("reflected")
    assert_same(robot.inverse_dynamics(*state_), reflected.inverse_dynamics(*state_), 1e-12)


@law(robots())
def test_rotor_models_and_the_robots_they_make(robot):
    """Changing the model of the rotors and back is the same robot; the description stays."""
    for rotors in ("reflected", "none"):
        other = robot.with_rotors(rotors)
        assert other.model.rotors == rotors
        assert other != robot
        assert other.with_rotors("exact") == robot
        assert hash(other.with_rotors("exact")) == hash(robot)
