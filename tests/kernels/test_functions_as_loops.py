"""Functions that are loops around programs, and long ones whose code for few rows and for many is apart."""

import pickle
import random
import re

import numpy as np
import pytest

import armdyn
from armdyn import Robot
from armdyn.kernels import Kernel, Specification
from armdyn.kernels.llvm import body, compiled, machine
from armdyn.program import record
from armdyn.program.evaluate import evaluate
from armdyn.program.loops import Argument, Call, Copy, Each, Fetch, For, If, Local, Loop, Save, Set
from armdyn.program.loops import Counter as LoopCounter
from armdyn.robot import functions
from arms import plans, slowly, state, table_of
from branched_arms import dual_arm
from closed_chains import five_bar
from friction_arms import rubbing
from kernel_tools import Forgetful, arguments, as_tuple, error, over
from program_loops import LOOPS

FUNCTION = "forward_dynamics_derivatives"
WIDTHS = (16, 32, 64)  # bytes of a register


@pytest.fixture
def as_loops(monkeypatch):
    """Short arms take the way of long ones: a loop, and code for few rows and for many apart."""
    monkeypatch.setattr(functions, "LONG", 1)
    monkeypatch.setattr(compiled, "LARGE", 0)


@pytest.fixture
def texts(monkeypatch):
    """What is compiled, as text."""
    found, compile_ir = [], machine.compile_ir

    def kept(ir, *options):
        found.append(ir)
        return compile_ir(ir, *options)

    monkeypatch.setattr(machine, "compile_ir", kept)
    return found


def product(columns: int, size: int = 4, waved: bool = False) -> Kernel:
    """A vector and a matrix of that many columns; the matrix turned by a program, all of it negated first."""
    x, M, N, one = Local("x", 2), Local("M", size * columns), Local("N", size * columns), Local("one", 1)
    sizes = {"x": 2, "M": size * columns}
    given, results = [Argument(k, n) for k, n in sizes.items()], [Argument("y", size * columns, written=True)]

    def turned(x, one, column):
        first = column[0].sin() if waved else column[0]
        return [x[0] * first - one[0] * column[k] * x[1] for k in range(size)]

    program = record(turned, [("x", 2), ("one", 1), ("column", size)], [("y", (size,))])
    body = (
        *(Fetch(local.all, argument) for local, argument in zip((x, M), given, strict=True)),
        For(LoopCounter("i"), 0, 3, (Set(one.all, LoopCounter("i")),)),
        If(one.all, (Set(one.all, -5),)),
        Each("turned", columns, (x.all, one.all), (M.all,), (N.all,)),
        Save(results[0], 0, N.all),
    )
    loop = Loop("product", (), (*given, *results), body, {"turned": program})
    outputs = ((size, columns),)
    return Kernel(
        Specification(
            "product", tuple(sizes.items()), outputs, pytest.fail, loop.identity, None, lambda: loop
        )
    )


@pytest.mark.parametrize("register", WIDTHS)
@pytest.mark.parametrize("waved", [False, True], ids=["plain", "waved"])
def test_columns_in_registers(register, waved, monkeypatch):
    """Fewer columns than a register has room for, as many, and some more."""
    monkeypatch.setattr(compiled, "vector_bytes", lambda: register)
    monkeypatch.setattr(machine, "_loaded", Forgetful())
    monkeypatch.setenv("ARMDYN_CACHE", "/nowhere")
    for columns in (1, 3, 8, 21):
        kernel, rng = product(columns, waved=waved), np.random.default_rng(columns)
        x, M = rng.normal(size=(11, 2)), rng.normal(size=(11, 4 * columns))
        A = M.reshape(11, 4, columns)
        first = np.sin(A[:, :1]) if waved else A[:, :1]
        expected = x[:, :1, None] * first + 5 * A * x[:, 1:, None]
        assert error(kernel(x, M), expected) < 1e-14
        assert error(kernel(x[4], M[4]), expected[4]) < 1e-14
        with armdyn.backend("evaluator"):
            assert error(kernel(x, M), expected) < 1e-14


X, Z, A, Y, W = Local("x", 3), Local("z", 3), Argument("a", 3), Argument("y", 3, True), Argument("w", 3, True)


