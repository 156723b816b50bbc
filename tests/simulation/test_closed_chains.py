"""Robots with loops: they stay closed, keep their energy, stop where joints stop following, and obey."""

from dataclasses import replace

import numpy as np
import pytest

import armdyn
from armdyn import (
    AdaptiveControl,
    ComputedTorque,
    FrictionCompensation,
    GravityCompensation,
    MomentumObserver,
    MotorPD,
    OperationalControl,
    PDGravity,
    Robot,
    Trajectory,
    linearize,
    simulate,
)
from armdyn.motion import MotionError
from armdyn.motion.loads import Carried, Load
from armdyn.robot.closing import Closed
from armdyn.simulation import SimulationError, SimulationWarning, TipPoint
from arms import slowly
from closed_chains import bar, five_bar, five_bar_table, four_bar, four_bar_table, random_loop, reference
from golden_messages import golden_error, golden_warning

FIVE = five_bar()
START = reference(FIVE)
MOVE = Trajectory.quintic(START, START + np.array([0.3, -0.2]), 0.5)
pytestmark = pytest.mark.filterwarnings("ignore::armdyn.PhysicsWarning")
METHODS = pytest.mark.parametrize("method", ["adaptive", "rk4"])


def gap(run) -> float:
    """How far loops gape, in parts of the robot's size."""
    return float(
        np.abs(Closed.of(run.robot.model)(run.positions.reshape(-1, run.positions.shape[-1]))[0]).max()
    )


def stopped(robot, *given, **settings):
    """A run that a singular posture stops."""
    with golden_warning(SimulationWarning) as warned:
        run = simulate(robot, *given, **settings)
    assert len(warned) == 1
    assert not run.completed
    return run


# ---- motion ------------------------------------------------------------------------------------------------


@METHODS
def test_a_four_bar_keeps_its_energy_and_its_loop(method: str) -> None:
    robot = four_bar()
    run = simulate(robot, 1.0, 12.0, 1.0, method=method, output=0.02)
    assert run.completed
    assert run.q[-1, 0] - run.q[0, 0] > 2 * np.pi
    assert np.ptp(run.energy) < 1e-6
    assert gap(run) < 1e-12
    assert np.abs(run.balance).max() < 1e-6
    turns = (run.joints - robot.joint_positions(run.q)) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-10)
    assert np.abs(np.diff(run.joints, axis=0)).max() < 1  # no joint jumps by a turn


@pytest.mark.slow
def test_a_four_bar_of_sixty_seconds() -> None:
    robot = four_bar()
    for speed in (0.0, 12.0):  # it swings, and it turns
        run = simulate(robot, 1.0, speed, 60.0, output=0.01)
        assert run.completed
        assert gap(run) < 1e-8
        assert np.ptp(run.energy) < 1e-6 * np.abs(run.kinetic).max()
    assert np.ptp(run.q) > 100 * 2 * np.pi
    turns = (run.joints - robot.joint_positions(run.q)) / (2 * np.pi)
    np.testing.assert_allclose(turns, np.rint(turns), atol=1e-9)


@pytest.mark.slow
@METHODS
@pytest.mark.parametrize("seed", range(4))
def test_random_loops_keep_their_energy(method: str, seed: int) -> None:
    robot = random_loop(seed, friction=False)
    q0 = reference(robot)
    run = simulate(robot, q0, 0.1, 0.02, np.full(robot.n, 0.1), method=method, step=1e-4, output=1e-3)
    assert len(run.t) > 3
    assert gap(run) < 1e-10
    assert np.nanmax(np.abs(run.balance)) < 1e-7 * max(1.0, np.nanmax(np.abs(run.kinetic)))
    qdd = robot.forward_dynamics(run.q[0], run.qd[0], run.tau[0])
    np.testing.assert_allclose((run.qd[1] - run.qd[0]) / 1e-3, qdd, rtol=0.05, atol=0.05 * np.abs(qdd).max())


def parallelogram(closure: list[dict]) -> Robot:
    """A crank, a coupler on it, and a rocker as long as the crank."""
    links = [
        bar("crank", "base", 0.5, 0, guess=1.2, friction={"viscous": 0.2}),
        bar("coupler", "crank", 0.8, 0.5, guess=-1.2, actuated=False, friction={"viscous": 0.3}),
        bar("rocker", "base", 0.5, 0.8, guess=1.2, actuated=False),
    ]
    table = {"name": "parallelogram", "convention": "frames", "gravity": [0.5, -9.81, 0], "tip": "coupler"}
    return Robot.from_dict(table | {"link": links, "closure": closure})


