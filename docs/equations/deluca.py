"""De Luca, Robotics 2, Dynamic model of robots: Lagrangian approach: the formulas, by slide."""

import numpy as np
import sympy

from equations import Table, lagrange, own, properties
from equations.lagrange import ELBOW
from equations.names import arm, at, elbow, eq, planar3, q, qd, qdd, tau
from equations.own import Arm, S, close, numbers, slope

DELUCA = Table(
    "De Luca",
    'A. De Luca, *Robotics 2*, lecture "Dynamic model of robots: Lagrangian approach", Sapienza University of'
    " Rome. Its formulas have no numbers: here they are by slide.",
    "slide",
)
row, printed = DELUCA.row, DELUCA.printed
q3, qd3, qdd3 = q[:3], qd[:3], qdd[:3]

DELUCA.section("Direct and inverse dynamics")


@row("slide 2", "Φ(q, q̇, q̈) = u", "planar3.inverse_dynamics(q[:3], qd[:3], qdd[:3])")
def model(found):
    close(found, Arm(planar3).torques(q3, qd3, qdd3))


@row(
    "slide 3",
    "direct dynamics: a motion under torques",
    "simulate(planar3, q[:3], qd[:3], 0.1, torque=tau[:3]).q[-1]",
)
def direct(found):
    x, step = np.array([q3, qd3]), 0.1 / 100

    def rate(x):
        return np.array([x[1], planar3.forward_dynamics(x[0], x[1], tau[:3])])

    for _ in range(100):  # Runge and Kutta's rule
        a = rate(x)
        b = rate(x + step / 2 * a)
        c = rate(x + step / 2 * b)
        d = rate(x + step * c)
        x = x + step / 6 * (a + 2 * b + 2 * c + d)
    close(found, x[0], 1e-7)


@row("slide 4", "inverse dynamics: torques of a motion", "planar.inverse_dynamics(at.q, at.qd, at.qdd)[700]")
def inverse(found):
    close(found, properties.PLANAR.torques(at.q[700], at.qd[700], at.qdd[700]))


DELUCA.section("Euler–Lagrange method, a pendulum")
P = "pendulum.equations()"
TIP = "pendulum.equations(wrench=True)"


def pr_lagrangian():
    """Symbols, T and L of the PR robot, from the places of its centres of mass."""
    names = "q1 q2 qd1 qd2 qdd1 qdd2 m1 m2 dc1 dc2 I2"
    s = {name: sympy.Symbol(name, real=True) for name in names.split()}
    v = (s["qd1"] - s["dc2"] * sympy.sin(s["q2"]) * s["qd2"], s["dc2"] * sympy.cos(s["q2"]) * s["qd2"])
    T = s["m1"] * s["qd1"] ** 2 / 2 + s["m2"] * (v[0] ** 2 + v[1] ** 2) / 2 + s["I2"] * s["qd2"] ** 2 / 2
    return s, T


def pr_torques():
    s, T = pr_lagrangian()
    return [own.rate(sympy.diff(T, s[f"qd{i}"])) - sympy.diff(T, s[f"q{i}"]) for i in (1, 2)]


@row("slide 6", "Lagrangian", "pr.equations().kinetic_energy - pr.equations().potential_energy")
def pr_L(found):
    assert found == pr_lagrangian()[1]  # on a horizontal plane


@row("slide 6", "Euler–Lagrange equations", "pr.equations().tau")
def euler_lagrange(found):
    assert found == pr_torques()


printed("slide 7", "τ = n τ_m", f"{P}.motor_torques()[0] * 'kr' - {P}.tau[0]", 0)


@row("slide 7", "θ_m = n θ", "pendulum.transmission")
def gear(found):
    close(found, [[50]])


