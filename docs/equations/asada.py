"""Asada and Slotine, section 5.2: (5-20)–(5-49)."""

import re

import numpy as np
import sympy

from equations import Table, own
from equations.lagrange import STANFORD
from equations.names import arm, asada, h, puma, q, qd, qdd, stanford, tau
from equations.own import Arm, close, slope, values_of
from equations.properties import PLANAR

ASADA = Table(
    "Asada and Slotine, section 5.2",
    "H. Asada, J.-J. E. Slotine, *Robot Analysis and Control*, Wiley 1986.",
)
row, printed = ASADA.row, ASADA.printed
ARM = Arm(arm)
q2, qd2 = q[:2], qd[:2]
NAMES = {"a1": "l1", "a2": "l2", "l1": "lc1", "l2": "lc2", "ml1": "m1", "ml2": "m2", "Il1": "I1", "Il2": "I2"}


def renamed(x):
    """A formula of the planar arm with motors as one without them, in Asada and Slotine's names."""
    s = own.planar_symbols()
    pairs = {s[old]: sympy.Symbol(new, real=True) for old, new in NAMES.items()}
    return x.subs({s[name]: 0 for name in ("mm1", "mm2", "Im1", "Im2")}).subs(pairs, simultaneous=True)


ASADA.section("5.2.1 Lagrangian dynamics")


@row("5-20", "Lagrangian", "asada.kinetic_energy - asada.potential_energy")
def lagrangian(found):
    T, U = own.planar_energies()
    assert found == renamed(T - U)


@row("5-21", "Lagrange's equations", "asada.tau")
def lagrange(found):
    assert found == [renamed(x) for x in own.planar_torques()]


ASADA.section("5.2.2 Manipulator inertia tensor")
V_2 = "(l1*s1*qd1 + lc2*s12*(qd1 + qd2))**2 + (l1*c1*qd1 + lc2*c12*(qd1 + qd2))**2"
printed(
    "5-22",
    "kinetic energy of a link",
    'asada.energy(link="link 2").kinetic',
    f"m2/2*({V_2}) + I2/2*(qd1 + qd2)**2",
)


@row("5-23", "kinetic energy of all links", "asada.kinetic_energy")
def of_all(found):
    assert found == f"(m1*lc1**2 + I1)*qd1**2/2 + m2/2*({V_2}) + I2/2*(qd1 + qd2)**2"


printed(
    "5-24",
    "velocity of a centroid",
    'asada.velocity("link 2", at="com")',
    ["-l1*s1*qd1 - lc2*s12*(qd1 + qd2)", "l1*c1*qd1 + lc2*c12*(qd1 + qd2)", 0],
)


@row("5-24", "angular velocity of a link", 'asada.angular_velocity("link 2")')
def angular_velocity(found):
    close(found.value(q=q2, qd=qd2), ARM.spin(q2, qd2, 2))


printed(
    "5-25",
    "J_L over J_A, zero beyond the link",
    'asada.jacobian("link 1", at="com")',
    [["-lc1*s1", 0], ["lc1*c1", 0], [0, 0], [0, 0], [0, 0], [1, 0]],
)


@row("5-26", "columns of J_L and J_A", 'stanford.equations().jacobian("wrist 1", at="com")')
def columns(found):
    close(found.value(q=q), np.vstack(STANFORD.jacobian(q, 4, STANFORD.bodies[3].com)))


def composite(robot_arm, at):
    """Σ m J_LᵀJ_L + J_AᵀI J_A over the links."""
    total = 0
    for i, body in enumerate(robot_arm.bodies, 1):
        J_L, J_A = robot_arm.jacobian(at, i, body.com)
        R = robot_arm.frames(at)[i][0]
        total = total + body.mass * J_L.T @ J_L + J_A.T @ R @ body.tensor @ R.T @ J_A
    return total


@row("5-27", "kinetic energy by the Jacobians", 'stanford.with_rotors("none").kinetic_energy(q, qd)')
def by_jacobians(found):
    close(found, qd @ composite(STANFORD, q) @ qd / 2)


