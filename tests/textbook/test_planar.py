"""The two-link planar arm by Lagrange: 000, section 7.3.2, example 7.2 and problems 7.2, 7.7."""

from math import acos, pi

import numpy as np
import pytest
import sympy

from armdyn import Robot
from armdyn.exact.form import Array
from textbook_arm import Arm

ZERO = [[0, 0], [0, 0], [0, 0]]
H = "-ml2*a1*l2*s2"  # h of the Christoffel symbols
B = [
    [
        "Il1 + ml1*l1**2 + kr1**2*Im1 + Il2 + ml2*(a1**2 + l2**2 + 2*a1*l2*c2) + Im2 + mm2*a1**2",
        "Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2",
    ],
    ["Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2", "Il2 + ml2*l2**2 + kr2**2*Im2"],
]
TAU = [
    (
        f"({B[0][0]})*qdd1 + ({B[0][1]})*qdd2 - 2*ml2*a1*l2*s2*qd1*qd2 - ml2*a1*l2*s2*qd2**2"
        " + (ml1*l1 + mm2*a1 + ml2*a1)*g*c1 + ml2*l2*g*c12"
    ),
    f"({B[1][0]})*qdd1 + ({B[1][1]})*qdd2 + ml2*a1*l2*s2*qd1**2 + ml2*l2*g*c12",
]
PARAMETERS = {
    "m1": "ml1 + mm2",
    "mx1": "ml1*(l1 - a1)",
    "Izz1": "Il1 + ml1*(l1 - a1)**2 + Im2",
    "Im1": "Im1",
    "m2": "ml2",
    "mx2": "ml2*(l2 - a2)",
    "Izz2": "Il2 + ml2*(l2 - a2)**2",
    "Im2": "Im2",
}
REGRESSOR = {
    "m1": ["a1**2*qdd1 + a1*g*c1", 0],
    "mx1": ["2*a1*qdd1 + g*c1", 0],
    "Izz1": ["qdd1", 0],
    "Im1": ["kr1**2*qdd1", 0],
    "m2": [
        (
            "(a1**2 + 2*a1*a2*c2 + a2**2)*qdd1 + (a1*a2*c2 + a2**2)*qdd2"
            " - 2*a1*a2*s2*qd1*qd2 - a1*a2*s2*qd2**2 + a1*g*c1 + a2*g*c12"
        ),
        "(a1*a2*c2 + a2**2)*qdd1 + a2**2*qdd2 + a1*a2*s2*qd1**2 + a2*g*c12",
    ],
    "mx2": [
        "(2*a1*c2 + 2*a2)*qdd1 + (a1*c2 + 2*a2)*qdd2 - 2*a1*s2*qd1*qd2 - a1*s2*qd2**2 + g*c12",
        "(a1*c2 + 2*a2)*qdd1 + 2*a2*qdd2 + a1*s2*qd1**2 + g*c12",
    ],
    "Izz2": ["qdd1 + qdd2", "qdd1 + qdd2"],
    "Im2": ["kr2*qdd2", "kr2*qdd1 + kr2**2*qdd2"],
}


@pytest.fixture(scope="module")
def arm():
    return Arm(Robot.load("planar"))


# ---- the model of section 7.3.2 ----------------------------------------------------------------------------


def test_jacobians_of_the_links_are_the_printed_ones(arm):
    """(7.16)–(7.19) in section 7.3.2."""
    J_P1 = [["-l1*s1", 0], ["l1*c1", 0], [0, 0]]
    J_P2 = [["-a1*s1 - l2*s12", "-l2*s12"], ["a1*c1 + l2*c12", "l2*c12"], [0, 0]]
    assert arm.differences(arm.link_jacobians(0), [J_P1, [[0, 0], [0, 0], [1, 0]]]) == {}
    assert arm.differences(arm.link_jacobians(1), [J_P2, [[0, 0], [0, 0], [1, 1]]]) == {}


def test_jacobians_of_the_rotors_are_the_printed_ones(arm):
    """(7.25)–(7.29) in section 7.3.2."""
    J_P2 = [["-a1*s1", 0], ["a1*c1", 0], [0, 0]]
    assert arm.differences(arm.rotor_jacobians(0), [ZERO, [[0, 0], [0, 0], ["kr1", 0]]]) == {}
    assert arm.differences(arm.rotor_jacobians(1), [J_P2, [[0, 0], [0, 0], [1, "kr2"]]]) == {}


