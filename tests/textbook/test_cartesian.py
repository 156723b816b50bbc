"""The two-link Cartesian arm: 000, section 7.3.1 and problem 7.1."""

import pytest

from armdyn import Robot
from textbook_arm import Arm

ZERO = [[0, 0], [0, 0], [0, 0]]


@pytest.fixture(scope="module")
def arm():
    return Arm(Robot.load("cartesian"))


@pytest.fixture(scope="module")
def oblique():
    return Arm(Robot.load("cartesian45"))


def test_jacobians_of_the_links_are_the_printed_ones(arm):
    """(7.16)–(7.19) in section 7.3.1."""
    assert arm.differences(arm.link_jacobians(0), [[[0, 0], [0, 0], [1, 0]], ZERO]) == {}
    assert arm.differences(arm.link_jacobians(1), [[[0, 1], [0, 0], [1, 0]], ZERO]) == {}


def test_jacobians_of_the_rotors_are_the_printed_ones(arm):
    """(7.25)–(7.29) in section 7.3.1."""
    J_O1 = [[0, 0], [0, 0], ["kr1", 0]]
    J_O2 = [[0, "kr2"], [0, 0], [0, 0]]
    assert arm.differences(arm.rotor_jacobians(0), [ZERO, J_O1]) == {}
    assert arm.differences(arm.rotor_jacobians(1), [[[0, 0], [0, 0], [1, 0]], J_O2]) == {}


def test_inertia_matrix_is_the_printed_constant_one(arm):
    expected = [["ml1 + mm2 + kr1**2*Im1 + ml2", 0], [0, "ml2 + kr2**2*Im2"]]
    assert arm.differences(arm.eq.B, expected) == {}


def test_coriolis_matrix_vanishes(arm):
    assert arm.differences(arm.eq.C, [[0, 0], [0, 0]]) == {}


def test_gravity_is_the_printed_one(arm):
    assert arm.differences(arm.eq.g, ["(ml1 + mm2 + ml2)*g", 0]) == {}


def test_equations_of_motion_are_decoupled(arm):
    """The equations at the end of section 7.3.1, from Lagrange and from Newton–Euler."""
    expected = [
        "(ml1 + mm2 + kr1**2*Im1 + ml2)*qdd1 + (ml1 + mm2 + ml2)*g",
        "(ml2 + kr2**2*Im2)*qdd2",
    ]
    assert arm.differences(arm.eq.tau, expected) == {}
    assert arm.differences(arm.newton_euler().tau, expected) == {}


def test_axes_at_45_degrees_couple_the_joints(oblique):
    """Problem 7.1: with z_1 at π/4 from z_0, b_12 = ml2 cos(π/4) and g_2 = ml2 g cos(π/4).

    Everything else is as with the right angle.
    """
    B = [
        ["ml1 + mm2 + kr1**2*Im1 + ml2", "ml2*sqrt(2)/2"],
        ["ml2*sqrt(2)/2", "ml2 + kr2**2*Im2"],
    ]
    assert oblique.differences(oblique.eq.B, B) == {}
    assert oblique.differences(oblique.eq.C, [[0, 0], [0, 0]]) == {}
    assert oblique.differences(oblique.eq.g, ["(ml1 + mm2 + ml2)*g", "ml2*g*sqrt(2)/2"]) == {}
