"""Long programs: cut into parts, and as wide as the registers; the results stay."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels.llvm import body as llvm
from armdyn.kernels.llvm import compiled as compiled_module
from armdyn.kernels.llvm.code import Lane
from armdyn.program import OPS, evaluate
from arms import slowly
from kernel_tools import arguments, as_tuple, error, kernel_of
from long_chains import chain


def parts(program):
    return list(llvm._Emitter(program, Lane("double", 8)).segments())


@pytest.mark.parametrize("segment", [slowly(1), 7, slowly(50)])
@pytest.mark.parametrize("function", ["inverse_dynamics", "coriolis", "inverse_dynamics_derivatives"])
def test_parts_give_the_same_results(monkeypatch, fresh_cache, segment, function):
    monkeypatch.setattr(llvm, "SEGMENT", segment)
    robot = Robot.load("elbow")
    program = robot.program(function)
    operations = sum(program.counts.values())
    assert len(parts(program)) >= -(-operations // segment)
    for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
        inputs = [x.astype(dtype) for x in arguments(robot, function, (19,))]
        found = as_tuple(getattr(robot, function)(*inputs))
        for x, y in zip(found, evaluate(program, *inputs), strict=True):
            assert error(x, y) <= tolerance
    single = as_tuple(getattr(robot, function)(*(x[0] for x in arguments(robot, function, (1,)))))
    for x, y in zip(single, evaluate(program, *arguments(robot, function, (1,))), strict=True):
        assert error(x, y[0]) <= 1e-12


KINDS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b * 0.5,
    lambda a, b: a.sin(),
    lambda a, b: b.cos(),
    lambda a, b: a.maximum(b),
]


@pytest.mark.parametrize("segment", [1, 2, 3, 5, 8])
def test_parts_of_a_random_program(monkeypatch, fresh_cache, segment):
    """Values used once, often, late; results in every part; inputs and constants as results."""
    monkeypatch.setattr(llvm, "SEGMENT", segment)
    rng = np.random.default_rng(segment)

    def function(x):
        values = list(x)
        for _ in range(60):
            a, b = (values[i] for i in rng.integers(len(values), size=2))
            values.append(rng.choice(KINDS)(a, b))
        return [*values[::3], x[1], 2.5, x[1]]

    size = len(range(0, 64, 3)) + 3
    kernel = kernel_of(function, [4], [(size,)])
    assert len(parts(kernel.program)) > 1
    x = rng.uniform(-1, 1, (21, 4))
    (expected,) = evaluate(kernel.program, x)
    np.testing.assert_allclose(kernel(x), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(x[3]), expected[3], rtol=1e-12, atol=1e-12)


def test_parts_are_of_bounded_length():
    for program in (Robot.load("panda").program("coriolis"), chain(12).program("regressor")):
        emitter = llvm._Emitter(program, Lane("double", 8))
        lengths = [sum(program.nodes[i][0] in OPS for i in part) for part in emitter.parts]
        assert max(lengths) <= llvm.SEGMENT
        assert sum(lengths) == sum(program.counts.values())
        assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("register", [16, 32, 64])
@pytest.mark.parametrize("name", ["scara", slowly("stanford")])
def test_register_widths(monkeypatch, fresh_cache, register, name):
    monkeypatch.setattr(compiled_module, "vector_bytes", lambda: register)
    robot = Robot.load(name)
    for function in ("inverse_dynamics", "inertia"):
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-5)):
            for rows in (1, 3, 16, 21):
                inputs = [x.astype(dtype) for x in arguments(robot, function, (rows,))]
                (expected,) = evaluate(robot.program(function), *inputs)
                assert error(getattr(robot, function)(*inputs), expected) <= tolerance


@pytest.mark.slow
@pytest.mark.parametrize(
    "function", ["inverse_dynamics", "forward_dynamics", "inertia", "regressor", "coriolis"]
)
def test_thirty_joints(function):
    robot = chain(30)
    inputs = arguments(robot, function, (11,))
    (expected,) = evaluate(robot.program(function), *inputs)
    found = getattr(robot, function)(*inputs)
    tolerance = 1e-12
    if function == "forward_dynamics":
        (B,) = evaluate(robot.program("inertia"), inputs[0])
        tolerance = 1e-15 * 30 * np.linalg.cond(B).max()
    assert error(found, expected) <= tolerance
