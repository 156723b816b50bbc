"""Identification of robots with loops from their coordinates and the torques there."""

import numpy as np
import pytest

from armdyn import IdentificationError, Log, Robot, excite, identify
from closed_chains import five_bar_table, four_bar_table, reference
from simulated_logs import motion_of

RUBS = {"viscous": 0.4, "coulomb": 0.6, "offset": 0.1}
DRIVEN = {"friction": RUBS, "motor": {"gear": 20, "inertia": 1e-4}, "limits": {"velocity": 4, "torque": 40}}


def robot_of(make):
    table = make(**DRIVEN)
    table["link"][1]["friction"] = {"viscous": 0.3, "coulomb": 0.5}
    return Robot.from_dict(table)


def moved(robot, seed, noise=0.02, exact=False, every=False):
    """A log of the coordinates, or of all joints with `every`."""
    t, q, qd, qdd = motion_of(robot, seed, duration=8.0, size=0.3)
    q = q - q.mean(0) + reference(robot)
    rng = np.random.default_rng(seed)
    tau = robot.inverse_dynamics(q, qd, qdd) + noise * rng.normal(size=q.shape)
    more = {"qd": qd, "qdd": qdd} if exact else {}
    return Log(t, robot.joint_positions(q) if every else q, tau, **more)


@pytest.mark.slow
@pytest.mark.parametrize("make", [four_bar_table, five_bar_table])
def test_torques_are_found_again(make):
    robot = robot_of(make)
    guess = robot.with_parameters(1.3 * robot.parameters)
    fit = identify(guess, [moved(robot, 1)])
    other = moved(robot, 2, noise=0.0, exact=True)
    found = fit.robot.inverse_dynamics(other.q, other.qd, other.qdd)
    assert np.abs(found - other.tau).max() < 0.03 * np.abs(other.tau).max()
    assert "Im2" not in fit.model.problem.template.added  # nothing drives it


def test_friction_of_a_joint_that_follows_is_found():
    robot = robot_of(five_bar_table)
    fit = identify(robot.with_parameters(0.7 * robot.parameters), [moved(robot, 1, 0.01, exact=True)])
    estimates = dict(zip(robot.parameter_names, fit.x, strict=False))
    assert estimates["Fv2"] == pytest.approx(0.3, rel=0.05)
    assert estimates["Fs2"] == pytest.approx(0.5, rel=0.05)


def test_logs_of_all_joints_must_close():
    robot = robot_of(five_bar_table)
    log = moved(robot, 1, exact=False, every=True)
    assert len(identify(robot, [log]).parameters) == len(identify(robot, [moved(robot, 1)]).parameters)
    q = log.q.copy()
    q[:, 1] += 0.1
    with pytest.raises(IdentificationError, match=r"joint 'left forearm' is 0\.1 away from where"):
        identify(robot, [Log(log.t, q, log.tau)])


@pytest.mark.slow
def test_bodies_that_can_exist():
    robot = robot_of(five_bar_table)
    fit = identify(robot.with_parameters(1.2 * robot.parameters), [moved(robot, 1)], consistent=True)
    assert not fit.robot.warnings


@pytest.mark.slow
def test_a_motion_that_shows_the_parameters_keeps_the_loops_closed():
    """Without ranges of positions, also where most postures of the coordinates do not close."""
    robot = robot_of(five_bar_table)
    found = excite(robot, duration=3.0, harmonics=3, starts=1, iterations=20)
    q, qd, qdd = found.q, found.qd, found.qdd
    assert robot.assembly.closes(q).all()
    assert np.abs(qd).max() <= 4.0
    assert np.abs(robot.inverse_dynamics(q, qd, qdd)).max() <= 40.0
    assert np.isfinite(found.quality.condition)
