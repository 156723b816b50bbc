"""Sliders move the arm, and the page shows the torques of the state."""

import numpy as np
import pytest

from armdyn import Robot


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar", "puma560", "panda"])
def test_sliders_and_torques(workbench, name):
    robot = Robot.load(name)
    page = workbench(robot)
    page.wait_for_torques(robot.inverse_dynamics(page.bench.q, np.zeros(robot.n), np.zeros(robot.n)))
    q = page.bench.q
    q[0], q[1] = 0.31, -0.27
    for joint in (0, 1):
        page.fill(f"{joint + 1} {robot.model.coordinates[joint].name}", q[joint])
    page.wait(lambda: np.allclose(page.bench.q, q, atol=1e-3), "the posture")
    page.wait_for_torques(robot.inverse_dynamics(page.bench.q, np.zeros(robot.n), np.zeros(robot.n)))
