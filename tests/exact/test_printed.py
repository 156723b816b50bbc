"""How equations read: one kind of number, quotients, collected terms, lines that are not too long."""

import re

import pytest

from armdyn import ArmdynError, Robot, box, cylinder
from armdyn.exact.printing.mathml import inline
from golden_messages import golden_error

NARROW = 110


def arm(mass, length, gravity: object = "g") -> Robot:
    link = {"joint": "revolute", "alpha": 0, "d": 0, "theta": 0, "a": length, "mass": mass, "com": [0, 0, 0]}
    table = {"name": "arm", "convention": "dh", "gravity": [0, gravity, 0], "symbols": {"g": 9.81, "m": 2}}
    return Robot.from_dict(table | {"link": [link | {"name": "one"}, link | {"name": "two"}]})


@pytest.mark.parametrize(("mass", "length"), [("3/4", "1/2"), ("1/3", 0.3), (50, "2/7"), ("m/2", 1)])
def test_short_numbers_are_fractions(mass, length):
    equations = arm(mass, length).equations()
    assert "/" in equations.text()
    assert not re.search(r"\d\.\d", equations.text() + equations.latex())


@pytest.mark.parametrize(("mass", "length"), [(0.35, "1/2"), ("1/3", 0.4318), (2.3, 0.5), ("m/2", 0.1)])
def test_one_long_number_makes_all_of_them_decimals(mass, length):
    equations = arm(mass, length).equations()
    assert re.search(r"\d\.\d", equations.text())
    assert "/" not in equations.text()
    assert "frac" not in equations.latex()


@pytest.mark.parametrize("name", ["puma560", "ur5e", "stanford", "planar", "scara", "rmit2r"])
def test_no_bundled_robot_mixes_fractions_and_decimals(name):
    text = Robot.load(name).equations().text()
    assert not (re.search(r"\d/\d", text) and re.search(r"\d\.\d", text))


@pytest.mark.parametrize("name", ["puma560", "ur5e", "planar3", "planar", "scara", "elbow"])
def test_lines_are_not_too_long_and_say_the_same(name):
    equations = Robot.load(name).equations()
    text = equations.text()
    assert max(map(len, text.splitlines())) <= NARROW
    whole = re.sub(r"\n +", " ", text)
    assert f"b[1,2] = b[2,1] = {equations.B[0, 1]}\n" in whole
    assert f"g[2] = {equations.g[1]}\n" in whole


def test_an_entry_is_one_line_that_python_reads():
    equations = Robot.load("scara").equations()
    values = dict.fromkeys(re.findall(r"[A-Za-z]\w*", str(equations.B[0, 0])), 2.0)
    assert eval(str(equations.B[0, 0]), {}, values) == equations.B[0, 0].value(values)


def test_gears_below_are_quotients():
    motor = Robot.load("planar").equations().motor_torques()[1]
    assert "(Il2 + ml2*l2**2)*(qdd1 + qdd2)/kr2" in str(motor)
    assert "**-" not in str(motor)
    assert r"\frac{m_{\ell_{2}} \ell_{2}}{k_{r2}} g c_{12}" in motor.latex()
    assert "<mfrac><mrow>" in inline(motor)
    assert motor == str(motor)


def test_several_gears_stand_below_in_brackets():
    changed = Robot.load("planar").equations().in_motor_coordinates()
    assert str(changed.B[0, 1]) == "Il2/(kr1*kr2) + ml2*(l2**2 + a1*l2*c2)/(kr1*kr2) + Im2/kr1"
    assert changed.B[0, 1] == str(changed.B[0, 1])


def test_velocity_terms_are_collected_by_angle():
    scara = Robot.load("scara").equations()
    term = "- 2*a1*(ml2*l2 + ml3*a2 + mm3*a2 + ml4*a2 + mm4*a2)*s2*qd1*qd2"
    assert term in re.sub(r"\n +", " ", scara.text())


def test_numbers_are_collected_by_angle():
    """6.05 a_3² and the like are no masses to collect by."""
    assert "a2*(12.1*a3 - 0.19488)*c3" in str(Robot.load("puma560").equations().B[1, 1])


