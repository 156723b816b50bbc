"""The two-link arm with point masses by Craig's iteration in modified DH: 003. And its tutorial's RP arm."""

import pytest

from armdyn import Inertia, Robot
from armdyn.dynamics.newton_euler import body_wrench, point_acceleration
from armdyn.model.vector import add, cross
from textbook_arm import Arm
from written_steps import read_steps

V_C1 = ["-L1*qd1**2 + g*s1", "L1*qdd1 + g*c1", 0]
V_2 = [
    "-L1*c2*qd1**2 + L1*s2*qdd1 + g*s12",
    "L1*s2*qd1**2 + L1*c2*qdd1 + g*c12",
    0,
]
V_C2 = [f"{V_2[0]} - L2*(qd1 + qd2)**2", f"{V_2[1]} + L2*(qdd1 + qdd2)", 0]
N_2 = "m2*L1*L2*s2*qd1**2 + m2*L1*L2*c2*qdd1 + m2*g*L2*c12 + m2*L2**2*(qdd1 + qdd2)"


@pytest.fixture(scope="module")
def arm():
    return Arm(Robot.load("rmit2r"))


@pytest.fixture(scope="module")
def steps(arm):
    return arm.newton_euler()


def arm_vector(arm, i):
    """P_Ci = L_i X_i."""
    return (arm.read(f"L{i + 1}"), 0, 0)


def test_outward_angular_velocities_and_accelerations(arm, steps):
    assert arm.differences(steps.w, [[0, 0, "qd1"], [0, 0, "qd1 + qd2"]]) == {}
    assert arm.differences(steps.dw, [[0, 0, "qdd1"], [0, 0, "qdd1 + qdd2"]]) == {}


def test_outward_accelerations_of_the_frames(arm, steps):
    """v̇_1 and v̇_2 with v̇_0 = g Y_0: frame i is at joint i in modified DH."""
    assert arm.differences(steps.a, [["g*s1", "g*c1", 0], V_2]) == {}


def test_outward_accelerations_of_the_point_masses(arm, steps):
    found = [
        add(steps.a[i], point_acceleration(steps.w[i], steps.dw[i], arm_vector(arm, i))) for i in range(2)
    ]
    assert arm.differences(found, [V_C1, V_C2]) == {}


def test_outward_forces_and_moments_at_the_centres_of_mass(arm, steps):
    """F_i = m_i v̇_Ci, and N_i = 0 because the tensor of a point vanishes."""
    for i, v_C in enumerate((V_C1, V_C2)):
        acceleration = add(steps.a[i], point_acceleration(steps.w[i], steps.dw[i], arm_vector(arm, i)))
        point = Inertia(arm.read(f"m{i + 1}"))
        F, N = body_wrench(point, steps.w[i], steps.dw[i], acceleration)
        assert arm.differences(F, [f"m{i + 1}*({x})" for x in v_C]) == {}
        assert arm.differences(N, [0, 0, 0]) == {}


def test_inward_forces(arm, steps):
    """f_2 = F_2, f_1 = R f_2 + F_1, the product as the slide leaves it."""
    f_2 = [f"m2*({x})" for x in V_C2]
    f_1 = [
        f"c2*({f_2[0]}) - s2*({f_2[1]}) - m1*L1*qd1**2 + m1*g*s1",
        f"s2*({f_2[0]}) + c2*({f_2[1]}) + m1*L1*qdd1 + m1*g*c1",
        0,
    ]
    assert arm.differences(steps.f, [f_1, f_2]) == {}


def test_inward_moments(arm, steps):
    """n_2 and n_1, the latter as the sum of three vectors."""
    n_1 = (
        f"{N_2} + m1*L1**2*qdd1 + m1*g*L1*c1 - m2*L1*L2*s2*(qd1 + qd2)**2 + m2*L1**2*qdd1"
        " + m2*g*L1*s2*s12 + m2*L1*L2*c2*(qdd1 + qdd2) + m2*g*L1*c2*c12"
    )
    assert arm.differences(steps.mu, [[0, 0, n_1], [0, 0, N_2]]) == {}


def test_torques_are_the_printed_ones(arm, steps):
    tau_1 = (
        "m2*L2**2*(qdd1 + qdd2) + m2*L1*L2*c2*(2*qdd1 + qdd2) + (m1 + m2)*L1**2*qdd1"
        " - m2*L1*L2*s2*qd2**2 - 2*m2*L1*L2*s2*qd1*qd2 + m2*g*L2*c12 + (m1 + m2)*g*L1*c1"
    )
    assert arm.differences(steps.tau, [tau_1, N_2]) == {}
    assert arm.differences(arm.eq.tau, [tau_1, N_2]) == {}


F_1 = [f"m1*({x})" for x in V_C1]
F_2 = [f"m2*({x})" for x in V_C2]
PRINTED = {  # every vector of the slides
    "vd0": [0, "g", 0],
    "w0": [0, 0, 0],
    "w1": [0, 0, "qd1"],
    "wd1": [0, 0, "qdd1"],
    "vd1": ["g*s1", "g*c1", 0],
    "vdC1": V_C1,
    "F1": F_1,
    "N1": [0, 0, 0],
    "w2": [0, 0, "qd1 + qd2"],
    "wd2": [0, 0, "qdd1 + qdd2"],
    "vd2": V_2,
    "vdC2": V_C2,
    "F2": F_2,
    "N2": [0, 0, 0],
    "f3": [0, 0, 0],
    "n3": [0, 0, 0],
    "f2": F_2,
    "n2": [0, 0, N_2],
    "tau2": [N_2],
    "f1": [
        f"c2*({F_2[0]}) - s2*({F_2[1]}) + {F_1[0]}",
        f"s2*({F_2[0]}) + c2*({F_2[1]}) + {F_1[1]}",
        0,
    ],
}


