"""Sciavicco, Siciliano, Villani: (1)–(45) and the example of section 7. Many checks are those of the book."""

import numpy as np

from equations import Table, lagrange, own, properties, recursion
from equations.lagrange import ELBOW, SCARA
from equations.names import elbow, planar, q, qd, qdd
from equations.own import S, close, slope
from equations.properties import BOTH

GEARS = Table(
    "Gear-driven arms",
    "L. Sciavicco, B. Siciliano, L. Villani, *On dynamic modelling of gear-driven rigid robot manipulators*,"
    " SYROCO 1994.",
)
row, printed = GEARS.row, GEARS.printed
q3, qd3, qdd3 = q[:3], qd[:3], qdd[:3]

GEARS.section("2 Preliminaries")


@row("1", "speeds of the motors", "elbow.transmission @ qd[:3]")
def speeds(found):
    close(found, np.array([100, 120, 80]) * qd3)


ROTOR_3 = 'elbow.equations().jacobian(motor="forearm")'
row("2", "angular velocity of a rotor", f"{ROTOR_3}.orientation_part.value(q=q[:3]) @ qd[:3]")(
    lagrange.angular_velocity_of_a_rotor
)

GEARS.section("3 Lagrange formulation")


@row("3", "Lagrangian", "elbow.kinetic_energy(q[:3], qd[:3]) - elbow.potential_energy(q[:3])")
def lagrangian(found):
    close(found, ELBOW.kinetic_energy(q3, qd3) - ELBOW.potential_energy(q3))


@row("4", "Lagrange's equations", "elbow.equations().tau")
def equations_of_motion(found):
    close(found.value(q=q3, qd=qd3, qdd=qdd3), ELBOW.torques(q3, qd3, qdd3))


row("5", "kinetic energy of a link", 'elbow.equations().energy(link="forearm").kinetic')(
    lagrange.energy_of_a_link
)


@row("6", "velocity of a link's centre of mass", 'elbow.equations().velocity("forearm", at="com")')
def velocity(found):
    close(found.value(q=q3, qd=qd3), slope(lambda t: ELBOW.point(q3 + qd3 * t, 3, ELBOW.bodies[2].com)))


row("6", "angular velocity of a link", 'elbow.equations().angular_velocity("forearm")')(
    lagrange.angular_velocity
)


@row("7", "Jacobian of a link, zero beyond it", 'elbow.equations().jacobian("upper arm", at="com")')
def jacobian(found):
    assert all(line[2].is_zero for line in found)
    close(found.value(q=q3), np.vstack(ELBOW.jacobian(q3, 2, ELBOW.bodies[1].com)))


LINK_4 = 'stanford.equations().jacobian("wrist 1", at="com")'
row("8", "columns of J_P", f"{LINK_4}.position_part")(lagrange.columns_of_J_P)
row("8", "columns of J_O", f"{LINK_4}.orientation_part")(lagrange.columns_of_J_O)
row("9", "kinetic energy of a rotor", 'scara.equations().energy(motor="hand").kinetic')(
    lagrange.energy_of_a_rotor
)


@row(
    "10",
    "velocity and angular velocity of a rotor",
    'scara.equations().jacobian(motor="hand").value(q=q[:4]) @ qd[:4]',
)
def velocities_of_a_rotor(found):
    rotor = SCARA.rotors[3]
    v = slope(lambda t: SCARA.point(q[:4] + qd[:4] * t, rotor.carrier, rotor.place))
    close(found, [*v, *(SCARA.spin(q[:4], qd[:4], 3) + 30 * qd[3] * np.array([0, 0, 1]))])


printed(
    "11",
    "Jacobian of a rotor",
    ROTOR_3,
    [
        ["-a2*s1*c2", "-a2*c1*s2", 0],
        ["a2*c1*c2", "-a2*s1*s2", 0],
        [0, "a2*c2", 0],
        [0, "s1", "kr3*c1*c2"],
        [0, "-c1", "kr3*s1*c2"],
        [1, 0, "kr3*s2"],
    ],
)
MOTOR_4 = 'scara.equations().jacobian(motor="hand")'
row("12", "columns of J_P of a rotor", f"{MOTOR_4}.position_part")(lagrange.columns_of_J_P_of_a_rotor)
row("12", "columns of J_O of a rotor", f"{ROTOR_3}.orientation_part")(lagrange.columns_of_J_O_of_a_rotor)


