"""Compensation of gravity and friction, and sums of controllers."""

import numpy as np
import pytest

from armdyn import (
    AdaptiveControl,
    ComputedTorque,
    FrictionCompensation,
    GravityCompensation,
    PDGravity,
    Robot,
    Trajectory,
    joint_limits,
    simulate,
)
from armdyn.simulation import SimulationError, controller_source
from arms import assert_same, generators, law, robots, slowly
from golden_messages import golden_error
from pid_controller import PID
from simulation.test_export import library, needs_compiler, pointers
from simulation.test_loads import BODY, START, carried, move
from sliders import coupled, slider, without_friction

PLANAR = Robot.load("planar")
PUMA = Robot.load("puma560")
PUMA_REST = np.array([0, 0.8, -2.6, 0, 0.3, 0])
METHODS = ("adaptive", "rk4")


# ---- gravity -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_an_arm_without_weight_stays_where_it_is(method):
    quiet = without_friction(PUMA)
    run = simulate(quiet, PUMA_REST, 0, 1.0, GravityCompensation(quiet), method=method, output=0.1)
    np.testing.assert_allclose(run.q[-1], PUMA_REST, atol=1e-9)
    np.testing.assert_allclose(run.tau[-1], quiet.gravity(PUMA_REST), atol=1e-8)


def test_a_part_of_gravity_for_each_joint():
    q, fraction = np.random.default_rng(1).uniform(-1, 1, (3, 6)), np.array([1, 0.5, 0.9, 0, 1, 1.0])
    tau = GravityCompensation(PUMA, fraction)(0.0, q, 0 * q)
    np.testing.assert_allclose(tau, fraction * PUMA.gravity(q), atol=1e-12)


# ---- friction ----------------------------------------------------------------------------------------------


@law(robots((1, 4)), generators(), examples=8)
def test_friction_by_a_smooth_sign_and_the_robots_friction(robot, rng):
    """Far from rest the sign is nearly one: relative to the friction, by less than (v₀/v)²."""
    qd = rng.uniform(0.5, 2, robot.n) * rng.choice([-1, 1], robot.n)
    speeds = [f.speed(qd) for f in robot.mechanism.friction]
    if min(abs(v) for v in speeds) < 1e-2:
        return
    tau = FrictionCompensation(robot, smoothing=1e-7)(0.0, qd, qd)
    assert_same(tau, robot.friction(qd), 1e-6)
    still = FrictionCompensation(robot)(0.0, qd, 0 * qd)
    offsets = robot.friction(0 * qd)
    assert_same(still, offsets, 1e-12)


def test_a_smooth_sign_by_hand():
    robot, v = slider(2.0, 3.0, 0.5), np.array([[-0.4], [-0.01], [0.0], [0.02], [1.0]])
    tau = FrictionCompensation(robot, 0.8, 0.03)(0.0, v, v)
    np.testing.assert_allclose(tau, 0.8 * (0.5 * v + 3.0 * v / np.hypot(v, 0.03)), atol=1e-14)


def test_a_motor_that_turns_with_two_joints_has_the_smoothing_of_its_own_speed():
    robot, qd = coupled(F1=0.0, F2=0.0, Fm=0.05, k1=5.0, k2=20.0), np.array([0.3, -0.1])
    tau = FrictionCompensation(robot, smoothing=[0.01, 0.02])(0.0, qd, qd)
    speed = 5 * 0.3 - 20 * 0.1
    np.testing.assert_allclose(tau, np.array([5, 20]) * 0.05 * speed / np.hypot(speed, 0.4), rtol=1e-12)


def test_friction_by_the_velocity_of_a_target():
    robot, motion = slider(2.0, 3.0, 0.5), Trajectory.quintic([0.0], [-1.0], 2.0)
    compensation = FrictionCompensation(robot, 0.9, target=motion)
    assert compensation.period == 1e-3
    assert FrictionCompensation(robot).period is None
    tau = compensation(1.0, [0.2], [0.4])
    np.testing.assert_allclose(tau, [0.9 * (0.5 * 0.4 - 3.0)], rtol=1e-12)
    assert compensation(0.0, [0.2], [0.0]) == 0