@row("5-28", "manipulator inertia tensor H", 'stanford.with_rotors("none").inertia(q)')
def inertia(found):
    close(found, composite(STANFORD, q))


@row("5-29", "kinetic energy by H", "asada.kinetic_energy")
def by_H(found):
    terms = (asada.B[i, j] * f"qd{i + 1}*qd{j + 1}/2" for i in (0, 1) for j in (0, 1))
    assert found == sum(terms)
    assert found == renamed(own.planar_energies()[0])


ASADA.section("5.2.3 Lagrange's equations of motion")


@row("5-30", "potential energy (g there points up)", 'stanford.with_rotors("none").potential_energy(q)')
def potential(found):
    up = -STANFORD.g0
    close(found, sum(b.mass * up @ STANFORD.point(q, i, b.com) for i, b in enumerate(STANFORD.bodies, 1)))


@row("5-31", "virtual work of a force on the tip, F_ext = −h", "puma.jacobian(q).T @ -h")
def virtual_work(found):
    arm = Arm(puma)
    for i, e in enumerate(np.eye(6)):
        moved = slope(lambda t, e=e: arm.frames(q + t * e)[6][1])
        close(found[i], -h[:3] @ moved - h[3:] @ arm.spin(q, e, 6), 1e-7)


@row(
    "5-32",
    "power of the generalized forces",
    "arm.inverse_dynamics(q[:2], qd[:2], qdd[:2]) @ qd[:2]",
)
def work(found):
    place = own.in_time(q2, qd2, qdd[:2])

    def energy(t):
        return ARM.kinetic_energy(place(t), qd2 + qdd[:2] * t) + ARM.potential_energy(place(t))

    close(found, slope(energy), 1e-6)


@row("5-33", "with a force on the tip", "stanford.forward_dynamics(q, qd, tau, wrench=h)")
def with_a_force(found):
    J = np.vstack(STANFORD.jacobian(q, 6, STANFORD.tool))
    close(STANFORD.torques(q, qd, found), tau + J.T @ -h)


@row("5-33", "in symbols, F_ext with its own sign", 'planar.equations(wrench=True).text("asada")')
def in_symbols(found):
    values = values_of(PLANAR, q2, qd2, qdd[:2]) | dict(
        zip(("Fx", "Fy", "Fz", "Nx", "Ny", "Nz"), -h, strict=True)
    )
    for i, expected in enumerate(PLANAR.torques(q2, qd2, qdd[:2], h), 1):
        formula = re.search(rf"tau\[{i}\] = (.+(?:\n .+)*)", found)[1]
        close(eval(" ".join(formula.split()), {}, values), expected)


s = own.planar_symbols()


@row("5-34", "momentum, whose rate is H q̈ + (dH/dt) q̇", 'asada.kinetic_energy.diff("qd1")')
def momentum(found):
    T, _ = own.planar_energies()
    assert found == renamed(sympy.diff(T, s["qd1"]))
    rates = renamed(own.rate(sympy.diff(T, s["qd1"])))
    assert sum(asada.B[0, j] * f"qdd{j + 1}" + asada.B_dot[0, j] * f"qd{j + 1}" for j in (0, 1)) == rates


@row("5-35", "dH/dt", "asada.B_dot")
def rate_of_H(found):
    k = "-m2*l1*lc2*s2*qd2"
    assert found == [[f"2*{k}", k], [k, 0]]


@row("5-36", "∂T/∂q_i", 'asada.kinetic_energy.diff("q2")')
def slope_of_T(found):
    assert found == renamed(sympy.diff(own.planar_energies()[0], s["q2"]))
    assert found == "-m2*l1*lc2*s2*(qd1**2 + qd1*qd2)"


@row("5-37", "gravity torques, ∂U/∂q_i", "asada.g")
def gravity(found):
    assert found == [renamed(sympy.diff(own.planar_energies()[1], s[x])) for x in ("q1", "q2")]


