"""The parallelogram arm: 000, section 7.3.3. The tree of links 1', 2', 3' and 1'' (joints 1, 2, 3, 4 here).

The closed chain is the tree with ϑ_2' = ϑ_1'' − ϑ_1' and ϑ_3' = π − ϑ_2', put in by hand.
"""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.description.source import bundled_table
from textbook_arm import Arm

LINKS = {"1p": "base", "2p": "1p", "3p": "2p", "1pp": "base"}
# d(ϑ_1', ϑ_2', ϑ_3', ϑ_1'')/d(ϑ_1', ϑ_1'')
CLOSING = [[1, 0], [-1, 1], [1, -1], [0, 1]]
BAR = "(l3p - a1p)"  # centre of mass of link 3' from the axis of joint 4


def link(name, parent):
    return {
        "name": name,
        "parent": parent,
        "joint": "revolute",
        "a": f"a{name}",
        "alpha": 0,
        "d": 0,
        "mass": f"m{name}",
        "com": [f"l{name} - a{name}", 0, 0],
        "inertia": {"zz": f"I{name}"},
    }


@pytest.fixture(scope="module")
def tree():
    table = {
        "name": "parallelogram, open",
        "convention": "dh",
        "gravity": [0, "-g", 0],
        "symbols": dict.fromkeys(["g", *(f"{x}{name}" for name in LINKS for x in "amlI")], "free"),
        "tip": "3p",
        "link": [link(name, parent) for name, parent in LINKS.items()],
    }
    return Arm(Robot.from_dict(table))


def test_jacobians_of_the_tree_are_the_printed_ones(tree):
    """(7.16)–(7.19) for each branch."""
    J_1 = [["-l1p*s1", 0, 0, 0], ["l1p*c1", 0, 0, 0], [0] * 4]
    J_2 = [["-a1p*s1 - l2p*s12", "-l2p*s12", 0, 0], ["a1p*c1 + l2p*c12", "l2p*c12", 0, 0], [0] * 4]
    J_3 = [
        [
            "-a1p*s1 - a2p*s12 - l3p*s123",
            "-a2p*s12 - l3p*s123",
            "-l3p*s123",
            0,
        ],
        ["a1p*c1 + a2p*c12 + l3p*c123", "a2p*c12 + l3p*c123", "l3p*c123", 0],
        [0, 0, 0, 0],
    ]
    J_4 = [[0, 0, 0, "-l1pp*s4"], [0, 0, 0, "l1pp*c4"], [0, 0, 0, 0]]
    turning = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
    for i, J_P in enumerate([J_1, J_2, J_3, J_4]):
        assert tree.differences(tree.link_jacobians(i), [J_P, [[0] * 4, [0] * 4, turning[i]]]) == {}


def test_inertia_matrix_of_the_tree_is_the_printed_one(tree):
    """B' and b_1''1''; the branches do not touch."""
    b11 = (
        "I1p + m1p*l1p**2 + I2p + m2p*(a1p**2 + l2p**2 + 2*a1p*l2p*c2) + I3p"
        " + m3p*(a1p**2 + a2p**2 + l3p**2 + 2*a1p*a2p*c2 + 2*a1p*l3p*c23 + 2*a2p*l3p*c3)"
    )
    b12 = (
        "I2p + m2p*(l2p**2 + a1p*l2p*c2) + I3p"
        " + m3p*(a2p**2 + l3p**2 + a1p*a2p*c2 + a1p*l3p*c23 + 2*a2p*l3p*c3)"
    )
    b13 = "I3p + m3p*(l3p**2 + a1p*l3p*c23 + a2p*l3p*c3)"
    b22 = "I2p + m2p*l2p**2 + I3p + m3p*(a2p**2 + l3p**2 + 2*a2p*l3p*c3)"
    b23 = "I3p + m3p*(l3p**2 + a2p*l3p*c3)"
    b33 = "I3p + m3p*l3p**2"
    expected = [
        [b11, b12, b13, 0],
        [b12, b22, b23, 0],
        [b13, b23, b33, 0],
        [0, 0, 0, "I1pp + m1pp*l1pp**2"],
    ]
    assert tree.differences(tree.eq.B, expected) == {}


def test_gravity_of_the_tree_is_the_printed_one(tree):
    g3 = "m3p*l3p*g*c123"
    g2 = f"(m2p*l2p + m3p*a2p)*g*c12 + {g3}"
    g1 = f"(m1p*l1p + m2p*a1p + m3p*a1p)*g*c1 + {g2}"
    assert tree.differences(tree.eq.g, [g1, g2, g3, "m1pp*l1pp*g*c4"]) == {}


def closed(tree, x):
    """An element on the closed chain: ϑ_3' = π − ϑ_2', ϑ_1'' = ϑ_1' + ϑ_2', a_2' = a_1''."""
    images = {"c3": "-c2", "s3": "s2", "c4": "c12", "s4": "s12", "a2p": "a1pp"}
    total = tree.ring.zero
    for exponents, coefficient in tree.element(x).terms().items():
        term = tree.ring.one * coefficient
        for name, exponent in zip(tree.ring.names, exponents, strict=True):
            if exponent:
                term = term * tree.read(images.get(name, name)) ** exponent
        total = total + term
    return total


