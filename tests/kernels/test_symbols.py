"""Another value of a symbol in every row: `symbols={…}` = a loop over `robot.with_symbols`."""

from functools import partial
from inspect import signature

import numpy as np
import pytest

import armdyn
from armdyn import ArmdynError, BaseMotion, Robot
from armdyn.model import ModelError
from armdyn.robot.functions import CLOSED_FUNCTIONS, FUNCTIONS
from arms import generators, quietly, related, robots
from golden_messages import golden_error
from kernel_tools import arguments, as_tuple, error, over

ROWS = 9  # more than a register of float64
EVALUATED = 3  # rows that the evaluator takes: it has no registers
SMALL = ("inverse_dynamics", "forward_dynamics", "inertia", "jacobian_dot", "kinetic_energy", "friction")


def drawn(robot, rng, rows, most=6):
    """Values of some symbols, a tenth off their own."""
    names = list(robot.symbols)
    chosen = rng.choice(names, min(most, len(names)), replace=False)
    return {str(name): robot.symbols[name] * rng.uniform(0.9, 1.1, rows) for name in chosen}


def one_at_a_time(robot, function, inputs, values, **given):
    """Results of the robots of all rows, each asked for its own state."""
    found = []
    for i in range(len(inputs[0])):
        own = {name: float(x[i]) for name, x in values.items()}
        other = quietly(partial(robot.with_symbols, own))
        found.append(as_tuple(getattr(other, function)(*(x[i] for x in inputs), **given)))
    return [np.array(rows) for rows in zip(*found, strict=True)]


def check(robot, function, rng, tolerance=1e-10, rows=EVALUATED, **given):
    values, inputs = drawn(robot, rng, (rows,)), arguments(robot, function, (rows,))
    found = as_tuple(getattr(robot, function)(*inputs, symbols=values, **given))
    for x, y in zip(found, one_at_a_time(robot, function, inputs, values, **given), strict=True):
        assert error(x, y) <= tolerance


@over(robots((1, 4), rotors=("exact", "reflected", "none")), generators(), examples=4)
def test_random_arms(robot, rng):
    robot = quietly(robot.symbolic)
    with armdyn.backend("evaluator"):
        for function in SMALL:
            check(robot, function, rng)
        base = BaseMotion([0.1, 0.2, -0.3], [0, 1, 0], [0.5, 0, 2])
        check(robot, "inverse_dynamics", rng, base=base, wrench=rng.uniform(-5, 5, 6))


@over(robots((2, 4)), generators(), examples=2)
def test_random_arms_with_relations(robot, rng):
    with armdyn.backend("evaluator"):
        check(
            quietly(Robot(related(robot.model, int(rng.integers(2**31)))).symbolic), "inverse_dynamics", rng
        )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_of_one_arm(function):
    robot = Robot.load("scara").symbolic()
    with armdyn.backend("evaluator"):
        check(robot, function, np.random.default_rng(2))


@pytest.mark.parametrize("function", ["inverse_dynamics", "pose"])
def test_compiled(function):
    check(Robot.load("puma560"), function, np.random.default_rng(3), 1e-12, ROWS)


def test_every_method_takes_symbols():
    rows = [*FUNCTIONS, *CLOSED_FUNCTIONS, "com_position", "rotor_jacobian"]
    assert [name for name in rows if "symbols" not in signature(getattr(Robot, name)).parameters] == []


def test_points_of_links_and_rotors():
    robot = Robot.load("planar")
    q = np.array([0.3, -1.1])
    link, last = robot.model.index
    values = {"a1": np.array([1.0, 1.5]), "l2": 0.7, "kr2": np.array([[100.0], [-30.0]])}
    asked = {
        "pose": lambda arm, s: arm.pose(q, link, symbols=s),
        "com": lambda arm, s: arm.com_position(q, last, symbols=s),
        "jacobian": lambda arm, s: arm.jacobian(q, at=[0.1, "l2", 0], symbols=s),
        "jacobian_dot": lambda arm, s: arm.jacobian_dot(q, q, link, "com", symbols=s),
        "rotor": lambda arm, s: arm.rotor_jacobian(q, last, symbols=s),
    }
    for ask in asked.values():
        found = ask(robot, values)
        assert found.shape[:2] == (2, 2)
        for i, k in np.ndindex(2, 2):
            other = robot.with_symbols(a1=values["a1"][k], l2=0.7, kr2=values["kr2"][i, 0])
            assert error(found[i, k], ask(other, None)) <= 1e-12


