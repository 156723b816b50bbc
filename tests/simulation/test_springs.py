"""Robots with springs that move: frequencies, energies, friction that holds, control, observer."""

from dataclasses import replace

import numpy as np
import pytest

from armdyn import (
    AdaptiveControl,
    ComputedTorque,
    GravityCompensation,
    MomentumObserver,
    OperationalControl,
    PDGravity,
    Robot,
    Trajectory,
    linearize,
    simulate,
)
from armdyn.expression import Expression
from armdyn.model.parts import JointSpring
from armdyn.simulation import TipPoint
from arms import assert_same, slowly
from spring_arms import sprung


def wheel(stiffness=20, rest=0.3, coulomb=0.0, weight=0.0):
    """A flywheel of 0.5 kg m² on a spring; with a `weight` [N] 0.4 m below its axis at q = 0, a pendulum."""
    link = {"name": "wheel", "joint": "revolute", "axis": [0, 0, 1], "mass": 2, "inertia": {"zz": 0.5}}
    link |= {"origin": {"xyz": [0, 0, 0]}, "friction": {"coulomb": coulomb}}
    link |= {"com": [0, -0.4, 0]} if weight else {}
    table = {"name": "wheel", "convention": "frames", "gravity": [0, -weight / 2, 0], "link": [link]}
    model = Robot.from_dict(table).model
    spring = JointSpring(Expression.of(stiffness), Expression.of(rest))
    return Robot(replace(model, links=(replace(model.links[0], spring=spring),)))


@pytest.fixture(scope="module")
def arm():
    """Three joints, springs at two of them, one between points with rest length and force."""
    return Robot(sprung(Robot.load("elbow").model, 3, struts=1))


@pytest.mark.parametrize("method", ["adaptive", "rk4"])
def test_a_wheel_on_a_spring_and_the_harmonic_oscillator(method):
    run = simulate(wheel(), [1.0], [0.0], 3.0, method=method, output=0.01)
    w = np.sqrt(20 / 0.5)
    assert_same(run.q[:, 0], 0.3 + 0.7 * np.cos(w * run.t), 1e-8)


def test_a_pendulum_with_a_spring_and_its_frequency():
    """Small swings about the lowest point: ω² = (m g l + k)/I with I about the axis."""
    robot = wheel(stiffness=15, rest=0, weight=20)
    w = np.sqrt((15 + 20 * 0.4) / (0.5 + 2 * 0.4**2))
    system = linearize(robot, [0.0])
    assert_same(np.abs(np.linalg.eigvals(system.A).imag), [w, w], 1e-12)
    run = simulate(robot, [1e-4], [0.0], 2.0)
    assert_same(run.q[:, 0] / 1e-4, np.cos(w * run.t), 1e-6)


def test_energies_of_a_free_arm_with_springs(arm):
    frictionless = Robot(
        replace(
            arm.model,
            links=tuple(replace(link, friction=type(link.friction)()) for link in arm.model.links),
        )
    )
    start = np.array([0.4, -0.3, 0.6])
    run = simulate(frictionless, start, [0.5, 0, -0.4], 1.0, output=0.05)
    assert run.completed
    total = run.kinetic + run.potential
    assert np.ptp(run.kinetic) > 1
    assert_same(total, np.full(len(total), total[0]), 1e-8)


def test_dry_friction_holds_a_spring_up_to_its_level():
    """2 N m of friction hold the wheel within 0.1 rad of the rest of 20 N m/rad, not beyond."""
    robot = wheel(coulomb=2.0)
    held = simulate(robot, [[0.39], [0.21], [0.41]], 0.0, 2.0, output=0.01)
    assert_same(held.q[-1, :2], [[0.39], [0.21]], 1e-12)
    assert held.q[-1, 2, 0] < 0.409
    assert abs(held.q[-1, 2, 0] - 0.3) <= 0.1


@pytest.mark.parametrize(
    "control",
    [
        slowly(lambda robot, q: PDGravity(robot, q, stiffness=50, damping=5)),
        slowly(lambda robot, q: GravityCompensation(robot)),
        slowly(ComputedTorque),
        lambda robot, q: OperationalControl(robot, TipPoint(robot.pose(q)[:3, 3])),
        lambda robot, q: AdaptiveControl(robot, q, ["Ks1"], adaptation=0, damping=5),
    ],
    ids=["pd", "gravity", "computed torque", "operational", "adaptive"],
)
def test_controllers_hold_an_arm_against_its_springs(arm, control):
    q = np.array([0.4, -0.3, 0.6])
    assert np.abs(arm.springs(q)).max() > 1
    run = simulate(arm, q, 0.0, 0.3, control(arm, q), method="rk4", output=0.1)
    assert_same(run.q, np.tile(q, (len(run.t), 1)), 1e-10)


def test_control_along_a_trajectory_with_springs(arm):
    motion = Trajectory.quintic([0.4, -0.3, 0.6], [0.9, 0.2, 0.1], duration=0.5)
    start = motion(0.0)
    run = simulate(arm, start[0], start[1], 0.5, ComputedTorque(arm, motion), method="rk4", output=0.1)
    assert_same(run.q, motion(run.t)[0], 1e-6)


def test_adaptive_control_learns_the_stiffness_of_a_spring():
    robot = wheel()
    t = np.linspace(0, 12, 601)
    motion = Trajectory.from_samples(t, (0.8 * np.sin(2 * t) + 0.3 * np.sin(5 * t))[:, None])
    law = AdaptiveControl(robot, motion, ["Ks1", "Kr1"], estimates=[10.0, 0.0])
    run = simulate(robot, [0.0], motion(0.0)[1], 12.0, law, method="rk4", output=1.0)
    assert_same(run.memory[-1], [20, 6], 0.02)


def test_the_observer_sees_no_spring_as_a_contact(arm):
    frictionless = Robot(
        replace(
            arm.model,
            links=tuple(replace(link, friction=type(link.friction)()) for link in arm.model.links),
        )
    )
    t = np.linspace(0, 0.5, 501)
    motion = Trajectory.quintic([0.4, -0.3, 0.6], [0.9, 0.2, 0.1], duration=0.5)
    q, qd, qdd = motion(t)
    tau = frictionless.inverse_dynamics(q, qd, qdd)
    seen = MomentumObserver(frictionless, gain=100, step=1e-3).run(q, qd, tau)
    assert np.abs(seen.residual).max() < 1e-4 * np.abs(tau).max()
    assert np.abs(frictionless.springs(q)).max() > 0.01 * np.abs(tau).max()
