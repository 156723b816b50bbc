"""`identify` on simulated data: what is shown exactly, what intervals hold, and what data do not show."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from armdyn import Log, Robot, identify
from armdyn.identification import IdentificationError
from arms import ROTORS, law, plans, quietly, related, table_of
from golden_messages import golden_error
from simulated_logs import Scores, distance, log_of, motion_of, rubbing, wrong

PLAIN = {"friction": "plain", "damping": 0.0}


# ---- without noise -----------------------------------------------------------------------------------------


@law(plans((1, 4), rotors=ROTORS), st.booleans(), examples=6, thorough=60)
def test_base_parameters_of_any_arm_from_exact_states(plan, follows):
    model = Robot.from_dict(table_of(plan)).model
    robot = Robot(related(model, plan.seed) if follows else model)
    far = quietly(lambda: wrong(robot, plan.seed % 1000))
    log = log_of(robot, motion_of(robot, plan.seed % 1000))
    free = quietly(lambda: identify(far, log, friction="given", consistent=False))
    fit = quietly(lambda: identify(far, log, friction="given"))
    assert distance(free, robot) < 1e-9
    assert distance(fit, robot) < 1e-7  # friction that is zero is a bound, which the solver meets so closely
    assert not free.not_shown.any()


@pytest.mark.parametrize(
    "name", ["scara", *(pytest.param(x, marks=pytest.mark.slow) for x in ("tx40", "puma560", "panda"))]
)
def test_base_parameters_of_bundled_arms_from_exact_states(name):
    robot = Robot.load(name)
    fit = identify(wrong(robot), log_of(robot, motion_of(robot)))
    assert distance(fit, robot) < 1e-8  # to the rounding of the solver, where friction is none at all
    assert not fit.not_shown.any()
    assert fit.model.damping == 0


def test_a_fit_is_a_description_for_the_next_one():
    """Estimates need not be possible bodies; the next fit takes them all the same."""
    arm = Robot.load("planar")
    log = log_of(arm, motion_of(arm), np.random.default_rng(0), noise=0.05)
    first = identify(wrong(arm), log, consistent=False, **PLAIN)
    second = identify(first.robot, log, consistent=False, **PLAIN)
    np.testing.assert_allclose(second.parameters, first.parameters, rtol=1e-8, atol=1e-10)
    bare = identify(Robot(replace(first.robot.model, rotors="none")), log, **PLAIN)
    assert bare.training_error < 1.1 * first.training_error


# ---- intervals ---------------------------------------------------------------------------------------------


def share_inside(runs, exact=True, colour=0.0, noise=0.05):
    arm = rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)
    motion, rng, scores = motion_of(arm, 1, frequency=0.1), np.random.default_rng(2), Scores()
    for _ in range(runs):
        log = log_of(arm, motion, rng, noise, exact=exact, colour=colour)
        scores.add(identify(wrong(arm), log, **PLAIN), arm)
    return scores.inside()


def test_intervals_hold_the_truth_in_a_few_runs():
    assert share_inside(15) > 0.96


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
def test_intervals_hold_the_truth_in_99_percent(exact):
    assert 0.98 <= share_inside(200, exact) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.01, 0.001])
def test_intervals_hold_the_truth_where_filters_matter_more_than_noise(noise):
    assert share_inside(30, exact=False, noise=noise) >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("colour", [0.6, 0.9])
def test_intervals_under_coloured_noise_are_not_far_too_short(colour):
    assert share_inside(60, colour=colour) > 0.95


# ---- choices -----------------------------------------------------------------------------------------------


def test_plain_friction_gets_no_further_terms():
    arm = rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)
    log = log_of(arm, motion_of(arm), np.random.default_rng(3), noise=0.03)
    fit = identify(wrong(arm), log)
    assert not any(one.stribeck or one.cubic or one.load for one in fit.model.friction)
    assert fit.model.damping <= 1e-2
    other = log_of(arm, motion_of(arm, 5))
    assert fit.error(other) < 1.2 * identify(wrong(arm), log, **PLAIN).error(other)


def test_friction_that_fades_and_bends_is_predicted_by_the_terms_that_are_chosen():
    """Stribeck's term takes the cubic one's place here: what that one adds is within its uncertainty."""
    planar = Robot.load("planar")
    links = [link.name for link in planar.model.moving]
    table = planar.to_dict()
    for link in table["link"]:
        if link["name"] in links:
            link["friction"] = {
                "viscous": 10.0,
                "coulomb": 20.0,
                "stribeck": {"level": 30.0, "velocity": 0.15},
                "cubic": 5.0,
            }
    arm = Robot.from_dict(table)
    rng = np.random.default_rng(4)
    log = log_of(arm, motion_of(arm, 1), rng, noise=0.01)
    other = log_of(arm, motion_of(arm, 7))
    fit, plain = identify(planar, log), identify(planar, log, friction="plain")
    assert all(one.stribeck for one in fit.model.friction)
    assert fit.error(other) < 0.7 * plain.error(other)


# ---- what data do not show ---------------------------------------------------------------------------------


def with_still_joint(arm, part):
    t, q, qd, qdd = motion_of(arm, 1)
    moves = np.arange(len(t)) < part * len(t)
    q = q.copy()
    q[:, -1] = np.where(moves, q[:, -1], q[max(int(part * len(t)) - 1, 0), -1])
    for x in (qd, qdd):
        x[~moves, -1] = 0.0
    return t, q, qd, qdd


@pytest.mark.parametrize("exact", [True, False])
def test_a_joint_that_never_moves_shows_nothing_of_its_own(exact):
    arm = rubbing(Robot.load("planar3"), Fv=2.0, Fs=3.0)
    log = log_of(arm, with_still_joint(arm, 0.0), exact=exact)
    fit = identify(wrong(arm), log, cutoff=None if exact else 20.0, **PLAIN)
    unseen = {name for name, x in zip(fit.names, fit.not_shown, strict=True) if x}
    assert {"Fv3", "Fs3"} <= unseen
    assert not unseen & {"Fv1", "Fs1", "Fv2", "Fs2"}
    assert distance(fit, arm) < (1e-9 if exact else 0.01)
    assert np.isinf(fit.standard_errors[fit.not_shown]).all()


def test_a_joint_that_rests_half_of_the_time():
    arm = rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)
    fit = identify(wrong(arm), log_of(arm, with_still_joint(arm, 0.5)))
    assert distance(fit, arm) < 1e-9
    assert not fit.not_shown.any()


def test_slow_motion_leaves_inertias_uncertain_and_gravity_known():
    arm = rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)
    rng = np.random.default_rng(5)
    fits = [
        identify(arm, log_of(arm, motion_of(arm, 1, duration=20, frequency=f), rng, noise=0.03), **PLAIN)
        for f in (0.02, 0.3)
    ]
    slow, fast = (dict(zip(fit.names, fit.standard_errors, strict=True)) for fit in fits)
    assert slow["Izz2"] > 10 * fast["Izz2"]
    for fit in fits:
        assert (np.abs(fit.parameters - fit.values_of(arm)) < 4 * fit.standard_errors).all()


def test_a_wrong_payload_in_the_description_does_not_matter():
    arm = Robot.load("planar")
    log = log_of(arm, motion_of(arm))
    loaded = arm.with_payload(mass=5, com=[0.1, 0.2, 0.0])
    fit = identify(loaded, log)
    assert distance(fit, arm) < 1e-9
    assert fit.error(log_of(arm, motion_of(arm, 9))) < 1e-9


def test_missing_numbers_and_spikes_in_a_log():
    arm = rubbing(Robot.load("planar"), Fv=2.0, Fs=3.0)
    log = log_of(arm, motion_of(arm))
    tau, rng = log.tau.copy(), random.Random(0)
    tau[100:130] = np.nan
    for _ in range(20):
        tau[rng.randrange(1000), rng.randrange(2)] += 2000
    damaged = Log(log.t, log.q, tau, qd=log.qd, qdd=log.qdd)
    fit = identify(wrong(arm), damaged, method="robust", friction="plain", damping=0.0)
    assert distance(fit, arm) < 1e-6
    assert any("no number in rows 100 to 129" in note for note in fit.notes)


# ---- what is refused ---------------------------------------------------------------------------------------


def test_a_log_shorter_than_the_filter_is_refused():
    arm = Robot.load("planar")
    log = log_of(arm, motion_of(arm, duration=0.1), exact=False)
    with golden_error(IdentificationError):
        identify(arm, log, cutoff=1.0, **PLAIN)


def test_rest_in_several_postures_shows_gravity_but_no_friction_and_no_inertia():
    arm = Robot.load("planar")
    postures = np.random.default_rng(4).uniform(-2, 2, size=(8, 1, 2))
    t, q = np.arange(100) / 200, np.broadcast_to(postures, (8, 100, 2))
    fit = identify(wrong(arm), [Log(t, x, arm.gravity(x)) for x in q], cutoff=20.0, **PLAIN)
    np.testing.assert_allclose(fit.robot.gravity(postures), arm.gravity(postures), rtol=1e-6)
    unseen = [name.startswith(("I", "Fv", "Fs")) for name in fit.full_names]
    assert fit.not_shown[(fit.base.matrix[:, unseen] != 0).any(1)].all()
    assert not fit.not_shown.all()


# ---- friction, chosen joint by joint -----------------------------------------------------------------------


def with_friction(table, *each):
    """The table of a robot with these entries of friction, one a joint."""
    moving = [link for link in table["link"] if link.get("joint") != "fixed"]
    for link, own in zip(moving, each, strict=True):
        link["friction"] = own
    return Robot.from_dict(table)


def test_the_choice_does_not_depend_on_the_friction_that_is_described():
    bare = Robot.load("planar")
    sharp = {"viscous": 30.0, "coulomb": 60.0}
    arm = with_friction(bare.to_dict(), sharp, sharp)
    log = log_of(arm, motion_of(arm, 3, duration=20.0), np.random.default_rng(3), noise=0.005)
    found = [identify(known, log, damping=0.0, consistent=False) for known in (bare, arm)]
    assert found[0].model.friction == found[1].model.friction
    assert not any(one.stribeck or one.cubic or one.load for one in found[0].model.friction)
    np.testing.assert_allclose(found[0].parameters, found[1].parameters, rtol=1e-6, atol=1e-6)
    known = dict(zip(found[0].robot.parameter_names, found[0].robot.parameters, strict=True))
    assert [known["Fs1"], known["Fs2"]] == pytest.approx([60.0, 60.0], rel=0.02)


def test_load_friction_of_one_joint_is_found_there_and_saved(tmp_path):
    bare = Robot.load("planar")
    loaded = {"viscous": 20.0, "coulomb": 10.0, "load": 0.15}
    arm = with_friction(bare.to_dict(), loaded, {"viscous": 20.0, "coulomb": 10.0})
    log = log_of(arm, motion_of(arm, 3, duration=20.0), np.random.default_rng(3), noise=0.005)
    fit = identify(bare, log, consistent=False)
    assert [one.load for one in fit.model.friction] == [True, False]
    known = dict(zip(fit.robot.parameter_names, fit.robot.parameters, strict=True))
    assert known["Fl1"] == pytest.approx(0.15, rel=0.05)
    robot = Robot.load(fit.robot.save(tmp_path / "fitted.toml") or tmp_path / "fitted.toml")
    motion = motion_of(arm, 8)
    exact = log_of(arm, motion)
    np.testing.assert_allclose(fit.predict(exact), robot.inverse_dynamics(*motion[1:]), rtol=1e-9, atol=1e-9)
    assert fit.error(exact) < 0.01
