"""Validation: errors against the noise put in, whiteness, overlap, standstill, folds; text and data."""

import json
import pickle
import warnings
from dataclasses import replace

import numpy as np
import pytest

from armdyn import Log, Robot
from armdyn.identification import IdentificationError, IdentificationWarning, identify
from armdyn.identification.fit import friction_rows, verdict
from armdyn.identification.regression import solve
from armdyn.identification.selection import CHOSEN
from armdyn.identification.template import FrictionTerms, make_template
from armdyn.identification.validation import Whiteness, lagged_products
from fit_logs import moved, small_arm
from golden_messages import golden_error, golden_warning
from simulated_logs import log_of, motion_of, rubbing

NOISE = 0.05
KNOWN = {"friction": "plain", "damping": 0.0}


@pytest.fixture(scope="module")
def arm():
    return small_arm()


@pytest.fixture(scope="module")
def train(arm):
    return moved(arm, 4, NOISE, name="first")


@pytest.fixture(scope="module")
def fit(arm, train):
    return identify(arm, train, validate=moved(arm, 2, NOISE, name="second"), **KNOWN)


def test_residuals_of_other_data_are_the_noise(fit, arm):
    found = fit.validation
    other = moved(arm, 2, NOISE, name="second")
    size = np.sqrt(np.square(other.tau).mean(0))
    for j, joint in enumerate(found.joints):
        assert joint.samples == len(other)
        assert joint.rms == pytest.approx(NOISE, rel=0.15)
        assert joint.torque_rms == pytest.approx(size[j])
        assert joint.relative == pytest.approx(joint.rms / size[j])
        assert joint.worst.log == "second"
    assert list(found.errors) == ["second"]
    assert fit.validation_errors == (found.error,)
    assert found.error == pytest.approx(fit.error(other))
    assert found.overlap == 0
    assert found.warnings == ()


def test_worst_instant_is_where_a_blow_was(fit, arm):
    other = moved(arm, 3, NOISE)
    tau = other.tau.copy()
    tau[333:374, 2] += 5.0 * np.hanning(41)  # longer than a spike, which would be left out
    struck = Log(t=other.t, q=other.q, tau=tau, qd=other.qd, qdd=other.qdd, name="struck")
    worst = fit.validate(struck).joints[2].worst
    assert worst.time == pytest.approx(other.t[353], abs=0.03)
    assert worst.residual == pytest.approx(5.0, abs=0.5)
    assert worst.log == "struck"


def test_white_noise_is_white_and_a_missing_term_is_not(arm):
    logs = [moved(arm, seed, NOISE, name=str(seed)) for seed in (11, 21, 31)]
    fit = identify(arm, logs, validate=moved(arm, 12, NOISE), **KNOWN)
    assert {joint.whiteness.verdict for joint in fit.validation.joints} == {"white"}
    other = moved(arm, 1, NOISE)
    wrong = Log(t=other.t, q=other.q, tau=other.tau + 0.3 * np.sin(3 * other.q), qd=other.qd, qdd=other.qdd)
    found = fit.validate(wrong)
    assert {joint.whiteness.verdict for joint in found.joints} == {"not white"}


def test_autocorrelation_of_a_moving_average_against_theory():
    """x_i = e_i + e_{i−1}: correlation 1/2 one apart, none beyond; a gap leaves out its pairs."""
    e = np.random.default_rng(0).normal(size=(20001, 1))
    x = e[1:] + e[:-1]
    use = np.ones(x.shape, bool)
    use[5000:6000] = False
    products, pairs = lagged_products(x, use)
    assert pairs[1, 0] == use.sum() - 2
    found = Whiteness.of(products[:, 0], pairs[:, 0])
    assert found.correlations[0] == pytest.approx(0.5, abs=0.03)
    assert np.abs(found.correlations[1:]).max() < 0.05
    assert found.verdict == "not white"
    assert Whiteness.of(*(y[:, 0] for y in lagged_products(e, np.ones(e.shape, bool)))).probability > 0.001


def test_validation_on_training_data_is_warned_of(fit, arm, train):
    with pytest.warns(IdentificationWarning, match="100 % of the samples are in the training data"):
        found = fit.validate(train)
    assert found.overlap == 1
    shifted = Log(t=train.t + 100, q=train.q, tau=train.tau, qd=train.qd, qdd=train.qdd)[200:900]
    with golden_warning(IdentificationWarning):
        fit.validate(shifted)


