"""Section 7.9 on bundled and random arms: (7.142)–(7.149), figure 7.15, problem 7.12."""

import numpy as np
import pytest
from hypothesis import assume

from armdyn import Robot, backend
from armdyn.analysis import dynamic_manipulability, force_ellipsoid, manipulability, velocity_ellipsoid
from arms import assert_same, generators, law, robots, state

ARMS = robots((2, 6), tree=False, friction=False)
POSTURES = {
    "planar": [0.3, 0.9],
    "planar3": [0.4, 0.6, -0.9],
    "panda": [0.1, 0.4, -0.3, -1.5, 0.2, 1.4, 0.6],
    "puma560": [0.2, -0.5, 0.4, 0.3, 0.8, -0.2],
}
KINDS = ("minimum_norm", "reachable")


@pytest.fixture(autouse=True)
def _evaluator():
    with backend("evaluator"):
        yield


@pytest.mark.parametrize("name", POSTURES)
def test_boundary_points_need_torques_of_unit_norm(name):
    """(7.147): with the joint accelerations of the derivation, through inverse dynamics."""
    robot, q = Robot.load(name), np.array(POSTURES[name])
    found = dynamic_manipulability(robot, q)
    points = found.boundary(25)
    J = robot.jacobian(q)[: found.m]
    fall = np.linalg.solve(robot.inertia(q), robot.gravity(q))
    qdd = (points + J @ fall) @ np.linalg.pinv(J).T - fall
    tau = robot.inverse_dynamics(q, np.zeros(robot.n), qdd)
    assert_same(np.linalg.norm(tau, axis=-1), np.ones(25), 1e-9)
    assert_same(qdd @ J.T, points, 1e-9)
    assert_same(found.joints(points), tau, 1e-9)


@pytest.mark.parametrize("name", POSTURES)
def test_boundary_points_satisfy_the_printed_equation(name):
    """(7.148)."""
    robot, q = Robot.load(name), np.array(POSTURES[name])
    found = dynamic_manipulability(robot, q)
    J, B = robot.jacobian(q)[: found.m], robot.inertia(q)
    off = found.boundary(15) + J @ np.linalg.solve(B, robot.gravity(q))
    core = np.linalg.pinv(J).T @ B.T @ B @ np.linalg.pinv(J)
    assert_same(np.einsum("ki,ij,kj->k", off, core, off), np.ones(15), 1e-9)


@pytest.mark.parametrize("name", POSTURES)
def test_reachable_points_are_reached_and_none_beyond(name):
    """Unit torques by forward dynamics: on the surface with the right torque, never outside."""
    robot, q = Robot.load(name), np.array(POSTURES[name])
    found = dynamic_manipulability(robot, q, kind="reachable")
    points = found.boundary(25)
    J = robot.jacobian(q)[: found.m]
    tau = found.joints(points)
    assert_same(np.linalg.norm(tau, axis=-1), np.ones(25), 1e-9)
    assert_same(robot.forward_dynamics(q, np.zeros(robot.n), tau) @ J.T, points, 1e-9)
    tau = np.random.default_rng(0).normal(size=(2000, robot.n))
    tau /= np.linalg.norm(tau, axis=-1, keepdims=True)
    off = robot.forward_dynamics(q, np.zeros(robot.n), tau) @ J.T - found.centre
    radius = np.linalg.norm(off @ found.axes / found.lengths, axis=-1)
    assert radius.max() <= 1 + 1e-9
    assert radius.max() > 0.95


def test_redundant_arms_reach_more_than_minimum_norm_accelerations():
    robot = Robot.load("planar3")
    q = np.random.default_rng(1).uniform(-2, 2, (20, 3))
    least, reach = (dynamic_manipulability(robot, q, kind=kind) for kind in KINDS)
    outward = np.linalg.norm(
        (least.boundary(40) - reach.centre[:, None]) @ reach.axes / reach.lengths[:, None], axis=-1
    )
    assert outward.max() <= 1 + 1e-9
    assert (reach.measure > 1.001 * least.measure).all()
    assert least.kind == "minimum_norm"
    assert "least norm" in least.description
    assert reach.kind == "reachable"
    assert "every tip acceleration" in reach.description


@law(ARMS, generators(), examples=8)
def test_both_sets_agree_without_redundant_joints(robot, rng):
    """(7.149)."""
    q, _, _ = state(robot, rng)
    rows = tuple(range(robot.n))
    J, B = robot.jacobian(q)[: robot.n], robot.inertia(q)
    assume(np.linalg.cond(J) < 1e4)
    least, reach = (dynamic_manipulability(robot, q, rows=rows, kind=kind) for kind in KINDS)
    assert_same(least.lengths, reach.lengths, 1e-9)
    core = np.linalg.inv(J).T @ B @ B @ np.linalg.inv(J)
    for found in (least, reach):
        rebuilt = found.axes / found.lengths**2 @ found.axes.T
        assert_same(rebuilt, core, 1e-7)
        assert_same(found.axes.T @ found.axes, np.eye(robot.n))
        assert_same(found.centre, -J @ np.linalg.solve(B, robot.gravity(q)), 1e-9)