# ---- the objects of a derivation -------------------------------------------------------------------------


def derivation(equations):
    """Every array and formula on the way to the equations of a two-link arm."""
    first = equations.augmented_link("link 1")
    J, motor = equations.jacobian("link 2", at="com"), equations.jacobian(motor="link 2")
    yield from (J, J.position_part, J.orientation_part, motor, motor.orientation_part)
    yield from (equations.pose("link 1"), equations.rotation(), equations.position("link 2", at=["a1", 0, 0]))
    yield from (equations.velocity(), equations.angular_velocity("link 2", frame="link"))
    yield from (
        equations.jacobian_dot(),
        equations.analytical_jacobian(),
        equations.analytical_jacobian().T_A,
    )
    yield from (equations.c, equations.centrifugal_torques, equations.coriolis_torques, equations.tip_torques)
    yield from (equations.C, equations.christoffel, equations.christoffel[1], equations.h, equations.Gamma)
    yield from (equations.speed_products, equations.N, equations.B_dot, equations.beta_T, equations.beta_U)
    yield from (first.parameters, first.tensor, first.tensor_at_com, first.moment, first.com)


def test_every_object_of_a_derivation_is_written_and_goes_to_sympy():
    equations = Robot.load("planar").equations(wrench=True)
    without = {"Pose", "Rotation", "Position", "Time", "Centre"}  # the chapter has no number for them
    for found in derivation(equations):
        assert str(found)
        assert found.called
        assert found.equation.startswith("(7.") or found.called.split()[0] in without, found.called
        assert found.equation in found.markdown()
        assert r"\begin{bmatrix}" in found.latex()
        assert "<math" in found.mathml()
        assert found.sympy()
    for energy in (equations.energy("link 2"), equations.energy(motor="link 2")):
        assert energy.equation in energy.text()
        T, U = energy.sympy()
        assert energy.kinetic == T
        assert energy.potential == U
        assert energy.kinetic.latex() in energy.kinetic.markdown()
        assert repr(energy) == f"<{energy.title}>"
        assert energy._repr_html_() == energy.mathml()


def test_sums_below_a_line_are_quotients_in_every_style():
    link = Robot.load("planar").equations().augmented_link("link 1")
    assert str(link.com[0]) == "ml1*(l1 - a1)/(ml1 + mm2)"
    assert link.com[0].latex().startswith(r"\frac{m_{\ell_{1}}}{m_{\ell_{1}} + m_{m_{2}}}")
    thin = box("m", [1, 1, "1/(a + b)"])
    assert "1/12*m*(1 + 1/(a + b)**2)" in thin.text()
    assert r"\frac{1}{\left(a + b\right)^{2}}" in thin.latex()
    assert "<mfrac><mrow><mn>1</mn></mrow><mrow><msup>" in thin.mathml()


def test_bodies_have_masses_before_lengths_and_fractions_beside_fractions():
    tube = cylinder("m", "r", "h")
    assert "[0, 0, 1/2*m*r**2]" in tube.text()
    assert str(tube.matrix) == (
        "((1/12*h**2*m + 1/4*m*r**2, 0, 0), (0, 1/12*h**2*m + 1/4*m*r**2, 0), (0, 0, 0.5*m*r**2))"
    )


def test_an_augmented_link_is_written_in_other_letters_than_the_description():
    """The elbow arm has symbols m2, I2xx: what is of the augmented link is in brackets, as in `steps()`."""
    upper = Robot.load("elbow").equations().augmented_link("upper arm")
    assert "[m2] = m2\n[mx2] = m2*(lc2 - a2)\n[Ixx2] = I2xx\n" in upper.text()
    assert "Syy = m2*(a2**2 + lc2**2 - 2*a2*lc2)\n" in upper.text()
    assert r"\hat I_{2xx} &= I_{2xx}" in upper.latex()


