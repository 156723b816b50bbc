"""Sliders move the arm, and the page shows the torques of the state."""

import re

import numpy as np
import pytest

from armdyn import Robot
from armdyn.workbench.charts import joint_title
from arms import quietly

URDF = """<robot name="two joints">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.05 0 0.2" rpy="0.1 0 0"/><mass value="3.5"/>
      <inertia ixx="0.04" ixy="0.001" ixz="0" iyy="0.05" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <link name="fore">
    <inertial>
      <origin xyz="0 0.01 0.15"/><mass value="1.25"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.012" iyz="0" izz="0.003"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="2" effort="80" velocity="3"/><dynamics damping="0.4" friction="0.2"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <parent link="upper"/><child link="fore"/><origin xyz="0 0 0.4" rpy="0 0.2 0"/><axis xyz="1 0 0"/>
    <limit lower="-0.4" upper="0.4" effort="40" velocity="1"/>
  </joint>
</robot>
"""


def test_joints_are_called_by_their_own_names(opened, tmp_path):
    """In sliders and curves as in bars; the link is told beside."""
    (tmp_path / "arm.urdf").write_text(URDF, "utf-8")
    bench = opened(tmp_path / "arm.urdf")
    assert [joint_title(bench.robot, j) for j in range(2)] == ["1 shoulder", "2 elbow"]
    assert [joint_title(bench.robot, j) for j in range(2)] == ["1 shoulder", "2 elbow"]
    hints = [field.handle.hint for field in bench.fields._fields.values()]
    assert "q of joint 1, which moves 'upper' [rad]" in hints


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planar", "puma560", "panda", "a URDF", "five_bar", "four_bar"])
def test_sliders_and_torques(workbench, tmp_path, name):
    """Positions, velocities and accelerations; torques equal those of `robot.inverse_dynamics` at 1e-9."""
    (tmp_path / "arm.urdf").write_text(URDF, "utf-8")
    given = tmp_path / "arm.urdf" if name == "a URDF" else name
    robot = quietly(lambda: Robot.load(given))
    page = quietly(lambda: workbench(given))
    start, zeros = page.bench.q, np.zeros(robot.n)
    first = robot.inverse_dynamics(start, zeros, zeros)
    page.wait_for_torques(first)
    q = start + np.array([0.13, -0.07, *(0.0,) * robot.n])[: robot.n]
    for joint in range(min(2, robot.n)):
        page.fill(f"{joint + 1} {robot.model.coordinates[joint].joint_label}", q[joint])
    page.wait(lambda: np.allclose(page.bench.q, q, atol=1e-3), "the posture")
    moved = robot.inverse_dynamics(page.bench.q, zeros, zeros)
    assert np.abs(moved - first).max() > 1e-3  # so that the page has something to show
    page.wait_for_torques(moved)
    set_rate(page, "Accelerations", "qdd", -0.6, 1)
    set_rate(page, "Velocities", "qd", 0.4, 2)  # it stands above the other, which is open
    moment = state(page)
    moving = robot.inverse_dynamics(moment.q, moment.qd, moment.qdd)
    assert np.abs(moving - moved).max() > 1e-6
    page.wait_for_torques(moving)


def set_rate(page, folder, name, value, count):
    """Open a folder and fill its first field, before the others of the first joint."""
    robot = page.bench.robot
    first = f"1 {robot.model.coordinates[0].joint_label}"
    page.page.get_by_text(re.compile(f"^{folder} ")).click(force=True)
    fields = page.page.locator("label").filter(has_text=re.compile(f"^{re.escape(first)}$"))
    fields = fields.locator("visible=true")
    page.wait(lambda: fields.count() == count + 1, f"{folder} to open")
    row = fields.nth(1).locator("xpath=ancestor::div[contains(@class, 'mantine-Flex-root')][1]")
    field = row.locator("input[type=text], input[type=number], input[inputmode]").last
    field.fill(f"{value}")
    field.press("Enter")
    page.wait(lambda: abs(getattr(state(page), name)[0] - value) < 1e-3, folder)


def state(page):
    return page.bench._bench.moment