def test_load_friction_is_that_of_gravity():
    link = {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 2, "friction": {"load": 0.1}}
    robot = Robot.from_dict({"name": "one", "convention": "dh", "gravity": [0, -9.81, 0], "link": [link]})
    tau = FrictionCompensation(robot, smoothing=1e-9)(0.0, [0.3], [0.5])
    np.testing.assert_allclose(tau, 0.1 * np.abs(robot.gravity([0.3])), rtol=1e-9)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
@pytest.mark.parametrize("rate", [None, 1000])
def test_a_carriage_coasts_as_with_less_friction(method, rate):
    """With 0.8 of its friction compensated a carriage goes about five times as far and comes to rest."""
    robot = slider(2.0, 3.0)
    compensated = FrictionCompensation(robot, 0.8, 1e-3, rate=rate)
    runs = [simulate(robot, [0.0], [1.0], 5.0, c, method=method) for c in (None, compensated)]
    plain, far = (run.q[-1, 0] for run in runs)
    np.testing.assert_allclose(plain, 2.0 / 6.0, rtol=1e-2)
    np.testing.assert_allclose(far, 5 * plain, rtol=2e-2)
    assert runs[1].completed
    assert runs[1].qd[-1] == 0


# ---- sums --------------------------------------------------------------------------------------------------


def test_the_torques_of_a_sum():
    q, qd = np.random.default_rng(2).uniform(-1, 1, (2, 4, 6))
    motion = Trajectory.quintic(PUMA_REST, PUMA_REST + 0.3, 0.5)
    parts = GravityCompensation(PUMA), FrictionCompensation(PUMA, 0.7), PDGravity(PUMA, motion, 9.0, 3.0)
    total = parts[0] + parts[1] + parts[2]
    t = np.linspace(0, 0.4, 4)
    np.testing.assert_allclose(total(t, q, qd), sum(part(t, q, qd) for part in parts), rtol=1e-10, atol=1e-10)
    assert total.robot is PUMA
    assert (total.jumps == np.unique(parts[2].jumps)).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_an_arm_that_is_guided_by_hand(method):
    """A push of 40 N moves the arm much further where most of its friction is compensated.

    At rest there is no speed to go by: a push of 20 N breaks no joint away, with or without compensation.
    """

    def moved(control, newtons):
        push, duration = [0, -newtons, 0, 0, 0, 0], 0.1 if newtons < 30 else 0.4
        run = simulate(PUMA, PUMA_REST, 0, duration, control, wrench=push, method=method, output=0.05)
        return np.ptp(run.q, axis=0).max()

    gravity = GravityCompensation(PUMA)
    guided = gravity + FrictionCompensation(PUMA, 0.8)
    assert moved(gravity, 20.0) == moved(guided, 20.0) == 0
    assert 0.05 < moved(gravity, 40.0) < 0.2 * moved(guided, 40.0)


def test_rates_of_a_sum():
    motion = Trajectory.quintic(PUMA_REST, PUMA_REST + 0.3, 0.5)
    gravity, friction = GravityCompensation(PUMA), FrictionCompensation(PUMA, target=motion)
    assert (gravity + gravity).period is None
    assert (gravity + friction).period == 1e-3
    assert (GravityCompensation(PUMA, rate=250) + friction).period == 1 / 250
    with pytest.raises(
        SimulationError, match="sum: found controllers of rates 250, 500; one rate is expected"
    ):
        GravityCompensation(PUMA, rate=250) + GravityCompensation(PUMA, rate=500)
    with pytest.raises(
        SimulationError, match=r"PID has a memory and samples every 0\.001 s, the sum every 0\.004 s"
    ):
        GravityCompensation(PUMA, rate=250) + PID(PUMA, PUMA_REST)
    with golden_error(SimulationError):
        gravity + GravityCompensation(PLANAR)
    with golden_error(SimulationError):
        gravity + 3


