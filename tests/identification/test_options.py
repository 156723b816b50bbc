"""What callers of `identify` may get wrong: one clear error each; and joints without recorded torques."""

import sys
import warnings

import numpy as np
import pytest

from armdyn import Log, Robot, identify
from armdyn.identification import Friction
from armdyn.identification.consistency import impossible_links
from armdyn.identification.errors import IdentificationError, IdentificationWarning
from armdyn.identification.methods import METHODS
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
        {"consistent": False, "prior": "geometric"},
        {"parameters": "friction", "prior": "geometric"},
        {"prior": "cad"},
        {"consistent": True, "prior": np.zeros(3)},
    ],
)
def test_wrong_options_are_refused(options):
    with golden_error(IdentificationError):
        identify(ROBOT, LOG, **{"friction": "plain", **options})


def test_a_cutoff_that_no_log_can_have_is_refused():
    with pytest.raises(IdentificationError, match="cutoff: found 1e-09 Hz"):
        identify(ROBOT, Log(LOG.t, LOG.q, LOG.tau), cutoff=1e-9)


@pytest.mark.parametrize(
    "options", [{"method": x} for x in METHODS] + [{"damping": 1e-3}, {"damping": 0.1, "method": "robust"}]
)
def test_estimates_that_a_robot_can_have_stay_as_they_are(options):
    log = log_of(TRUE, MOTION)
    free = identify(ROBOT, log, friction="plain", consistent=False, **options)
    fit = identify(ROBOT, log, friction="plain", **options)
    assert fit.consistent
    assert fit.consistency_cost == 0
    assert not free.consistent
    assert fit.parameters == pytest.approx(free.parameters, rel=1e-5, abs=1e-5)
    assert impossible_links(fit.robot) == ()
    assert "filtered error against free estimates: 0 %" in fit.summary()


@pytest.mark.parametrize("method", ["weighted", "sequential"])
def test_what_bodies_that_can_exist_cost_is_said(method):
    """Joint 2 of this arm loses torque with its acceleration, which a rotor cannot do."""
    tau = LOG.tau - np.stack([np.zeros(len(LOG)), 150 * LOG.qdd[:, 1]], axis=1)
    log = Log(LOG.t, LOG.q, tau, qd=LOG.qd, qdd=LOG.qdd)
    options = {"friction": "plain", "damping": 0.0, "method": method}
    free, fit = (identify(ROBOT, log, consistent=x, **options) for x in (False, None))
    assert fit.consistency_cost == pytest.approx(fit.filtered_error / free.filtered_error - 1)
    (note,) = (x for x in fit.notes if "can exist cost" in x)
    assert f"cost {100 * fit.consistency_cost:.1f} %" in note
    assert "Im2 ≥ 0" in note
    (line,) = (line for line in str(fit).splitlines() if line.startswith("Im2 "))
    assert "0 (at its bound)" in line
    assert "at its bound" not in str(free)
    assert impossible_links(fit.robot) == ()
    assert any("no body has the inertia" in x for x in free.notes) == bool(impossible_links(free.robot))


def test_of_some_parameters_bodies_are_taken_as_estimated():
    options = {"friction": "plain", "damping": 0.0}
    fit = identify(ROBOT, LOG, parameters=["m2", "mx2", "Izz2"], **options)
    assert not fit.consistent
    heavy = ROBOT.with_parameters(ROBOT.parameters * np.where(np.array(ROBOT.parameter_names) == "m2", 9, 1))
    for names, said in (["Izz2"], True), (["Fv*"], False):  # of bodies that are known nothing is said
        fit = identify(heavy, LOG, parameters=names, **options)
        assert any("inertia found for link 2: bodies that can" in note for note in fit.notes) == said


def test_without_the_solver_bodies_are_as_estimated_and_a_note_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    options = {"friction": "plain", "damping": 0.0}
    fit = identify(ROBOT, LOG, **options)
    assert not fit.consistent
    assert any("which is not here: pip install clarabel" in note for note in fit.notes)
    with golden_error(IdentificationError):
        identify(ROBOT, LOG, consistent=True, **options)


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
