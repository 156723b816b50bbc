"""Methods of estimation, and fits of some parameters with the rest known."""

import numpy as np
import pytest

from armdyn import ComputedTorque, Log, Robot, Trajectory, identify, simulate
from armdyn.identification import IdentificationError
from armdyn.identification.methods import huber, tukey
from arms import slowly
from golden_messages import golden_error
from simulated_logs import Scores, distance, log_of, motion_of, rubbing, wrong

PLAIN = {"friction": "plain", "damping": 0.0}
FREE = PLAIN | {"consistent": False}  # an estimate that a condition holds has no scatter


@pytest.fixture(scope="module")
def arm():
    return rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)


@pytest.fixture(scope="module")
def motion(arm):
    return motion_of(arm)


@pytest.mark.parametrize("method", ["ordinary", "weighted", "robust", "sequential", "instrumental"])
def test_every_method_finds_what_data_without_noise_show(arm, motion, method):
    fit = identify(wrong(arm), log_of(arm, motion), method=method)
    assert distance(fit, arm) < 1e-9
    assert fit.method == method


def test_damped_estimates_approach_the_truth_as_the_damping_falls(arm, motion):
    log, far = log_of(arm, motion), wrong(arm)
    errors = [
        distance(identify(far, log, method="damped", damping=d, friction="plain"), arm)
        for d in (1e-2, 1e-4, 1e-6)
    ]
    assert errors[0] > 5 * errors[1] > 25 * errors[2] > 0
    chosen = identify(far, log, method="damped", friction="plain")
    assert chosen.model.damping > 0
    assert any("pulls the estimates" in note for note in chosen.notes)


def test_damped_is_the_damped_inverse(arm, motion):
    """x = prior + (YᵀY + λD²)⁻¹ Yᵀ(τ − Y prior), D the lengths of the columns, on weighted rows."""
    options = {"method": "damped", "damping": 0.01, "friction": "plain", "consistent": False}
    fit = identify(wrong(arm), log_of(arm, motion), **options)
    R = fit.factors.weighted(fit.scale)
    prior = fit.model.problem.template.prior
    Y, tau = R[:, :-1], R[:, -1]
    D2 = np.square(Y).sum(0)
    kept = D2 > 0
    left = Y.T @ Y + 0.01 * np.diag(D2)
    x = prior.copy()
    x[kept] += np.linalg.solve(left[np.ix_(kept, kept)], (Y.T @ (tau - Y @ prior))[kept])
    np.testing.assert_allclose(fit.x, x, atol=1e-9 * np.abs(x).max())


def test_weights_of_robust_estimates():
    np.testing.assert_allclose(huber(np.array([0.0, -1.345, 2.69])), [1, 1, 0.5])
    np.testing.assert_allclose(tukey(np.array([0.0, 4.685, -9.0])), [1, 0, 0])


@pytest.mark.parametrize("method", ["weighted", "robust"])
def test_outliers_spoil_least_squares_and_not_robust_estimates(arm, motion, method):
    rng = np.random.default_rng(4)
    clean = log_of(arm, motion, rng, noise=0.02)
    tau = clean.tau.copy()
    hit = rng.random(tau.shape) < 0.05
    tau[hit] += rng.choice([1, 3], hit.sum()) * 0.8 * np.abs(tau).max()
    log = Log(clean.t, clean.q, tau, qd=clean.qd, qdd=clean.qdd)
    reference = identify(wrong(arm), clean, **PLAIN)
    fit = identify(wrong(arm), log, method=method, **PLAIN)
    z = (fit.parameters - fit.values_of(arm)) / reference.standard_errors
    if method == "weighted":
        assert np.sqrt(np.mean(z**2)) > 5
    else:
        assert np.sqrt(np.mean(z**2)) < 1.6
        assert np.all(fit.standard_errors < 1.3 * reference.standard_errors)
        assert any("less than half their weight" in note for note in fit.notes)