def test_torque_limits_of_a_sum():
    hard = GravityCompensation(PUMA, 5.0) + PDGravity(PUMA, PUMA_REST + 1, 1e4, 1.0, saturated=True)
    tau = hard(0.0, PUMA_REST, 0 * PUMA_REST)
    np.testing.assert_allclose(np.abs(tau), joint_limits(PUMA).torque)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_memories_of_a_sum_side_by_side(method):
    motion = Trajectory.quintic([0.3, 0.5], [0.6, 0.2], 0.2)
    adaptive, pid = AdaptiveControl(PLANAR, motion, ["m2"]), PID(PLANAR, [0.4, 0.3], start=0.1)
    total = GravityCompensation(PLANAR, 0.1) + adaptive + pid
    run = simulate(PLANAR, [0.3, 0.5], 0, 0.1, total, method=method, output=0.01)
    assert run.memory.shape == (11, 4)
    np.testing.assert_allclose(run.memory[0], [50.0, 0.1, 0.1, 0.0])
    assert run.memory[-1, 3] == 100
    tau, later = total(run.t[3], run.q[3], run.qd[3], run.memory[3])
    one, two = (
        adaptive(run.t[3], run.q[3], run.qd[3], run.memory[3, :1]),
        pid(run.t[3], run.q[3], run.qd[3], run.memory[3, 1:]),
    )
    np.testing.assert_allclose(tau, one[0] + two[0] + 0.1 * PLANAR.gravity(run.q[3]), rtol=1e-11)
    np.testing.assert_allclose(later, np.concatenate([one[1], two[1]]), rtol=1e-12)


@pytest.mark.slow
def test_a_sum_knows_the_loads_of_the_motion_it_follows():
    motion = carried(move(0.3), (0.1, 0.2))
    total = GravityCompensation(PUMA, 0.5) + ComputedTorque(PUMA, motion, stiffness=400.0)
    run = simulate(PUMA, START, 0, motion.duration, total, method="rk4")
    parts = [
        simulate(
            PUMA, START, 0, motion.duration, ComputedTorque(PUMA, motion, stiffness=400.0), method="rk4"
        ),
        simulate(PUMA, START, 0, motion.duration, total, method="rk4", loads=()),
    ]
    assert run.carried is not None
    assert (run.t == parts[0].t).all()
    heavy = (run.t > 0.101) & (run.t < 0.199)
    held = 0.5 * PUMA.with_payload(BODY.body).gravity(run.q[heavy])
    alone = ComputedTorque(PUMA.with_payload(BODY.body), motion, stiffness=400.0)
    np.testing.assert_allclose(
        run.tau[heavy], held + alone(run.t[heavy], run.q[heavy], run.qd[heavy]), atol=1e-8
    )
    assert np.abs(parts[1].q - run.q).max() > 1e-3


@needs_compiler
def test_a_sum_in_c(tmp_path):
    guided = GravityCompensation(PUMA) + FrictionCompensation(PUMA, 0.8)
    source = controller_source(guided, "arm")
    assert "1 fraction (6), 2 fraction (6), 2 smoothing (6)" in source.header
    function = library(source, tmp_path).arm_torques
    q, qd = np.random.default_rng(3).uniform(-1, 1, (2, 6))
    constants, tau = np.concatenate([x.ravel() for x in guided.constants().values()]), np.zeros(6)
    function(*pointers(q, qd, constants, tau))
    np.testing.assert_allclose(tau, guided(0.0, q, qd), rtol=1e-12)


@pytest.mark.slow
def test_computed_torque_and_a_sum_follow_alike():
    """Feedback of a robot without friction and friction on top is computed torque with friction."""
    motion = Trajectory.cubic([0.0], [1.0], 1.0, [0.3], [0.3])
    robot = slider(2.0, 3.0, 0.5)
    both = ComputedTorque(without_friction(robot), motion) + FrictionCompensation(robot, target=motion)
    runs = [simulate(robot, [0.0], [0.3], 0.9, c) for c in (both, ComputedTorque(robot, motion))]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    np.testing.assert_allclose(runs[0].q, motion(runs[0].t)[0], atol=1e-3)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GravityCompensation(PUMA, -1.0),
        lambda: GravityCompensation("puma"),
        lambda: FrictionCompensation(PUMA, smoothing=0.0),
        lambda: FrictionCompensation(PUMA, smoothing=1e-300),
        lambda: GravityCompensation(PUMA, saturated="no"),
        lambda: GravityCompensation(PUMA)("now", PUMA_REST, 0),
        lambda: GravityCompensation(PUMA)(0.0, "home", 0),
        lambda: FrictionCompensation(PUMA, target=PUMA_REST),
        lambda: FrictionCompensation(PUMA, target=Trajectory.cubic([0.0], [1.0], 1.0)),
        lambda: FrictionCompensation(PUMA, rate="often"),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with golden_error(SimulationError):
        make()
