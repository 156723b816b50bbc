"""Numeric functions on CuPy arrays: layouts, strides, types, broadcasting, `out=`, parts, errors.

Without a GPU the CUDA text is compiled as C++ (`cupy_on_cpu.py`), so that what is tested is the text itself.
"""

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

from armdyn import ArmdynError, BaseMotion, Robot
from armdyn.kernels import cuda
from armdyn.kernels import cupy as on_cupy
from armdyn.robot import functions
from armdyn.robot.functions import FUNCTIONS
from arms import Part, Plan, slowly, table_of
from golden_messages import golden_error

ROWS = 70  # two warps and a bit
PLAN = Plan(
    (
        Part("a", "base", "revolute", "base", ("c",), True),
        Part("b", "a", "prismatic", "a", (), True),
        Part("c", "b", "revolute", "a", ("b",), False),
    ),
    "exact",
    "c",
    11,
)


@pytest.fixture(scope="module")
def robot():
    """Full tensors, a slide, coupled rotors on other links, friction."""
    return Robot.from_dict(table_of(PLAN))


def states(robot, count, *lead, dtype=float, seed=3):
    rng = np.random.default_rng(seed)
    return [rng.uniform(0.2, 1.5, (*lead, robot.n)).astype(dtype) for _ in range(count)]


def batch_last(cupy, x):
    """The same array, laid out with its leading axes contiguous."""
    return cupy.asarray(np.ascontiguousarray(np.moveaxis(x, -1, 0))).transpose(*range(1, x.ndim), 0)


def agree(found, expected, tolerance=1e-12):
    """Errors relative to the largest entry of each row."""
    assert found.shape == expected.shape
    rows = np.abs(expected).reshape(len(expected), -1).max(1).reshape(-1, *[1] * (expected.ndim - 1))
    assert (np.abs(found.get() - expected) <= tolerance * rows).all()


@pytest.mark.parametrize("layout", ["rows", "batch"])
@pytest.mark.parametrize(
    "name", ["inertia", "pose", *map(slowly, ("inverse_dynamics", "regressor", "kinetic_energy"))]
)
def test_functions(cupy, robot, name, layout):
    given = states(robot, len(FUNCTIONS[name].inputs), ROWS)
    place = cupy.asarray if layout == "rows" else lambda x: batch_last(cupy, x)
    found = getattr(robot, name)(*map(place, given))
    assert type(found).__module__.startswith("cupy")
    agree(found, getattr(robot, name)(*given))
    if layout == "batch":  # results are laid out as the first input
        assert found.strides[0] == 8
    else:
        assert found.flags.c_contiguous


@pytest.mark.parametrize("layout", ["rows", "batch"])
def test_calls_again_with_arrays_of_the_same_layout(cupy, robot, layout):
    place = cupy.asarray if layout == "rows" else lambda x: batch_last(cupy, x)
    for rows, dtype, seed in (
        (ROWS, float, 1),
        (ROWS, float, 2),
        (5, float, 3),
        (ROWS, np.float32, 4),
    ):
        given = states(robot, 3, rows, dtype=dtype, seed=seed)
        expected = robot.inverse_dynamics_derivatives(*(x.astype(float) for x in given))
        for _ in range(3):
            found = robot.inverse_dynamics_derivatives(*map(place, given))
            for y, right in zip(found, expected, strict=True):
                assert y.dtype == dtype
                agree(y, right, 1e-12 if dtype is float else 1e-5)
            given, expected = [x[::-1] for x in given], tuple(x[::-1] for x in expected)


def test_empty_batches_again(cupy, robot):
    for _ in range(3):
        found = robot.inertia(cupy.asarray(np.zeros((0, robot.n))))
        assert found.shape == (0, robot.n, robot.n)


