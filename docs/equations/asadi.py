"""Asadi, Manipulator Dynamics: the formulas of its slides, by topic."""

import numpy as np

from equations import Table, own
from equations.lagrange import ELBOW
from equations.names import craig, elbow, q, qd, qdd, rmit2r
from equations.own import Craig, close, numbers, slope, written

ASADI = Table(
    "Asadi",
    "E. Asadi, *Manipulator Dynamics*, lecture at RMIT University, after J. J. Craig. Its formulas have no"
    " numbers: here they are by topic, in its order.",
    "topic",
)
row, printed = ASADI.row, ASADI.printed
q2, qd2, qdd2 = q[:2], qd[:2], qdd[:2]
STANFORD, TWO = Craig(craig), Craig(rmit2r)
VALUES = TWO.named(q2, qd2, qdd2)


def printed_number(formula):
    """A printed formula of the two-link arm at the state."""
    return np.array(eval(formula, {}, VALUES), float)


N_2 = "m2*L1*L2*s2*qd1**2 + m2*L1*L2*c2*qdd1 + m2*g*L2*c12 + m2*L2**2*(qdd1 + qdd2)"
TAU_1 = (
    "m2*L2**2*(qdd1 + qdd2) + m2*L1*L2*c2*(2*qdd1 + qdd2) + (m1 + m2)*L1**2*qdd1"
    " - m2*L1*L2*s2*qd2**2 - 2*m2*L1*L2*s2*qd1*qd2 + m2*g*L2*c12 + (m1 + m2)*g*L1*c1"
)
M_12 = "m2*L2**2 + m2*L1*L2*c2"
M = [["(m1 + m2)*L1**2 + m2*L2**2 + 2*m2*L1*L2*c2", M_12], [M_12, "m2*L2**2"]]
V = ["-m2*L1*L2*s2*qd2**2 - 2*m2*L1*L2*s2*qd1*qd2", "m2*L1*L2*s2*qd1**2"]
G = ["m2*g*L2*c12 + (m1 + m2)*g*L1*c1", "m2*g*L2*c12"]

ASADI.section("Dynamic equations")


@row("equation", "M q̈ + V + G = τ", "rmit2r.equations().tau")
def equation(found):
    assert found == [TAU_1, N_2]
    assert found == [f"({M[i][0]})*qdd1 + ({M[i][1]})*qdd2 + {V[i]} + {G[i]}" for i in (0, 1)]


printed("equation", "a mass, a spring, a damper", "oscillator.equations().tau[0]", "m*qdd1 + b*qd1 + k*q1")


@row("K", "kinetic energy", "craig.kinetic_energy(q, qd)")
def kinetic_energy(found):
    moving = STANFORD.outward(q, qd, 0 * q)
    total, at = 0.0, own.in_time(q, qd)

    def centre(i, t):
        turned, p = np.eye(3), np.zeros(3)
        for j in range(1, i + 1):
            R, P = STANFORD.steps(j, at(t))
            turned, p = turned @ R, p + turned @ P
        return p + turned @ STANFORD.bodies[i - 1].com

    for i, body in enumerate(STANFORD.bodies, 1):
        v, w = slope(lambda t, i=i: centre(i, t)), moving[i]["w"]
        total += body.mass * v @ v / 2 + w @ body.tensor @ w / 2
    close(found, total)


printed("V", "centrifugal and Coriolis torques", "rmit2r.equations().c", V)
printed("V", "zero at rest", "rmit2r.equations().c.substitute(qd1=0, qd2=0)", [0, 0])
printed("V", "zero where M is constant", "cartesian.equations().c", [0, 0])
printed("G", "gravity torques", "rmit2r.equations().g", G)


@row(
    "cross-coupling",
    "a torque at joint 2 alone moves joint 1",
    "rmit2r.forward_dynamics(q[:2], 0 * q[:2], [0, 1])",
)
def coupled(found):
    inertia = printed_number("[[" + "], [".join(", ".join(line) for line in M) + "]]")
    close(inertia @ found + printed_number(f"[{', '.join(G)}]"), [0, 1])
    assert abs(found[0]) > 0.1