def test_samples_between_those_of_the_fit_overlap(arm):
    """Every other sample of filtered positions is no other data; every other half is."""
    log = moved(arm, 5, NOISE, exact=False)
    every_other = np.arange(len(log)) % 2 == 0
    with golden_warning(IdentificationWarning):
        identify(arm, log, samples=every_other, validate="rest", cutoff=5.0, **KNOWN)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        halves = identify(arm, log, samples=log.t < 6, validate="rest", cutoff=5.0, **KNOWN)
    assert halves.validation.overlap < 0.05
    assert halves.validation.error == pytest.approx(halves.error(log, log.t >= 6))


def test_rest_without_a_mask_is_refused(arm, train):
    with golden_error(IdentificationError):
        identify(arm, train, validate="rest", **KNOWN)


def test_logs_that_hardly_move_are_warned_of(fit, arm):
    with golden_warning(IdentificationWarning) as caught:
        found = fit.validate(moved(arm, 6, NOISE, still=(1,)))
    assert len(caught) == 1
    assert "joint 1" not in found.warnings[0]


def test_several_logs_have_an_error_each(fit, arm):
    logs = [moved(arm, 7, NOISE, name="a"), moved(arm, 8, 10 * NOISE, name="a")]
    found = fit.validate(logs)
    assert list(found.errors) == ["a", "a (2)"]
    assert found.errors["a (2)"] > 5 * found.errors["a"]
    assert found.error == pytest.approx(fit.error(logs))


def test_folds_have_the_error_of_the_noise_and_scatter_as_the_standard_errors(arm, train):
    fit = identify(arm, train, consistent=False, **KNOWN)
    found = fit.cross_validate(train, folds=6)
    assert len(found.errors) == 6
    assert found.error == pytest.approx(fit.training_error, rel=0.1)
    assert found.error > fit.training_error
    base = found.parameters @ fit.base.matrix.T
    # Each fit has 5/6 of the data: estimates differ from all together by √(1/5) of a standard error.
    off = (base - fit.parameters) / fit.standard_errors
    assert 0.25 < np.sqrt(np.square(off).mean()) < 0.7
    with golden_error(IdentificationError):
        fit.cross_validate(train, folds=1)


def test_table_and_json_say_what_the_fit_has(fit, arm):
    rows = fit.table()
    assert [row.name for row in rows] == list(fit.names)
    np.testing.assert_allclose([row.nominal for row in rows], fit.values_of(arm))
    np.testing.assert_allclose([row.estimate for row in rows], fit.parameters)
    assert {row.unit for row in rows} >= {"kg m²", "kg m", "N m s/rad", "N s/m", "N m", "N"}
    assert [row.label for row in rows] == list(fit.labels)
    assert [row.combination for row in rows] == list(fit.base.combinations)
    for row in rows:
        assert row.low < row.estimate < row.high
        assert (row.flag == "poorly") == (row.relative_error > 0.3)
    kept = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    assert [(row["name"], row["label"]) for row in kept["base"]] == list(
        zip(fit.names, fit.labels, strict=True)
    )
    assert kept["base"][0]["estimate"] == rows[0].estimate
    assert kept["validation"]["error"] == fit.validation.error
    assert kept["parameters"] == pytest.approx(
        dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    )


def test_summary_begins_with_a_verdict_of_three_sentences(fit, arm, train):
    untried = identify(arm, train, **KNOWN)
    for one, word in ((fit, "Good: "), (untried, "Untried: ")):
        said = verdict(one)
        assert said[0].startswith(word)
        assert all(text.endswith(".") and text.count(". ") == 0 for text in said)
        lines = " ".join(str(one).split("\n\n")[1].split())
        assert lines.startswith(f"verdict {' '.join(said)} error")
    assert f"{100 * fit.validation.error:.1f} % off on data" in verdict(fit)[0]
    assert "try it on data" in verdict(untried)[2]
    assert 'validate="rest"' in str(untried)
    assert 'validate="rest"' not in str(fit)
    assert "lower in validation" not in str(untried)


@pytest.mark.parametrize(("share", "why"), [(0.5, "asks less"), (2.0, "larger there")])
def test_an_error_in_validation_below_that_in_training_is_explained(fit, share, why):
    """The same residuals with other torques, and smaller residuals with smaller torques."""
    tried = fit.validation
    joints = tuple(replace(x, torque_rms=share * x.torque_rms) for x in tried.joints)
    lower = replace(fit, validation=replace(tried, joints=joints), training_error=2 * tried.error)
    assert f"lower in validation, because {'its motion ' * (share < 1)}" in str(lower)
    assert why in str(lower)
    assert "lower in validation" not in str(replace(fit, training_error=tried.error / 2))


def test_summary_has_errors_reasons_and_every_parameter(fit):
    text = str(fit)
    assert f"{100 * fit.training_error:.2f} % in training" in text
    assert f"{100 * fit.validation.error:.2f} % in validation (second)" in text
    assert "none: the logs have accelerations" in text
    for label in fit.labels:
        assert f"\n{label} " in text
    assert any(label.endswith("…") for label in fit.labels)
    assert "a combination that ends with … goes on: fit.base.combinations has all of it" in text
    assert "Izz" not in fit.summary(parameters=False)
    assert "goes on" not in fit.summary(parameters=False)
    assert max(len(line) for line in text.splitlines()) <= 100


