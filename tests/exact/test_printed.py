"""How equations read: one kind of number, quotients, collected terms, lines that are not too long."""

import re

import pytest

from armdyn import Robot
from armdyn.exact.printing.mathml import inline

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
