"""What a log is worth before a fit, and fits of logs that show too little."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification import IdentificationError, look
from armdyn.identification.look import steps_of, white_noise
from armdyn.identification.looking_over import seen_to_move
from simulated_logs import log_of, motion_of, rubbing, wrong

PLAIN = {"friction": "plain", "damping": 0.0}


@pytest.fixture(scope="module")
def arm():
    return rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)


@pytest.fixture(scope="module")
def log(arm):
    return log_of(arm, motion_of(arm, 1), np.random.default_rng(0), 0.02, 1e-5, exact=False)


def with_still_joint(arm, noise):
    """The second joint rests, but for the noise of its sensor."""
    t, *motion = motion_of(arm, 1)
    q, qd, qdd = (x * [1.0, 0.0] for x in motion)
    log = log_of(arm, (t, q + np.array([0.0, 0.3]), qd, qdd), np.random.default_rng(0), 0.02, exact=False)
    return replace(log, q=log.q + [0.0, noise] * np.random.default_rng(1).normal(size=q.shape))


def test_noise_and_steps_are_those_that_were_added():
    t, rng = np.arange(4000) / 200, np.random.default_rng(0)
    x = np.stack([np.sin(2 * t), np.cos(t)], axis=1)
    np.testing.assert_allclose(
        white_noise(x + [1e-3, 1e-4] * rng.normal(size=x.shape), 200.0), [1e-3, 1e-4], rtol=0.1
    )
    np.testing.assert_allclose(steps_of(np.round(x / [1e-3, 2e-4]) * [1e-3, 2e-4]), [1e-3, 2e-4], rtol=1e-6)
    assert not steps_of(x).any()


def test_standard_errors_that_are_foretold_are_those_of_the_fit(arm, log):
    fit = identify(arm, log, **PLAIN)
    seen = look(arm, log)
    assert [row.name for row in seen.parameters] == list(fit.names)
    both = ~fit.not_shown & [row.shown for row in seen.parameters]
    foretold = np.array([row.standard_error for row in seen.parameters])[both]
    ratio = foretold / fit.standard_errors[both]
    assert both.sum() > 5
    assert 0.3 < np.median(ratio) < 3
    assert seen.enough


def test_what_is_uncertain_of_other_motions_is_about_what_a_fit_errs_there(arm, log):
    other = log_of(arm, motion_of(arm, 9))
    errors = []
    for size in (1000, 100):
        fit = identify(arm, log[:size], cutoff=20.0, **PLAIN) if size > 100 else None
        errors.append((look(arm, log[:size]).unsure, None if fit is None else fit.error(other)))
    assert errors[0][0] < errors[1][0]
    assert 0.1 < errors[0][0] / errors[0][1] < 10


def test_advice_names_the_joint_that_rests_and_what_it_hides(arm, log):
    found = look(arm, with_still_joint(arm, 1e-5))
    assert found.moving.tolist() == [True, False]
    assert any("joint 2" in text and "never moves" in text and "Fv2" in text for text in found.advice)
    assert "Fv2" in [row.name for row in found.parameters if not row.shown]
    assert not look(arm, replace(log, q=np.repeat(log.q[:1], len(log), axis=0))).enough


@pytest.mark.parametrize("noise", [0.0, 1e-5, 5e-4])
def test_noise_of_a_joint_that_rests_shows_nothing_of_it(arm, noise):
    still = with_still_joint(arm, noise)
    assert seen_to_move(still.q).tolist() == [True, False]
    fit = identify(wrong(arm), still, **PLAIN)
    assert {"Fv2", "Fs2"} <= set(fit.not_shown_names)
    assert "mx1" not in fit.not_shown_names


def test_what_is_held_has_the_value_of_the_description(arm):
    described = wrong(arm)
    slow = log_of(
        arm, motion_of(arm, 2, duration=20.0, frequency=0.02), np.random.default_rng(0), 0.05, exact=True
    )
    fit = identify(described, slow, consistent=False, **PLAIN)
    held = fit.not_shown
    assert held.any()
    assert not held.all()
    np.testing.assert_allclose(fit.parameters[held], fit.values_of(described)[held], rtol=1e-6)
    assert fit.not_shown_names == tuple(np.array(fit.names)[held])


def test_a_log_that_shows_too_little_is_refused_with_what_to_record(arm, log):
    with pytest.raises(IdentificationError, match=r"too little for a model: .* 0\.25 s are short: record"):
        identify(arm, log[:25], **PLAIN)


def test_torques_of_one_joint_with_the_other_sign_are_told_though_friction_is_asymmetric():
    robot = Robot.load("puma560")
    signs = np.array([1.0, -1, 1, 1, 1, 1])
    log = log_of(robot, motion_of(robot, 1, rate=200.0), np.random.default_rng(0), 0.01, 2e-5, exact=False)
    found = look(robot, Log(log.t, log.q, signs * log.tau))
    assert any(
        "joint 2" in mistake.text and "[1, -1, 1, 1, 1, 1]" in mistake.text for mistake in found.mistakes
    )
    assert not look(robot, log).mistakes
