"""One state of a robot with loops, assembled and computed in one compiled call, and its row of a batch."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import armdyn
from armdyn import ArmdynError, Robot
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.model import ModelError
from armdyn.robot.assembly import LoopError
from armdyn.robot.functions import CLOSED_FUNCTIONS, FUNCTIONS
from closed_chains import closed_states, five_bar, four_bar, random_loop
from golden_messages import golden_error

SOME = ("inverse_dynamics", "kinetic_energy", "inertia", "inverse_dynamics_derivatives")
ROBOTS = {
    "five-bar": five_bar,
    "delta": lambda: Robot.load("delta"),
    "four_bar": lambda: Robot.load("four_bar"),
    "five_bar": lambda: Robot.load("five_bar"),
    **{f"random {seed}": lambda seed=seed: random_loop(seed) for seed in range(8)},
}
QUICK = {("five-bar", name) for name in SOME} | {("random 0", "inverse_dynamics")}
EVERY = [
    pytest.param(robot, name, marks=[] if (robot, name) in QUICK else pytest.mark.slow)
    for robot in ROBOTS
    for name in FUNCTIONS | CLOSED_FUNCTIONS
    if not robot.startswith("random") or name == "inverse_dynamics"
    if robot != "delta" or ("second" not in name and "hessian" not in name)  # a minute to compile
]


def inputs_of(name):
    return ("q", "qd") if name == "friction" else (FUNCTIONS | CLOSED_FUNCTIONS)[name].inputs


def as_list(found):
    return list(found) if isinstance(found, tuple) else [found]


def close(found, wanted, tolerance=1e-11):
    for a, b in zip(as_list(found), as_list(wanted), strict=True):
        assert np.shape(a) == np.shape(b)
        assert type(a) is type(b)
        assert np.abs(np.asarray(a) - b).max() <= tolerance * max(1, np.abs(b).max())


def step_by_step(monkeypatch):
    """Calls of loops, counted."""
    calls = []
    whole = LoopKernel.__call__
    monkeypatch.setattr(LoopKernel, "__call__", lambda *given: (calls.append(1), whole(*given))[1])
    return calls


def row(found, i):
    return tuple(x[i] for x in found) if isinstance(found, tuple) else found[i]


@pytest.mark.parametrize(("robot", "name"), EVERY)
def test_one_state_and_its_row_of_a_batch(robot, name, monkeypatch):
    robot, rng = ROBOTS[robot](), np.random.default_rng(3)
    q, _, _ = closed_states(robot, rng, rows=4)
    given = {"q": q} | {x: rng.uniform(-1, 1, (4, robot.n)) for x in inputs_of(name) if x != "q"}
    call, y = getattr(robot, name), robot.assembly(q)
    away = np.roll(y, 1, axis=0)
    wanted, wanted_near = call(**given), call(**given, near=away)
    calls = step_by_step(monkeypatch)
    for i in range(4):
        one = {x: v[i] for x, v in given.items()}
        close(call(**one), row(wanted, i))
        close(call(**one, near=away[i]), row(wanted_near, i))
        close(call(**one | {"q": y[i]}), row(wanted, i))
        with armdyn.backend("evaluator"):
            close(call(**one, near=away[i]), row(wanted, i), 1e-9)
    assert len(calls) == 4  # of the evaluator alone


@pytest.mark.parametrize("name", ["five-bar", pytest.param("delta", marks=pytest.mark.slow)])
def test_all_positions_of_one_state_and_of_a_batch(name, monkeypatch):
    robot = ROBOTS[name]()
    q, _, _ = closed_states(robot, np.random.default_rng(5), rows=6)
    y = robot.assembly(q)
    calls = step_by_step(monkeypatch)
    for i in range(6):
        close(robot.assembly(q[i]), y[i], 1e-13)
        close(robot.assembly(q[i], near=y[i - 1]), y[i], 1e-13)
        close(robot.assembly(y[i]), y[i], 1e-13)
    assert calls == []


def test_inputs_beside_the_state():
    robot = five_bar()
    (q, qd, qdd), rng = closed_states(robot, np.random.default_rng(6), rows=2), np.random.default_rng(7)
    y = robot.assembly(q)
    wrench = rng.normal(size=(2, 6))
    parameters = robot.parameters * rng.uniform(0.9, 1.1, (2, len(robot.parameters)))
    more = {"wrench": wrench, "parameters": parameters}
    wanted = robot.inverse_dynamics(q, qd, qdd, **more)
    for i in range(2):
        one = {name: x[i] for name, x in more.items()}
        close(robot.inverse_dynamics(q[i], qd[i], qdd[i], **one), wanted[i])
        close(robot.inverse_dynamics(q[i], qd[i], qdd[i], **one, near=y[1 - i]), wanted[i])
        out = np.empty(2)
        assert robot.inverse_dynamics(q[i], qd[i], qdd[i], **one, near=y[1 - i], out=out) is out
        close(out, wanted[i])
        single = [x[i].astype(np.float32) for x in (q, qd, qdd)]
        found = robot.inverse_dynamics(*single, near=y[i])
        assert found.dtype == np.float32
        assert np.abs(found - robot.inverse_dynamics(q[i], qd[i], qdd[i])).max() < 1e-4
    assert robot.gravity(q[0].tolist(), near=y[0].tolist()).shape == (2,)


def test_near_decides_on_the_mode_and_a_robot_remembers_nothing():
    robot, q = four_bar(), np.array([0.7])
    modes = robot.assembly_modes(q)
    own = robot.gravity(q)
    for mode in modes:
        other = robot.with_posture(mode)
        close(robot.gravity(q, near=mode), other.gravity(q))
        close(robot.gravity(q + 0.01, near=mode), other.gravity(q + 0.01))
        close(robot.gravity(mode), other.gravity(q))
        np.testing.assert_array_equal(robot.gravity(q), own)


@pytest.mark.parametrize("turns", [-3, -1, 1, 2])
def test_turns_of_one_state_and_of_a_batch(turns):
    robot = four_bar()
    for x in (0.4, 1.0, 3.0):
        q = np.array([x + 2 * np.pi * turns])
        close(robot.gravity(q), robot.gravity(np.array([x])))
        y = robot.assembly(np.array([x]))
        close(robot.assembly(q, near=y), robot.assembly(q[None], near=y)[0])


def test_numbers_that_are_none_stay_so():
    robot = four_bar()
    x, y = np.array([np.nan]), robot.assembly(np.array([1.0]))
    assert np.isnan(robot.gravity(x)).all()
    assert np.isnan(robot.gravity(x, near=y)).all()
    assert np.isfinite(robot.gravity(np.array([1.0]), near=y)).all()


def the_same_is_said(robot, q, **near):
    said = []
    for given in (q, q[None], q.tolist()):
        with pytest.raises(LoopError) as refused:
            robot.gravity(given, **near)
        said.append(str(refused.value))
    assert len(set(said)) == 1
    return said[0]


def test_what_cannot_be_closed_is_said_of_one_state_as_of_a_batch():
    robot = five_bar()
    y = robot.assembly(robot.assembly.reference)
    assert "stays open" in the_same_is_said(robot, np.array([3.0, 0.0]))
    assert "stays open" in the_same_is_said(robot, np.array([3.0, 0.0]), near=y)
    flat = Robot.load("five_bar")
    assert "a singular posture" in the_same_is_said(flat, np.array([np.pi, 0.0]))
    off = y.copy()
    off[1] += 0.01
    assert "all positions are given" in the_same_is_said(robot, off)
    assert "no way leads there" in the_same_is_said(robot, robot.assembly.reference, near=np.zeros(4))
    for q, near in (([3.0, 0.0], y), ([2.2, 0.94], np.zeros(4))):
        with golden_error(LoopError):
            robot.gravity(np.array(q), near=near)


def test_postures_that_do_not_fit_are_refused():
    robot, planar = four_bar(), Robot.load("planar")
    q = np.array([1.0])
    for near in (np.zeros(2), np.zeros((2, 3)), "there"):
        with golden_error(ModelError):
            robot.gravity(q, near=near)
    with golden_error(ArmdynError):
        planar.gravity(np.zeros(2), near=np.zeros(2))
    with golden_error(ModelError):
        robot.gravity(robot.assembly(q), near=robot.assembly(q))


def test_near_beside_tensors_is_refused():
    torch = pytest.importorskip("torch")
    robot = four_bar()
    with pytest.raises(ModelError, match="near: taken beside arrays of NumPy and CuPy"):
        robot.gravity(torch.ones(1, dtype=torch.float64), near=robot.assembly(np.ones(1)))


def test_calls_from_several_threads_and_one_after_the_other():
    robot = Robot.load("five_bar")
    q, qd, qdd = closed_states(robot, np.random.default_rng(8), rows=64)
    y = np.roll(robot.assembly(q), 1, axis=0)
    wanted = [robot.inverse_dynamics(*x, near=z) for *x, z in zip(q, qd, qdd, y, strict=True)]

    def some(first):
        order = [(first + k) % 64 for k in range(64)] * 20
        return [(i, robot.inverse_dynamics(q[i], qd[i], qdd[i], near=y[i])) for i in order]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(some, range(0, 64, 16)):
            assert all((x == wanted[i]).all() for i, x in found)
