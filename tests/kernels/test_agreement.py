"""Kernels = the evaluator of their programs = the algorithms on plain floats."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from armdyn import Robot
from armdyn.model import Transform
from armdyn.model.parameters import layout, mechanism_with
from armdyn.program import evaluate
from armdyn.robot.functions import BASE_INPUTS, FUNCTIONS
from arms import generators, related, robots, slowly
from kernel_tools import arguments, as_tuple, error, over

QUICK = ("rp", "scara")
OTHERS = ("pendulum", "cartesian", "cartesian45", "planar3", "pr", "rmit2r", "elbow", "puma560", "planar")
BUNDLED = [*QUICK, *map(slowly, (*OTHERS, "panda", "stanford", "manutec_r3", "ur10"))]
DERIVED = [x for x in FUNCTIONS if "_derivatives" in x or "_hessian" in x]  # no algorithm of their own


@dataclass(frozen=True)
class Case:
    """A function of a robot with some of its optional inputs."""

    robot: Robot
    function: str
    optional: tuple[str, ...] = ()
    rows: int = 11  # a full register and some

    @property
    def kernel(self):
        return self.robot._kernels[(self.function, "", *self.optional)]

    def inputs(self, seed=0):
        return arguments(self.robot, self.function, (self.rows,), seed, self.optional)

    def by_algorithm(self, inputs, rows):
        """The algorithm of `dynamics/` on floats, row by row."""
        row = FUNCTIONS[self.function]
        results = []
        for i in range(rows):
            columns = [x[i].tolist() for x in inputs]
            given = dict(zip(self.optional, columns[len(row.inputs) :], strict=True))
            mechanism = self.robot.mechanism
            entries = layout(self.robot.model)
            if "parameters" in given:
                mechanism = mechanism_with(mechanism, given.pop("parameters"), entries)
            if self.function.endswith("regressor"):
                given["layout"] = entries
            results.append(row.algorithm(mechanism, *columns[: len(row.inputs)], **given))
        return np.array(results, dtype=float)

    @property
    def tolerance(self):
        """1e-12; what is solved for amplifies rounding by the condition of B."""
        if not self.function.startswith("forward"):
            return 1e-12
        q, *_ = self.inputs()
        (B,) = evaluate(self.robot.program("inertia"), q)
        return max(1e-12, 1e-15 * self.robot.n * np.linalg.cond(B).max())


def check(case):
    few = min(3, case.rows)
    inputs = case.inputs()
    found = as_tuple(case.kernel(*inputs))
    expected = evaluate(case.kernel.program, *inputs)
    for x, y in zip(found, expected, strict=True):
        assert error(x, y) <= case.tolerance
    if case.function not in DERIVED:
        assert error(found[0][:few], case.by_algorithm(inputs, few)) <= case.tolerance
    for i in range(few):  # single calls
        for x, y in zip(as_tuple(case.kernel(*(x[i] for x in inputs))), expected, strict=True):
            assert error(x, y[i]) <= case.tolerance


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_robots(name, function):
    check(Case(Robot.load(name), function))


def optional_inputs():
    for function, row in FUNCTIONS.items():
        groups = [("wrench",), ("parameters",), ("wrench", "parameters"), BASE_INPUTS]
        groups.append(("wrench", "parameters", *BASE_INPUTS))
        for group in groups:
            if set(group) <= set(row.optional):
                yield function, group


OPTIONAL = list(optional_inputs())


@pytest.mark.parametrize(("function", "optional"), OPTIONAL)
@pytest.mark.parametrize("name", ["scara", pytest.param("puma560", marks=pytest.mark.slow)])
def test_optional_inputs(name, function, optional):
    check(Case(Robot.load(name), function, optional))


def test_every_optional_input_is_tested():
    used = {(function, name) for function, group in OPTIONAL for name in group}
    assert used == {(function, name) for function, row in FUNCTIONS.items() for name in row.optional}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_methods_call_their_kernels(function):
    """robot.function(...) with and without optional inputs is the kernel of that name."""
    robot = Robot.load("scara")
    inputs = arguments(robot, function, (5,))
    method = getattr(robot, function)
    for x, y in zip(as_tuple(method(*inputs)), as_tuple(robot._kernels[function](*inputs)), strict=True):
        np.testing.assert_array_equal(x, y)
    for name in FUNCTIONS[function].optional:
        if name in ("wrench", "parameters"):
            (value,) = arguments(robot, function, (5,), 3, [name])[len(inputs) :]
            kernel = robot._kernels[(function, "", name)]
            for x, y in zip(
                as_tuple(method(*inputs, **{name: value})), as_tuple(kernel(*inputs, value)), strict=True
            ):
                np.testing.assert_array_equal(x, y)


SMALL = ("inverse_dynamics", "forward_dynamics", "inertia", "jacobian_dot", "kinetic_energy", "friction")


@over(robots((1, 4), rotors=("exact", "reflected", "none")), generators(), examples=3)
def test_random_arms(robot, rng):
    for function in SMALL:
        check(Case(robot, function, rows=int(rng.integers(1, 12))))
    check(Case(robot, "inverse_dynamics", ("wrench", "parameters", *BASE_INPUTS)))


@over(robots((2, 4)), generators(), examples=2)
def test_random_arms_with_relations(robot, rng):
    robot = Robot(related(robot.model, int(rng.integers(2**31))))
    for function in SMALL:
        check(Case(robot, function, rows=int(rng.integers(1, 12))))
    check(Case(robot, "inverse_dynamics", ("wrench", "parameters", *BASE_INPUTS)))


@pytest.mark.slow
@over(robots((1, 5), rotors=("exact", "reflected", "none")), examples=5)
def test_every_function_of_random_arms(robot):
    for function in FUNCTIONS:
        check(Case(robot, function))
    for function, optional in OPTIONAL:
        check(Case(robot, function, optional))


# ---- single precision --------------------------------------------------------------------------------------

BOTH = ("scara", *map(slowly, ("stanford", "panda")))


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("name", BOTH)
def test_single_precision(name, function):
    case = Case(Robot.load(name), function, rows=21)
    inputs = [x.astype(np.float32) for x in case.inputs()]
    found = as_tuple(case.kernel(*inputs))
    condition = case.tolerance / 1e-12 if function.startswith("forward") else 1
    for x, y in zip(found, evaluate(case.kernel.program, *inputs), strict=True):
        assert x.dtype == np.float32
        assert error(x, y) <= 1e-5 * max(1, condition)


def test_single_precision_of_optional_inputs():
    case = Case(Robot.load("scara"), "inverse_dynamics", ("wrench", "parameters", *BASE_INPUTS), rows=21)
    inputs = [x.astype(np.float32) for x in case.inputs()]
    (expected,) = evaluate(case.kernel.program, *inputs)
    assert error(case.kernel(*inputs), expected) <= 1e-5


# ---- derived functions against what they mean --------------------------------------------------------------


@pytest.mark.parametrize("name", ["scara", slowly("stanford")])
def test_forward_derivatives_invert_inverse_derivatives(name):
    robot = Robot.load(name)
    q, qd, tau = arguments(robot, "forward_dynamics", (9,))
    qdd = robot.forward_dynamics(q, qd, tau)
    by_q, by_qd, by_tau = robot.forward_dynamics_derivatives(q, qd, tau)
    inverse_q, inverse_qd, B = robot.inverse_dynamics_derivatives(q, qd, qdd)
    tolerance = 1e-14 * robot.n * np.linalg.cond(B).max()
    assert error(B @ by_tau, np.broadcast_to(np.eye(robot.n), B.shape)) <= tolerance
    assert error(B @ by_q, -inverse_q) <= tolerance
    assert error(B @ by_qd, -inverse_qd) <= tolerance
    assert error(B, robot.inertia(q)) <= 1e-12


def test_frames_of_links():
    robot = Robot.load("stanford")
    q, qd = arguments(robot, "jacobian_dot", (9,))
    for link in list(robot.model.index)[1:4]:
        moved = Robot(replace(robot.model, tip=link, tool=Transform()))
        np.testing.assert_array_equal(robot.pose(q, link), moved.pose(q))
        np.testing.assert_array_equal(robot.jacobian(q, link), moved.jacobian(q))
        np.testing.assert_array_equal(robot.jacobian_dot(q, qd, link), moved.jacobian_dot(q, qd))
