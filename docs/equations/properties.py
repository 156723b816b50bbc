"""(7.44)–(7.81): skew symmetry, augmented links, linearity in the parameters."""

import numpy as np
import sympy

from equations import own
from equations.book import BOOK
from equations.lagrange import ELBOW, STANFORD
from equations.names import elbow, eq, h, link1, planar, puma, q, qd, qdd, tau
from equations.own import Arm, S, close, numbers, slope

row, printed = BOOK.row, BOOK.printed
PLANAR = Arm(planar)

BOOK.section("7.2.1 Skew symmetry")
H = "ml2*a1*l2*s2"
C_1, C_2 = [[0, f"-{H}"], [f"-{H}", f"-{H}"]], [[H, 0], [0, 0]]
printed("7.44", "C by Christoffel symbols", "eq.C", [[f"-{H}*qd2", f"-{H}*(qd1 + qd2)"], [f"{H}*qd1", 0]])
printed("7.45", "Christoffel symbols", "eq.christoffel", [C_1, C_2])


@row("7.46", "symmetry of Christoffel symbols", "elbow.equations().christoffel[2]")
def symmetric(found):
    assert found == found.T
    d = own.gradient(elbow.inertia, q[:3])
    close(found.value(q=q[:3]), (d[2] + d[2].T - d[:, :, 2]) / 2)


printed("7.47", "N = dB/dt − 2C", "eq.N", [[0, f"{H}*(2*qd1 + qd2)"], [f"-{H}*(2*qd1 + qd2)", 0]])


@row("7.48", "N is skew-symmetric", "elbow.equations().N")
def skew(found):
    assert all(found[i, j] == -found[j, i] for i in range(3) for j in range(3))
    Bdot = slope(lambda t: elbow.inertia(q[:3] + qd[:3] * t))
    close(found.value(q=q[:3], qd=qd[:3]), Bdot - 2 * elbow.coriolis(q[:3], qd[:3]))


@row("7.49", "q̇ᵀN q̇ = 0 for every choice of C", 'eq.skew(eq.coriolis("h"))')
def not_skew(found):
    assert sum(found[i, j] * f"qd{i + 1}*qd{j + 1}" for i in (0, 1) for j in (0, 1)).is_zero
    assert found[0, 0] == f"2*{H}*qd2"  # here N is not skew-symmetric


@row(
    "7.50",
    "power that changes the kinetic energy",
    "qd @ (tau - puma.friction(qd) - puma.gravity(q) - puma.jacobian(q).T @ h)",
)
def power(found):
    a = puma.forward_dynamics(q, qd, tau, h)
    at, arm = own.in_time(q, qd, a), Arm(puma)
    close(found, slope(lambda t: arm.kinetic_energy(at(t), qd + a * t)), 1e-6)


@row("7.51", "the part of C in it: q̇ᵀC q̇ = ½ q̇ᵀ(dB/dt)q̇", "qd @ puma.coriolis(q, qd) @ qd")
def power_of_C(found):
    close(found, qd @ slope(lambda t: puma.inertia(q + qd * t)) @ qd / 2)


BOOK.section("7.2.2 Linearity in the parameters")
q2, qd2 = q[:2], qd[:2]
LINK, ROTOR, BOTH = PLANAR.bodies[0], PLANAR.rotors[1], PLANAR.augmented(1)
MOVED = {"l1": 0.3, "mm2": 12}  # other values, in which nothing cancels by chance


def frame():
    """R_1, ω_1 and the velocity of C_1, the centre of mass of link 1 and motor 2."""
    at = own.in_time(q2, qd2)
    return PLANAR.frames(q2)[1][0], PLANAR.spin(q2, qd2, 1), slope(lambda t: PLANAR.point(at(t), 1, BOTH.com))


@row("7.52", "kinetic energy of an augmented link", "link1.energy.kinetic")
def energy_of_an_augmented_link(found):
    close(found.value(q=q2, qd=qd2), PLANAR.link_energy(q2, qd2, 1)[0] + PLANAR.rotor_energy(q2, qd2, 2)[0])