@pytest.mark.parametrize(
    "body",
    [
        (Fetch(X.all, A), Save(Y, 0, X.all), Save(W, 0, X.all)),
        (Fetch(X.all, A), Set(X[1], 5), Save(Y, 0, X.all), Save(W, 0, X.all)),
        (Set(X[1], 5), Save(Y, 0, X.all), Set(X[1], 6), Save(W, 0, X.all)),
        (Copy(Z.all, X.all), Fetch(X.all, A), Save(Y, 0, Z.all), Save(W, 0, X.all)),
        (Fetch(Z.all, A), Save(Y, 0, X.all), Save(Y, 0, Z.all), Set(X[0], 4), Save(W, 0, X.all)),
    ],
    ids=["handed on", "changed", "changed later", "read before", "saved over another"],
)
def test_arrays_that_might_lie_where_an_argument_is(body):
    """In no order of statements do two of them get into each other's way."""
    loop = Loop("moved", (), (A, Y, W), body, {})
    outputs = ((3,), (3,))
    kernel = Kernel(
        Specification("moved", (("a", 3),), outputs, pytest.fail, loop.identity, None, lambda: loop)
    )
    a = np.arange(30.0).reshape(10, 3)
    with armdyn.backend("evaluator"):
        expected = kernel(a)
    for found, y in zip(kernel(a), expected, strict=True):
        np.testing.assert_array_equal(found, y)


def test_results_lie_apart():
    x = Local("x", 6)
    with pytest.raises(ValueError, match="overlap"):
        Each("p", 3, (), (x.all,), (x[3:],))


# ---- derivatives of forward dynamics -----------------------------------------------------------------------


def agree(robot: Robot, rows: int = 10, optional=(), seed: int = 0) -> None:
    """The loop, in a batch and in single calls, and the program that is recorded for those who ask."""
    kernel = robot._kernel((FUNCTION, (), *optional))
    assert kernel.specification.loop is not None
    given = arguments(robot, FUNCTION, (rows,), seed, optional)
    expected = evaluate(kernel.program, *given)
    found, first = kernel(*given), kernel(*(x[0].copy() for x in given))
    for a, b, c in zip(found, expected, first, strict=True):
        assert error(a, b) < 1e-12
        assert error(c, b[0]) < 1e-12


@pytest.mark.usefixtures("as_loops")
@over(plans((1, 3)), examples=3)
def test_any_arm(plan):
    """Full tensors, prismatic joints, motors with any axes, friction."""
    agree(Robot.from_dict(table_of(plan)), optional=("wrench",))


@pytest.mark.usefixtures("as_loops")
@over(rubbing(2), examples=2)
def test_load_friction(robot):
    agree(robot)


@pytest.mark.slow
def test_chains_of_15_joints():
    """As long as the loop is chosen by itself."""
    agree(Robot.from_dict(chain_table(15)), optional=("wrench", "parameters"))


@pytest.mark.slow
@pytest.mark.usefixtures("as_loops")
def test_branches():
    """Zeros between the branches of a tree stay out of the programs."""
    robot = dual_arm()
    agree(robot)
    loop = robot._kernel(FUNCTION).specification.body
    (_, entries), *_ = loop.programs["substituted"].inputs
    side = (robot.n - 1) // 2
    assert entries <= robot.n * (robot.n - 1) // 2 - side * side


def chain_table(n: int) -> dict:
    rng = random.Random(n)
    links = [
        {
            "name": f"link {k}",
            "joint": "prismatic" if k % 7 == 3 else "revolute",
            "origin": {"xyz": [rng.uniform(0.05, 0.3) for _ in range(3)], "rpy": [k % 3, 0.5, 0.3]},
            "axis": [[0, 0, 1], [0, 1, 0], [1, 0, 0]][k % 3],
            "mass": rng.uniform(1, 3),
            "com": [rng.uniform(-0.1, 0.1) for _ in range(3)],
            "inertia": {"xx": 0.1, "yy": 0.12, "zz": 0.09, "xy": 0.01, "xz": -0.02, "yz": 0.015},
        }
        for k in range(n)
    ]
    return {"name": f"chain of {n}", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}


@pytest.fixture
def arm(as_loops):
    return Robot.load("elbow")


def test_arrays_of_any_kind(arm):
    """Broadcasting, strides, `out`, float32, lists, an empty batch: as with a program."""
    q, qd, tau = state(arm, np.random.default_rng(3), (5, 7))
    expected = evaluate(arm.program(FUNCTION), q, qd, tau)
    call = arm.forward_dynamics_derivatives
    many = call(q, qd[:1], tau[:, :1])
    spread = evaluate(arm.program(FUNCTION), q, qd[:1], tau[:, :1])
    turned = call(*(np.asfortranarray(x)[::-1] for x in (q, qd, tau)))
    out = tuple(np.full((5, 7, 6, 6), 7.0)[..., ::2, ::2] for _ in range(3))
    assert all(a is b for a, b in zip(call(q, qd, tau, out=out), out, strict=True))
    small = call(*(x.astype(np.float32) for x in (q, qd, tau)))
    one = call(*(x[1, 2].tolist() for x in (q, qd, tau)))
    for k, x in enumerate(expected):
        assert error(many[k], spread[k]) < 1e-12
        assert error(turned[k][::-1], x) < 1e-12
        assert error(out[k], x) < 1e-12
        assert small[k].dtype == np.float32
        assert error(small[k], x) < 1e-4
        assert error(one[k], x[1, 2]) < 1e-12
        assert call(q[:0], qd[:0], tau[:0])[k].shape == (0, 7, 3, 3)


