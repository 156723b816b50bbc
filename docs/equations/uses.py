"""(7.115)–(7.149): direct dynamics, scaling, operational space, dynamic manipulability."""

import numpy as np
from numpy.linalg import inv, pinv

from equations import own
from equations.book import BOOK
from equations.lagrange import STANFORD
from equations.names import (
    at,
    ellipse,
    eq,
    h,
    law,
    motion,
    planar,
    planar3,
    puma,
    q,
    qd,
    qdd,
    softer,
    stanford,
    tau,
)
from equations.own import Arm, close, slope
from equations.properties import PLANAR, H

row, printed = BOOK.row, BOOK.printed

BOOK.section("7.6 Direct dynamics")


@row("7.115", "accelerations under torques", "stanford.forward_dynamics(q, qd, tau, h)")
def direct(found):
    close(STANFORD.torques(q, qd, found, h), tau)


@row("7.116", "torques of position and speed", "puma.inverse_dynamics(q, qd, 0 * qdd, h)")
def without_acceleration(found):
    close(found, Arm(puma).torques(q, qd, 0 * qdd, h))
    close(found, tau - puma.inertia(q) @ puma.forward_dynamics(q, qd, tau, h))


BOOK.section("7.7 Dynamic scaling")


@row("7.117", "Γ(q), with C q̇ = Γ [q̇q̇]", "eq.Gamma")
def gamma(found):
    assert found == [[0, f"-2*{H}", f"-{H}"], [H, 0, 0]]
    assert eq.speed_products == ["qd1**2", "qd1*qd2", "qd2**2"]
    products = list(eq.speed_products)
    assert eq.c == [sum(x * p for x, p in zip(line, products, strict=True)) for line in found]


@row("7.118", "the model with Γ", "eq.tau")
def model_with_gamma(found):
    for i in (0, 1):
        speeds = sum(eq.Gamma[i, k] * eq.speed_products[k] for k in range(3))
        assert found[i] == eq.B[i, 0] * "qdd1" + eq.B[i, 1] * "qdd2" + speeds + eq.g[i]
    assert found == own.planar_torques()


def timed(t=1.3):
    """r, ṙ, r̈ at t, and q̄, q̄′, q̄″ there."""
    r = [x[0] for x in law(t)]
    return r, motion(r[0])


@row("7.119", "another timing of a path", "softer.trajectory(1.3)[0]")
def position(found):
    s = 1.3 / 3
    r = 1.5 * (10 * s**3 - 15 * s**4 + 6 * s**5)  # a quintic from rest to rest
    close(found, motion(r)[0])


@row("7.120", "velocity of that timing", "softer.trajectory(1.3)[1]")
def velocity(found):
    r, path = timed()
    close(found, r[1] * path[1])
    close(found, slope(lambda t: motion(law(1.3 + t)[0][0])[0]), 1e-6)


@row("7.121", "acceleration of that timing", "softer.trajectory(1.3)[2]")
def change(found):
    r, path = timed()
    close(found, r[1] ** 2 * path[2] + r[2] * path[1])


@row("7.122", "torques of that timing", "planar.inverse_dynamics(*softer.trajectory(1.3))")
def torques(found):
    r, (at, rate, bend) = timed()
    scaled = r[1] ** 2 * (planar.inertia(at) @ bend + planar.coriolis(at, rate) @ rate)
    close(found, scaled + r[2] * planar.inertia(at) @ rate + planar.gravity(at))


def moved(at, rate, bend):
    """What torques have of speed and acceleration."""
    return PLANAR.torques(at, rate, bend) - PLANAR.torques(at, 0 * rate, 0 * bend)


@row(
    "7.123",
    "torques of speed and acceleration",
    "planar.inverse_dynamics(*motion(0.7)) - planar.gravity(motion(0.7)[0])",
)
def part(found):
    close(found, moved(*motion(0.7)))


@row(
    "7.124",
    "those of that timing",
    "planar.inverse_dynamics(*softer.trajectory(1.3)) - planar.gravity(softer.trajectory(1.3)[0])",
)
def other_part(found):
    r, (at, rate, bend) = timed()
    B = own.gradient(lambda a: PLANAR.torques(at, 0 * at, a), np.zeros(2))
    close(found, r[1] ** 2 * moved(at, rate, bend) + r[2] * B @ rate)


@row(
    "7.125",
    "those of the given motion",
    "planar.inertia(at.q[700]) @ at.qdd[700] + planar.coriolis(at.q[700], at.qd[700]) @ at.qd[700]",
)
def given_part(found):
    close(found, moved(at.q[700], at.qd[700], at.qdd[700]))


@row("7.126", "torques of one timing from those of another", "softer.torque")
def from_the_other(found):
    for k in (200, 900, 1400):
        r = [x[0] for x in law(softer.t[k])]
        at, rate, bend = motion(r[0])
        expected = r[1] ** 2 * moved(at, rate, bend) + r[2] * planar.inertia(at) @ rate
        close(found[k], expected + PLANAR.torques(at, 0 * at, 0 * at), 1e-6)


