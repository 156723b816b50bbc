"""Joints that nothing drives: no torque acts there, whoever asks for it."""

import numpy as np
import pytest

from armdyn import (
    Robot,
    Trajectory,
    dynamic_manipulability,
    elastic_feedforward,
    excite,
    learn_torques,
    motor_loads,
    scale_to_limits,
    simulate,
    time_optimal,
)
from armdyn.analysis import AnalysisError
from armdyn.identification import IdentificationError
from armdyn.motion.errors import MotionError
from armdyn.simulation import (
    AdaptiveControl,
    ComputedTorque,
    FrictionCompensation,
    GravityCompensation,
    MotorPD,
    OperationalControl,
    PDGravity,
    SimulationError,
    TipPoint,
    controller_source,
)
from armdyn.simulation.controller import Controller
from arms import assert_same
from golden_messages import golden_error


def springy(actuated=False, motor=None, middle=None):
    """Three joints about skew axes; the second bends by a spring, and nothing drives it."""
    body = {
        "mass": 2.0,
        "com": [-0.1, 0.05, 0.02],
        "inertia": {"xx": 0.1, "yy": 0.12, "zz": 0.09, "xy": 0.01},
    }
    link = {"joint": "revolute", "a": 0.4, "alpha": 0.7, "d": 0.1, **body, "friction": {"viscous": 0.3}}
    bends = {"name": "bends", "actuated": actuated, "spring": {"stiffness": 400}, **(middle or {})}
    first = {"name": "first", **({"motor": motor} if motor else {})}
    links = [link | first, link | bends, link | {"name": "last"}]
    return Robot.from_dict({"name": "springy", "convention": "dh", "gravity": [0, "-9.81", 0], "link": links})


ROBOT, DRIVEN = springy(), springy(actuated=True)
BESIDE = springy(motor={"gear": 20, "inertia": 1e-4, "stiffness": 800})  # and the first joint is elastic
STILL = np.zeros(3)
MOTION = Trajectory.quintic([0, 0, 0], [0.3, 0.1, -0.2], duration=1.0)


def test_which_coordinates_have_no_drive():
    assert ROBOT.drives.passive == ROBOT.drives.loose == (1,)
    assert ROBOT.actuated == ("first", "last")
    assert np.array_equal(ROBOT.drives.given, np.diag([1.0, 0.0, 1.0]))
    assert DRIVEN.drives.passive == ()
    assert Robot.load("parallelogram").drives.passive == Robot.load("five_bar").drives.passive == ()


@pytest.mark.parametrize(
    "torque", [[1, 2, 3], np.array([[0, 0, 0], [0, 1e-3, 0], [0, 0, 0]]), lambda t, q, qd: [0, -q[0] - 1, 0]]
)
def test_torques_on_a_passive_joint_are_refused(torque):
    with golden_error(SimulationError):
        simulate(ROBOT, STILL, STILL, duration=0.01, torque=torque)


def test_without_torques_there_it_moves_as_the_driven_arm_does():
    torque = [1.0, 0.0, -0.5]
    found, same = (simulate(x, STILL, STILL, duration=0.2, torque=torque) for x in (ROBOT, DRIVEN))
    assert np.array_equal(found.q, same.q)


@pytest.mark.parametrize(
    "make",
    [
        lambda: ComputedTorque(ROBOT, MOTION),
        lambda: AdaptiveControl(ROBOT, MOTION, ["m1"]),
        lambda: OperationalControl(ROBOT, TipPoint([0.5, 0, 0])),
        lambda: learn_torques(ROBOT, MOTION),
    ],
)
def test_laws_that_need_every_joint_are_refused(make):
    with golden_error(SimulationError):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda robot: PDGravity(robot, MOTION, 50, 8),
        lambda robot: GravityCompensation(robot) + FrictionCompensation(robot),
    ],
)
def test_laws_joint_by_joint_drive_the_others_alone(make):
    rng = np.random.default_rng(2)
    q, qd = rng.normal(size=(2, 4, 3))
    expected = make(DRIVEN)(0.3, q, qd)
    assert (np.abs(expected[:, 1]) > 0.1).all()
    assert_same(make(ROBOT)(0.3, q, qd), expected * [1, 0, 1])
    run = simulate(ROBOT, STILL, STILL, duration=0.1, torque=make(ROBOT))
    assert not run.tau[:, 1].any()
    assert run.tau[:, 0].any()