printed("slide 7", "kinetic energy of the motor", f'{P}.energy(motor="rod").kinetic', "Im*kr**2*qd1**2/2")
printed("slide 7", "of the link", f'{P}.energy(link="rod").kinetic', "(Il + m*l**2)*qd1**2/2")
printed("slide 7", "of both", f"{P}.kinetic_energy", "(Il + m*l**2 + Im*kr**2)*qd1**2/2")
printed("slide 8", "potential energy", f"{P}.potential_energy", "-m*g*l*c1")
printed(
    "slide 8",
    "Lagrangian",
    f"{P}.kinetic_energy - {P}.potential_energy",
    "(Il + m*l**2 + Im*kr**2)*qd1**2/2 + m*g*l*c1",
)
printed("slide 8", "place of the tip across", f"{P}.position()[1]", "L*s1")
printed("slide 8", "its rate, J_x θ̇", f"{P}.velocity()[1]", "L*c1*qd1")
printed("slide 8", "∂L/∂θ̇", f'{P}.kinetic_energy.diff("qd1")', "(Il + m*l**2 + Im*kr**2)*qd1")
printed("slide 8", "−∂L/∂θ", f'{P}.potential_energy.diff("q1")', "m*g*l*s1")
printed(
    "slide 8",
    "torques of friction and of a force on the tip, F_x = −fy",
    f"{TIP}.friction[0] + {TIP}.tip_torques[0].substitute(fx=0, muz=0)",
    "(F + Fm*kr**2)*qd1 + L*c1*fy",
)
printed(
    "slide 9",
    "the model in θ",
    f"{TIP}.tau[0].substitute(fx=0, muz=0)",
    "(Il + m*l**2 + Im*kr**2)*qdd1 + m*g*l*s1 + (F + Fm*kr**2)*qd1 + L*c1*fy",
)
MOTOR = f"{TIP}.in_motor_coordinates()"
printed("slide 9", "the model in θ_m: inertia", f"{MOTOR}.B[0, 0]", "(Il + m*l**2 + Im*kr**2)/kr**2")
printed("slide 9", "gravity", f"{MOTOR}.g[0]", "m*g*l*s1/kr")
printed("slide 9", "friction", f"{MOTOR}.friction[0]", "(F/kr**2 + Fm)*qd1")
printed("slide 9", "the force", f"{MOTOR}.tip_torques[0].substitute(fx=0, muz=0)", "L*c1*fy/kr")

DELUCA.section("Kinetic energy of a body")
TWO = "(box(3, [0.4, 0.1, 0.1]) + box(1, [0.1, 0.2, 0.3]).translated([0.25, 0.1, 0]))"


def two_boxes():
    (m, p), (n, r) = own.box_points(3, [0.4, 0.1, 0.1]), own.box_points(1, [0.1, 0.2, 0.3])
    return np.concatenate([m, n]), np.concatenate([p, r + np.array([0.25, 0.1, 0])])


@row("slide 10", "mass", f"{TWO}.mass")
def mass(found):
    close(found, two_boxes()[0].sum())


@row("slide 10", "centre of mass", f"{TWO}.com")
def centre(found):
    m, p = two_boxes()
    close(found, m @ p / m.sum())


row("slide 10", "kinetic energy, an integral", 'eq.energy(link="link 2").kinetic')(
    lagrange.energy_of_particles
)
row("slide 10", "velocity of a particle", 'elbow.equations().velocity("forearm", at=[0.1, 0.2, 0.3])')(
    lagrange.velocity_of_a_particle
)


def koenig():
    """½ m v² and ½ ωᵀIω of the forearm of the elbow arm."""
    body, R = ELBOW.bodies[2], ELBOW.frames(q3)[3][0]
    v, w = slope(lambda t: ELBOW.point(q3 + qd3 * t, 3, body.com)), ELBOW.spin(q3, qd3, 3)
    return body.mass * v @ v / 2, w @ R @ body.tensor @ R.T @ w / 2


@row("slide 11", "König: energy of translation", 'elbow.equations().energy(link="forearm").translation')
def translation(found):
    close(found.value(q=q3, qd=qd3), koenig()[0])


@row("slide 11", "König: energy of rotation", 'elbow.equations().energy(link="forearm").rotation')
def rotation(found):
    close(found.value(q=q3, qd=qd3), koenig()[1])


@row("slide 11", "Euler matrix J, of moments of second order", f"{TWO}.euler_matrix")
def euler_matrix(found):
    m, p = two_boxes()
    close(found, p.T * m @ p)


@row("slide 11", "homework 1, 2: I = tr(J) E − J of the Euler matrix", f"{TWO}.tensor_at_com")
def tensor_by_the_euler_matrix(found):
    m, p = two_boxes()
    r = p - m @ p / m.sum()
    J = r.T * m @ r
    w = np.array([0.3, -0.8, 1.1])
    I = np.trace(J) * np.eye(3) - J
    close(found, I[np.triu_indices(3)])
    close(w @ I @ w, np.trace(S(w) @ J @ S(w).T))