@row("5-38", "equation of motion", "asada.tau[0]")
def equation(found):
    speeds = sum(asada.h[0, j, k] * f"qd{j + 1}*qd{k + 1}" for j in (0, 1) for k in (0, 1))
    assert found == sum(asada.B[0, j] * f"qdd{j + 1}" for j in (0, 1)) + speeds + asada.g[0]
    assert found == renamed(own.planar_torques()[0])


@row("5-39", "coefficients h_ijk", "stanford.equations().h[1]")
def coefficients(found):
    d = own.gradient(stanford.inertia, q)
    close(found.value(q=q), [[d[1, j, k] - d[j, k, 1] / 2 for k in range(6)] for j in range(6)], 1e-6)


@row("5-40", "gravity torques by J_L", 'stanford.with_rotors("none").gravity(q)')
def by_J_L(found):
    up = -STANFORD.g0
    links = enumerate(STANFORD.bodies, 1)
    close(found, sum(b.mass * up @ STANFORD.jacobian(q, i, b.com)[0] for i, b in links))


J_1 = [["-lc1*s1", 0], ["lc1*c1", 0], [0, 0]]
J_2 = [["-l1*s1 - lc2*s12", "-lc2*s12"], ["l1*c1 + lc2*c12", "lc2*c12"], [0, 0]]
printed("5-41", "example 5-2: J_L of link 1", 'asada.jacobian("link 1", at="com").position_part', J_1)
printed("5-41", "of link 2", 'asada.jacobian("link 2", at="com").position_part', J_2)
printed("5-42", "angular velocity of link 1", 'asada.angular_velocity("link 1")', [0, 0, "qd1"])
printed("5-42", "of link 2", 'asada.angular_velocity("link 2")', [0, 0, "qd1 + qd2"])
H_11 = "m1*lc1**2 + I1 + m2*(l1**2 + lc2**2 + 2*l1*lc2*c2) + I2"
H_12 = "m2*l1*lc2*c2 + m2*lc2**2 + I2"
printed(
    "5-43",
    "H",
    "asada.B",
    [[H_11, H_12], [H_12, "m2*lc2**2 + I2"]],
)


@row("5-44", "h_ijk", "asada.h")
def of_the_example(found):
    k = "m2*l1*lc2*s2"
    assert [found[0, 0, 0], found[0, 1, 1], found[0, 0, 1] + found[0, 1, 0]] == [0, f"-{k}", f"-2*{k}"]
    assert [found[1, 0, 0], found[1, 1, 1], found[1, 0, 1] + found[1, 1, 0]] == [k, 0, 0]


G = ["(m1*lc1 + m2*l1)*g*c1 + m2*lc2*g*c12", "m2*lc2*g*c12"]
printed("5-45", "G", "asada.g", G)
printed(
    "5-46",
    "equations of motion",
    "asada.tau",
    [
        f"({H_11})*qdd1 + ({H_12})*qdd2 - m2*l1*lc2*s2*(qd2**2 + 2*qd1*qd2) + {G[0]}",
        f"(m2*lc2**2 + I2)*qdd2 + ({H_12})*qdd1 + m2*l1*lc2*s2*qd1**2 + {G[1]}",
    ],
)


@row("5-47", "example 5-3: what the motors turn by", "remote.transmission")
def remotely(found):
    close(found, [[1, 0], [1, 1]])


@row("5-48", "torques of the motors", "remote.equations().motor_torques()")
def torques_of_motors(found):
    Q = [x.subs({s[name]: 0 for name in ("mm1", "mm2", "Im1", "Im2")}) for x in own.planar_torques()]
    assert found == [Q[0] - Q[1], Q[1]]


ASADA.section("5.2.4 Other coordinates")


@row("5-49", "equations in p with dp = J dq: absolute angles", "asada.in_coordinates([[1, 0], [1, 1]]).B")
def absolute_angles(found):
    coupling = "m2*l1*lc2*(c1*c2 + s1*s2)"  # of p1 and p2
    assert found == [["m1*lc1**2 + I1 + m2*l1**2", coupling], [coupling, "m2*lc2**2 + I2"]]
