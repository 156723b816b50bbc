"""Clean logs are not altered: no repair, no value that differs, whatever the noise."""

import os
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot, Trajectory
from armdyn.identification import Log
from arms import quietly, slowly
from recordings import arm, changed, recording

DATA = Path(os.environ.get("ARMDYN_DATA", Path(__file__).parents[4] / "shared" / "data"))
NOISE = {
    "gaussian": lambda rng, x: rng.normal(size=x.shape),
    "uniform": lambda rng, x: rng.uniform(-2, 2, x.shape),
    "heavy tails": lambda rng, x: rng.standard_t(8, x.shape),
    "wandering": lambda rng, x: np.cumsum(rng.normal(size=x.shape), 0) / np.sqrt(len(x)),
    "ripple": lambda rng, x: np.sin(1.3 * np.arange(len(x)))[:, None] * np.ones(x.shape[1]),
    "fastest ripple": lambda rng, x: (-1.0) ** np.arange(len(x))[:, None] * np.ones(x.shape[1]),
    "none": lambda rng, x: np.zeros(x.shape),
}


def assert_untouched(log, robot=None, notes=()):
    record = log.at_joints(robot or arm())
    assert record.usable.all()
    assert not record.filled.any()
    assert len(record.segments) == 1
    np.testing.assert_array_equal(record.rows, np.arange(len(log)))
    np.testing.assert_array_equal(record.t, log.t)
    np.testing.assert_array_equal(record.q, log.q)
    np.testing.assert_array_equal(record.tau, log.tau)
    assert record.notes == notes
    return record


@pytest.mark.parametrize("kind", NOISE)
@pytest.mark.parametrize("rate", [slowly(30.0), 125.0, slowly(1000.0)])
@pytest.mark.parametrize("level", [0.01, 0.2])
def test_noise_is_no_damage(kind, rate, level):
    for seed in range(3):
        log = recording(rate, seed=seed, noise=0)
        rng = np.random.default_rng(seed)
        assert_untouched(changed(log, tau=log.tau + level * log.tau.std(0) * NOISE[kind](rng, log.tau)))


@pytest.mark.parametrize("kind", NOISE)
def test_noise_of_positions_is_no_damage(kind):
    for seed in range(3):
        log = recording(seed=seed)
        rng = np.random.default_rng(seed)
        noise = NOISE[kind](rng, log.q)
        assert_untouched(changed(log, q=log.q + 1e-3 * noise))


def test_dry_friction_at_reversals_is_no_spike():
    """The joint turns round every few samples: torques are steps between two levels, far above the rest."""
    robot = Robot.load("pendulum").with_gravity([0, 0, 0])
    for period in (10, 16, 40):
        t = np.arange(2000) / 250
        w = 2 * np.pi * 250 / period
        q, qd = 1e-3 * np.sin(w * t)[:, None], 1e-3 * w * np.cos(w * t)[:, None]
        tau = 5 * np.sign(qd) + 0.1 * q
        assert_untouched(Log(t, q, tau, qd=qd), robot)


def test_motion_that_rests_for_long_is_no_spike():
    """A short motion in a long rest, torques without noise: its pulses are not taken for spikes."""
    robot = arm()
    rest = Trajectory.trapezoidal(
        [0, 0, 0], [0.4, 0.1, -0.3], max_velocity=1, acceleration_time=0.1, step=0.004
    )
    t = np.arange(4000) * 0.004
    q, qd, qdd = rest(t - 6.0)
    assert_untouched(Log(t, q, robot.inverse_dynamics(q, qd, qdd)))


def test_constant_torques_of_sliding_joints_are_no_saturation():
    """Forces of constant accelerations are flat tops by nature."""
    robot = Robot.load("cartesian")
    there = Trajectory.trapezoidal([0, 0], [0.5, 0.3], max_acceleration=2, duration=1.2, step=0.002)
    q = np.concatenate([there.q, there.q[::-1][1:]])
    qdd = np.concatenate([there.qdd, there.qdd[::-1][1:]])
    qd = np.concatenate([there.qd, -there.qd[::-1][1:]])
    t = np.arange(len(q)) * 0.002
    assert_untouched(Log(t, q, robot.inverse_dynamics(q, qd, qdd)), robot)