@row("slide 12", "a box", 'box("m", ["a", "b", "c"]).matrix')
def of_a_box(found):
    a, b, c, m = 0.5, 0.7, 1.1, 3.0
    diagonal = m / 12 * np.array([b**2 + c**2, a**2 + c**2, a**2 + b**2])
    close(numbers(found, {"a": a, "b": b, "c": c, "m": m}), np.diag(diagonal))


@row("slide 12", "a tube, its axis along z", 'hollow_cylinder("m", "b", "a", "h").matrix')
def of_a_tube(found):
    a, b, h, m = 0.5, 0.3, 1.1, 3.0
    across = m / 12 * (3 * (a**2 + b**2) + h**2)
    close(numbers(found, {"a": a, "b": b, "h": h, "m": m}), np.diag([across, across, m / 2 * (a**2 + b**2)]))


@row("slide 12", "about its base", "hollow_cylinder(3, 0.3, 0.5, 1.1).translated([0, 0, 0.55]).matrix")
def about_its_base(found):
    across = 3 / 12 * (3 * (0.5**2 + 0.3**2) + 1.1**2) + 3 * 0.55**2
    close(found, np.diag([across, across, 3 / 2 * (0.5**2 + 0.3**2)]))


@row("slide 12", "Steiner's theorem, homework 3", f"{TWO}.translated([0.4, -0.3, 0.2]).matrix")
def steiner(found):
    m, p = two_boxes()
    r = m @ p / m.sum() + [0.4, -0.3, 0.2]
    about = own.tensor(m, p - m @ p / m.sum())
    close(found, about + m.sum() * (r @ r * np.eye(3) - np.outer(r, r)))
    close(found, about + m.sum() * S(r).T @ S(r))


DELUCA.section("Energies of a robot")
E = "elbow.equations()"


@row("slide 13", "kinetic energy, a sum over links", "arm.equations().kinetic_energy")
def sum_over_links(found):
    close(found.value(q=q[:2], qd=qd[:2]), Arm(arm).kinetic_energy(q[:2], qd[:2]))
    assert found == sum(arm.equations().energy(link=x).kinetic for x in lagrange.LINKS)


row("slide 13", "of one link", f'{E}.energy(link="forearm").kinetic')(lagrange.energy_of_a_link)
row("slide 14", "inertia matrix of a link, integrals", "box(2, [0.3, 0.2, 0.1]).matrix")(
    lagrange.tensor_of_particles
)


@row("slide 14", "ω in the axes of the link", f'{E}.angular_velocity("forearm", frame="link")')
def spin_in_link_axes(found):
    w, R, body = found.value(q=q3, qd=qd3), ELBOW.frames(q3)[3][0], ELBOW.bodies[2]
    close(w, R.T @ ELBOW.spin(q3, qd3, 3))
    close(w @ body.tensor @ w / 2, koenig()[1])  # the same in any axes


row(
    "slide 15",
    "Jacobian of a centre of mass",
    'stanford.equations().jacobian("wrist 1", at="com").position_part',
)(lagrange.columns_of_J_P)
row(
    "slide 15",
    "Jacobian of the angular velocity",
    'stanford.equations().jacobian("wrist 1").orientation_part',
)(lagrange.columns_of_J_O)


@row("slide 16", "M(q) by them", 'elbow.with_rotors("none").inertia(q[:3])')
def inertia(found):
    total = np.zeros((3, 3))
    for i, body in enumerate(ELBOW.bodies, 1):
        J_L, J_A = ELBOW.jacobian(q3, i, body.com)
        R = ELBOW.frames(q3)[i][0]
        total += body.mass * J_L.T @ J_L + J_A.T @ R @ body.tensor @ R.T @ J_A
    close(found, total)


row("slide 16", "I(q) = R I Rᵀ", "box(2, [0.3, 0.2, 0.1]).rotated(elbow.pose(q[:3])[:3, :3]).matrix")(
    lagrange.turned_tensor
)


@row("slide 17", "potential energy, a sum over links", f"{E}.potential_energy")
def potential(found):
    assert found == sum(
        elbow.equations().energy(link=x).potential for x in ("shoulder", "upper arm", "forearm")
    )
    close(found.value(q=q3), ELBOW.potential_energy(q3))


