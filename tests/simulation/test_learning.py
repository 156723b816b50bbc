"""Torques learned from trials, and those of inverse dynamics."""

from functools import cache

import numpy as np
import pytest

from armdyn import Robot, Trajectory, learn_torques, simulate
from armdyn.simulation import SimulationError, SimulationWarning
from arms import assert_same, law, robots, slowly
from golden_messages import golden_error, golden_warning

PLANAR, PUMA = Robot.load("planar"), Robot.load("puma560")
START = np.array([-1.47, 2.94])
RAMP = {"acceleration_time": 0.15, "max_velocity": 5.0}
BENT = [0, 0.7, -1, 0, 0.5, 0]


def rough(robot, factor=1.2):
    """The robot with all masses, and so all moments and tensors, wrong by a factor."""
    wrong = [name[0] in "mI" for name in robot.parameter_names]
    return robot.with_parameters(np.where(wrong, factor, 1.0) * robot.parameters)


def sticky(robot):
    return robot.with_friction({link: {"viscous": 5, "coulomb": 60} for link in ("link 1", "link 2")})


MOTIONS = {
    "planar": (PLANAR, Trajectory.quintic([0.2, 0.5], [1.0, 1.1], 1.0)),
    "triangular": (PLANAR, Trajectory.triangular(START, START + np.pi / 2, 0.5)),
    "trapezoidal": (PLANAR, Trajectory.trapezoidal(START, [-0.45, 0.9], **RAMP)),
    "line": (PLANAR, Trajectory.line(PLANAR, START, end=[1.8, 0, 0], **RAMP)),
    "puma560": (PUMA, Trajectory.quintic(BENT, [0.8, 1.2, -0.3, 0.5, 1, 0.7], 1.0)),
    "puma560 trapezoidal": (
        PUMA,
        Trajectory.trapezoidal(BENT, [0.8, 1.2, -0.3, 0.5, 1, -0.7], acceleration_time=0.2, duration=1.0),
    ),
    "turning round": (
        sticky(PLANAR),
        Trajectory.through([[0, 0], [0.8, 0.5], [0.3, 0.9], [0.6, 0.2]], [0, 0.5, 1.0, 1.5], kind="quintic"),
    ),
    "dwell": (
        sticky(PLANAR),
        Trajectory.quintic([0, 1], [1, 0.5], 0.7).rest(0.3) + Trajectory.quintic([1, 0.5], [0.2, 0.8], 0.7),
    ),
}
QUICK = ("planar",)


@cache
def learned(name, factor):
    """Torques learned with a model that is wrong by a factor."""
    robot, motion = MOTIONS[name]
    return learn_torques(robot, motion, trials=20, model=rough(robot, factor))


def check_learned(found, within=1e-3):
    """Torques of the last trial against inverse dynamics, evaluated here."""
    at = found.motion(found.t)
    known = np.isfinite(found.true)
    expected = found.robot.inverse_dynamics(*at)[known]
    assert known.mean() > 0.5
    assert abs(found.torques[known] - expected).max() < within * abs(expected).max()
    assert found.notes == ()


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.2, 0.8])
@pytest.mark.parametrize("name", MOTIONS)
def test_torques_learned_with_a_wrong_model_and_inverse_dynamics(name, factor):
    found = learned(name, factor)
    assert found.relative_errors[0] > 0.05
    check_learned(found)


@pytest.mark.parametrize("name", [name if name in QUICK else slowly(name) for name in MOTIONS])
def test_torques_learned_without_a_model_and_inverse_dynamics(name):
    check_learned(learn_torques(*MOTIONS[name], trials=25))


@law(robots(n=(2, 3), friction=False), examples=1, thorough=12)
def test_torques_learned_on_random_arms_and_inverse_dynamics(robot):
    """Full tensors, sliding joints, rotors with any axes."""
    rng = np.random.default_rng(robot.n)
    q0, way = rng.uniform(-1, 1, robot.n), rng.uniform(0.2, 0.6, robot.n)
    check_learned(learn_torques(robot, Trajectory.quintic(q0, q0 + way, 1.0), 15, model=rough(robot)))


def test_learned_torques_alone_move_the_arm_as_wanted():
    robot, motion = MOTIONS["planar"]
    found = learned("planar", 1.2)
    run = simulate(robot, motion.q[0], [0, 0], motion.duration, found.torques, output=0.01)
    assert_same(run.q, motion(run.t)[0], 1e-4)
    assert found.position_errors.shape == (20, 2)
    assert (np.diff(found.relative_errors[:5]) < 0).all()


@pytest.mark.slow
def test_a_joint_that_rests_in_dry_friction_leaves_its_own_torque_open_alone():
    found = learn_torques(sticky(PLANAR), Trajectory.quintic([0, 1], [1, 1], 1.0), 15, model=rough(PLANAR))
    assert np.isnan(found.true[:, 1]).all()
    assert np.isfinite(found.true[1:-1, 0]).all()
    assert found.torque_errors[-1, 0] < 1e-3 * abs(found.true[1:-1, 0]).max()


def test_noise_is_seeded_and_less_in_a_lower_band():
    robot, motion = MOTIONS["planar"]
    given = {"model": rough(robot), "noise": 1e-6}
    wide, narrow, again = (learn_torques(robot, motion, 5, band=band, **given) for band in (50, 10, 10))
    assert (narrow.history == again.history).all()
    assert narrow.relative_errors[-1] < 0.5 * wide.relative_errors[-1]
    assert "noisy" in wide.notes[0]


def test_a_model_that_is_too_wrong():
    with golden_warning(SimulationWarning):
        learn_torques(*MOTIONS["planar"], 10, model=rough(PLANAR, 2.5))


@pytest.mark.parametrize(
    "given",
    [{"trials": 0}, {"model": "planar"}, {"model": PUMA}, {"band": 0}, {"noise": -1}, {"noise": [1, 2, 3]}],
    ids=str,
)
def test_wrong_arguments(given):
    with golden_error(SimulationError):
        learn_torques(*MOTIONS["planar"], **given)


def test_wrong_motions_and_robots():
    robot, motion = MOTIONS["planar"]
    elastic = Robot.load("elastic_link")
    for arguments in (
        (robot, motion.q),
        (PUMA, motion),
        (robot, motion.carrying(2)),
        (elastic, Trajectory.quintic([0, 0], [1, 1], 1.0)),
    ):
        with golden_error(SimulationError):
            learn_torques(*arguments)