@row("13", "kinetic energy", "elbow.equations().kinetic_energy")
def kinetic_energy(found):
    assert found == sum(
        elbow.equations().B[i, j] * f"qd{i + 1}*qd{j + 1}/2" for i in range(3) for j in range(3)
    )
    close(found.value(q=q3, qd=qd3), ELBOW.kinetic_energy(q3, qd3))


@row("14", "inertia matrix by the Jacobians", "scara.inertia(q[:4])")
def inertia(found):
    total = np.zeros((4, 4))
    for i in range(1, 5):
        for body, (J_P, J_O), at in (
            (SCARA.bodies[i - 1], SCARA.jacobian(q[:4], i, SCARA.bodies[i - 1].com), i),
            (SCARA.rotors[i - 1], SCARA.rotor_jacobian(q[:4], i), i - 1),
        ):
            R = SCARA.frames(q[:4])[at][0]
            total += body.mass * J_P.T @ J_P + J_O.T @ R @ body.tensor @ R.T @ J_O
    close(found, total)


@row("15", "potential energy", "scara.potential_energy(q[:4])")
def potential_energy(found):
    close(
        found, SCARA.potential_energy(q[:4]) - SCARA.rotor_energy(q[:4], qd[:4], 1)[1]
    )  # that one is at rest


@row("16", "equation of motion of a joint", "elbow.equations().tau[0]")
def of_a_joint(found):
    eq = elbow.equations()
    each = [f"qd{j}" for j in (1, 2, 3)]
    left = sum(eq.B[0, j] * f"qdd{j + 1}" + eq.C[0, j] * each[j] for j in range(3)) + eq.g[0]
    assert found == left
    close(found.value(q=q3, qd=qd3, qdd=qdd3), ELBOW.torques(q3, qd3, qdd3)[0])


@row("17", "Coriolis and centrifugal terms", "elbow.coriolis(q[:3], qd[:3])")
def coriolis(found):
    d = own.gradient(elbow.inertia, q3)  # ∂b_ij/∂q_k
    symbols = (d + d.swapaxes(1, 2) - np.moveaxis(d, 2, 0)) / 2
    close(found, symbols @ qd3)


@row("18", "gravity terms", "scara.gravity(q[:4])")
def gravity(found):
    close(found, own.gradient(lambda x: np.array(SCARA.potential_energy(x)), q[:4]))


@row("19", "the model", "elbow.inverse_dynamics(q[:3], qd[:3], qdd[:3])")
def model(found):
    close(found, ELBOW.torques(q3, qd3, qdd3))


GEARS.section("4 Effects of rotor inertias")
WITH_TRANSVERSE = next(r for r in lagrange.BOOK if r.number == "7.66")
row("20", "tensor of a rotor", WITH_TRANSVERSE.call)(properties.tensor_of_a_rotor)


@row("21", "Huygens' theorem: tensor about the common centre of mass", "link1.tensor_at_com")
def about_the_centre(found):
    close(found.value(), BOTH.tensor)
    for change in (properties.MOVED, {"mm2": 200}):
        x = {**planar.symbols, **change}
        r = x["l1"] - x["a1"]
        extra = x["ml1"] * x["mm2"] / (x["ml1"] + x["mm2"]) * r**2  # of two points r apart
        close(found.value(**change), np.diag([0, extra, x["Il1"] + x["Im2"] + extra]))


row("22", "velocity of the link's centre of mass", 'eq.velocity("link 1", at="com")')(
    properties.velocity_of_the_link
)
row("22", "velocity of the rotor", 'eq.jacobian(motor="link 2").position_part.value(q=q[:2]) @ qd[:2]')(
    properties.velocity_of_the_rotor
)
row("23", "kinetic energy of an augmented link, four parts", "link1.energy.kinetic")(
    properties.energy_in_four_parts
)
printed("24", "potential energy of an augmented link", "link1.energy.potential", "(ml1*l1 + mm2*a1)*g*s1")


printed(
    "sec. 4",
    "where k²I on the diagonal is enough: z_mᵀω = 0",
    "[motor.speed for motor in elbow.equations().rotor_couplings()]",
    [0, "qd1", "s2*qd1"],
)