def test_coarse_torques_are_no_saturation():
    for seed in range(5):
        log = recording(seed=seed, noise=0)
        quantum = np.ptp(log.tau, axis=0) / 100
        assert_untouched(changed(log, tau=np.rint(log.tau / quantum) * quantum))


def test_coarse_encoders_are_told_and_left_alone():
    log = recording()
    quantum = 2 * np.pi / 1024
    coarse = changed(log, q=np.rint(log.q / quantum) * quantum)
    record = coarse.at_joints(arm())
    np.testing.assert_array_equal(record.q, coarse.q)
    assert record.usable.all()
    assert sum("the encoder has steps of 0.00614" in note for note in record.notes) == 3


def test_states_in_no_order_are_left_alone():
    """With exact derivatives the rows need not be one motion."""
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-3, 3, (3, 500, 3))
    log = Log(np.arange(500) / 100, q, arm().inverse_dynamics(q, qd, qdd), qd=qd, qdd=qdd)
    record = assert_untouched(log)
    np.testing.assert_array_equal(record.qd, qd)
    np.testing.assert_array_equal(record.qdd, qdd)


def test_fast_motion_is_not_unwrapped():
    robot = Robot.load("pendulum")
    t = np.arange(1000) / 100
    q = (30 * np.sin(2 * t))[:, None]
    with pytest.warns(UserWarning, match="degrees"):
        record = Log(t, q, np.cos(3 * t)[:, None]).at_joints(robot)
    np.testing.assert_array_equal(record.q, q)


# ---- real robots -------------------------------------------------------------------------------------------


def real(name, **options):
    path = DATA / "identification" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return Log.load(path, **options)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_logs_of_the_lwr4_are_clean(number):
    log = real(f"kuka_lwr4_{number}")
    robot = quietly(lambda: Robot.load(DATA / "urdf" / "kuka_lwr4.urdf"))
    assert_untouched(log, robot, ("columns that were not used: qd_filtered (7 wide), qdd_filtered (7 wide)",))


def test_log_of_the_ur10_is_clean():
    assert_untouched(real("unisa_ur10"), Robot.load("ur10"))


def test_log_of_the_tx40_is_clean_and_comes_to_the_joints():
    K = np.diag([32.0, 32.0, 45.0, -48.0, 45.0, 32.0])
    K[5, 4] = 32.0
    zeros = np.array([0, -np.pi / 2, np.pi / 2, 0, 0, 0])
    log = real("tx40_motor_side", transmission=K, joint_zeros=zeros)
    robot = quietly(lambda: Robot.load(DATA / "urdf" / "tx40_mdh_modified.urdf"))
    record = log.at_joints(robot)
    assert record.notes == ()
    assert record.usable.all()
    np.testing.assert_allclose(record.q, np.linalg.solve(K, log.motor_position.T).T + zeros, atol=1e-12)
    np.testing.assert_allclose(record.tau, log.motor_torque @ K, atol=1e-12)


def test_log_of_the_panda_has_samples_that_were_held():
    """14 rows repeat the one before. Measured velocities agree with the times found, not with the stamps."""
    log = real("unisa_panda")
    record = log.at_joints(Robot.load("panda"))
    assert len(record.t) == len(log) - 14
    assert record.usable.all()
    (note,) = record.notes
    assert "every 34.02 ms, not every 33.33 ms as stamped" in note
    np.testing.assert_array_equal(record.q, log.q[record.rows])
    assert np.abs(record.t - log.t[record.rows]).max() < 0.034

    def misfit(t, q, qd):
        return np.linalg.norm(np.gradient(q, t, axis=0)[3:-3] - qd[3:-3])

    after = misfit(record.t, record.q, record.qd)
    assert after < 0.3 * misfit(log.t, log.q, log.qd)
    assert after < 0.6 * misfit(log.t[record.rows], record.q, record.qd)
