"""The rows of torques: at the joints, at the motors, with what stands beside them; without a page."""

import re

import numpy as np
import pytest

from armdyn import Robot, contributions
from armdyn.motion import MotorLoads
from armdyn.robot.joints import joint_limits
from armdyn.workbench.moment import EditedRobot, Moment
from armdyn.workbench.tabs.torques import COLOURS, bars, joint_rows, motor_rows, said_of
from arms import assert_same, quietly, state
from closed_chains import five_bar, reference
from elastic_arms import geared_wrist, two_links


class Limited:
    """What rows ask of a bench."""

    def __init__(self, robot):
        self.robot, self.limits = robot, joint_limits(robot)


def moment_of(robot, seed=1, **more):
    q, qd, qdd = state(robot, np.random.default_rng(seed))
    return Moment(EditedRobot.of(robot), q, qd, qdd, **more)


def written(moment, rows, remarks):
    return str.__str__(bars(rows, True)) + str.__str__(said_of(moment, rows, True, remarks))


def test_the_colours_are_those_of_all_causes():
    names = list(contributions(Robot.load("pendulum"), [0.1], [0.2], [0.3]).parts)
    assert list(COLOURS) == names


def test_joints_have_all_digits_and_add_up():
    robot = Robot.load("scara")
    moment = moment_of(robot, wrench=np.arange(6.0))
    rows, remarks = joint_rows(Limited(robot), moment)
    text = written(moment, rows, remarks)
    found = [float(x) for x in re.findall(r'data-tau="([^"]*)"', text)]
    assert_same(found, robot.inverse_dynamics(moment.q, moment.qd, moment.qdd, moment.wrench), 1e-12)
    assert_same([row.parts.sum() for row in rows], found, 1e-12)
    assert [row.unit for row in rows] == ["N m", "N m", "N", "N m"]
    assert "Rotor coupling: what spinning rotors add" in text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_torques_that_are_no_numbers_are_not_drawn_as_zero():
    robot = Robot.load("planar")
    moment = Moment(EditedRobot.of(robot), np.array([0.3, 0.4]), np.array([1e200, 0.5]), np.zeros(2))
    assert not np.isfinite(moment.tau).any()
    for rows, remarks in (joint_rows(Limited(robot), moment), motor_rows(moment)):
        text = written(moment, rows, remarks)
        assert not any(row.is_known for row in rows)
        assert text.count("<span>– N m</span>") == len(rows)
        assert "–: the values are too large to compute with." in text
        assert "nan%" not in text
        assert "0 %</small>" not in text


def test_what_is_rounding_is_zero():
    robot = Robot.load("planar")
    moment = Moment(EditedRobot.of(robot), np.array([np.pi / 2, 0.0]), np.zeros(2), np.zeros(2))
    assert 0 < np.abs(moment.tau).max() < 1e-10
    rows, _ = joint_rows(Limited(robot), moment)
    assert [row.total for row in rows] == [0.0, 0.0]
    assert not any(row.parts.any() for row in rows)
    assert [float(dict(row.data)["data_tau"]) for row in rows] == moment.tau.tolist()
    assert [row.total for row in motor_rows(moment)[0]] == [0.0, 0.0]


def test_a_torque_beyond_its_limit_stands_out():
    robot = Robot.load("planar")
    moment = Moment(EditedRobot.of(robot), np.zeros(2), np.zeros(2), np.array([20.0, 0.0]))
    rows, remarks = joint_rows(Limited(robot), moment)
    text = written(moment, rows, remarks)
    assert text.count("ad-over") == 1
    assert "limit 3000 N m, exceeded by" in text


def marks(text, mark):
    """Where marks stand in each row [% of its width]."""
    rows = text.split('class="ad-row')[1:]
    return [[float(x) for x in re.findall(rf'<{mark} style="left:([\d.]+)%', row)] for row in rows]


@pytest.mark.parametrize("qdd", [0.0, -80.0], ids=["within the limits", "beyond one"])
def test_bars_of_one_unit_can_be_compared(qdd):
    """A larger torque of the same limit is drawn longer; to values, lengths are in proportion to torques."""
    table = Robot.load("scara").to_dict()
    for link, limit in zip(table["link"], (300, 300, 500, None), strict=True):
        link["limits"] = {} if limit is None else {"torque": limit}
    robot = Robot.from_dict(table)
    q, qd, _ = state(robot, np.random.default_rng(4))
    moment = Moment(EditedRobot.of(robot), q, qd, np.full(robot.n, qdd))
    rows, remarks = joint_rows(Limited(robot), moment)
    assert (max(row.reach / row.limit for row in rows) > 1) == bool(qdd)
    limits = [row.limit for row in rows]
    text = written(moment, rows, remarks)
    sums = np.array(marks(text, "b")).ravel() - 50
    low, high = np.array(marks(text, "s")[:3]).T  # the last row has no limit
    assert np.ptp(low) < 1e-9
    assert np.ptp(high) < 1e-9
    assert_same(sums[:3], (high - 50) * [row.total / row.limit for row in rows[:3]], 1e-4)
    by_value = np.array(marks(str.__str__(bars(rows, False)), "b")).ravel() - 50
    turning = [i for i, row in enumerate(rows) if row.unit == "N m"]
    tau = np.array([rows[i].total for i in turning])
    assert_same(by_value[turning] * np.abs(tau).max(), tau * np.abs(by_value[turning]).max(), 1e-3)
    assert limits[3] == np.inf
    assert "sum" in text
    assert f"{100 * abs(rows[0].total) / 300:.0f}\u00a0%" in text


