"""`plot_run`: the curves are the run's, errors are run minus target, marks are its events."""

import numpy as np
import pytest

from armdyn import ArmdynError, ComputedTorque, Robot, Trajectory, simulate
from armdyn.drawing.curves import colour
from armdyn.report import ReportError, plot_run
from golden_messages import golden_error

GOAL = [0.9, -0.4]


@pytest.fixture(scope="module")
def tracked():
    """A planar arm behind a controller that does not know its payload."""
    robot = Robot.load("planar")
    motion = Trajectory.quintic([0.0, 0.3], GOAL, 0.5)
    control = ComputedTorque(robot, motion)
    return motion, simulate(robot.with_payload(5.0), [0.0, 0.3], 0, 0.7, control, progress=False)


def long_lines(panel):
    return [line for line in panel.lines if len(line.get_xdata()) > 20]


def values(lines):
    return np.array([line.get_ydata() for line in lines]).T


def test_curves_are_those_of_the_run_over_its_target(tracked):
    motion, run = tracked
    position, velocity, error, torque, energy = plot_run(run, motion).axes
    q, qd, _ = motion(run.t)
    assert np.allclose(values(long_lines(position)), np.hstack([q, run.q]))
    assert np.allclose(values(long_lines(velocity)), np.hstack([qd, run.qd]))
    assert np.allclose(values(long_lines(error)), run.q - q)
    assert np.abs(run.q - q).max() > 1e-3
    assert np.allclose(values(long_lines(torque)), run.tau)
    labels = {line.get_label(): line.get_ydata() for line in long_lines(energy)}
    assert np.allclose(labels["total"], run.energy)
    assert np.allclose(labels["work of the torques"], run.torque_work)
    units = [panel.get_ylabel() for panel in plot_run(run, motion).axes]
    assert units == [
        "position [rad]", "velocity [rad/s]", "position error [rad]", "torque [N m]", "energy [J]",
    ]  # fmt: skip
    assert energy.get_xlabel() == "time [s]"


def test_a_posture_is_a_target_that_rests(tracked):
    _, run = tracked
    _, velocity, error, _, _ = plot_run(run, GOAL).axes
    assert np.allclose(values(long_lines(error)), run.q - GOAL)
    assert np.allclose(values(long_lines(velocity))[:, :2], 0)


def test_torque_limits_are_drawn_where_torques_come_near_them(tracked):
    motion, run = tracked
    torque = plot_run(run, motion).axes[3]
    levels = {round(abs(float(line.get_ydata()[0]))) for line in torque.lines if len(line.get_xdata()) == 2}
    near = [j for j in range(2) if np.abs(run.tau[:, j]).max() > 0.6 * 3000]
    assert (3000 in levels) == bool(near)
    hard = simulate(run.robot, [0, 0], [0, 0], 0.1, [2900.0, 0.0], progress=False)
    torque = plot_run(hard).axes[2]
    drawn = [line for line in torque.lines if len(line.get_xdata()) == 2 and line.get_ydata()[0] == 3000]
    assert [line.get_color() for line in drawn] == [colour(0)]


def marks(panel, marker):
    found = [line for line in panel.lines if line.get_marker() == marker and len(line.get_xdata())]
    return {(line.get_color(), line.get_markerfacecolor() == "white"): line.get_xdata() for line in found}


@pytest.mark.filterwarnings("ignore::armdyn.SimulationWarning")
def test_events_and_limits_stand_on_the_curves_of_their_joints():
    puma = Robot.load("puma560")
    run = simulate(puma, [0.1, 0.3, -0.2, 0.4, 0.5, 0.1], np.zeros(6), 1.0, progress=False)
    assert [event.kind for event in run.events] == ["slip"]
    assert len(run.limits_passed) == 1
    figure = plot_run(run)
    position = figure.axes[0]
    joint = int(run.events[0].surface.split()[1]) - 1
    assert marks(position, "o") == {(colour(joint), True): pytest.approx([run.events[0].time])}
    (passed,) = [line for line in position.lines if line.get_marker() == "x" and len(line.get_xdata())]
    limit = run.limits_passed[0]
    assert passed.get_xydata().tolist() == [[limit.time, limit.limit]]
    assert passed.get_color() == colour(limit.joint)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["slips", "passes a limit", "limit"]


@pytest.mark.filterwarnings("ignore::armdyn.SimulationWarning")
def test_one_arm_of_a_batch_is_drawn_up_to_where_it_stopped():
    robot = Robot.load("puma560")
    q0 = np.tile([0, 0.8, -2.6, 0, 0.3, 0], (2, 1))
    q0[1, 1] = -0.78
    run = simulate(
        robot, q0, [[0.0] * 6, [0, -1.0, 0, 0, 0, 0]], 0.2, method="rk4", limits="stop", progress=False
    )
    assert np.isnan(run.q[-1, 1]).all()
    kept = np.isfinite(run.q[:, 1]).all(1)
    lines = long_lines(plot_run(run, arm=1).axes[0])
    assert np.allclose(values(lines or plot_run(run, arm=1).axes[0].lines[:6]), run.q[kept, 1])
    assert np.allclose(values(long_lines(plot_run(run, arm=-2).axes[0])), run.q[:, 0])


@pytest.mark.slow
def test_robots_with_both_kinds_of_joints_have_a_column_for_each():
    run = simulate(Robot.load("rp"), [0.3, 0.5], [0, 0], 0.05, progress=False)
    labels = [panel.get_ylabel() for panel in plot_run(run).axes]
    assert labels == [
        "position [rad]", "position [m]", "velocity [rad/s]", "velocity [m/s]", "torque [N m]", "force [N]",
        "energy [J]",
    ]  # fmt: skip
    assert len(plot_run(run, [0.3, 0.5]).axes) == 9


def test_wrong_arguments_are_refused(tracked):
    motion, run = tracked
    with golden_error(ReportError):
        plot_run(motion)
    with golden_error(ArmdynError):
        plot_run(run, Trajectory.quintic(np.zeros(3), np.ones(3), 1.0))
    for target in ([0.1], "motion.csv", [0.1, np.nan]):
        with golden_error(ReportError):
            plot_run(run, target)
    for arm in (0, "first", (0, 1)):
        with golden_error(ArmdynError):
            plot_run(run, arm=arm)