@pytest.fixture(scope="module")
def B_a(tree):
    """B_a = Υᵀ B Υ."""
    B = [[closed(tree, x) for x in row] for row in tree.eq.B]
    joints, active = range(4), range(2)
    return [
        [sum(B[i][j] * (CLOSING[i][a] * CLOSING[j][b]) for i in joints for j in joints) for b in active]
        for a in active
    ]


def test_inertia_matrix_of_the_closed_chain_is_the_printed_one(tree, B_a):
    """The first two terms of b_a22 belong to link 1'' (in our copy of the text, 1')."""
    b12 = "(a1p*m2p*l2p + a1pp*m3p*(a1p - l3p))*c2"  # c2 is cos(ϑ_1'' − ϑ_1')
    expected = [
        ["I1p + m1p*l1p**2 + m2p*a1p**2 + I3p + m3p*l3p**2 + m3p*a1p**2 - 2*a1p*m3p*l3p", b12],
        [b12, "I1pp + m1pp*l1pp**2 + I2p + m2p*l2p**2 + m3p*a1pp**2"],
    ]
    assert tree.differences(B_a, expected) == {}


def test_decoupled_inertia_matrix_is_the_printed_one(tree, B_a):
    """With m_3' ℓ̄_3' a_1'' = m_2' l_2' a_1' the matrix is diagonal, with the printed entries.

    Cleared of fractions, each entry less its printed form is a multiple of the condition. The denominator of
    b_a22 has ℓ̄_3' (in our copy of the text, ℓ_3').
    """
    bar = tree.read(BAR)
    condition = tree.read(f"m2p*l2p*a1p - m3p*{BAR}*a1pp")
    b_11 = f"(I1p + m1p*l1p**2 + I3p)*a1pp + m2p*a1p*(a1p*a1pp + l2p*{BAR})"
    b_22 = f"(I1pp + m1pp*l1pp**2 + I2p)*{BAR} + m2p*l2p*(l2p*{BAR} + a1p*a1pp)"
    assert B_a[0][1] == condition * tree.read("c2")
    assert B_a[0][0] * tree.read("a1pp") - tree.read(b_11) == -bar * condition
    assert B_a[1][1] * bar - tree.read(b_22) == -tree.read("a1pp") * condition


def test_gravity_of_the_closed_chain_is_the_printed_one(tree):
    """g_a = Υᵀ g."""
    g = [closed(tree, x) for x in tree.eq.g]
    found = [sum(g[i] * CLOSING[i][a] for i in range(4)) for a in range(2)]
    expected = [
        f"(m1p*l1p + m2p*a1p - m3p*{BAR})*g*c1",
        "(m1pp*l1pp + m2p*l2p + m3p*a1pp)*g*c12",
    ]
    assert tree.differences(found, expected) == {}


# ---- the closed chain described as one -------------------------------------------------------------------

FREE = ["g", *(f"{x}{name}" for name in LINKS for x in ("ml", "l", "Il")), "a1p", "a1pp", "a3p"]
BAR_3 = "(l3p - a1p)"


@pytest.fixture(scope="module")
def chain():
    """The bundled arm of Fig. 7.12, its symbols without values."""
    table = bundled_table("parallelogram")
    table["symbols"] = dict.fromkeys(FREE, "free")
    return Robot.from_dict(table)


def test_the_bundled_arm_has_the_printed_equations(chain):
    """B_a and g_a of 7.3.3, proved: the entries are equal as polynomials."""
    equations = chain.equations()
    coupling = "(a1p*ml2p*l2p + a1pp*ml3p*(a1p - l3p))*cos(q2 - q1)"
    b_11 = "Il1p + ml1p*l1p**2 + ml2p*a1p**2 + Il3p + ml3p*l3p**2 + ml3p*a1p**2 - 2*a1p*ml3p*l3p"
    b_22 = "Il1pp + ml1pp*l1pp**2 + Il2p + ml2p*l2p**2 + ml3p*a1pp**2"
    assert chain.coordinates == ("link 1'", "link 1''")
    assert list(equations.B) == [[b_11, coupling], [coupling, b_22]]
    assert equations.g == [
        f"(ml1p*l1p + ml2p*a1p - ml3p*{BAR_3})*g*c1",
        "(ml1pp*l1pp + ml2p*l2p + ml3p*a1pp)*g*c2",
    ]
    equations.prove()