def test_written_iteration_has_every_vector_of_the_slides(arm):
    """In its order: outward with F and N, the free end, inward."""
    written = read_steps(arm.eq.steps(notation="craig"))
    assert list(written) == [*PRINTED, "n1", "tau1"]
    for name, expected in PRINTED.items():
        assert arm.differences([arm.read(x) for x in written[name].formulas], expected) == {}, name
    n_1 = (
        f"{N_2} + m1*L1**2*qdd1 + m1*g*L1*c1 - m2*L1*L2*s2*(qd1 + qd2)**2 + m2*L1**2*qdd1"
        " + m2*g*L1*s2*s12 + m2*L1*L2*c2*(qdd1 + qdd2) + m2*g*L1*c2*c12"
    )
    assert arm.differences([arm.read(x) for x in written["n1"].formulas], [0, 0, n_1]) == {}
    assert arm.differences(arm.read(written["tau1"].formulas[0]), n_1) == {}


def test_written_iteration_with_sliding_and_turning_links(arm):
    """F_i = m_i v̇_Ci, N_i = I ω̇ + ω × I ω, n_i about the origin of frame i, of the tutorial's arm."""
    rp = Arm(Robot.load("rp"))
    written = read_steps(rp.eq.steps(notation="craig"))
    read = {name: [rp.read(x) for x in step.formulas] for name, step in written.items()}
    for i in (1, 2):
        inertia = rp.robot.model.moving[i - 1].inertia
        m, I_C = rp.element(inertia.mass), [rp.element(x) for x in inertia.tensor_at_com]
        I = [[I_C[0], I_C[1], I_C[2]], [I_C[1], I_C[3], I_C[4]], [I_C[2], I_C[4], I_C[5]]]
        w, dw, F = read[f"w{i}"], read[f"wd{i}"], read[f"F{i}"]
        Iw = [sum((I[a][b] * w[b] for b in range(3)), rp.ring.zero) for a in range(3)]
        Idw = [sum((I[a][b] * dw[b] for b in range(3)), rp.ring.zero) for a in range(3)]
        N = [x + y for x, y in zip(Idw, cross(tuple(w), tuple(Iw)), strict=True)]
        assert [x - m * a for x, a in zip(F, read[f"vdC{i}"], strict=True)] == [0, 0, 0]
        assert [x - y for x, y in zip(read[f"N{i}"], N, strict=True)] == [0, 0, 0]
    centre = tuple(rp.element(x) for x in rp.robot.model.moving[1].inertia.com)
    n_2 = add(cross(centre, tuple(read["F2"])), tuple(read["N2"]))
    assert [x - y for x, y in zip(read["n2"], n_2, strict=True)] == [0, 0, 0]


def test_structure_is_mass_matrix_and_gravity(arm):
    """M(q) and G(q) of the last slide."""
    M = [
        ["(m1 + m2)*L1**2 + m2*L2**2 + 2*m2*L1*L2*c2", "m2*L2**2 + m2*L1*L2*c2"],
        ["m2*L2**2 + m2*L1*L2*c2", "m2*L2**2"],
    ]
    assert arm.differences(arm.eq.B, M) == {}
    assert arm.differences(arm.eq.g, ["m2*g*L2*c12 + (m1 + m2)*g*L1*c1", "m2*g*L2*c12"]) == {}


def test_centrifugal_and_coriolis_vector(arm):
    """V of the last slide, whose Coriolis entry is −2 m2 L1 L2 s_2 θ̇_1 θ̇_2 (our copy: s_1)."""
    V = [sum((arm.eq.C[i, j].times_generator(f"qd{j + 1}") for j in range(2)), start=0) for i in range(2)]
    expected = ["-m2*L1*L2*s2*qd2**2 - 2*m2*L1*L2*s2*qd1*qd2", "m2*L1*L2*s2*qd1**2"]
    assert arm.differences(V, expected) == {}


def test_RP_arm_is_that_of_craig():
    """Tutorial, question 2, read as Craig's RP arm (the figure is lost): two of the six moments count."""
    arm = Arm(Robot.load("rp"))
    expected = [
        "(m1*l1**2 + Izz1 + Iyy2 + m2*q2**2)*qdd1 + 2*m2*q2*qd1*qd2 + (m1*l1 + m2*q2)*g*c1",
        "m2*qdd2 - m2*q2*qd1**2 + m2*g*s1",
    ]
    assert arm.differences(arm.eq.tau, expected) == {}
    assert arm.differences(arm.newton_euler().tau, expected) == {}
    tensors = [link.inertia.tensor_at_com for link in arm.robot.model.moving]
    given = [[str(x) for x in tensor if arm.element(x) != 0] for tensor in tensors]
    assert given == [["Ixx1", "Iyy1", "Izz1"], ["Ixx2", "Iyy2", "Izz2"]]