@row(
    "sec. 7.7",
    "linear scaling r = c t: how much slower for the torque limits",
    "scale_to_limits(planar, motion).factor",
)
def linear(found):
    still = planar.gravity(at.q)
    moving = planar.inverse_dynamics(at.q, at.qd, at.qdd) - still
    close(np.abs(moving / found**2 + still).max(), 3000)


BOOK.section("7.8 Operational space")
q3, qd3, qdd3 = q[:3], qd[:3], qdd[:3]
THREE = Arm(planar3)
B, C, G = planar3.inertia(q3), planar3.coriolis(q3, qd3), planar3.gravity(q3)
J = THREE.jacobian(q3, 3, [0, 0, 0])[0][:2]
JDOT = slope(lambda t: THREE.jacobian(q3 + qd3 * t, 3, [0, 0, 0])[0][:2])
B_A = inv(J @ inv(B) @ J.T)  # (7.130)
JBAR = inv(B) @ J.T @ B_A  # (7.138)
FELT = np.vstack(THREE.jacobian(q3, 3, [0, 0, 0])).T @ h
H_A = JBAR.T @ FELT  # h_A of two rows: the moment of h acts on inner motion, too


@row(
    "7.127",
    "joint accelerations under a force at the tip",
    "stanford.forward_dynamics(q, qd, stanford.jacobian(q).T @ h, 0.3 * h)",
)
def under_a_force(found):
    J = np.vstack(STANFORD.jacobian(q, 6, STANFORD.tool))
    rest = stanford.coriolis(q, qd) @ qd + stanford.gravity(q)
    close(found, inv(stanford.inertia(q)) @ (J.T @ (h - 0.3 * h) - rest))


@row("7.128", "T_A, with which J = T_A J_A", 'stanford.equations().analytical_jacobian("zyz").T_A')
def transformation(found):
    angles = {"phi": 0.4, "theta": 0.9, "psi": -0.3}

    def turned(phi, theta, psi):
        def about(axis, a):
            c, s = np.cos(a), np.sin(a)
            return np.array(
                [[c, -s, 0], [s, c, 0], [0, 0, 1]] if axis == "z" else [[c, 0, s], [0, 1, 0], [-s, 0, c]]
            )

        return about("z", phi) @ about("y", theta) @ about("z", psi)

    R, rates = turned(**angles), np.array([0.3, -0.5, 0.7])
    spin = slope(lambda t: turned(*(np.array([0.4, 0.9, -0.3]) + rates * t))) @ R.T
    omega = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
    close(found.value(angles) @ [1, 2, 3, *rates], [1, 2, 3, *omega])


@row("7.128", "h_A = T_Aᵀh", 'operational(stanford, q, qd, representation="zyz", wrench=h).h_A')
def force_of_angles(found):
    R = STANFORD.frames(q)[6][0]
    phi, theta = np.arctan2(R[1, 2], R[0, 2]), np.arctan2(np.hypot(R[0, 2], R[1, 2]), R[2, 2])
    c, s, ct, st = np.cos(phi), np.sin(phi), np.cos(theta), np.sin(theta)
    T = np.array([[0, -s, c * st], [0, c, s * st], [1, 0, ct]])
    close(found, [*h[:3], *(T.T @ h[3:])])


@row("7.129", "acceleration of the tip under torques", "tip.acceleration(tau[:3])")
def tip_acceleration(found):
    close(found, J @ inv(B) @ (tau[:3] - C @ qd3 - G - FELT) + JDOT @ qd3)


@row("7.130", "B_A", "tip.B_A")
def inertia_at_the_tip(found):
    close(found, B_A)


@row("7.131", "C_A ẋ", "tip.C_A_xd")
def speed_at_the_tip(found):
    close(found, B_A @ J @ inv(B) @ C @ qd3 - B_A @ JDOT @ qd3)


@row("7.132", "g_A", "tip.g_A")
def weight_at_the_tip(found):
    close(found, B_A @ J @ inv(B) @ G)


@row("7.133", "forces for an acceleration of the tip", "tip.forces([1, -2])")
def operational_model(found):
    acceleration = planar3.forward_dynamics(q3, qd3, J.T @ found, h)
    close(J @ acceleration + JDOT @ qd3, [1, -2])


J2 = PLANAR.jacobian(q[:2], 2, [0, 0, 0])[0][:2]
JDOT2 = slope(lambda t: PLANAR.jacobian(q[:2] + qd[:2] * t, 2, [0, 0, 0])[0][:2])
ROWS = "eq.in_coordinates(eq.jacobian().rows[:2])"


@row("7.134", "B_A without redundant joints", "tip2.B_A")
def inertia_not_redundant(found):
    close(found, inv(J2).T @ planar.inertia(q[:2]) @ inv(J2))


@row("7.135", "C_A ẋ without redundant joints", "tip2.C_A_xd")
def speed_not_redundant(found):
    B2 = inv(J2).T @ planar.inertia(q[:2]) @ inv(J2)
    close(found, inv(J2).T @ planar.coriolis(q[:2], qd[:2]) @ qd[:2] - B2 @ JDOT2 @ qd[:2])