def test_the_bundled_arm_prints_as_the_book_does():
    """cos(ϑ_1'' − ϑ_1') as one cosine, primes as primes, and what the joints that follow are."""
    equations = Robot.load("parallelogram").equations()
    text = equations.text()
    assert "link 1' = q1\nlink 2' = q2 - q1\nlink 3' = q1 - q2 + pi\nlink 1'' = q2\n" in text
    assert "= (ml2p*a1p*l2p + ml3p*a1p*a1pp - ml3p*a1pp*l3p)*cos(q2 - q1)\n" in text
    assert "c[2,1] = (ml2p*a1p*l2p + ml3p*a1pp*(a1p - l3p))*sin(q2 - q1)*qd1\n" in text
    latex = equations.latex()
    assert r"\text{link 2'} &= \vartheta_{2} - \vartheta_{1}" in latex
    assert r"m_{\ell_{1''}} \ell_{1''}^{2}" in latex
    assert r"\cos(\vartheta_{2} - \vartheta_{1})" in latex
    assert "<mtext>link 2&#x27;</mtext>" in equations.mathml()
    for entry in (*equations.B[0], *equations.C[1], *equations.g):
        assert entry == str(entry)


def test_under_the_decoupling_condition_the_arm_is_constant_and_diagonal(chain):
    """m_3' ℓ̄_3' a_1'' = m_2' l_2' a_1' with ℓ̄_3' = ℓ_3' − a_1', solved for m_2', with the printed entries."""
    equations = chain.equations().substitute(ml2p=f"ml3p*{BAR_3}*a1pp/(l2p*a1p)")
    assert equations.B[0, 1] == 0
    assert all(equations.B[i, i].by_joint(k).is_zero for i in range(2) for k in range(2))
    assert all(entry.is_zero for row in equations.C for entry in row)
    m2 = f"ml3p*{BAR_3}*a1pp/(l2p*a1p)"
    b_11 = f"Il1p + ml1p*l1p**2 + ({m2})*(a1p**2 + a1p*l2p*{BAR_3}/a1pp) + Il3p"
    b_22 = f"Il1pp + ml1pp*l1pp**2 + Il2p + ({m2})*l2p**2 + ml3p*a1pp**2"
    assert equations.B[0, 0] == b_11
    assert equations.B[1, 1] == b_22


def test_the_bundled_arm_opened_is_the_tree_of_the_book(chain):
    """B' (3×3), b_1''1'' and g' of 7.3.3, proved; every joint has a torque, and none a warning."""
    tree = chain.opened()
    assert tree.coordinates == tree.actuated == ("link 1'", "link 2'", "link 3'", "link 1''")
    assert tree.warnings == []
    b_33 = "Il3p + ml3p*l3p**2"
    b_23 = f"{b_33} + ml3p*a1pp*l3p*c3"
    b_13 = f"{b_23} + ml3p*a1p*l3p*c23"
    b_22 = f"Il2p + ml2p*l2p**2 + {b_33} + ml3p*(a1pp**2 + 2*a1pp*l3p*c3)"
    b_12 = f"{b_22} + ml2p*a1p*l2p*c2 + ml3p*(a1p*a1pp*c2 + a1p*l3p*c23)"
    b_11 = f"Il1p + ml1p*l1p**2 + {b_12} + ml2p*(a1p**2 + a1p*l2p*c2)"
    b_11 += " + ml3p*(a1p**2 + a1p*a1pp*c2 + a1p*l3p*c23)"
    rows = [[b_11, b_12, b_13, 0], [b_12, b_22, b_23, 0], [b_13, b_23, b_33, 0]]
    equations = tree.equations()
    assert list(equations.B) == [*rows, [0, 0, 0, "Il1pp + ml1pp*l1pp**2"]]
    g_3 = "ml3p*l3p*g*c123"
    g_2 = f"(ml2p*l2p + ml3p*a1pp)*g*c12 + {g_3}"
    g_1 = f"(ml1p*l1p + ml2p*a1p + ml3p*a1p)*g*c1 + {g_2}"
    assert equations.g == [g_1, g_2, g_3, "ml1pp*l1pp*g*c4"]
    equations.prove()


def test_the_bundled_arm_is_the_tree_on_its_relations():
    """Numbers of the bundled file against the four joints of the tree, closed by Υ."""
    robot = Robot.load("parallelogram")
    tree = robot.opened()
    S, shift = np.array(CLOSING), np.array([0, 0, np.pi, 0])
    rng = np.random.default_rng(4)
    q, qd, qdd = rng.normal(size=(3, 50, 2))
    joints = q @ S.T + shift
    tau = tree.inverse_dynamics(joints, qd @ S.T, qdd @ S.T)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), tau @ S, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(robot.joint_positions(q), joints, atol=1e-15)


def test_the_tip_is_where_the_two_link_arm_would_have_it():
    """x = a_1'' c_1'' − (a_3' − a_1') c_1': link 3' runs beside link 1', backwards (2.9.3)."""
    robot = Robot.load("parallelogram")
    values = robot.model.values
    first, second = np.random.default_rng(5).normal(size=(2, 20))
    reach = values["a3p"] - values["a1p"]
    x = values["a1pp"] * np.cos(second) - reach * np.cos(first)
    y = values["a1pp"] * np.sin(second) - reach * np.sin(first)
    tip = robot.pose(np.stack([first, second], -1))[:, :2, 3]
    np.testing.assert_allclose(tip, np.stack([x, y], -1), atol=1e-14)