ASADI.section("Mass distribution")


@row("F = m a", "a mass that slides", 'cartesian.with_rotors("none").inertia(q[:2])[1, 1]')
def newton(found):
    close(found, 10)


@row("τ = I α", "a body that turns about one axis", 'pendulum.with_rotors("none").inertia(q[:1])[0, 0]')
def euler(found):
    close(found, 0.25 + 3 * 0.5**2)


BOX = "box(2, [0.3, 0.2, 0.1])"
TURNED = f"{BOX}.rotated(elbow.pose(q[:3])[:3, :3])"


CORNER = np.array([0.15, 0.1, 0.05])


def particles():
    """The box as points."""
    return own.box_points(2, [0.3, 0.2, 0.1])


@row("tensor", "a matrix of moments and products", f"{TURNED}.matrix")
def tensor(found):
    masses, places = particles()
    close(found, own.tensor(masses, places @ ELBOW.frames(q[:3])[3][0].T))


@row("elements", "moments xx and yy, integrals", f"{BOX}.translated([0.15, 0.1, 0.05]).tensor[::3]")
def moments(found):
    masses, places = particles()
    x, y, z = (places + CORNER).T
    close(found, [masses @ (y**2 + z**2), masses @ (x**2 + z**2)])


@row("elements", "products xy and xz; entries have −", f"{BOX}.translated([0.15, 0.1, 0.05]).tensor[1:3]")
def products(found):
    masses, places = particles()
    x, y, z = (places + CORNER).T
    close(found, [-masses @ (x * y), -masses @ (x * z)])


@row("principal axes", "moments about them", f"{TURNED}.principal()[0]")
def principal(found):
    close(found, np.sort(np.diag(own.tensor(*particles()))))


@row("box", "about a corner", f"{BOX}.translated([0.15, 0.1, 0.05]).matrix")
def corner(found):
    m, w, l, h = 2, 0.3, 0.2, 0.1
    first = [m / 3 * (l**2 + h**2), -m / 4 * w * l, -m / 4 * h * w]
    second = [first[1], m / 3 * (w**2 + h**2), -m / 4 * h * l]
    close(found, [first, second, [first[2], second[2], m / 3 * (w**2 + l**2)]])


@row(
    "parallel axes",
    "from the centre of mass to another origin",
    f"{TURNED}.translated([0.4, -0.3, 0.2]).matrix",
)
def parallel_axes(found):
    masses, places = particles()
    turned, p = places @ ELBOW.frames(q[:3])[3][0].T, np.array([0.4, -0.3, 0.2])
    close(found, own.tensor(masses, turned) + 2 * (p @ p * np.eye(3) - np.outer(p, p)))
    close(found, own.tensor(masses, turned + p))


@row("parallel axes", "and back", f"{TURNED}.translated([0.4, -0.3, 0.2]).tensor_at_com")
def and_back(found):
    masses, places = particles()
    matrix = own.tensor(masses, places @ ELBOW.frames(q[:3])[3][0].T)
    close(found, matrix[np.triu_indices(3)])


@row("box", "about its centre", 'box("m", ["w", "l", "h"]).matrix')
def centre_of_a_box(found):
    values = {"m": 3.0, "w": 0.5, "l": 0.7, "h": 1.1}
    m, w, l, h = values.values()
    close(numbers(found, values), m / 12 * np.diag([l**2 + h**2, w**2 + h**2, w**2 + l**2]))


ASADI.section("Iterative Newton–Euler formulation")
OUT, IN = STANFORD.outward(q, qd, qdd), STANFORD.inward(q, qd, qdd)
AXES = 'craig.pose(q, "{}")[:3, :3].T'


@row("outward", "ω", 'craig.equations().angular_velocity("wrist 1", frame="link")')
def angular_velocity(found):
    close(found.value(q=q, qd=qd), OUT[4]["w"])


