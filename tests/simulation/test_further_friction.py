"""Stribeck, cubic and load friction over time: steady speeds, breaking away, stick and slip, energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from armdyn import ArmdynError, Robot, Trajectory, simulate
from armdyn.simulation import ComputedTorque
from arms import slowly

ALL = {
    "viscous": 0.5,
    "coulomb": 1.0,
    "stribeck": {"level": 0.7, "velocity": 0.2},
    "cubic": 0.05,
    "load": 0.1,
}
BOTH = pytest.mark.parametrize("how", [{}, {"method": "rk4", "step": 1e-3}], ids=["adaptive", "fixed"])


def slider(gravity=0.0, mass=2.0, **friction):
    link = {"name": "carriage", "joint": "prismatic", "origin": {"xyz": [0, 0, 0]}, "axis": [1, 0, 0]}
    link |= {"mass": mass, "friction": friction}
    return Robot.from_dict({"name": "s", "convention": "frames", "gravity": [-gravity, 0, 0], "link": [link]})


@BOTH
def test_steady_speed_and_the_balance_of_friction(how):
    """At a constant speed τ_r is zero, so that load friction is, too."""
    run = simulate(slider(**ALL), [0.0], [0.0], 30, torque=np.array([4.0]), **how)
    v = brentq(lambda v: 0.5 * v + 1 + 0.7 * np.exp(-((v / 0.2) ** 2)) + 0.05 * v**3 - 4, 0.01, 10)
    assert run.qd[-1, 0] == pytest.approx(v, rel=1e-9)


@BOTH
@pytest.mark.parametrize(("force", "moves"), [(1.69, 0), (1.71, 1), (-1.69, 0), (-1.71, -1)])
def test_breaking_away_takes_coulomb_friction_and_the_level(how, force, moves):
    run = simulate(slider(**ALL), [0.0], [0.0], 0.5, torque=np.array([force]), **how)
    assert np.sign(run.qd[-1, 0]) == moves


@BOTH
@pytest.mark.parametrize(
    ("force", "expected"), [(17.9, 17.9 / 0.9), (18.1, 20), (21.9, 20), (22.1, 22.1 / 1.1)]
)
def test_load_friction_holds_and_then_takes_its_part(how, force, expected):
    """20 N of weight: ±2 N hold it. Then τ_r (1 ± 0.1) = τ, and 2 kg accelerate by (τ_r − 20)/2."""
    run = simulate(slider(gravity=10.0, load=0.1), [0.0], [0.0], 1, torque=np.array([force]), **how)
    assert run.qd[-1, 0] == pytest.approx((expected - 20) / 2, abs=1e-9)


@pytest.mark.parametrize("how", [{}, slowly({"method": "rk4", "step": 1e-3})], ids=["adaptive", "fixed"])
def test_power_lost_to_friction_closes_the_balance(how):
    robot = slider(gravity=3.0, **ALL)
    t = np.linspace(0, 3, 601)
    force = 6 + 6 * np.sin(7 * t)[:, None]
    run = simulate(robot, [0.0], [0.5], 3, torque=force, **how)
    assert np.ptp(run.qd) > 0.5
    assert np.abs(run.balance).max() < 1e-5 * np.abs(run.energy).max() + 1e-6


def dragged(mass, stiffness, pull, friction, duration):
    """A block dragged by a spring whose end moves at a constant speed, piece by piece."""
    coulomb, level, velocity, viscous = friction
    t, x, instants = 0.0, 0.0, []
    while t < duration:
        t = (coulomb + level) / stiffness / pull + x / pull  # the spring has to stretch to the level
        if t > duration:
            break

        def rate(s, y):
            drag = coulomb + level * np.exp(-((y[1] / velocity) ** 2)) + viscous * y[1]
            return [y[1], (stiffness * (pull * s - y[0]) - drag) / mass]

        def stops(s, y, start=t):
            return y[1] if s > start + 1e-4 else 1.0

        stops.terminal, stops.direction = True, -1
        found = solve_ivp(
            rate, (t, duration), [x, 1e-9], "DOP853", events=stops, rtol=1e-11, atol=1e-13, max_step=0.01
        )
        instants.append((t, found.t[-1]))
        t, x = found.t[-1], found.y[0, -1]
    return instants, x


def test_stick_and_slip_and_an_independent_integration():
    """Friction that falls with speed makes a dragged block jump; when and where, by another integrator."""
    mass, stiffness, pull, duration = 1.0, 50.0, 0.1, 4.0
    robot = slider(mass=mass, coulomb=1.0, viscous=0.2, stribeck={"level": 1.0, "velocity": 0.1})

    def spring(t, q, qd):
        return stiffness * (pull * np.asarray(t)[..., None] - q)

    instants, place = dragged(mass, stiffness, pull, (1.0, 1.0, 0.1, 0.2), duration)
    assert len(instants) > 3
    run = simulate(robot, [0.0], [0.0], duration, torque=spring, output=0.01)
    assert run.q[-1, 0] == pytest.approx(place, abs=1e-6)
    slides = [event.time for event in run.events if event.kind == "slip"]
    assert slides == pytest.approx([begin for begin, _ in instants], abs=1e-6)


@pytest.mark.slow
def test_controller_compensates_all_friction():
    """With the friction of the target's speed in the feed-forward, the target is followed closely."""
    robot = slider(gravity=3.0, **ALL)
    target = Trajectory.quintic([0.0], [1.0], 2.0)
    law = ComputedTorque(robot, target, stiffness=100.0, damping=20.0)
    run = simulate(robot, [0.0], [0.0], 2.0, torque=law)
    off = np.abs(run.q - target(run.t)[0]).max()
    without = ComputedTorque(robot, target, stiffness=100.0, damping=20.0, friction=False)
    lost = simulate(robot, [0.0], [0.0], 2.0, torque=without)
    assert off < 0.1 * np.abs(lost.q - target(lost.t)[0]).max()


def test_level_below_zero_that_would_push_is_refused():
    with pytest.warns(UserWarning, match="friction drives"):
        robot = slider(coulomb=0.5, stribeck={"level": -0.7, "velocity": 1})
    with pytest.raises(ArmdynError, match=r"found -0\.2 forward and 0\.2 backward"):
        simulate(robot, [0.0], [0.0], 1.0)
