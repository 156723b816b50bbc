"""(7.1)–(7.43): energies, Jacobians and the equations of motion."""

import numpy as np
import sympy

from equations import own
from equations.book import BOOK
from equations.names import elbow, eq, h, puma, q, qd, qdd, scara, stanford
from equations.own import Arm, close, slope

row, printed = BOOK.row, BOOK.printed
LINKS = ("link 1", "link 2")
J_P2 = [["-a1*s1 - l2*s12", "-l2*s12"], ["a1*c1 + l2*c12", "l2*c12"], [0, 0]]
B = [
    [
        "Il1 + ml1*l1**2 + kr1**2*Im1 + Il2 + ml2*(a1**2 + l2**2 + 2*a1*l2*c2) + Im2 + mm2*a1**2",
        "Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2",
    ],
    ["Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2", "Il2 + ml2*l2**2 + kr2**2*Im2"],
]
G = ["(ml1*l1 + mm2*a1 + ml2*a1)*g*c1 + ml2*l2*g*c12", "ml2*l2*g*c12"]
ELBOW, SCARA, STANFORD = Arm(elbow), Arm(scara), Arm(stanford)

BOOK.section("7.1 Lagrange formulation")


@row("7.1", "Lagrangian", "eq.kinetic_energy - eq.potential_energy")
def lagrangian(found):
    T, U = own.planar_energies()
    assert found == T - U


@row("7.2", "Lagrange's equation of a joint", "eq.tau[0]")
def of_a_joint(found):
    assert found == own.planar_torques()[0]


@row("7.3", "Lagrange's equations of all joints", "eq.tau")
def of_all_joints(found):
    assert found == own.planar_torques()


printed(
    "ex. 7.1",
    "pendulum with motor and friction",
    "pendulum.equations().tau[0]",
    "(Il + m*l**2 + Im*kr**2)*qdd1 + (F + Fm*kr**2)*qd1 + m*g*l*s1",
)

BOOK.section("7.1.1 Kinetic energy")


@row("7.4", "kinetic energy, a sum over links and rotors", "eq.kinetic_energy")
def sum_of_energies(found):
    assert found == sum(eq.energy(link=x).kinetic + eq.energy(motor=x).kinetic for x in LINKS)
    assert found == own.planar_energies()[0]


def bar(at, speed=None):
    """Points of link 2, a bar of width 0.2 m that reaches from joint to tip: masses, places, velocities."""
    masses, places = own.box_points(50, [1, 0.2, 0])

    def place(x):
        (c1, s1), (c, s) = ((np.cos(a), np.sin(a)) for a in (x[0], x[0] + x[1]))
        return places @ [[c, s, 0], [-s, c, 0], [0, 0, 1]] + [c1 + 0.5 * c, s1 + 0.5 * s, 0]

    rates = slope(lambda t: place(own.in_time(at, speed)(t))) if speed is not None else None
    return masses, place(at), rates


@row("7.5", "kinetic energy of a link, an integral", 'eq.energy(link="link 2").kinetic')
def energy_of_particles(found):
    masses, _, v = bar(q[:2], qd[:2])
    close(found.value(q=q[:2], qd=qd[:2], Il2=50 * (1 + 0.2**2) / 12), masses @ (v * v).sum(1) / 2)


printed(
    "7.6",
    "a particle, seen from the centre of mass",
    'eq.position("link 2", at=["x", "y", 0]) - eq.position("link 2", at="com")',
    ["(x + a2 - l2)*c12 - y*s12", "(x + a2 - l2)*s12 + y*c12", 0],
)


@row("7.7", "centre of mass", 'eq.position("link 2", at="com")')
def mean_of_particles(found):
    masses, places, _ = bar(q[:2])
    close(found.value(q=q[:2]), masses @ places / masses.sum())


@row("7.8", "velocity of a particle", 'elbow.equations().velocity("forearm", at=[0.1, 0.2, 0.3])')
def velocity_of_a_particle(found):
    com, w = ELBOW.bodies[2].com, ELBOW.spin(q[:3], qd[:3], 3)
    at = own.in_time(q[:3], qd[:3])
    r = ELBOW.point(q[:3], 3, [0.1, 0.2, 0.3]) - ELBOW.point(q[:3], 3, com)
    close(found.value(q=q[:3], qd=qd[:3]), slope(lambda t: ELBOW.point(at(t), 3, com)) + np.cross(w, r))


printed(
    "7.9",
    "energy of translation",
    'eq.energy(link="link 2").translation',
    "ml2/2*((a1*s1*qd1 + l2*s12*(qd1 + qd2))**2 + (a1*c1*qd1 + l2*c12*(qd1 + qd2))**2)",
)
printed("7.10", "energy of rotation", 'eq.energy(link="link 2").rotation', "Il2/2*(qd1 + qd2)**2")


