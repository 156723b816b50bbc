"""The gear-driven elbow manipulator: 002, sections 4 and 7, whose moments and tensors are about frame i−1."""

import pytest

from armdyn import Robot
from textbook_arm import Arm

PI = {
    "pi1": "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "pi2": "m2*lc2 + a2*m3",
    "pi3": "I2xx - I2yy - a2**2*m3",
    "pi4": "I2zz + kr2**2*Im2 + a2**2*m3",
    "pi5": "I3xx - I3yy",
    "pi6": "m3*lc3",
    "pi7": "I3zz",
    "pi8": "Im2",
    "pi9": "Im3",
}
H11 = "s2*c2*qd2*pi3 + s23*c23*(qd2 + qd3)*pi5 - a2*(s2*c23*qd2 + c2*s23*(qd2 + qd3))*pi6"
H12 = "s2*c2*qd1*pi3 + s23*c23*qd1*pi5 - a2*(c2*s23 + s2*c23)*qd1*pi6 + kr3*c2*qd3*pi9/2"
H13 = "s23*c23*qd1*pi5 - a2*c2*s23*qd1*pi6 + kr3*c2*qd2*pi9/2"
H22 = "-a2*s3*qd3*pi6"
H31 = "-s23*c23*qd1*pi5 + a2*c2*s23*qd1*pi6 + kr3*c2*qd2*pi9/2"
H32 = "a2*s3*qd2*pi6 + kr3*c2*qd1*pi9/2"


@pytest.fixture(scope="module")
def elbow():
    return Arm(Robot.load("elbow"))


def test_inertia_matrix_is_the_printed_one(elbow):
    """Section 7, b_ij of (14)."""
    b11 = "pi1 + s2**2*pi3 + s23**2*pi5 + 2*a2*c2*c23*pi6"
    b12, b13, b23 = "kr2*pi8", "kr3*s2*pi9", "a2*c3*pi6 + pi7"
    expected = [
        [b11, b12, b13],
        [b12, "pi4 + 2*a2*c3*pi6 + pi7", b23],
        [b13, b23, "pi7 + kr3**2*pi9"],
    ]
    assert elbow.differences(elbow.eq.B, expected, **PI) == {}


def test_coriolis_matrix_is_the_printed_one(elbow):
    """Section 7, h_ij of (17)."""
    expected = [[H11, H12, H13], [f"-({H12})", H22, f"({H22}) - ({H32})"], [H31, H32, 0]]
    assert elbow.differences(elbow.eq.C, expected, **PI) == {}


def test_gravity_is_the_printed_one_for_gravity_along_plus_z(elbow):
    """Section 7, g_i of (18), as printed: they hold for g_0 = [0 0 +g]ᵀ."""
    upside_down = Arm(elbow.robot.with_gravity([0, 0, "g"]))
    expected = [0, "-g*c23*pi6 - g*c2*pi2", "-g*c23*pi6"]
    assert upside_down.differences(upside_down.eq.g, expected, **PI) == {}


def test_gravity_with_z_up_has_the_opposite_sign(elbow):
    assert elbow.differences(elbow.eq.g, [0, "g*c23*pi6 + g*c2*pi2", "g*c23*pi6"], **PI) == {}


def test_newton_euler_is_the_printed_model(elbow):
    """(35)–(45) give (19)."""
    assert elbow.minus([elbow.newton_euler().tau], [elbow.eq.tau]) == [[0, 0, 0]]


def test_reflected_rotors_lose_the_coupling_and_the_locked_tensors(elbow):
    """Section 4: adding kr_i² Im_i to the diagonal drops b_12 and b_13.

    With the rotors' tensors go Im2 about y_1 and Im3 about x_2, which only b_11 sees.
    """
    lost = elbow.minus(elbow.eq.B, elbow.robot.with_rotors("reflected").equations().B)
    expected = [["Im2 + s2**2*Im3", "kr2*Im2", "kr3*s2*Im3"], ["kr2*Im2", 0, 0], ["kr3*s2*Im3", 0, 0]]
    assert elbow.differences(lost, expected) == {}


def test_reflected_rotors_lose_the_coriolis_terms_of_rotor_3(elbow):
    """Section 7: b_13 "generates additional contributions in the coefficients of the Coriolis terms"."""
    lost = elbow.minus(elbow.eq.C, elbow.robot.with_rotors("reflected").equations().C)
    k = "kr3*c2*Im3/2"
    expected = [
        ["s2*c2*qd2*Im3", f"s2*c2*qd1*Im3 + {k}*qd3", f"{k}*qd2"],
        [f"-s2*c2*qd1*Im3 - {k}*qd3", 0, f"-{k}*qd1"],
        [f"{k}*qd2", f"{k}*qd1", 0],
    ]
    assert elbow.differences(lost, expected) == {}