@law(ARMS, generators(), examples=8)
def test_problem_7_12_dynamic_measure(robot, rng):
    """w_d = w / |det B| with w = |det J| (3.56)."""
    q, _, _ = state(robot, rng)
    rows = tuple(range(robot.n))
    J, B = robot.jacobian(q)[: robot.n], robot.inertia(q)
    assume(np.linalg.cond(J) < 1e6)
    w = manipulability(robot, q, rows=rows)
    assert float(w) == pytest.approx(abs(np.linalg.det(J)), rel=1e-8)
    for kind in KINDS:
        found = dynamic_manipulability(robot, q, rows=rows, kind=kind)
        assert float(found.measure) == pytest.approx(float(w) / np.linalg.det(B), rel=1e-8)


def test_figure_7_15_gravity_favours_accelerations_downward():
    """The centre lies below the origin for an arm held out, and the shape is that without gravity."""
    robot = Robot.load("planar3")
    rng = np.random.default_rng(2)
    q = np.stack([rng.uniform(-0.9, 0.9, 30), rng.uniform(-0.6, 0.6, 30), rng.uniform(-0.6, 0.6, 30)], -1)
    with_gravity, without = dynamic_manipulability(robot, q), dynamic_manipulability(robot, q, gravity=False)
    assert with_gravity.names == ("x", "y")
    assert (with_gravity.centre[:, 1] < -1).all()
    assert not without.centre.any()
    assert_same(with_gravity.lengths, without.lengths)
    fall = np.einsum(
        "kij,kj->ki", robot.jacobian(q)[:, :2], robot.forward_dynamics(q, np.zeros(3), np.zeros(3))
    )
    assert_same(with_gravity.centre, fall)


# ---- weights -----------------------------------------------------------------------------------------------


def test_torque_limits_give_the_accelerations_of_the_real_motors():
    robot, q = Robot.load("panda"), np.array(POSTURES["panda"])
    limit = np.array([87, 87, 87, 87, 12, 12, 12.0])
    J = robot.jacobian(q)[:3]
    for kind in KINDS:
        found = dynamic_manipulability(robot, q, weights="torque_limits", kind=kind)
        points = found.boundary(30)
        tau = found.joints(points)
        assert_same(np.linalg.norm(tau / limit, axis=-1), np.ones(30), 1e-9)
        if kind == "reachable":
            assert_same(robot.forward_dynamics(q, np.zeros(7), tau) @ J.T, points, 1e-9)
        assert_same(dynamic_manipulability(robot, q, weights=limit, kind=kind).lengths, found.lengths)
        assert "limits" in found.description


def test_equal_limits_only_stretch_the_ellipsoid():
    """planar has 3000 N m at both joints."""
    robot, q = Robot.load("planar"), POSTURES["planar"]
    unit, real, number = (
        dynamic_manipulability(robot, q, weights=weights) for weights in (None, "torque_limits", 3000)
    )
    assert_same(real.lengths, 3000 * unit.lengths)
    assert_same(number.lengths, real.lengths)
    assert_same(real.centre, unit.centre)


# ---- velocity and force ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POSTURES)
def test_velocity_and_force_ellipsoids_are_dual(name):
    """Same axes, lengths inverse to each other; joints of unit norm make their surfaces."""
    robot, q = Robot.load(name), np.array(POSTURES[name])
    velocity, force = velocity_ellipsoid(robot, q), force_ellipsoid(robot, q)
    assert_same(force.lengths, 1 / velocity.lengths[::-1], 1e-9)
    assert_same(np.abs(velocity.axes.T @ force.axes[:, ::-1]), np.eye(velocity.m), 1e-9)
    J = robot.jacobian(q)[: velocity.m]
    speeds = velocity.joints(velocity.boundary(20))
    assert_same(np.linalg.norm(speeds, axis=-1), np.ones(20), 1e-9)
    assert_same(speeds @ J.T, velocity.boundary(20), 1e-9)
    assert_same(np.linalg.norm(force.boundary(20) @ J, axis=-1), np.ones(20), 1e-9)


def test_planar_arm_in_closed_form():
    """w = a1 a2 |sin q2| of section 3.8, and det B for the dynamic measure."""
    robot = Robot.load("planar")
    q = np.random.default_rng(3).uniform(-3, 3, (40, 2))
    w = np.abs(np.sin(q[:, 1]))
    assert_same(manipulability(robot, q), w)
    assert_same(dynamic_manipulability(robot, q).measure, w / np.linalg.det(robot.inertia(q)))
