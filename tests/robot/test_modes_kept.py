"""Assembly keeps to one mode, passes no singular posture and closes all rows, at any size of the robot."""

import copy

import numpy as np
import pytest

from armdyn import Robot, simulate
from armdyn.model.errors import ModelError
from armdyn.robot.assembly import LoopError
from armdyn.robot.closing import Closed
from arms import slowly
from closed_chains import bar, five_bar_table, four_bar_table, random_loop_table, reference
from golden_messages import golden_error


def parallel_cranks(guess: float, crank: float, third: bool = False) -> Robot:
    """Two or three parallel cranks under a coupler of 1 m: planar, flat where the crank is at 0 or π."""
    links = [
        bar("crank", "base", crank, 0, guess=guess),
        bar("coupler", "crank", 1, crank, guess=-guess, actuated=False),
        bar("rocker", "base", crank, 1, guess=guess, actuated=False),
    ]
    ends = [("rocker", 1.0)]
    if third:
        links.append(bar("third", "base", crank, 1 / 3, guess=guess, actuated=False))
        ends.append(("third", 1 / 3))
    closures = [
        {
            "between": ["coupler", name],
            "at": [{"xyz": [x, 0, 0]}, {"xyz": [crank, 0, 0]}],
            "joint": "revolute",
        }
        for name, x in ends
    ]
    return Robot.from_dict(
        {"name": "cranks", "convention": "frames", "gravity": [0, 0, 0], "link": links, "closure": closures}
    )


@pytest.mark.parametrize("crank", [slowly(0.6), 1.0, slowly(1.7)])
@pytest.mark.parametrize("mode", [0, 1])
def test_a_linkage_of_parallel_cranks_never_changes_its_mode(crank, mode):
    robot = parallel_cranks(1.0, crank)
    robot = robot.with_posture(robot.assembly_modes([1.0])[mode])
    q = np.random.default_rng(0).uniform(-5, 7, (500, 1))
    closes = robot.assembly.closes(q)
    assert (closes == ((q[:, 0] > 0) & (q[:, 0] < np.pi))).all()  # 0 and π are flat
    y = robot.assembly(q[closes])
    parallel = np.abs(y[:, 0] - y[:, 2]) < 1e-9
    assert parallel.all() or not parallel.any()
    with pytest.raises(
        LoopError, match=r"ends in a singular posture near \[3.142\]: the joint 'rocker' does"
    ):
        robot.pose([4.0])


@pytest.mark.parametrize("guess", [0.5, 1.0, 3.0])
def test_rows_left_out_are_closed_too(guess):
    robot = parallel_cranks(guess, 1.7, third=True)
    q = np.random.default_rng(1).uniform(-6, 6, (2000, 1))
    q = q[robot.assembly.closes(q)]
    assert len(q) > 200
    assert robot.assembly.closes(np.linspace(0.01, 3.13, 50)[:, None]).all()  # up to where it is flat
    assert np.abs(Closed.of(robot.model)(robot.assembly(q))[0]).max() < 1e-9


@pytest.mark.parametrize(("twist", "guess"), [slowly(0.3, 1.0), (1.0, 0.4), slowly(1.4, 2.0)])
def test_bennetts_linkage_turns_all_the_way(twist, guess):
    """Three of five rows follow from the others, but no two of them are enough everywhere."""
    robot = bennett(twist, guess)
    q = np.linspace(-6, 6, 200)[:, None]
    y = robot.assembly(q)
    assert np.abs(Closed.of(robot.model)(y)[0]).max() < 1e-13
    speed, h = np.ones_like(q), 1e-5
    energy = [robot.kinetic_energy(x, speed) + robot.potential_energy(x) for x in (q + h, q - h)]
    power = robot.inverse_dynamics(q, speed, 0 * q)[:, 0]
    np.testing.assert_allclose(power, (energy[0] - energy[1]) / (2 * h), atol=1e-6)
    run = simulate(robot, [guess], [1.0], 1.0)
    assert np.ptp(run.energy) < 1e-7 * np.ptp(run.kinetic)


