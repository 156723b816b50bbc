"""Controllers: targets reached, trajectories followed, laws against the robot's own functions, batches."""

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.motion import Trajectory
from armdyn.simulation import (
    ComputedTorque,
    OperationalControl,
    PDGravity,
    SimulationError,
    TipLine,
    TipPoint,
    simulate,
)
from arms import slowly
from golden_messages import golden_error
from sliders import slider, without_friction

PANDA = Robot.load("panda")
PUMA = Robot.load("puma560")
PLANAR = Robot.load("planar")
READY = np.array([0, 0.3, 0, -1.5, 0, 1.8, 0])
THERE = READY + np.array([0.5, -0.4, 0.3, 0.4, -0.6, 0.3, 1.0])
STIFFNESS, DAMPING = np.array([600, 600, 400, 400, 100, 60, 30.0]), np.array([60, 60, 40, 40, 10, 2, 0.5])


def still(robot):
    return np.zeros(robot.n)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_pd_with_gravity_compensation_reaches_its_set_point(method):
    controller = PDGravity(PANDA, THERE, STIFFNESS, DAMPING)
    run = simulate(PANDA, READY, still(PANDA), 4.0, controller, method=method, output=0.1)
    np.testing.assert_allclose(run.q[-1], THERE, atol=1e-4)
    np.testing.assert_allclose(run.tau[-1], PANDA.gravity(THERE), atol=1e-2)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_computed_torque_follows_a_trajectory_and_corrects_a_wrong_start(method):
    """Errors obey ë + K_D ė + K_P e = 0: e(t) = e₀ (1 + ωt) e^{−ωt} with critical damping."""
    trajectory = Trajectory.quintic(READY, THERE, 1.0)
    wrong = np.linspace(-0.2, 0.2, 7)
    controller = ComputedTorque(PANDA, trajectory, stiffness=64.0)
    run = simulate(PANDA, READY + wrong, still(PANDA), 1.5, controller, method=method, output=0.05)
    fading = (1 + 8 * run.t) * np.exp(-8 * run.t)
    error = run.q - trajectory(run.t)[0]
    np.testing.assert_allclose(error, fading[:, None] * wrong, atol=1e-7)
    assert np.abs(run.balance).max() < 1e-6


@pytest.mark.slow
def test_computed_torque_with_friction_follows_to_rounding():
    """The PUMA with all its friction; the target never rests on the way."""
    start, end = np.array([0, 0.5, -0.5, 0.2, 0.3, 0]), np.array([0.8, 1.2, 0.3, 1, 1.2, 1])
    trajectory = Trajectory.cubic(start, end, 1.0, np.full(6, 0.5), np.full(6, 0.5))
    controller = ComputedTorque(PUMA, trajectory, rate=None)
    q, qd, _ = trajectory(0.0)
    run = simulate(PUMA, q, qd, 1.0, controller, output=0.05)
    np.testing.assert_allclose(run.q, trajectory(run.t)[0], atol=1e-7)
    assert run.dissipated[-1] > 1.0
    without = simulate(PUMA, q, qd, 1.0, ComputedTorque(PUMA, trajectory, friction=False), output=0.05)
    assert np.abs(without.q - trajectory(run.t)[0]).max() > 1e-2