GEARS.section("5 Linearity in the parameters")
UPPER = (
    'elbow.in_dh("mdh").equations().augmented_link("upper arm")'  # about the joint: frame i − 1 of the paper
)


FROM_JOINT = ELBOW.augmented(2).com + np.array([0.5, 0, 0])  # a2 = 0.5 m: centre of mass of the upper arm


def upper_arm():
    """Motion of the upper arm in its own axes: velocity of its joint, ω, and what its rotor spins with."""
    R = ELBOW.frames(q3)[2][0]
    v = R.T @ slope(lambda t: ELBOW.frames(q3 + qd3 * t)[1][1])
    return v, R.T @ ELBOW.spin(q3, qd3, 2), ELBOW.rotors[2], R


@row("25", "kinetic energy about frame i − 1 (its third term needs ½)", f"{UPPER}.energy.kinetic")
def about_the_joint(found):
    (v, w, rotor, _), body = upper_arm(), ELBOW.augmented(2)
    r, spin = FROM_JOINT, rotor.gear * qd[2]
    tensor = body.tensor + body.mass * S(r).T @ S(r)
    still = body.mass * v @ v / 2 + body.mass * v @ np.cross(w, r) + w @ tensor @ w / 2
    expected = still + spin * rotor.axial * rotor.axis @ w + spin**2 * rotor.axial / 2
    close(found.value(q=q3, qd=qd3), expected)


@row(
    "26",
    "velocity of the centre of mass from the joint's",
    'elbow.equations().velocity("upper arm", at="com")',
)
def from_the_joint(found):
    v, w, _, R = upper_arm()
    close(found.value(q=q3, qd=qd3), R @ (v + np.cross(w, FROM_JOINT)))


printed("27", "tensor about frame i − 1", f"{UPPER}.tensor", [["I2xx", 0, 0], [0, "I2yy", 0], [0, 0, "I2zz"]])


@row("28", "centre of mass from the joint", 'elbow.in_dh("mdh").equations().position("upper arm", at="com")')
def centre(found):
    R, joint = ELBOW.frames(q3)[2][0], ELBOW.frames(q3)[1][1]
    close(found.value(q=q3), joint + R @ (FROM_JOINT))


@row("29", "potential energy by mass and first moment", f"{UPPER}.energy.potential")
def potential(found):
    R, joint = ELBOW.frames(q3)[2][0], ELBOW.frames(q3)[1][1]
    body = ELBOW.augmented(2)
    close(found.value(q=q3), -ELBOW.g0 @ (body.mass * joint + R @ (body.mass * FROM_JOINT)))


row("30", "kinetic energy, linear: β_T", "elbow.equations().beta_T")(properties.beta_T)
row("30", "potential energy, linear: β_U", "elbow.equations().beta_U")(properties.beta_U)


@row("31", "eleven parameters of a link", f"{UPPER}.parameters[:11]")
def parameters(found):
    assert found == ["m2", "m2*lc2", 0, 0, "I2xx", 0, 0, "I2yy", 0, "I2zz", "Im2"]


@row("32", "torque of a joint, linear", "elbow.regressor(q[:3], qd[:3], qdd[:3])[1] @ elbow.parameters")
def linear(found):
    close(found, ELBOW.torques(q3, qd3, qdd3)[1])


row("33", "y_ij from β_T and β_U", "eq.regressor")(properties.regressor_of_energies)


@row("34", "the regressor is block triangular", "elbow.regressor(q[:3], qd[:3], qdd[:3])")
def triangular(found):
    blocks = found.reshape(3, 3, 13)
    assert all(not blocks[i, j].any() for i in range(3) for j in range(i))
    close(found @ elbow.parameters, ELBOW.torques(q3, qd3, qdd3))


