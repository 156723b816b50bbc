"""Controllers with a memory, in both integrators, in batches, and in C."""

import ctypes
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import armdyn
from armdyn import PDGravity, Robot
from armdyn.motion.loads import Carried, Load
from armdyn.simulation import Controller, SimulationError, controller_source, simulate, steps_source
from arms import slowly
from golden_messages import golden_error
from pid_controller import PID
from simulation.test_export import library, needs_compiler, pointers
from simulation.test_limits import quiet

PLANAR = Robot.load("planar")
PUMA = Robot.load("puma560")
METHODS = ("adaptive", "rk4")


def by_hand(robot, controller, q, qd, duration, period, **named):
    """Constant torques from sample to sample, each piece a simulation of its own."""
    states, torques, memories = [(q, qd)], [], [controller.memory]
    for k in range(round(duration / period)):
        tau, memory = controller(k * period, *states[-1], memories[-1])
        run = simulate(robot, *states[-1], period, tau, output=period, **named)
        states.append((run.q[-1], run.qd[-1]))
        torques.append(tau)
        memories.append(memory)
    return np.array([q for q, _ in states]), np.array(torques), np.array(memories)


@pytest.mark.parametrize("method", METHODS)
def test_samples_and_a_loop_of_holds(method):
    controller = PID(PLANAR, [0.4, 0.3], rate=100, start=[0.1, -0.2])
    arguments = {"method": method, "step": 1e-3}
    q, tau, memory = by_hand(PLANAR, controller, [0.3, 0.5], [0.0, 0.1], 0.1, 0.01, **arguments)
    run = simulate(PLANAR, [0.3, 0.5], [0.0, 0.1], 0.1, controller, output=0.01, **arguments)
    np.testing.assert_allclose(run.q, q, atol=1e-11)
    np.testing.assert_allclose(run.tau[:-1], tau, rtol=1e-8)
    np.testing.assert_allclose(run.memory, memory, rtol=1e-9, atol=1e-12)
    assert (run.memory[:, 2] == np.arange(11)).all()
    fine = simulate(PLANAR, [0.3, 0.5], [0.0, 0.1], 0.1, controller, **arguments)
    later = np.append(0, np.arange(100) // 10 + 1)  # at an instant of a sample: that with which it begins
    np.testing.assert_allclose(fine.memory, memory[later], rtol=1e-9, atol=1e-12)
    again = [controller(t, q, qd, x)[0] for t, q, qd, x in zip(run.t, run.q, run.qd, run.memory, strict=True)]
    np.testing.assert_allclose(run.tau[:-1], again[:-1], rtol=1e-12)


def test_a_memory_takes_away_what_is_left_of_an_error():
    goal = np.array([0.5, -0.3])
    gains = (4000.0, 1200.0, 6000.0)
    run = simulate(PLANAR, goal, 0, 12.0, PID(PLANAR, goal, gains), method="rk4", output=0.5)
    np.testing.assert_allclose(run.q[-1], goal, atol=1e-4)
    np.testing.assert_allclose(gains[2] * run.memory[-1, :2], PLANAR.gravity(goal), rtol=1e-2)


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_memories_of_each_arm_of_a_batch(method):
    """Of a robot with dry friction, whose joints stop and start."""
    targets, starts = PUMA_REST + np.linspace(-0.2, 0.2, 4).reshape(2, 2, 1), np.array([[[0.0]], [[0.5]]])
    controller = PID(PUMA, targets, (300.0, 30.0, 50.0), starts, rate=250)
    run = simulate(PUMA, PUMA_REST, np.zeros((2, 2, 6)), 0.1, controller, method=method, output=0.01)
    assert run.memory.shape == (11, 2, 2, 7)
    for k in np.ndindex(2, 2):
        own = PID(PUMA, targets[k], (300.0, 30.0, 50.0), starts[k[0], 0], rate=250)
        alone = simulate(PUMA, PUMA_REST, np.zeros(6), 0.1, own, method=method, output=0.01)
        np.testing.assert_allclose(run.q[(slice(None), *k)], alone.q, atol=1e-12)
        np.testing.assert_allclose(run.memory[(slice(None), *k)], alone.memory, atol=1e-12)


PUMA_REST = np.array([0, 0.8, -2.6, 0, 0.3, 0])


def test_both_integrators_and_the_evaluator():
    controller = PID(PLANAR, [0.4, 0.3])
    starts = np.random.default_rng(3).uniform(-0.3, 0.5, (3, 2))
    fixed, adaptive = (
        simulate(PLANAR, starts, 0, 0.1, controller, method=method) for method in METHODS[::-1]
    )
    np.testing.assert_allclose(fixed.q, adaptive.q, atol=1e-8)
    np.testing.assert_allclose(fixed.memory, adaptive.memory, atol=1e-8)
    with armdyn.backend("evaluator"):
        evaluated = simulate(PLANAR, starts, 0, 0.1, controller, method="rk4")
    np.testing.assert_allclose(fixed.q, evaluated.q, atol=1e-13)
    np.testing.assert_allclose(fixed.memory, evaluated.memory, atol=1e-13)


def test_pieces_of_a_long_run_and_the_run_in_one(monkeypatch):
    controller = PID(PLANAR, [0.4, 0.3], rate=400)
    whole = simulate(PLANAR, [0.3, 0.5], 0, 0.1, controller, method="rk4", output=0.02)
    monkeypatch.setattr("armdyn.simulation.fixed_steps.CHUNK", 1)
    pieces = simulate(PLANAR, [0.3, 0.5], 0, 0.1, controller, method="rk4", output=0.02)
    assert (whole.memory == pieces.memory).all()
    assert (whole.q == pieces.q).all()


@pytest.mark.parametrize("method", METHODS)
def test_an_arm_that_stops_keeps_what_it_remembered(method):
    away = PID(PUMA, PUMA_REST + 3.0 * np.eye(6)[0], (300.0, 5.0, 0.0), rate=500)
    alone = quiet(PUMA, PUMA_REST, 0, 2.0, away, method=method, limits="stop", output=0.5)
    last = alone.memory[-1]
    assert not alone.completed
    assert alone.memory.shape == (len(alone.t), 7)
    assert last[-1] == np.floor(alone.t[-1] * 500 - 1e-6) + 1  # samples so far
    batch = quiet(PUMA, PUMA_REST, np.zeros((2, 6)), 2.0, away, method=method, limits="stop", output=0.5)
    assert (np.isnan(batch.memory) == np.isnan(batch.q[..., :1])).all()


def test_torque_limits_bind_and_the_memory_goes_on():
    hard = PID(PUMA, PUMA_REST + 1, (1e4, 1.0, 1.0), saturated=True)
    run = simulate(PUMA, PUMA_REST, 0, 0.02, hard, method="rk4")
    most = armdyn.joint_limits(PUMA).torque
    assert (np.abs(run.tau) <= most).all()
    assert (np.abs(run.tau) == most).any()
    assert run.memory[-1, -1] == 20


def test_controllers_without_a_memory_have_an_empty_one():
    run = simulate(
        PLANAR, [0.3, 0.5], np.zeros((4, 2)), 0.02, PDGravity(PLANAR, [0, 0], 10.0, 1.0), output=0.01
    )
    assert run.memory.shape == (3, 4, 0)
    assert simulate(PLANAR, [0.3, 0.5], 0, 0.02, output=0.01).memory.shape == (3, 0)


# ---- in C --------------------------------------------------------------------------------------------------


@needs_compiler
def test_a_law_with_a_memory_in_c(tmp_path):
    controller = PID(PLANAR, [0.4, 0.3], start=0.2)
    source = controller_source(controller, "arm")
    assert "memory of the controller, which is sampled every 0.001 s" in source.header
    function = library(source, tmp_path).arm_torques
    q, qd, memory = np.array([0.1, 0.2]), np.array([0.5, -0.4]), controller.memory
    constants = np.concatenate([x.ravel() for x in controller.constants().values()])
    for _ in range(3):
        tau, later = np.zeros(2), np.zeros(3)
        function(*pointers(q, qd, constants, memory, tau, later))
        expected = controller(0.0, q, qd, memory)
        np.testing.assert_allclose(tau, expected[0], rtol=1e-12)
        np.testing.assert_allclose(later, expected[1], rtol=1e-12)
        q, qd, memory = q + 1e-3 * qd, qd + 1e-3 * tau, later


@needs_compiler
def test_steps_with_a_memory_in_c(tmp_path):
    controller, q0 = PID(PLANAR, [0.4, 0.3], rate=500), np.array([0.3, 0.5])
    source = steps_source(PLANAR, controller, "arm")
    assert "memory of the controller (3), torques that are held" in source.header
    run = simulate(PLANAR, q0, 0, 0.02, controller, method="rk4", step=1e-3, output=4e-3)
    width, rows, every = 4 + 1, 5, 4
    state, saved, due = np.zeros(width + 2 + 3 + 2), np.zeros((rows, width)), np.zeros(rows * every)
    held, remembered, settings = np.zeros((rows, 2)), np.zeros((rows, 3)), np.array([1e-3, 1e4])
    state[:2], state[width], due[::2] = q0, 1, 1
    constants = np.concatenate([x.ravel() for x in controller.constants().values()])
    function = library(source, tmp_path).arm_integration
    arrays = pointers(settings, state, saved, constants, due, held, remembered)
    function(ctypes.c_long(rows), ctypes.c_long(every), *arrays)
    np.testing.assert_allclose(saved[:, :2], run.q[1:], rtol=1e-12)
    np.testing.assert_allclose(remembered, run.memory[1:], rtol=1e-12)
    np.testing.assert_allclose(held, run.tau[:-1], rtol=1e-12)


# ---- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        lambda: PID(PLANAR, [0, 0], rate=None).period,
        lambda: PID(PLANAR, [0, 0])(0.0, [0, 0], [0, 0], [1.0, 2.0]),
        lambda: PDGravity(PLANAR, [0, 0], 1.0, 1.0)(0.0, [0, 0], [0, 0], [1.0]),
        lambda: simulate(PLANAR, [0, 0], 0, 0.1, PID(PLANAR, [0, 0], start=np.zeros((3, 2)))),
    ],
)
def test_what_makes_no_sense_is_refused(make):
    with golden_error(SimulationError):
        make()