@pytest.mark.slow
def test_a_wrong_model_leaves_an_error_and_a_stiffer_controller_a_smaller_one():
    heavier = PANDA.with_payload(3.0, (0, 0, 0.1))
    errors = []
    for stiffness in (50.0, 200.0):
        run = simulate(
            heavier,
            READY,
            still(PANDA),
            3.0,
            ComputedTorque(PANDA, READY, stiffness),
            method="rk4",
            output=0.5,
        )
        errors.append(np.abs(run.q[-1] - READY).max())
    assert errors[0] > 0.02
    assert 3 < errors[0] / errors[1] < 5


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_operational_control_takes_the_tip_along_a_line_and_keeps_its_rotation(method):
    pose = PANDA.pose(READY)
    line = TipLine(pose[:3, 3], pose[:3, 3] + [0.1, 0.2, -0.15], 1.0, rotation=pose[:3, :3])
    run = simulate(
        PANDA, READY, still(PANDA), 1.5, OperationalControl(PANDA, line), method=method, output=0.05
    )
    found = PANDA.pose(run.q)
    np.testing.assert_allclose(found[:, :3, 3], line.position(run.t)[0], atol=1e-6)
    np.testing.assert_allclose(found[:, :3, :3], np.broadcast_to(pose[:3, :3], (31, 3, 3)), atol=1e-6)
    np.testing.assert_allclose(found[-1, :3, 3], pose[:3, 3] + [0.1, 0.2, -0.15], atol=1e-8)
    assert np.abs(run.qd[-1]).max() < 0.05  # null-space motion has been braked


@pytest.mark.slow
def test_operational_control_turns_the_tip_and_keeps_its_place():
    """A quarter of a radian about an axis; redundant arm, drawn to a posture meanwhile."""
    pose, a = PANDA.pose(READY), 0.25
    turn = np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])
    target = TipPoint(pose[:3, 3], rotation=turn @ pose[:3, :3])
    controller = OperationalControl(PANDA, target, posture=READY + 0.1, null_stiffness=20.0)
    run = simulate(PANDA, READY, still(PANDA), 3.0, controller, method="rk4", output=0.5)
    np.testing.assert_allclose(PANDA.pose(run.q[-1])[:3, :3], turn @ pose[:3, :3], atol=1e-8)
    np.testing.assert_allclose(PANDA.pose(run.q[-1])[:3, 3], pose[:3, 3], atol=1e-8)


def test_a_planar_arm_is_controlled_in_its_plane():
    place = PLANAR.pose([0.5, 1.0])[:3, 3]
    run = simulate(PLANAR, [0.2, 0.3], [0, 0], 3.0, OperationalControl(PLANAR, TipPoint(place)), output=0.1)
    np.testing.assert_allclose(PLANAR.pose(run.q[-1])[:3, 3], place, atol=1e-9)
    with golden_error(SimulationError):
        OperationalControl(PLANAR, TipPoint(place, rotation=np.eye(3)))


