"""The rows of `TERMS`, and what follows from a term's function."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from armdyn.expression import Expression
from armdyn.expression.functions import sqrt
from armdyn.model.friction import TERMS, Sliding, Term
from armdyn.model.parameters import KINDS
from armdyn.robot.friction import Curves

QUADRATIC = Term("Fq", lambda x: x.speed * x.speed * x.direction)
ROOT = Term("Fr", lambda x: x.direction * sqrt(x.speed * x.direction))
SIZE = Term("Fz", lambda x: x.speed * x.direction)  # |v|
EVERY = {**TERMS, "quadratic": QUADRATIC, "root": ROOT, "size": SIZE}


@pytest.mark.parametrize("term", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("k", [2.5, 0.3])
@pytest.mark.parametrize("s", [1, -1])
def test_all_speeds_k_times_as_large_make_it_a_power_of_k_as_large(term, k, s):
    slow, fast = (float(term.of(Sliding(x * s * 0.7, s, x * 0.4, 0.9))) for x in (1, k))
    assert fast == pytest.approx(k ** float(term.power) * slow, rel=1e-14)


@pytest.mark.parametrize("term", EVERY.values(), ids=EVERY)
@pytest.mark.parametrize("k", [3, -3, 0.4, -0.4])
def test_a_gear_multiplies_torque_and_speed(term, k):
    """k f(k v, sgn(k) s) with the Stribeck velocity of the joint: v_s of the motor by |k|."""
    v, s = 0.8, 1
    at_motor = float(term.of(Sliding(k * v, np.sign(k) * s, 0.5 * abs(k), 1)))
    assert term.referred(k) * float(term.of(Sliding(v, s, 0.5, 1))) == pytest.approx(k * at_motor, rel=1e-14)


def test_a_gear_stays_exact():
    k = Expression.symbol("k")
    assert TERMS["viscous"].referred(k) == k * k
    assert TERMS["cubic"].referred(k) == k * k * k * k
    assert TERMS["offset"].referred(k) == k
    assert TERMS["coulomb"].referred(k) == abs(k)


def test_what_follows_from_a_function():
    def those(kind):
        return [name for name, term in EVERY.items() if kind(term)]

    assert those(lambda term: term.jumps) == ["coulomb", "asymmetry", "stribeck", "load"]
    assert those(lambda term: term.sticks) == ["coulomb", "stribeck", "load"]
    assert those(lambda term: term.is_curved) == ["stribeck", "cubic", "quadratic", "root", "size"]
    assert those(lambda term: term.is_linear) == ["viscous"]
    assert those(lambda term: term.is_constant) == ["offset"]
    assert those(lambda term: term.is_loaded) == ["load"]
    assert those(lambda term: term.is_paced) == ["stribeck"]
    assert (QUADRATIC.power, ROOT.power) == (2, Fraction(1, 2))
    units = [
        term.unit("N m", "rad") for term in (TERMS["viscous"], TERMS["load"], TERMS["cubic"], QUADRATIC, ROOT)
    ]
    assert units == ["N m s/rad", "", "N m s³/rad³", "N m s²/rad²", "N m s^(1/2)/rad^(1/2)"]


@pytest.mark.parametrize("name", TERMS)
def test_a_term_has_a_parameter_of_its_own(name):
    assert KINDS[TERMS[name].symbol].entry == name


def test_slopes_of_curves():
    """Against differences."""
    names = ("stribeck", "cubic")
    curves = Curves(np.eye(2), np.array([0.7, 0.2]), np.array([0.3, 1.0]), np.array([0.0, 0.1]), names)
    v = np.array([[0.2, 0.5], [-0.4, -1.5]])
    s, h = np.sign(v), 1e-6
    expected = (curves.at(v + h, s) - curves.at(v - h, s)) / (2 * h)
    np.testing.assert_allclose(curves.slope(v, s), expected, rtol=1e-8)
    assert not curves.at(0 * v, s).any()