def test_a_result_given_before_and_after_a_new_one(cupy, robot):
    given = states(robot, 3, ROWS)
    arrays, expected = [cupy.asarray(x) for x in given], robot.inverse_dynamics(*given)
    for out in (batch_last(cupy, np.zeros_like(expected)), None, cupy.asarray(np.zeros_like(expected)), None):
        found = robot.inverse_dynamics(*arrays, out=out)
        assert out is None or found is out
        agree(found, expected)
        assert out is not None or found.flags.c_contiguous


def test_threads_with_arrays_of_the_same_layout(cupy, robot):
    given = [states(robot, 3, ROWS, seed=seed) for seed in range(8)]
    expected = [robot.inverse_dynamics(*x) for x in given]

    def found(k):
        return [robot.inverse_dynamics(*map(cupy.asarray, given[k])) for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        for several, right in zip(pool.map(found, range(8)), expected, strict=True):
            for y in several:
                agree(y, right)


def test_several_results(cupy, robot):
    given = states(robot, 3, ROWS)
    for place in (cupy.asarray, lambda x: batch_last(cupy, x)):
        found = robot.inverse_dynamics_derivatives(*map(place, given))
        for y, expected in zip(found, robot.inverse_dynamics_derivatives(*given), strict=True):
            agree(y, expected)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_rows_that_are_stored_whole(cupy, dtype):
    arm = Robot.load("ur10")
    given = states(arm, 3, ROWS, dtype=dtype)
    found = arm.regressor(*map(cupy.asarray, given))
    expected = arm.regressor(*(x.astype(float) for x in given))
    assert expected[0].size > cuda.LONG_ROW
    agree(found, expected, 1e-12 if dtype is float else 1e-5)
    assert (found.get()[:, (expected == 0).all(0)] == 0).all()


def test_programs_that_are_too_long_run_as_loops_where_they_can(cupy, monkeypatch):
    monkeypatch.setattr(on_cupy, "LONGEST", 100)
    arm = Robot.load("scara")
    given = states(arm, 3, ROWS)
    expected = arm.inverse_dynamics_second_derivatives(*given)
    for place in (cupy.asarray, lambda x: batch_last(cupy, x)):
        for _ in range(2):  # the second call is prepared
            found = arm.inverse_dynamics_second_derivatives(*map(place, given))
            for y, right in zip(found, expected, strict=True):
                assert y.shape == right.shape
                assert (abs(y.get() - right) <= 1e-12 * abs(right).max()).all()


def test_loops_along_one_axis_are_prepared_and_copy_nothing(cupy, monkeypatch):
    monkeypatch.setattr(functions, "LONG", 1)
    robot = Robot.from_dict(table_of(PLAN))
    q, qd, tau = states(robot, 3, ROWS)
    kernel = robot._kernels["forward_dynamics_derivatives"].on("cuda")
    given = cupy.asarray(q), batch_last(cupy, qd), cupy.asarray(tau[0])
    for k in range(3):
        found = robot.forward_dynamics_derivatives(*given)
        expected = robot.forward_dynamics_derivatives(q, qd, tau[0])
        for y, right in zip(found, expected, strict=True):
            agree(y, right, 1e-11)
        if k == 0:
            monkeypatch.setattr(kernel, "_run_loop", None)  # what is prepared has no need of it
            monkeypatch.setattr(kernel, "_launch", None)


def test_symbols_by_row(cupy):
    arm = Robot.load("planar")
    q, lengths = states(arm, 1, ROWS)[0], np.linspace(1, 2, ROWS)
    expected = arm.gravity(q, symbols={"g": 9.0, "a1": lengths})
    agree(arm.gravity(cupy.asarray(q), symbols={"a1": cupy.asarray(lengths), "g": 9.0}), expected)
    plain = arm.gravity(cupy.asarray(q), symbols={"a1": 1.5})
    agree(plain, arm.gravity(q, symbols={"a1": 1.5}))
    with golden_error(TypeError):
        arm.gravity(cupy.asarray(q), symbols={"a1": lengths})


def test_optional_inputs_by_row(cupy, robot):
    q, qd, qdd = states(robot, 3, ROWS)
    rng = np.random.default_rng(2)
    wrench = rng.uniform(-5, 5, (ROWS, 6))
    parameters = robot.parameters * rng.uniform(0.8, 1.2, (ROWS, len(robot.parameters)))
    given = [cupy.asarray(x) for x in (q, qd, qdd, wrench, parameters)]
    found = robot.inverse_dynamics(*given[:4], parameters=given[4])
    agree(found, robot.inverse_dynamics(q, qd, qdd, wrench, parameters=parameters))
    by_links = {"b": given[3], "c": given[3]}
    expected = robot.inverse_dynamics(q, qd, qdd, {"b": wrench, "c": wrench})
    agree(robot.inverse_dynamics(*given[:3], by_links), expected)


def test_a_base_whose_motion_is_partly_left_out(cupy):
    robot = Robot.load("pendulum")
    q, lift = np.full((2, 1), 0.3), np.array([[0.0, 0.0, 1.0], [2.0, 0.0, 0.0]])
    x = cupy.asarray(q)
    found = robot.inverse_dynamics(x, x, x, base=BaseMotion(linear_acceleration=cupy.asarray(lift)))
    agree(found, robot.inverse_dynamics(q, q, q, base=BaseMotion(linear_acceleration=lift)))
    agree(robot.inverse_dynamics(x, x, [0.5]), robot.inverse_dynamics(q, q, [0.5]))  # a list, too


def test_single_precision(cupy, robot):
    given = states(robot, 3, ROWS, dtype=np.float32)
    found = robot.inverse_dynamics(*map(cupy.asarray, given))
    assert found.dtype == np.float32
    agree(found, robot.inverse_dynamics(*(x.astype(float) for x in given)), 1e-5)
    mixed = robot.inverse_dynamics(
        cupy.asarray(given[0]), cupy.asarray(given[1].astype(float)), cupy.asarray(given[2])
    )
    assert mixed.dtype == np.float64


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (), ()),
        ((ROWS,), (), (1,)),
        ((), (ROWS,), (ROWS,)),
        ((5, 1), (7,), (5, 7)),
        ((4, 1, 3), (2, 1), (4, 2, 3)),
        ((0,), (), ()),
    ],
)
def test_broadcasting(cupy, robot, shapes):
    rng = np.random.default_rng(1)
    given = [rng.uniform(0.2, 1.5, (*lead, robot.n)) for lead in shapes]
    found = robot.inverse_dynamics(*map(cupy.asarray, given))
    np.testing.assert_allclose(found.get(), robot.inverse_dynamics(*given), rtol=1e-11, atol=1e-11)


