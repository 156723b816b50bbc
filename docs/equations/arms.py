"""Example 7.1 and section 7.3, results without a number among them: (7.82)–(7.84)."""

from equations.book import BOOK
from equations.lagrange import B, G
from equations.names import eq
from equations.properties import H

row, printed = BOOK.row, BOOK.printed
NONE = [[0, 0]] * 3

BOOK.section("7.3.1 Cartesian arm")
CARTESIAN = "cartesian.equations()."
printed(
    "7.3.1",
    "J_P over J_O of link 1",
    CARTESIAN + 'jacobian("link 1", at="com")',
    [[0, 0], [0, 0], [1, 0], *NONE],
)
printed("7.3.1", "of link 2", CARTESIAN + 'jacobian("link 2", at="com")', [[0, 1], [0, 0], [1, 0], *NONE])
printed("7.3.1", "of motor 1", CARTESIAN + 'jacobian(motor="link 1")', [*NONE, [0, 0], [0, 0], ["kr1", 0]])
printed(
    "7.3.1",
    "of motor 2",
    CARTESIAN + 'jacobian(motor="link 2")',
    [[0, 0], [0, 0], [1, 0], [0, "kr2"], [0, 0], [0, 0]],
)
M_1, M_2 = "ml1 + mm2 + kr1**2*Im1 + ml2", "ml2 + kr2**2*Im2"
printed("7.3.1", "inertia matrix", CARTESIAN + "B", [[M_1, 0], [0, M_2]])
printed("7.3.1", "C", CARTESIAN + "C", [[0, 0], [0, 0]])
printed("7.3.1", "gravity", CARTESIAN + "g", ["(ml1 + mm2 + ml2)*g", 0])
printed(
    "7.3.1",
    "equations of motion",
    CARTESIAN + "tau",
    [f"({M_1})*qdd1 + (ml1 + mm2 + ml2)*g", f"({M_2})*qdd2"],
)

BOOK.section("7.3.2 Planar arm")
printed(
    "7.3.2",
    "J_P over J_O of link 1",
    'eq.jacobian("link 1", at="com")',
    [["-l1*s1", 0], ["l1*c1", 0], [0, 0], [0, 0], [0, 0], [1, 0]],
)
printed(
    "7.3.2",
    "of link 2",
    'eq.jacobian("link 2", at="com")',
    [["-a1*s1 - l2*s12", "-l2*s12"], ["a1*c1 + l2*c12", "l2*c12"], [0, 0], [0, 0], [0, 0], [1, 1]],
)
printed("7.3.2", "of motor 1", 'eq.jacobian(motor="link 1")', [*NONE, [0, 0], [0, 0], ["kr1", 0]])
printed(
    "7.3.2",
    "of motor 2",
    'eq.jacobian(motor="link 2")',
    [["-a1*s1", 0], ["a1*c1", 0], [0, 0], [0, 0], [0, 0], [1, "kr2"]],
)
printed("7.3.2", "inertia matrix", "eq.B", B)
printed(
    "7.3.2",
    "b_12 of the reduced model",
    'planar.with_rotors("reflected").equations().B[0, 1]',
    "Il2 + ml2*(l2**2 + a1*l2*c2)",
)
printed(
    "7.3.2", "Christoffel symbols", "eq.christoffel", [[[0, f"-{H}"], [f"-{H}", f"-{H}"]], [[H, 0], [0, 0]]]
)
printed("7.3.2", "C", "eq.C", [[f"-{H}*qd2", f"-{H}*(qd1 + qd2)"], [f"{H}*qd1", 0]])
printed("7.3.2", "N", "eq.N", [[0, f"{H}*(2*qd1 + qd2)"], [f"-{H}*(2*qd1 + qd2)", 0]])
printed("7.3.2", "gravity", "eq.g", G)
TAU = [
    f"({B[0][0]})*qdd1 + ({B[0][1]})*qdd2 - 2*{H}*qd1*qd2 - {H}*qd2**2 + {G[0]}",
    f"({B[1][0]})*qdd1 + ({B[1][1]})*qdd2 + {H}*qd1**2 + {G[1]}",
]
EIGHT = "m1 mx1 Izz1 Im1 m2 mx2 Izz2 Im2"
PI = ["ml1 + mm2", "ml1*(l1 - a1)", "Il1 + ml1*(l1 - a1)**2 + Im2", "Im1"]
PI += ["ml2", "ml2*(l2 - a2)", "Il2 + ml2*(l2 - a2)**2", "Im2"]
Y_15 = "(a1**2 + 2*a1*a2*c2 + a2**2)*qdd1 + (a1*a2*c2 + a2**2)*qdd2"
Y = [
    [
        "a1**2*qdd1 + a1*g*c1",
        "2*a1*qdd1 + g*c1",
        "qdd1",
        "kr1**2*qdd1",
        f"{Y_15} - 2*a1*a2*s2*qd1*qd2 - a1*a2*s2*qd2**2 + a1*g*c1 + a2*g*c12",
        "(2*a1*c2 + 2*a2)*qdd1 + (a1*c2 + 2*a2)*qdd2 - 2*a1*s2*qd1*qd2 - a1*s2*qd2**2 + g*c12",
        "qdd1 + qdd2",
        "kr2*qdd2",
    ],
    [
        *(0, 0, 0, 0),
        "(a1*a2*c2 + a2**2)*qdd1 + a2**2*qdd2 + a1*a2*s2*qd1**2 + a2*g*c12",
        "(a1*c2 + 2*a2)*qdd1 + 2*a2*qdd2 + a1*s2*qd1**2 + g*c12",
        "qdd1 + qdd2",
        "kr2*qdd1 + kr2**2*qdd2",
    ],
]
printed("7.82", "equations of motion", "eq.tau", TAU)


