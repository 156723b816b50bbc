"""Identification of mechanisms whose joints are related: only the coordinates are measured."""

import numpy as np
import pytest

from armdyn import Log, Robot, excite, identify, identify_payload
from armdyn.robot.joints import followers
from arms import assert_same, slowly

FRAMES = {"parallelogram": [3.1, 1.3], "palletizer": [0.2, 0.4, 0.5, 0.1]}


def motion(robot, middle, seed, size=0.25, duration=6.0, step=0.01):
    """Fourier series of five harmonics around a posture: t, q, q̇, q̈."""
    rng, t = np.random.default_rng(seed), np.arange(0, duration, step)
    a, b = size * rng.normal(size=(2, 5, robot.n)) / np.arange(1, 6)[:, None]
    w = 2 * np.pi / duration * np.arange(1, 6)
    phase = np.outer(t, w)
    c, s = np.cos(phase), np.sin(phase)
    return t, middle + s @ a + c @ b, (c * w) @ a - (s * w) @ b, -(s * w**2) @ a - (c * w**2) @ b


def log_of(robot, middle, seed, noise=0.0, **options):
    t, q, qd, qdd = motion(robot, middle, seed, **options)
    tau = robot.inverse_dynamics(q, qd, qdd)
    rng = np.random.default_rng(seed + 100)
    return Log(t=t, q=q, qd=qd, qdd=qdd, tau=tau + noise * np.abs(tau).mean(0) * rng.normal(size=tau.shape))


@pytest.mark.parametrize("name", [slowly("palletizer"), "parallelogram"])
def test_base_parameters_of_the_exact_and_the_numeric_route(name):
    """As many combinations as the regressor has independent columns, and torques that these give."""
    robot = Robot.load(name)
    exact = robot.base_parameters(friction=True)
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 300, robot.n))
    Y = robot.regressor(q, qd, qdd).reshape(-1, len(robot.parameters))
    sizes = np.linalg.norm(Y, axis=0)
    scaled = Y[:, sizes > 1e-12 * sizes.max()] / sizes[sizes > 1e-12 * sizes.max()]
    assert np.linalg.matrix_rank(scaled, 1e-9) == len(exact.combinations)
    tau = exact.regressor(q, qd, qdd) @ exact.values
    assert_same(tau, robot.inverse_dynamics(q, qd, qdd), 1e-9)


def test_the_parallelogram_is_identified_from_its_two_driven_joints():
    """From a description with other masses and places of them, and with noise of 1 %."""
    described = Robot.load("parallelogram")
    true = described.with_symbols(ml3p=19, l3p=0.55, Il1pp=2.0, ml1pp=22)
    fit = identify(described, log_of(true, FRAMES["parallelogram"], 1, noise=0.01), friction="given")
    _, q, qd, qdd = motion(true, FRAMES["parallelogram"], 7)
    tau = true.inverse_dynamics(q, qd, qdd)
    wrong, found = (x.inverse_dynamics(q, qd, qdd) - tau for x in (described, fit.robot))
    assert np.linalg.norm(found) < 0.004 * np.linalg.norm(tau)
    assert np.linalg.norm(wrong) > 0.05 * np.linalg.norm(tau)
    assert sum("F" not in text for text in fit.base.combinations) == 8


@pytest.mark.slow
def test_estimates_of_the_palletiser_that_bodies_can_have():
    robot = Robot.load("palletizer")
    log = log_of(robot, FRAMES["palletizer"], 2, noise=0.01)
    fit = identify(robot, log, friction="given", consistent=True)
    _, q, qd, qdd = motion(robot, FRAMES["palletizer"], 8)
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.linalg.norm(fit.robot.inverse_dynamics(q, qd, qdd) - tau) < 0.01 * np.linalg.norm(tau)
    assert fit.robot.warnings == robot.warnings


def test_what_a_palletiser_carries_is_found_up_to_what_its_level_hand_hides():
    """The hand never tilts: torques show the mass, its place across the vertical, and nothing along it."""
    robot = Robot.load("palletizer")
    loaded = robot.with_payload(mass=60, com=[0.02, 0.01, -0.2])
    found = identify_payload(robot, log_of(loaded, FRAMES["palletizer"], 3, noise=0.002))
    assert found.mass == pytest.approx(60, rel=0.01)
    assert_same(found.com[:2], [0.02, 0.01], 0.05)
    assert "mz" in found.not_shown


@pytest.mark.parametrize("kind", ["fourier", "quintic"])
def test_excitation_keeps_the_ranges_of_joints_that_follow_several(kind):
    """Of the rod of the parallelogram, which its own limits of the coordinates do not imply."""
    robot = Robot.load("parallelogram")
    limits = followers(robot)
    corners = np.array([[2.2, 2.5], [4.2, 0.2]])
    assert (limits.excess(corners) > 0).all()
    size = {"harmonics": 2} if kind == "fourier" else {"points": 3}
    found = excite(robot, duration=5.0, kind=kind, starts=1, iterations=10, seed=3, **size)
    assert limits.excess(found.samples(0.002).q).max() < 0


@pytest.mark.parametrize("name", ["planar3", "parallelogram"])
def test_robots_without_motors_are_identified_as_they_are(name):
    """No rotor is estimated for them; this was an error."""
    robot = Robot.load(name)
    log = log_of(robot, FRAMES.get(name, np.zeros(robot.n)), 5, noise=0.01)
    fit = identify(robot, log, friction="given")
    assert_same(fit.robot.inertia(log.q[0]), robot.inertia(log.q[0]), 0.05)
