"""`robot.jax`: values, batches and gradients against our own."""

import gc
import sys
import weakref

import numpy as np
import pytest

from armdyn import ArmdynError, Robot, backend
from armdyn.model import ModelError
from armdyn.program import jacobian
from armdyn.program.evaluate import evaluate
from armdyn.program.ops import OPS
from armdyn.robot.functions import FUNCTIONS
from arms import assert_same, law
from friction_arms import rubbing
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple
from single_ops import single
from spring_arms import sprung

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy

RANDOM = rubbing((2, 3)).map(lambda robot: Robot(sprung(robot.model, 5)))  # rotors, rails, friction, springs


@pytest.fixture(autouse=True)
def _double():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    with backend("evaluator"):  # it defines what a program means
        yield
    jax.config.update("jax_enable_x64", before)


@law(RANDOM, examples=1, thorough=8)
def test_torques_and_their_gradients_of_random_arms(robot):
    states = arguments(robot, "inverse_dynamics", (3,))
    function = robot.jax("inverse_dynamics")
    assert_same(function(*states), robot.inverse_dynamics(*states), 1e-12)
    first = jax.jit(jax.vmap(jax.grad(lambda *x: function(*x)[0], argnums=(0, 1, 2))))(*states)
    for found, expected in zip(first, robot.inverse_dynamics_derivatives(*states), strict=True):
        assert_same(found, expected[:, 0], 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["panda", "stanford"])
def test_jacobians_of_larger_arms(name):
    robot = Robot.load(name)
    for kind in ("inverse_dynamics", "forward_dynamics"):
        states = arguments(robot, kind, (4,))
        slopes = jax.jit(jax.vmap(jax.jacrev(robot.jax(kind), argnums=(0, 1, 2))))(*states)
        for found, expected in zip(slopes, getattr(robot, f"{kind}_derivatives")(*states), strict=True):
            assert_same(found, expected, 1e-11)


QUICK = ("pose", "kinetic_energy")  # others take JAX longer


@pytest.mark.parametrize(
    "function", [f if f in QUICK else pytest.param(f, marks=pytest.mark.slow) for f in FUNCTIONS]
)
def test_every_function(function):
    robot = Robot.load("rp" if function in QUICK else "stanford")
    inputs = arguments(robot, function, (2, 3))
    found, expected = as_tuple(robot.jax(function)(*inputs)), as_tuple(getattr(robot, function)(*inputs))
    for x, y in zip(found, expected, strict=True):
        assert isinstance(x, jax.Array)
        assert_same(x, y, 1e-12)


@pytest.mark.parametrize("op", OPS)
def test_operations_have_our_values_and_slopes(op):
    from armdyn.kernels.jax import jax_function

    kernel, points, values, slopes = single(op)
    function = jax_function(kernel)
    np.testing.assert_allclose(function(points), values, rtol=1e-15)
    np.testing.assert_allclose(jax.vmap(jax.grad(function))(points), slopes, rtol=1e-14)


@pytest.mark.parametrize("op", ["min", "max"])
def test_least_and_largest_of_nothing_known_is_not_known(op):
    from armdyn.kernels.jax import jax_function

    function = jax_function(single(op)[0])
    assert np.isnan(function([[np.nan, 1.0], [1.0, np.nan]])).all()


def test_leading_axes_broadcast_and_optional_inputs_come_last():
    robot = Robot.load("rp")
    q, qd, qdd, wrench, parameters = arguments(
        robot, "inverse_dynamics", (), optional=["wrench", "parameters"]
    )
    q, qd = q + np.linspace(0, 1, 3)[:, None, None], qd + np.linspace(0, 1, 4)[:, None]
    function = robot.jax("inverse_dynamics", ["wrench", "parameters"])
    found = function(q, qd, qdd, wrench, parameters)
    assert found.shape == (3, 4, 2)
    assert_same(found, robot.inverse_dynamics(q, qd, qdd, wrench, parameters=parameters), 1e-12)
    link = next(iter(robot.model.index))
    pushed = robot.jax("inverse_dynamics", ["wrench"], [link])(q, qd, qdd, wrench)
    assert_same(pushed, robot.inverse_dynamics(q, qd, qdd, {link: wrench}), 1e-12)


def test_gradient_with_respect_to_parameters_is_the_regressor():
    robot = Robot.load("pendulum")
    q, qd, qdd = arguments(robot, "inverse_dynamics")
    function = robot.jax("inverse_dynamics", ["parameters"])
    found = jax.jacrev(function, argnums=3)(q, qd, qdd, robot.parameters)
    assert_same(found, robot.regressor(q, qd, qdd), 1e-12)


