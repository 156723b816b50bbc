"""Simulations on CuPy arrays and on NumPy arrays: the same runs."""

import warnings
from dataclasses import fields
from functools import lru_cache

import numpy as np
import pytest

from armdyn import ComputedTorque, FrictionCompensation, PDGravity, Robot, Trajectory, backend, simulate
from armdyn.motion.loads import Carried, Load
from armdyn.simulation import SimulationError, SimulationWarning
from arms import Part, Plan, table_of
from closed_chains import four_bar, reference

pytestmark = pytest.mark.filterwarnings("ignore::armdyn.PhysicsWarning")
COLUMNS = (
    "q",
    "qd",
    "tau",
    "torque_work",
    "wrench",
    "wrench_work",
    "dissipated",
    "memory",
    "closed",
    "energy",
    "balance",
)
ARMS, H = 5, 2e-3


@lru_cache
def arm(seed: int, friction: bool = False, **limits) -> Robot:
    """A turning and a sliding joint with full inertias; motors with any axes, one on the other's link."""
    parts = (
        Part("one", "base", "revolute", "two", (), friction),
        Part("two", "one", "prismatic", "base", ("one",) if friction else (), friction),
    )
    table = table_of(Plan(parts, "exact", "two", seed))
    for link in table["link"]:
        link["limits"] = {name: list(x) if isinstance(x, tuple) else x for name, x in limits.items()}
    return Robot.from_dict(table)


def states(robot: Robot, seed: int = 0, arms: tuple[int, ...] = (ARMS,)) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, (*arms, robot.n)), rng.uniform(-1, 1, (*arms, robot.n))


