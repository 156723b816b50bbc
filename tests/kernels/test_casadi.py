"""`robot.casadi`: values and derivatives against our own."""

import sys

import numpy as np
import pytest

from armdyn import Robot, backend
from armdyn.model import ModelError
from armdyn.program.ops import OPS
from armdyn.robot.functions import BASE_INPUTS, FUNCTIONS
from arms import assert_same, law
from friction_arms import rubbing
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple
from single_ops import single
from spring_arms import sprung

casadi = pytest.importorskip("casadi", reason="CasADi is not installed")

RANDOM = rubbing((2, 4)).map(lambda robot: Robot(sprung(robot.model, 5)))  # rotors, rails, friction, springs


@pytest.fixture(autouse=True)
def _evaluator():
    with backend("evaluator"):  # it defines what a program means
        yield


def values(function, inputs, expected):
    """What a function gives, in the shapes of what is expected; matrices must have them already.

    Several matrices are one below the other.
    """
    found = function(*inputs)
    found = found if isinstance(found, tuple) else (found,)
    for x, y in zip(found, expected, strict=True):
        assert x.is_dense()
        rows, columns = np.shape(y)[:-1] or np.shape(y), np.shape(y)[1:][-1:] or (1,)
        assert x.shape == (np.prod(rows), *columns)
    return [np.array(x).reshape(np.shape(y)) for x, y in zip(found, expected, strict=True)]


@law(RANDOM, examples=3)
def test_values_and_jacobians_of_random_arms(robot):
    for kind, last in (("inverse_dynamics", "qdd"), ("forward_dynamics", "tau")):
        states = arguments(robot, kind)
        function = robot.casadi(kind)
        expected = getattr(robot, kind)(*states)
        assert_same(values(function, states, [expected])[0], expected, 1e-12)
        slopes = getattr(robot, f"{kind}_derivatives")(*states)
        names = dict(zip(("q", "qd", last), states, strict=True))
        for name, slope in zip(names, slopes, strict=True):
            jacobian = function.factory("slope", list(names), [f"jac:{kind}:{name}"])
            assert_same(np.array(casadi.densify(jacobian(*states))), slope, 1e-10)


@pytest.mark.parametrize("name", ["elastic_link", pytest.param("stanford", marks=pytest.mark.slow)])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function(function, name):
    robot = Robot.load(name)
    inputs = arguments(robot, function)
    expected = as_tuple(getattr(robot, function)(*inputs))
    for x, y in zip(values(robot.casadi(function), inputs, expected), expected, strict=True):
        assert_same(x, y, 1e-12)


@pytest.mark.parametrize("op", OPS)
def test_operations_have_our_values_and_slopes(op):
    from armdyn.kernels.casadi import casadi_function

    kernel, points, expected, slopes = single(op)
    function = casadi_function(kernel, ["y"])
    jacobian = function.factory("slope", ["x"], ["jac:y:x"])
    for x, y, slope in zip(points, expected, slopes, strict=True):
        np.testing.assert_allclose(float(function(x)), y, rtol=1e-15)
        np.testing.assert_allclose(np.array(casadi.densify(jacobian(x)))[0], slope, rtol=1e-14)


def test_names_and_shapes():
    robot = Robot.load("rp")
    function = robot.casadi("inverse_dynamics", ["wrench", "parameters", *BASE_INPUTS])
    names = ["q", "qd", "qdd", "wrench", "parameters"]
    assert function.name_in() == [*names, *(name.replace(".", "_") for name in BASE_INPUTS)]
    assert function.name_out() == ["inverse_dynamics"]
    assert function.size_in("parameters") == (len(robot.parameters), 1)
    assert function.is_a("SXFunction")
    slopes = robot.casadi("forward_dynamics_derivatives")
    assert slopes.name_out() == ["d_qdd_d_q", "d_qdd_d_qd", "d_qdd_d_tau"]
    assert robot.casadi("pose").size_out("pose") == (4, 4)


def test_optional_inputs():
    robot = Robot.load("rp")
    optional = ["wrench", "parameters"]
    q, qd, qdd, wrench, parameters = arguments(robot, "inverse_dynamics", optional=optional)
    found = robot.casadi("inverse_dynamics", optional)(q, qd, qdd, wrench, parameters)
    expected = robot.inverse_dynamics(q, qd, qdd, wrench, parameters=parameters)
    assert_same(np.array(found)[:, 0], expected, 1e-12)
    link = next(iter(robot.model.index))
    found = robot.casadi("inverse_dynamics", ["wrench"], [link])(q, qd, qdd, wrench)
    assert_same(np.array(found)[:, 0], robot.inverse_dynamics(q, qd, qdd, {link: wrench}), 1e-12)


def test_expressions_of_both_kinds_are_taken():
    robot = Robot.load("rp")
    for kind in (casadi.SX, casadi.MX):
        q = kind.sym("q", 2)
        twice = casadi.Function("twice", [q], [robot.casadi("gravity")(2 * q)])
        assert_same(np.array(twice([0.1, 0.2]))[:, 0], robot.gravity([0.2, 0.4]), 1e-12)


def test_loops_are_refused():
    with golden_error(ModelError):
        Robot.load("five_bar").casadi("gravity")


def test_without_the_library_an_error_says_how_to_get_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "armdyn.kernels.casadi", raising=False)
    monkeypatch.setitem(sys.modules, "casadi", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r'needs CasADi: pip install "armdyn\[casadi\]"'):
        Robot.load("rp").casadi("gravity")
