"""The PR robot on a horizontal plane, and structural properties: 004 (De Luca), slides 13–28."""

import pytest

from armdyn import Robot
from armdyn.exact.form import Array
from textbook_arm import Arm


@pytest.fixture(scope="module")
def pr():
    return Arm(Robot.load("pr"))


def coriolis_vector(arm, S):
    """S q̇."""
    return [
        sum((S[i, j].times_generator(f"qd{j + 1}") for j in range(arm.eq.n)), start=0)
        for i in range(arm.eq.n)
    ]


def test_kinetic_energy_follows_koenig(pr):
    """Slide 23: T_1 = ½ m1 q̇_1², T_2 = ½ m2 v_c2ᵀ v_c2 + ½ I2 q̇_2²."""
    expected = "m1*qd1**2/2 + m2*(qd1**2 + dc2**2*qd2**2 - 2*dc2*s2*qd1*qd2)/2 + I2*qd2**2/2"
    assert pr.differences(pr.eq.kinetic_energy, expected) == {}
    slider, rod = (pr.eq.energy(link.name) for link in pr.robot.model.links)
    assert slider.kinetic == slider.translation == "m1*qd1**2/2"
    assert rod.translation == "m2*(qd1**2 + dc2**2*qd2**2 - 2*dc2*s2*qd1*qd2)/2"
    assert rod.rotation == "I2*qd2**2/2"


def test_velocities_of_the_centres_of_mass_are_the_printed_ones(pr):
    """Slide 23: v_c1 = q̇_1 x, v_c2 = (q̇_1 − dc2 sin q2 q̇_2, dc2 cos q2 q̇_2, 0), ω_2 = q̇_2 z."""
    J_P1, J_O1 = pr.link_jacobians(0)
    J_P2, J_O2 = pr.link_jacobians(1)
    assert pr.differences([J_P1, J_O1], [[[1, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]]) == {}
    assert pr.differences(J_P2, [[1, "-dc2*s2"], [0, "dc2*c2"], [0, 0]]) == {}
    assert pr.differences(J_O2, [[0, 0], [0, 0], [0, 1]]) == {}
    rod = pr.robot.model.links[1].name
    assert pr.eq.position(rod, at="com") == ["q1 + dc2*c2", "dc2*s2", 0]
    assert pr.eq.velocity(rod, at="com") == ["qd1 - dc2*s2*qd2", "dc2*c2*qd2", 0]
    assert pr.eq.angular_velocity(rod) == [0, 0, "qd2"]


def test_inertia_matrix_is_the_printed_one(pr):
    """Slide 24."""
    M = [["m1 + m2", "-m2*dc2*s2"], ["-m2*dc2*s2", "I2 + m2*dc2**2"]]
    assert pr.differences(pr.eq.B, M) == {}


def test_matrices_of_christoffel_symbols_are_the_printed_ones(pr):
    """Slide 24: C_1 has −m2 dc2 cos q2 in its last entry, C_2 vanishes."""
    C_1 = [[0, 0], [0, "-m2*dc2*c2"]]
    assert pr.differences(pr.eq.christoffel, [C_1, [[0, 0], [0, 0]]]) == {}


def test_model_is_the_printed_one_without_gravity(pr):
    """Slide 25: M q̈ + c = u with c_1 = −m2 dc2 cos q2 q̇_2², c_2 = 0 and g = 0."""
    assert pr.differences(coriolis_vector(pr, pr.eq.C), ["-m2*dc2*c2*qd2**2", 0]) == {}
    assert pr.eq.c == ["-m2*dc2*c2*qd2**2", 0] == pr.eq.centrifugal_torques
    assert pr.differences(pr.eq.g, [0, 0]) == {}
    expected = [
        "(m1 + m2)*qdd1 - m2*dc2*s2*qdd2 - m2*dc2*c2*qd2**2",
        "-m2*dc2*s2*qdd1 + (I2 + m2*dc2**2)*qdd2",
    ]
    assert pr.differences(pr.newton_euler().tau, expected) == {}


def test_factorisation_by_christoffel_symbols_is_skew(pr):
    """Slides 22, 26: rows of S are q̇ᵀC_k; Ṁ − 2S is skew-symmetric."""
    assert pr.differences(pr.eq.C, [[0, "-m2*dc2*c2*qd2"], [0, 0]]) == {}
    assert pr.differences(pr.eq.N, [[0, "m2*dc2*c2*qd2"], ["-m2*dc2*c2*qd2", 0]]) == {}


def test_factorisation_is_not_unique(pr):
    """Slides 25 (Q4), 27: S plus a matrix that annihilates q̇ gives the same c, but Ṁ − 2S is not skew."""
    S = pr.eq.C
    k = pr.eq.B[0, 0]
    row = [S[0, 0] + k.times_generator("qd2"), S[0, 1] - k.times_generator("qd1")]
    other = Array([row, [S[1, 0], S[1, 1]]])
    assert pr.differences(coriolis_vector(pr, other), ["-m2*dc2*c2*qd2**2", 0]) == {}
    N = pr.eq.skew(other)
    assert not N[0, 0].is_zero
    assert pr.quadratic_form(N).is_zero


@pytest.mark.parametrize("name", ["pr", "rp", "planar", "planar3", "scara", "elbow"])
def test_energy_changes_by_the_power_of_the_torques(name):
    """Slide 27: Ė = q̇ᵀ u, as an identity."""
    arm = Arm(Robot.load(name))
    energy = arm.element(arm.eq.kinetic_energy) + arm.element(arm.eq.potential_energy)
    rate = power = arm.ring.zero
    for k in range(arm.eq.n):
        rate = rate + energy.by_joint(k) * arm.qd[k]
        rate = rate + energy.derivative(f"qd{k + 1}") * arm.qdd[k]
        power = power + arm.qd[k] * arm.newton_euler().tau[k]
    assert rate == power