printed(
    "7.53",
    "kinetic energy of link i",
    'eq.energy(link="link 1").kinetic',
    "ml1*l1**2*qd1**2/2 + Il1*qd1**2/2",
)
printed(
    "7.54",
    "kinetic energy of rotor i + 1",
    'eq.energy(motor="link 2").kinetic',
    "mm2*a1**2*qd1**2/2 + Im2*(qd1 + kr2*qd2)**2/2",
)


@row("7.55", "velocity of the link's centre of mass", 'eq.velocity("link 1", at="com")')
def velocity_of_the_link(found):
    R, w, v = frame()
    close(found.value(q=q2, qd=qd2), v + np.cross(w, R @ (LINK.com - BOTH.com)))


@row("7.56", "velocity of the rotor", 'eq.jacobian(motor="link 2").position_part.value(q=q[:2]) @ qd[:2]')
def velocity_of_the_rotor(found):
    R, w, v = frame()
    close(found, v + np.cross(w, R @ (ROTOR.place - BOTH.com)))


@row(
    "7.57",
    "the link's centre of mass, seen from that of both",
    "list(link1.parts[0].inertia.com) - link1.com",
)
def place_of_the_link(found):
    close(found.value(), LINK.com - BOTH.com)


@row("7.58", "the rotor, seen from that centre", "list(link1.parts[1].inertia.com) - link1.com")
def place_of_the_rotor(found):
    close(found.value(), ROTOR.place - BOTH.com)


def energy_about(mass, place, tensor):
    """½ m v² + vᵀS(ω) m r + ½ ωᵀ(I + m SᵀS(r))ω with v of the common centre of mass."""
    R, w, v = frame()
    r = R @ (place - BOTH.com)
    about = R @ tensor @ R.T + mass * S(r).T @ S(r)
    return mass * v @ v / 2 + v @ S(w) @ r * mass + w @ about @ w / 2


@row("7.59", "energy of the link, written about that centre", 'eq.energy(link="link 1").kinetic')
def energy_about_both(found):
    close(found.value(q=q2, qd=qd2), energy_about(LINK.mass, LINK.com, LINK.tensor))


ABOUT = "link1.parts[{}].inertia.translated(-link1.com.value()).matrix"


@row("7.60", "Steiner's theorem: tensor of the link about that centre", ABOUT.format(0))
def tensor_of_the_link(found):
    r = LINK.com - BOTH.com
    close(numbers(found, planar.symbols), LINK.tensor + LINK.mass * S(r).T @ S(r))


@row("7.61", "energy of the link with that tensor", 'eq.energy(link="link 1").kinetic')
def energy_with_that_tensor(found):
    R, w, v = frame()
    about = R @ numbers(eval(ABOUT.format(0), {"link1": link1}), planar.symbols) @ R.T
    r = R @ (LINK.com - BOTH.com)
    expected = LINK.mass * v @ v / 2 + LINK.mass * v @ np.cross(w, r) + w @ about @ w / 2
    close(found.value(q=q2, qd=qd2), expected)


@row("7.62", "energy of the rotor, with its own spin", 'eq.energy(motor="link 2").kinetic')
def energy_with_spin(found):
    R, w, _ = frame()
    z, spin = R @ ROTOR.axis, ROTOR.gear * qd2[1] * ROTOR.axial
    own_motion = spin * z @ w + ROTOR.gear * qd2[1] * spin / 2
    close(found.value(q=q2, qd=qd2), energy_about(ROTOR.mass, ROTOR.place, ROTOR.tensor) + own_motion)


@row("7.63", "tensor of the rotor about that centre", ABOUT.format(1))
def tensor_of_the_rotor(found):
    r = ROTOR.place - BOTH.com
    close(numbers(found, planar.symbols), ROTOR.tensor + ROTOR.mass * S(r).T @ S(r))


