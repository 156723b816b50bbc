"""Entries of the equations beside SymPy's expressions: compared, subtracted, replaced, differentiated."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

from armdyn import ArmdynError, Robot
from armdyn.exact import Equations
from armdyn.expression import parse
from armdyn.model.friction import FrictionCoefficients
from arms import assert_same, generators, law, models, state
from golden_messages import golden_error

PLANAR = Robot.load("planar").equations()


def symbols(names, **assumed):
    return [sympy.Symbol(name, **assumed) for name in names.split()]


@pytest.mark.parametrize("assumed", [{}, {"real": True}, {"positive": True}])
def test_an_entry_equals_a_sympy_expression_on_either_side(assumed):
    m, a, l, I, k, J, q = symbols("ml2 a1 l2 Il2 kr2 Im2 q2", **assumed)
    mine = (I + m * l**2 + k * J) * (sympy.sin(q) ** 2 + sympy.cos(q) ** 2) + m * a * l * sympy.cos(q)
    entry = PLANAR.B[0, 1]
    assert entry == mine
    assert mine == entry
    assert entry - mine == 0
    assert str(mine - entry + 2 * m) == "2*ml2"
    assert entry != mine + m
    assert mine + m != entry
    assert str(entry - (mine + m * l)) == "-ml2*l2"
    assert m * entry == sympy.expand(m * mine)
    assert hash(entry) == hash(entry + 0)


@pytest.mark.parametrize("x", [0.1, np.float64(0.1), np.float32(0.5), np.int64(3), Fraction(1, 3), 2])
def test_an_entry_times_a_number_is_the_same_on_either_side(x):
    entry = PLANAR.B[0, 1]
    exact = sympy.nsimplify(str(x))
    for product in (entry * x, x * entry, (entry + 0.0) * x):
        assert product == exact * entry.sympy()


def test_angle_sums_and_functions_of_time():
    q1, q2 = dynamicsymbols("q1 q2")
    t = dynamicsymbols._t
    m, a, l, g = symbols("ml2 a1 l2 g")
    assert PLANAR.g[1] == m * l * g * sympy.cos(q1 + q2)
    assert PLANAR.g[1] == m * l * g * (sympy.cos(q1) * sympy.cos(q2) - sympy.sin(q1) * sympy.sin(q2))
    assert PLANAR.g[1] == sympy.expand_trig(m * l * g * sympy.cos(q1 + q2) * (a**2 + a) / a) - a * PLANAR.g[1]
    assert PLANAR.C[1, 0] == m * a * l * sympy.sin(q2) * q1.diff(t)


@pytest.mark.parametrize(
    "other", ["foo", "tan(q1)", "cos(q1)*besselj(0, a1)", "sqrt(a1)", "exp(-qd1**2)", "sign(a1)"]
)
def test_what_no_equation_holds_is_unequal_and_cannot_be_subtracted(other):
    other = sympy.sympify(other, locals={name: sympy.Symbol(name) for name in ("a1", "q1", "qd1")})
    assert PLANAR.B[0, 0] != other
    assert other != PLANAR.B[0, 0]
    with golden_error(ArmdynError):
        PLANAR.B[0, 0] - other


@law(models((1, 3), motors="any"), generators(), examples=6)
def test_what_is_handed_over_equals_the_equations(model, rng):
    """Matrices as they are and multiplied out; friction of every kind, that by load included."""
    terms = {
        "viscous": "1",
        "stribeck": "3",
        "cubic": "2",
        "load": "1/9",
        "coulomb": "5/2",
        "asymmetry": "-1/2",
    }
    rubbing = FrictionCoefficients.of({name: parse(x) for name, x in terms.items()}, parse("1/7"))
    first = model.moving[0].name
    links = tuple(replace(link, friction=rubbing) if link.name == first else link for link in model.links)
    equations = Equations(replace(model, links=links))
    handed = equations.sympy()
    for own, given in ((equations.B, handed.B), (equations.C, handed.C), (equations.g, handed.g)):
        assert own == given
        assert given.applyfunc(sympy.expand_trig) == own
    assert equations.friction == handed.friction
    assert equations.tau == handed.tau
    bent = handed.B.copy()
    bent[0, 0] += sympy.Rational(1, 10**9)
    assert bent != equations.B


def test_sympy_in_symbols_of_ones_own():
    m, a, q2, qd2 = symbols("ml2 a1 q2 qd2")
    handed = PLANAR.sympy([m, a, q2, qd2])
    l2 = handed.symbols["l2"]
    assert handed.C[0, 0] == -m * a * l2 * sympy.sin(q2) * qd2
    assert handed.q[1] is q2
    assert handed.symbols["ml2"] is m
    theta = dynamicsymbols("theta")
    by_name = PLANAR.sympy({"q2": theta, "a1": 2, "l2": l2})
    assert (
        by_name.C[0, 0]
        == -2 * handed.symbols["l2"] * sympy.Symbol("ml2", real=True) * sympy.sin(theta) * by_name.qd[1]
    )
    assert PLANAR.g[1].sympy({"g": 0}) == 0
    with golden_error(ArmdynError):
        PLANAR.sympy(symbols("m7"))


def test_sums_of_angles_stay_sums():
    handed = Robot.load("planar3").equations().sympy()
    q1, q2, q3 = handed.q
    assert handed.g[2].has(sympy.cos(q1 + q2 + q3))
    assert not handed.g[2].has(sympy.sin)
    tau = (
        handed.B * sympy.Matrix(handed.qdd) + handed.C * sympy.Matrix(handed.qd) + handed.g + handed.friction
    )
    assert handed.tau == tau


# ---- replaced, differentiated, at numbers ------------------------------------------------------------------


@law(models((1, 3), rotors=("exact",)), generators(), examples=8)
def test_entries_at_a_state_are_the_numeric_functions(model, rng):
    robot, equations = Robot(model), Equations(model)
    q, qd, qdd = state(robot, rng)
    assert_same([x.value(q=q, qd=qd, qdd=qdd) for x in equations.tau], robot.inverse_dynamics(q, qd, qdd))
    slopes = [[x.diff(f"q{j + 1}").value(q=q, qd=qd, qdd=qdd) for j in range(robot.n)] for x in equations.tau]
    assert_same(np.array(slopes), robot.inverse_dynamics_derivatives(q, qd, qdd)[0])
    fixed = equations.B[0, 0].subs({f"q{i + 1}": x for i, x in enumerate(q)})
    assert_same(fixed.value(), robot.inertia(q)[0, 0])


def test_replacing_in_an_entry():
    entry = PLANAR.g[1]
    assert entry.subs(q1="pi/2 - q2") == 0
    assert entry.subs({sympy.Symbol("q1"): sympy.pi / 2, "g": 10}) == "-10*ml2*l2*s2"
    assert entry.subs(q1="q2", ml2="m/2") * 2 == "m*l2*g*cos(2*q2)"
    assert entry.subs(sympy.Symbol("q1"), "pi/2 - q2") == 0
    assert PLANAR.C[0, 0].subs(qd2=0) == 0
    assert PLANAR.C[1, 1].value() == 0
    assert entry.value(q=["90deg", "-pi/2"], g="10", ml2="1/2") == entry.value(q=[0, 0], g=10, ml2=0.5)
    slider = Robot.load("rp").equations()
    assert slider.B[0, 0].subs(q2="2*q2").diff("q2") == slider.B[0, 0].diff("q2").subs(q2="2*q2") * 2


def test_derivatives_of_an_entry():
    assert PLANAR.B[0, 0].diff("a1") == "2*ml2*(a1 + l2*c2) + 2*mm2*a1"
    assert PLANAR.C[0, 0].diff(sympy.Symbol("q2")) == "-ml2*a1*l2*c2*qd2"
    assert PLANAR.kinetic_energy.diff("qd1", 2) == PLANAR.B[0, 0]
    inverse = PLANAR.B[0, 0].subs(a1="1/k")
    assert inverse.diff("ml2") == PLANAR.B[0, 0].diff("ml2").subs(a1="1/k")


@pytest.mark.parametrize(
    "asked",
    [
        lambda x: x.subs(m9=2),
        lambda x: x.diff("theta1"),
        lambda x: x.value(q=[0, 0], m9=2),
        lambda x: x.value(),
        lambda x: x.value(q=[0]),
        lambda x: x.subs(q1="q2/2"),
        lambda x: x.subs([("q1", 2)]),
        lambda x: x.diff("q1", "q2"),
        lambda x: x.diff("q1", -1),
        lambda x: x.value(q=[0, "a"]),
        lambda x: x.value(q=[0, np.nan]),
        lambda x: x.value(q=[0, 0], g=None),
        lambda x: x.value([0, 0]),
        lambda x: x.sympy(5),
        lambda x: x.sympy({"q1": object()}),
    ],
)
def test_wrong_questions(asked):
    with golden_error(ArmdynError):
        asked(PLANAR.g[1])


def test_matrices_less_sympys_and_zeros_and_entries_divided():
    equations = Robot.load("planar").equations()
    handed = equations.sympy()
    for difference in (equations.B - handed.B, handed.B - equations.B):
        assert difference == [[0, 0], [0, 0]]
    assert (handed.g - equations.g) == [0, 0]
    with golden_error(ArmdynError):
        equations.B - handed.g
    entry = equations.B[0, 1]
    assert entry / 2 + entry / sympy.Integer(2) == entry == 0.5 * (entry / 0.5)
    for divisor in (0, 0.0):
        with golden_error(ArmdynError):
            entry / divisor


def test_a_power_that_is_too_large_is_refused_at_once():
    symbols = sympy.symbols("a1 l2 ml2 g")
    with golden_error(ArmdynError):
        Robot.load("planar").equations().B[0, 1] - sum(symbols) ** 400
