"""A different robot in every row: `parameters` (..., p) = a loop over robot.with_parameters."""

import warnings

import numpy as np
import pytest

from armdyn import PhysicsWarning, Robot
from armdyn.program import evaluate
from armdyn.robot.functions import FUNCTIONS
from arms import slowly
from kernel_tools import arguments, as_tuple, error

ROWS = 10  # more than a register of float64
TAKING = [function for function, row in FUNCTIONS.items() if "parameters" in row.optional]


def robots_of(robot, P):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PhysicsWarning)
        return [robot.with_parameters([float(x) for x in row]) for row in P]


@pytest.fixture(scope="module", params=["rp", slowly("scara"), slowly("stanford")])
def rows(request):
    """A robot, parameters, and the robots that have them."""
    robot = Robot.load(request.param)
    rng = np.random.default_rng(8)
    P = robot.parameters * rng.uniform(0.8, 1.2, (ROWS, len(robot.parameters)))
    return robot, P, robots_of(robot, P)


SLOW = [f for f in TAKING if f.endswith(("derivatives", "hessian_product"))]
MARKED = [pytest.param(f, marks=pytest.mark.slow) if f in SLOW else f for f in TAKING]


@pytest.mark.parametrize("function", MARKED)
def test_rows_are_robots(rows, function):
    robot, P, others = rows
    inputs = arguments(robot, function, (ROWS,))
    found = as_tuple(getattr(robot, function)(*inputs, parameters=P))
    each = [evaluate(other.program(function), *(x[i] for x in inputs)) for i, other in enumerate(others)]
    tolerance = 1e-10 if function.startswith("forward") else 1e-12
    for k, x in enumerate(found):
        assert error(x, np.array([result[k] for result in each])) <= tolerance


@pytest.mark.parametrize("function", ["inverse_dynamics", "inertia", "potential_energy"])
def test_rows_are_robots_compiled(function):
    robot = Robot.load("rp")
    P = robot.parameters * np.random.default_rng(1).uniform(0.8, 1.2, (2, len(robot.parameters)))
    inputs = arguments(robot, function, (2,))
    found = getattr(robot, function)(*inputs, parameters=P)
    for i, other in enumerate(robots_of(robot, P)):
        assert error(getattr(other, function)(*(x[i] for x in inputs)), found[i]) <= 1e-12


@pytest.mark.parametrize("function", MARKED)
def test_own_parameters_change_nothing(function):
    robot = Robot.load("stanford")
    inputs = arguments(robot, function, (ROWS,))
    method = getattr(robot, function)
    tolerance = 1e-10 if function.startswith("forward") else 1e-12
    for x, y in zip(
        as_tuple(method(*inputs, parameters=robot.parameters)), as_tuple(method(*inputs)), strict=True
    ):
        assert error(x, y) <= tolerance


def test_one_state_and_many_robots_and_the_other_way_round():
    robot = Robot.load("scara")
    q, qd, qdd = arguments(robot, "inverse_dynamics")
    P = robot.parameters * np.linspace(0.5, 1.5, 13)[:, None]
    tau = robot.inverse_dynamics(q, qd, qdd, parameters=P)
    assert tau.shape == (13, 4)
    assert error(tau, tau[6] * np.linspace(0.5, 1.5, 13)[:, None]) <= 1e-12  # τ is linear in π
    grid = robot.inverse_dynamics(np.tile(q, (3, 1, 1)), qd, qdd, parameters=P)
    np.testing.assert_array_equal(grid, np.tile(tau, (3, 1, 1)))


def test_with_wrench_and_base_motion():
    from armdyn import BaseMotion

    robot = Robot.load("rp")
    q, qd, qdd, wrench, P = arguments(robot, "inverse_dynamics", (ROWS,), optional=("wrench", "parameters"))
    base = BaseMotion((0.1, 0.2, 0.3), (1, -1, 2), (0.5, 0.1, -0.2))
    found = robot.inverse_dynamics(q, qd, qdd, wrench, base=base, parameters=P)
    for i, other in enumerate(robots_of(robot, P)):
        expected = other.inverse_dynamics(q[i], qd[i], qdd[i], wrench[i], base=base)
        assert error(found[i], expected) <= 1e-12


def test_extras_are_parameters_too():
    """Asymmetric Coulomb friction, offsets, friction of coupled motors."""
    link = {
        "joint": "revolute",
        "a": 0.5,
        "alpha": 0,
        "d": 0,
        "theta": 0,
        "mass": 2,
        "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1},
        "friction": {"viscous": 0.3, "coulomb": [0.4, -0.6], "offset": 0.05},
    }
    motor = {"gear": 10, "inertia": 0.01, "mass": 0.5, "friction": {"viscous": 0.01, "coulomb": 0.02}}
    robot = Robot.from_dict(
        {
            "name": "rubbing arm",
            "convention": "dh",
            "gravity": [0, -9.81, 0],
            "link": [
                link | {"name": "one", "motor": motor},
                link | {"name": "two", "motor": motor | {"coupling": {"one": 3.0}}},
            ],
        }
    )
    assert len(robot.parameters) > 26
    P = robot.parameters * np.random.default_rng(1).uniform(0.8, 1.2, (ROWS, len(robot.parameters)))
    for function in ("friction", "inverse_dynamics", "forward_dynamics"):
        inputs = arguments(robot, function, (ROWS,))
        found = getattr(robot, function)(*inputs, parameters=P)
        for i, other in enumerate(robots_of(robot, P)):
            (expected,) = evaluate(other.program(function), *(x[i] for x in inputs))
            assert error(found[i], expected) <= 1e-11
    q, qd, qdd = arguments(robot, "inverse_dynamics", (ROWS,))
    tau = np.einsum("bij,bj->bi", robot.regressor(q, qd, qdd), P)
    assert error(robot.inverse_dynamics(q, qd, qdd, parameters=P), tau) <= 1e-12


def test_a_wrong_number_of_parameters_is_refused():
    robot = Robot.load("rp")
    with pytest.raises(ValueError, match=r"parameters: expected \(\.\.\., \d+\), found"):
        robot.gravity(np.zeros(2), parameters=robot.parameters[:-1])
