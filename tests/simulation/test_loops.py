"""The loops of simulation: compiled at every register width, and as C, against their evaluator."""

import numpy as np
import pytest

from armdyn import Robot
from armdyn.kernels import loop_kernel
from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.motion import Trajectory
from armdyn.program.evaluate import evaluate_loop
from armdyn.simulation import ComputedTorque, PDGravity
from armdyn.simulation.actuation import actuation
from armdyn.simulation.fixed_steps import many_steps
from armdyn.simulation.integrand import Integrand
from armdyn.simulation.limits import watch_of
from armdyn.simulation.variable_steps import one_step
from arms import slowly
from kernels.test_c_loops import compare as compare_with_c
from kernels.test_c_loops import compiled as compiled_c
from kernels.test_c_loops import needs_compiler
from pid_controller import PID
from sliders import coupled

PUMA = Robot.load("puma560")
ARM = coupled()
MOTION = Trajectory.quintic([0.2, 0.3], [0.5, 0.0], 0.1)
DRIVES = {
    "nothing": None,
    "constant": [3.0, -1.0],
    "signal": [[3.0, -1.0], [-3.0, 2.0]],
    "law": PDGravity(ARM, MOTION, 100.0, 10.0),
    "sampled": ComputedTorque(ARM, MOTION, rate=200),
    "memory": PID(ARM, [0.2, 0.3], (100.0, 10.0, 50.0), rate=200),
}


def many(torque, arms, robot=ARM, word="warn", rows=3, every=4):
    """The loop of fixed steps, its counts and its arguments, for arms that move and arms that rest."""
    driven = actuation(robot, (arms,), 0.1, torque, None)
    integrand, watch = Integrand.of(robot, driven.drive()), watch_of(robot, word)
    loop = many_steps(integrand, watch)
    rng, n = np.random.default_rng(arms), robot.n
    given = {a.name: np.zeros((1, 1, a.columns)) for a in loop.arguments}
    width = given["saved"].shape[-1] if "saved" in given else 0
    state = np.zeros((1, arms, given["state"].shape[-1]))
    qd = rng.uniform(-2, 2, (arms, n)) * (rng.random((arms, n)) > 0.4)
    state[0, :, :n], state[0, :, n : 2 * n] = rng.uniform(-1, 1, (arms, n)), qd
    state[0, :, 2 * n : 2 * n + len(integrand.surfaces)] = integrand.directions(qd)
    state[0, :, width] = 1.0
    times = np.linspace(0, 0.1, 2 * rows * every + 1)
    given |= {"settings": np.array([[[2e-3, 1e4]]]), "state": state}
    given["saved"] = np.zeros((rows, arms, width))
    for name, made in (("constants", driven.constants()[None]), ("signals", driven.signals(times))):
        given |= {name: made} if name in given else {}
    if "due" in given:
        due = (np.arange(rows * every) % 3 == 0) * 1.0
        targets = driven.controller.targets(times[:-1:2])[:, None]
        given |= {"due": due[:, None, None]} | ({"targets": targets} if "targets" in given else {})
        given |= {"gains": driven.torque.rows[None], "held": np.zeros((rows, arms, n))}
        if "remembered" in given:
            given["remembered"] = np.zeros((rows, arms, driven.memory.shape[-1]))
    return loop, {"rows": rows, "every": every}, given


def one(torque, robot=ARM):
    """The loop of an adaptive step: decided, tried, interpolated, looked at."""
    driven = actuation(robot, (), 0.1, torque, None)
    integrand = Integrand.of(robot, driven.drive())
    loop, n = one_step(integrand), robot.n
    several = ("places", "states", "rates")
    given = {a.name: np.zeros((3 if a.name in several else 1, 1, a.columns)) for a in loop.arguments}
    x = given["x"][0, 0]
    x[: 2 * n] = np.linspace(-0.5, 0.7, 2 * n)
    x[n] = 0.0
    x[2 * n : 2 * n + len(integrand.surfaces)] = integrand.directions(x[n : 2 * n])
    given["settings"][0, 0] = 5e-3, 1e-8, 1e-10, 1e-8
    given["places"][:, 0, 0] = 0.2, 0.7, 1.0
    times = np.linspace(0, 5e-3, 19)
    for name, made in (("constants", driven.constants()[None]), ("signals", driven.signals(times))):
        given |= {name: made} if name in given else {}
    return loop, {"decide": 1, "trial": 1, "dense": 1, "points": 3}, given


def compare(loop, counts, given):
    instances = given["state"].shape[1] if "state" in given else 1
    expected = {name: x.copy() for name, x in given.items()}
    evaluate_loop(loop, instances, counts, expected)
    LoopKernel(loop)(instances, counts, given)
    if "squares" in given:  # of errors: differences, so mostly rounding
        np.testing.assert_allclose(given["squares"], expected["squares"], rtol=0.05, atol=1e-3)
        given["squares"] = expected["squares"]
    for name, x in expected.items():
        np.testing.assert_allclose(given[name], x, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("register", [slowly(16), 32, slowly(64)])
@pytest.mark.parametrize("drive", [*map(slowly, ("constant", "law", "sampled")), "memory"])
def test_register_widths(drive, register, monkeypatch):
    monkeypatch.setattr(loop_kernel, "vector_bytes", lambda: register)
    compare(*many(DRIVES[drive], 11))


@pytest.mark.slow
def test_register_widths_of_an_adaptive_step_and_of_limits():
    for drive in ("nothing", "signal", "law"):
        compare(*one(DRIVES[drive]))
    for word in ("warn", "stop"):
        compare(*many(None, 9, PUMA, word))


@needs_compiler
@pytest.mark.parametrize("drive", [slowly("constant"), slowly("sampled"), "memory"])
def test_steps_in_c(drive, tmp_path):
    loop, counts, given = many(DRIVES[drive], 3)
    compare_with_c(loop, compiled_c(loop, tmp_path), counts, given)


@needs_compiler
def test_an_adaptive_step_in_c(tmp_path):
    loop, counts, given = one(DRIVES["law"])
    compare_with_c(loop, compiled_c(loop, tmp_path), counts, given)


def test_steps_by_hand():
    """Steps of the classical fourth order, written out."""
    robot = Robot.load("pendulum")
    loop, counts, given = many(None, 5, robot, "ignore", rows=6, every=2)
    start = given["state"].copy()
    LoopKernel(loop)(5, counts, given)
    h, n = 2e-3, robot.n
    q, qd = start[0, :, :n], start[0, :, n : 2 * n]

    def rate(q, qd):
        return robot.forward_dynamics(q, qd, np.zeros_like(q))

    for _ in range(12):
        a = qd, rate(q, qd)
        b = qd + h / 2 * a[1], rate(q + h / 2 * a[0], qd + h / 2 * a[1])
        c = qd + h / 2 * b[1], rate(q + h / 2 * b[0], qd + h / 2 * b[1])
        d = qd + h * c[1], rate(q + h * c[0], qd + h * c[1])
        q, qd = (x + h / 6 * (a[k] + 2 * b[k] + 2 * c[k] + d[k]) for k, x in enumerate((q, qd)))
    np.testing.assert_allclose(given["saved"][-1, :, :n], q, atol=1e-12)
    np.testing.assert_allclose(given["saved"][-1, :, n : 2 * n], qd, atol=1e-12)