@row("7.64", "energy of the augmented link: still, and spinning", "link1.energy.kinetic")
def energy_in_four_parts(found):
    R, w, v = frame()
    spin = ROTOR.gear * qd2[1] * ROTOR.axial
    still = BOTH.mass * v @ v / 2 + w @ R @ BOTH.tensor @ R.T @ w / 2
    close(found.value(q=q2, qd=qd2), still + spin * R[:, 2] @ w + ROTOR.gear * qd2[1] * spin / 2)


@row("7.65", "common centre of mass", "link1.com")
def centre_of_both(found):
    for change in ({}, MOVED):
        x = {**planar.symbols, **change}
        close(found.value(**change), [x["ml1"] * (x["l1"] - x["a1"]) / (x["ml1"] + x["mm2"]), 0, 0])


@row("7.66", "tensor of a rotor", 'thick.equations().augmented_link("link 1").parts[1].inertia.matrix')
def tensor_of_a_rotor(found):
    close(numbers(found, planar.symbols), np.diag([0.006, 0.006, 0.01]))


@row(
    "7.67",
    "a rotor's tensor times its axis",
    'elbow.equations().augmented_link("upper arm").parts[1].inertia.matrix',
)
def momentum_along_the_axis(found):
    axis = ELBOW.rotors[2].axis
    close(numbers(found, elbow.symbols) @ axis, ELBOW.rotors[2].axial * axis)


@row(
    "7.68",
    "energy of the augmented link in its own axes",
    'elbow.equations().augmented_link("upper arm").energy.kinetic',
)
def energy_in_link_axes(found):
    body, rotor, (R, _) = ELBOW.augmented(2), ELBOW.rotors[2], ELBOW.frames(q[:3])[2]
    at = own.in_time(q[:3], qd[:3])
    v = R.T @ slope(lambda t: ELBOW.point(at(t), 2, body.com))
    w, spin = R.T @ ELBOW.spin(q[:3], qd[:3], 2), rotor.gear * qd[2]
    still = body.mass * v @ v / 2 + w @ body.tensor @ w / 2
    close(
        found.value(q=q[:3], qd=qd[:3]),
        still + spin * rotor.axial * rotor.axis @ w + spin**2 * rotor.axial / 2,
    )


@row(
    "7.69",
    "velocity of the centre of mass in link axes",
    'elbow.pose(q[:3], "upper arm")[:3, :3].T'
    ' @ elbow.equations().velocity("upper arm", at="com").value(q=q[:3], qd=qd[:3])',
)
def velocity_in_link_axes(found):
    R = ELBOW.frames(q[:3])[2][0]
    at = own.in_time(q[:3], qd[:3])
    origin = slope(lambda t: ELBOW.frames(at(t))[2][1])
    close(found, R.T @ origin + np.cross(R.T @ ELBOW.spin(q[:3], qd[:3], 2), ELBOW.bodies[1].com))


@row(
    "7.70",
    "energy in moment and tensor about the frame",
    'elbow.equations().augmented_link("upper arm").energy.kinetic',
)
def energy_about_the_frame(found):
    part, rotor, (R, _) = (
        elbow.equations().augmented_link("upper arm"),
        ELBOW.rotors[2],
        ELBOW.frames(q[:3])[2],
    )
    at = own.in_time(q[:3], qd[:3])
    v, w = R.T @ slope(lambda t: ELBOW.frames(at(t))[2][1]), R.T @ ELBOW.spin(q[:3], qd[:3], 2)
    spin = rotor.gear * qd[2]
    still = (
        part.mass.value() * v @ v / 2 + v @ np.cross(w, part.moment.value()) + w @ part.tensor.value() @ w / 2
    )
    close(
        found.value(q=q[:3], qd=qd[:3]),
        still + spin * rotor.axial * rotor.axis @ w + spin**2 * rotor.axial / 2,
    )