def test_robust_estimates_of_normal_noise_are_nearly_those_of_least_squares(arm, motion):
    rng = np.random.default_rng(5)
    log = log_of(arm, motion, rng, noise=0.05)
    plain, robust = (identify(arm, log, method=m, **PLAIN) for m in ("weighted", "robust"))
    assert np.all(np.abs(robust.parameters - plain.parameters) < 1.5 * plain.standard_errors)
    np.testing.assert_allclose(robust.standard_errors, plain.standard_errors, rtol=0.15)


def test_the_last_joint_of_the_sequence_is_its_own_least_squares(arm, motion):
    rng = np.random.default_rng(6)
    fit = identify(arm, log_of(arm, motion, rng, noise=0.05), method="sequential", **PLAIN)
    R = fit.factors.R[-1]
    x, *_ = np.linalg.lstsq(R[:, :-1], R[:, -1], rcond=1e-9)
    np.testing.assert_allclose(R[:, :-1] @ fit.x, R[:, :-1] @ x, atol=1e-8 * np.abs(R).max())


@pytest.mark.parametrize("method", ["ordinary", slowly("robust"), slowly("sequential")])
def test_intervals_of_every_method_hold_the_truth(arm, motion, method):
    rng, scores = np.random.default_rng(7), Scores()
    for _ in range(8):
        scores.add(identify(arm, log_of(arm, motion, rng, noise=0.05), method=method, **PLAIN), arm)
    assert scores.inside() >= 0.96
    assert 0.8 < np.sqrt(np.mean(np.square(scores.z))) < 1.25


# ---- noise in positions ------------------------------------------------------------------------------------


def test_instruments_take_away_the_bias_of_noisy_positions():
    arm = Robot.load("planar")
    motion, rng = motion_of(arm, 1, rate=200.0), np.random.default_rng(1)
    scores = {"ordinary": Scores(), "instrumental": Scores()}
    for _ in range(8):
        log = log_of(arm, motion, rng, noise=0.01, position_noise=1e-3, exact=False)
        for method, found in scores.items():
            found.add(identify(arm, log, method=method, cutoff=10.0, **FREE), arm)
    unit = np.std(scores["ordinary"].errors, axis=0, ddof=1)
    assert scores["instrumental"].bias(unit) < min(1.0, 0.5 * scores["ordinary"].bias(unit))
    assert scores["instrumental"].inside() > 0.97


@pytest.mark.slow
def test_instruments_that_are_given_take_away_the_bias():
    """The motion without noise, as a simulation of the model under its controller would give it."""
    arm = Robot.load("planar")
    t, q, qd, qdd = motion = motion_of(arm, 1, rate=200.0)
    rng = np.random.default_rng(2)
    scores = {"weighted": Scores(), "instrumental": Scores()}
    for _ in range(8):
        log = log_of(arm, motion, rng, noise=0.01, position_noise=1e-3, exact=False)
        clean = {"instrumental": {"instruments": Log(t, q, log.tau, qd=qd, qdd=qdd)}, "weighted": {}}
        for method, found in scores.items():
            options = (
                PLAIN | clean[method] | {"consistent": False}
            )  # friction that is zero would have no scatter
            found.add(identify(arm, log, method=method, cutoff=10.0, **options), arm)
    unit = np.std(scores["weighted"].errors, axis=0, ddof=1)
    assert scores["instrumental"].bias(unit) < 0.3 * scores["weighted"].bias(unit)