@row("7.11", "inertia tensor, integrals", "box(2, [0.3, 0.2, 0.1]).matrix")
def tensor_of_particles(found):
    close(found, own.tensor(*own.box_points(2, [0.3, 0.2, 0.1])))


@row("7.12", "tensor in turned axes", "box(2, [0.3, 0.2, 0.1]).rotated(elbow.pose(q[:3])[:3, :3]).matrix")
def turned_tensor(found):
    masses, places = own.box_points(2, [0.3, 0.2, 0.1])
    close(found, own.tensor(masses, places @ ELBOW.frames(q[:3])[3][0].T))


@row("7.13", "kinetic energy of a link", 'elbow.equations().energy(link="forearm").kinetic')
def energy_of_a_link(found):
    close(found.value(q=q[:3], qd=qd[:3]), ELBOW.link_energy(q[:3], qd[:3], 3)[0])


printed(
    "7.14",
    "velocity of a centre of mass",
    'eq.velocity("link 2", at="com")',
    [f"({row[0]})*qd1 + ({row[1]})*qd2" for row in J_P2],
)


@row("7.15", "angular velocity of a link", 'elbow.equations().angular_velocity("forearm")')
def angular_velocity(found):
    close(found.value(q=q[:3], qd=qd[:3]), ELBOW.spin(q[:3], qd[:3], 3))


printed("7.16", "J_P of a link", 'eq.jacobian("link 2", at="com").position_part', J_P2)
printed("7.17", "J_O of a link", 'eq.jacobian("link 2").orientation_part', [[0, 0], [0, 0], [1, 1]])


@row("7.18", "columns of J_P", 'stanford.equations().jacobian("wrist 1", at="com").position_part')
def columns_of_J_P(found):
    close(found.value(q=q), STANFORD.jacobian(q, 4, STANFORD.bodies[3].com)[0])


@row("7.19", "columns of J_O", 'stanford.equations().jacobian("wrist 1").orientation_part')
def columns_of_J_O(found):
    close(found.value(q=q), STANFORD.jacobian(q, 4, [0, 0, 0])[1])


@row("7.20", "kinetic energy by the Jacobians", 'elbow.equations().energy(link="forearm").kinetic')
def energy_by_jacobians(found):
    body, R = ELBOW.bodies[2], ELBOW.frames(q[:3])[3][0]
    J_P, J_O = ELBOW.jacobian(q[:3], 3, body.com)
    M = body.mass * J_P.T @ J_P + J_O.T @ R @ body.tensor @ R.T @ J_O
    close(found.value(q=q[:3], qd=qd[:3]), qd[:3] @ M @ qd[:3] / 2)


printed(
    "7.21",
    "kinetic energy of a rotor",
    'eq.energy(motor="link 2").kinetic',
    "mm2/2*a1**2*qd1**2 + Im2/2*(qd1 + kr2*qd2)**2",
)


@row("7.22", "gears: speeds of the motors", "planar.transmission @ qd[:2]")
def speeds_of_motors(found):
    close(found, 100 * qd[:2])


@row(
    "7.23",
    "angular velocity of a rotor",
    'elbow.equations().jacobian(motor="forearm").orientation_part.value(q=q[:3]) @ qd[:3]',
)
def angular_velocity_of_a_rotor(found):
    axis = ELBOW.frames(q[:3])[2][0][:, 0]  # x of the upper arm
    close(found, ELBOW.spin(q[:3], qd[:3], 2) + 80 * qd[2] * axis)


@row("7.24", "velocity of a rotor", 'eq.jacobian(motor="link 2").position_part.value(q=q[:2]) @ qd[:2]')
def velocity_of_a_rotor(found):
    close(found, [-np.sin(q[0]) * qd[0], np.cos(q[0]) * qd[0], 0])


printed(
    "7.25",
    "J_P of a rotor",
    'eq.jacobian(motor="link 2").position_part',
    [["-a1*s1", 0], ["a1*c1", 0], [0, 0]],
)


@row("7.26", "columns of J_P of a rotor", 'scara.equations().jacobian(motor="hand").position_part')
def columns_of_J_P_of_a_rotor(found):
    close(found.value(q=q[:4]), SCARA.rotor_jacobian(q[:4], 4)[0])


@row(
    "7.27",
    "angular velocity of a rotor by J_O",
    'scara.equations().jacobian(motor="hand").orientation_part.value(q=q[:4]) @ qd[:4]',
)
def angular_velocity_by_J_O(found):
    close(found, [0, 0, qd[0] + qd[1] + 30 * qd[3]])


printed(
    "7.28",
    "J_O of a rotor",
    'eq.jacobian(motor="link 2").orientation_part',
    [[0, 0], [0, 0], [1, "kr2"]],
)


