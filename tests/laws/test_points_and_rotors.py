"""Jacobians of points of links and of rotors: symbols, numbers, derivatives of poses, and their energies."""

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import Robot
from armdyn.exact import Equations
from arms import assert_same, difference, generators, law, models, related, robots, slowly, state
from closed_chains import closed_states, random_loop
from elastic_arms import elastic_models, elastic_robots

POINT = [0.3, -0.2, 0.45]


def points(robot):
    """Every link with its points: the frame's origin, a point of it, and where it has mass, its centre."""
    for link in robot.model.links:
        yield from ((link.name, at) for at in ("frame", POINT, *(["com"] if has_mass(robot, link) else [])))


def has_mass(robot, link):
    return robot.model.number(link.inertia.mass) > 0


def motors(robot):
    return [link for link in robot.model.links if link.motor and robot.model.rotors != "none"]


def place(robot, q, link, at):
    """A point of a link in the world, from the pose of its frame."""
    if at == "com":
        at = [robot.model.number(x) for x in robot.model.links[robot.model.index[link]].inertia.com]
    T = robot.pose(q, link)
    return T[:3, :3] @ ([0, 0, 0] if at == "frame" else at) + T[:3, 3]


def check_numbers(robot, q, qd):
    """J_P is the derivative of where the point is, J_O that of the frame; J̇ that of J."""
    for link, at in points(robot):
        J = robot.jacobian(q, link, at)
        assert_same(J[3:], robot.jacobian(q, link)[3:], 1e-12)
        rate = difference(lambda t, link=link, at=at: place(robot, q + t * qd, link, at))
        assert_same(J[:3] @ qd, rate, 1e-8, scale=1.0)
        rate = difference(lambda t, link=link, at=at: robot.jacobian(q + t * qd, link, at))
        assert_same(robot.jacobian_dot(q, qd, link, at), rate, 1e-7, scale=1.0)
        if at == "com":
            assert_same(robot.com_position(q, link), place(robot, q, link, at), 1e-12, scale=1.0)


def inertia_by_jacobians(robot, q):
    """Σ m J_PᵀJ_P + J_Oᵀ R I Rᵀ J_O over links and rotors, (7.32)."""
    number, total = robot.model.number, np.zeros((robot.n, robot.n))
    for link in robot.model.links:
        own = link.inertia
        J = robot.jacobian(q, link.name, "com" if has_mass(robot, link) else "frame")
        xx, xy, xz, yy, yz, zz = map(number, own.tensor_at_com if has_mass(robot, link) else own.tensor)
        R = robot.pose(q, link.name)[:3, :3]
        I = R @ [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]] @ R.T
        total += number(own.mass) * J[:3].T @ J[:3] + J[3:].T @ I @ J[3:]
    for link in motors(robot):
        motor, J = link.motor, robot.rotor_jacobian(q, link.name)
        z = robot.pose(q, motor.carrier)[:3, :3] @ [number(x) for x in motor.axis]
        Im, It = number(motor.axial), number(motor.transverse)
        I = It * np.eye(3) + (Im - It) * np.outer(z, z)
        total += number(motor.mass) * J[:3].T @ J[:3] + J[3:].T @ I @ J[3:]
    return total


@law(robots((1, 4)), generators(), examples=8)
def test_points_of_random_arms(robot, rng):
    q, qd, _ = state(robot, rng)
    check_numbers(robot, q, qd)
    assert_same(inertia_by_jacobians(robot, q), robot.inertia(q), 1e-10)


@law(elastic_robots(), generators())
def test_points_of_elastic_arms(robot, rng):
    q, qd, _ = state(robot, rng)
    check_numbers(robot, q, qd)
    assert_same(inertia_by_jacobians(robot, q), robot.inertia(q), 1e-10)


@law(robots((2, 4)), generators())
def test_points_of_arms_with_relations(robot, rng):
    robot = Robot(related(robot.model, int(rng.integers(2**31))))
    q, qd, _ = state(robot, rng)
    check_numbers(robot, q, qd)
    assert_same(inertia_by_jacobians(robot, q), robot.inertia(q), 1e-10)


@law(robots((2, 4)), generators())
def test_points_of_arms_with_a_locked_joint(robot, rng):
    """The motor of a locked joint rides on its carrier, and spins with the joints that it is coupled with."""
    robot = robot.locked({robot.joints[int(rng.integers(robot.n))]: 0.4})
    q, _, _ = state(robot, rng)
    assert_same(inertia_by_jacobians(robot, q), robot.inertia(q), 1e-10)