@row("outward", "dω/dt", f'{AXES.format("wrist 1")} @ acceleration(craig, "wrist 1")[3:]')
def angular_acceleration(found):
    close(found, OUT[4]["dw"])


@row(
    "outward",
    "dv/dt, with gravity",
    f'{AXES.format("boom")} @ (acceleration(craig, "boom")[:3] + [0, 0, 9.81])',
)
def acceleration_of_a_frame(found):
    close(found, OUT[3]["dv"])


WRIST = 'craig.with_tip("wrist 2", craig.model.links[4].inertia.com)'


@row(
    "outward",
    "that of the centre of mass",
    f"{AXES.format('wrist 2')} @ (acceleration({WRIST})[:3] + [0, 0, 9.81])",
)
def acceleration_of_a_centre(found):
    close(found, OUT[5]["dv_C"])


CRAIG3 = 'elbow.with_rotors("none").in_dh("mdh").equations().steps(notation="craig")'
THREE, STATE = Craig(elbow.with_rotors("none").in_dh("mdh")), (q[:3], qd[:3], qdd[:3])


@row("outward", "F, in symbols", CRAIG3)
def forces_of_links(found):
    values, expected = written(found, THREE.named(*STATE)), THREE.outward(*STATE)
    for i in (2, 3):  # the shoulder has no mass
        close(values[f"F{i}"], expected[i]["F"])


@row("outward", "N, in symbols", CRAIG3)
def moments_of_links(found):
    values, expected = written(found, THREE.named(*STATE)), THREE.outward(*STATE)
    for i in (1, 2, 3):
        close(values[f"N{i}"], expected[i]["N"])


@row("inward", "f", "craig.joint_wrenches(q, qd, qdd)[:, :3]")
def forces(found):
    close(found, [x["f"] for x in IN[1:]])


@row("inward", "n", "craig.joint_wrenches(q, qd, qdd)[:, 3:]")
def moments_of_joints(found):
    turning = [i for i in range(6) if not STANFORD.slides(i + 1)]
    close(found[turning], [IN[i + 1]["n"] for i in turning])


@row("inward", "τ, turning and sliding joints", "craig.inverse_dynamics(q, qd, qdd)")
def torques(found):
    close(found, [x["f" if STANFORD.slides(i) else "n"][2] for i, x in enumerate(IN[1:], 1)])


MOVING = "base=BaseMotion(linear_acceleration=[0, 0, 9.81])"


@row(
    "gravity",
    "as an acceleration of the base",
    f"craig.with_gravity([0, 0, 0]).inverse_dynamics(q, qd, qdd, {MOVING})",
)
def gravity(found):
    torques(found)


ASADI.section("Example: two links with point masses")
STEPS = 'rmit2r.equations().steps(notation="craig")'
V_C1 = "[-L1*qd1**2 + g*s1, L1*qdd1 + g*c1, 0]"
V_2 = "[-L1*c2*qd1**2 + L1*s2*qdd1 + g*s12, L1*s2*qd1**2 + L1*c2*qdd1 + g*c12, 0]"
V_C2 = (
    "[-L1*c2*qd1**2 + L1*s2*qdd1 + g*s12 - L2*(qd1 + qd2)**2,"
    " L1*s2*qd1**2 + L1*c2*qdd1 + g*c12 + L2*(qdd1 + qdd2), 0]"
)
TURN = np.array([[VALUES["c2"], -VALUES["s2"], 0], [VALUES["s2"], VALUES["c2"], 0], [0, 0, 1]])


def times(mass, vector):
    """A printed vector times a mass."""
    return "[" + ", ".join(f"{mass}*({x})" for x in vector.strip("[]").split(", ")) + "]"


def step(what, **expected):
    """A row of the written iteration."""

    def check(found):
        values = written(found, VALUES)
        for name, formula in expected.items():
            close(values[name], printed_number(formula))

    row("example", what, STEPS)(check)


printed(
    "example", "place of a mass", 'rmit2r.equations().position("link 1", at="com")', ["L1*c1", "L1*s1", 0]
)
printed(
    "example",
    "rotation between links",
    'rmit2r.equations().rotation("link 1")',
    [["c1", "-s1", 0], ["s1", "c1", 0], [0, 0, 1]],
)


