"""Which limits a motion exceeds: the largest value, the limit and the instant, found another way."""

import numpy as np
import pytest

from armdyn import MotionError, Robot, Trajectory, exceeded_limits, simulate
from armdyn.motion.timing.exceeded import exceeded, sentences
from arms import Part, Plan, table_of
from golden_messages import golden_error

LIMITS = {"position": [-0.5, 0.8], "velocity": 1.0, "acceleration": 3.0, "jerk": 20.0, "torque": 2.0}


PARTS = (
    Part("link 1", "base", "revolute", "base", ("link 2",), True),
    Part("link 2", "link 1", "prismatic", "base", (), True),
    Part("link 3", "link 2", "revolute", None, (), False),
)


def limited(seed: int, **limits) -> Robot:
    """A random arm of three joints, all with the same limits; a coupled motor, and a joint without one."""
    table = table_of(Plan(PARTS, "exact", "link 3", seed))
    for link in table["link"]:
        link["limits"] = limits or LIMITS
        if "motor" in link:
            link["motor"]["limits"] = {"velocity": 10.0, "torque": 0.1}
    return Robot.from_dict(table)


@pytest.mark.parametrize("seed", [1, 2])
def test_largest_values_of_all_kinds(seed):
    """A motion as a function of time, against maxima over its samples; jerk is the derivative by hand."""
    robot = limited(seed)
    motion = Trajectory.quintic([0, 0, 0], [1, -1, 0.01], 1.0)
    at = motion.samples()
    found = {(x.kind, x.index): x for x in exceeded_limits(robot, motion)}
    tau = robot.inverse_dynamics(at.q, at.qd, at.qdd)
    shafts = np.linalg.solve(robot.transmission.T, tau.T).T
    curves = {"velocity": at.qd, "acceleration": at.qdd, "torque": tau}
    curves |= {"motor velocity": at.qd @ robot.transmission.T, "motor torque": shafts}
    bounds = {**LIMITS, "motor velocity": 10.0, "motor torque": 0.1}
    geared = [link.motor is not None for link in robot.model.moving]
    for kind, x in curves.items():
        for i in range(3):
            limit = bounds[kind] if geared[i] or not kind.startswith("motor") else np.inf
            worst = abs(x[:, i]).argmax()
            assert ((kind, i) in found) == (abs(x[worst, i]) > limit)
            if one := found.get((kind, i)):
                assert abs(one.value) == pytest.approx(abs(x[worst, i]))
                assert (one.limit, one.time) == (limit, at.t[worst])
                assert f"{100 * one.share:.4g} % of its limit" in one.text or one.share >= 10
    assert [found[("position", i)].value for i in (0, 1)] == [1.0, -1.0]
    assert found[("jerk", 0)].value == pytest.approx(60, rel=0.02)  # 60 Δq/T³ at both ends
    assert ("jerk", 2) not in found


def test_accelerations_that_jump_are_beyond_any_limit_of_jerk():
    robot = limited(3, jerk=50.0)
    jumps = Trajectory.trapezoidal([0, 0, 0], [1, 1, 0], acceleration_time=0.2, duration=1.0)
    (said,) = sentences([x for x in exceeded_limits(robot, jumps) if x.kind == "jerk"])
    assert said == "joints 1, 2: accelerations jump, first at 0 s, beyond any limit of jerk"
    smooth = Trajectory.jerk_limited([0, 0, 0], [1, 1, 0], 1.0, 3.0, 50.0)
    assert not [x for x in exceeded_limits(robot, smooth) if x.kind == "jerk"]


def test_at_its_limits_a_motion_exceeds_none():
    robot = limited(4, velocity=1.0, acceleration=3.0)
    motion = Trajectory.trapezoidal([0, 0, 0], [1, -1, 0.3], max_velocity=1.0, max_acceleration=3.0)
    assert not [x for x in exceeded_limits(robot, motion) if not x.of_motor]


def test_runs_and_states():
    """A run's torques are those applied; a state has no instant."""
    robot = limited(5, torque=2.0)
    run = simulate(robot, [0, 0, 0], [0, 0, 0], 0.01, [3.0, 0.0, 0.0])
    (one,) = [x for x in exceeded_limits(robot, run) if x.kind == "torque"]
    assert (one.index, one.value, one.share) == (0, 3.0, 1.5)
    (one,) = [x for x in exceeded(robot, tau=[0, -2.5, 0]) if x.kind == "torque"]
    name = robot.coordinates[1]
    unit = "N m" if robot.model.coordinates[1].joint == "revolute" else "N"
    assert one.text == f"joint 2 ('{name}'): torque 2.5 {unit}, 125 % of its limit of 2 {unit}"
    with golden_error(MotionError):
        exceeded_limits(robot, simulate(robot, np.zeros((2, 3)), np.zeros(3), 0.01))
