"""Torques that were recorded late: `identify` says so, and logs may say by how much."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import ComputedTorque, Robot, Trajectory, simulate
from armdyn.identification import IdentificationError, IdentificationWarning, Log, estimate_delay, identify
from armdyn.identification.mistakes import _Misfit
from armdyn.identification.regression import Factors
from arms import slowly
from golden_messages import golden_error, golden_warning
from recordings import arm, changed, motion, recording

LATE = 0.012


def delayed(derivatives=False):
    """A recording whose torques are late."""
    log = recording(noise=0.02, derivatives=derivatives)
    q, qd, qdd = motion(log.t - LATE)
    tau = arm().inverse_dynamics(q, qd, qdd)
    return changed(log, tau=tau + 0.02 * tau.std(0) * np.random.default_rng(0).normal(size=tau.shape))


def notes_on_delay(fit):
    return [note for note in fit.notes if "late" in note]


def test_identify_tells_of_a_delay_and_how_to_take_it_out():
    fit = identify(arm(), delayed(), friction="plain")
    (note,) = notes_on_delay(fit)
    seconds = float(note.split("Log(…, delay=")[1].split(")")[0])
    assert seconds == pytest.approx(LATE, abs=5e-4)
    better = identify(arm(), replace(delayed(), delay=seconds), friction="plain")
    assert not notes_on_delay(better)
    assert better.training_error < 0.9 * fit.training_error
    assert any("this was taken out" in note for note in better.notes)


def test_what_is_said_adds_to_the_delay_that_a_log_has():
    (note,) = notes_on_delay(identify(arm(), replace(delayed(), delay=-0.01), friction="plain"))
    assert float(note.split("Log(…, delay=")[1].split(")")[0]) == pytest.approx(LATE, abs=5e-4)


def closed_loop(late, bits, seed=1, rate=500.0):
    """A log of two geared joints under PD control, held from sample to sample; torques `late` samples late.

    Held torques are, in the mean, half a sample older than what is written beside them.
    """
    robot, rng = Robot.load("planar"), np.random.default_rng(seed)
    robot = robot.with_friction({name: {"viscous": 40.0, "coulomb": 90.0} for name in robot.joints})
    w, a = 2 * np.pi * np.array([0.2, 0.5, 0.9])[:, None], rng.normal(size=(3, 2)) * [[0.6], [0.3], [0.15]]
    times = np.arange(0, 9 + 1 / rate, 1 / rate)
    target = Trajectory.from_samples(times, (a * np.sin(w * times[:, None, None])).sum(1))
    run = simulate(
        robot,
        *(x[0] for x in target(np.zeros(1))[:2]),
        9.0,
        ComputedTorque(robot.with_friction(None), target, stiffness=60.0, rate=rate),
        method="rk4",
        step=1 / rate,
        output=1 / rate,
    )
    step = 2 * np.pi / 2**bits
    q = step * np.round(run.q / step)
    tau = run.tau + 0.02 * run.tau.std(0) * rng.normal(size=q.shape)
    return robot.with_friction(None), Log(run.t[late:], q[late:], tau[: len(q) - late])


@pytest.mark.parametrize("bits", [13, slowly(16), slowly(20)])
@pytest.mark.parametrize("late", [0, 8])
def test_delays_of_closed_loops_from_estimate_and_identify(late, bits):
    """One mechanism: what `identify` notes is what `estimate_delay` finds, and it is right."""
    robot, log = closed_loop(late, bits)
    found, true = estimate_delay(robot, log), (late - 0.5) / 500
    assert found.seconds == pytest.approx(true, abs=1e-3)
    assert abs(found.seconds - true) < 4 * found.uncertainty + 1e-4
    assert found.clear or not late
    notes = notes_on_delay(identify(robot, log, friction="plain", damping=0, cutoff=8.0))
    assert [note.split(";")[0] for note in notes] == [str(found)] * found.clear


@pytest.mark.parametrize("late", [-0.0031, 0.0007, 0.0155])
def test_parts_of_samples_and_coarse_encoders(late):
    log = recording(noise=0.02)
    q, qd, qdd = motion(log.t - late)
    tau = arm().inverse_dynamics(q, qd, qdd)
    tau += 0.02 * tau.std(0) * np.random.default_rng(0).normal(size=tau.shape)
    step = 2 * np.pi / 2**14
    found = estimate_delay(arm(), changed(log, q=step * np.round(log.q / step), tau=tau))
    assert found.seconds == pytest.approx(late, abs=1e-3)
    assert abs(found.seconds - late) < 4 * found.uncertainty + 1e-4


def test_identify_says_nothing_where_there_is_no_delay():
    assert not notes_on_delay(identify(arm(), recording(noise=0.02), friction="plain"))


@pytest.mark.parametrize("derivatives", [False, True])
def test_noise_is_no_delay(derivatives):
    """White noise is less between samples than at them; that alone must not look like a delay."""
    found = estimate_delay(arm(), recording(noise=0.3, derivatives=derivatives))
    assert not found.clear
    assert abs(found.seconds) < 0.01


def test_a_delay_is_found_beside_accelerations():
    log = recording(noise=0.02, derivatives=True)
    late = changed(log, q=log.q[3:], qd=log.qd[3:], qdd=log.qdd[3:], t=log.t[3:], tau=log.tau[:-3])
    assert estimate_delay(arm(), late).seconds == pytest.approx(3 / 250, abs=5e-4)


def test_a_log_keeps_its_delay_in_files(tmp_path):
    log = replace(delayed(), delay=LATE)
    for name in ("log.npz", "log.parquet"):
        log.save(tmp_path / name)
        assert Log.load(tmp_path / name).delay == LATE
    with golden_warning(IdentificationWarning):
        log.save(tmp_path / "log.csv")
    (block,) = Log.open(tmp_path / "log.csv", delay=LATE).blocks()
    np.testing.assert_array_equal(block.log.at_joints(arm()).tau, log.at_joints(arm()).tau)
    np.testing.assert_array_equal(
        log.at_joints(arm()).tau, replace(log, delay=None).at_joints(arm(), delay=LATE).tau
    )
    assert log[100:900].delay == LATE


@pytest.mark.parametrize("delay", ["estimate", np.nan, [0.1, 0.2]])
def test_a_wrong_delay_is_refused(delay):
    with golden_error(IdentificationError):
        replace(recording(), delay=delay)


def test_columns_of_rounding_are_left_out():
    """In robots with loops some parameters never count, but for rounding; scaled up they stopped the SVD."""
    rng = np.random.default_rng(3)
    R = np.triu(rng.normal(size=(12, 12)))
    R[:, 4:6] *= 1e-26
    delays = np.linspace(-0.1, 0.1, 5)
    misfit = _Misfit.of(Factors((R,), np.array([40])), delays)
    assert misfit.U.shape[1] == 5
