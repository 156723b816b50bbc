"""(7.85)–(7.114): identification, and the recursion of Newton and Euler."""

import numpy as np

from equations import own
from equations.book import BOOK
from equations.lagrange import ELBOW, SCARA, STANFORD
from equations.names import at, elbow, h, planar, puma, q, qd, qdd, scara, stanford
from equations.own import Arm, close, slope, values_of, written
from equations.properties import PLANAR

row, printed = BOOK.row, BOOK.printed
FRAMES = STANFORD.frames(q)

BOOK.section("7.4 Identification")


@row(
    "7.85",
    "torques and regressors of a motion, stacked",
    "planar.regressor(at.q, at.qd, at.qdd).reshape(-1, 26)",
)
def stacked(found):
    for k in (3, 700, 1400):
        expected = PLANAR.torques(at.q[k], at.qd[k], at.qdd[k])
        close(found[2 * k : 2 * k + 2] @ planar.parameters, expected)


@row(
    "7.86",
    "parameters by least squares",
    'identify(planar.with_symbols(ml2=40, l1=0.3), log, method="ordinary", damping=0).robot',
)
def least_squares(found):
    state = q[:2], qd[:2], qdd[:2]
    close(found.inverse_dynamics(*state), PLANAR.torques(*state))


BOOK.section("7.5 Newton–Euler formulation")


def in_base_frame(wrenches):
    """f_i and μ_i of all joints and of the one beyond the tip, where nothing pulls; [0] is of no joint."""
    turned = [np.concatenate([R @ x[:3], R @ x[3:]]) for (R, _), x in zip(FRAMES[1:], wrenches, strict=True)]
    return [np.zeros(6), *turned, np.zeros(6)]


def centre(i, t=0.0):
    """C_i of the Stanford arm along a motion through the state."""
    return STANFORD.point(own.in_time(q, qd, qdd)(t), i, STANFORD.augmented(i).com)


@row("7.87", "Newton's equation of a link", "stanford.joint_wrenches(q, qd, qdd)")
def newton(found):
    wrench = in_base_frame(found)
    for i in range(1, 7):
        m = STANFORD.augmented(i).mass
        left = wrench[i][:3] - wrench[i + 1][:3] + m * STANFORD.g0
        close(left, m * own.bend(lambda t, i=i: centre(i, t)), 1e-6)


def momentum(i, t, rotor=True):
    """Ī_i ω_i + k q̇ I_m z_m of the rotor that link i carries, along the motion."""
    at, rate, body = own.in_time(q, qd, qdd)(t), qd + qdd * t, STANFORD.augmented(i)
    R = STANFORD.frames(at)[i][0]
    found = R @ body.tensor @ R.T @ STANFORD.jacobian(at, i, [0, 0, 0])[1] @ rate
    if rotor and i < 6:
        spinning = STANFORD.rotors[i]
        found = found + spinning.gear * rate[i] * spinning.axial * R @ spinning.axis
    return found


def moment_about_centre(wrench, i):
    """The left side of Euler's equation."""
    (f, mu), (f_next, mu_next) = ((x[:3], x[3:]) for x in wrench[i : i + 2])
    before, behind = centre(i) - FRAMES[i - 1][1], centre(i) - FRAMES[i][1]
    return mu + np.cross(f, before) - mu_next - np.cross(f_next, behind)


@row("7.88", "Euler's equation of a link", "stanford.joint_wrenches(q, qd, qdd)")
def euler(found):
    wrench = in_base_frame(found)
    for i in range(1, 7):
        close(moment_about_centre(wrench, i), slope(lambda t, i=i: momentum(i, t)))


@row("7.89", "derivative of a link's angular momentum", "stanford.joint_wrenches(q, qd, qdd)[-1]")
def gyroscopic(found):
    wrench = [
        *[np.zeros(6)] * 6,
        np.concatenate([FRAMES[6][0] @ found[:3], FRAMES[6][0] @ found[3:]]),
        np.zeros(6),
    ]
    close(moment_about_centre(wrench, 6), slope(lambda t: momentum(6, t, rotor=False)))
    at, R = STANFORD.accelerations(q, qd, qdd)[6], FRAMES[6][0]
    tensor = R @ STANFORD.augmented(6).tensor @ R.T
    close(moment_about_centre(wrench, 6), tensor @ at["dw"] + np.cross(at["w"], tensor @ at["w"]))


@row(
    "7.90",
    "derivative of a rotor's angular momentum",
    "stanford.joint_wrenches(q, qd, qdd, parameters=spin)[1]",
)
def momentum_of_a_rotor(found):
    close(found[:3], np.zeros(3))
    spun = slope(lambda t: momentum(2, t) - momentum(2, t, rotor=False))
    close(FRAMES[2][0] @ found[3:], spun)