def test_any_strides(cupy, robot):
    """Slices, steps, reversed and transposed arrays are read where they are."""
    rng = np.random.default_rng(4)
    big = rng.uniform(0.2, 1.5, (2 * ROWS, 3, robot.n + 2))
    views = [
        lambda x: x[::2, 0, 1 : robot.n + 1],
        lambda x: x[::-2, 1, : robot.n],
        lambda x: x[:ROWS, 2, robot.n + 1 : 1 : -1],
    ]
    given = [view(big) for view in views]
    there = cupy.asarray(big)
    found = robot.inverse_dynamics(*(view(there) for view in views))
    agree(found, robot.inverse_dynamics(*given))
    cube = rng.uniform(0.2, 1.5, (4, 5, robot.n)).transpose(1, 0, 2)
    agree(robot.gravity(cupy.asarray(cube.copy().transpose(1, 0, 2)).transpose(1, 0, 2)), robot.gravity(cube))


def test_nothing_waits(stand_in, robot):
    given = [stand_in.asarray(x) for x in states(robot, 3, ROWS)]
    robot.inverse_dynamics(*given)
    before = list(stand_in.waits)
    robot.inverse_dynamics(*given)
    assert stand_in.waits == before


def test_given_results(cupy, robot):
    q, qd, qdd = states(robot, 3, ROWS)
    expected = robot.inverse_dynamics(q, qd, qdd)
    given = [cupy.asarray(x) for x in (q, qd, qdd)]
    out = cupy.zeros((ROWS, robot.n))
    assert robot.inverse_dynamics(*given, out=out) is out
    agree(out, expected)
    narrow = cupy.zeros((ROWS, robot.n), np.float32)
    agree(robot.inverse_dynamics(*given, out=narrow), expected, 1e-6)
    columns = cupy.zeros((robot.n, ROWS)).T
    agree(robot.inverse_dynamics(*given, out=columns), expected)
    robot.inverse_dynamics(*given, out=given[0])  # over an input
    agree(given[0], expected)
    skewed = cupy.zeros((ROWS, robot.n, 2 * robot.n))[:, :, ::2]
    agree(robot.inertia(cupy.asarray(q), out=skewed), robot.inertia(q))


