"""Forces in closed chains: every body moves as Newton and Euler say, and drives share what they give."""

import numpy as np
import pytest

from armdyn import Robot, backend
from armdyn.model import ModelError
from closed_chains import closed_states, five_bar, four_bar, four_bar_table, random_loop
from golden_messages import golden_error

SEEDS = [2, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(40) if seed != 2)]


@pytest.fixture(autouse=True)
def _evaluated():
    with backend("evaluator"):  # each robot is used once: not worth compiling
        yield


def along_axes(robot: Robot, wrenches: np.ndarray) -> np.ndarray:
    """(samples, joints): what of the wrench in each joint acts along or about its axis."""
    found = []
    for body, of_joint in zip(robot.mechanism.bodies, np.moveaxis(wrenches, 1, 0), strict=True):
        axis = np.array(body.R_after, float).T @ np.array(body.axis, float)
        found.append(of_joint[:, 3:] @ axis if body.joint == "revolute" else of_joint[:, :3] @ axis)
    return np.array(found).T


@pytest.mark.parametrize("seed", SEEDS)
def test_passive_joints_bear_only_what_friction_and_springs_do_along_their_axes(seed):
    robot = random_loop(seed, motors=False)
    q, qd, qdd = closed_states(robot, np.random.default_rng(seed))
    wrench = np.random.default_rng(seed).normal(size=(len(q), 6)) * 5
    borne = along_axes(robot, robot.joint_wrenches(q, qd, qdd, wrench))
    positions, speeds = robot.joint_positions(q), robot.joint_velocities(qd, q=q)
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    free = list(robot.mechanism.free)
    expected = np.zeros_like(borne)
    expected[:, free] = tau
    for j, surface in enumerate(robot.mechanism.joint_friction):
        if j not in free:
            expected[:, j] = 0
        rubs = np.array([float(surface.torque(v)) for v in speeds[:, j]])
        expected[:, j] -= rubs
    for spring in robot.mechanism.springs:
        j = spring.joint
        expected[:, j] -= spring.stiffness * positions[:, j] - spring.moment
    loads = [j for j, s in enumerate(robot.mechanism.joint_friction) if s.has_load]
    rest = [j for j in range(borne.shape[1]) if j not in loads]
    scale = np.abs(borne).max()
    assert np.abs(borne - expected)[:, rest].max() < 1e-9 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_loop_transmits_moves_the_opened_tree_alike(seed):
    robot = random_loop(seed)
    q, qd, qdd = closed_states(robot, np.random.default_rng(seed))
    loop, tree = robot.model.loops[0], opened(robot)
    transmitted = robot.loop_wrenches(q, qd, qdd)[:, 0]
    y, yd = robot.assembly(q), robot.assembly.velocities(q, qd)
    step = 1e-5  # accelerations of all positions by central differences of their velocities
    ahead = robot.assembly.velocities(q + step * qd + step**2 / 2 * qdd, qd + step * qdd)
    behind = robot.assembly.velocities(q - step * qd + step**2 / 2 * qdd, qd - step * qdd)
    ydd = (ahead - behind) / (2 * step)
    wrenches = {}
    T_a = tree.pose(y, loop.between[0]) @ frame(loop.at[0])
    for sign, name, at in zip((1, -1), loop.between, loop.at, strict=True):
        T = tree.pose(y, name)
        R, arm = T_a[:, :3, :3], T[:, :3, :3] @ frame(at)[:3, 3]
        force = sign * np.einsum("sij,sj->si", R, transmitted[:, :3])
        moment = sign * np.einsum("sij,sj->si", R, transmitted[:, 3:])
        wrenches[name] = np.concatenate([force, moment + np.cross(arm, force)], axis=1)
    tau = tree.inverse_dynamics(y, yd, ydd, wrenches)
    given = np.zeros_like(tau)
    given[:, list(robot.mechanism.free)] = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau - given).max() < 1e-6 * np.abs(tau).max()


def opened(robot: Robot) -> Robot:
    """The tree without its loops, every joint a coordinate."""
    from dataclasses import replace

    return Robot(replace(robot.model, loops=(), choice=None))


def frame(T) -> np.ndarray:
    found = np.eye(4)
    found[:3, :3] = [[float(x.value()) if hasattr(x, "value") else float(x) for x in row] for row in T.R]
    found[:3, 3] = [float(x.value()) if hasattr(x, "value") else float(x) for x in T.p]
    return found


def test_as_many_drives_as_coordinates_give_the_torques_themselves():
    robot = five_bar()
    q, qd, qdd = closed_states(robot, np.random.default_rng(0))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.array_equal(robot.actuator_torques(q, tau), tau)
    assert robot.actuated == ("left arm", "right arm")


def test_redundant_drives_share_with_the_least_sum_of_squares():
    table = four_bar_table()
    table["link"][2]["actuated"] = True
    robot, plain = Robot.from_dict(table), four_bar()
    q, qd, qdd = closed_states(robot, np.random.default_rng(1))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau - plain.inverse_dynamics(q, qd, qdd)).max() < 1e-12
    given = robot.actuator_torques(q, tau)
    ratio = robot.joint_velocities(np.ones_like(q), q=q)[:, 2]
    assert robot.actuated == ("crank", "rocker")
    assert np.abs(given[:, 0] + ratio * given[:, 1] - tau[:, 0]).max() < 1e-12  # the same power
    assert np.abs(given[:, 1] - ratio * given[:, 0]).max() < 1e-12  # along the row (1, ratio): the shortest
    borne = along_axes(robot, robot.joint_wrenches(q, qd, qdd))
    assert np.abs(borne[:, [0, 2]] - given).max() < 1e-12
    assert np.abs(borne[:, 1]).max() < 1e-12


def test_robots_without_loops_have_none_of_it():
    robot = Robot.load("planar")
    with golden_error(ModelError):
        robot.loop_wrenches([0, 0], [0, 0], [0, 0])
    with golden_error(ModelError):
        robot.assembly_modes([0, 0])