@row("7.136", "g_A without redundant joints, in symbols over det J", f"{ROWS}.g")
def weight_not_redundant(found):
    determinant = eq.in_coordinates(eq.jacobian().rows[:2]).determinant
    assert determinant == "a1*a2*s2"
    close(found.value(q=q[:2]) / determinant.value(q=q[:2]), inv(J2).T @ planar.gravity(q[:2]))


@row(
    "7.137",
    "the model in joint accelerations",
    "tip.forces(planar3.jacobian(q[:3])[:2] @ qdd[:3] + tip.Jdot_A @ qd[:3])",
)
def in_joint_accelerations(found):
    close(found, B_A @ J @ qdd3 + B_A @ J @ inv(B) @ (C @ qd3 + G) + H_A)


@row("7.138", "inverse that is consistent with the inertia", "tip.consistent_inverse")
def consistent(found):
    close(found, JBAR)
    close(J @ found, np.eye(2))


@row(
    "7.139",
    "γ_A − h_A from joint torques",
    "tip.consistent_inverse.T @ planar3.inverse_dynamics(q[:3], qd[:3], qdd[:3])",
)
def from_joint_torques(found):
    close(found, JBAR.T @ (B @ qdd3 + C @ qd3 + G))
    close(found, B_A @ J @ qdd3 + B_A @ J @ inv(B) @ (C @ qd3 + G))


@row("7.140", "γ_A of torques", "tip.consistent_inverse.T @ tau[:3]")
def force_of_torques(found):
    still = planar3.forward_dynamics(q3, 0 * q3, tau[:3]) - planar3.forward_dynamics(q3, 0 * q3, 0 * q3)
    close(found, B_A @ J @ still)  # what the tip accelerates by


@row("7.141", "torques for an acceleration, with any τ_0", "tip.torques([1, -2], tau0=[30, -20, 10])")
def all_torques(found):
    gamma = B_A @ ([1, -2] - JDOT @ qd3) + JBAR.T @ (C @ qd3 + G) + H_A
    close(found, J.T @ gamma + (np.eye(3) - J.T @ JBAR.T) @ [30, -20, 10])
    close(JBAR.T @ found, gamma)


BOOK.section("7.9 Dynamic manipulability")
ELLIPSOID = "dynamic_manipulability(planar3, q[:3])"
POINTS = "ellipse.boundary(20)"
J_INV = pinv(J)


@row("7.142", "torques of unit norm", "ellipse.joints(ellipse.boundary(20))")
def unit_torques(found):
    assert found.shape == (20, 3)
    close((found**2).sum(1), np.ones(20))
    close(found, (ellipse.boundary(20) - ellipse.centre) @ (B @ J_INV).T)


@row("7.143", "the model at rest", "planar3.inverse_dynamics(q[:3], 0 * q[:3], qdd[:3])")
def at_rest(found):
    close(found, B @ qdd3 + G)
    close(found, THREE.torques(q3, 0 * q3, qdd3))


@row("7.144", "acceleration of the tip at rest", "planar3.jacobian(q[:3])[:2] @ qdd[:3]")
def tip_at_rest(found):
    path = own.in_time(q3, 0 * q3, qdd3)
    close(found, own.bend(lambda t: THREE.frames(path(t))[3][1][:2]), 1e-6)


@row(
    "7.145",
    "torques for an acceleration of the tip",
    "planar3.inverse_dynamics(q[:3], 0 * q[:3], np.linalg.pinv(planar3.jacobian(q[:3])[:2]) @ [2, 1])",
)
def torques_for_the_tip(found):
    close(found, B @ J_INV @ [2, 1] + G)


@row(
    "7.146",
    "the same, by what gravity does to the tip and to inner motion",
    "planar3.inverse_dynamics(q[:3], 0 * q[:3], np.linalg.pinv(planar3.jacobian(q[:3])[:2]) @ [2, 1])",
)
def by_parts(found):
    fall = inv(B) @ G
    inner = (np.eye(3) - J_INV @ J) @ fall
    close(found, B @ (J_INV @ [2, 1] + J_INV @ J @ fall + inner))
    close(J @ inner, [0, 0], 1e-6)


@row("7.147", "the part that moves the tip", "ellipse.joints([2, 1])[0]")
def that_moves_the_tip(found):
    close(found, B @ J_INV @ ([2, 1] + J @ inv(B) @ G))


@row("7.148", "dynamic manipulability ellipsoid", "ellipse.boundary(20)")
def ellipsoid(found):
    shifted = found + J @ inv(B) @ G
    core = J_INV.T @ B.T @ B @ J_INV
    close(np.einsum("ki,ij,kj->k", shifted, core, shifted), np.ones(20))


@row("7.149", "the same without redundant joints", "dynamic_manipulability(planar, q[:2]).boundary(20)")
def ellipsoid_not_redundant(found):
    B2 = planar.inertia(q[:2])
    shifted = found + J2 @ inv(B2) @ planar.gravity(q[:2])
    close(np.einsum("ki,ij,kj->k", shifted, inv(J2).T @ B2.T @ B2 @ inv(J2), shifted), np.ones(20))
