"""The two d.o.f. planar manipulator: 001 (Asada and Slotine), examples 5-2 and 5-3 in joint coordinates."""

import pytest

from armdyn import Robot
from textbook_arm import Arm

SYMBOLS = [f"{name}{i}" for i in (1, 2) for name in ("l", "lc", "m", "I")]
H = [
    [
        "m1*lc1**2 + I1 + m2*(l1**2 + lc2**2 + 2*l1*lc2*c2) + I2",
        "m2*l1*lc2*c2 + m2*lc2**2 + I2",
    ],
    ["m2*l1*lc2*c2 + m2*lc2**2 + I2", "m2*lc2**2 + I2"],
]


def link(i, motor=None):
    entry = {
        "name": f"link {i}",
        "joint": "revolute",
        "a": f"l{i}",
        "alpha": 0,
        "d": 0,
        "mass": f"m{i}",
        "com": [f"lc{i} - l{i}", 0, 0],
        "inertia": {"zz": f"I{i}"},
    }
    return entry if motor is None else {**entry, "motor": motor}


def table(links, *symbols):
    return {
        "name": "two d.o.f. planar manipulator",
        "convention": "dh",
        "gravity": [0, "-g", 0],
        "symbols": dict.fromkeys(["g", *SYMBOLS, *symbols], "free"),
        "link": links,
    }


@pytest.fixture(scope="module")
def arm():
    return Arm(Robot.from_dict(table([link(1), link(2)])))


@pytest.fixture(scope="module")
def remote():
    """Example 5-3: actuator 2 sits on the base, a chain drives joint 2; it turns by k (θ_1 + θ_2)."""
    at_joint = {"gear": 1, "inertia": "J1", "friction": {"viscous": "F1"}}
    on_base = {
        "gear": "k",
        "inertia": "J2",
        "carrier": "base",
        "axis": [0, 0, 1],
        "coupling": {"link 1": "k"},
        "friction": {"viscous": "F2"},
    }
    return Arm(Robot.from_dict(table([link(1, at_joint), link(2, on_base)], "J1", "J2", "F1", "F2", "k")))


def test_jacobians_of_the_centroids_are_the_printed_ones(arm):
    """(5-41), (5-42)."""
    J_L1 = [["-lc1*s1", 0], ["lc1*c1", 0], [0, 0]]
    J_L2 = [["-l1*s1 - lc2*s12", "-lc2*s12"], ["l1*c1 + lc2*c12", "lc2*c12"], [0, 0]]
    assert arm.differences(arm.link_jacobians(0), [J_L1, [[0, 0], [0, 0], [1, 0]]]) == {}
    assert arm.differences(arm.link_jacobians(1), [J_L2, [[0, 0], [0, 0], [1, 1]]]) == {}


def test_manipulator_inertia_tensor_is_the_printed_one(arm):
    """(5-43)."""
    assert arm.differences(arm.eq.B, H) == {}


def test_h_ijk_are_the_printed_ones(arm):
    """(5-44), with h_ijk of (5-39)."""
    h = arm.eq.h
    found = [h[0][0][0], h[0][1][1], h[0][0][1] + h[0][1][0], h[1][0][0], h[1][1][1], h[1][0][1] + h[1][1][0]]
    expected = [0, "-m2*l1*lc2*s2", "-2*m2*l1*lc2*s2", "m2*l1*lc2*s2", 0, 0]
    assert arm.differences(found, expected) == {}


def test_gravity_torques_follow_from_the_jacobians(arm):
    """(5-45), with g the vector opposite to the acceleration of gravity: [0 g]ᵀ."""
    expected = ["g*(m1*lc1*c1 + m2*(l1*c1 + lc2*c12))", "g*m2*lc2*c12"]
    assert arm.differences(arm.eq.g, expected) == {}


def test_equations_of_motion_are_the_printed_ones(arm):
    """(5-46)."""
    expected = [
        f"({H[0][0]})*qdd1 + ({H[0][1]})*qdd2 + h122*qd2**2 + 2*h122*qd1*qd2 + G1 + G2",
        f"({H[1][1]})*qdd2 + ({H[0][1]})*qdd1 - h122*qd1**2 + G2",
    ]
    where = {"h122": "-m2*l1*lc2*s2", "G1": "g*(m1*lc1 + m2*l1)*c1", "G2": "g*m2*lc2*c12"}
    assert arm.differences(arm.eq.tau, expected, **where) == {}
    assert arm.differences(arm.newton_euler().tau, expected, **where) == {}


def test_external_force_enters_with_the_sign_of_the_source(arm):
    """(5-33): Q = τ + Jᵀ F_ext, so a force on the endpoint lowers the torque needed by Jᵀ F_ext."""
    pushed = arm.newton_euler([-1, 0, 0, 0, 0, 0]).tau  # F_ext = [1 0]ᵀ on the arm
    found = [a - b for a, b in zip(pushed, arm.newton_euler().tau, strict=True)]
    assert arm.differences(found, ["-(-l1*s1 - l2*s12)", "-(-l2*s12)"]) == {}


def test_remote_actuator_acts_on_both_joints(remote):
    """(5-48): Q_1 = τ_1* + τ_2*, Q_2 = τ_2*. Seen in the friction of each actuator behind its gear."""
    tau_1, tau_2 = "F1*qd1", "k*F2*k*(qd1 + qd2)"
    assert remote.differences(remote.eq.friction, [f"{tau_1} + {tau_2}", tau_2]) == {}
    assert remote.minus([remote.newton_euler().tau], [remote.eq.tau]) == [[0, 0]]


def test_remote_rotor_adds_its_inertia_as_seen_through_the_same_matrix(remote):
    """Example 5-3 with rotor inertias: H + Kᵀ diag(J1, J2) K with K = [[1, 0], [k, k]] as in (5-47)."""
    J = "k**2*J2"
    expected = [[f"{H[0][0]} + J1 + {J}", f"{H[0][1]} + {J}"], [f"{H[1][0]} + {J}", f"{H[1][1]} + {J}"]]
    assert remote.differences(remote.eq.B, expected) == {}


def test_potential_of_the_remotely_driven_arm_is_the_same(arm, remote):
    """Example 5-3: "the manipulator inertia tensor and the potential function are the same"."""
    assert remote.differences(remote.eq.g, ["g*(m1*lc1*c1 + m2*(l1*c1 + lc2*c12))", "g*m2*lc2*c12"]) == {}
    without_rotors = Arm(remote.robot.with_rotors("none"))
    assert without_rotors.differences(without_rotors.eq.B, H) == {}