def test_evaluated(arm):
    given = state(arm, np.random.default_rng(4), (2, 3))
    with armdyn.backend("evaluator"):
        found = arm.forward_dynamics_derivatives(*given)
    for a, b in zip(found, evaluate(arm.program(FUNCTION), *given), strict=True):
        assert error(a, b) < 1e-12


def test_robots_share_code(arm, texts):
    """The second and third robot of a structure use one code, with their numbers as an input."""
    given = state(arm, np.random.default_rng(5), (9,))
    for mass in (0, 1, 2):
        robot = arm.with_payload(mass) if mass else arm
        found = robot.forward_dynamics_derivatives(*given)
        for a, b in zip(found, evaluate(robot.program(FUNCTION), *given), strict=True):
            assert error(a, b) < 1e-12
    assert len(texts) <= 2


def test_pickled(arm):
    given = state(arm, np.random.default_rng(6), (3,))
    expected = arm.forward_dynamics_derivatives(*given)
    again = pickle.loads(pickle.dumps(arm)).forward_dynamics_derivatives(*given)
    for a, b in zip(again, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("as_loops")
def test_closed_chains():
    robot = five_bar()
    given = arguments(robot, FUNCTION, (4,))
    found = robot.forward_dynamics_derivatives(*given)
    positions = robot.assembly(given[0])
    for a, b in zip(found, evaluate(robot.program(FUNCTION), positions, *given[1:]), strict=True):
        assert error(a, b) < 1e-12


# ---- code for few rows and for many ------------------------------------------------------------------------


def bodies(texts):
    """The widths of the bodies in what was compiled."""
    return [[w for w in (1, 2, 4, 8) if f"@body_{w}(" in text] for text in texts]


@pytest.mark.usefixtures("as_loops")
def test_code_is_made_when_it_is_needed(texts, fresh_cache):
    robot, width = Robot.load("planar"), machine.vector_bytes() // 8
    q = np.random.default_rng(1).normal(size=(2 * width + 3, 2))
    expected = evaluate(robot.program("inverse_dynamics"), q, q, q)[0]
    assert error(robot.inverse_dynamics(q[0], q[0], q[0]), expected[0]) < 1e-14
    assert error(robot.inverse_dynamics(q[:1], q[:1], q[:1]), expected[:1]) < 1e-14
    assert bodies(texts) == [[1]]
    for rows in (len(q), width, width + 1):
        assert error(robot.inverse_dynamics(*[q[:rows]] * 3), expected[:rows]) < 1e-14
    assert bodies(texts) == [[1], [width]]
    assert len(list(fresh_cache.iterdir())) == 2


@pytest.mark.usefixtures("as_loops")
def test_rows_that_do_not_fill_a_register():
    """Wherever the last rows lie, nothing else is read or written."""
    robot = Robot.load("planar")
    rng, width = np.random.default_rng(2), machine.vector_bytes() // 8
    for rows in range(1, width + 1):
        q = rng.normal(size=(width, rows, 2))  # inner loops of that many rows
        wide = np.full((width, rows + 2, 2), 7.0)
        out = wide[:, 1:-1]
        robot.inverse_dynamics(q, q[:, ::-1], q[0], out=out)
        assert error(out, evaluate(robot.program("inverse_dynamics"), q, q[:, ::-1], q[0])[0]) < 1e-13
        assert (wide[:, [0, -1]] == 7).all()


@pytest.mark.usefixtures("as_loops")
def test_compiled_ahead(texts, monkeypatch):
    robot = Robot.load("planar")
    robot.compile("gravity")
    q = np.ones((40, 2))
    monkeypatch.setattr(machine, "compile_ir", lambda *_: pytest.fail("compiled again"))
    assert robot.gravity(q[0]).shape == (2,)
    assert robot.gravity(q).shape == (40, 2)
    assert robot._kernels["gravity"].quick((q[0],)) is not None


@pytest.mark.usefixtures("as_loops")
def test_from_the_disk(fresh_cache, monkeypatch):
    """Nothing is recorded or compiled where the cache has the code."""
    given = state(Robot.load("planar"), np.random.default_rng(7), (20,))
    expected = Robot.load("planar").forward_dynamics_derivatives(*given)
    assert list(fresh_cache.iterdir())
    monkeypatch.setattr(machine, "_loaded", Forgetful())
    monkeypatch.setattr(machine, "compile_ir", lambda *_: pytest.fail("compiled again"))
    monkeypatch.setattr(functions, "record", lambda *_: pytest.fail("recorded again"))
    found = Robot.load("planar").forward_dynamics_derivatives(*given)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("as_loops")
def test_long_programs_are_compiled_once_for_all_that_call_them(fresh_cache, texts, monkeypatch):
    """Bit for bit the same results; from the disk; and made again where one of the files is gone."""
    given = [x[0] for x in state(Robot.load("elbow"), np.random.default_rng(7), (1,))]

    def results():
        robot, found = Robot.load("elbow"), []
        for name in ("inverse_dynamics_derivatives", FUNCTION):
            found += getattr(robot, name)(*given)
        return [x.tobytes() for x in found]

    expected = results()
    for file in fresh_cache.iterdir():
        file.unlink()
    monkeypatch.setattr(body, "SHARED", 100)
    monkeypatch.setattr(machine, "_loaded", Forgetful())
    texts.clear()
    assert results() == expected
    calls = [set(re.findall("call void @(program_[0-9a-f]{64})", text)) for text in texts]
    assert [len(x) for x in calls] == [0, 1, 0, 2]  # slopes, their caller, forward dynamics, that of both
    assert calls[1] < calls[3]
    texts.clear()
    assert results() == expected
    assert not texts
    for file in list(fresh_cache.iterdir()):
        file.unlink()
        assert results() == expected
        assert texts
        texts.clear()


def test_the_example_of_columns_is_a_loop():
    assert any(isinstance(s, Each) for s in LOOPS["columns"]().statements)
    assert any(isinstance(s, Call) for s in LOOPS["columns"]().statements)


# ---- second derivatives ------------------------------------------------------------------------------------

SECOND = ("inverse_dynamics_second_derivatives", "forward_dynamics_second_derivatives")
PRODUCTS = ("inverse_dynamics_hessian_product", "forward_dynamics_hessian_product")


@pytest.mark.usefixtures("as_loops")
@pytest.mark.parametrize("function", [*SECOND, *PRODUCTS])
@pytest.mark.parametrize("name", ["scara", slowly("puma560"), slowly("elastic_link")])
def test_second_derivatives(name, function):
    """As a loop for any number of rows, evaluated and compiled, and as a program."""
    robot = Robot.load(name)
    kernel = robot._kernels[function]
    assert kernel.specification.loop is not None
    given = arguments(robot, function, (10,))
    expected = evaluate(kernel.program, *given)
    found = as_tuple(kernel(*given))
    with armdyn.backend("evaluator"):
        evaluated = as_tuple(kernel(*given))
    for a, b, c in zip(found, expected, evaluated, strict=True):
        assert error(a, b) < 1e-11
        assert error(c, b) < 1e-11


@pytest.mark.parametrize("function", [SECOND[0], slowly(SECOND[1]), *map(slowly, PRODUCTS)])
@over(rubbing(4), examples=1)
def test_single_rows_of_second_derivatives_with_load_friction(function, robot):
    """Single rows by a loop, many by the program."""
    kernel = robot._kernels[function]
    form = kernel.specification
    assert form.few is not None
    assert form.loop is None
    given = arguments(robot, function, (9,))
    many = as_tuple(kernel(*given))
    for i in range(2):
        one = as_tuple(kernel(*(x[i].copy() for x in given)))
        for a, b in zip(one, many, strict=True):
            assert error(a, b[i]) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("function", SECOND)
def test_second_derivatives_of_a_chain_of_15_joints(function):
    """Without a program: as slopes of the first derivatives, along one joint."""
    robot = Robot.from_dict(chain_table(15))
    given = arguments(robot, function)
    first = getattr(robot, function.replace("second_", ""))
    found, h = getattr(robot, function)(*given), 1e-4
    step = h * np.eye(15)[6]
    ahead, behind = first(given[0] + step, *given[1:]), first(given[0] - step, *given[1:])
    for x, a, b in zip(found[:3], ahead, behind, strict=True):
        assert error(x[:, :, 6], (a - b) / (2 * h)) < 1e-6