GEARS.section("6 Newton–Euler formulation")
WRENCHES = "stanford.joint_wrenches(q, qd, qdd)"
row("35", "balance of forces", WRENCHES)(recursion.newton)
row("36", "balance of moments", WRENCHES)(recursion.euler)
row("37", "angular momentum, with the rotor's: its rate", WRENCHES)(recursion.euler)
row("38", "balance of moments, written out", WRENCHES)(recursion.euler_written_out)
row("39", "torque of a joint", "stanford.inverse_dynamics(q, qd, qdd)")(recursion.projected)
row("40", "angular velocity", 'stanford.jacobian(q, "wrist 1")[3:] @ qd')(recursion.angular_velocity)
row("41", "linear velocity", 'stanford.jacobian(q, "wrist 1")[:3] @ qd')(recursion.linear_velocity)
row("42", "angular acceleration", 'acceleration(stanford, "wrist 1")[3:]')(recursion.of_a_turning_joint)
row("42", "angular acceleration, sliding joint", 'acceleration(stanford, "boom")[3:]')(
    recursion.of_a_sliding_joint
)
row("43", "linear acceleration", 'acceleration(stanford, "wrist 1")[:3]')(recursion.linear_of_any)
row("43", "linear acceleration, sliding joint", 'acceleration(stanford, "boom")[:3]')(
    recursion.in_other_words
)
row(
    "44",
    "acceleration of a centre of mass",
    'acceleration(stanford.with_tip("wrist 1", [0, 0.0092, -0.0054]))[:3]',
)(recursion.of_a_centre)
row("45", "angular acceleration of a rotor", "elbow.equations().steps()")(recursion.rotor_accelerations)

GEARS.section("7 Example")
PI = {
    "pi1": "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "pi2": "m2*lc2 + a2*m3",
    "pi3": "I2xx - I2yy - a2**2*m3",
    "pi4": "I2zz + kr2**2*Im2 + a2**2*m3",
    "pi5": "I3xx - I3yy",
    "pi6": "m3*lc3",
    "pi7": "I3zz",
    "pi8": "Im2",
    "pi9": "Im3",
}


def in_symbols(text):
    """A printed formula with π_1 … π_9 written out."""
    for name, value in PI.items():
        text = text.replace(name, f"({value})")
    return text


B_11, B_23 = "pi1 + s2**2*pi3 + s23**2*pi5 + 2*a2*c2*c23*pi6", "a2*c3*pi6 + pi7"
INERTIA = [[B_11, "kr2*pi8", "kr3*s2*pi9"], ["kr2*pi8", "pi4 + 2*a2*c3*pi6 + pi7", B_23]]
INERTIA += [["kr3*s2*pi9", B_23, "pi7 + kr3**2*pi9"]]
H_12 = "s2*c2*qd1*pi3 + s23*c23*qd1*pi5 - a2*(c2*s23 + s2*c23)*qd1*pi6 + kr3*c2*qd3*pi9/2"
H_22, H_32 = "-a2*s3*qd3*pi6", "a2*s3*qd2*pi6 + kr3*c2*qd1*pi9/2"
CORIOLIS = [
    [
        "s2*c2*qd2*pi3 + s23*c23*(qd2 + qd3)*pi5 - a2*(s2*c23*qd2 + c2*s23*(qd2 + qd3))*pi6",
        H_12,
        "s23*c23*qd1*pi5 - a2*c2*s23*qd1*pi6 + kr3*c2*qd2*pi9/2",
    ],
    [f"-({H_12})", H_22, f"{H_22} - ({H_32})"],
    ["-s23*c23*qd1*pi5 + a2*c2*s23*qd1*pi6 + kr3*c2*qd2*pi9/2", H_32, "0"],
]


def written_out(rows):
    return [[in_symbols(x) for x in line] for line in rows]


printed("sec. 7", "inertia matrix", "elbow.equations().B", written_out(INERTIA))
printed("sec. 7", "H(q, q̇)", "elbow.equations().C", written_out(CORIOLIS))
printed(
    "sec. 7",
    "gravity, z down as there",
    'elbow.with_gravity([0, 0, "g"]).equations().g',
    [0, in_symbols("-g*c23*pi6 - g*c2*pi2"), in_symbols("-g*c23*pi6")],
)


@row(
    "sec. 7",
    "nine parameters: as many as can be known",
    'len(elbow.in_dh("mdh").base_parameters(zeros="given"))',
)
def nine(found):
    rng = np.random.default_rng(3)
    states = rng.uniform(-2, 2, (3, 40, 3))
    Y = elbow.regressor(*states).reshape(120, 3 * 13)
    used = elbow.parameters != 0
    assert found == np.linalg.matrix_rank(Y[:, used]) == len(PI)
