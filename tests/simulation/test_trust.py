"""Runs that are not to be trusted say so, and none goes on for ever."""

import re

import numpy as np
import pytest

from armdyn import Robot
from armdyn.simulation import PDGravity, SimulationError, SimulationWarning, simulate
from arms import slowly
from golden_messages import golden_error, golden_warning
from sliders import coupled, slider

PLANAR = Robot.load("planar")
PUMA = Robot.load("puma560")

# ---- energies that do not add up ---------------------------------------------------------------------------


def stiff(gain):
    """Damping that steps of 1 ms cannot follow where it is high."""
    return PDGravity(PLANAR, [0.5, 0.5], gain * 1e6, gain * 3e5)


def test_fixed_steps_that_blow_up_and_stay_finite():
    with golden_warning(SimulationWarning) as found:
        run = simulate(PLANAR, [0.3, 0.3], [0, 0], 2.0, stiff(1.0), method="rk4")
    assert len(found) == 1
    assert not run.completed
    assert np.isfinite(run.q).all()  # nothing else shows it
    assert run.t[-1] == 2.0
    assert np.abs(run.balance).max() > 1e10
    assert run.message.endswith("; steps of 0.001 s are too long, or torques jump too often")
    assert re.search(r"e\+11 J of .* J exchanged are unexplained", run.message)
    adaptive = simulate(PLANAR, [0.3, 0.3], [0, 0], 0.02, stiff(1.0))
    assert adaptive.completed


def test_arms_whose_energies_do_not_add_up():
    """Each for itself, named; the others are what they are alone."""
    gains = np.array([1e-3, 1.0, 1e-3, 1.0, 1.0, 1.0, 1e-3])[:, None]
    start = np.full((7, 2), 0.3)
    told = r"arm \(1,\): the energies .*; arm \(3,\): .*; arm \(4,\): .*; and 1 more; steps of 0\.001 s"
    with pytest.warns(SimulationWarning, match=told):
        run = simulate(PLANAR, start, [0, 0], 2.0, stiff(gains * np.ones(2)), method="rk4", output=0.01)
    alone = simulate(PLANAR, start[0], [0, 0], 2.0, stiff(1e-3), method="rk4", output=0.01)
    assert alone.completed
    np.testing.assert_allclose(run.q[:, 0], alone.q, atol=1e-12)


def test_coarse_steps_with_dry_friction_and_payload_are_trusted():
    """Of first order where joints stop; steps of 10 ms leave 0.2 % unexplained."""
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, 20, 6))
    for robot in (PUMA, PUMA.with_payload(5.0, (0, 0, 0.1))):
        for step in (1e-3, 1e-2):
            run = simulate(robot, q, qd, 2.0, method="rk4", step=step, limits="ignore")
            assert run.completed
            assert any(event.kind == "stick" for event in run.events)
            assert np.abs(run.balance).max() > 1e-5


# ---- steps are bounded -------------------------------------------------------------------------------------


def ended(told, *arguments, **named):
    with pytest.warns(SimulationWarning, match=told) as found:
        run = simulate(*arguments, **named)
    assert len(found) == 1
    assert not run.completed
    assert np.isfinite(run.q).all()
    assert run.t[-1] < arguments[3]
    return run


def test_something_stiff_uses_up_its_steps():
    robot = slider(1.0, 0.0)
    control = PDGravity(robot, [0.0], 1e12, 1e8)
    told = r"max_steps \(500\) reached with steps as short as .*e-0\d s \(something may be stiff.*\) at t = "
    run = ended(told, robot, [1.0], [0.0], 1.0, control, max_steps=500)
    assert 0 < float(run.message.split("t = ")[1].split(" s")[0]) < 1e-3
    ended(
        r"max_steps \(500\)", robot, [1.0], [0.0], 3.0, lambda t, q, qd: -10 * np.sign(q + qd), max_steps=500
    )


@pytest.mark.slow
def test_a_chatter_uses_up_its_steps():
    """A square wave of 16 kHz that friction holds half of the time."""
    told = (
        r"max_steps \(1,500\) reached with \d\d changes between sticking and slipping \(friction chatters\)"
    )
    run = ended(
        told,
        slider(),
        [0.0],
        [0.0],
        1.0,
        lambda t, q, qd: 5 * np.sign(np.sin(1e5 * t)) + 0 * q,
        max_steps=1500,
    )
    assert len(run.events) > 10


def test_a_torque_with_noise_in_it_ends():
    """Asked twice at one instant it answers twice; so instants are found that are none."""
    rng = np.random.default_rng(0)
    ended("max_steps", slider(), [0.0], [0.0], 0.3, lambda t, q, qd: rng.normal(0, 5, 1), max_steps=500)


@pytest.mark.parametrize("robot", [slider(), slowly(coupled())])
def test_modes_that_contradict_themselves_at_one_instant(robot):
    """Pushed at rest and pushed back as soon as it moves: no mode fits."""
    push = np.array([9.0, -9.0])[: robot.n]
    ended(
        r"joints do not settle between sticking and slipping \(a controller with rate= may help\) at t = 0 s",
        *(robot, np.zeros(robot.n), np.zeros(robot.n), 1.0),
        lambda t, q, qd: np.where(qd == 0, push, -push),
    )


def test_steps_are_counted_for_each_arm():
    control = PDGravity(
        slider(1.0, 0.0), [0.0], np.array([[1e12], [1.0], [1e12]]), np.array([[1e8], [1.0], [1e8]])
    )
    with golden_warning(SimulationWarning):
        run = simulate(slider(1.0, 0.0), np.ones((3, 1)), [0.0], 1.0, control, max_steps=300, output=0.1)
    assert np.isfinite(run.q[:, 1]).all()
    assert np.isnan(run.q[-1, [0, 2]]).all()


@pytest.mark.parametrize("wrong", [0, -5, 2.5, np.inf, "many", True])
def test_bounds_that_are_none(wrong):
    with golden_error(SimulationError):
        simulate(PLANAR, [0, 0], [0, 0], 1.0, max_steps=wrong)


# ---- the order of fixed steps ------------------------------------------------------------------------------


def test_a_note_on_the_order_where_dry_friction_is_taken_in_fixed_steps():
    with_friction = simulate(slider(), [0.0], [1.0], 0.1, method="rk4")
    assert len(with_friction.notes) == 1
    assert "of first order" in with_friction.notes[0]
    assert simulate(slider(), [0.0], [1.0], 0.1).notes == ()
    assert simulate(slider(coulomb=0.0, viscous=1.0), [0.0], [1.0], 0.1, method="rk4").notes == ()