@pytest.mark.parametrize("start", [[0.3, 0.4], [0.0, 0.0]])
def test_out_of_reach_and_from_a_singularity_the_arm_stays_tame(start):
    """The target lies beyond the stretched arm: it ends stretched towards it."""
    controller = OperationalControl(PLANAR, TipPoint([2.5, 0.2, 0]))
    run = simulate(PLANAR, start, [0, 0], 3.0, controller, output=0.1)
    assert run.completed
    assert np.abs(run.qd).max() < 50
    np.testing.assert_allclose(run.q[-1], [np.arctan2(0.2, 2.5), 0], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("away", [pytest.param(1.3, marks=pytest.mark.slow), 3.0])
@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_a_target_far_out_of_reach_does_not_tear_at_the_arm(away, method):
    goal = PANDA.pose(READY)[:3, 3] + away * np.array([1.0, 0.3, 0.2])
    control = OperationalControl(PANDA, TipPoint(goal))
    run = simulate(PANDA, READY, 0 * READY, 4.0, control, method=method, limits="ignore")
    assert run.completed
    assert np.abs(run.qd).max() < 50
    assert np.abs(run.qd[-1]).max() < 0.1
    shoulder = np.array([0, 0, 0.333])
    tip = PANDA.pose(run.q[-1])[:3, 3] - shoulder
    assert tip @ (goal - shoulder) > 0.99 * np.linalg.norm(tip) * np.linalg.norm(goal - shoulder)


# ---- the laws ----------------------------------------------------------------------------------------------


def test_laws_and_the_robots_functions():
    rng = np.random.default_rng(4)
    q, qd = rng.uniform(-1, 1, (2, 3, 7))
    quiet = without_friction(PANDA)
    kp, kd = rng.uniform(1, 9, (2, 7))
    pd = PDGravity(PANDA, THERE, kp, kd)
    np.testing.assert_allclose(pd(0.0, q, qd), PANDA.gravity(q) + kp * (THERE - q) - kd * qd, atol=1e-11)
    asked = kp * (THERE - q) - kd * qd
    ct = ComputedTorque(quiet, THERE, kp, kd)
    np.testing.assert_allclose(ct(0.0, q, qd), quiet.inverse_dynamics(q, qd, asked), atol=1e-10)
    target = TipPoint([0.3, 0.2, 0.4])
    op = OperationalControl(quiet, target, 30.0, 7.0, null_damping=0.0, furthest=np.inf, damped=0.0)
    J, B = quiet.jacobian(q)[:, :3], quiet.inertia(q)
    wanted = 30 * ([0.3, 0.2, 0.4] - quiet.pose(q)[:, :3, 3]) - 7 * np.einsum("aij,aj->ai", J, qd)
    bias = np.einsum("aij,aj->ai", quiet.jacobian_dot(q, qd)[:, :3], qd)
    lam = np.linalg.inv(J @ np.linalg.inv(B) @ J.transpose(0, 2, 1))
    tau = np.einsum("aji,ajk,ak->ai", J, lam, wanted - bias) + quiet.inverse_dynamics(q, qd, 0 * q)
    np.testing.assert_allclose(op(0.0, q, qd), tau, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_null_space_torques_do_not_move_the_tip():
    rng = np.random.default_rng(8)
    q, qd = rng.uniform(-1, 1, (2, 7))
    target = TipPoint([0.3, 0.2, 0.4])
    plain = OperationalControl(PANDA, target, null_damping=0.0, damped=0.0)
    braked = OperationalControl(PANDA, target, null_damping=30.0, damped=0.0)
    J = PANDA.jacobian(q)[:3]
    accelerations = [PANDA.forward_dynamics(q, qd, c(0.0, q, qd)) for c in (plain, braked)]
    assert np.abs(accelerations[0] - accelerations[1]).max() > 1
    np.testing.assert_allclose(J @ accelerations[0], J @ accelerations[1], atol=1e-9)


def test_torques_stay_within_the_robots_limits():
    limits = np.array([87, 87, 87, 87, 12, 12, 12.0])
    hard = ComputedTorque(PANDA, THERE + 1, stiffness=2000.0, saturated=True)
    run = simulate(PANDA, READY, still(PANDA), 0.2, hard, method="rk4")
    assert (np.abs(run.tau) <= limits).all()
    assert (np.abs(run.tau) == limits).any()


@pytest.mark.slow
def test_gains_and_set_points_of_each_arm_of_a_batch():
    rng = np.random.default_rng(9)
    targets, stiffness = rng.uniform(-0.3, 0.3, (5, 7)) + READY, rng.uniform(50, 200, (5, 1)) * np.ones(7)
    controller = ComputedTorque(PANDA, targets, stiffness)
    for method in ("rk4", "adaptive"):
        run = simulate(
            PANDA, np.tile(READY, (5, 1)), still(PANDA), 0.2, controller, method=method, output=0.1
        )
        for k in range(5):
            own = ComputedTorque(PANDA, targets[k], stiffness[k])
            alone = simulate(PANDA, READY, still(PANDA), 0.2, own, method=method, output=0.1)
            np.testing.assert_allclose(run.q[:, k], alone.q, atol=1e-13)
            np.testing.assert_allclose(run.tau[:, k], alone.tau, atol=1e-11)


def test_a_controller_and_the_same_as_a_function():
    """Compiled with the dynamics, and called from Python at every stage."""
    trajectory = Trajectory.trapezoidal(READY, THERE, acceleration_time=0.03, duration=0.1)
    controller = ComputedTorque(PANDA, trajectory)
    q = READY + np.random.default_rng(2).uniform(-0.1, 0.1, (3, 7))
    compiled = simulate(PANDA, q, still(PANDA), 0.1, controller, method="rk4")
    called = simulate(PANDA, q, still(PANDA), 0.1, controller.__call__, method="rk4")
    np.testing.assert_allclose(compiled.q, called.q, atol=1e-12)
    np.testing.assert_allclose(compiled.tau, called.tau, atol=1e-8)
    np.testing.assert_allclose(compiled.torque_work, called.torque_work, atol=1e-10)


@pytest.mark.parametrize("kind", [slowly("pd"), "computed", slowly("operational")])
def test_compiled_and_evaluated_controllers(kind):
    controller = {
        "pd": PDGravity(PANDA, THERE, STIFFNESS, DAMPING, saturated=True),
        "computed": ComputedTorque(PANDA, Trajectory.quintic(READY, THERE, 1.0)),
        "operational": OperationalControl(PANDA, TipPoint(PANDA.pose(THERE)[:3, 3], np.eye(3))),
    }[kind]
    q = np.tile(READY, (9, 1)) + np.linspace(0, 0.1, 9)[:, None]
    compiled = simulate(PANDA, q, still(PANDA), 0.02, controller, method="rk4")
    with armdyn.backend("evaluator"):
        evaluated = simulate(PANDA, q, still(PANDA), 0.02, controller, method="rk4")
    np.testing.assert_allclose(compiled.q, evaluated.q, atol=1e-13)
    np.testing.assert_allclose(compiled.tau, evaluated.tau, atol=1e-8)


def test_a_friction_level_as_the_error_a_pd_controller_leaves():
    """With dry friction F the joint stops within F/K_P of its target, and stays."""
    robot = slider(2.0, 3.0)
    controller = PDGravity(robot, [0.5], 100.0, 20.0)
    for method in ("adaptive", "rk4"):
        run = simulate(robot, [0.0], [0.0], 3.0, controller, method=method)
        assert run.qd[-1] == 0
        assert 0 < abs(run.q[-1, 0] - 0.5) <= 3.0 / 100
        assert len(run.events) <= 4


POINT = TipPoint([0.4, 0.1, 0.5])

# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: PDGravity(PANDA, READY, -1.0, 1.0),
        lambda: PDGravity(PANDA, READY[:3], 1.0, 1.0),
        lambda: PDGravity(PANDA, READY * np.nan, 1.0, 1.0),
        lambda: ComputedTorque(PANDA, Trajectory.cubic([0.0], [1.0], 1.0)),
        lambda: ComputedTorque("panda", READY),
        lambda: OperationalControl(PANDA, [0, 0, 0]),
        lambda: PDGravity(PANDA, READY, "hard", 1.0),
        lambda: PDGravity(PANDA, READY, [1.0, 2.0], 1.0),
        lambda: ComputedTorque(PANDA, READY, "hard"),
        lambda: ComputedTorque(PANDA, None),
        lambda: OperationalControl(PANDA, POINT, posture=READY * np.nan),
        lambda: OperationalControl(PANDA, POINT, posture=[1.0]),
        lambda: OperationalControl(PANDA, POINT, np.ones(6)),
        lambda: OperationalControl(PANDA, POINT, damped="much"),
        lambda: OperationalControl(PANDA, POINT, damped=-1.0),
        lambda: TipPoint("here"),
        lambda: TipPoint([0, 0, 0], "up"),
        lambda: TipLine([0, 0, 0], [1, 0, 0], "long"),
        lambda: TipPoint([0, 0]),
        lambda: TipPoint([0, 0, 0], 2 * np.eye(3)),
        lambda: TipLine([0, 0, 0], [1, 0, 0], 0.0),
    ],
)
def test_controllers_that_make_no_sense_are_refused(make):
    with golden_error(SimulationError):
        make()


def test_stiffness_of_the_null_space_needs_a_posture():
    with pytest.raises(SimulationError, match=r"null_stiffness: found 5.0 without a posture"):
        OperationalControl(PANDA, TipPoint([0.3, 0.2, 0.4]), null_stiffness=5.0)