def test_closed_chains_take_masses_and_refuse_lengths():
    robot = Robot.load("four_bar").symbolic()
    masses = [name for name in robot.symbols if name.startswith("m")][:2]
    inputs = arguments(robot, "inverse_dynamics", (ROWS,))
    values = {name: robot.symbols[name] * np.linspace(0.5, 2, ROWS) for name in masses}
    found = robot.inverse_dynamics(*inputs, symbols=values)
    assert error(found, one_at_a_time(robot, "inverse_dynamics", inputs, values)[0]) <= 1e-10
    length = next(name for name in robot.symbols if name.startswith(("px", "a")))
    with golden_error(ModelError):
        robot.inverse_dynamics(*inputs, symbols={length: 1.0})


def test_free_symbols_get_their_values_so():
    robot = Robot.load("planar").with_symbols(ml2=None, a1=None)
    found = robot.gravity([0.2, 0.4], symbols={"a1": 1.2, "ml2": [10.0, 20.0]})
    for tau, mass in zip(found, (10, 20), strict=True):
        assert error(tau, robot.with_symbols(a1=1.2, ml2=mass).gravity([0.2, 0.4])) <= 1e-13


def test_order_of_the_mapping_precision_out_and_parameters():
    robot = Robot.load("planar")
    q = np.random.default_rng(0).uniform(-1, 1, (5, 2))
    before = len(robot._kernels)
    found = robot.inertia(q, symbols={"ml1": 40, "a1": np.linspace(1, 2, 5)})
    out = np.empty((5, 2, 2))
    assert robot.inertia(q, symbols={"a1": np.linspace(1, 2, 5), "ml1": 40}, out=out) is out
    np.testing.assert_array_equal(out, found)
    assert len(robot._kernels) == before + 1
    np.testing.assert_array_equal(robot.inertia(q, symbols={}), robot.inertia(q))
    single = q.astype(np.float32)
    assert robot.inertia(single, symbols={"a1": 1.5}).dtype == np.float32
    assert robot.inertia(single, symbols={"a1": np.array(1.5)}).dtype == np.float64
    both = robot.inertia(q, parameters=robot.parameters, symbols={"a1": 1.5})
    longer = Robot(robot.with_symbols(a1=1.5).model).inertia(q, parameters=robot.parameters)
    assert error(both, longer) <= 1e-13


def test_gradients_of_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    robot = Robot.load("planar")
    q = torch.tensor([0.3, -1.0], dtype=torch.float64)
    a1, ml2 = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in ([1.0, 1.3], 50.0))
    tau = robot.gravity(q, symbols={"ml2": ml2, "a1": a1, "g": 9.0})
    np.testing.assert_allclose(
        tau.detach().numpy(), robot.gravity(q.numpy(), symbols={"a1": a1.detach().numpy(), "g": 9.0})
    )
    assert torch.autograd.gradcheck(
        lambda *x: robot.gravity(q, symbols=dict(zip(("a1", "ml2"), x, strict=True))), (a1, ml2)
    )
    with pytest.raises(TypeError, match=r"symbols\['a1'\]: expected a tensor"):
        robot.gravity(q, symbols={"a1": np.ones(3)})


def test_lazy_arrays():
    da = pytest.importorskip("dask.array", reason="Dask is not installed")
    robot = Robot.load("planar")
    q = np.random.default_rng(0).uniform(-1, 1, (6, 2))
    lengths = np.linspace(1, 2, 6)
    found = robot.gravity(da.from_array(q, (2, 2)), symbols={"a1": da.from_array(lengths, 2), "g": 9.0})
    assert isinstance(found, da.Array)
    assert found.chunks[0] == (2, 2, 2)
    np.testing.assert_array_equal(
        found.compute(scheduler="sync"), robot.gravity(q, symbols={"a1": lengths, "g": 9.0})
    )


def test_what_is_refused():
    robot, q = Robot.load("planar"), np.zeros((3, 2))
    for wrong in (
        {"a3": 1.0},
        ["a1"],
        {"a1": "long"},
        {"a1": np.ones(2), "a2": np.ones(3)},
        {"a1": np.ones(2)},
    ):
        with golden_error((ArmdynError, TypeError)):
            robot.gravity(q, symbols=wrong)
    named = Robot.from_toml(robot.to_toml().replace("a1", "wrench"))
    with golden_error(ModelError):
        named.gravity(q, symbols={"wrench": 1.0})