@row("7.71", "Steiner's theorem: tensor about the frame", "link1.tensor")
def tensor_about_the_frame(found):
    close(found.value(), BOTH.tensor + BOTH.mass * S(BOTH.com).T @ S(BOTH.com))


printed("7.72", "first moment", "link1.moment", ["ml1*(l1 - a1)", 0, 0])
printed(
    "7.73",
    "entries of the tensor about the frame",
    "link1.tensor",
    [[0, 0, 0], [0, "ml1*(l1 - a1)**2", 0], [0, 0, "Il1 + ml1*(l1 - a1)**2 + Im2"]],
)
printed("7.74", "potential energy of an augmented link", "link1.energy.potential", "(ml1*l1 + mm2*a1)*g*s1")


@row(
    "7.75",
    "potential energy by mass and first moment",
    'elbow.equations().augmented_link("upper arm").energy.potential',
)
def potential_by_moments(found):
    R, p = ELBOW.frames(q[:3])[2]
    body = ELBOW.augmented(2)
    close(found.value(q=q[:3]), -(R.T @ ELBOW.g0) @ (body.mass * R.T @ p + body.mass * body.com))


def lagrangian_by(beta, robot):
    """Σ β_k π_k, numbers at the state."""
    n = robot.n
    return beta.value(q=q[:n], qd=qd[:n]) @ robot.parameters


@row("7.76", "kinetic energy, linear: β_T", "elbow.equations().beta_T")
def beta_T(found):
    close(lagrangian_by(found, elbow), ELBOW.kinetic_energy(q[:3], qd[:3]))


@row("7.76", "potential energy, linear: β_U", "elbow.equations().beta_U")
def beta_U(found):
    close(lagrangian_by(found, elbow), ELBOW.potential_energy(q[:3]))


@row("7.77", "parameters of an augmented link", "dict(zip(link1.parameter_names, link1.parameters))")
def parameters(found):
    known = {"m1": "ml1 + mm2", "mx1": "ml1*(l1 - a1)", "Iyy1": "ml1*(l1 - a1)**2", "Im1": "Im1"}
    known["Izz1"] = "Il1 + ml1*(l1 - a1)**2 + Im2"
    assert " ".join(found) == "m1 mx1 my1 mz1 Ixx1 Ixy1 Ixz1 Iyy1 Iyz1 Izz1 Im1 Fv1 Fs1"
    assert all(x == known.get(name, 0) for name, x in found.items())


@row("7.78", "torque of a joint, linear", "puma.regressor(q, qd, qdd)[0] @ puma.parameters")
def linear(found):
    close(found, Arm(puma).torques(q, qd, qdd)[0])


@row("7.79", "y_ij from β_T and β_U", "eq.regressor")
def regressor_of_energies(found):
    s = own.planar_symbols()
    for k in (0, 1, 5, 9, 10, 13, 14, 18, 22, 23):  # m, mx, Ixy, Izz, Im of both links, and others
        T, U = eq.beta_T[k].sympy(s), eq.beta_U[k].sympy(s)
        for i in (1, 2):
            y = own.rate(sympy.diff(T, s[f"qd{i}"])) - sympy.diff(T, s[f"q{i}"]) + sympy.diff(U, s[f"q{i}"])
            assert found[i - 1, k] == y


@row("7.80", "the regressor is block triangular", "puma.regressor(q, qd, qdd)")
def triangular(found):
    blocks = found[:, : 13 * 6].reshape(6, 6, 13)
    assert all(not blocks[i, j].any() for i in range(6) for j in range(i))
    assert all(blocks[i, j].any() for i in range(6) for j in range(i, 6))
    close(found @ puma.parameters, Arm(puma).torques(q, qd, qdd))


@row("7.81", "τ = Y π", "stanford.regressor(q, qd, qdd) @ stanford.parameters")
def linear_model(found):
    close(found, STANFORD.torques(q, qd, qdd))