@row("7.91", "Euler's equation, written out", "stanford.joint_wrenches(q, qd, qdd)")
def euler_written_out(found):
    wrench, motion = in_base_frame(found), STANFORD.accelerations(q, qd, qdd)
    for i in range(1, 6):
        R, rotor, w = FRAMES[i][0], STANFORD.rotors[i], motion[i]["w"]
        tensor, k = R @ STANFORD.augmented(i).tensor @ R.T, rotor.gear * rotor.axial
        right = tensor @ motion[i]["dw"] + np.cross(w, tensor @ w)
        right = right + k * qdd[i] * R @ rotor.axis + k * qd[i] * np.cross(w, R @ rotor.axis)
        close(moment_about_centre(wrench, i), right)


@row("7.92", "torque of a joint", "stanford.inverse_dynamics(q, qd, qdd)")
def projected(found):
    wrench, motion = in_base_frame(stanford.joint_wrenches(q, qd, qdd)), STANFORD.accelerations(q, qd, qdd)
    for i in range(1, 7):
        R, rotor = FRAMES[i - 1][0], STANFORD.rotors[i - 1]
        along = (wrench[i][:3] if STANFORD.slides(i) else wrench[i][3:]) @ R[:, 2]
        close(found[i - 1], along + rotor.gear * rotor.axial * motion[i]["dw_m"] @ R @ rotor.axis)


def steps(found, robot, h=None):
    """The numbers of a written recursion, and R_i, R_{i−1}, motion and wrench of each link from outside."""
    chain, n = Arm(robot), robot.n
    state = q[:n], qd[:n], qdd[:n]
    values = values_of(chain, *state) | dict(zip(TIP, np.zeros(6) if h is None else h, strict=True))
    numbers, frames = written(found, values), chain.frames(q[:n])
    motion, wrenches = chain.accelerations(*state), chain.wrenches(*state, h)
    return numbers, [(i, frames[i][0], frames[i - 1][0], motion[i] | wrenches[i]) for i in range(1, n + 1)]


TIP = ("fx", "fy", "fz", "mux", "muy", "muz")
BASE_AXES = 'elbow.equations(wrench=True).steps(frame="base")'


def in_symbols(number, what, written_as, name):
    """A row of the recursion in base axes, written out for the elbow arm."""

    def check(found):
        assert f"({number})" in found
        numbers, each = steps(found, elbow, h)
        for i, _, _, expected in each:
            weight = ELBOW.g0 if name in ("pdd", "pddC") else 0
            if f"{written_as}{i}" in numbers or name != "pddC":  # the shoulder has no mass
                close(numbers[f"{written_as}{i}"], expected[name] - weight)

    row(number, f"{what}, in symbols", BASE_AXES)(check)


BOOK.section("7.5.1 Link accelerations")


def links(i):
    """The motion of link i, of the one before it, z_{i−1} and r_{i−1,i}."""
    motion = STANFORD.accelerations(q, qd, qdd)
    return motion[i], motion[i - 1], FRAMES[i - 1][0][:, 2], FRAMES[i][1] - FRAMES[i - 1][1]


@row("7.93", "angular velocity", 'stanford.jacobian(q, "wrist 1")[3:] @ qd')
def angular_velocity(found):
    close(found, STANFORD.accelerations(q, qd, qdd)[4]["w"])


in_symbols("7.93", "angular velocity", "w", "w")


@row("7.94", "linear velocity", 'stanford.jacobian(q, "wrist 1")[:3] @ qd')
def linear_velocity(found):
    close(found, STANFORD.accelerations(q, qd, qdd)[4]["pd"])


in_symbols("7.94", "linear velocity", "pd", "pd")


@row("7.95", "angular acceleration, sliding joint", 'acceleration(stanford, "boom")[3:]')
def of_a_sliding_joint(found):
    close(found, links(3)[1]["dw"])
    at = own.in_time(q, qd, qdd)
    close(found, slope(lambda t: STANFORD.jacobian(at(t), 2, [0, 0, 0])[1] @ (qd + qdd * t)))


@row("7.96", "angular acceleration, turning joint", 'acceleration(stanford, "wrist 1")[3:]')
def of_a_turning_joint(found):
    _, last, z, _ = links(4)
    close(found, last["dw"] + qdd[3] * z + qd[3] * np.cross(last["w"], z))


@row("7.97", "linear acceleration, sliding joint", 'acceleration(stanford, "boom")[:3]')
def linear_of_a_sliding_joint(found):
    here, last, z, r = links(3)
    rate = qd[2] * z + np.cross(last["w"], r)
    right = last["pdd"] + qdd[2] * z + qd[2] * np.cross(last["w"], z) + np.cross(here["dw"], r)
    close(found, right + np.cross(here["w"], rate))