@row("7.83", "parameters", '[*link1.parameters, *eq.augmented_link("link 2").parameters]')
def eight_parameters(found):
    values = dict(zip(eq.parameter_names, found, strict=True))
    assert [values.pop(name) for name in EIGHT.split()] == PI
    assert {name for name, x in values.items() if not x.is_zero} == {"Iyy1", "Iyy2"}  # which no torque has


@row("7.84", "regressor", "eq.regressor")
def regressor_of_the_planar_arm(found):
    at = [eq.parameter_names.index(name) for name in EIGHT.split()]
    assert [[line[k] for k in at] for line in found] == Y
    assert all(line[eq.parameter_names.index("Iyy2")].is_zero for line in found)


BOOK.section("7.3.3 Parallelogram arm")
TURNING = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 1]]
SINES = [
    ["-l1p*s1", 0, 0, 0],
    ["-a1p*s1 - l2p*s12", "-l2p*s12", 0, 0],
    ["-a1p*s1 - a1pp*s12 - l3p*s123", "-a1pp*s12 - l3p*s123", "-l3p*s123", 0],
    [0, 0, 0, "-l1pp*s4"],
]
COSINES = [
    ["l1p*c1", 0, 0, 0],
    ["a1p*c1 + l2p*c12", "l2p*c12", 0, 0],
    ["a1p*c1 + a1pp*c12 + l3p*c123", "a1pp*c12 + l3p*c123", "l3p*c123", 0],
    [0, 0, 0, "l1pp*c4"],
]
for name, x, y, z in zip(("1'", "2'", "3'", "1''"), SINES, COSINES, TURNING, strict=True):
    of = "J_P over J_O of link 1', of the tree" if name == "1'" else f"of link {name}"
    printed("7.3.3", of, f'tree.jacobian("link {name}", at="com")', [x, y, *([[0] * 4] * 3), z])
B_11 = "Il1p + ml1p*l1p**2 + Il2p + ml2p*(a1p**2 + l2p**2 + 2*a1p*l2p*c2) + Il3p"
B_11 += " + ml3p*(a1p**2 + a1pp**2 + l3p**2 + 2*a1p*a1pp*c2 + 2*a1p*l3p*c23 + 2*a1pp*l3p*c3)"
B_12 = "Il2p + ml2p*(l2p**2 + a1p*l2p*c2) + Il3p"
B_12 += " + ml3p*(a1pp**2 + l3p**2 + a1p*a1pp*c2 + a1p*l3p*c23 + 2*a1pp*l3p*c3)"
B_13 = "Il3p + ml3p*(l3p**2 + a1p*l3p*c23 + a1pp*l3p*c3)"
B_22 = "Il2p + ml2p*l2p**2 + Il3p + ml3p*(a1pp**2 + l3p**2 + 2*a1pp*l3p*c3)"
B_23 = "Il3p + ml3p*(l3p**2 + a1pp*l3p*c3)"
TREE = [
    [B_11, B_12, B_13, 0],
    [B_12, B_22, B_23, 0],
    [B_13, B_23, "Il3p + ml3p*l3p**2", 0],
    [0, 0, 0, "Il1pp + ml1pp*l1pp**2"],
]
printed("7.3.3", "inertia matrix of the tree, B' and b_1''1''", "tree.B", TREE)
G_3 = "ml3p*l3p*g*c123"
G_2 = f"(ml2p*l2p + ml3p*a1pp)*g*c12 + {G_3}"
G_1 = f"(ml1p*l1p + ml2p*a1p + ml3p*a1p)*g*c1 + {G_2}"
printed("7.3.3", "gravity of the tree", "tree.g", [G_1, G_2, G_3, "ml1pp*l1pp*g*c4"])
CROSSED = "(a1p*ml2p*l2p + a1pp*ml3p*(a1p - l3p))*(c1*c2 + s1*s2)"
B_A = [
    ["Il1p + ml1p*l1p**2 + ml2p*a1p**2 + Il3p + ml3p*l3p**2 + ml3p*a1p**2 - 2*a1p*ml3p*l3p", CROSSED],
    [CROSSED, "Il1pp + ml1pp*l1pp**2 + Il2p + ml2p*l2p**2 + ml3p*a1pp**2"],
]
printed("7.3.3", "inertia matrix of the actuated joints", "parallelogram.equations().B", B_A)


@row(
    "7.3.3",
    "links for which it is diagonal",
    'parallelogram.equations().substitute(l3p="a1p + ml2p*l2p*a1p/(ml3p*a1pp)").B',
)
def decoupled(found):
    first = "Il1p + ml1p*l1p**2 + ml2p*a1p**2*(1 + l2p*(l2p*ml2p*a1p/(ml3p*a1pp))/(a1p*a1pp)) + Il3p"
    assert found[0, 1].is_zero
    assert found == [[first, 0], [0, B_A[1][1]]]


printed(
    "7.3.3",
    "gravity",
    "parallelogram.equations().g",
    ["(ml1p*l1p + ml2p*a1p - ml3p*(l3p - a1p))*g*c1", "(ml1pp*l1pp + ml2p*l2p + ml3p*a1pp)*g*c2"],
)
