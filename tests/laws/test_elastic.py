"""Elastic joints: laws of random arms with springs between links and motors, which sit anywhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armdyn import Equations, Robot
from armdyn.expression import ZERO
from armdyn.model import RobotModel
from arms import assert_same, difference, exact_array, generators, gradient, law, related, state
from elastic_arms import elastic_models, elastic_robots

ARMS = elastic_robots(rotors=("exact", "reflected"))


@law(ARMS, generators(), examples=8, thorough=60)
def test_coordinates_are_links_then_motors(robot: Robot, rng: np.random.Generator) -> None:
    joints, e = len(robot.model.moving), len(robot.model.elastic)
    assert robot.n == joints + e
    assert robot.coordinates[joints:] == tuple(f"{link.joint_label} motor" for link in robot.model.elastic)
    q, qd, qdd = state(robot, rng)
    assert_same(robot.joint_positions(q), q[:joints])
    assert_same(robot.joint_velocities(qd), qd[:joints])
    assert robot.joint_wrenches(q, qd, qdd).shape == (joints, 6)
    assert not robot.jacobian(q)[:, joints:].any()


@law(ARMS, generators(), examples=8, thorough=60)
def test_forward_dynamics_undo_inverse_dynamics(robot: Robot, rng: np.random.Generator) -> None:
    q, qd, qdd = state(robot, rng)
    if np.linalg.cond(robot.inertia(q)) < 1e6:  # rows of several motors may be nearly dependent
        tau = robot.inverse_dynamics(q, qd, qdd)
        assert_same(robot.forward_dynamics(q, qd, tau), qdd, 1e-9)


@law(ARMS, generators(), examples=8, thorough=60)
def test_inertia_is_symmetric_and_gives_the_energy(robot: Robot, rng: np.random.Generator) -> None:
    q, qd, _ = state(robot, rng)
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    assert_same(B, B.T, 1e-13)
    assert_same(qd @ B @ qd / 2, robot.kinetic_energy(q, qd))
    rate = difference(lambda t: robot.inertia(q + t * qd))
    assert_same(rate - 2 * C, -(rate - 2 * C).T, 1e-8)


@law(ARMS, generators(), examples=8, thorough=60)
def test_springs_are_the_gradient_of_their_energy(robot: Robot, rng: np.random.Generator) -> None:
    q, _, _ = state(robot, rng)
    held = robot.gravity(q) + robot.springs(q)
    assert_same(gradient(robot.potential_energy, q), held, 1e-8)
    joints = len(robot.model.moving)
    assert_same(robot.gravity(q)[joints:], np.zeros(robot.n - joints))
    own = robot.springs(q)
    for e, link in enumerate(robot.model.elastic):
        j = robot.model.moving.index(link)
        torque = robot.model.number(link.motor.stiffness) * (q[j] - q[joints + e])
        assert_same([own[j], own[joints + e]], [torque, -torque])


@law(ARMS, generators(), examples=8, thorough=60)
def test_power_goes_into_energy_and_friction(robot: Robot, rng: np.random.Generator) -> None:
    """τᵀq̇ = d/dt (T + U) + frictionᵀq̇; dampers are part of friction."""
    q, qd, qdd = state(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)

    def energy(t: float) -> np.ndarray:
        at, speed = q + t * qd + t * t / 2 * qdd, qd + t * qdd
        return np.asarray(robot.kinetic_energy(at, speed) + robot.potential_energy(at))

    stored, rubbed = difference(energy), robot.friction(qd) @ qd
    assert_same(tau @ qd, stored + rubbed, 1e-7, scale=float(abs(stored) + abs(rubbed)))


@law(ARMS, generators(), examples=8, thorough=60)
def test_torques_are_linear_in_the_parameters(robot: Robot, rng: np.random.Generator) -> None:
    q, qd, qdd = state(robot, rng)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert_same(robot.regressor(q, qd, qdd) @ robot.parameters, tau)
    assert_same(robot.adaptive_regressor(q, qd, qd, qdd) @ robot.parameters, tau)
    other = robot.parameters * rng.uniform(0.5, 1.5, len(robot.parameters))
    changed = robot.inverse_dynamics(q, qd, qdd, parameters=other)
    assert_same(robot.regressor(q, qd, qdd) @ other, changed)
    made = robot.with_parameters(other)
    assert_same(made.parameters, other)
    assert_same(made.inverse_dynamics(q, qd, qdd), changed)


@law(elastic_robots(friction=False), generators(), examples=5, thorough=40)
def test_derivatives_are_those_of_differences(robot: Robot, rng: np.random.Generator) -> None:
    q, qd, qdd = state(robot, rng)
    by_q, by_qd, by_qdd = robot.inverse_dynamics_derivatives(q, qd, qdd)
    assert_same(by_q, gradient(lambda x: robot.inverse_dynamics(x, qd, qdd), q), 1e-7)
    assert_same(by_qd, gradient(lambda x: robot.inverse_dynamics(q, x, qdd), qd), 1e-7)
    assert_same(by_qdd, robot.inertia(q))


@law(ARMS, generators(), examples=8, thorough=60)
def test_motor_torques_drive_motor_coordinates_and_coupled_links(
    robot: Robot, rng: np.random.Generator
) -> None:
    """K (m, n): a motor turns with its own coordinate and with the links it is coupled to; τ = Kᵀ τ_m."""
    K, shift = robot.drives.transmission, robot.drives.shift
    joints = len(robot.model.moving)
    assert_same(shift, np.zeros(len(K)))
    number, place = robot.model.number, {name: i for i, name in enumerate(robot.coordinates)}
    for row, link in zip(K, robot.model.moving, strict=True):
        expected = np.zeros(robot.n)
        own = f"{link.name} motor" if link.elastic else link.name
        expected[place[own]] = number(link.motor.gear) if link.motor else 1.0
        for name, k in link.motor.coupling if link.motor else ():
            expected[place[name]] += number(k)
        assert_same(row, expected)
    for rotor in robot.mechanism.rotors:
        row = np.zeros(robot.n)
        for j, k in rotor.row:
            row[j] = k
        assert_same(K[rotor.joint], row)
    own = [i for i in range(robot.n) if i >= joints or not robot.model.moving[i].elastic]
    if np.linalg.cond(K[:, own]) > 1e4:
        return
    given = rng.normal(size=len(K))
    P, R = robot.drives.to_motors, robot.drives.given
    assert_same(P @ (K.T @ given), given, 1e-9)
    assert_same(R @ (K.T @ given), K.T @ given, 1e-9)
    assert np.linalg.matrix_rank(R) == len(K)


@law(
    elastic_robots(n=(2, 4), rotors=("exact", "reflected"), motors="parent"),
    generators(),
    examples=5,
    thorough=40,
)
def test_relations_beside_elastic_joints(robot: Robot, rng: np.random.Generator) -> None:
    """Joints that follow others: the torques are Sᵀ times those of the arm without relations."""
    tied = Robot(related(robot.model, seed=3, whole=True))
    free = Robot(replace(tied.model, relations=()))
    joints, e = len(free.model.moving), len(free.model.elastic)
    assert tied.n == len(tied.model.dependence.independent) + e
    x, xd, xdd = (rng.uniform(-1, 1, tied.n) for _ in range(3))
    S = np.zeros((free.n, tied.n))
    for j, row in enumerate(tied.model.dependence.rows):
        for k, factor in row:
            S[j, k] = tied.model.number(factor)
    S[joints:, tied.n - e :] = np.eye(e)
    assert_same(tied.joint_positions(x), (S @ x)[:joints])
    plain = free.inverse_dynamics(S @ x, S @ xd, S @ xdd)
    assert_same(tied.inverse_dynamics(x, xd, xdd), S.T @ plain)
    assert_same(tied.regressor(x, xd, xdd) @ tied.parameters, S.T @ plain)
    assert_same(tied.transmission, (free.transmission @ S)[: len(tied.transmission)])


@law(elastic_robots(motors="parent", rotors=("exact", "reflected")), generators(), examples=5, thorough=40)
def test_without_rotors_joints_are_rigid(robot: Robot, rng: np.random.Generator) -> None:
    """No motors: no motor coordinates, the same robot as one without elasticity and rotors."""
    bare = robot.with_rotors("none")
    rigid = Robot(
        replace(
            robot.model,
            links=tuple(replace(link, motor=None) for link in robot.model.links),
        )
    )
    assert bare.n == len(robot.model.moving)
    q, qd, qdd = state(bare, rng)
    assert_same(bare.inverse_dynamics(q, qd, qdd), rigid.inverse_dynamics(q, qd, qdd))


@law(
    elastic_robots(rotors=("reflected",), couplings=False, motors="any"),
    generators(),
    examples=5,
    thorough=40,
)
def test_the_reduced_model_has_no_coupling_of_links_and_motors(
    robot: Robot, rng: np.random.Generator
) -> None:
    """B = [[B_links, 0], [0, k² Im]] where each motor drives one joint, and C has no entry of a motor."""
    q, qd, _ = state(robot, rng)
    joints = len(robot.model.moving)
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    assert not B[:joints, joints:].any()
    number = robot.model.number
    reflected = [number(x.motor.gear) ** 2 * number(x.motor.axial) for x in robot.model.elastic]
    assert_same(B[joints:, joints:], np.diag(reflected))
    assert not C[joints:].any()
    assert not C[:, joints:].any()


@law(elastic_robots(rotors=("exact", "reflected")), generators(), examples=8, thorough=60)
def test_locked_springs_are_the_rigid_robot(robot: Robot, rng: np.random.Generator) -> None:
    """Where θ = q all along, the torques on link and motor add up to those of the rigid robot."""
    links = [
        replace(link, motor=link.motor and replace(link.motor, stiffness=None, damping=ZERO))
        for link in robot.model.links
    ]
    rigid = Robot(replace(robot.model, links=tuple(links)))
    joints = rigid.n
    S = np.zeros((robot.n, joints))
    S[:joints] = np.eye(joints)
    for e, link in enumerate(robot.model.elastic):
        S[joints + e, robot.model.moving.index(link)] = 1.0
    q, qd, qdd = state(rigid, rng)
    plain = rigid.inverse_dynamics(q, qd, qdd)
    assert_same(S.T @ robot.inverse_dynamics(S @ q, S @ qd, S @ qdd), plain)
    assert_same(S.T @ robot.inertia(S @ q) @ S, rigid.inertia(q))
    assert_same(robot.pose(S @ q), rigid.pose(q))
    assert_same(robot.transmission @ S, rigid.transmission)


@law(
    elastic_models((1, 2), motors="any", rotors=("exact", "reflected"), friction=False),
    examples=3,
    thorough=20,
)
def test_closed_forms_are_proved_and_equal_the_numbers(model: RobotModel) -> None:
    """Links and motors in one ring: Newton–Euler = Lagrange = Y π, springs and exact rotors included."""
    equations, robot = Equations(model), Robot(model)
    assert len(equations.prove().statements) >= 4
    q, qd, qdd = state(robot, np.random.default_rng(2))
    tau = exact_array(equations, equations.tau, q, qd, qdd, angles=True)
    assert_same(tau, robot.inverse_dynamics(q, qd, qdd), 1e-10)
