"""What callers of `identify` may get wrong: one clear error each; and joints without recorded torques."""

import warnings

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification import Friction
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from golden_messages import golden_error
from simulated_logs import log_of, motion_of, rubbing

ROBOT = Robot.load("planar")
TRUE = rubbing(ROBOT, Fv=1.0, Fs=2.0)
MOTION = motion_of(TRUE, duration=6.0)
LOG = log_of(TRUE, MOTION, np.random.default_rng(0), noise=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"cutoff": -1.0},
        {"cutoff": 0},
        {"cutoff": np.nan},
        {"cutoff": "auto"},
        {"cutoff": [8.0, 8.0]},
        {"damping": -1},
        {"damping": np.nan},
        {"damping": "much"},
        {"damping": [1.0]},
        {"consistent": "no"},
        {"friction": np.zeros(3)},
        {"friction": 3},
        {"friction": Friction(width=-0.1)},
        {"samples": [np.ones(3, bool), np.ones(4, bool)]},
        {"samples": np.zeros(len(LOG), bool)},
        {"method": "guess"},
        {"consistent": True, "damping": 0.01},
        {"consistent": True, "method": "damped"},
        {"prior": "geometric"},
        {"consistent": True, "prior": np.zeros(3)},
    ],
)
def test_wrong_options_are_refused(options):
    with golden_error(IdentificationError):
        identify(ROBOT, LOG, **{"friction": "plain", **options})


def test_a_cutoff_that_no_log_can_have_is_refused():
    with pytest.raises(IdentificationError, match="cutoff: found 1e-09 Hz"):
        identify(ROBOT, Log(LOG.t, LOG.q, LOG.tau), cutoff=1e-9)


def test_bodies_that_can_exist_are_not_said_to_be_damped():
    fit = identify(ROBOT, LOG, consistent=True)
    assert "bodies that can exist take none" in fit.summary()
    assert not any("damping" in note for note in fit.notes)


def test_a_few_torques_are_enough_for_a_few_parameters():
    """Ten torques do not tell all parameters, but they tell the friction of one joint."""
    few = {"friction": "plain", "damping": 0.0}
    t, q, qd, qdd = (x[10:60:11] for x in (LOG.t, LOG.q, LOG.qd, LOG.qdd))
    log = Log(t, q, TRUE.inverse_dynamics(q, qd, qdd), qd=qd, qdd=qdd)
    with pytest.raises(IdentificationError, match="10 torques are too few to tell"):
        identify(ROBOT, log, **few)
    fit = identify(ROBOT, log, parameters=["Fv1", "Fv2"], **few)
    assert len(fit.parameters)


def test_a_prior_may_be_an_array():
    plain = {"friction": "plain", "damping": 0.0, "consistent": True}
    template = identify(ROBOT, LOG, **plain).robot
    fit = identify(ROBOT, LOG, prior=np.array(template.parameters), **plain)
    assert fit.consistent


def test_an_empty_mask_names_its_log():
    other = Log(LOG.t, LOG.q, LOG.tau, name="second")
    masks = [np.ones(len(LOG), bool), np.zeros(len(LOG), bool)]
    with golden_error(IdentificationError):
        identify(ROBOT, [LOG, other], samples=masks)


def test_values_of_a_robot_with_other_joints_are_refused():
    fit = identify(ROBOT, LOG, friction="plain", damping=0.0)
    with golden_error(IdentificationError):
        fit.values_of(Robot.load("elbow"))


@pytest.mark.parametrize("method", ["weighted", "ordinary", "robust", "sequential", "instrumental"])
def test_a_joint_without_torques_leaves_the_others_their_intervals(method):
    """What joint 1 shows is known, to four standard errors; what only joint 2 shows is open."""
    log = Log(LOG.t, LOG.q, LOG.tau * [1.0, np.nan], qd=LOG.qd, qdd=LOG.qdd)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = identify(ROBOT, log, friction="plain", damping=0.0, method=method)
    names, truth, shown = list(fit.names), fit.values_of(TRUE), ~fit.not_shown
    assert not shown[names.index("Fv2")]
    assert shown[names.index("Fv1")]
    errors = fit.standard_errors[shown]
    assert np.isfinite(errors).all()
    assert (np.abs(fit.parameters - truth)[shown] <= 4 * errors).all()


def test_torques_that_are_all_zero_do_not_overflow():
    log = Log(LOG.t, LOG.q, LOG.tau * [1.0, 0.0], qd=LOG.qd, qdd=LOG.qdd)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", IdentificationWarning)
        fit = identify(ROBOT, log, friction="plain", damping=0.0)
    assert any("a dead channel?" in note for note in fit.notes)
    assert np.isfinite(fit.parameters).all()