@pytest.mark.slow
def test_long_programs_in_parts(cupy, robot, monkeypatch):
    """The same results, whatever registers hold."""
    given = states(robot, 3, ROWS)
    expected = robot.regressor(*given)
    program = robot.program("regressor")
    limit = cuda.most_alive(program) // 2
    monkeypatch.setattr(cuda, "REGISTERS", {"double": limit, "float": limit})
    monkeypatch.setattr(cuda, "SPILL", 1000)
    assert len(cuda.parts_of(program, "double")) > 1
    fresh = Robot.from_dict(table_of(PLAN))
    for place in (cupy.asarray, lambda x: batch_last(cupy, x)):
        agree(fresh.regressor(*map(place, given)), expected)


def test_robots_that_differ_in_numbers_share_their_code(cupy, robot):
    q, qd, qdd = states(robot, 3, ROWS)
    given = [cupy.asarray(x) for x in (q, qd, qdd)]
    for mass in (1.0, 2.0, 3.0):
        heavier = robot.with_payload(mass)
        agree(heavier.inverse_dynamics(*given), heavier.inverse_dynamics(q, qd, qdd))


def test_numbers_of_robots_are_there_whatever_the_stream(stand_in, robot, monkeypatch):
    """They are copied on a stream of their own, which is waited for once: another may be used next."""
    given = [stand_in.asarray(x) for x in states(robot, 3, ROWS)]
    used, asarray = [], stand_in.asarray
    monkeypatch.setattr(
        stand_in,
        "asarray",
        lambda *x, **k: used.append(stand_in.cuda.get_current_stream()) or asarray(*x, **k),
    )
    robot.inverse_dynamics(*given)
    heavier = robot.with_payload(7.0)
    before = list(stand_in.waits)
    with stand_in.cuda.Stream() as stream:
        heavier.inverse_dynamics(*given)
        heavier.inverse_dynamics(*given)
    assert used
    assert stream not in used
    assert stand_in.waits == [*before, "synchronize"]


def test_text_is_written_once_for_any_number_of_rows_and_threads(cupy, robot, monkeypatch):
    written = []
    original = on_cupy.array_text
    monkeypatch.setattr(on_cupy, "array_text", lambda *x: written.append(x) or original(*x))
    fresh = robot.with_payload(0.5)
    on_gpu = fresh._kernels["gravity"].on("cuda")
    form = on_cupy.Access(1, (False,) * (len(on_gpu._form.program.inputs) + 1), 48 * 1024)
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: on_gpu._code("double", form, 0), range(4)))) == 1
    assert len(written) == 1
    for rows in (5, 6, 7):
        fresh.gravity(cupy.zeros((rows, robot.n)))
    assert len(written) <= 2  # the GPU's own shared memory makes another form


def test_layout_of_results_where_the_first_input_is_broadcast(cupy, robot):
    q, rows = cupy.broadcast_to(cupy.zeros(robot.n), (ROWS, robot.n)), cupy.zeros((ROWS, robot.n))
    assert robot.inverse_dynamics(q, rows, rows).flags.c_contiguous


