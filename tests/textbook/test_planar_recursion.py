"""The two-link planar arm by Newton–Euler, step by step: 000, section 7.5.3.

The arm is described by its augmented links, as there: mass m_i, centre of mass l_Ci beyond frame i,
tensor Ī_i about it. Rotor 2 is part of augmented link 1, so the link alone has Ī_1 less Im2.
"""

import pytest

from armdyn import Robot
from armdyn.dynamics.newton_euler import point_acceleration
from armdyn.model.vector import add
from textbook_arm import UNCHECKED, Arm
from written_steps import read_steps

A1, A2 = "(lC1 + a1)", "(lC2 + a2)"  # joint axis to centre of mass
P_C2 = [
    f"a1*s2*qdd1 - a1*c2*qd1**2 - {A2}*(qd1 + qd2)**2 + g*s12",
    f"a1*c2*qdd1 + {A2}*(qdd1 + qdd2) + a1*s2*qd1**2 + g*c12",
]


def link(i, own_tensor):
    return {
        "joint": "revolute",
        "a": f"a{i}",
        "alpha": 0,
        "d": 0,
        "mass": f"m{i}",
        "com": [f"lC{i}", 0, 0],
        "inertia": {"zz": own_tensor},
        "motor": {"gear": f"kr{i}", "inertia": f"Im{i}"},
    }


@pytest.fixture(scope="module")
def arm():
    names = [f"{name}{i}" for i in (1, 2) for name in ("a", "m", "lC", "Ib", "kr", "Im")]
    table = {
        "name": "augmented two-link planar arm",
        "convention": "dh",
        "gravity": [0, "-g", 0],
        "symbols": dict.fromkeys(["g", *names], "free"),
        "link": [link(1, "Ib1 - Im2"), link(2, "Ib2")],
    }
    return Arm(Robot.from_dict(table))


@pytest.fixture(scope="module")
def steps(arm):
    return arm.newton_euler()


def acceleration_of_com(arm, steps, i):
    """p̈_Ci (7.110), which the recursion in linear parameters does not need."""
    r = (arm.read(f"lC{i + 1}"), 0, 0)
    return add(steps.a[i], point_acceleration(steps.w[i], steps.dw[i], r))


def test_angular_velocities_and_accelerations(arm, steps):
    """(7.107), (7.108)."""
    assert arm.differences(steps.w, [[0, 0, "qd1"], [0, 0, "qd1 + qd2"]]) == {}
    assert arm.differences(steps.dw, [[0, 0, "qdd1"], [0, 0, "qdd1 + qdd2"]]) == {}


def test_accelerations_of_the_frames(arm, steps):
    """(7.109), gravity included."""
    p_1 = ["-a1*qd1**2 + g*s1", "a1*qdd1 + g*c1", 0]
    p_2 = [
        "a1*s2*qdd1 - a1*c2*qd1**2 - a2*(qd1 + qd2)**2 + g*s12",
        "a1*c2*qdd1 + a2*(qdd1 + qdd2) + a1*s2*qd1**2 + g*c12",
        0,
    ]
    assert arm.differences(steps.a, [p_1, p_2]) == {}


def test_accelerations_of_the_centres_of_mass(arm, steps):
    """(7.110)."""
    p_C1 = [f"-{A1}*qd1**2 + g*s1", f"{A1}*qdd1 + g*c1", 0]
    found = [acceleration_of_com(arm, steps, i) for i in range(2)]
    assert arm.differences(found, [p_C1, [*P_C2, 0]]) == {}


def test_angular_accelerations_of_the_rotors(arm, steps):
    """(7.111)."""
    assert arm.differences(steps.dw_m, [[0, 0, "kr1*qdd1"], [0, 0, "qdd1 + kr2*qdd2"]]) == {}


def test_forces_on_the_links(arm, steps):
    """(7.112)."""
    f_1 = [
        (
            f"-m2*{A2}*s2*(qdd1 + qdd2) - m1*{A1}*qd1**2 - m2*a1*qd1**2"
            f" - m2*{A2}*c2*(qd1 + qd2)**2 + (m1 + m2)*g*s1"
        ),
        f"m1*{A1}*qdd1 + m2*a1*qdd1 + m2*{A2}*c2*(qdd1 + qdd2) - m2*{A2}*s2*(qd1 + qd2)**2 + (m1 + m2)*g*c1",
        0,
    ]
    f_2 = [f"m2*({P_C2[0]})", f"m2*({P_C2[1]})", 0]
    assert arm.differences(steps.f, [f_1, f_2]) == {}


