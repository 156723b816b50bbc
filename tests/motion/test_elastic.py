"""`elastic_feedforward`: torques of elastic joints along motions of the links, and what is refused."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from armdyn import (
    MotionError,
    Robot,
    Trajectory,
    backend,
    elastic_feedforward,
    inverse_kinematics,
    motor_loads,
    scale_to_limits,
    time_optimal,
)
from armdyn.motion import elastic
from armdyn.motion.elastic import Transmissions
from armdyn.motion.profiles import smooth
from arms import assert_same, difference, law, robots
from elastic_arms import geared_wrist, made_elastic, single, two_links
from golden_messages import golden_error

LINK, MOTOR = 0.02 + 2 * 0.3**2, 50**2 / 25000  # the two inertias of `single`, at the joint


@pytest.mark.parametrize("degree", [5, 7, 9])
def test_smooth_motions_have_no_derivatives_at_their_ends(degree: int) -> None:
    motion = smooth(0.3, -1.1, 0.8, degree)
    several = replace(motion, origins=motion.origins[:, None], coefficients=motion.coefficients[..., None])
    ends = several.derivatives(np.array([0.0, 0.8]), "after", (degree - 1) // 2)
    assert_same(ends[0][:, 0], [0.3, -1.1])
    assert not np.any(ends[1:])
    for side in ("before", "after"):  # the two halves are one polynomial
        middle = several.derivatives(np.array([0.4]), side, 4)
        assert_same([middle[0][0, 0], middle[2][0, 0]], [-0.4, 0.0], 1e-12)
    q = Trajectory.smooth([0.3], [-1.1], 0.8, degree)
    assert_same(q(0.2)[1], difference(lambda t: q(0.2 + t)[0], 1e-3), 1e-9)


def test_torque_of_a_single_link_and_its_formula() -> None:
    """θ = q + B q̈/K and τ = B q̈ + J θ̈ = (B + J) q̈ + J B q⁗/K, without gravity."""
    K = 150.0
    robot, motion = single(stiffness=K), Trajectory.smooth([0], [1], 0.6, degree=9)
    plan = elastic_feedforward(robot, motion)
    _, _, qdd, _, snap = motion.motion.evaluate.__self__.derivatives(motion.t)
    assert_same(plan.motor_positions, motion.q + LINK * qdd / K)
    assert_same(plan.torques[:, 1:], (LINK + MOTOR) * qdd + MOTOR * LINK * snap / K, 1e-10)
    assert not plan.torques[:, 0].any()
    assert_same(plan.motor_velocities[1:-1], np.gradient(plan.motor_positions, plan.t, axis=0)[1:-1], 1e-3)


@law(robots((1, 3), motors="any", rotors=("reflected",)), examples=4, thorough=30)
def test_motors_give_all_that_elastic_links_need(robot: Robot) -> None:
    """Random arms, rigid joints and coupled motors among them, smooth friction: D θ̇ + K θ is met.

    On the link of an elastic joint act its spring and what the motors coupled to it give, and nothing else.
    """
    with backend("evaluator"):
        check_links(robot)


def check_links(robot: Robot) -> None:
    quiet = [replace(link, friction=smoothed(link.friction)) for link in robot.model.links]
    quiet = [
        replace(link, motor=link.motor and replace(link.motor, friction=smoothed(link.motor.friction)))
        for link in quiet
    ]
    robot = Robot(made_elastic(replace(robot.model, links=tuple(quiet)), seed=5))
    locked = robot.with_rigid_joints().transmission
    if not robot.model.elastic or np.linalg.cond(locked) > 1e3:
        return
    joints = len(robot.model.moving)
    motion = Trajectory.smooth(np.linspace(-0.5, 0.5, joints), np.linspace(1, 0.2, joints), 0.7)
    plan = elastic_feedforward(robot, motion)
    at = plan.trajectory
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    elastic = [robot.model.moving.index(link) for link in robot.model.elastic]
    K = robot.transmission
    motor = np.linalg.lstsq(K.T, tau.T, rcond=None)[0].T
    assert np.abs(tau - motor @ K).max() < 1e-8 * np.abs(tau).max()
    assert_same(plan.torques, tau, 1e-8)
    assert_same(motor_loads(robot, at).torque, motor, 1e-6)
    assert_same(at.q[:, :joints], motion.q)
    for k in (1, 2):  # velocities and accelerations are those of the positions
        states = (at(0.31), at(0.52))
        rates = [difference(lambda t, t0=t0, k=k: at(t0 + t)[k - 1], 1e-3) for t0 in (0.31, 0.52)]
        assert_same([x[k] for x in states], rates, 1e-6)
    uncoupled = [j for j in elastic if not K[:, j].any()]
    assert not plan.torques[:, uncoupled].any()


def smoothed(friction):
    return friction.replaced({"coulomb": 0, "asymmetry": 0})


def test_growing_stiffness_and_inverse_dynamics_of_the_rigid_arm() -> None:
    motion, errors = Trajectory.smooth([0.2, -0.3], [1, 0.8], 0.8), []
    for K in (1e3, 1e4, 1e5):
        robot = two_links(stiffness=(int(K), int(K))).with_rotors("reflected")
        tau = elastic_feedforward(robot, motion).torques[:, 2:]
        errors.append(np.abs(tau - robot.with_rigid_joints().inverse_dynamics(*motion(motion.t))).max())
    assert 8 < errors[0] / errors[1] < 12
    assert 8 < errors[1] / errors[2] < 12


def test_vanishing_damping_and_none() -> None:
    """Stiff first-order equations: D/K from far below a step to far above it."""
    motion = Trajectory.through(np.array([[0.0], [1], [0.3]]), [0, 0.4, 0.9], kind="quintic")
    plain = elastic_feedforward(single(stiffness=200, gravity=True), motion)
    for D in (1e-6, 1e-4, 1e-2):
        plan = elastic_feedforward(single(stiffness=200, damping=D, gravity=True), motion)
        error = np.abs(plan.trajectory.q - plain.trajectory.q).max()
        assert error < 3 * D  # θ − q lags by D/K times its rate


def test_deflection_follows_a_known_solution() -> None:
    """T δ' + δ = sin ωt for T of a thousandth to a thousand times a step."""
    w, t = 7.0, np.linspace(0, 1, 201)
    n = [np.sin(w * t), w * np.cos(w * t), -w * w * np.sin(w * t)]
    for time in 5e-3 * 10.0 ** np.arange(-3, 4):
        found = elastic.follow(t, time, [x[:-1] for x in n], [x[1:] for x in n])
        a = w * time
        exact = (np.sin(w * t) - a * np.cos(w * t) + a * np.exp(-t / time)) / (1 + a * a)
        assert np.abs(found - exact).max() < 1e-11