def test_the_c_code_of_a_controller_has_no_torque_there():
    source = controller_source(PDGravity(ROBOT, STILL, 50, 8)).source
    assert "out[1] = 0" in source
    assert "out[0] = 0" not in source


def test_a_law_of_ones_own_gives_nothing_there():
    class Pushing(Controller):
        robot, saturated = ROBOT, False

        def constants(self):
            return {}

        def torques(self, q, qd, given):
            return [1.0, 2.0, 3.0]

    assert np.array_equal(Pushing()(0.0, STILL, STILL), [1, 0, 3])


def test_a_model_that_drives_what_the_robot_does_not_is_refused():
    with golden_error(SimulationError):
        simulate(ROBOT, STILL, STILL, duration=0.01, torque=PDGravity(DRIVEN, STILL, 50, 8))


def test_motors_coupled_to_a_passive_joint():
    """They give Kᵀ τ_m there, and no other torque is possible."""
    motor = {"gear": 20, "inertia": 1e-4, "coupling": {"bends": 5}}
    robot = springy(motor=motor)
    assert robot.drives.passive == (1,)
    assert robot.drives.loose == ()
    assert_same(robot.drives.given @ [4, 1, 2], [4, 1, 2])
    simulate(robot, STILL, STILL, duration=0.01, torque=[4, 1, 2])
    for problem in (
        lambda: simulate(robot, STILL, STILL, duration=0.01, torque=[4, 0, 2]),
        lambda: PDGravity(robot, STILL, 50, 8),
    ):
        with golden_error(SimulationError):
            problem()


@pytest.mark.parametrize(
    ("error", "ask"),
    [
        (MotionError, lambda: scale_to_limits(ROBOT, MOTION, torque=50)),
        (MotionError, lambda: time_optimal(ROBOT, MOTION, torque=50)),
        (MotionError, lambda: motor_loads(ROBOT, MOTION)),
        (MotionError, lambda: MotorPD(BESIDE, [0, 0, 0], 50, 8)),
        (MotionError, lambda: elastic_feedforward(BESIDE, Trajectory.smooth([0] * 3, [1] * 3, 1.0))),
        (AnalysisError, lambda: dynamic_manipulability(ROBOT, STILL)),
        (IdentificationError, lambda: excite(ROBOT)),
    ],
)
def test_motions_that_a_passive_joint_cannot_follow_are_refused(error, ask):
    with golden_error(error):
        ask()


def test_the_run_of_a_passive_joint_asks_nothing_of_it():
    run = simulate(ROBOT, STILL, STILL, duration=0.1, torque=[1, 0, 0])
    rows = motor_loads(ROBOT, run).table()
    assert [row.peak_torque for row in rows] == [1, 0, 0]


def test_passive_joints_that_follow_need_no_drive():
    """Those of the five-bar and of the parallelogram are no coordinates: all works as before."""
    for name, start in (("five_bar", [2.2, 0.94]), ("parallelogram", [3.0, 1.2])):
        robot = Robot.load(name)
        motion = Trajectory.quintic(start, np.add(start, 0.1), duration=0.5)
        assert scale_to_limits(robot, motion, torque=500, faster=True).factor > 0
        run = simulate(robot, start, [0, 0], duration=0.05, torque=ComputedTorque(robot, motion))
        assert run.tau.any(axis=0).all()
        simulate(robot, start, [0, 0], duration=0.01, torque=[1, 1])
