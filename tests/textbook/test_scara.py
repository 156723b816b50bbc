"""The SCARA manipulator: 000, problem 7.3. The book prints no solution; the texts are derived here by hand.

All axes are vertical, so everything turns about z: ω_1 = q̇_1, ω_2 = ω_3 = q̇_1 + q̇_2, ω_4 = ω_3 + q̇_4; rotors
2, 3, 4 turn with links 1, 2, 3 and spin by kr_i q̇_i. Quill, hand and motors 3, 4 ride on the wrist axis (mass
M, of which Mv moves up and down).
"""

import pytest

from armdyn import Robot
from textbook_arm import Arm

WHERE = {
    "M": "mm3 + ml3 + mm4 + ml4",
    "Mv": "ml3 + mm4 + ml4",
    "Iw": "Il3 + Il4 + Im3 + Im4",  # what turns with link 2, apart from link 2
}


@pytest.fixture(scope="module")
def scara():
    return Arm(Robot.load("scara"))


def test_inertia_matrix_is_the_hand_derived_one(scara):
    b11 = (
        "Il1 + ml1*l1**2 + kr1**2*Im1 + Im2 + mm2*a1**2 + Il2 + ml2*(a1**2 + l2**2 + 2*a1*l2*c2)"
        " + Iw + M*(a1**2 + a2**2 + 2*a1*a2*c2)"
    )
    b12 = "Il2 + ml2*(l2**2 + a1*l2*c2) + Iw + M*(a2**2 + a1*a2*c2) + kr2*Im2"
    b22 = "Il2 + ml2*l2**2 + Iw + M*a2**2 + kr2**2*Im2"
    b3, b4 = "kr3*Im3", "Il4 + kr4*Im4"
    expected = [
        [b11, b12, b3, b4],
        [b12, b22, b3, b4],
        [b3, b3, "Mv + kr3**2*Im3", 0],
        [b4, b4, 0, "Il4 + kr4**2*Im4"],
    ]
    assert scara.differences(scara.eq.B, expected, **WHERE) == {}


def test_coriolis_matrix_is_that_of_the_planar_part(scara):
    """As in section 7.3.2 with h = −(ml2 l2 + M a2) a1 s2; quill and hand have no part in it."""
    expected = [
        ["h*qd2", "h*(qd1 + qd2)", 0, 0],
        ["-h*qd1", 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
    ]
    where = {**WHERE, "h": "-(ml2*l2 + M*a2)*a1*s2"}
    assert scara.differences(scara.eq.C, expected, **where) == {}


def test_gravity_acts_on_the_quill_only(scara):
    assert scara.differences(scara.eq.g, [0, 0, "Mv*g", 0], **WHERE) == {}


def test_lagrange_and_newton_euler_agree(scara):
    assert scara.minus([scara.newton_euler().tau], [scara.eq.tau]) == [[0, 0, 0, 0]]
