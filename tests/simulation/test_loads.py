"""Loads that are picked up and put down during a simulation."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import (
    AdaptiveControl,
    ComputedTorque,
    PDGravity,
    Robot,
    SimulationWarning,
    Trajectory,
    simulate,
)
from armdyn.motion.loads import Carried, Load
from armdyn.simulation import SimulationError
from arms import slowly
from golden_messages import golden_error, golden_warning

BODY = Load.of(3.0, [0.02, -0.01, 0.1], [0.02, 0.001, -0.002, 0.03, 0.003, 0.015])
START = np.array([0.0, 0.3, -1.0, 0.2, 0.4, 0.0])
pytestmark = pytest.mark.filterwarnings("ignore::armdyn.PhysicsWarning")


@pytest.fixture(scope="module")
def puma() -> Robot:
    return Robot.load("puma560")


def carried(motion: Trajectory, *spans: tuple[float, float]) -> Trajectory:
    loads = tuple(Carried(a, b, BODY) for a, b in spans)
    return Trajectory(replace(motion.motion, loads=loads), motion.step)


def move(duration: float = 0.6) -> Trajectory:
    return Trajectory.quintic(START, START + np.array([0.4, 0.3, -0.3, 0.2, 0.1, 0.5]), duration)


@pytest.mark.slow
@pytest.mark.parametrize("method", [pytest.param("adaptive", marks=pytest.mark.slow), "rk4"])
def test_a_simulation_with_a_load_is_two_simulations(puma: Robot, method: str) -> None:
    torques = np.linspace(1.0, 2.0, 13)[:, None] * np.ones(6)
    given = {"method": method, "rtol": 1e-12, "output": 0.01}
    run = simulate(puma, START, 0.1, 0.12, torques, loads=[Carried(0.04, 0.12, BODY)], **given)
    first = simulate(puma, START, 0.1, 0.04, lambda t, q, qd: np.full(6, 1 + t / 0.12), **given)
    heavy = puma.with_payload(BODY.body)
    states = first.q[-1], first.qd[-1]
    second = simulate(heavy, *states, 0.08, lambda t, q, qd: np.full(6, 1 + (t + 0.04) / 0.12), **given)
    assert np.allclose(run.q[-1], second.q[-1], rtol=0, atol=1e-9)
    assert np.allclose(run.tau[-1], 2.0)
    assert abs(run.balance).max() < (1e-6 if method == "adaptive" else 1e-4)
    alone = simulate(puma, START, 0.1, 0.12, torques, **given)
    assert abs(alone.q[-1] - run.q[-1]).max() > 1e-3


@pytest.mark.parametrize("method", [pytest.param("adaptive", marks=pytest.mark.slow), "rk4"])
def test_computed_torque_knows_the_loads_of_its_motion(puma: Robot, method: str) -> None:
    motion = carried(move(), (0.2, 0.4))
    control = ComputedTorque(puma, motion, stiffness=400)
    run = simulate(puma, START, 0, motion.duration, control, method=method)
    assert abs(run.q - motion(run.t)[0]).max() < 1e-4  # it is sampled at 1 kHz
    wrong = simulate(puma, START, 0, motion.duration, control, method="rk4", loads=())
    assert abs(wrong.q - motion(wrong.t)[0]).max() > 1e-3
    other = simulate(
        puma, START, 0, motion.duration, ComputedTorque(puma, move()), loads=motion.loads, method="rk4"
    )
    assert abs(other.q - motion(other.t)[0]).max() > 1e-3


def test_the_energy_of_loads_is_told_apart(puma: Robot) -> None:
    motion = carried(move(), (0.2, 0.4))
    run = simulate(puma, START, 0, 0.6, ComputedTorque(puma, motion, stiffness=400))
    heavy = puma.with_payload(BODY.body)
    row = int(np.searchsorted(run.t, 0.2))
    brought = heavy.potential_energy(run.q[row]) - puma.potential_energy(run.q[row])
    brought = brought + heavy.kinetic_energy(run.q[row], run.qd[row])
    brought = brought - puma.kinetic_energy(run.q[row], run.qd[row])
    assert np.isclose(run.load_energy[row], brought)
    assert not run.load_energy[row - 1]
    assert abs(run.balance).max() < 1e-6
    assert np.isclose(run.potential[row], heavy.potential_energy(run.q[row]))


@pytest.mark.slow
def test_a_load_to_the_end_is_carried_on(puma: Robot) -> None:
    motion = carried(move(), (0.3, 0.6))
    control = PDGravity(puma, motion, 3000, 300)
    run = simulate(puma, START, 0, 0.9, control, method="rk4")
    assert run.carried is not None
    assert len(run.carried.boundaries) == 1
    given = simulate(
        puma, START, 0, 0.9, PDGravity(puma, motion, 3000, 300), loads=motion.loads, method="rk4"
    )
    assert np.array_equal(given.q, run.q)
    held = puma.with_payload(BODY.body).gravity(run.q[-1])
    assert abs(run.tau[-1] - held).max() < 0.2 * abs(held).max()


def test_batches_carry_loads(puma: Robot) -> None:
    starts = np.stack([START, START + 0.1])
    both = simulate(puma, starts, 0, 0.3, loads=[Carried(0.1, 0.2, BODY)], method="rk4")
    one = simulate(puma, starts[1], 0, 0.3, loads=[Carried(0.1, 0.2, BODY)], method="rk4")
    assert np.allclose(both.q[:, 1], one.q, rtol=0, atol=1e-12)
    assert both.load_energy.shape == (len(both.t), 2)


@pytest.mark.parametrize(
    "loads",
    [
        3,
        "all",
        [1],
    ],
)
def test_what_loads_may_not_be(puma: Robot, loads: object) -> None:
    with golden_error(SimulationError):
        simulate(puma, START, 0, 0.1, loads=loads)


@pytest.mark.slow
@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_a_memory_goes_on_where_a_load_changes(puma: Robot, method: str) -> None:
    motion = move()
    control = AdaptiveControl(puma, motion, parameters=["m6", "mz6"], estimates=[1.0, 0.1])
    run = simulate(puma, START, 0, 0.3, control, loads=[Carried(0.1, 0.3, BODY)], method=method)
    row = int(np.searchsorted(run.t, 0.1))
    steps = abs(np.diff(run.memory, axis=0)).max(axis=1)
    assert run.memory.shape == (len(run.t), 2)
    assert abs(run.memory[row] - run.memory[0]).max() > 1e-4  # it has learned, and does not begin again
    assert steps[row - 1 : row + 1].max() < 10 * np.median(steps[row - 30 : row])


@pytest.mark.slow
def test_hardly_any_energy_on_one_leg_is_judged_with_all_legs() -> None:
    arm = Robot.load("tx40")
    goal = np.array([0.5, -0.5, 0.7, 0.3, 0.6, -0.9])
    motion = Trajectory.quintic(goal, np.zeros(6), 0.5).carrying(1.5, [0, 0, 0.05])
    motion = motion + Trajectory.resting(np.zeros(6), 0.1)
    run = simulate(arm, goal, 0, motion.duration, ComputedTorque(arm, motion), method="rk4", step=1e-3)
    assert run.completed, run.message
    assert abs(run.balance).max() < 1e-3


@pytest.mark.parametrize("method", [slowly("adaptive"), "rk4"])
def test_arms_go_on_where_loads_change_after_one_has_stopped(method: str) -> None:
    arm = Robot.load("panda")
    q = np.array([[0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0]] * 3)
    qd = np.zeros((3, 7))
    qd[1, 3] = 20.0  # joint 4 soon is at its upper limit, which is below zero
    loads = [Carried(0.2, 0.3, Load.of(1.0)), Carried(0.3, 0.4, Load.of(2.0))]
    given = {"method": method, "limits": "stop", "rtol": 1e-8}
    tau = arm.gravity(q)
    with pytest.warns(SimulationWarning, match=r"^arm \(1,\): joint 4 .* at t = 0\.0[0-9]* s, q = "):
        run = simulate(arm, q, qd, 0.4, tau, loads=loads, **given)
    assert run.t[-1] == 0.4
    assert [one.arm for one in run.limits_passed] == [(1,)]
    alone = simulate(arm, q[::2], qd[::2], 0.4, tau[::2], loads=loads, **given)
    assert np.array_equal(run.q[:, ::2], alone.q)
    assert np.isnan(run.q[-1, 1]).all()


def test_an_arm_that_stops_after_a_load_changed_tells_the_time_of_the_whole_run() -> None:
    arm = Robot.load("panda")
    q, qd = [0.0, 0.3, 0.0, -1.5, 0.0, 1.8, 0.0], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]
    loads = [Carried(0.2, 2.0, Load.of(1.0))]
    with golden_warning(SimulationWarning):
        run = simulate(arm, q, qd, 2.0, arm.gravity(np.array(q)), loads=loads, limits="stop")
    (passed,) = run.limits_passed
    assert passed.time > 0.2
    assert run.message.startswith(passed.text)
    assert run.t[-1] == pytest.approx(passed.time)