def test_sums_are_power_and_energies():
    robot = Robot.load("planar")
    moment = moment_of(robot)
    text = written(moment, *joint_rows(Limited(robot), moment))
    found = {name: float(x) for name, x in re.findall(r'data-sum="(\w+)" data-value="([^"]*)"', text)}
    expected = {
        "power": moment.tau @ moment.qd,
        "kinetic": robot.kinetic_energy(moment.q, moment.qd),
        "potential": robot.potential_energy(moment.q),
    }
    assert_same([found[name] for name in expected], list(expected.values()), 1e-12)


@pytest.mark.parametrize("name", ["puma560", "scara", pytest.param("palletizer", marks=pytest.mark.slow)])
def test_motors_are_those_of_motor_loads(name):
    robot = quietly(lambda: Robot.load(name))
    moment = moment_of(robot)
    rows, remarks = motor_rows(moment)
    loads = MotorLoads.from_torques(
        robot, [0.0, 1.0], np.tile(moment.qd, (2, 1)), np.tile(moment.tau, (2, 1))
    )
    assert_same([row.total for row in rows], loads.torque[0], 1e-12)
    assert_same([row.parts.sum() for row in rows], loads.torque[0], 1e-11)
    assert_same(
        [row.limit if np.isfinite(row.limit) else -1 for row in rows],
        np.where(np.isfinite(loads.limits.torque), loads.limits.torque, -1),
    )
    text = written(moment, rows, remarks)
    assert_same([float(x) for x in re.findall(r'data-torque="([^"]*)"', text)], loads.torque[0], 1e-12)
    for power in loads.power[0]:
        assert f"{power:.4g} W".replace("-", "−") in text


def test_speed_and_current_beyond_their_limits():
    table = Robot.load("pendulum").to_dict()
    table["link"][0]["motor"] |= {"torque_constant": 0.5, "limits": {"velocity": 10, "current": 2}}
    robot = Robot.from_dict(table)
    moment = Moment(EditedRobot.of(robot), np.array([0.3]), np.array([5.0]), np.array([1.0]))
    rows, remarks = motor_rows(moment)
    torque = robot.drives.to_motors @ moment.tau
    text = written(moment, rows, remarks)
    assert f"{torque[0] / 0.5:.4g} of 2 A" in text
    assert " of 10 rad/s" in text
    assert rows[0].over
    assert rows[0].limit == 1.0  # by the current


def test_a_robot_without_motors_says_so():
    robot = Robot.load("planar3")
    rows, remarks = motor_rows(moment_of(robot))
    assert not rows
    assert "has no motors" in remarks[0]


def test_elastic_joints_say_where_nothing_acts():
    robot = two_links()
    moment = moment_of(robot)
    rows, remarks = joint_rows(Limited(robot), moment)
    assert len(rows) == robot.n == 4
    assert sum("No motor acts on" in remark for remark in remarks) == 2
    shafts, _ = motor_rows(moment)
    assert_same([row.total for row in shafts], robot.drives.to_motors @ moment.tau, 1e-12)


def test_motors_coupled_to_an_elastic_link_say_what_they_give_there():
    robot = geared_wrist()
    moment = moment_of(robot)
    _, remarks = joint_rows(Limited(robot), moment)
    given = moment.tau[1] * 40 / 60
    assert [f"give {given:.4g} N m there" in remark for remark in remarks] == [True]


@pytest.mark.slow
def test_more_drives_than_coordinates_share_the_torque():
    table = five_bar().to_dict()
    for link in table["link"]:
        link.pop("actuated", None)
        link.pop("motor", None)
    robot = Robot.from_dict(table)
    q = reference(robot)
    moment = Moment(EditedRobot.of(robot), q, np.ones(robot.n), np.ones(robot.n))
    rows, remarks = joint_rows(Limited(robot), moment)
    shared = robot.actuator_torques(q, moment.tau)
    assert len(shared) > robot.n
    assert_same([row.total for row in rows[robot.n :]], shared, 1e-12)
    assert any("More joints are driven" in remark for remark in remarks)
    assert "has no motors" in motor_rows(moment)[1][0]


def test_names_are_text():
    table = Robot.load("pendulum").to_dict()
    table["link"][0]["name"] = "<script>window.evil = 1</script>\n\"'"
    robot = Robot.from_dict(table)
    moment = moment_of(robot)
    for rows, remarks in (joint_rows(Limited(robot), moment), motor_rows(moment)):
        text = written(moment, rows, remarks)
        assert "<script" not in text
        assert "&lt;script&gt;" in text