@row("7.98", "the same, rewritten", 'acceleration(stanford, "boom")[:3]')
def in_other_words(found):
    here, last, z, r = links(3)
    right = last["pdd"] + qdd[2] * z + 2 * qd[2] * np.cross(here["w"], z)
    close(found, right + np.cross(here["dw"], r) + np.cross(here["w"], np.cross(here["w"], r)))


@row("7.99", "linear acceleration, turning joint", 'acceleration(stanford, "wrist 2")[:3]')
def linear_of_a_turning_joint(found):
    here, last, _, r = links(5)
    close(found, last["pdd"] + np.cross(here["dw"], r) + np.cross(here["w"], np.cross(here["w"], r)))


@row("7.100", "angular acceleration of any link", "acceleration(stanford)[3:]")
def angular_of_any(found):
    close(found, STANFORD.accelerations(q, qd, qdd)[6]["dw"])


in_symbols("7.100", "angular acceleration", "wd", "dw")


@row("7.101", "linear acceleration of any frame", 'acceleration(stanford, "wrist 1")[:3]')
def linear_of_any(found):
    at = own.in_time(q, qd, qdd)
    close(found, own.bend(lambda t: STANFORD.frames(at(t))[4][1]), 1e-6)
    close(found, STANFORD.accelerations(q, qd, qdd)[4]["pdd"])


in_symbols("7.101", "linear acceleration, gravity in it", "pdd", "pdd")


@row(
    "7.102",
    "acceleration of a centre of mass",
    'acceleration(stanford.with_tip("wrist 1", [0, 0.0092, -0.0054]))[:3]',
)
def of_a_centre(found):
    close(found, own.bend(lambda t: centre(4, t)), 1e-6)
    close(found, STANFORD.accelerations(q, qd, qdd)[4]["pddC"])


in_symbols("7.102", "acceleration of a centre of mass, gravity in it", "pddC", "pddC")

in_symbols("7.103", "angular acceleration of a rotor", "wdm", "dw_m")

BOOK.section("7.5.2 Recursive algorithm")


@row("7.104", "forces, inward", "stanford.joint_wrenches(q, qd, qdd, h)[:, :3]")
def forces(found):
    expected = STANFORD.wrenches(q, qd, qdd, h)
    close([R @ f for (R, _), f in zip(FRAMES[1:], found, strict=True)], [x["f"] for x in expected[1:7]])


in_symbols("7.104", "forces", "f", "f")


@row("7.105", "moments, inward", "stanford.joint_wrenches(q, qd, qdd, h)[:, 3:]")
def moments(found):
    expected = STANFORD.wrenches(q, qd, qdd, h)
    close([R @ f for (R, _), f in zip(FRAMES[1:], found, strict=True)], [x["mu"] for x in expected[1:7]])


in_symbols("7.105", "moments", "mu", "mu")


@row("7.106", "torques, with friction", "puma.inverse_dynamics(q, qd, qdd, h)")
def torques(found):
    close(found, Arm(puma).torques(q, qd, qdd, h))


@row("7.106", "torques, in symbols", BASE_AXES)
def torques_in_symbols(found):
    numbers, _ = steps(found, elbow, h)
    close([numbers[f"tau{i}"] for i in (1, 2, 3)], ELBOW.torques(q[:3], qd[:3], qdd[:3], h))


@row("7.107", "angular velocity, link axes", "elbow.equations().steps()")
def angular_velocities(found):
    numbers, each = steps(found, elbow)
    for i, R, _, motion in each:
        close(numbers[f"w{i}"], R.T @ motion["w"])


@row("7.108", "angular acceleration, link axes", "elbow.equations().steps()")
def angular_accelerations(found):
    numbers, each = steps(found, elbow)
    for i, R, _, motion in each:
        close(numbers[f"wd{i}"], R.T @ motion["dw"])


@row("7.109", "linear acceleration, link axes", "scara.equations().steps()")
def linear_accelerations(found):
    numbers, each = steps(found, scara)
    for i, R, _, motion in each:
        close(numbers[f"pdd{i}"], R.T @ (motion["pdd"] - SCARA.g0))


@row("7.110", "acceleration of the centre of mass, link axes", "elbow.equations().steps()")
def centre_accelerations(found):
    numbers, each = steps(found, elbow)
    for i, R, _, motion in each[1:]:  # the shoulder has no mass
        close(numbers[f"pddC{i}"], R.T @ (motion["pddC"] - ELBOW.g0))