@dataclass(frozen=True, eq=False)
class Own(Controller):
    """A controller with something wrong in it."""

    written: Any = None
    given: Any = None
    moving: Any = None
    memory: Any = None
    rate: Any = 100.0
    robot: Robot = PLANAR
    saturated: bool = False

    def __post_init__(self):
        object.__setattr__(self, "memory", [0.0, 0] if self.memory is None else self.memory)

    def constants(self):
        return {} if self.given is None else self.given

    def signals(self, t):
        return {} if self.moving is None else self.moving

    def torques(self, q, qd, given):
        return self.written(q, given)


@pytest.mark.parametrize(
    "own",
    [
        Own(lambda q, g: q),
        Own(lambda q, g: (q, [0])),
        Own(lambda q, g: (q, [0]), memory=[]),
        Own(lambda q, g: ([math.sin(x) for x in q], q)),
        Own(lambda q, g: ([np.cos(x) for x in q], q)),
        Own(lambda q, g: (q if q[0] > 0 else [0, 0], q)),
        Own(lambda q, g: (g["gain"], q), {"gains": [1, 2]}),
        Own(given={"a": 1.0}),
        Own(given={"memory": [1.0]}),
        Own(given=[1.0]),
        Own(given={"a": [1.0]}, moving={"a": [[1.0]]}),
        Own(moving={"s": [1.0]}),
        Own(memory=[np.nan]),
        Own(rate=-5),
    ],
)
def test_mistakes_in_a_controller_of_ones_own_are_explained(own):
    for call in (lambda: simulate(PLANAR, 0, 0, 0.02, own, method="rk4"), lambda: controller_source(own)):
        with golden_error(SimulationError):
            call()