@pytest.mark.slow
def test_a_parallelogram_by_a_loop_and_by_relations() -> None:
    ends = {"between": ["coupler", "rocker"], "at": [{"xyz": [0.8, 0, 0]}, {"xyz": [0.5, 0, 0]}]}
    by_loop = parallelogram([ends | {"joint": "revolute"}])
    by_relations = parallelogram(
        [{"relation": {"coupler": 1, "crank": 1}}, {"relation": {"rocker": 1, "crank": -1}}]
    )
    runs = [
        simulate(robot, 1.8, 1.0, 0.3, 2.0 + np.zeros(1), output=0.01) for robot in (by_loop, by_relations)
    ]
    for name in ("q", "qd", "joints", "energy", "dissipated"):
        np.testing.assert_allclose(*(getattr(run, name) for run in runs), atol=1e-9)


@pytest.mark.slow
@METHODS
def test_arms_of_a_batch_move_as_alone(method: str) -> None:
    starts = START + np.array([[0.0, 0.0], [0.1, -0.05], [-0.05, 0.1]])
    run = simulate(FIVE, starts, 0.2, 0.1, method=method, output=0.01)
    for k, q0 in enumerate(starts):
        alone = simulate(FIVE, q0, 0.2, 0.1, method=method, output=0.01)
        np.testing.assert_array_equal(run.q[:, k], alone.q)
        np.testing.assert_array_equal(run.joints[:, k], alone.joints)
    with armdyn.backend("evaluator"):
        other = simulate(FIVE, starts, 0.2, 0.1, method=method, output=0.01)
    np.testing.assert_allclose(other.positions, run.positions, atol=1e-12)


@pytest.mark.slow
def test_another_assembly_mode_is_that_of_the_positions_given() -> None:
    robot = four_bar()
    y = robot.assembly(np.array([1.0]))
    other = next(mode for mode in robot.assembly_modes([1.0]) if np.abs(mode - y).max() > 0.1)
    run = simulate(robot, other, 1.0, 0.3, output=0.01)
    np.testing.assert_allclose(run.positions[0], other, atol=1e-9)
    same = simulate(robot.with_posture(other), 1.0, 1.0, 0.3, output=0.01)
    np.testing.assert_allclose(run.q, same.q, atol=1e-10)
    assert np.abs(simulate(robot, 1.0, 1.0, 0.3, output=0.01).q - run.q).max() > 0.01
    assert np.ptp(run.energy) < 1e-8


def test_a_start_that_is_none_is_refused() -> None:
    with pytest.raises(SimulationError, match=r"q0: all positions are given, .* stays open by 0.441 m"):
        simulate(FIVE, [2.2, -1.0, 0.9, 1.0], 0, 0.1)
    with pytest.raises(SimulationError, match=r"q0: q = \[3.1, 0\]: the loop .* stays open"):
        simulate(FIVE, [3.1, 0.0], 0, 0.1)
    with golden_error(SimulationError):
        simulate(FIVE, [1.0, 2.0, 3.0], 0, 0.1)


# ---- singular postures -------------------------------------------------------------------------------------


def double_rocker() -> Robot:
    """No link of it turns all the way round: the crank comes to an end where coupler and rocker stretch."""
    table = four_bar_table()
    table["link"] = [
        bar("crank", "base", 0.6, 0, guess=1.2),
        bar("coupler", "crank", 0.5, 0.6, guess=-0.5, actuated=False),
        bar("rocker", "base", 0.5, 1.2, guess=2.0, actuated=False),
    ]
    table["closure"][0]["at"] = [{"xyz": [0.5, 0, 0]}, {"xyz": [0.5, 0, 0]}]
    return Robot.from_dict(table)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_a_crank_stops_at_its_dead_centre(method: str) -> None:
    robot = double_rocker()
    run = stopped(robot, reference(robot), 2.0, 3.0, method=method, output=0.01)
    end = np.arccos((0.6**2 + 1.2**2 - 1) / (2 * 0.6 * 1.2))  # coupler and rocker in a line
    assert "the joint 'rocker' does not follow from 'crank'" in run.message
    assert 0.15 < run.t[-1] < 0.21
    assert end - 2e-3 < run.q[-1, 0] < end
    assert gap(run) < 1e-12


@pytest.mark.slow
@METHODS
def test_a_stretched_five_bar_stops_and_other_arms_go_on(method: str) -> None:
    run = stopped(FIVE, [START, START], 0, 0.4, [[0, 0], FIVE.gravity(START)], method=method, output=0.01)
    assert "arm (0,): it comes to a singular posture: the joint 'right forearm'" in run.message
    assert np.isnan(run.q[-1, 0]).all()
    np.testing.assert_allclose(run.q[-1, 1], START, atol=1e-9)


