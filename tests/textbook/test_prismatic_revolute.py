"""The two-link planar arm with a prismatic and a revolute joint of Fig. 7.16: 000, problems 7.5 and 7.8.

The book prints no solution; the texts are derived here by hand. Joint 1 slides horizontally (along z_0), link
2 turns in the vertical plane of the slide, q_2 counted from the slide's direction upwards (x_0 points down):
its centre of mass is at (q_1 + l2 c_2, l2 s_2). The motors are as in section 7.3.2, on the preceding link and
along the joint. The slider does not turn, so rotor 2 only adds to the diagonal.
"""

import pytest

from armdyn import Robot
from textbook_arm import Arm

SYMBOLS = ("g", "ml1", "ml2", "Il2", "l2", "a2", "kr1", "kr2", "Im1", "Im2", "mm1", "mm2", "mL")
PARAMETERS = {
    "pi1": "ml1 + mm2 + ml2 + mL + kr1**2*Im1",
    "pi2": "ml2*l2 + mL*a2",
    "pi3": "Il2 + ml2*l2**2 + mL*a2**2 + kr2**2*Im2",
}
TAU = ["pi1*qdd1 - pi2*(s2*qdd2 + c2*qd2**2)", "pi2*(-s2*qdd1 + g*c2) + pi3*qdd2"]


def motor(i):
    return {"gear": f"kr{i}", "inertia": f"Im{i}", "mass": f"mm{i}"}


TABLE = {
    "name": "PR arm of Fig. 7.16",
    "convention": "dh",
    "gravity": ["g", 0, 0],
    "symbols": dict.fromkeys(SYMBOLS, "free"),
    "link": [
        {"joint": "prismatic", "a": 0, "alpha": "pi/2", "theta": 0, "mass": "ml1", "motor": motor(1)},
        {
            "joint": "revolute",
            "a": "a2",
            "alpha": 0,
            "d": 0,
            "theta": "pi/2",
            "mass": "ml2",
            "com": ["l2 - a2", 0, 0],
            "inertia": {"zz": "Il2"},
            "motor": motor(2),
        },
    ],
}


@pytest.fixture(scope="module")
def arm():
    return Arm(Robot.from_dict(TABLE))


@pytest.fixture(scope="module")
def loaded():
    return Arm(Robot.from_dict(TABLE).with_payload(mass="mL"))


def test_lagrange_model_is_the_hand_derived_one(arm):
    """Problem 7.5, without payload."""
    B = [
        ["ml1 + mm2 + ml2 + kr1**2*Im1", "-ml2*l2*s2"],
        ["-ml2*l2*s2", "Il2 + ml2*l2**2 + kr2**2*Im2"],
    ]
    assert arm.differences(arm.eq.B, B) == {}
    assert arm.differences(arm.eq.C, [[0, "-ml2*l2*c2*qd2"], [0, 0]]) == {}
    assert arm.differences(arm.eq.g, [0, "ml2*l2*g*c2"]) == {}


def test_model_with_payload_is_linear_in_three_parameters(loaded):
    """Problem 7.5, with m_L at the tip: τ = Y π as in (7.81) with three parameters."""
    assert loaded.differences(loaded.eq.tau, TAU, **PARAMETERS) == {}


def test_regressor_times_parameters_of_the_loaded_arm_is_the_same_linear_form(loaded):
    """(7.81) in the full parameters of (7.77) against the three of the problem."""
    names = loaded.eq.basis.parameter_names
    for i, text in enumerate(TAU):
        products = [loaded.element(loaded.column(p)[i]) * loaded.element(loaded.parameter(p)) for p in names]
        assert loaded.differences(sum(products, loaded.ring.zero), text, **PARAMETERS) == {}


def test_newton_euler_model_is_the_hand_derived_one(loaded):
    """Problem 7.8."""
    assert loaded.differences(loaded.newton_euler().tau, TAU, **PARAMETERS) == {}


def test_payload_at_the_tip_shifts_the_parameters_of_the_last_link(arm, loaded):
    """Augmented link 2 gains m_L at its frame's origin, which sits at the tip: only its mass changes."""
    changed = [name for name in arm.eq.basis.parameter_names if arm.parameter(name) != loaded.parameter(name)]
    assert changed == ["m2"]
    assert loaded.differences(loaded.parameter("m2"), "ml2 + mL") == {}