def test_lists_and_tuples_are_as_good_as_arrays():
    own = Own(lambda q, g: (tuple(g["gain"]), tuple(g["memory"])), {"gain": [3, 4]})
    assert own(0.0, [0, 0], [0, 0])[0].tolist() == [3, 4]
    assert (own + own)(0.0, [0, 0], [0, 0])[0].tolist() == [6, 8]


# ---- loads that change on the way --------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("batch", [(), (2,)])
def test_the_memory_goes_on_where_loads_change(method, batch):
    """The load is taken up at a sample: the memory is as if the same robot went on from there."""
    controller = PID(PLANAR, [0.4, 0.3], rate=100)
    arguments = {"method": method, "output": 0.01}
    loads = (Carried(0.05, 0.1, Load.of(5.0)),)
    start = np.broadcast_to([0.3, 0.5], (*batch, 2))
    whole = simulate(PLANAR, start, 0, 0.1, controller, loads=loads, **arguments)
    first = simulate(PLANAR, start, 0, 0.05, controller, **arguments)
    integral = first.memory[-1][..., :2]
    then = PID(PLANAR, [0.4, 0.3], start=integral, rate=100)
    rest = simulate(PLANAR.with_payload(5.0), first.q[-1], first.qd[-1], 0.05, then, **arguments)
    np.testing.assert_allclose(whole.memory[:6], first.memory, atol=1e-14)
    np.testing.assert_allclose(whole.memory[5:, ..., :2], rest.memory[..., :2], atol=1e-12)
    assert (np.arange(11) == whole.memory[..., 2].T).all()
    np.testing.assert_allclose(whole.q[-1], rest.q[-1], atol=1e-12)
    nothing = simulate(PLANAR, start, 0, 0.1, PDGravity(PLANAR, [0, 0], 9.0, 1.0), loads=loads, **arguments)
    assert nothing.memory.shape == (11, *batch, 0)