def test_moments_on_the_links(arm, steps):
    """(7.113)."""
    mu_1 = (
        f"Ib1*qdd1 + m2*a1**2*qdd1 + m1*{A1}**2*qdd1 + m2*a1*{A2}*c2*qdd1 + Ib2*(qdd1 + qdd2)"
        f" + m2*a1*{A2}*c2*(qdd1 + qdd2) + m2*{A2}**2*(qdd1 + qdd2) + kr2*Im2*qdd2"
        f" + m2*a1*{A2}*s2*qd1**2 - m2*a1*{A2}*s2*(qd1 + qd2)**2"
        f" + m1*{A1}*g*c1 + m2*a1*g*c1 + m2*{A2}*g*c12"
    )
    mu_2 = (
        f"Ib2*(qdd1 + qdd2) + m2*{A2}**2*(qdd1 + qdd2) + m2*a1*{A2}*c2*qdd1"
        f" + m2*a1*{A2}*s2*qd1**2 + m2*{A2}*g*c12"
    )
    expected = [[UNCHECKED, UNCHECKED, mu_1], [UNCHECKED, UNCHECKED, mu_2]]
    assert arm.differences(steps.mu, expected) == {}


def test_torques(arm, steps):
    """(7.114)."""
    tau_1 = (
        f"(Ib1 + m1*{A1}**2 + kr1**2*Im1 + Ib2 + m2*(a1**2 + {A2}**2 + 2*a1*{A2}*c2))*qdd1"
        f" + (Ib2 + m2*({A2}**2 + a1*{A2}*c2) + kr2*Im2)*qdd2"
        f" - 2*m2*a1*{A2}*s2*qd1*qd2 - m2*a1*{A2}*s2*qd2**2"
        f" + (m1*{A1} + m2*a1)*g*c1 + m2*{A2}*g*c12"
    )
    tau_2 = (
        f"(Ib2 + m2*({A2}**2 + a1*{A2}*c2) + kr2*Im2)*qdd1 + (Ib2 + m2*{A2}**2 + kr2**2*Im2)*qdd2"
        f" + m2*a1*{A2}*s2*qd1**2 + m2*{A2}*g*c12"
    )
    assert arm.differences(steps.tau, [tau_1, tau_2]) == {}
    assert arm.differences(arm.eq.tau, [tau_1, tau_2]) == {}


def test_tensors_of_augmented_links_about_the_frame_follow_from_those_about_the_centre_of_mass(arm):
    """The relations after (7.114): Î_i = Ī_i + m_i l_Ci²."""
    assert arm.differences(arm.parameter("mx1"), "m1*lC1") == {}
    assert arm.differences(arm.parameter("Izz1"), "Ib1 + m1*lC1**2") == {}
    assert arm.differences(arm.parameter("Izz2"), "Ib2 + m2*lC2**2") == {}


def test_written_recursion_is_the_one_above(arm, steps):
    """What `steps()` writes, read back, with the numbers of the equations."""
    written = read_steps(arm.eq.steps())
    rows = {
        "w": ("7.107", steps.w),
        "wd": ("7.108", steps.dw),
        "pdd": ("7.109", steps.a),
        "pddC": ("7.110", [acceleration_of_com(arm, steps, i) for i in range(2)]),
        "wdm": ("7.111", steps.dw_m),
        "f": ("7.112", steps.f),
        "mu": ("7.113", steps.mu),
        "tau": ("7.114", [[x] for x in steps.tau]),
    }
    for key, (number, vectors) in rows.items():
        for i, expected in enumerate(vectors):
            found = written[f"{key}{i + 1}"]
            assert arm.differences(expected, found.formulas) == {}
            assert found.number == number


def test_terminal_forces_enter_the_torques_by_the_transposed_jacobian(arm):
    """f_3, μ_3 of the recursion: (7.112)–(7.114) give Jᵀh_e more."""
    equations = arm.robot.equations(wrench=True)
    written = read_steps(equations.steps())
    J = arm.eq.jacobian()
    for i in range(2):
        rows = zip(J, ("fx", "fy", "fz", "mux", "muy", "muz"), strict=True)
        torque = " + ".join(f"({row[i]})*{h}" for row, h in rows)
        without = read_steps(arm.eq.steps())[f"tau{i + 1}"].formulas[0]
        assert equations.tau[i] == written[f"tau{i + 1}"].formulas[0]
        assert equations.tau[i] == f"{without} + {torque}"