def test_a_tip_force_is_written_with_who_exerts_it_on_whom():
    pushed = Robot.load("pendulum").equations(wrench=True)
    assert "the tip exerts on its surroundings, in world axes.\nt[1] = muz" in pushed.text()
    assert "the surroundings exert on the tip, in world axes.\nt[1] = -Nz" in pushed.text("asada")
    assert "the tip exerts on its surroundings" in pushed.in_motor_coordinates().markdown()
    free = pushed.substitute(dict.fromkeys(("fx", "fy", "fz", "mux", "muy", "muz"), 0))
    assert free.text().endswith("Torques of the tip force\n------------------------\nNone.\n")


def test_angles_and_names_that_begin_as_greek_letters_do():
    T_A = Robot.load("planar").equations().analytical_jacobian("rpy").T_A
    assert r"\cos(\mathrm{pitch}) \cos(\mathrm{yaw})" in T_A.latex()
    assert "<mi>pitch</mi>" in T_A.mathml()
    bodies = (box(name, [1, 1, 1]).latex() for name in ("pin", "pi_1", "tau_m"))
    for text, spelled in zip(bodies, ("p_{in}", r"\pi_{1}", r"\tau_{m}"), strict=True):
        assert rf"\text{{mass}} &= {spelled}" in text


def test_sympy_equations_have_the_methods_of_the_equations():
    equations = Robot.load("planar").equations()
    handed = equations.sympy()
    assert handed.jacobian("link 2", at="com") == equations.jacobian("link 2", at="com").sympy()
    assert handed.energy(motor="link 2") == equations.energy(motor="link 2").sympy()
    augmented = equations.augmented_link("link 1")
    found = handed.augmented_link("link 1")
    assert found["mass"] == augmented.mass.sympy()
    assert all(found[name] == getattr(augmented, name).sympy() for name in ("parameters", "tensor_at_com"))
    assert handed.christoffel == equations.christoffel.sympy()


def test_parameters_and_energy_regressors_by_name():
    equations = Robot.load("planar").equations()
    assert equations.beta_T["Izz2"] == "(qd1 + qd2)**2/2"
    assert equations.beta_U["mx1"] == "g*s1"
    assert equations.augmented_link("link 1").parameters["m1"] == "ml1 + mm2"
    assert "Izz2: 1/2*(qd1 + qd2)**2" in str(equations.beta_T).splitlines()
    with golden_error(ArmdynError):
        equations.beta_T["Izz3"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda robot, equations: robot.jacobian([0, 0], "link 3", "com"),
        lambda robot, equations: robot.jacobian([0, 0], at="com"),
        lambda robot, equations: robot.jacobian([0, 0], "link 1", "middle"),
        lambda robot, equations: robot.jacobian([0, 0], "link 1", [1, 2]),
        lambda robot, equations: robot.jacobian([0, 0], "link 1", ["u", 0, 0]),
        lambda robot, equations: robot.com_position([0, 0], "base"),
        lambda robot, equations: robot.rotor_jacobian([0, 0], "link 3"),
        lambda robot, equations: robot.with_rotors("none").rotor_jacobian([0, 0], "link 1"),
        lambda robot, equations: equations.velocity("link 3"),
        lambda robot, equations: equations.position("link 1", at="tip"),
        lambda robot, equations: equations.jacobian(motor="elbow"),
        lambda robot, equations: equations.jacobian("link 1", motor="link 1"),
        lambda robot, equations: equations.energy("link 3"),
        lambda robot, equations: equations.energy(),
        lambda robot, equations: equations.energy("link 1", motor="link 1"),
        lambda robot, equations: equations.kinetic_energy.derivative("q3"),
        lambda robot, equations: equations.kinetic_energy.derivative("a1"),
        lambda robot, equations: equations.velocity("link 1", at=["c1", 0, 0]),
        lambda robot, equations: robot.equations(wrench=[1, 0, 0, 0, 0, 0]),
    ],
)
def test_what_there_is_not_is_named(ask):
    robot = Robot.load("planar")
    with golden_error(ArmdynError):
        ask(robot, robot.equations())


def test_indices_count_from_zero():
    with golden_error(IndexError):
        _ = Robot.load("planar").equations().B[1, 2]
