"""What `identify` is asked for: wrong options, and requests that are rare."""

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification import Friction, IdentificationError
from armdyn.identification.methods import repetition
from armdyn.identification.signals import kinematics
from golden_messages import golden_error
from simulated_logs import log_of, motion_of, rubbing, wrong


@pytest.fixture(scope="module")
def arm():
    return rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)


@pytest.fixture(scope="module")
def motion(arm):
    return motion_of(arm)


def test_friction_that_is_given_need_not_be_one_of_those_tried(arm, motion):
    wish = Friction(width=0.03, stribeck=0.07)
    fit = identify(arm, log_of(arm, motion), friction=wish)
    assert fit.model.friction == (wish,) * arm.n


def test_accelerations_without_velocities_are_used_as_they_are(arm, motion):
    log = log_of(arm, motion)
    doubled = Log(t=log.t, q=log.q, tau=log.tau, qdd=2 * log.qdd)
    found = kinematics(doubled.at_joints(arm))
    np.testing.assert_array_equal(found.qdd, 2 * log.qdd)
    np.testing.assert_allclose(found.qd, log.qd, atol=1e-3 * np.abs(log.qd).max())


def test_cross_validation_of_a_fit_of_some_parameters_leaves_the_others(arm, motion):
    log = log_of(arm, motion)
    fit = identify(wrong(arm), log, parameters=["Fv*"], damping=0.0)
    found = fit.cross_validate(log, folds=3)
    known = np.broadcast_to(fit.x[~fit.free], (3, int((~fit.free).sum())))
    np.testing.assert_array_equal(found.parameters[:, ~fit.free], known)


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_torques_of_absurd_size_are_refused(arm, motion, factor):
    log = log_of(arm, motion)
    with golden_error(IdentificationError):
        identify(arm, Log(t=log.t, q=log.q, tau=factor * log.tau))


def test_stamps_in_bursts_are_refused(arm):
    k = np.arange(400)
    t = (k // 4) * 1e-2 + (k % 4) * 1e-6
    q = np.sin(np.outer(t, np.arange(1, arm.n + 1)))
    with golden_error(IdentificationError):
        identify(arm, Log(t=t, q=q, tau=q))


def test_the_share_of_neighbours_is_the_sum_of_autocorrelations():
    rng = np.random.default_rng(0)
    x = np.zeros((3000, 1))
    for i in range(1, len(x)):
        x[i] = 0.8 * x[i - 1] + rng.normal()
    parts = [x[:1000], x[1000:]]
    use = [np.ones((len(part), 1), bool) for part in parts]
    rhos, power = [], sum(float(part[:, 0] @ part[:, 0]) for part in parts)
    for lag in range(1, 200):
        rho = sum(float(part[lag:, 0] @ part[:-lag, 0]) for part in parts) / power
        if rho < 3 / np.sqrt(len(x)):
            break
        rhos.append(rho)
    decay = rhos[-1] ** (1 / len(rhos))  # what comes after fades as what came before
    expected = 1 + 2 * (sum(rhos) + rhos[-1] * decay / (1 - decay))
    np.testing.assert_allclose(repetition(parts, use), expected, rtol=1e-10)
    assert 7 < expected < 11  # (1 + 0.8)/(1 − 0.8) = 9


@pytest.mark.filterwarnings("ignore:.*dead channel")
@pytest.mark.parametrize("kind", ["still", "noise", "creep", "samples"])
def test_a_log_in_which_the_arm_stands_still_is_refused(arm, kind):
    t, rng = np.arange(600) / 200, np.random.default_rng(3)
    q = {
        "still": np.zeros((600, 2)),
        "noise": 1e-5 * rng.normal(size=(600, 2)),
        "creep": 1e-9 * t[:, None] * [1, 2],
        "samples": np.where(t > 2, 1 - np.cos(5 * (t - 2)), 0)[:, None] * [1, 2],
    }[kind] + [0.3, 0.4]
    options = {"samples": t < 2} if kind == "samples" else {}
    with golden_error(IdentificationError):
        identify(arm, Log(t=t, q=q, tau=np.full((600, 2), [1.0, 2.0])), **options)


@pytest.mark.filterwarnings("ignore:.*dead channel")
def test_torques_that_are_explained_to_rounding_and_show_nothing_of_other_motions(arm):
    t = np.arange(600) / 200
    log = Log(t=t, q=t[:, None] * [0.3, 0.4], tau=np.full((600, 2), [1.0, 2.0]))
    with golden_error(IdentificationError):
        identify(arm, log)
