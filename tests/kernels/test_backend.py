"""The evaluator in the place of compiled code: the same results, nothing compiled."""

import numpy as np
import pytest

from armdyn import Robot, set_backend
from armdyn.kernels.llvm import compiled as compiled_module
from armdyn.robot.functions import FUNCTIONS
from kernels.tools import arguments, as_tuple, error


@pytest.fixture
def evaluator(monkeypatch):
    def refuse(ir):
        raise AssertionError("compiled")

    monkeypatch.setattr(compiled_module, "compile_ir", refuse)
    set_backend("evaluator")
    yield
    set_backend("compiled")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_results(function, request):
    robot = Robot.load("scara")
    cases = [arguments(robot, function, rows) for rows in ((), (9,), (2, 3), (0,))]
    expected = [as_tuple(getattr(robot, function)(*inputs)) for inputs in cases]
    request.getfixturevalue("evaluator")
    for inputs, results in zip(cases, expected, strict=True):
        found = as_tuple(getattr(robot, function)(*inputs))
        for x, y in zip(found, results, strict=True):
            assert type(x) is type(y)
            assert error(x, y) <= 1e-10
        out = tuple(np.full(y.shape, np.nan) for y in results)
        getattr(robot, function)(*inputs, out=out if len(out) > 1 else out[0])
        for x, y in zip(out, found, strict=True):
            np.testing.assert_array_equal(x, y)


NOT_YET = "the evaluator's backend is laxer than NumPy about dtypes and out="


def test_out_is_returned(evaluator):
    out = np.empty((3, 2))
    assert Robot.load("rp").gravity(np.zeros((3, 2)), out=out) is out


def test_single_precision_stays(evaluator):
    assert Robot.load("rp").gravity(np.zeros((3, 2), np.float32)).dtype == np.float32


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("bad", [np.zeros(2, complex), np.zeros(2, object), ["1", "2"]], ids=str)
def test_what_are_no_numbers_is_refused(evaluator, bad):
    with pytest.raises(TypeError):
        Robot.load("rp").gravity(bad)


def test_out_of_whole_numbers_is_refused(evaluator):
    with pytest.raises(TypeError):
        Robot.load("rp").gravity(np.full(2, 0.5), out=np.zeros(2, int))


def test_optional_inputs(evaluator):
    robot = Robot.load("rp")
    q, qd, qdd, wrench = arguments(robot, "inverse_dynamics", (9,), optional=["wrench"])
    tau = robot.inverse_dynamics(q, qd, qdd, wrench, parameters=robot.parameters)
    free = robot.inverse_dynamics(q, qd, qdd)
    J = robot.jacobian(q)
    assert error(tau, free + np.einsum("bij,bi->bj", J, wrench)) <= 1e-12


def test_wrong_shapes_are_refused(evaluator):
    robot = Robot.load("rp")
    with pytest.raises(ValueError, match=r"q: expected \(\.\.\., 2\), found \(3,\)"):
        robot.gravity(np.zeros(3))
    with pytest.raises(ValueError, match="shapes do not fit together"):
        robot.coriolis(np.zeros((3, 2)), np.zeros((4, 2)))


@pytest.mark.parametrize("name", ["llvm", "", None, 1])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="allowed: 'compiled', 'evaluator'"):
        set_backend(name)