@pytest.mark.slow
@METHODS
@pytest.mark.parametrize("speed", [1.0, 5.0])
def test_a_flat_parallelogram_is_not_passed(method: str, speed: float) -> None:
    ends = {"between": ["coupler", "rocker"], "at": [{"xyz": [0.8, 0, 0]}, {"xyz": [0.5, 0, 0]}]}
    robot = parallelogram([ends | {"joint": "revolute"}])
    run = stopped(robot, 0.5, -speed, 3.0, np.array([3.0]), method=method, output=0.001)
    assert 0 <= run.q[-1, 0] < 0.1


# ---- friction and limits -----------------------------------------------------------------------------------


@pytest.mark.slow
@METHODS
def test_dry_friction_of_coordinates_sticks(method: str) -> None:
    robot = five_bar(friction={"viscous": 0.1, "coulomb": 0.5})
    held = FIVE.gravity(START)
    run = simulate(robot, START, [0.5, -0.2], 0.3, held, method=method, output=0.01, step=1e-4)
    assert "joint 2 ('right arm')" in [event.surface for event in run.events if event.kind == "stick"]
    assert np.abs(run.balance).max() < 1e-6
    still = simulate(robot, START, 0, 0.2, held + np.array([0.3, -0.4]), method=method)
    np.testing.assert_array_equal(still.q[-1], START)
    np.testing.assert_allclose(still.positions[-1], robot.assembly(START), atol=1e-12)


@pytest.mark.slow
def test_friction_of_joints_that_follow() -> None:
    table = five_bar_table()
    table["link"][1]["friction"] = {"viscous": 0.3}
    run = simulate(Robot.from_dict(table), START, 0, 0.2)
    speeds = run.robot.joint_velocities(run.qd, run.q)[:, 1]
    lost = np.trapezoid(0.3 * speeds**2, run.t)
    assert lost > 0.1
    assert abs(run.dissipated[-1] - lost) < 1e-5
    assert np.abs(run.balance).max() < 1e-8
    table["link"][1]["friction"] = {"coulomb": 0.3}
    with golden_error(SimulationError):
        simulate(Robot.from_dict(table), START, 0, 0.2)


@pytest.mark.slow
@METHODS
def test_limits_of_joints_that_follow(method: str) -> None:
    table = five_bar_table()
    table["link"][1]["limits"] = {"position": [-1.5, 1.0]}
    robot = Robot.from_dict(table)
    with golden_warning(SimulationWarning):
        run = simulate(robot, START, 0, 0.25, method=method, limits="stop")
    assert run.limits_passed[0].limit == -1.5
    np.testing.assert_allclose(run.joints[-1, 1], -1.5, atol=1e-6 if method == "adaptive" else 1e-2)
    with golden_error(SimulationError):
        simulate(robot, START + np.array([0.5, -0.5]), 0, 0.25, method=method, limits="stop")


# ---- control -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_computed_torque_tracks_a_five_bar() -> None:
    run = simulate(FIVE, START, 0, 0.5, ComputedTorque(FIVE, MOVE, stiffness=400.0), output=0.01)
    np.testing.assert_allclose(run.q, MOVE(run.t)[0], atol=1e-8)
    torques = FIVE.inverse_dynamics(*MOVE(run.t))
    np.testing.assert_allclose(run.tau, torques, atol=1e-6)
    sampled = simulate(
        FIVE, START, 0, 0.5, ComputedTorque(FIVE, MOVE, 400.0, rate=1000.0), method="rk4", output=0.01
    )
    np.testing.assert_allclose(sampled.q, MOVE(sampled.t)[0], atol=2e-4)


@pytest.mark.slow
def test_other_controllers_of_a_five_bar() -> None:
    held = simulate(FIVE, START, 0, 0.3, GravityCompensation(FIVE))
    np.testing.assert_allclose(held.q[-1], START, atol=1e-12)
    for controller in (
        PDGravity(FIVE, MOVE, 5000.0, 300.0) + FrictionCompensation(FIVE),
        AdaptiveControl(FIVE, MOVE, ["m1", "mx1"]),
    ):
        run = simulate(FIVE, START, 0, 0.5, controller, output=0.01)
        np.testing.assert_allclose(run.q, MOVE(run.t)[0], atol=2e-3)
        assert np.abs(run.balance).max() < 1e-8
    place = FIVE.pose(START)[:3, 3] + np.array([0.05, -0.03, 0])
    run = simulate(FIVE, START, 0, 2.0, OperationalControl(FIVE, TipPoint(place)), output=0.1)
    np.testing.assert_allclose(FIVE.pose(run.q[-1])[:3, 3], place, atol=1e-7)
    with golden_error(SimulationError):
        simulate(Robot.load("planar"), 0, 0, 0.1, GravityCompensation(FIVE))