@pytest.mark.parametrize("seed", [0, slowly(1)])
def test_points_of_closed_chains(seed):
    robot = random_loop(seed)
    q, qd, _ = (x[0] for x in closed_states(robot, np.random.default_rng(seed), rows=1))
    assert_same(inertia_by_jacobians(robot, q), robot.inertia(q), 1e-9)
    for link, at in points(robot):
        rate = difference(lambda t, link=link, at=at: place(robot, q + t * qd, link, at), 1e-3)
        assert_same(robot.jacobian(q, link, at)[:3] @ qd, rate, 1e-7, scale=1.0)


def spin(W):
    return [W[2, 1], W[0, 2], W[1, 0]]


def product(A, B):
    """A Bᵀ of matrices of entries."""
    return np.array([[sum(x * y for x, y in zip(a, b, strict=True)) for b in B] for a in A], dtype=object)


@law(models((1, 3)), examples=4)
def test_exact_jacobians_are_derivatives_of_exact_poses(model):
    """∂p/∂q_j is a column of J_P, (∂R/∂q_j) Rᵀ the cross matrix of one of J_O: identities of the ring."""
    equations, robot = Equations(model), Robot(model)
    for link, at in points(robot):
        J = equations.jacobian(link, at)
        p, R = equations.position(link, at), equations.rotation(link)
        for j in range(equations.n):
            assert [row[j] for row in J.position_part] == list(p.diff(f"q{j + 1}"))
            turned = product(R.diff(f"q{j + 1}").rows, R.rows)
            assert [row[j] for row in J.orientation_part] == spin(turned)
        assert equations.velocity(link, at) == [
            sum(x * f"qd{j + 1}" for j, x in enumerate(row)) for row in J.position_part
        ]


@law(models((1, 3), rotors=("exact", "reflected")), generators(), examples=4)
def test_exact_and_numeric_jacobians(model, rng):
    equations, robot = Equations(model), Robot(model)
    check_exact(equations, robot, *state(robot, rng)[:2])


@law(elastic_models(), generators(), examples=3)
def test_exact_and_numeric_jacobians_of_elastic_arms(model, rng):
    equations, robot = Equations(model), Robot(model)
    check_exact(equations, robot, *state(robot, rng)[:2])


@law(models((2, 3)), generators(), examples=3)
def test_exact_and_numeric_jacobians_of_arms_with_relations(model, rng):
    model = related(model, int(rng.integers(2**31)), whole=True)
    equations, robot = Equations(model), Robot(model)
    check_exact(equations, robot, *state(robot, rng)[:2])


def check_exact(equations, robot, q, qd):
    at_state = {"q": q, "qd": qd}
    for link, at in points(robot):
        assert_same(equations.jacobian(link, at).value(q=q), robot.jacobian(q, link, at), 1e-10)
        found = equations.jacobian_dot(link, at).value(**at_state)
        assert_same(found, robot.jacobian_dot(q, qd, link, at), 1e-10)
        found = equations.position(link, at).value(q=q)
        assert_same(found, place(robot, q, link, at), 1e-10, scale=1.0)
    for link in motors(robot):
        found = equations.jacobian(motor=link.name).value(q=q)
        assert_same(found, robot.rotor_jacobian(q, link.name), 1e-10)


@law(models((1, 3)), st.booleans(), examples=4)
def test_exact_jacobians_of_rotors_give_their_energies(model, locked):
    """(7.30): ½ m vᵀv + ½ It ωᵀω + ½ (Im − It) (zᵀω)², an identity of the ring; all energies add up to T."""
    if locked and len(model.moving) > 1:
        model = Robot(model).locked({model.moving[-1].name: 0}).model
    equations, robot = Equations(model), Robot(model)
    total = sum((equations.energy(link.name).kinetic for link in model.links), 0)
    for link in motors(robot):
        motor, energy = link.motor, equations.energy(motor=link.name)
        J = equations.jacobian(motor=link.name)
        v, w = ([sum(x * f"qd{j + 1}" for j, x in enumerate(row)) for row in J[k : k + 3]] for k in (0, 3))
        z = [
            sum(x * y for x, y in zip(row, motor.axis, strict=True))
            for row in equations.rotation(motor.carrier)
        ]
        along = sum(x * y for x, y in zip(z, w, strict=True))
        moving = sum(x * x for x in v) * (motor.mass / 2)
        turning = sum(x * x for x in w) * (motor.transverse / 2)
        assert energy.translation == moving
        assert energy.rotation == turning + along * along * ((motor.axial - motor.transverse) / 2)
        total = total + energy.kinetic
    assert total - equations.kinetic_energy == 0