def test_constants_that_overflow_single_precision(cupy, robot):
    q = cupy.zeros((2, robot.n), np.float32)
    heavy = Robot.load("pendulum").with_payload(1e39)
    with golden_error(ArmdynError):
        heavy.gravity(q[:, :1])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda cp, q: (q, np.zeros(3), q), TypeError),
        (lambda cp, q: (q, q, [0, 0]), ArmdynError),
        (lambda cp, q: (q, q, [0, "a", 0]), TypeError),
        (lambda cp, q: (q[:, :2], q, q), ArmdynError),
        (lambda cp, q: (q, q[:5], q), ArmdynError),
        (lambda cp, q: (q, q > 0, q), TypeError),
    ],
)
def test_wrong_arrays(cupy, robot, wrong, error):
    q = cupy.asarray(states(robot, 1, ROWS)[0])
    with golden_error(error):
        robot.inverse_dynamics(*wrong(cupy, q))


def test_wrong_results(cupy, robot):
    q = cupy.asarray(states(robot, 1, ROWS)[0])
    with pytest.raises(ArmdynError, match=r"out: expected \(70, 3\), found \(3,\)"):
        robot.gravity(q, out=cupy.zeros(3))
    with pytest.raises(TypeError, match="out: expected a CuPy array"):
        robot.gravity(q, out=np.zeros((ROWS, 3)))
    with pytest.raises(TypeError, match="out: expected an array of floats"):
        robot.gravity(q, out=cupy.zeros((ROWS, 3), np.int64))
    with golden_error(ArmdynError):
        robot.gravity(q, out=cupy.broadcast_to(cupy.zeros(3), (ROWS, 3)))
    empty = cupy.zeros((2, 0, 3))  # its strides are 0, too
    assert robot.gravity(empty, out=cupy.zeros_like(empty)).shape == (2, 0, 3)


def test_wrong_arrays_of_a_robot_with_loops(cupy):
    robot = Robot.load("four_bar")
    q = robot.assembly.reference
    with golden_error(ArmdynError):
        robot.inertia(cupy.asarray(q) > 0)
    with golden_error(ArmdynError):
        robot.assembly(q, near=cupy.asarray(robot.assembly(q)))


def test_arrays_on_another_device(stand_in, robot):
    class Elsewhere(stand_in.ndarray):
        device = SimpleNamespace(id=1)

    q, away = stand_in.zeros((2, robot.n)), Elsewhere((2, robot.n))
    with golden_error(ArmdynError):
        robot.kinetic_energy(q, away)
    with golden_error(ArmdynError):
        robot.gravity(q, out=away)
    with golden_error(ArmdynError):
        robot.inverse_dynamics(q, q, q, {"b": stand_in.zeros(6), "c": Elsewhere(6)})


def test_functions_that_are_loops(cupy, monkeypatch):
    monkeypatch.setattr(functions, "LONG", 1)
    robot = Robot.from_dict(table_of(PLAN))
    q, qd, tau = states(robot, 3, 6, 5)
    expected = robot.forward_dynamics_derivatives(q, qd[0], tau[0, 0])
    for place in (cupy.asarray, lambda x: batch_last(cupy, x)):
        found = robot.forward_dynamics_derivatives(*map(place, (q, qd[0], tau[0, 0])))
        for y, right in zip(found, expected, strict=True):
            agree(y, right, 1e-11)


def test_programs_that_are_too_long(cupy, robot, monkeypatch):
    monkeypatch.setattr(cuda, "LONGEST", 100)
    fresh = Robot.from_dict(table_of(PLAN)).with_payload(4.0)
    with pytest.raises(
        ArmdynError, match=r"inertia: a program of \d+ operations is too long for a GPU; at most 100"
    ):
        fresh.inertia(cupy.asarray(states(robot, 1, 2)[0]))
