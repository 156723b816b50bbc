"""Torque over speed: the path is the data, limits are in sight or said, marks are where the numbers are."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from armdyn import MotorLoads, Robot, Trajectory, motor_loads
from armdyn.report import ReportError, plot_motor_loads
from arms import assert_same
from golden_messages import golden_error

PLANAR = Robot.load("planar")
MOTION = Trajectory.triangular([0.5, -1.0], [1.5, 0.5], 0.5)


def marks(panel, kind):
    return [(*line.get_xdata(), *line.get_ydata()) for line in panel.lines if line.get_marker() == kind]


def test_the_path_the_peak_and_the_rms():
    loads = motor_loads(PLANAR, MOTION)
    figure = plot_motor_loads(loads)
    for i, panel in enumerate(figure.axes):
        path = max(panel.lines, key=lambda line: len(line.get_xdata()))
        assert_same(
            np.column_stack(path.get_data()), np.column_stack([loads.speed[:, i], loads.torque[:, i]])
        )
        ((x, y),) = marks(panel, "o")
        peak = np.abs(loads.torque[:, i]).argmax()
        assert (x, y) == (loads.speed[peak, i], loads.torque[peak, i])
        ((x, y),) = marks(panel, "x")
        assert_same([abs(x), abs(y)], [loads.rms_speed[i], loads.rms_torque[i]], 1e-14)
        low, high = panel.get_xlim()
        assert low < x < high
        assert panel.get_title(loc="left") == f"motor {i + 1}, link {i + 1}"
    assert "limit" not in [text.get_text() for text in figure.legends[0].get_texts()]


def test_limits_are_a_rectangle_or_lines_and_far_ones_are_said():
    robot = PLANAR.with_motors(
        {"link 1": {"limits": {"torque": 40, "velocity": 500}}, "link 2": {"limits": {"torque": 900}}}
    )
    first, second = plot_motor_loads(motor_loads(robot, MOTION)).axes
    (box,) = [patch for patch in first.patches if isinstance(patch, Rectangle)]
    assert box.get_bbox().extents.tolist() == [-500, -40, 500, 40]
    assert first.get_xlim()[0] < -500 < 500 < first.get_xlim()[1]
    assert first.get_ylim()[0] < -40 < 40 < first.get_ylim()[1]
    assert second.get_ylabel() == "torque [N m], limit 900"
    assert second.get_ylim()[1] < 900


def test_long_motions_are_drawn_with_few_points_and_their_extremes():
    t = np.linspace(0, 1, 50_001)
    qd, tau = np.random.default_rng(2).normal(size=(2, len(t), 2))
    loads = MotorLoads.from_torques(PLANAR, t, qd, tau)
    path = max(plot_motor_loads(loads).axes[0].lines, key=lambda line: len(line.get_xdata()))
    assert len(path.get_xdata()) < 2000
    assert_same(
        [path.get_xdata().max(), path.get_ydata().min()], [loads.speed[:, 0].max(), loads.torque[:, 0].min()]
    )


def test_a_motor_that_stands_still_and_axes_that_are_given():
    still = MotorLoads.from_torques(PLANAR, [0, 1], np.zeros((2, 2)), np.zeros((2, 2)))
    figure = Figure()
    assert plot_motor_loads(still, ax=figure.subplots(1, 2)) is figure
    with pytest.raises(ReportError, match="ax: this plot has 2 panels, found 1 axes"):
        plot_motor_loads(still, ax=Figure().subplots())


def test_refusals():
    with golden_error(ReportError):
        plot_motor_loads(MOTION)
    many = MotorLoads.from_torques(PLANAR, [0, 1], np.zeros((2, 3, 2)), np.zeros((2, 3, 2)))
    with golden_error(ReportError):
        plot_motor_loads(many)
