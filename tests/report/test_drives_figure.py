"""Drives chosen, drawn: the path is the cycle, and stays within what the motor gives for a short time."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, size_drives
from armdyn.report import ReportError, plot_sizing
from armdyn.studies.drive_limits import envelope
from arms import assert_same
from golden_messages import golden_error
from page_checks import check_card


@pytest.fixture(scope="module")
def sized():
    cycle = Trajectory.quintic([0, 0, 0], [1, -1, 0.5], duration=1.5)
    return size_drives(Robot.load("planar3"), cycle, points=100, count=1)


def test_the_path_is_the_cycle_within_the_envelope(sized):
    for panel, joint, row in zip(plot_sizing(sized).axes, sized.joints, sized.best.rows, strict=True):
        speed, torque = sized.points(joint)
        paths = [np.column_stack(line.get_data()) for line in panel.lines if len(line.get_xdata()) > 50]
        assert any(path.shape == (len(speed), 2) and np.allclose(path.T, (speed, torque)) for path in paths)
        at, low, high = envelope(row.pair, 300.0)
        assert (torque <= np.interp(speed, at, high) + 1e-6).all()
        assert (torque >= np.interp(speed, at, low) - 1e-6).all()
        assert_same(np.abs(torque).max(), row.values["peak_torque"])


def test_a_notebook_shows_the_table_and_the_picture(sized):
    found = check_card(sized._repr_html_(), pictures=1)
    assert all(pair.name in found.words for pair in sized.best.pairs)


def test_only_drives_that_were_sized_are_drawn():
    with golden_error(ReportError):
        plot_sizing(Robot.load("planar"))
