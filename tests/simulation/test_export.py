"""Controllers and simulation steps as C, compiled and compared with Python."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from armdyn import (
    AdaptiveControl,
    ComputedTorque,
    FrictionCompensation,
    GravityCompensation,
    OperationalControl,
    PDGravity,
    Robot,
    Trajectory,
    simulate,
)
from armdyn.simulation import SimulationError, TipPoint, controller_source, steps_source
from armdyn.simulation.controller import with_model
from arms import in_suites
from closed_chains import five_bar, reference
from golden_messages import golden_error

PUMA = Robot.load("puma560")
Q0 = np.array([0, 0.8, -2.6, 0, 0.3, 0])
MOTION = Trajectory.quintic(Q0, Q0 + 0.3, 0.5)
CONTROLLERS = {
    "pd": PDGravity(PUMA, MOTION, 100.0, 10.0, saturated=True),
    "set point": PDGravity(PUMA, Q0, 100.0, 10.0),
    "computed torque": ComputedTorque(PUMA, MOTION),
    "operational": OperationalControl(PUMA, TipPoint(PUMA.pose(Q0)[:3, 3] + 0.01)),
}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")


def library(source, folder):
    _, code = source.write(folder / "c")[:2]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(code), "-lm", "-o", str(folder / "lib.so")], check=True)
    return ctypes.CDLL(str(folder / "lib.so"))


def pointers(*arrays):
    return [ctypes.c_void_p(x.ctypes.data) for x in arrays]


@needs_compiler
@pytest.mark.parametrize("name", in_suites(CONTROLLERS, ("computed torque", "operational")))
def test_a_controller_in_c(name, tmp_path):
    controller = CONTROLLERS[name]
    function = library(controller_source(controller, "arm"), tmp_path).arm_torques
    rng = np.random.default_rng(3)
    for t in (0.0, 0.1, 0.37):
        q, qd, tau = Q0 + 0.1 * rng.normal(size=6), rng.normal(size=6), np.zeros(6)
        given = [controller.constants(), controller.signals(np.array([t]))]
        blocks = [np.concatenate([x.ravel() for x in part.values()]) for part in given if part]
        function(*pointers(q, qd, *blocks, tau))
        np.testing.assert_allclose(tau, controller(t, q, qd), rtol=1e-10, atol=1e-10)


LOADED = {
    "gravity and friction": GravityCompensation(PUMA, 0.9) + FrictionCompensation(PUMA),
    "tip": OperationalControl(PUMA, TipPoint(PUMA.pose(Q0, "forearm")[:3, 3]), link="forearm"),
}


@needs_compiler
@pytest.mark.parametrize(
    "name",
    ["set point", *(pytest.param(x, marks=pytest.mark.slow) for x in ("computed torque", *LOADED))],
)
def test_a_payload_given_in_c_and_a_model_that_carries_it(name, tmp_path):
    """The payload stays at the tip, also where another link is controlled."""
    controller = (CONTROLLERS | LOADED)[name]
    source = controller_source(controller, "arm", inputs=["payload"])
    function = library(source, tmp_path).arm_torques
    command = f"cc -std=c99 {tmp_path}/c/*.c -lm -o {tmp_path}/test && {tmp_path}/test"
    subprocess.run(command, shell=True, check=True)
    rng = np.random.default_rng(4)
    for payload in ([2, 0.1, -0.1, 0.2, 0.1, 0.01, 0.02, 0.2, 0.03, 0.15], np.zeros(10)):
        load = np.array(payload, float)
        q, qd, tau = Q0 + 0.1 * rng.normal(size=6), rng.normal(size=6), np.zeros(6)
        given = [controller.constants(), controller.signals(np.array([0.1]))]
        blocks = [np.concatenate([x.ravel() for x in part.values()]) for part in given if part]
        function(*pointers(q, qd, *blocks, load, tau))
        loaded = with_model(controller, PUMA.with_payload(load[0], load[1:4], load[4:]))
        np.testing.assert_allclose(tau, loaded(0.1, q, qd), rtol=1e-12, atol=1e-11)


@needs_compiler
def test_steps_in_c(tmp_path):
    robot, qd0, tau = PUMA, np.array([0.5, 0, -0.3, 0, 0, 0.2]), np.array([1.0, 20.0, -5.0, 0.0, 0.1, 0.0])
    source = steps_source(robot, tau, "arm")
    assert "modes of friction (6)" in source.header
    run = simulate(robot, Q0, qd0, 0.02, tau, method="rk4", step=1e-3, limits="ignore")
    width = 6 + 6 + 6 + 2
    state, saved = np.zeros(width + 2), np.zeros((20, width))
    state[:6], state[6:12], state[12:18], state[width] = Q0, qd0, np.sign(qd0), 1
    function = library(source, tmp_path).arm_integration
    settings = np.array([1e-3, 1e4])
    function(ctypes.c_long(20), ctypes.c_long(1), *pointers(settings, tau, state, saved))
    np.testing.assert_allclose(saved[:, :6], run.q[1:], rtol=1e-10, atol=1e-12)


def test_what_cannot_be_exported():
    with golden_error(SimulationError):
        controller_source(AdaptiveControl(PUMA, MOTION, ["m6"]), inputs=["payload"])
    with golden_error(SimulationError):
        controller_source(CONTROLLERS["pd"], inputs="payload")
    with golden_error(SimulationError):
        controller_source(PUMA)
    with golden_error(SimulationError):
        steps_source(PUMA, lambda t, q, qd: 0 * q)
    with golden_error(SimulationError):
        controller_source(CONTROLLERS["pd"], scalar="half")
    with golden_error(SimulationError):
        steps_source(PUMA, scalar="half")


# ---- robots with loops -------------------------------------------------------------------------------------


@pytest.mark.slow
@needs_compiler
def test_steps_of_a_five_bar_in_c(tmp_path):
    robot = five_bar()
    start, tau = reference(robot), np.array([1.0, -2.0])
    source = steps_source(robot, tau, "arm")
    assert "followers (2)" in source.header
    assert "side of singular postures" in source.header
    run = simulate(robot, start, [0.2, 0.1], 0.02, tau, method="rk4", step=1e-3)
    width = 2 + 2 + 2 + 1 + 1
    state, saved = np.zeros(width + 2), np.zeros((20, width))
    state[:2], state[2:4], state[4:6], state[width] = start, [0.2, 0.1], robot.assembly(start)[[1, 3]], 1
    function = library(source, tmp_path).arm_integration
    function(ctypes.c_long(20), ctypes.c_long(1), *pointers(np.array([1e-3, 1e4]), tau, state, saved))
    np.testing.assert_allclose(saved[:, :2], run.q[1:], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(saved[:, 4:6], run.positions[1:, [1, 3]], atol=1e-10)


@pytest.mark.slow
@needs_compiler
def test_a_controller_of_a_five_bar_in_c(tmp_path):
    robot = five_bar()
    start = reference(robot)
    controller = ComputedTorque(robot, Trajectory.quintic(start, start + 0.1, 0.5))
    function = library(controller_source(controller, "arm"), tmp_path).arm_torques
    q, qd, tau = start + 0.1, np.array([0.3, -0.2]), np.zeros(2)
    given = [controller.constants(), controller.signals(np.array([0.2]))]
    blocks = [np.concatenate([x.ravel() for x in part.values()]) for part in given]
    function(*pointers(q, qd, robot.assembly(q)[[1, 3]].copy(), *blocks, tau))
    np.testing.assert_allclose(tau, controller(0.2, q, qd), rtol=1e-10)