def test_summary_says_which_terms_each_joint_has_and_what_they_are_worth(arm, train):
    fit = identify(arm, train[:500], consistent=False)
    text = fit.summary()
    known = dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    for j, own in enumerate(fit.model.friction):
        worth = [x for x in fit.model.worth if x.joint == j]
        assert {x.term for x in worth if x.taken} == {x for x in CHOSEN if own.has(x)}
        (row,) = (row for row in friction_rows(fit) if row[0] == str(j + 1))
        assert row[-1] == "none" or all(own.named(x.term) in row[-1] for x in worth if x.taken)
        assert (row[-1] == "none") == (not own.further)
        assert row[1] == f"{known[f'Fv{j + 1}']:.4g}"
        assert row[1] in text
    springs = {j + 1 for j, x in enumerate(fit.model.friction) if x.spring}  # these need their offset
    assert all(x.gain > 2 * x.spread for x in fit.model.worth if x.taken and x.joint + 1 not in springs)


def test_rotors_are_tried_where_no_combination_of_bodies_moves_as_they_do():
    """Link 1 of an arm turns about one axis, link 2 brings its motor's inertia about axis 2 along."""
    true = rubbing(Robot.load("elbow").with_rotors("none"), Fv=2.0, Fs=3.0)
    model = replace(true.model, links=tuple(replace(link, motor=None) for link in true.model.links))
    robot = Robot(model)
    terms = FrictionTerms.plain(robot.n)
    told = []
    for j in range(robot.n):
        some = np.arange(robot.n) == j
        with_it, without = (
            make_template(robot, replace(terms, rotor=x)).robot.base_parameters(friction=True)
            for x in (some, some & False)
        )
        told.append(len(with_it.combinations) > len(without.combinations))
    assert set(told) == {True, False}
    fit = identify(robot, log_of(true, motion_of(true, duration=4.0)), damping=0.0, consistent=False)
    assert [j in {x.joint for x in fit.model.worth if x.term == "rotor"} for j in range(robot.n)] == told


def test_what_a_resting_joint_hides_is_marked(arm):
    fit = identify(arm, moved(arm, 9, NOISE, still=(2,)), **KNOWN)
    hidden = [row.name for row in fit.table() if row.flag == "not shown"]
    assert "Fv3" in hidden
    assert "not shown by these data (?)" in fit.summary()
    assert fit.to_dict()["base"][fit.names.index("Fv3")]["standard_error"] is None


def test_a_fit_can_be_pickled(fit):
    assert pickle.loads(pickle.dumps(fit)).summary() == fit.summary()


def test_columns_of_rounding_have_no_estimate():
    """A parameter without effect keeps its description's value, whatever rounding leaves in its column."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(50, 3))
    A[:, 1] *= 1e-16
    found = solve(np.column_stack([A, A @ [1.0, 0.0, 2.0]]), np.array([0.0, 7.0, 0.0]))
    np.testing.assert_allclose(found.x, [1.0, 7.0, 2.0], atol=1e-12)
    assert found.rank == 2
    np.testing.assert_allclose(np.abs(found.open[:, 0]), [0, 1, 0], atol=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_one_error_in_training_and_validation(arm, exact):
    """Of recorded torques up to the ends, with that of filtered torques beside it, wherever it is told."""
    log = moved(arm, 3, duration=6.0, exact=exact)
    with pytest.warns(IdentificationWarning):
        fit = identify(
            arm, log, validate=log, **({} if exact else {"cutoff": 6.0}), friction="plain", damping=0
        )
    tried = fit.validation
    assert tried.error == pytest.approx(fit.training_error, rel=1e-12)
    assert tried.filtered_error == pytest.approx(fit.filtered_error, rel=1e-12)
    assert fit.error(log) == pytest.approx(fit.training_error, rel=1e-12)
    left = log.tau - fit.predict(log)
    assert fit.training_error == pytest.approx(np.linalg.norm(left) / np.linalg.norm(log.tau), rel=1e-9)
    assert fit.filtered_error <= fit.training_error
    text = str(fit)
    percent = f"{100 * fit.training_error:.2f} % in training, {100 * fit.training_error:.2f} % in validation"
    assert percent in " ".join(text.split())
    assert ("of torques through the filter of the fit" in " ".join(text.split())) != exact
    told = fit.to_dict()
    assert told["training_error"] == pytest.approx(told["validation"]["error"], rel=1e-12)
