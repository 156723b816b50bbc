"""Arguments of changed robots and of solids: wrong ones are refused by name, NumPy's numbers are numbers."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from armdyn import (
    ArmdynError,
    Expression,
    Robot,
    box,
    cylinder,
    hollow_cylinder,
    point_mass,
    rod,
    set_backend,
    set_threads,
    simulate,
    sphere,
)

HUGE = 10**10_000
NO_NUMBERS = [
    *(None, True, math.nan, math.inf, HUGE, "", "1 +", "\x00", b"1", 1j, [1], (1, 2), {"a": 1}, {1}),
    *(object(), print, datetime.date(2020, 1, 1), Decimal("NaN"), np.array([1.0, 2.0]), np.array(True)),
    *(np.array(math.nan), np.array("x +"), np.array(None)),
]
NO_VECTORS = [
    *(
        None,
        9.81,
        "abc",
        "0, 0, 1",
        b"abc",
        [0, 0],
        [0, 0, 0, 0],
        {0, 1, 2},
        {"x": 1},
        range(3),
        HUGE,
        object(),
    ),
    *(np.zeros(2), np.zeros((3, 1)), np.zeros((1, 3)), np.array(3.0), np.zeros((3, 3))),
    *([[0, 0, 1]], [0, 0, math.nan], [0, 0, None], [True] * 3, [0, 0, HUGE], ["x y", 0, 0]),
    *(np.array([0, 0, np.nan]), np.array([True] * 3), np.array([None] * 3), iter([0, 0, 1])),
]


def repr_of(value):
    return type(value).__name__


@pytest.fixture(scope="module")
def robot():
    return Robot.load("planar")


def refused(name, call):
    with pytest.raises(ArmdynError) as caught:
        call()
    text = str(caught.value)
    assert name in text
    assert "\n" not in text
    assert len(text) < 500
    return text


def test_one_number_for_gravity(robot):
    assert refused("gravity", lambda: robot.with_gravity(9.81)) == "gravity: expected 3 numbers, found 9.81"


@pytest.mark.parametrize("value", NO_VECTORS, ids=repr_of)
def test_no_vectors(robot, value):
    refused("gravity", lambda: robot.with_gravity(value))
    refused("com", lambda: robot.with_payload(1, value))
    refused("size", lambda: box(1, value))
    refused("position", lambda: point_mass(1, value))


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr_of)
def test_no_numbers(robot, value):
    refused("mass", lambda: robot.with_payload(value))
    refused("inertia.xx", lambda: robot.with_payload(1, inertia={"xx": value}))
    refused("gravity[1]", lambda: robot.with_gravity([0, value, 0]))
    refused("parameters[0]", lambda: robot.with_parameters([value, *robot.parameters[1:]]))
    refused("mass", lambda: sphere(value, 1))
    refused("radius", lambda: sphere(1, value))
    refused("radius", lambda: cylinder(1, value, 1))
    refused("length", lambda: cylinder(1, 1, value))
    refused("inner", lambda: hollow_cylinder(1, value, 1, 1))
    refused("outer", lambda: hollow_cylinder(1, 0, value, 1))
    refused("length", lambda: rod(1, value))
    refused("size[2]", lambda: box(1, (1, 1, value)))


@pytest.mark.parametrize(
    "value", [None, 3, "abc", HUGE, {"m1": 1}, np.zeros((2, 26)), np.zeros(25), [1]], ids=repr_of
)
def test_no_parameters(robot, value):
    refused("parameters", lambda: robot.with_parameters(value))


@pytest.mark.parametrize(
    "value", [None, 3, "all", "", ["exact"], HUGE, np.array(["exact", "none"])], ids=repr_of
)
def test_no_words(robot, value):
    refused("rotors", lambda: robot.with_rotors(value))
    refused("zeros", lambda: robot.symbolic(value))
    if value is not None:
        refused("payload", lambda: robot.with_payload(1, link=value))


@pytest.mark.parametrize(
    "value",
    [3, "xx", [1, 2], np.diag([1, 2]), np.ones((3, 2)), np.tri(3), {"x": 1}, {3: 1}, {HUGE: 1}],
    ids=repr_of,
)
def test_no_tensors(robot, value):
    refused("inertia", lambda: robot.with_payload(1, inertia=value))


@pytest.mark.parametrize("make", [Robot, Robot.load], ids=["Robot", "load"])
@pytest.mark.parametrize("value", [None, 3, 1.5, b"planar", ["planar"], HUGE, {"name": "x"}], ids=repr_of)
def test_no_robots(make, value):
    with pytest.raises(TypeError, match=r"expected a (RobotModel|path)"):
        make(value)


def test_negative_sizes_and_masses_of_solids():
    refused("mass", lambda: box(-1, (1, 1, 1)))
    refused("size[1]", lambda: box(1, (1, -1, 1)))
    refused("radius", lambda: sphere(1, -1))
    refused("radius", lambda: cylinder(1, "-1/2", 1))
    refused("inner", lambda: hollow_cylinder(1, 2, 1, 1))
    assert hollow_cylinder("m", "a", "b", 1).mass == Expression.symbol("m")


def test_numpy_numbers_and_vectors_are_numbers(robot):
    lists = robot.with_gravity([0, 0.5, -9.81]).with_payload(2, [0.1, 0, 0], {"zz": 0.25})
    arrays = robot.with_gravity(np.array([0, 0.5, -9.81])).with_payload(
        np.float64(2), np.array([0.1, 0, 0]), {"zz": np.array(0.25)}
    )
    assert lists == arrays
    assert box(np.int64(3), np.array([1, 2, 3])) == box(3, (1, 2, 3))
    assert sphere(Fraction(1, 2), Decimal("0.1")) == sphere(0.5, "1/10")
    assert robot.with_parameters(list(robot.parameters)) == robot.with_parameters(robot.parameters)


def test_a_pandas_column_is_a_list_of_numbers(robot):
    pandas = pytest.importorskip("pandas")
    column = pandas.Series(robot.parameters, index=robot.parameter_names)
    assert robot.with_parameters(column) == robot.with_parameters(robot.parameters)


def test_messages_quote_the_beginning_of_a_small_list_that_stands_in_others_many_times():
    many: list = [1.0]
    for _ in range(40):
        many = [many, many]
    robot = Robot.load("planar")
    calls = [
        lambda: set_threads(many),
        lambda: set_backend(many),
        lambda: robot.pose([0, 0], many),
        lambda: simulate(robot, [0, 0], [0, 0], 0.1, method=many),
    ]
    for call in calls:
        with pytest.raises((ArmdynError, TypeError, ValueError), match=r"\[\[\[\[") as caught:
            call()
        assert len(str(caught.value)) < 200


def test_load_names_the_method_for_what_it_does_not_take():
    with pytest.raises(TypeError, match=r"no option 'payload'; .*\.with_payload\(…\) is for that$"):
        Robot.load("planar", payload=2.0)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"no option 'colour'; allowed: base, tip, lock, repair, snap$"):
        Robot.load("planar", colour="red")  # type: ignore[arg-type]