@row("slide 17", "of one link", f'{E}.energy(link="forearm").potential')
def potential_of_a_link(found):
    close(found.value(q=q3), ELBOW.link_energy(q3, qd3, 3)[1])


@row("slide 17", "A_1 A_2 … A_i", f'{E}.pose("forearm")')
def transforms(found):
    R, p = ELBOW.frames(q3)[3]
    close(found.value(q=q3), np.block([[R, p[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]]))


@row("slide 17", "centre of mass by them", f'{E}.position("forearm", at="com")')
def centre_by_them(found):
    close(found.value(q=q3), ELBOW.point(q3, 3, ELBOW.bodies[2].com))


DELUCA.section("Equations of motion")


@row("slide 18", "T = ½ q̇ᵀM q̇", "elbow.kinetic_energy(q[:3], qd[:3])")
def quadratic(found):
    close(found, ELBOW.kinetic_energy(q3, qd3))
    close(found, qd3 @ elbow.inertia(q3) @ qd3 / 2)


@row("slide 18", "Euler–Lagrange equations", f"{E}.tau")
def equations_of_motion(found):
    close(found.value(q=q3, qd=qd3, qdd=qdd3), ELBOW.torques(q3, qd3, qdd3))


@row("slide 19", "∂L/∂q̇_k", 'pr.equations().kinetic_energy.diff("qd2")')
def momentum(found):
    s, T = pr_lagrangian()
    assert found == sympy.diff(T, s["qd2"])


@row("slide 19", "∂L/∂q_k", 'pr.equations().kinetic_energy.diff("q2")')
def by_position(found):
    s, T = pr_lagrangian()
    assert found == sympy.diff(T, s["q2"])


@row("slide 20", "k-th equation", "pr.equations().tau[1]")
def of_a_joint(found):
    assert found == pr_torques()[1]


@row("slide 20", "Christoffel symbols", f"{E}.christoffel")
def christoffel(found):
    d = own.gradient(elbow.inertia, q3)
    for k in range(3):
        expected = [[(d[k, j, i] + d[k, i, j] - d[i, j, k]) / 2 for j in range(3)] for i in range(3)]
        close(found[k].value(q=q3), expected, 1e-7)


PARTS = 'contributions(elbow, q[:3], qd[:3], qdd[:3], rotors="within")'


def own_symbols():
    d = own.gradient(elbow.inertia, q3)
    return (d + d.swapaxes(1, 2) - np.moveaxis(d, 2, 0)) / 2


@row("slide 21", "inertial terms m_kj q̈_j", f"{PARTS}.inertia")
def inertial(found):
    B = own.gradient(lambda a: ELBOW.torques(q3, 0 * q3, a), np.zeros(3))
    close(found, B * qdd3)


@row("slide 21", "centrifugal terms c_kii q̇_i²", f"{PARTS}.centrifugal")
def centrifugal(found):
    close(found, np.einsum("kii,i->ki", own_symbols(), qd3**2), 1e-7)


@row("slide 21", "Coriolis terms 2 c_kij q̇_i q̇_j", f"{PARTS}.coriolis_pairs")
def coriolis(found):
    upper = np.triu(np.ones((3, 3)), 1)
    close(found, 2 * own_symbols() * np.outer(qd3, qd3) * upper, 1e-7)


@row("slide 21", "gravity terms", f"{PARTS}.gravity")
def gravity(found):
    close(found, own.gradient(lambda x: np.array(ELBOW.potential_energy(x)), q3))


@row("slide 22", "c(q, q̇)", f"{E}.c")
def velocity_terms(found):
    expected = ELBOW.torques(q3, qd3, 0 * q3) - ELBOW.torques(q3, 0 * q3, 0 * q3)
    close(found.value(q=q3, qd=qd3), expected)


@row("slide 22", "c_k = q̇ᵀC_k q̇: C_k", f"{E}.christoffel[1]")
def matrix_of_symbols(found):
    assert found == found.T
    close(qd3 @ found.value(q=q3) @ qd3, elbow.equations().c[1].value(q=q3, qd=qd3))
    close(found.value(q=q3), own_symbols()[1], 1e-7)


@row("slide 22", "S(q, q̇)", "elbow.coriolis(q[:3], qd[:3])")
def factorisation(found):
    close(found, own_symbols() @ qd3, 1e-7)


DELUCA.section("PR robot")
PR = "pr.equations()"
printed("slide 23", "p_c1", f'{PR}.position("slider", at="com")', ["q1 - dc1", 0, 0])
printed("slide 23", "v_c1", f'{PR}.velocity("slider", at="com")', ["qd1", 0, 0])
printed("slide 23", "T_1", f'{PR}.energy(link="slider").kinetic', "m1*qd1**2/2")
printed("slide 23", "p_c2", f'{PR}.position("arm", at="com")', ["q1 + dc2*c2", "dc2*s2", 0])
printed("slide 23", "v_c2", f'{PR}.velocity("arm", at="com")', ["qd1 - dc2*s2*qd2", "dc2*c2*qd2", 0])
printed("slide 23", "ω_2", f'{PR}.angular_velocity("arm")', [0, 0, "qd2"])
printed(
    "slide 23",
    "T_2",
    f'{PR}.energy(link="arm").kinetic',
    "m2*(qd1**2 + dc2**2*qd2**2 - 2*dc2*s2*qd1*qd2)/2 + I2*qd2**2/2",
)
printed("slide 24", "M(q)", f"{PR}.B", [["m1 + m2", "-m2*dc2*s2"], ["-m2*dc2*s2", "I2 + m2*dc2**2"]])
printed("slide 24", "c(q, q̇)", f"{PR}.c", ["-m2*dc2*c2*qd2**2", 0])
printed("slide 24", "C_1(q)", f"{PR}.christoffel[0]", [[0, 0], [0, "-m2*dc2*c2"]])
printed("slide 24", "C_2(q)", f"{PR}.christoffel[1]", [[0, 0], [0, 0]])
printed(
    "slide 25",
    "the model",
    f"{PR}.tau",
    [
        "(m1 + m2)*qdd1 - m2*dc2*s2*qdd2 - m2*dc2*c2*qd2**2",
        "-m2*dc2*s2*qdd1 + (I2 + m2*dc2**2)*qdd2",
    ],
)
printed("slide 25", "Q4: a factorisation S", f"{PR}.C", [[0, "-m2*dc2*c2*qd2"], [0, 0]])

DELUCA.section("Structure and energy")
row("slide 26", "dM/dt − 2S is skew-symmetric", f"{E}.N")(properties.skew)


@row("slide 27", "total energy", "elbow.kinetic_energy(q[:3], qd[:3]) + elbow.potential_energy(q[:3])")
def energy(found):
    close(found, ELBOW.kinetic_energy(q3, qd3) + ELBOW.potential_energy(q3))


@row("slide 27", "its rate, q̇ᵀu", "elbow.inverse_dynamics(q[:3], qd[:3], qdd[:3]) @ qd[:3]")
def power(found):
    at = own.in_time(q3, qd3, qdd3)

    def total(t):
        return ELBOW.kinetic_energy(at(t), qd3 + qdd3 * t) + ELBOW.potential_energy(at(t))

    close(found, slope(total), 1e-6)


@row("slide 27", "constant without torques", "simulate(planar3, q[:3], qd[:3], 0.5).energy")
def conserved(found):
    three = Arm(planar3)
    close(found, np.full(len(found), three.kinetic_energy(q3, qd3) + three.potential_energy(q3)), 1e-7)


row("slide 27", "q̇ᵀ(dM/dt − 2S) q̇ = 0 for any S", 'eq.skew(eq.coriolis("h"))')(properties.not_skew)


@row("slide 28", "columns of M: those of torques for unit accelerations", "elbow.inertia(q[:3])[:, 1]")
def column(found):
    still = ELBOW.torques(q3, 0 * q3, 0 * q3)
    close(found, ELBOW.torques(q3, 0 * q3, np.array([0, 1, 0])) - still)


@row("slide 28", "rows of S that make it skew: q̇ᵀC_k", "eq.C[0]")
def rows_of_S(found):
    assert found == [sum(eq.christoffel[0, j, k] * f"qd{j + 1}" for j in (0, 1)) for k in (0, 1)]
    assert found == [f"-{properties.H}*qd2", f"-{properties.H}*(qd1 + qd2)"]
