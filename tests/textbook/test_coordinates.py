"""Other generalized coordinates and other parameters.

Siciliano, Sciavicco, Villani, Oriolo, "Robotics: Modelling, Planning and Control", problem 7.6; Asada and
Slotine, "Robot Analysis and Control", example 5-3 and section 5.2.4; De Luca, "Robotics 2", the pendulum.
"""

import re

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.exact.coordinates import CombinationError, CoordinateError
from golden_messages import golden_error

STATES = [np.random.default_rng(seed).uniform(-1.4, 1.4, 4) for seed in range(5)]


def link(i, **further):
    return {
        "name": f"link {i}",
        "joint": "revolute",
        "a": f"l{i}",
        "alpha": 0,
        "d": 0,
        "mass": f"m{i}",
        "com": [f"lc{i} - l{i}", 0, 0],
        "inertia": {"zz": f"I{i}"},
        **further,
    }


def planar(links, **symbols):
    names = dict.fromkeys(["g", *(f"{x}{i}" for i in (1, 2) for x in ("l", "lc", "m", "I"))], "free")
    return Robot.from_dict(
        {
            "name": "two d.o.f. planar manipulator",
            "convention": "dh",
            "gravity": [0, "-g", 0],
            "symbols": {**names, **symbols},
            "link": links,
        }
    )


# ---- absolute angles ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def absolute():
    """p1 = ϑ1, p2 = ϑ1 + ϑ2 for the arm of section 7.3.2: its c1, s1, qd1 … are those of p."""
    return Robot.load("planar").equations().in_coordinates([[1, 0], [1, 1]])


def test_inertia_matrix_in_absolute_angles_is_the_one_derived_by_hand(absolute):
    """Problem 7.6.

    With the angles to the base, 2T = (Il1 + ml1 ℓ1² + mm2 a1²) ṗ1² + Il2 ṗ2² + ml2 |a1 ṗ1 u1 + ℓ2 ṗ2 u2|²
    + Im1 (kr1 ṗ1)² + Im2 (ṗ1 + kr2 (ṗ2 − ṗ1))², where u1 · u2 = cos(p1 − p2).
    """
    b11 = "Il1 + ml1*l1**2 + mm2*a1**2 + ml2*a1**2 + kr1**2*Im1 + (1 - kr2)**2*Im2"
    b12 = "ml2*a1*l2*(c1*c2 + s1*s2) + kr2*(1 - kr2)*Im2"
    expected = [[b11, b12], [b12, "Il2 + ml2*l2**2 + kr2**2*Im2"]]
    assert list(absolute.B) == expected


def test_coriolis_matrix_in_absolute_angles_has_no_coriolis_term(absolute):
    """Problem 7.6: from T only ∓ml2 a1 ℓ2 sin(p1 − p2) ṗ² remain, so no product ṗ1 ṗ2 in C ṗ."""
    k = "ml2*a1*l2*(s1*c2 - c1*s2)"
    expected = [[0, f"{k}*qd2"], [f"-{k}*qd1", 0]]
    assert list(absolute.C) == expected
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        other = f"qd{2 - j}"
        assert other not in str(absolute.C[i, j]), f"times qd{j + 1} that is a product of speeds"


def test_gravity_in_absolute_angles_is_decoupled(absolute):
    """Problem 7.6: U = (ml1 ℓ1 + mm2 a1 + ml2 a1) g sin p1 + ml2 ℓ2 g sin p2."""
    assert absolute.g == ["(ml1*l1 + mm2*a1 + ml2*a1)*g*c1", "ml2*l2*g*c2"]


def test_absolute_angles_need_no_denominator(absolute):
    assert absolute.determinant == 1
    assert absolute.angles == ("p1", "p2")


def test_absolute_angles_and_joint_angles_give_the_same_torques(absolute):
    """τ = Jᵀ Q_p with Q_p = B_p p̈ + C_p ṗ + g_p."""
    robot = Robot.load("planar")
    J = np.array([[1, 0], [1, 1]])
    for q1, q2, qd1, qd2 in STATES:
        q, qd, qdd = np.array([q1, q2]), np.array([qd1, qd2]), np.array([0.7, -0.4])
        values = robot_values(robot, J @ q, J @ qd)
        B, C, g = (number(x, values) for x in (absolute.B, absolute.C, absolute.g))
        forces = B @ (J @ qdd) + C @ (J @ qd) + g
        np.testing.assert_allclose(J.T @ forces, robot.inverse_dynamics(q, qd, qdd), rtol=1e-12)


