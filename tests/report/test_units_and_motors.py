"""Units of friction and of limits at motors, and motors at their limits, in tables and figures."""

import numpy as np
import pytest

from armdyn import Robot, Trajectory, motor_loads, scale_to_limits, time_optimal
from armdyn.report.page import robot_table
from armdyn.report.robot_tables import links_table, motors_table
from armdyn.report.sections.scaling import path_speed, path_text, torque_bounds
from armdyn.report.subject import Subject
from commands import run
from report.test_page import cells, texts
from turn_and_slide import turn_and_slide

ROBOT = turn_and_slide()
MOTION = Trajectory.quintic([0.0, 0.3], [1.5, 0.9], 1.0)


def test_friction_of_both_kinds_of_joints_has_its_units():
    grid_of = links_table(ROBOT.model)
    arm, slider = (row[-1] for row in grid_of.rows)
    expected = (
        "viscous fv N m s/rad coulomb+ 1.5 N m coulomb- -1.5 N m stribeck 0.4 N m stribeck velocity 0.1 rad/s"
    )
    assert str(arm) == expected
    assert str(slider) == "viscous 12 N s/m coulomb+ 4 N coulomb- -4 N offset 0.5 N"


def test_a_unit_that_all_joints_have_stands_in_the_head():
    found = links_table(Robot.load("puma560").model)
    heads = texts(cells(robot_table(found))[1])
    assert heads[-2:] == ["coulomb+ [N m]", "coulomb- [N m]"]


def test_symbols_and_numbers_of_one_column_keep_their_own_units():
    _, heads, arm, slider = map(texts, cells(robot_table(links_table(ROBOT.model))))
    assert "viscous" in heads
    assert any(cell.endswith(" N m s/rad") for cell in arm)
    assert "12 N s/m" in slider


def test_limits_and_constants_of_motors_have_columns_of_their_own():
    upper, lower, arm, slider = map(texts, cells(robot_table(motors_table(ROBOT.model))))
    assert upper[-2:] == ["torque constant [N m/A]", "limits"]
    assert lower[-4:] == ["viscous [N m s/rad]", "torque [N m]", "velocity [rad/s]", "current [A]"]
    assert arm[-4:] == ["0.05", "2", "300", "30"]
    assert slider[-4:] == ["", "0.6", "300", ""]


def test_show_lists_limits_of_motors_beside_their_constants(tmp_path):
    file = tmp_path / "robot.toml"
    ROBOT.save(file)
    text = run("show", str(file))
    assert "torque 2 N m, velocity 300 rad/s, current 30 A" in text
    assert "12 N s/m" in text


def test_motors_at_their_limits_are_marked_along_the_path():
    fast = time_optimal(ROBOT, MOTION)
    found = path_speed(ROBOT, fast)
    loads = motor_loads(ROBOT, fast.trajectory)
    assert found.names == ("1", "2", "M1", "M2")
    at_limit = np.any([x.any(0) for x in found.at_limit.values()], axis=0)
    shares = np.maximum(loads.torque_share, loads.speed_share)
    assert at_limit.tolist() == [False, False, *(shares > 0.999).tolist()]
    assert found.covered > 0.99


def test_a_coupled_motor_at_its_limit_is_marked_with_its_number():
    robot = Robot.load("tx40")
    q = np.zeros((2, 6))
    q[1, 4:] = 1.0, 0.8
    fast = time_optimal(robot, Trajectory.quintic(*q, 1.0), motor_torque=[np.inf] * 5 + [0.5])
    found = path_speed(robot, fast)
    assert found.names == ("1", "2", "3", "4", "5", "6", "M6")
    assert found.at_limit["torque"][:, 6].any()
    text = path_text(found)
    assert "each motor (M)" in text
    assert "At every point" in text


def test_the_limit_drawn_is_the_motors_where_it_is_lower():
    scaled = scale_to_limits(ROBOT, MOTION, faster=True)
    assert torque_bounds(ROBOT, scaled) == pytest.approx([min(200, 30 * 0.05 * 50), min(300, 0.6 * 400)])


def test_energy_of_a_motor_that_only_brakes_is_no_rounding_error():
    row = motor_loads(Robot.load("stanford"), Subject.of(Robot.load("stanford")).trajectory).table()[3]
    assert row.is_rounding(row.energy_drawn)
    assert not row.is_rounding(row.energy)
