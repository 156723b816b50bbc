"""Torques by cause against functions that have one cause each, and poses of all links against each link's."""

import numpy as np
import pytest

from armdyn import Robot, bundled_robots
from arms import ROTORS, assert_same, generators, in_suites, law, related, robots, state
from closed_chains import closed_states, five_bar, random_loop
from elastic_arms import elastic_robots
from friction_arms import rubbing
from spring_arms import sprung


def assert_causes_agree(robot: Robot, rng: np.random.Generator, *states: np.ndarray) -> None:
    q, qd, qdd = states
    wrenches = (
        None,
        rng.normal(size=6) * 20,
        {robot.bodies[0]: rng.normal(size=6), robot.bodies[-2]: np.ones(6)},
    )
    for wrench in wrenches:
        tau = np.asarray(robot.inverse_dynamics(q, qd, qdd, wrench))
        found, scale = np.asarray(robot.contributions(q, qd, qdd, wrench)), np.abs(tau).max()
        assert found.shape == (*np.shape(q)[:-1], 8, robot.n)
        assert_same(found.sum(-2), tau, 1e-11, np.abs(found).max())
        inertia, centrifugal, coriolis, gravity, springs, viscous, dry, felt = np.moveaxis(found, -2, 0)
        assert_same(inertia, (robot.inertia(q) @ qdd[..., None])[..., 0], 1e-11, scale)
        moving = (robot.coriolis(q, qd) @ qd[..., None])[..., 0]
        assert_same(centrifugal + coriolis, moving, 1e-11, scale + np.abs(moving).max())
        assert_same(gravity, robot.gravity(q), 1e-11, scale)
        assert_same(springs, robot.springs(q), 1e-11, scale + np.abs(springs).max())
        if not any(name.startswith("Fl") for name in robot.parameter_names):
            assert_same(viscous + dry, robot.friction(qd, q=q), 1e-11, scale)
        without = robot.inverse_dynamics(q, qd, qdd)
        if "Fl1" not in robot.parameter_names:
            assert_same(felt, tau - without, 1e-10, scale + np.abs(tau).max() + np.abs(without).max())


@law(robots((1, 4), rotors=ROTORS), generators(), examples=3)
def test_causes_and_inverse_dynamics(robot, rng):
    assert_causes_agree(robot, rng, *state(robot, rng, (2,)))


@law(rubbing((1, 3)), generators(), examples=3)
def test_causes_with_every_kind_of_friction(robot, rng):
    assert_causes_agree(robot, rng, *state(robot, rng, (2,)))


@law(elastic_robots((1, 3)), generators(), examples=3)
def test_causes_of_elastic_arms(robot, rng):
    assert_causes_agree(robot, rng, *state(robot, rng, (2,)))


@law(robots((2, 3)), generators(), examples=2)
def test_causes_with_springs_and_relations(robot, rng):
    for model in (sprung(robot.model, 3), related(robot.model, 5)):
        one = Robot(model)
        assert_causes_agree(one, rng, *state(one, rng, (2,)))


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in range(1, 5))])
def test_causes_of_closed_chains(seed):
    robot = random_loop(seed) if seed else five_bar(friction={"viscous": 1, "coulomb": 2})
    rng = np.random.default_rng(seed)
    assert_causes_agree(robot, rng, *closed_states(robot, rng, 2))


@pytest.mark.parametrize("name", in_suites(bundled_robots()))
def test_bundled_robots(name):
    robot, rng = Robot.load(name), np.random.default_rng(4)
    q, qd, qdd = state(robot, rng, (3,))
    tau = np.asarray(robot.inverse_dynamics(q, qd, qdd))
    found = np.asarray(robot.contributions(q, qd, qdd))
    assert_same(found.sum(-2), tau, 1e-11, np.abs(found).max())
    poses = np.asarray(robot.poses(q))
    assert poses.shape == (3, len(robot.bodies), 4, 4)
    assert robot.bodies == (*(link.name for link in robot.model.moving), robot.model.root)
    for pose, link in zip(np.moveaxis(poses, -3, 0), robot.bodies, strict=True):
        assert_same(pose, robot.pose(q, link), 1e-12, 1.0)


@law(elastic_robots((1, 3)), generators(), examples=3)
def test_poses_and_jacobians(robot, rng):
    """The poses' rates are what the Jacobians of the links say."""
    q, qd, _ = state(robot, rng)
    h = 1e-5
    ahead, behind = (np.asarray(robot.poses(q + x * qd)) for x in (h, -h))
    for k, link in enumerate(robot.bodies):
        expected = robot.jacobian(q, link)[:3] @ qd
        assert_same((ahead - behind)[k, :3, 3] / (2 * h), expected, 1e-6, 1.0)