@pytest.mark.slow
def test_second_derivatives_forwards_and_backwards():
    robot = Robot.load("pendulum")
    (q,) = arguments(robot, "potential_energy", (3,))
    energy = robot.jax("potential_energy")
    (expected,) = evaluate(jacobian(robot.program("gravity"), ["q"]), q)
    for twice in (jax.hessian(energy), jax.jacrev(jax.grad(energy)), jax.jacfwd(jax.jacfwd(energy))):
        assert_same(jax.vmap(twice)(q), expected, 1e-12)
    assert_same(jax.vmap(jax.grad(energy), in_axes=1, out_axes=1)(q.T), robot.gravity(q).T, 1e-12)


def test_a_simulation_in_one_scan():
    robot, h = Robot.load("rp"), 0.01
    accelerations = robot.jax("forward_dynamics")
    q, qd, tau = arguments(robot, "forward_dynamics", (5,))

    def step(state, _):
        q, qd = state
        qd = qd + h * accelerations(q, qd, tau)
        return (q + h * qd, qd), None

    found, _ = jax.jit(lambda *state: jax.lax.scan(step, state, None, length=4))(q, qd)
    for _ in range(4):
        qd = qd + h * robot.forward_dynamics(q, qd, tau)
        q = q + h * qd
    assert_same(found[0], q, 1e-12)
    assert_same(found[1], qd, 1e-12)


def test_batches_whose_size_is_a_symbol():
    rows = jax.ShapeDtypeStruct(jax.export.symbolic_shape("b, 2"), float)
    (found,) = jax.export.export(Robot.load("rp").jax("coriolis"))(rows, rows).out_avals
    assert str(found.shape) == "(b, 2, 2)"


def test_precision_is_that_of_jax():
    robot = Robot.load("rp")
    jax.config.update("jax_enable_x64", False)
    found = robot.jax("gravity")(np.zeros((3, 2)))
    assert found.dtype == jnp.float32
    assert_same(found, robot.gravity(np.zeros((3, 2))), 1e-6)
    assert robot.jax("gravity")([0, 1]).dtype == jnp.float32  # whole numbers


def test_one_function_for_each_kernel_and_nothing_is_kept():
    robot = Robot.load("rp")
    assert robot.jax("gravity") is robot.jax("gravity")
    assert robot.jax("gravity") is not robot.jax("gravity", ["parameters"])
    kernel = weakref.ref(robot._kernels[("gravity", ())])
    assert kernel() is not None
    del robot
    gc.collect()
    assert kernel() is None


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        ([np.zeros(3)], ArmdynError),
        ([np.zeros(2, complex)], TypeError),
        ([np.zeros(2, bool)], TypeError),
        ([None], TypeError),
        ([[[1.0, 2.0], [1.0]]], TypeError),
        ([np.zeros(2), np.zeros(2)], TypeError),
    ],
)
def test_wrong_inputs_are_refused(inputs, error):
    with golden_error(error):
        Robot.load("rp").jax("gravity")(*inputs)


def test_what_does_not_fit_together_is_refused():
    with golden_error(ArmdynError):
        Robot.load("rp").jax("coriolis")(np.zeros((3, 2)), np.zeros((4, 2)))


def test_what_a_robot_does_not_have_is_refused():
    with golden_error(ModelError):
        Robot.load("rp").jax("dynamics")
    with golden_error(ModelError):
        Robot.load("rp").jax("gravity", ["wrench"])
    with golden_error(ModelError):
        Robot.load("rp").jax("inverse_dynamics", ["wrench"], "arm")


def test_loops_are_refused():
    with golden_error(ModelError):
        Robot.load("five_bar").jax("gravity")
    tree = Robot.load("five_bar").opened()
    q = np.full(tree.n, 0.3)
    assert_same(tree.jax("gravity")(q), tree.gravity(q), 1e-12)


def test_arrays_of_jax_are_sent_to_robot_jax():
    with pytest.raises(TypeError, match=r"found an object of type jax.*`robot\.jax`"):
        Robot.load("rp").gravity(jnp.zeros(2))


def test_without_the_library_an_error_says_how_to_get_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "armdyn.kernels.jax", raising=False)
    monkeypatch.setitem(sys.modules, "jax", None)  # as if it were not installed
    with pytest.raises(ImportError, match=r'needs JAX: pip install "armdyn\[jax\]"'):
        Robot.load("rp").jax("gravity")