def bennett(twist: float, guess: float) -> Robot:
    """Opposite links alike: 1 m and 0.7 m long, twists whose sines have the same ratio."""
    other = float(np.arcsin(0.7 * np.sin(twist)))
    ratio = np.sin((other + twist) / 2) / np.sin((other - twist) / 2)
    guesses = [guess, 2 * np.arctan(ratio / np.tan(guess / 2)), 2 * np.pi - guess]
    links = [bar("1", "base", 1, 0), bar("2", "1", 0.7, 1), bar("3", "2", 1, 0.7)]
    for link, angle, x in zip(links, guesses, (0, twist, other), strict=True):
        link |= {"guess": float(angle), "actuated": link["name"] == "1"}
        link["origin"]["rpy"] = [x, 0, 0]
    at = [{"xyz": [1, 0, 0], "rpy": [twist, 0, 0]}, {"xyz": [-0.7, 0, 0], "rpy": [-other, 0, 0]}]
    closure = {"between": ["3", "base"], "at": at, "joint": "revolute"}
    table = {"name": "Bennett", "convention": "frames", "gravity": [0, -9.81, 1], "link": links}
    return Robot.from_dict(table | {"closure": [closure]})


@pytest.mark.slow
@pytest.mark.parametrize("seed", [6])  # turns beside lengths, a prismatic coordinate
def test_size_does_not_matter(seed):
    table, found = random_loop_table(seed, 2, friction=False, motors=False), []
    for size in (1, 1 / 1024):
        robot = Robot.from_dict(_scaled(table, size))
        units = np.array([1 if link.joint == "revolute" else size for link in robot.model.positions])
        away = np.random.default_rng(seed).uniform(-0.2, 0.2, (40, 2))
        free = list(robot.mechanism.free)
        q = reference(robot) + away * units[free]
        closes = robot.assembly.closes(q)
        found.append((free, closes, robot.assembly(q[closes]) / units))
    assert found[0][0] == found[1][0]
    assert (found[0][1] == found[1][1]).all()
    np.testing.assert_allclose(found[0][2], found[1][2], atol=1e-9)


def _scaled(table, size):
    table = copy.deepcopy(table)
    frames = [link["origin"] for link in table["link"]] + table["closure"][0]["at"] + [table["tool"]]
    for frame in frames:
        frame["xyz"] = [float(x) * size for x in frame["xyz"]]
    for link in table["link"]:
        for key in ("mass", "com", "inertia", "spring"):
            link.pop(key, None)
        if link["joint"] == "prismatic":
            link["guess"] *= size
    return table


def test_a_singular_first_posture_is_refused():
    table = five_bar_table()
    elbows = 0.3 + 0.8 * np.cos(np.arccos(0.7 / 0.8))  # 1 m apart: forearms in line
    lift = np.arccos((elbows - 0.3) / 0.8)
    for link, guess in zip(table["link"], [np.pi - lift, lift - np.pi, lift, np.pi - lift], strict=True):
        link["guess"] = guess
    with golden_error(ModelError):
        Robot.from_dict(table)


def test_a_posture_that_is_upside_down_is_refused():
    table = four_bar_table()
    table["link"].insert(2, bar("pin", "coupler", 0.1, 0.9, guess=2.0, actuated=False))
    table["closure"][0] |= {"between": ["pin", "rocker"], "joint": "fixed"}
    table["closure"][0]["at"][0] = {"xyz": [0, 0, 0]}
    robot = Robot.from_dict(table)
    y = robot.assembly([1.0])
    np.testing.assert_allclose(robot.assembly(y), y, atol=1e-12)
    with golden_error(LoopError):
        robot.assembly(y + np.array([0, 0, np.pi, 0]))  # its rows are sin π = 0
