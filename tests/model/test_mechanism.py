"""`Mechanism.map`: every scalar once, in one order, and nothing else."""

from dataclasses import fields, is_dataclass

import pytest
from hypothesis import given, settings

from armdyn import Robot, bundled_robots
from armdyn.model.mechanism import unchanged
from armdyn.model.parameters import layout, parameter_vector
from arms import robots

INDICES = {"parent", "joint", "carrier", "tip", "part", "number", "tied", "kept", "free"}


def numbers(x, name=""):
    """Every number of a mechanism, found without `map`: field by field, indices left out."""
    if is_dataclass(x):
        return [y for f in fields(x) if f.name not in INDICES for y in numbers(getattr(x, f.name), f.name)]
    if name == "row":
        return [k for _, k in x]
    return [y for part in x for y in numbers(part, name)] if isinstance(x, tuple) else [x]


@given(robot=robots((1, 3)))
@settings(max_examples=20, deadline=None)
def test_every_scalar_is_met_once_in_the_order_of_the_fields(robot):
    mechanism = robot.mechanism
    assert mechanism.map(unchanged) == mechanism
    assert mechanism.scalars() == numbers(mechanism)
    values = iter(range(1000, 10_000))
    renumbered = mechanism.map(lambda _: next(values))
    found = numbers(renumbered)
    assert found == list(range(1000, 1000 + len(found)))
    assert [body.parent for body in renumbered.bodies] == [body.parent for body in mechanism.bodies]
    assert (renumbered.tip, renumbered.n) == (mechanism.tip, mechanism.n)


@pytest.mark.parametrize("name", bundled_robots())
def test_geometry_and_parameters_together_are_all(name):
    robot = Robot.load(name)
    mechanism = robot.mechanism
    blank = mechanism.map(unchanged, lambda _: None)
    assert blank.scalars(parameters=False) == mechanism.scalars(parameters=False)
    assert set(parameter_vector(blank, layout(robot.model))) <= {
        None,
        0,
    }  # 0: the rotor of a joint that has none