@row("example", "start: the base at rest, gravity upward", STEPS)
def start(found):
    assert "vd0 = [0, g, 0]" in found
    assert "w0 = wd0 = [0, 0, 0]" in found


step("ω and dω/dt of link 1", w1="[0, 0, qd1]", wd1="[0, 0, qdd1]")
step("dv/dt of link 1, and of its mass", vd1="[g*s1, g*c1, 0]", vdC1=V_C1)
step("F_1 and N_1", F1=times("m1", V_C1), N1="[0, 0, 0]")
step("ω and dω/dt of link 2", w2="[0, 0, qd1 + qd2]", wd2="[0, 0, qdd1 + qdd2]")
step("dv/dt of link 2", vd2=V_2)
step("dv/dt of its mass", vdC2=V_C2)
step("F_2 and N_2", F2=times("m2", V_C2), N2="[0, 0, 0]")


step("end: nothing at the tip", f3="[0, 0, 0]", n3="[0, 0, 0]")
step("f_2", f2=times("m2", V_C2))
step("n_2", n2=f"[0, 0, {N_2}]")


@row("example", "f_1", STEPS)
def force_of_joint_1(found):
    beyond, own_part = printed_number(times("m2", V_C2)), printed_number(times("m1", V_C1))
    close(written(found, VALUES)["f1"], TURN @ beyond + own_part)


step(
    "n_1",
    n1=f"[0, 0, {N_2} + m1*L1**2*qdd1 + m1*g*L1*c1 - m2*L1*L2*s2*(qd1 + qd2)**2 + m2*L1**2*qdd1"
    " + m2*g*L1*s2*s12 + m2*L1*L2*c2*(qdd1 + qdd2) + m2*g*L1*c2*c12]",
)
printed("example", "τ_1 and τ_2", "rmit2r.equations().tau", [TAU_1, N_2])
printed("structure", "M(q)", "rmit2r.equations().B", M)
printed("structure", "centrifugal", "rmit2r.equations().centrifugal_torques", ["-m2*L1*L2*s2*qd2**2", V[1]])
printed("structure", "Coriolis", "rmit2r.equations().coriolis_torques", ["-2*m2*L1*L2*s2*qd1*qd2", 0])
printed("structure", "G(q)", "rmit2r.equations().g", G)

ASADI.section("Tutorial")


@row("question 1", "a cylinder about its centre", 'cylinder("m", "r", "h").matrix')
def cylinder_about_its_centre(found):
    m, r, h = 3.0, 0.4, 1.1
    across = m * (3 * r**2 + h**2) / 12
    close(numbers(found, {"m": m, "r": r, "h": h}), np.diag([across, across, m * r**2 / 2]))


@row("question 1", "about one end", "cylinder(3, 0.4, 1.1).translated([0, 0, 0.55]).matrix")
def cylinder_about_its_end(found):
    across = 3 * (3 * 0.4**2 + 4 * 1.1**2) / 12
    close(found, np.diag([across, across, 3 * 0.4**2 / 2]))


printed(
    "question 2",
    "tensor of the arm",
    'rp.equations().augmented_link("arm").tensor_at_com',
    [["Ixx1", 0, 0], [0, "Iyy1", 0], [0, 0, "Izz1"]],
)
printed(
    "question 2",
    "of the slider",
    'rp.equations().augmented_link("slider").tensor_at_com',
    [["Ixx2", 0, 0], [0, "Iyy2", 0], [0, 0, "Izz2"]],
)
printed(
    "question 2",
    "an arm that turns and extends",
    "rp.equations().tau",
    [
        "(m1*l1**2 + Izz1 + Iyy2 + m2*q2**2)*qdd1 + 2*m2*q2*qd1*qd2 + (m1*l1 + m2*q2)*g*c1",
        "m2*qdd2 - m2*q2*qd1**2 + m2*g*s1",
    ],
)
