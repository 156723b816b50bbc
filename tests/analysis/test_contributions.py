"""The parts of the torque against inverse dynamics, and each part against where it comes from."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.analysis import AnalysisError, contributions
from armdyn.analysis.contributions import christoffel
from arms import ROTORS, assert_same, generators, gradient, law, robots, state
from golden_messages import golden_error

ARMS = robots((1, 5), rotors=ROTORS)


@law(ARMS, generators(), examples=15)
def test_parts_add_up_to_inverse_dynamics(robot, rng):
    q, qd, qdd = state(robot, rng, (2, 3))
    wrench = rng.normal(size=(3, 6)) * 50
    tau = robot.inverse_dynamics(q, qd, qdd, wrench)
    for rotors in ("separate", "within"):
        parts = contributions(robot, q, qd, qdd, wrench, rotors=rotors)
        assert_same(parts.total, tau, 1e-11)
        assert parts.rotors == rotors


@law(ARMS, generators(), examples=10)
def test_parts_are_those_of_the_matrices(robot, rng):
    q, qd, qdd = state(robot, rng)
    found = contributions(robot, q, qd, qdd, rotors="within")
    assert_same(found.inertia.sum(-1), robot.inertia(q) @ qdd)
    assert_same(found.centrifugal.sum(-1) + found.coriolis, robot.coriolis(q, qd) @ qd)
    assert_same(found.gravity, robot.gravity(q))
    assert_same(found.friction, robot.friction(qd))
    assert not found.rotor_coupling.any()
    assert not found.tip_wrench.any()
    assert not np.tril(found.coriolis_pairs).any()


@law(ARMS, generators(), examples=10)
def test_christoffel_symbols_are_derivatives_of_the_inertia(robot, rng):
    """(7.45), with B differentiated numerically."""
    q, qd, _ = state(robot, rng)
    dB = gradient(robot.inertia, q)  # i, j, k: ∂b_ij/∂q_k
    expected = (dB + dB.transpose(0, 2, 1) - dB.transpose(2, 1, 0)) / 2
    assert_same(christoffel(robot, q), expected, 1e-7)
    found = contributions(robot, q, qd, 0 * qd, rotors="within")
    assert_same(found.centrifugal, np.einsum("ijj,j->ij", expected, qd**2), 1e-7)


@law(robots((2, 5)), generators(), examples=10)
def test_rotor_coupling_is_exact_minus_reflected(robot, rng):
    q, qd, qdd = state(robot, rng)
    exact, reflected = (
        robot.with_rotors(kind).inverse_dynamics(q, qd, qdd) for kind in ("exact", "reflected")
    )
    separate = contributions(robot, q, qd, qdd)
    assert_same(separate.rotor_coupling, exact - reflected, scale=np.abs(exact).max())
    plain = contributions(robot.with_rotors("reflected"), q, qd, qdd)
    assert not plain.rotor_coupling.any()
    assert_same(plain.inertia, separate.inertia)
    assert_same(plain.coriolis_pairs, separate.coriolis_pairs)


def test_planar_arm_in_both_rotor_conventions():
    """(7.82): I_m2 and k_r2 I_m2 are the coupling, k_r² I_m is not."""
    robot = Robot.load("planar")
    qdd = np.array([2.0, -3.0])
    within = contributions(robot, [0.3, 0.7], [1.0, 2.0], qdd, rotors="within")
    separate = contributions(robot, [0.3, 0.7], [1.0, 2.0], qdd)
    coupling = np.array([[0.01, 1.0], [1.0, 0.0]]) * qdd
    assert_same(within.inertia - separate.inertia, coupling)
    assert_same(separate.rotor_coupling, coupling.sum(-1))
    h = -50 * 0.5 * np.sin(0.7)
    assert_same(within.centrifugal, [[0, 4 * h], [-h, 0]])
    assert_same(within.coriolis_pairs[0], [[0, 4 * h], [0, 0]])
    assert not within.coriolis_pairs[1].any()


def test_curves_of_a_joint_add_up_and_leave_zeros_out():
    robot = Robot.load("planar")
    q, qd, qdd = np.random.default_rng(1).normal(size=(3, 5, 2))
    found = contributions(robot, q, qd, qdd)
    for i in range(2):
        curves = dict(found.at(i))
        assert_same(sum(curves.values()), found.total[:, i])
    assert list(dict(found.at(1))) == [
        "inertia, joint 1",
        "inertia, joint 2",
        "centrifugal, joint 1",
        "gravity",
        "rotor coupling",
    ]


def test_parts_have_a_fixed_order():
    found = contributions(Robot.load("pendulum"), [0.1], [0.2], [0.3])
    assert list(found.parts) == [
        "inertia",
        "centrifugal",
        "Coriolis",
        "gravity",
        "springs",
        "viscous friction",
        "dry friction",
        "rotor coupling",
        "tip wrench",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([1, 2, 3], [1, 2], [1, 2]), "q: expected (..., 2), found (3,)"),
        (([1, 2], [1, np.nan], [1, 2]), "qd: expected finite numbers, found nan at (1,)"),
        (([1, 2], [1, 2], "fast"), "qdd: expected numbers (..., 2), found 'fast'"),
        (
            ([1, 2], np.array([1, 2j]), [1, 2]),
            "qd: expected numbers (..., 2), found an array of complex numbers",
        ),
        ((np.zeros((3, 2)), np.zeros((4, 2)), [1, 2]), "shapes do not fit together: q (3, 2), qd (4, 2)"),
        (([1, 2], [1, 2], [1, 2], [1, 2, 3]), "wrench: expected (..., 6), found (3,)"),
        ((np.zeros((3, 2)), [1, 2], [1, 2], np.zeros((2, 6))), "wrench: found shape (2, 6); it does not fit"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(AnalysisError) as caught:
        contributions(Robot.load("planar"), *arguments)
    assert words in str(caught.value)


def test_unknown_choices_are_named():
    robot = Robot.load("planar")
    with golden_error(AnalysisError):
        contributions(robot, [0, 0], [0, 0], [0, 0], rotors="some")
    for joint in (2, -1, 0.5, "first"):
        with golden_error(AnalysisError):
            contributions(robot, [0, 0], [0, 0], [0, 0]).at(joint)


def test_huge_states_raise_no_warning():
    robot, x = Robot.load("puma560"), np.full(6, 1e308)
    parts = contributions(robot, np.zeros(6), x, x)
    assert not np.isfinite(parts.rotor_coupling).all()