def robot_values(robot, q, qd):
    """The numbers of all generators: symbols, their inverses, cosines, sines and speeds."""
    values = {**robot.model.values, **{f"1/{name}": 1 / x for name, x in robot.model.values.items() if x}}
    for i, (x, v) in enumerate(zip(q, qd, strict=True), start=1):
        values |= {f"c{i}": np.cos(x), f"s{i}": np.sin(x), f"qd{i}": v, f"qdd{i}": 0.0, f"sgn{i}": np.sign(v)}
    return values


def number(array, values):
    rows = [row if isinstance(row, list) else [row] for row in array]
    return np.array([[evaluate(x, values) for x in row] for row in rows]).squeeze()


def evaluate(entry, values):
    names = entry.poly.ring.names
    return sum(
        float(c) * np.prod([values[name] ** int(e) for name, e in zip(names, exponents, strict=True) if e])
        for exponents, c in entry.poly.terms().items()
    )


def test_absolute_angles_and_back_are_the_joint_angles(absolute):
    """J⁻¹ = [[1, 0], [−1, 1]] undoes the change."""
    joint = Robot.load("planar").equations()
    same = joint.in_coordinates([[1, 0], [0, 1]])
    assert all(str(same.B[i, j]) == str(joint.B[i, j]) for i in range(2) for j in range(2))
    assert [str(x) for x in same.g] == [str(x) for x in joint.g]


# ---- motor angles ------------------------------------------------------------------------------------------


def test_pendulum_at_its_motor_is_the_link_side_model_divided_by_the_gear():
    """De Luca's second model: I/n_r² θ̈_m + (m/n_r) g d sin(θ_m/n_r)
    = τ_m − (b_l/n_r² + b_m) θ̇_m + (l/n_r) cos(θ_m/n_r) F_x, with I = Il + m l² + Im kr²; the tip exerts −F_x.
    """
    motor = Robot.load("pendulum").equations(wrench=True).in_motor_coordinates()
    assert motor.B == [["(Il + m*l**2)/kr**2 + Im"]]
    assert motor.C == [[0]]
    assert motor.g == ["m*l*g*s1/kr"]  # s1 is the sine of the angle below
    assert motor.friction == ["(F/kr**2 + Fm)*qd1"]  # of the motor: qd1 is θ̇_m
    assert motor.tip_torques == ["(L*c1*fy - L*s1*fx + muz)/kr"]  # x0 is down: fy is −F_x
    assert motor.angles == ("(kr**-1)*p1",)


def test_torque_of_the_pendulums_motor_carries_its_friction_unreduced():
    """De Luca: the motor feels (b_l/n_r² + b_m) θ̇_m: at speed θ̇ = θ̇_m/n_r that is F/kr + Fm kr."""
    (torque,) = Robot.load("pendulum").equations().motor_torques()
    assert torque == "(Il + m*l**2)/kr*qdd1 + Im*kr*qdd1 + (F/kr + Fm*kr)*qd1 + m*l*g*s1/kr"


def test_planar_arm_at_its_motors_has_the_rotors_unreduced():
    """K⁻ᵀ B K⁻¹ of (7.82): on the diagonal Im_i stand as they are."""
    motor = Robot.load("planar").equations().in_motor_coordinates()
    b11 = "Il1 + ml1*l1**2 + Il2 + ml2*(a1**2 + l2**2 + 2*a1*l2*c2) + Im2 + mm2*a1**2"
    b12 = "(Il2 + ml2*(l2**2 + a1*l2*c2))/(kr1*kr2) + Im2/kr1"
    expected = [[f"({b11})/kr1**2 + Im1", b12], [b12, "(Il2 + ml2*l2**2)/kr2**2 + Im2"]]
    assert list(motor.B) == expected


@pytest.fixture(scope="module")
def remote():
    """Example 5-3: actuator 2 on the base drives joint 2 by a chain, so it turns by θ1 + θ2."""
    at_joint = {"gear": 1, "inertia": "J1"}
    on_base = {"gear": 1, "inertia": "J2", "carrier": "base", "axis": [0, 0, 1], "coupling": {"link 1": 1}}
    return planar([link(1, motor=at_joint), link(2, motor=on_base)], J1="free", J2="free").equations()


def test_remote_actuators_give_the_difference_and_the_second_torque(remote):
    """(5-48) the other way round: τ1* = Q1 − Q2, τ2* = Q2."""
    Q1, Q2 = (str(x) for x in remote.tau)
    assert remote.motor_torques() == [f"({Q1}) - ({Q2})", Q2]


