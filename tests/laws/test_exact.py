"""Exact equations: proved for random arms, refuted for broken algorithms, and equal to the numbers."""

import re
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import reject

from armdyn import ArmdynError, Equations, Expression, Robot
from armdyn.exact import SizeError
from armdyn.exact.proof import ProofError
from armdyn.model.vector import ZERO3, add, apply, cross, scale
from arms import (
    ROTORS,
    WITHOUT_LOOPS,
    assert_same,
    bundled,
    exact_array,
    generator_values,
    generators,
    in_suites,
    law,
    models,
    robots,
    state,
)

SMALL = [name for name in WITHOUT_LOOPS if bundled(name).n <= 3]


@law(models((1, 3), rotors=ROTORS), examples=10)
def test_newton_euler_and_lagrange_of_rational_arms(model):
    proof = Equations(model).prove()
    assert len(proof.statements) >= 4
    assert all(statement.terms > 0 for statement in proof.statements[:2])


@law(robots((1, 3), plates=False, rotors=ROTORS), examples=3, thorough=10)
def test_newton_euler_and_lagrange_of_arms_with_any_angle(robot):
    """The ring then has cosines, sines and roots of constants too. Arms beyond its bounds are left out."""
    try:
        assert Equations(robot.model).prove()
    except SizeError:
        reject()


@pytest.mark.parametrize("rotors", ROTORS)
@pytest.mark.parametrize("name", in_suites(SMALL))
def test_newton_euler_and_lagrange_of_small_bundled_robots(name, rotors):
    assert Robot.load(name).with_rotors(rotors).equations().prove()


# ---- a proof that can fail ---------------------------------------------------------------------------------


def module(name):
    """A module of `dynamics`, some of which have the name of the function they define."""
    return sys.modules[f"armdyn.dynamics.{name}"]


def no_gyroscopic_moment(patch):
    def body_wrench(inertia, w, dw, a):
        f = add(scale(inertia.mass, a), module("newton_euler").point_acceleration(w, dw, inertia.moment))
        return f, add(apply(inertia.matrix, dw), cross(inertia.moment, a))

    patch.setattr(module("newton_euler"), "body_wrench", body_wrench)


def no_centripetal_acceleration(patch):
    for name in ("newton_euler", "regressor"):
        patch.setattr(module(name), "point_acceleration", lambda w, dw, r: cross(dw, r))


def no_spin_of_rotors(patch):
    real = module("newton_euler")._rotor_motions

    def rotor_motion(*arguments):
        return [replace(motion, torque=0) for motion in real(*arguments)]

    patch.setattr(module("newton_euler"), "_rotor_motions", rotor_motion)


def no_rotor_moment_on_the_carrier(patch):
    real = module("newton_euler")._rotor_motions

    def rotor_motion(*arguments):
        return [replace(motion, momentum_rate=ZERO3) for motion in real(*arguments)]

    patch.setattr(module("newton_euler"), "_rotor_motions", rotor_motion)


def no_gravity_in_the_energy(patch):
    real = module("energy").potential_regressor

    def potential_regressor(mechanism, q):
        return dict.fromkeys(real(mechanism, q), 0)

    patch.setattr("armdyn.dynamics.potential_regressor", potential_regressor)


def half_the_kinetic_energy_of_rotors(patch):
    real = module("energy").kinetic_regressor

    def kinetic_regressor(mechanism, q, qd):
        return {p: x / 2 if p.symbol == "Im" else x for p, x in real(mechanism, q, qd).items()}

    patch.setattr("armdyn.dynamics.kinetic_regressor", kinetic_regressor)


def no_inertia_columns_in_the_regressor(patch):
    real = module("regressor")._unit_wrenches

    def unit_wrenches(*motion):
        return [*real(*motion)[:4], *[(ZERO3, ZERO3)] * 6]

    patch.setattr(module("regressor"), "_unit_wrenches", unit_wrenches)