def test_energies_are_those_of_single_links_and_rotors(arm):
    """(7.13), (7.30) with the Jacobians above, (7.34), (7.36); (7.52) puts link 1 and rotor 2 together."""
    v_2 = "(a1**2*qd1**2 + l2**2*(qd1 + qd2)**2 + 2*a1*l2*c2*qd1*(qd1 + qd2))"
    energies = {
        "link 1": ("(ml1*l1**2 + Il1)*qd1**2/2", "ml1*g*l1*s1"),
        "link 2": (f"ml2*{v_2}/2 + Il2*(qd1 + qd2)**2/2", "ml2*g*(a1*s1 + l2*s12)"),
    }
    rotors = {
        "link 1": ("kr1**2*Im1*qd1**2/2", 0),
        "link 2": ("mm2*a1**2*qd1**2/2 + Im2*(qd1 + kr2*qd2)**2/2", "mm2*g*a1*s1"),
    }
    for name in energies:
        link, rotor = arm.eq.energy(name), arm.eq.energy(motor=name)
        assert (link.kinetic, link.potential) == energies[name]
        assert (rotor.kinetic, rotor.potential) == rotors[name]
    assert arm.eq.energy("link 2").translation == f"ml2*{v_2}/2"
    first = arm.eq.augmented_link("link 1").energy
    assert first.kinetic == f"{energies['link 1'][0]} + {rotors['link 2'][0]}"
    assert first.potential == f"{energies['link 1'][1]} + {rotors['link 2'][1]}"


def test_tip_force_enters_by_the_transposed_jacobian(arm):
    """(7.42): Jᵀh_e with the Jacobian (3.35) of the tip."""
    J = [["-a1*s1 - a2*s12", "-a2*s12"], ["a1*c1 + a2*c12", "a2*c12"], [0, 0], [0, 0], [0, 0], [1, 1]]
    assert arm.eq.jacobian() == J
    pushed = arm.robot.equations(wrench=True)
    h = ("fx", "fy", "fz", "mux", "muy", "muz")
    expected = [" + ".join(f"({row[i]})*{x}" for row, x in zip(J, h, strict=True)) for i in range(2)]
    assert pushed.tip_torques == expected
    assert pushed.tau - arm.eq.tau == expected


def test_products_of_velocities_have_the_printed_factors(arm):
    """(7.117): C q̇ = Γ(q) [q̇q̇], [q̇q̇] = [q̇_1², q̇_1q̇_2, q̇_2²]."""
    assert arm.differences(arm.eq.Gamma, [[0, "2*h", "h"], ["-h", 0, 0]], h=H) == {}
    assert arm.eq.speed_products == ["qd1**2", "qd1*qd2", "qd2**2"]


def test_angles_turn_the_geometric_jacobian_into_the_analytical_one(arm):
    """(7.128) with T(φ) of ZYZ angles (3.64): J = T_A J_A."""
    found = arm.eq.analytical_jacobian("zyz")
    T = [
        [0, "-sin(phi)", "cos(phi)*sin(theta)"],
        [0, "cos(phi)", "sin(phi)*sin(theta)"],
        [1, 0, "cos(theta)"],
    ]
    assert found.T_A[:3] == [[int(i == j) for j in range(6)] for i in range(3)]
    assert [row[3:] for row in found.T_A[3:]] == T
    product = found.T_A.sympy() * found.sympy() - arm.eq.jacobian().sympy()
    assert product.applyfunc(sympy.simplify) == sympy.zeros(6, 2)


def test_inertia_matrix_is_the_printed_one(arm):
    assert arm.differences(arm.eq.B, B) == {}


def test_christoffel_symbols_are_the_printed_ones(arm):
    """(7.45): c_112 = c_121 = c_122 = h, c_211 = −h, all others zero."""
    expected = [[[0, "h"], ["h", "h"]], [["-h", 0], [0, 0]]]
    assert arm.differences(arm.eq.christoffel, expected, h=H) == {}


def test_coriolis_matrix_is_the_printed_one(arm):
    """(7.44)."""
    assert arm.differences(arm.eq.C, [["h*qd2", "h*(qd1 + qd2)"], ["-h*qd1", 0]], h=H) == {}


def test_derivative_of_the_inertia_matrix_is_the_printed_one(arm):
    """Ḃ in the computation of N (7.47)."""
    assert arm.differences(arm.eq.B_dot, [["2*h*qd2", "h*qd2"], ["h*qd2", 0]], h=H) == {}


def test_N_is_the_printed_skew_symmetric_matrix(arm):
    """(7.47)–(7.48)."""
    expected = [[0, "-2*h*qd1 - h*qd2"], ["2*h*qd1 + h*qd2", 0]]
    assert arm.differences(arm.eq.N, expected, h=H) == {}


def test_gravity_is_the_printed_one(arm):
    """(7.39)."""
    expected = ["(ml1*l1 + mm2*a1 + ml2*a1)*g*c1 + ml2*l2*g*c12", "ml2*l2*g*c12"]
    assert arm.differences(arm.eq.g, expected) == {}


def test_equations_of_motion_are_the_printed_ones(arm):
    """(7.82)."""
    assert arm.differences(arm.eq.tau, TAU) == {}