def test_remote_drive_in_motor_coordinates_is_the_arm_in_absolute_angles(remote):
    """Example 5-3: the actuators turn by θ1 and θ1 + θ2, so link 2 turns with its own actuator alone."""
    motor = remote.in_motor_coordinates()
    b12 = "m2*l1*lc2*(c1*c2 + s1*s2)"
    expected = [["m1*lc1**2 + I1 + m2*l1**2 + J1", b12], [b12, "m2*lc2**2 + I2 + J2"]]
    assert list(motor.B) == expected
    assert motor.g == ["(m1*lc1 + m2*l1)*g*c1", "m2*lc2*g*c2"]


def same_in_coordinates(robot, found, J, state):
    """B, C and g in p = J q against those of the robot, at a state of its joints."""
    q, qd = state
    J = np.array([[robot.model.number(x) for x in row] for row in J])
    inverse = np.linalg.inv(J)
    values = robot_values(robot, q, J @ qd)
    values |= {f"q{i + 1}": x for i, x in enumerate(q)}
    assert found.determinant == 1
    same(number(found.B, values), inverse.T @ robot.inertia(q) @ inverse)
    same(number(found.C, values), inverse.T @ robot.coriolis(q, qd) @ inverse)
    same(number(found.g, values), inverse.T @ robot.gravity(q))


def test_angles_that_are_no_whole_sums_of_the_coordinates_stay_those_of_the_joints():
    """p1 = ϑ1 + ϑ2, p2 = ϑ1 − ϑ2, as the sides of a differential turn: ϑ1 is half their sum."""
    robot, J = Robot.load("planar"), [[1, 1], [1, -1]]
    found = robot.equations().in_coordinates(J)
    assert found.kept
    assert found.angles == ("(0.5)*p1 + (0.5)*p2", "(0.5)*p1 + (-0.5)*p2")
    for state in STATES:
        same_in_coordinates(robot, found, J, (state[:2], state[2:]))


def test_a_coordinate_may_be_a_sum_of_a_slide_and_a_turn():
    """As the nuts of a ball screw with a spline turn."""
    robot, J = Robot.load("pr"), [[20, 1], [0, 1]]
    found = robot.equations().in_coordinates(J)
    for state in STATES:
        same_in_coordinates(robot, found, J, (state[:2], state[2:]))


def test_a_slide_and_a_turn_behind_gears_are_evaluated_at_their_joints():
    """The turn is no whole number of its motor's, so that every position in the entries is a joint's."""
    robot = Robot.load("rp").with_motors(
        {"arm": {"gear": 30, "inertia": 0.002}, "slider": {"gear": 80, "inertia": 0.001}}
    )
    found = robot.equations().in_motor_coordinates()
    for state in STATES:
        same_in_coordinates(robot, found, found.J, (state[:2], state[2:]))


def wrist():
    """Pitch and roll behind a turning forearm; the motors turn by k(q2 + q3) and k(q2 − q3)."""

    def part(name, axis, i, gear, other):
        motor = {"gear": gear, "inertia": "Im", "carrier": "forearm", "axis": [0, 1, 0]}
        inertia = {"xx": 0.03 * i, "yy": 0.04 + 0.01 * i, "zz": 0.06, "xy": 0.001}
        body = {"mass": i, "com": [0.1, 0.02 * i, 0.01], "inertia": inertia}
        place = {"joint": "revolute", "origin": {"xyz": [0.1, 0, 0]}, "axis": axis}
        return {"name": name, **place, **body, "motor": motor | {"coupling": {other: "k"}}}

    forearm = {"name": "forearm", "joint": "revolute", "origin": {"xyz": [0, 0, 0]}, "axis": [0, 0, 1]}
    forearm |= {"mass": 2, "inertia": {"zz": 0.1}, "motor": {"gear": 50, "inertia": 1e-4}}
    return Robot.from_dict(
        {
            "name": "differential wrist",
            "convention": "frames",
            "gravity": [0, 0, "-g"],
            "symbols": {"g": 9.81, "k": 30, "Im": 2e-4},
            "link": [
                forearm,
                part("pitch", [0, 1, 0], 1, "k", "roll"),
                part("roll", [1, 0, 0], 2, "-k", "pitch"),
            ],
        }
    )


def test_differential_wrist_in_motor_coordinates_is_the_one_in_joints_by_its_transmission():
    """B_m = K⁻ᵀ B K⁻¹ and so on, and τ_m = K⁻ᵀ τ, with K of the numeric route."""
    robot = wrist()
    K = robot.drives.transmission
    assert K.tolist() == [[50, 0, 0], [0, 30, 30], [0, 30, -30]]
    found = robot.equations().in_motor_coordinates()
    torques = robot.equations().motor_torques()
    rng = np.random.default_rng(3)
    for _ in range(3):
        q, qd, qdd = rng.normal(size=(3, 3))
        same_in_coordinates(robot, found, K, (q, qd))
        values = robot_values(robot, q, qd) | {f"qdd{i + 1}": x for i, x in enumerate(qdd)}
        expected = robot.drives.to_motors @ robot.inverse_dynamics(q, qd, qdd)
        same(number(torques, values), expected)