def test_derivatives_of_torques_are_those_of_differences() -> None:
    """The recorded program derived twice, against differences along the motion."""
    robot = two_links().with_rotors("reflected")
    tied, profile = Transmissions(robot), Trajectory.smooth([0, 0], [1, -0.7], 1.0).motion.evaluate.__self__

    def at(t: float, k: int) -> np.ndarray:
        return tied.needed(profile.derivatives(np.array([t]), "after", 4)[:k])[0]

    for k in (4, 5):
        assert_same(at(0.37, k), difference(lambda t, k=k: at(0.37 + t, k - 1), 1e-3), 1e-8)


def test_couplings_that_do_not_determine_the_motors_are_refused() -> None:
    links = Trajectory.smooth([0, 0], [1, 1], 0.5)
    with_dry_friction = geared_wrist(friction={"coulomb": 0.1})
    assert "dry friction, and a coupling brings that to a spring" in refused(with_dry_friction, links)
    singular = geared_wrist(coupling=60, of_base=60)
    assert "drive only 1 of 2 joints independently where the springs are locked" in refused(singular, links)


def test_plans_are_values() -> None:
    robot = single(damping=1, gravity=True)
    plan = elastic_feedforward(robot, Trajectory.smooth([0], [1], 0.5))
    again = pickle.loads(pickle.dumps(plan))
    assert again.trajectory == plan.trajectory
    assert_same(again(0.3), plan(0.3))
    assert_same(plan([0.1, 0.2]), np.stack([plan(0.1), plan(0.2)]))
    loads = motor_loads(robot, plan.trajectory)
    assert_same(loads.torque[:, 0] * 50, plan.torques[:, 1], 1e-9)