def test_neglecting_the_coupling_leaves_rotors_on_the_diagonal_only(arm):
    """Section 7.3.2, "reduced model": only kr_i² Im_i remain; Im2 of the locked rotor goes too."""
    reduced = arm.robot.with_rotors("reflected").equations()
    lost = arm.minus(arm.eq.B, reduced.B)
    assert arm.differences(lost, [["Im2", "kr2*Im2"], ["kr2*Im2", 0]]) == {}


# ---- linearity in the parameters ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameter_is_the_printed_one(arm, name):
    """(7.83)."""
    assert arm.differences(arm.parameter(name), PARAMETERS[name]) == {}


@pytest.mark.parametrize("name", REGRESSOR)
def test_column_of_the_regressor_is_the_printed_one(arm, name):
    """(7.84)."""
    assert arm.differences(arm.column(name), REGRESSOR[name]) == {}


def test_parameters_the_book_leaves_out_are_zero_or_have_no_effect(arm):
    """Section 7.4: of 22 dynamic parameters only 8 appear; the others vanish or have a null column."""
    for name in set(arm.eq.basis.parameter_names) - set(PARAMETERS):
        assert arm.parameter(name).is_zero or not any(arm.column(name)), name


# ---- problem 7.2: another C --------------------------------------------------------------------------------


def test_C_of_the_h_symbols_is_another_one(arm):
    """(7.41): c_ij = Σ_k h_ijk q̇_k satisfies (7.43) but is not Christoffel's choice."""
    expected = [["2*h*qd2", "h*qd2"], ["-h*qd1 + h*qd2/2", "-h*qd1/2"]]
    C = arm.eq.coriolis("h")
    assert arm.differences(C, expected, h=H) == {}
    for i in range(2):
        products = [sum((M[i, j].times_generator(f"qd{j + 1}") for j in range(2)), 0) for M in (C, arm.eq.C)]
        assert products[0] == products[1]


def other_choices(arm):
    """C by the h symbols, and Christoffel's with a term moved: 2h q̇_2 over h q̇_2 in the first row."""
    C = arm.eq.C
    moved = C[0, 0] * 2, C[0, 1] - C[0, 0].map(lambda a: a.derivative("qd2")).times_generator("qd1")
    return {"h": arm.eq.coriolis("h"), "moved": Array([list(moved), [C[1, 0], C[1, 1]]])}


@pytest.mark.parametrize("choice", ["h", "moved"])
def test_another_C_has_the_weak_property_but_not_skew_symmetry(arm, choice):
    """Problem 7.2: q̇ᵀ N q̇ = 0 (7.49) although N is not skew-symmetric (7.48)."""
    N = arm.eq.skew(other_choices(arm)[choice])
    assert arm.quadratic_form(N).is_zero
    assert not all((N[i, j] + N[j, i]).is_zero for i in range(2) for j in range(2))


# ---- example 7.2 and problem 7.7 ---------------------------------------------------------------------------


def lower_elbow(x):
    """Joint angles with the tip of two links of 1 m at (x, 0) and the elbow below: an isosceles triangle."""
    return np.array([-acos(x / 2), 2 * acos(x / 2)])


def test_initial_posture_reaches_the_given_tip():
    """Example 7.2: tip at (0.2, 0) m, lower elbow."""
    q = lower_elbow(0.2)
    np.testing.assert_allclose(q, [-1.470629, 2.941258], atol=5e-7)
    np.testing.assert_allclose(Robot.load("planar").pose(q)[:2, 3], [0.2, 0], atol=1e-15)
    assert Robot.load("planar").pose(q, link="link 1")[1, 3] < 0


@pytest.mark.parametrize(("t", "tau"), [(0.0, [3873.1675, 3078.1531]), (0.1, [3841.1728, 3017.6622])])
def test_torques_along_the_triangular_profile_are_the_known_ones(t, tau):
    """Example 7.2: both joints by π/2 in 0.5 s with a triangular velocity profile, so q̈ = 4 (π/2)/0.5²."""
    acceleration = np.full(2, 4 * (pi / 2) / 0.5**2)
    q = lower_elbow(0.2) + acceleration * t**2 / 2
    found = Robot.load("planar").inverse_dynamics(q, acceleration * t, acceleration)
    np.testing.assert_allclose(found, tau, atol=5e-5)


def test_tip_forces_add_the_transposed_jacobian(arm):
    """Problem 7.7: a force f the tip exerts adds J_Pᵀ f to the torques (7.42)."""
    free = arm.newton_euler().tau
    expected = {
        (1, 0, 0, 0, 0, 0): ["-a1*s1 - a2*s12", "-a2*s12"],
        (0, 1, 0, 0, 0, 0): ["a1*c1 + a2*c12", "a2*c12"],
        (0, 0, 0, 0, 0, 1): [1, 1],
    }
    for wrench, columns in expected.items():
        loaded = arm.newton_euler(list(wrench)).tau
        assert arm.differences([a - b for a, b in zip(loaded, free, strict=True)], columns) == {}