@row("7.29", "columns of J_O of a rotor", 'elbow.equations().jacobian(motor="forearm").orientation_part')
def columns_of_J_O_of_a_rotor(found):
    close(found.value(q=q[:3]), ELBOW.rotor_jacobian(q[:3], 3)[1])


@row("7.30", "kinetic energy of a rotor by the Jacobians", 'scara.equations().energy(motor="hand").kinetic')
def energy_of_a_rotor(found):
    rotor, (J_P, J_O) = SCARA.rotors[3], SCARA.rotor_jacobian(q[:4], 4)
    R = SCARA.frames(q[:4])[3][0]
    M = rotor.mass * J_P.T @ J_P + J_O.T @ R @ rotor.tensor @ R.T @ J_O
    close(found.value(q=q[:4], qd=qd[:4]), qd[:4] @ M @ qd[:4] / 2)


@row("7.31", "kinetic energy, a quadratic form", "stanford.kinetic_energy(q, qd)")
def quadratic_form(found):
    close(found, STANFORD.kinetic_energy(q, qd))
    close(found, qd @ stanford.inertia(q) @ qd / 2)


printed("7.32", "inertia matrix", "eq.B", B)

BOOK.section("7.1.2 Potential energy")


@row("7.33", "potential energy, a sum over links and rotors", "eq.potential_energy")
def sum_of_potentials(found):
    assert found == sum(eq.energy(link=x).potential + eq.energy(motor=x).potential for x in LINKS)
    assert found == own.planar_energies()[1]


@row("7.34", "potential energy of a link", 'eq.energy(link="link 2").potential')
def potential_of_particles(found):
    masses, places, _ = bar(q[:2])
    close(found.value(q=q[:2]), 9.81 * masses @ places[:, 1])


printed("7.35", "potential energy of a rotor", 'eq.energy(motor="link 2").potential', "mm2*g*a1*s1")


@row("7.36", "potential energy by all centres of mass", "stanford.potential_energy(q)")
def potential_energy(found):
    close(found, STANFORD.potential_energy(q))


BOOK.section("7.1.3 Equations of motion")


@row("7.37", "Lagrangian of the arm", "stanford.kinetic_energy(q, qd) - stanford.potential_energy(q)")
def lagrangian_of_the_arm(found):
    close(found, STANFORD.kinetic_energy(q, qd) - STANFORD.potential_energy(q))


@row("7.38", "n(q, q̇), all but B q̈", "eq.tau.substitute(qdd1=0, qdd2=0)")
def all_but_inertia(found):
    s, (T, U) = own.planar_symbols(), own.planar_energies()
    still = {s["qdd1"]: 0, s["qdd2"]: 0}
    for i in (1, 2):
        momentum = own.rate(sympy.diff(T, s[f"qd{i}"])).subs(still)
        assert found[i - 1] == momentum - sympy.diff(T - U, s[f"q{i}"])


printed("7.39", "gravity torques", "eq.g", G)


@row("7.40", "equation of motion of a joint", "eq.tau[1]")
def equation_of_a_joint(found):
    speeds = sum(eq.h[1, j, k] * f"qd{j + 1}*qd{k + 1}" for j in (0, 1) for k in (0, 1))
    assert found == sum(eq.B[1, j] * f"qdd{j + 1}" for j in (0, 1)) + speeds + eq.g[1]
    assert found == own.planar_torques()[1]


h_1 = [[0, "-2*ml2*a1*l2*s2"], [0, "-ml2*a1*l2*s2"]]
h_2 = [["ml2*a1*l2*s2", "-ml2*a1*l2*s2/2"], ["ml2*a1*l2*s2/2", 0]]
printed("7.41", "coefficients h_ijk", "eq.h", [h_1, h_2])


@row("7.42", "joint space model, with friction and tip force", "puma.inverse_dynamics(q, qd, qdd, h)")
def joint_space_model(found):
    close(found, Arm(puma).torques(q, qd, qdd, h))
    terms = puma.inertia(q) @ qdd + puma.coriolis(q, qd) @ qd + puma.friction(qd) + puma.gravity(q)
    close(found, terms + puma.jacobian(q).T @ h)


@row("7.42", "the same in symbols", "planar.equations(wrench=True).tau")
def in_symbols(found):
    pushed = ["-(a1*s1 + a2*s12)*fx + (a1*c1 + a2*c12)*fy + muz", "-a2*s12*fx + a2*c12*fy + muz"]
    assert found - pushed == own.planar_torques()


printed("7.43", "C q̇", "eq.c", ["-ml2*a1*l2*s2*(2*qd1*qd2 + qd2**2)", "ml2*a1*l2*s2*qd1**2"])