def quietly(*args, **kwargs):
    """A run and the texts of its warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run = simulate(*args, method="rk4", step=H, **kwargs)
    return run, [str(one.message) for one in told if one.category is SimulationWarning]


def moved(cupy, x, layout=None):
    """Arrays on the GPU; layout "F": arms adjacent in memory."""
    return cupy.asarray(x, order=layout) if isinstance(x, np.ndarray) else x


def compare(cupy, robot, q, qd, torque=None, *, layout=None, duration=0.05, tolerance=1e-12, **more):
    """Both runs, one with the arrays among its arguments on the GPU; all that they have is the same."""
    with backend("evaluator"):
        expected, said = quietly(robot, q, qd, duration, torque, **more)
    given = [moved(cupy, x, layout) for x in (q, qd)]
    wrench = moved(cupy, more.pop("wrench", None), layout)
    found, told = quietly(robot, *given, duration, moved(cupy, torque, layout), wrench=wrench, **more)
    assert told == said
    for name in COLUMNS:
        x, y = getattr(found, name), getattr(expected, name)
        if y is None:
            assert x is None
            continue
        assert type(x).__module__ == "cupy", name
        assert x.shape == y.shape
        scale = max(1.0, float(np.nanmax(np.abs(y), initial=0.0)))
        np.testing.assert_allclose(x.get(), y, rtol=0, atol=tolerance * scale, err_msg=name)
    assert isinstance(found.t, np.ndarray)
    assert found.events == expected.events
    for one in fields(found):
        if one.name not in (*COLUMNS, "robot", "carried", "limits_passed", "events"):
            assert np.array_equal(getattr(found, one.name), getattr(expected, one.name)), one.name
    assert [x._replace(time=0) for x in found.limits_passed] == [
        x._replace(time=0) for x in expected.limits_passed
    ]
    return found


@pytest.mark.parametrize("layout", ["C", "F"])
def test_constant_torques_and_a_wrench_for_each_arm(cupy, layout):
    robot = arm(1)
    rng = np.random.default_rng(1)
    torque, wrench = rng.normal(size=(ARMS, 2)), rng.normal(size=(ARMS, 6))
    compare(cupy, robot, *states(robot), torque, wrench=wrench, layout=layout, output=4 * H)


@pytest.mark.slow
def test_torques_over_time_and_two_axes_of_arms(cupy):
    robot = arm(1)
    torque = np.random.default_rng(2).normal(size=(8, 3, 2, 2))
    compare(cupy, robot, *states(robot, arms=(3, 2)), torque)


@pytest.mark.slow
def test_one_arm(cupy):
    robot = arm(1)
    compare(cupy, robot, *states(robot, arms=()), np.array([0.3, -0.2]))


def test_dry_friction(cupy):
    robot = arm(3, friction=True)
    found = compare(cupy, robot, *states(robot), output=5 * H, duration=0.3)
    assert found.events
    assert found.notes


@pytest.mark.parametrize("rate", [None, pytest.param(250.0, marks=pytest.mark.slow)])
def test_a_controller_with_gains_of_numpy(cupy, rate):
    robot = arm(1)
    move = Trajectory.quintic(np.zeros(2), np.array([0.3, -0.2]), 0.04)
    law = ComputedTorque(robot, move, stiffness=40.0, rate=rate)
    compare(cupy, robot, *states(robot), law)


def test_a_controller_with_gains_for_each_arm(cupy):
    robot = arm(1, torque=3.0)
    law = PDGravity(robot, np.zeros(2), np.arange(2.0 * ARMS).reshape(ARMS, 2), 1.0, saturated=True)
    compare(cupy, robot, *states(robot), law)


@pytest.mark.slow
def test_loads_are_picked_up(cupy):
    robot = arm(1)
    loads = (Carried(0.02, 0.04, Load.of(2.0, (0.1, 0.0, 0.2))),)
    law = PDGravity(robot, np.zeros(2), 40.0, 4.0)
    compare(cupy, robot, *states(robot), law, loads=loads)


@pytest.mark.parametrize("limits", ["warn", "stop", pytest.param("ignore", marks=pytest.mark.slow)])
def test_limits_of_positions_and_motors(cupy, limits):
    robot = arm(1, position=(-0.6, 0.6))
    found = compare(cupy, robot, *states(robot), limits=limits, duration=0.2)
    if limits != "ignore":
        assert found.limits_passed
        assert found.completed == (limits == "warn")


def test_arms_that_diverge(cupy):
    robot = arm(1)
    q, qd = states(robot)
    torque = np.zeros((ARMS, 2))
    torque[2] = 1e8
    found = compare(cupy, robot, q, qd, torque, tolerance=1e-9)
    assert not found.completed
    assert "arm (2,): it diverged" in found.message


@pytest.mark.slow
def test_a_four_bar(cupy):
    robot = four_bar()
    rng = np.random.default_rng(7)
    q = reference(robot) + rng.uniform(-0.1, 0.1, (ARMS, robot.n))
    found = compare(cupy, robot, q, rng.normal(size=(ARMS, robot.n)), np.full(robot.n, 0.1), tolerance=1e-11)
    y = robot.assembly(cupy.asarray(q))
    np.testing.assert_allclose(y.get(), robot.assembly(q), atol=1e-13)
    np.testing.assert_allclose(robot.inertia(cupy.asarray(q)).get(), robot.inertia(q), rtol=1e-12)
    np.testing.assert_allclose(
        robot.kinetic_energy(found.closed, found.qd).get(), found.kinetic.get(), rtol=1e-12
    )


@pytest.mark.slow
def test_in_single_precision(cupy):
    robot = arm(1)
    q, qd = states(robot)
    torque = np.random.default_rng(8).normal(size=(ARMS, 2))
    with backend("evaluator"):
        expected, _ = quietly(robot, q, qd, 0.2, torque)
    given = [cupy.asarray(x, dtype=np.float32) for x in (q, qd)]
    found, told = quietly(robot, *given, 0.2, torque)
    assert told == []
    for name in ("q", "qd", "tau", "energy"):
        x, y = getattr(found, name), getattr(expected, name)
        assert x.dtype == np.float32
        np.testing.assert_allclose(x.get(), y, atol=1e-4 * np.abs(y).max())
    assert quietly(robot, given[0], cupy.asarray(qd), H)[0].q.dtype == np.float64


def test_the_gpu_is_waited_for_a_few_times(stand_in):
    robot = arm(1)
    q, qd = map(stand_in.asarray, states(robot))
    counts = []
    for duration in (10 * H, 100 * H):
        stand_in.waits.clear()
        quietly(robot, q, qd, duration, np.ones(2), limits="ignore")
        counts.append(len(stand_in.waits))
    assert counts[0] == counts[1] <= 8


def test_what_a_gpu_cannot_do_is_refused(cupy):
    robot = arm(1)
    q, qd = states(robot)
    x, v = cupy.asarray(q), cupy.asarray(qd)
    bad = cupy.asarray(np.where(np.arange(ARMS)[:, None] == 3, np.nan, q))
    law = FrictionCompensation(arm(3, friction=True))
    for problem, args, more in (
        ("method: found 'adaptive'; CuPy arrays are simulated with method='rk4'", (x, v, 0.1), {}),
        (
            "torque: found a function of Python, which a GPU cannot call",
            (x, v, 0.1, lambda t, q, qd: q),
            {"method": "rk4"},
        ),
        ("wrench: found a function of Python", (x, v, 0.1), {"wrench": lambda t, q, qd: 0, "method": "rk4"}),
        ("torque: found a CuPy array; then q0 and qd0 must be", (q, qd, 0.1, x), {"method": "rk4"}),
        (r"q0: expected finite numbers, found nan at \(3, 0\)", (bad, v, 0.1), {"method": "rk4"}),
        (r"q0: expected one number or \(\.\.\., 2\), found \(5, 1\)", (x[:, :1], v, 0.1), {"method": "rk4"}),
        ("qd0: expected numbers, found an array of truth values", (x, v > 0, 0.1), {"method": "rk4"}),
        ("wrench: expected an array or a function", (x, v, 0.1), {"wrench": law, "method": "rk4"}),
        (r"would take .* GiB; this GPU has", (x, v, 1e5), {"method": "rk4", "step": 1e-7}),
    ):
        with pytest.raises(SimulationError, match=problem):
            simulate(robot, *args, **more)