def test_motor_coordinates_are_written_with_what_they_are():
    text = wrist().equations().in_motor_coordinates().text()
    assert text.startswith("differential wrist in motor coordinates\n")
    assert "p2 = k*q2 + k*q3\np3 = k*q2 - k*q3\n" in text
    assert "q2 = 0.5*p2/k + 0.5*p3/k\n" in text
    assert "pdd3" in text
    assert "qd" not in text


def test_the_remote_drive_is_written_as_the_book_has_it(remote):
    """Example 5-3: absolute angles, so cos(p2 − p1) and no product of speeds."""
    motor = remote.in_motor_coordinates()
    row = "tau[1] = (I1 + m1*lc1**2 + J1 + m2*l1**2)*pdd1 + m2*l1*lc2*cos(p2 - p1)*pdd2"
    text = re.sub(r"\n +", " ", motor.text())
    assert f"{row} - m2*l1*lc2*sin(p2 - p1)*pd2**2 + (m1*lc1 + m2*l1)*g*c1\n" in text
    assert r"\cos(p_{2} - p_{1}) \ddot{p}_{2}" in motor.latex()
    assert "$$" in motor.markdown()
    assert "<mi>cos</mi>" in motor.mathml()
    assert repr(motor) == "<two d.o.f. planar manipulator in motor coordinates>"


def test_gears_on_joints_that_follow_are_motor_coordinates_too():
    """A differential by its gears: their motors count, wherever the relations have them."""
    table = gears()
    robot = Robot.from_dict(table)
    assert robot.coordinates == ("pitch", "roll")
    found = robot.equations().in_motor_coordinates()
    assert [[str(x) for x in row] for row in found.J] == [["k", "k"], ["k", "-k"]]
    q, qd = STATES[0][:2], STATES[0][2:]
    same_in_coordinates(robot, found, found.J, (q, qd))
    table["link"][0]["motor"] = {"gear": 2, "inertia": 1}
    with golden_error(CoordinateError):
        Robot.from_dict(table).equations().in_motor_coordinates()


def gears():
    """Pitch and roll with two side gears, each with a motor."""

    def turning(name, parent, axis, **further):
        place = {"name": name, "parent": parent, "joint": "revolute", "origin": {"xyz": [0, 0, 0]}}
        body = {"mass": 1, "com": [0.1, 0, 0.01], "inertia": {"xx": 0.01, "yy": 0.02, "zz": 0.03}}
        return place | {"axis": axis} | body | further

    driven = {"motor": {"gear": "k", "inertia": 1e-4}, "com": [0, 0, 0]}
    return {
        "name": "differential",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "symbols": {"k": 20},
        "link": [
            turning("pitch", "base", [0, 1, 0]),
            turning("roll", "pitch", [1, 0, 0]),
            turning("left", "base", [0, 1, 0], **driven),
            turning("right", "base", [0, 1, 0], **driven),
        ],
        "closure": [
            {"relation": {"left": 1, "pitch": -1, "roll": -1}},
            {"relation": {"right": 1, "pitch": -1, "roll": 1}},
        ],
    }


def test_motor_coordinates_need_a_motor_on_every_joint():
    half = planar([link(1, motor={"gear": 2, "inertia": 1}), link(2)]).equations()
    with golden_error(CoordinateError):
        half.in_motor_coordinates()
    with golden_error(CoordinateError):
        half.motor_torques()


# ---- coordinates of the tip --------------------------------------------------------------------------------

TIP = [["-a1*s1 - a2*s12", "-a2*s12"], ["a1*c1 + a2*c12", "a2*c12"]]


@pytest.fixture(scope="module")
def cartesian():
    return Robot.load("planar").equations().in_coordinates(TIP)


def test_determinant_of_the_tip_coordinates_is_that_of_the_jacobian(cartesian):
    """Section 5.2.4: the coordinates are good where det J = a1 a2 sin θ2 is not zero."""
    assert cartesian.determinant == "a1*a2*s2"
    assert cartesian.angles == ("q1", "q2")