@pytest.mark.slow
def test_instruments_simulated_with_the_estimated_model_take_away_the_bias():
    """The controller and its reference are known: the motion is that of the estimated model under them."""
    arm = Robot.load("planar")
    t, q, _, _ = motion_of(arm, 1, rate=200.0)
    reference = Trajectory.from_samples(t, q)
    controller = ComputedTorque(wrong(arm, 3, 0.2), reference, stiffness=400.0)

    def driven(robot):
        start = reference(0.0)
        return simulate(
            robot, start[0], start[1], float(t[-1]), controller, method="rk4", step=0.005, limits="ignore"
        )

    run, rng = driven(arm), np.random.default_rng(3)
    known = {"parameters": "inertia", "damping": 0.0, "cutoff": 10.0}
    scores = {"weighted": Scores(), "instrumental": Scores()}
    for _ in range(6):
        positions = run.q + 1e-3 * rng.normal(size=run.q.shape)
        log = Log(run.t, positions, run.tau + 0.01 * np.abs(run.tau).mean(0) * rng.normal(size=run.q.shape))
        first = identify(arm, log, **known)
        again = identify(
            arm, log, method="instrumental", instruments=Log.from_run(driven(first.robot)), **known
        )
        scores["weighted"].add(first, arm)
        scores["instrumental"].add(again, arm)
    unit = np.std(scores["weighted"].errors, axis=0, ddof=1) + 1e-12
    assert scores["instrumental"].bias(unit) < 0.4 * scores["weighted"].bias(unit)


# ---- some parameters ---------------------------------------------------------------------------------------


def with_some(robot, log, parameters, known):
    """A description that is right in what is known and wrong in the rest, and its fit."""
    values = np.array(robot.parameters) * np.where(known, 1.0, 1.5)
    return identify(robot.with_parameters(values), log, parameters=parameters)


def test_friction_alone_with_the_bodies_known(arm, motion):
    friction = np.array([name.startswith("F") for name in arm.parameter_names])
    fit = with_some(arm, log_of(arm, motion), "friction", ~friction)
    np.testing.assert_allclose(fit.parameters, fit.values_of(arm), atol=1e-9)
    assert not fit.not_shown.any()
    own = np.array([name.startswith("F") for name in fit.names])
    assert np.all(fit.standard_errors[own] > 0)
    assert not fit.standard_errors[~own].any()
    assert fit.added == ("F01", "F02")


def test_payload_alone_with_the_arm_known(motion):
    arm = Robot.load("planar")
    loaded = arm.with_payload(mass=2, com=[0.1, 0.05, 0], inertia={"xx": 0.01, "yy": 0.02, "zz": 0.02})
    fit = identify(arm, log_of(loaded, motion), parameters="payload")
    np.testing.assert_allclose(fit.parameters, fit.values_of(loaded), atol=1e-9)
    changed = np.array(fit.full_names)[fit.x != fit.model.problem.template.prior]
    assert set(changed) <= {
        f"{x}2" for x in ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
    }
    assert fit.added == ()


def test_names_and_patterns(arm, motion):
    known = np.array([not name.startswith("Fv") for name in arm.parameter_names])
    fit = with_some(arm, log_of(arm, motion), ["Fv*"], known)
    np.testing.assert_allclose(fit.parameters, fit.values_of(arm), atol=1e-9)
    assert fit.full_names[int(np.flatnonzero(fit.free)[0])] == "Fv1"
    assert fit.free.sum() == 2


def test_more_known_parameters_give_smaller_standard_errors(arm, motion):
    rng = np.random.default_rng(8)
    log = log_of(arm, motion, rng, noise=0.05)
    full, part = identify(arm, log, **PLAIN), identify(arm, log, parameters="friction", **PLAIN)
    own = np.array([name.startswith("F") for name in full.names])
    assert np.all(part.standard_errors[own] <= 1.05 * full.standard_errors[own])


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"method": "best"},
        {"method": "damped", "damping": 0.0},
        {"method": "sequential", "damping": 0.1},
        {"parameters": "friction", "consistent": True},
        {"parameters": ["Fq*"]},
        {"parameters": []},
        {"parameters": 3},
        {"instruments": 3},
        {"method": "instrumental", "instruments": [1, 2]},
        {"method": "instrumental", "instruments": [1]},
    ],
)
def test_what_does_not_go_together_is_refused(arm, motion, options):
    with golden_error(IdentificationError):
        identify(arm, log_of(arm, motion), **options)
