"""What the panel of equations writes: whole matrices, single entries, why there are none; numbers."""

import re

import numpy as np
import pytest

from armdyn import Robot
from armdyn.workbench.moment import EditedRobot, Moment
from armdyn.workbench.tabs.equations import _differ, derive, numbers_at
from arms import assert_same, quietly, state
from closed_chains import four_bar


def text(markup):
    return re.sub(r"<[^>]*>|\s|[\u2061\u2062]", "", str.__str__(markup))


def test_short_equations_are_written_whole_and_by_entries():
    choices = derive(Robot.load("planar")).choices
    assert next(iter(choices)) == "Equations of motion"
    assert {"Inertia matrix", "Coriolis matrix", "Gravity torques", "B[1, 2]", "C[2, 1]", "g[1]"} <= set(
        choices
    )
    assert "f[1]" not in choices  # zero
    for write in choices.values():
        assert "<math" in write()
    assert text(choices["g[2]"]()) == "g2=mℓ2ℓ2gc12"


@pytest.mark.slow
def test_long_equations_are_written_by_entries():
    choices = derive(Robot.load("panda")).choices
    assert "Inertia matrix" not in choices
    assert "too many to read at once" in choices["Equations of motion"]()
    assert "<math" in choices["B[7, 7]"]()


def test_a_closed_chain_has_none_and_says_why():
    choices = derive(four_bar()).choices
    assert list(choices) == ["Equations of motion"]
    assert "has loops" in choices["Equations of motion"]()


def test_names_in_equations_are_text():
    table = Robot.load("parallelogram").to_dict()
    for link in table["link"]:
        link["joint_name"] = f"<script>{link['name']}</script>"
    choices = derive(Robot.from_dict(table)).choices
    written = "".join(str.__str__(write()) for write in choices.values())
    assert "<script" not in written
    assert "&lt;script&gt;" in written


@pytest.mark.parametrize("name", ["planar", pytest.param("puma560", marks=pytest.mark.slow)])
def test_numbers_are_those_of_the_state(name):
    robot = quietly(lambda: Robot.load(name))
    q, qd, qdd = state(robot, np.random.default_rng(4))
    loaded = robot.with_payload(2.0)
    found = numbers_at(Moment(EditedRobot.of(robot).changed(loaded), q, qd, qdd))
    cells = [float(x.replace("−", "-")) for x in re.findall(r"<td>([^<]*)</td>", found)]
    n = robot.n
    expected = [loaded.inertia(q).ravel(), loaded.coriolis(q, qd).ravel()]
    for part, x in zip((cells[: n * n], cells[n * n : 2 * n * n]), expected, strict=True):
        assert_same(part, x, 1e-3)
    assert_same(cells[-1], loaded.inverse_dynamics(q, qd, qdd)[-1], 1e-3)


def test_other_values_of_symbols_leave_the_equations_as_they_are():
    robot = Robot.load("planar")
    assert not _differ(robot.model, robot.with_symbols(ml1=60).model)
    assert _differ(robot.model, robot.with_payload(1).model)