@pytest.mark.parametrize("state", STATES)
def test_terms_in_tip_coordinates_are_the_transformed_ones(cartesian, state):
    """Section 5.2.4: B_p = J⁻ᵀ B J⁻¹, C_p = J⁻ᵀ (C J⁻¹ + B d/dt J⁻¹), g_p = J⁻ᵀ g, over powers of det J."""
    robot = Robot.load("planar")
    q, qd = state[:2], state[2:]
    values = robot_values(robot, q, qd)
    J, J_dot = robot.jacobian(q)[:2], robot.jacobian_dot(q, qd)[:2]
    inverse = np.linalg.inv(J)
    inverse_dot = -inverse @ J_dot @ inverse
    det = np.linalg.det(J)
    B, C = robot.inertia(q), robot.coriolis(q, qd)
    assert np.isclose(evaluate(cartesian.determinant, values), det)
    same(number(cartesian.B, values) / det**2, inverse.T @ B @ inverse)
    same(number(cartesian.C, values) / det**3, inverse.T @ (C @ inverse + B @ inverse_dot))
    same(number(cartesian.g, values) / det, inverse.T @ robot.gravity(q))


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


@pytest.mark.parametrize("state", STATES[:2])
def test_forces_at_the_tip_do_the_work_of_the_joints(cartesian, state):
    """(5-49): τ = Jᵀ F with F = B_p p̈ + C_p ṗ + g_p and p̈ = J q̈ + J̇ q̇."""
    robot = Robot.load("planar")
    q, qd, qdd = state[:2], state[2:], np.array([0.3, -1.1])
    values = robot_values(robot, q, qd)
    J, det = robot.jacobian(q)[:2], evaluate(cartesian.determinant, values)
    pd, pdd = J @ qd, J @ qdd + robot.jacobian_dot(q, qd)[:2] @ qd
    F = number(cartesian.B, values) / det**2 @ pdd + number(cartesian.C, values) / det**3 @ pd
    F = F + number(cartesian.g, values) / det
    same(J.T @ F, robot.inverse_dynamics(q, qd, qdd))


def test_tip_coordinates_of_an_arm_whose_jacobian_has_zeros():
    """x, y, z and the turn of a SCARA: B_p = J⁻ᵀ B J⁻¹."""
    robot = Robot.load("scara")
    columns = [["-a1*s1 - a2*s12", "-a2*s12", 0, 0], ["a1*c1 + a2*c12", "a2*c12", 0, 0]]
    found = robot.equations().in_coordinates([*columns, [0, 0, 1, 0], [1, 1, 0, 1]])
    q = np.array([0.3, -0.8, 0.1, 0.5])
    values = robot_values(robot, q, np.zeros(4)) | {f"q{i + 1}": x for i, x in enumerate(q)}
    J = robot.jacobian(q)[[0, 1, 2, 5]]
    J[2:] = [[0, 0, 1, 0], [1, 1, 0, 1]]
    inverse, det = np.linalg.inv(J), np.linalg.det(J)
    assert np.isclose(evaluate(found.determinant, values), det)
    same(number(found.B, values) / det**2, inverse.T @ robot.inertia(q) @ inverse)


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "J",
    [
        [[1, 0]],
        [[1, 0, 0], [0, 1, 0]],
        [[1, 2], [2, 4]],
        [["c1", "c1"], ["s1", "s1"]],
    ],
)
def test_coordinates_that_do_not_fit_are_refused(J):
    with golden_error(CoordinateError):
        Robot.load("planar").equations().in_coordinates(J)


def test_unknown_name_in_the_coordinates_is_refused_with_the_known_ones():
    with golden_error(ArmdynError):
        Robot.load("planar").equations().in_coordinates([[1, "x"], [0, 1]])


@pytest.mark.parametrize(
    "combinations",
    [
        {"a1": "ml1*l1"},
        {"two words": "ml1"},
        {"x": "a1"},
        {"x": "ml1**2"},
        {"x": "3"},
        {"x": "Il1", "y": "2*Il1"},
    ],
)
def test_combinations_that_cannot_be_solved_are_refused(combinations):
    with golden_error(CombinationError):
        Robot.load("planar").equations().in_terms_of(combinations)


def test_unknown_symbol_in_a_combination_is_refused_with_the_known_ones():
    with golden_error(ArmdynError):
        Robot.load("planar").equations().in_terms_of({"x": "nope*2"})


def test_equations_in_combinations_keep_their_value():
    """A combination has the value of what it stands for, so numbers stay the same."""
    equations = Robot.load("planar").equations()
    combined = equations.in_terms_of({"h2": "ml2*l2", "J2": "Il2 + ml2*l2**2"})
    assert combined.g[1] == "h2*g*c12"
    assert combined.B[1, 1] == "J2 + kr2**2*Im2"
    assert combined.model.values["J2"] == 10 + 50 * 0.25
    assert combined.prove().statements
