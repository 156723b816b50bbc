"""A robot with joints locked, and the same robot with these joints held where they are."""

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import ArmdynError, Robot
from armdyn.model.robot_model import idlers
from arms import ROTORS, assert_same, generators, law, models, related, robots, state
from elastic_arms import elastic_robots
from golden_messages import golden_error


def locks(robot, rng, q):
    """Some joints of a robot, at least one free: where they stand by name, and which coordinates are left."""
    names = robot.coordinates[: robot.n - len(robot.model.elastic)]
    chosen = rng.permutation(len(names))[: rng.integers(1, len(names))]
    at = {names[i]: float(q[i]) for i in chosen}
    gone = {*at, *(f"{name} motor" for name in at)}
    return at, [i for i, name in enumerate(robot.coordinates) if name not in gone]


def held(robot, locked, rng, q, left):
    """All functions of state of both, with the other joints of the full one at rest."""
    _, qd, qdd = state(robot, rng)
    away = [i for i in range(robot.n) if i not in left]
    qd[away] = qdd[away] = 0
    x, v, a = q[left], qd[left], qdd[left]
    wrench = rng.uniform(-9, 9, 6)
    tau = locked.inverse_dynamics(x, v, a, wrench)
    assert_same(tau, robot.inverse_dynamics(q, qd, qdd, wrench)[left], 1e-10)
    assert_same(locked.inertia(x), robot.inertia(q)[np.ix_(left, left)], 1e-10)
    assert_same(locked.friction(v), robot.friction(qd)[left], 1e-10)
    assert_same(locked.kinetic_energy(x, v), robot.kinetic_energy(q, qd), 1e-10)
    assert_same(locked.pose(x), robot.pose(q), 1e-11)
    assert_same(locked.regressor(x, v, a) @ locked.parameters, locked.inverse_dynamics(x, v, a), 1e-10)


@law(robots((2, 4), rotors=ROTORS), generators(), examples=4)
def test_a_locked_robot_and_one_held(robot, rng):
    """Motors on any carriers, coupled ones that still spin, prismatic joints, full tensors."""
    q, _, _ = state(robot, rng)
    at, left = locks(robot, rng, q)
    held(robot, robot.locked(at), rng, q, left)


@law(elastic_robots((2, 4)), generators(), examples=2)
def test_a_locked_robot_and_one_held_with_elastic_joints(robot, rng):
    q, _, _ = state(robot, rng)
    at, left = locks(robot, rng, q)
    for i, name in enumerate(robot.coordinates):  # the motors of locked joints stand where these do
        if name.removesuffix(" motor") in at:
            q[i] = at[name.removesuffix(" motor")]
    held(robot, robot.locked(at), rng, q, left)


@law(models((3, 5)), st.integers(0, 99), generators(), examples=2)
def test_a_locked_robot_and_one_held_with_relations(model, seed, rng):
    robot = Robot(related(model, seed))
    if robot.n > 1:
        q, _, _ = state(robot, rng)
        at, left = locks(robot, rng, q)
        locked = robot.locked(at)
        assert locked.coordinates == tuple(robot.coordinates[i] for i in left)
        held(robot, locked, rng, q, left)


@pytest.mark.parametrize(
    ("name", "joint", "at"), [("five_bar", 0, 0.2), pytest.param("delta", 1, -0.1, marks=pytest.mark.slow)]
)
def test_a_locked_robot_and_one_held_with_loops(name, joint, at):
    robot = Robot.load(name)
    locked = robot.locked({robot.coordinates[joint]: robot.assembly.reference[joint] + at})
    rng = np.random.default_rng(3)
    q = robot.assembly.reference + rng.uniform(-0.1, 0.1, robot.n)
    q[joint] = robot.assembly.reference[joint] + at
    left = [i for i in range(robot.n) if i != joint]
    _, qd, qdd = state(robot, rng)
    qd[joint] = qdd[joint] = 0
    assert locked.coordinates == tuple(robot.coordinates[i] for i in left)
    tau = robot.inverse_dynamics(q, qd, qdd)[left]
    assert_same(locked.inverse_dynamics(q[left], qd[left], qdd[left]), tau, 1e-9)


def test_an_idler_in_equations_base_parameters_and_files():
    """A motor of a locked joint that another one spins: proofs, parameters, files, rotor models know it."""
    robot = Robot.load("elbow").with_motors(
        {"forearm": {"coupling": {"upper arm": 3}, "friction": {"viscous": 0.1, "coulomb": 0.2}}}
    )
    locked = robot.locked({"forearm": "pi/3"})
    (idler,) = idlers(locked.model)
    assert idler.motor.coupling[0][0] == "upper arm"
    assert "Imi1" in locked.parameter_names
    assert "Fvi1" not in locked.parameter_names  # it is in Fv of the one joint that spins it
    assert_same(locked.with_parameters(locked.parameters).parameters, locked.parameters, 1e-12)
    assert locked.equations().prove()
    assert Robot.from_toml(locked.to_toml()) == locked
    assert locked.with_rotors("reflected") == robot.with_rotors("reflected").locked({"forearm": "pi/3"})
    base = locked.base_parameters(friction=True)
    q, qd, qdd = state(locked, np.random.default_rng(5))
    Y = locked.regressor(q, qd, qdd)
    assert_same(Y @ locked.parameters, locked.inverse_dynamics(q, qd, qdd))
    assert any("Imi1" in text for text in base.combinations)
    with golden_error(ArmdynError):
        locked.locked({"forearm": 0})
