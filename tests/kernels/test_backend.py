"""Backends: how one is chosen, and the evaluator in the place of compiled code."""

import asyncio
import sys
import threading
from types import ModuleType

import numpy as np
import pytest

from armdyn import Robot, backend, set_backend
from armdyn.kernels import kernel as kernels
from armdyn.kernels.kernel import get_backend
from armdyn.kernels.llvm import machine
from armdyn.robot.functions import FUNCTIONS, usual_functions
from kernel_tools import arguments, as_tuple, error


@pytest.fixture
def evaluator(monkeypatch):
    def refuse(*_):
        raise AssertionError("compiled")

    monkeypatch.setattr(machine, "compile_ir", refuse)
    with backend("evaluator"):
        yield


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
    with pytest.raises(ValueError, match="allowed: 'compiled', 'evaluator'"), backend(name):
        pass
    assert get_backend() == "compiled"


# ---- choosing ----------------------------------------------------------------------------------------------


def test_blocks_are_nested_and_left():
    assert get_backend() == "compiled"
    with backend("evaluator"):
        assert get_backend() == "evaluator"
        with backend("compiled"):
            assert get_backend() == "compiled"
        assert get_backend() == "evaluator"
        with pytest.raises(KeyError), backend("compiled"):
            raise KeyError
        assert get_backend() == "evaluator"
    assert get_backend() == "compiled"


def test_the_default_holds_outside_blocks_and_in_all_threads():
    found = []
    try:
        with backend("compiled"):
            set_backend("evaluator")
            assert get_backend() == "compiled"
            thread = threading.Thread(target=lambda: found.append(get_backend()))
            thread.start()
            thread.join()
        assert get_backend() == "evaluator"
    finally:
        set_backend("compiled")
    assert found == ["evaluator"]


def test_tasks_do_not_disturb_each_other():
    async def work(name, found):
        with backend(name):
            await asyncio.sleep(0.001)
            found.append((name, get_backend()))
            await asyncio.sleep(0.001)
        found.append(("compiled", get_backend()))

    async def both():
        found = []
        await asyncio.gather(work("evaluator", found), work("compiled", found))
        return found

    assert all(asked == used for asked, used in asyncio.run(both()))


def test_arrays_may_decide(monkeypatch):
    """Arrays of another library go to the module that takes them, whatever the context says."""

    class Elsewhere:
        pass

    there = ModuleType("there")
    there.call = lambda kernel, arrays, out: (kernel.specification.name, len(arrays), out)
    Elsewhere.__module__ = "elsewhere.arrays"
    robot, q = Robot.load("rp"), np.zeros(2)
    expected = robot.gravity(q)
    monkeypatch.setitem(sys.modules, "there", there)
    monkeypatch.setitem(kernels.LIBRARIES, "elsewhere", "there")
    for name in ("compiled", "evaluator"):
        with backend(name):
            assert robot.gravity(Elsewhere()) == ("gravity", 1, None)
            assert robot.coriolis(q, Elsewhere(), out=q) == ("coriolis", 2, q)
            np.testing.assert_allclose(robot.gravity(q), expected)


# ---- ahead of time -----------------------------------------------------------------------------------------


def test_compiled_ahead_nothing_is_left_to_compile(monkeypatch, fresh_cache):
    monkeypatch.setattr(machine, "_loaded", {})
    robot = Robot.load("rp")
    assert robot.compile("gravity", ("inverse_dynamics", "parameters", "wrench")) is None

    def refuse(*_):
        raise AssertionError("compiled")

    monkeypatch.setattr(machine, "compile_ir", refuse)
    q = np.array([0.1, 0.2])
    robot.gravity(q)
    robot.inverse_dynamics(q, q, q, np.zeros(6), parameters=robot.parameters)
    with pytest.raises(AssertionError, match="compiled"):
        robot.inertia(q)


def test_all_functions_ahead(fresh_cache, monkeypatch):
    monkeypatch.setattr(machine, "_loaded", {})
    robot = Robot.load("pendulum")
    robot.compile()
    usual = usual_functions(robot.model)
    assert set(FUNCTIONS) - set(usual) == {x for x in FUNCTIONS if "second" in x or "hessian" in x}
    assert len(list(fresh_cache.iterdir())) == len(usual)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("nothing",), "function: found 'nothing'; allowed: inverse_dynamics, "),
        ((["gravity"],), "function: found "),
        (((),), "function: found ''"),
        ((("gravity", "wrench"),), "gravity: no input 'wrench'; allowed: parameters"),
        ((("inverse_dynamics", "wrench", "wrench"),), "different names"),
        (("gravity", ("inverse_dynamics", "base.angular_velocity")), "a moving base takes all of"),
    ],
)
def test_wrong_names_are_refused_before_anything_is_compiled(wrong, message, evaluator):
    with pytest.raises(ValueError, match=message):
        Robot.load("rp").compile(*wrong)