@pytest.mark.slow
def test_loads_change_along_the_way() -> None:
    load = Carried(0.2, 0.5, Load.of(2.0, [0.02, -0.01, 0.1]))
    motion = Trajectory(replace(MOVE.motion, loads=(load,)), MOVE.step)
    run = simulate(FIVE, START, 0, 0.5, ComputedTorque(FIVE, motion, stiffness=400.0), output=0.01)
    np.testing.assert_allclose(run.q, MOVE(run.t)[0], atol=1e-8)
    assert run.positions.shape == (*run.q.shape[:-1], 4)
    assert gap(run) < 1e-12
    assert np.abs(run.balance).max() < 1e-7


@pytest.mark.slow
def test_an_observer_of_a_five_bar_feels_the_wrench() -> None:
    wrench = np.array([1.0, 2.0, 0, 0, 0, 0])
    run = simulate(FIVE, START, 0, 0.2, PDGravity(FIVE, START, 2000.0, 200.0), wrench=wrench)
    residual = MomentumObserver(FIVE, 50.0, 1e-3).run(run.q, run.qd, run.tau).residual[-1]
    np.testing.assert_allclose(residual, -FIVE.jacobian(run.q[-1]).T @ wrench, atol=1e-3)


@pytest.mark.slow
def test_a_linear_system_moves_as_the_five_bar() -> None:
    system = linearize(FIVE, START)
    off = np.array([1e-5, -2e-5, 0, 0])
    run = simulate(FIVE, START + off[:2], 0, 0.1, FIVE.gravity(START), output=0.1)
    step = system.discrete(0.1)
    np.testing.assert_allclose(run.q[-1] - START, (step.A @ off)[:2], atol=1e-8)


# ---- what else a robot may have ----------------------------------------------------------------------------


@pytest.mark.slow
@METHODS
def test_springs_of_a_crank_that_turns_keep_the_energy(method: str) -> None:
    table = four_bar_table()
    table["link"][1]["spring"] = {"stiffness": 0.5, "rest": 0.2}  # winds up with every turn
    ends = {"between": ["base", "rocker"], "at": [[0.5, 0.9, 0], [0.4, 0, 0]]}
    table["spring"] = [ends | {"stiffness": 30, "rest": 0.2}]
    run = simulate(Robot.from_dict(table), 1.0, 25.0, 1.0, method=method, output=0.01, step=5e-4)
    assert np.ptp(run.q) > 3 * np.pi
    assert np.ptp(run.energy) < (1e-6 if method == "adaptive" else 1e-5)


@pytest.mark.slow
def test_elastic_joints_of_a_loop_move_and_their_controller_is_refused() -> None:
    motor = {"gear": 50, "inertia": 1e-4, "stiffness": 5000, "damping": 2.0}
    robot = five_bar(motor=motor)
    run = simulate(robot, [*START, *START], 0, 0.1, output=0.01)
    assert np.abs(run.balance).max() < 1e-6
    assert np.abs(run.q[-1, :2] - run.q[-1, 2:]).max() > 1e-5  # transmissions give way
    with golden_error(MotionError):
        MotorPD(robot, START, 100.0, 10.0)


@pytest.mark.slow
@METHODS
def test_relations_beside_a_loop(method: str) -> None:
    table = four_bar_table()
    rubs = {"viscous": 0.2, "coulomb": 0.1}
    table["link"].append(bar("finger", "coupler", 0.2, 0.9, actuated=False, friction=rubs))
    table["closure"].append({"relation": {"finger": 1, "crank": 0.5}})
    run = simulate(Robot.from_dict(table), 1.0, 3.0, 0.5, method=method, output=0.01)
    np.testing.assert_allclose(run.joints[:, 3], -0.5 * run.q[:, 0], atol=1e-12)
    assert np.abs(run.balance).max() < 1e-6
    assert run.dissipated[-1] > 0.1


def test_steps_that_are_too_long_do_not_open_loops_unseen() -> None:
    with golden_warning(SimulationWarning):
        run = simulate(four_bar(), 1.0, 12.0, 3.0, method="rk4", step=0.1)
    assert not run.completed
    assert gap(run) < 1e-12