FAULTS = [
    no_gyroscopic_moment,
    no_centripetal_acceleration,
    no_spin_of_rotors,
    no_rotor_moment_on_the_carrier,
    no_gravity_in_the_energy,
    half_the_kinetic_energy_of_rotors,
    no_inertia_columns_in_the_regressor,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_algorithm_and_a_failing_proof(fault, monkeypatch):
    motors = {
        "link": [
            {"joint": "revolute", "a": 0, "alpha": "pi/2", "d": 0, "mass": 1, "inertia": {"xx": 1, "yy": 1}},
            {"joint": "revolute", "a": 1, "alpha": 0, "d": 0, "mass": 1, "com": ["1/2", "1/3", 0]},
        ]
    }
    for link in motors["link"]:
        link["motor"] = {"gear": 10, "inertia": 1, "axis": [0, "3/5", "4/5"]}
        link["inertia"] = {"xx": 2, "yy": 3, "zz": 4}
    model = Robot.from_dict({"name": "two", "convention": "dh", "gravity": [0, 0, -10], **motors}).model
    assert Equations(model).prove()
    fault(monkeypatch)
    with pytest.raises(ProofError):
        Equations(model).prove()


def test_a_proof_error_is_an_armdyn_error():
    assert issubclass(ProofError, ArmdynError)


# ---- the closed form at numbers ----------------------------------------------------------------------------


@law(models((1, 3), rotors=ROTORS), generators(), examples=10)
def test_closed_form_and_numeric_functions(model, rng):
    robot, equations = Robot(model), Equations(model)
    q, qd, qdd = state(robot, rng)
    numbers = generator_values(equations, q, qd, qdd)
    assert_same(exact_array(equations, equations.B, q), robot.inertia(q))
    assert_same(exact_array(equations, equations.g, q), robot.gravity(q))
    assert_same(exact_array(equations, equations.friction, q, qd), robot.friction(qd))
    assert_same(exact_array(equations, equations.tau, q, qd, qdd), robot.inverse_dynamics(q, qd, qdd))
    assert_same(equations.kinetic_energy.value(numbers), robot.kinetic_energy(q, qd))
    assert_same(equations.potential_energy.value(numbers), robot.potential_energy(q))
    Y = [[y.value(numbers) for y in row] for row in equations.regressor]
    assert_same(Y, robot.regressor(q, qd, qdd))


@pytest.mark.parametrize("name", in_suites(SMALL))
def test_closed_form_and_numeric_functions_of_bundled_robots(name):
    robot = Robot.load(name)
    equations = robot.equations()
    q, qd, qdd = state(robot, np.random.default_rng(5))
    constants = {
        atom_name: _atom_value(robot, equations, atom_name)
        for atom_name in equations.basis.full.names
        if not re.fullmatch(r"q\d+", atom_name)
    }
    angles = {f"q{i + 1}": x for i, x in enumerate(q)}  # of springs
    values = constants | angles | generator_values(equations, q, qd, qdd)
    tau = [entry.value(values) for entry in equations.tau]
    assert_same(tau, robot.inverse_dynamics(q, qd, qdd))


def _atom_value(robot, equations, name):
    """A constant generator's number: a symbol of the file, a function of one, or an inverse."""
    inverse = name.startswith("1/")
    for atom in (*equations.basis.full.atoms, *equations.basis.full.inverted):
        if str(atom) == name.removeprefix("1/"):
            if atom.name in {f"q{i + 1}" for i in range(robot.n)}:
                break
            x = Expression({((atom, 1),): Fraction(1)}).value(robot.model.values)
            return 1 / x if inverse else x
    return np.nan  # a joint variable


@law(models((1, 3), rotors=ROTORS), examples=8)
def test_regressor_and_equations_exactly(model):
    """Σ_p Y_p π_p is B q̈ + C q̇ + friction + g, as polynomials."""
    equations = Equations(model)
    for i in range(model.n):
        total = equations.g[i] + equations.friction[i]
        for j in range(model.n):
            total = total + equations.B[i, j].times_generator(f"qdd{j + 1}")
            total = total + equations.C[i, j].times_generator(f"qd{j + 1}")
        assert total == equations.tau[i]


# ---- handed over to SymPy ----------------------------------------------------------------------------------


def with_axes(axes):
    """An arm whose axes are given in digits, as they come out of another program."""
    links = []
    for k, axis in enumerate(axes):
        links.append(
            {
                "joint": "prismatic" if k == 1 else "revolute",
                "origin": {"xyz": [0.1, -0.2, 0.3], "rpy": [0.3, 0, "pi/2"]},
                "axis": axis,
                "mass": 1.5,
                "com": [0.1, 0.02, -0.05],
                "inertia": {"xx": 0.2, "yy": 0.3, "zz": 0.25, "xy": 0.01, "xz": -0.02, "yz": 0.03},
                "motor": {"gear": 30, "inertia": 0.001, "axis": axis[::-1]},
            }
        )
    return Robot.from_dict(
        {"name": "digits", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}
    )


def axes_in_digits():
    """Unit vectors in 17 digits, and others of any length."""
    vectors = np.random.default_rng(3).normal(size=(4, 3))
    vectors[:2] /= np.linalg.norm(vectors[:2], axis=1)[:, None]
    return [[float(x) for x in v] for v in vectors[:3]] + [[0.123456789, 0.2, 0.7]]


def test_compiled_sympy_and_compiled_functions_of_axes_in_digits():
    robot = with_axes(axes_in_digits()[:3])
    handed = robot.equations().sympy()
    q, qd, _ = state(robot, np.random.default_rng(4))
    for matrix, expected in (
        (handed.B, robot.inertia(q)),
        (handed.C, robot.coriolis(q, qd)),
        (handed.g, robot.gravity(q)[:, None]),
    ):
        found = sympy.lambdify([*handed.q, *handed.qd], matrix, "numpy")(*q, *qd)
        assert_same(found, expected, 1e-12)


def test_axes_in_digits_are_of_length_one_and_where_they_were():
    given = axes_in_digits()
    robot = with_axes(given)
    for link, axis in zip(robot.model.links, given, strict=True):
        assert sum(x * x for x in link.axis) == 1
        assert not any(x.atoms() for x in link.axis)
        found = np.array([x.value() for x in link.axis])
        assert np.abs(found - np.array(axis) / np.linalg.norm(axis)).max() < 3e-16
    opposite = with_axes([[-x for x in axis] for axis in given])
    for one, other in zip(robot.model.links, opposite.model.links, strict=True):
        assert all(a == -b for a, b in zip(one.axis, other.axis, strict=True))


def test_short_roots_stay_exact():
    link = with_axes([[1, 1, 1], [0.6, 0, 0.8], [1, -2, 3]]).model.links
    assert [str(x) for x in link[0].axis] == ["1/3*sqrt(3)"] * 3
    assert [x.number for x in link[1].axis] == [Fraction(3, 5), 0, Fraction(4, 5)]
    assert sum(x * x for x in link[2].axis) == 1