def refused(robot: Robot, motion: Trajectory | None = None) -> str:
    with pytest.raises(MotionError) as found:
        elastic_feedforward(robot, motion or Trajectory.smooth([0] * robot.model.n, [1] * robot.model.n, 1))
    return str(found.value)


def test_what_has_no_feedforward_is_refused_with_its_reason() -> None:
    robot = two_links()
    links = Trajectory.smooth([0, 0], [1, 1], 0.5)
    assert "acceleration enters the equations of the links" in refused(robot, links)
    assert "'link 2'" in refused(robot, links)  # the first motor stands on the base
    reduced = robot.with_rotors("reflected")
    assert "it has 4 joints" in refused(reduced)
    dry = two_links(friction={"coulomb": 0.1}).with_rotors("reflected")
    assert "link 'link 1': its elastic joint or that joint's motor has dry friction" in refused(dry, links)
    jerky = Trajectory.jerk_limited([0, 0], [1, 1], 3, 20, 200)
    assert "the jerk of joint 1 ('link 1') jumps at" in refused(reduced, jerky)
    damped = two_links((1, 1)).with_rotors("reflected")
    assert elastic_feedforward(damped, jerky).torques.any()
    assert "the acceleration of" in refused(
        damped, Trajectory.trapezoidal([0, 0], [1, 1], duration=1, acceleration_time=0.2)
    )
    assert "not known by its polynomials" in refused(reduced, links + Trajectory.smooth([1, 1], [0, 0], 1))
    assert "with_payload" in refused(reduced, links.carrying(1.0))
    assert "has no elastic joint" in refused(robot.with_rigid_joints(), links)


def test_timing_and_tips_of_elastic_arms_are_refused() -> None:
    robot = two_links()
    motion = Trajectory.smooth(np.zeros(4), np.ones(4), 1.0)
    for work in (scale_to_limits, time_optimal):
        with golden_error(MotionError):
            work(robot, motion)
    with golden_error(MotionError):
        inverse_kinematics(robot, [0.3, 0.2, 0], np.zeros(4))
    with golden_error(MotionError):
        motor_loads(robot, motion)


def test_motions_may_have_more_knots_than_needed() -> None:
    """A spline through many points, damped and not."""
    times = np.linspace(0, 1, 12)
    points = np.stack([np.sin(3 * times), np.cos(2 * times)], axis=1)
    motion = Trajectory.through(
        points, times, kind="quintic", qd0=[3, 0], qd1=[3 * np.cos(3), -2 * np.sin(2)]
    )
    robot = two_links((0.01, 0)).with_rotors("reflected")
    plan = elastic_feedforward(robot, motion)
    at = plan.trajectory.samples(knots=True)
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    assert np.abs(tau[:, :2]).max() < 1e-6 * np.abs(tau).max()


@pytest.mark.parametrize("damping", [1e-300, 1e-12, 1e-6, 4.9e-5])
def test_a_damper_that_is_almost_none_needs_almost_the_torques_of_none(damping: float) -> None:
    motion = Trajectory.smooth([-0.3, 0.2], [0.5, 1.0], duration=0.5)
    plans = []
    for d in (damping, 0):
        robot = two_links(damping=(d, d)).with_rotors("reflected")
        plans.append(elastic_feedforward(robot, motion))
    damped, undamped = plans
    allowed = 1e-11 + 100 * damping
    assert np.abs(damped.torques - undamped.torques).max() < allowed
    states = damped.trajectory(damped.t)
    assert np.abs(damped.robot.inverse_dynamics(*states)[:, :2]).max() < 1e-10


def test_series_and_integration_of_a_short_lag_agree() -> None:
    motion = Trajectory.smooth([-0.3, 0.2], [0.5, 1.0], duration=0.5)
    K = (900, 500)
    torques = []
    for lag in (0.99e-6, 1.01e-6):
        robot = two_links(damping=[lag * k for k in K], stiffness=K).with_rotors("reflected")
        torques.append(elastic_feedforward(robot, motion).torques[1:])  # the start takes a lag
    assert np.abs(torques[0] - torques[1]).max() < 1e-4