@row("7.111", "angular acceleration of a rotor, carrier's axes", "elbow.equations().steps()")
def rotor_accelerations(found):
    numbers, each = steps(found, elbow)
    for i, _, before, motion in each:
        close(numbers[f"wdm{i}"], before.T @ motion["dw_m"])


@row("7.112", "forces, link axes", "scara.equations(wrench=True).steps()")
def forces_in_link_axes(found):
    numbers, each = steps(found, scara, h)
    for i, R, _, expected in each:
        close(numbers[f"f{i}"], R.T @ expected["f"])


@row("7.113", "moments, link axes", "elbow.equations(wrench=True).steps()")
def moments_in_link_axes(found):
    numbers, each = steps(found, elbow, h)
    for i, R, _, expected in each:
        close(numbers[f"mu{i}"], R.T @ expected["mu"])


@row("7.114", "torques", "elbow.equations(wrench=True).steps()")
def torques_in_link_axes(found):
    numbers, _ = steps(found, elbow, h)
    close([numbers[f"tau{i}"] for i in (1, 2, 3)], ELBOW.torques(q[:3], qd[:3], qdd[:3], h))


@row("7.5.2", "the same on a moving base", "planar.equations(wrench=True).steps(base=True)")
def on_a_moving_base(found):
    base = np.array([[0.3, -0.2, 0.5], [1.0, 0.4, -0.7], [2.0, 1.0, -3.0]])  # ω_0, ω̇_0, p̈_0
    state = q[:2], qd[:2], qdd[:2]
    values = values_of(PLANAR, *state) | dict(zip(TIP, h, strict=True))
    for letter, vector in zip(("w0", "wd0", "pdd0"), base, strict=True):
        values |= dict(zip((f"{letter}x", f"{letter}y", f"{letter}z"), vector, strict=True))
    numbers = written(found, values)
    close([numbers["tau1"], numbers["tau2"]], PLANAR.torques(*state, h, base=base))


BOOK.section("7.5.3 Example")
AT = "g*s12 - (lCx2 + a2)*(qd1 + qd2)**2 + a1*s2*qdd1 - a1*c2*qd1**2"
ACROSS = "g*c12 + (lCx2 + a2)*(qdd1 + qdd2) + a1*c2*qdd1 + a1*s2*qd1**2"
TURN = "(Ibzz2 + m2*(lCx2 + a2)**2)*(qdd1 + qdd2) + m2*(lCx2 + a2)*(a1*(c2*qdd1 + s2*qd1**2) + g*c12)"
PRINTED = {
    "w1": "[0, 0, qd1]",
    "wd1": "[0, 0, qdd1]",
    "pdd1": "[g*s1 - a1*qd1**2, g*c1 + a1*qdd1, 0]",
    "pddC1": "[g*s1 - (lCx1 + a1)*qd1**2, g*c1 + (lCx1 + a1)*qdd1, 0]",
    "wdm1": "[0, 0, kr1*qdd1]",
    "w2": "[0, 0, qd1 + qd2]",
    "wd2": "[0, 0, qdd1 + qdd2]",
    "pdd2": "[a1*s2*qdd1 - a1*c2*qd1**2 - a2*(qd1 + qd2)**2 + g*s12,"
    " a1*c2*qdd1 + a2*(qdd1 + qdd2) + a1*s2*qd1**2 + g*c12, 0]",
    "pddC2": f"[{AT}, {ACROSS}, 0]",
    "wdm2": "[0, 0, qdd1 + kr2*qdd2]",
    "f2": f"[m2*({AT}), m2*({ACROSS}), 0]",
    "mu2": f"[0, 0, {TURN}]",
    "tau2": f"{TURN} + kr2*Im2*qdd1 + kr2**2*Im2*qdd2",
    "f1": "[-m2*(lCx2 + a2)*s2*(qdd1 + qdd2) - m1*(lCx1 + a1)*qd1**2 - m2*a1*qd1**2"
    " - m2*(lCx2 + a2)*c2*(qd1 + qd2)**2 + (m1 + m2)*g*s1,"
    " m1*(lCx1 + a1)*qdd1 + m2*a1*qdd1 + m2*(lCx2 + a2)*c2*(qdd1 + qdd2)"
    " - m2*(lCx2 + a2)*s2*(qd1 + qd2)**2 + (m1 + m2)*g*c1, 0]",
}


@row("7.5.3", "every step of the planar arm", "eq.steps()")
def every_step(found):
    values = {**values_of(PLANAR, q[:2], qd[:2], qdd[:2]), "kr1": 100, "kr2": 100}
    numbers = written(found, values)
    for name, formula in PRINTED.items():
        close(numbers[name], eval(formula, {}, values))
    close([numbers["tau1"], numbers["tau2"]], PLANAR.torques(q[:2], qd[:2], qdd[:2]))
