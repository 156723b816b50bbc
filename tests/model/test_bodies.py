"""Bodies no matter can form, beside large offsets, beside free symbols, and in identified parameters."""

import warnings

import numpy as np
import pytest

from armdyn import ArmdynError, PhysicsWarning, Robot, bundled_robots
from arms import quietly
from golden_messages import golden_error, golden_warning

PLACE = {"joint": "revolute", "origin": {"xyz": [0, 0, 1]}}
SOUND = {"mass": 2, "com": [0.1, 0.2, 0.1], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1}}


def table(body, **symbols):
    """Two links that turn about different axes, so that every entry of the second one's tensor is felt."""
    return {
        "name": "arm",
        "convention": "frames",
        "gravity": [0, 0, -9.81],
        "symbols": symbols,
        "link": [
            {"name": "first", "axis": [0, 0, 1], **PLACE, **SOUND},
            {"name": "body", "axis": [0, 1, 0], **PLACE, **body},
        ],
    }


def refused(body, **symbols):
    with golden_error(ArmdynError) as caught:
        Robot.from_dict(table(body, **symbols))
    return str(caught.value)


def warned(body, **symbols):
    with golden_warning(PhysicsWarning):
        robot = Robot.from_dict(table(body, **symbols))
    assert any("triangle" in text for text in robot.warnings)


def accepted(body, **symbols):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot = Robot.from_dict(table(body, **symbols))
    assert robot.warnings == []
    return robot


# ---- beside a large offset -----------------------------------------------------------------------------

OFFSETS = [[0, 0, 0], [0.1, 0.2, 0.3], [1, -2, 3], [11, -7, 13], ["1000/51", 0, "1/3"]]


@pytest.mark.parametrize("com", OFFSETS, ids=str)
@pytest.mark.parametrize("mass", [1e-3, 1, "1/3", 1e6])
def test_the_tensor_as_given_and_not_what_an_offset_leaves_of_it(mass, com):
    """1e-9 kg m² beside a million kilograms twenty metres away: the sign of it is still seen."""
    small = 1e-9
    body = {"mass": mass, "com": com}
    refused(body | {"inertia": {"xx": -small, "yy": small, "zz": small}})
    refused(body | {"inertia": {"xx": small, "yy": small, "zz": small, "xy": 1.5 * small}})
    warned(body | {"inertia": {"xx": small, "yy": small, "zz": 2.01 * small}})
    accepted(body | {"inertia": {"xx": small, "yy": small, "zz": 2 * small}})


@pytest.mark.parametrize("com", [["sqrt(2)", "cos(0.3)", "pi"], ["10*sqrt(3)", 0, "sin(1)/7"]], ids=str)
def test_offsets_that_are_no_rational_numbers(com):
    body = {"mass": 3, "com": com}
    refused(body | {"inertia": {"xx": -1e-6, "yy": 1e-6, "zz": 1e-6}})
    warned(body | {"inertia": {"xx": 1e-6, "yy": 1e-6, "zz": 3e-6}})
    accepted(body | {"inertia": {"xx": 1e-6, "yy": 1e-6, "zz": 2e-6}})
    accepted(body)  # a point


def test_a_payload_beside_a_large_offset():
    robot = Robot.load("planar")
    with golden_error(ArmdynError):
        robot.with_payload(1e6, [10, 0, 0], {"xx": -1e-6, "yy": 1e-6, "zz": 1e-6})
    assert robot.with_payload(1e6, [10, 0, 0], {"xx": 1e-6, "yy": 1e-6, "zz": 1e-6}).warnings == []


def test_tensors_printed_with_six_digits_are_no_impossible_ones():
    """A rod and a plate in turned axes: rounding leaves a moment just below zero, or one just too large."""
    rng = np.random.default_rng(5)
    for moments in ((0, 1, 1), (0.4, 0.6, 1)):
        Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        M = np.round(Q @ np.diag(moments) @ Q.T, 7)
        keys = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
        accepted({"mass": 1, "com": [3, 2, 1], "inertia": {key: float(M[ij]) for key, ij in keys.items()}})


# ---- beside free symbols -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [
        {"mass": "m", "inertia": {"xx": -0.1, "yy": 0.1, "zz": 0.1}},
        {"mass": "m + n", "com": ["l", 0, 0], "inertia": {"xx": -0.1, "yy": 0.1, "zz": 0.1}},
        {"mass": "m", "com": ["l", "-l/2", 3], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.1, "yz": 0.2}},
        {"mass": 1, "inertia": {"xx": "J", "yy": "J", "zz": -0.1}},
        {"mass": 1, "com": ["l", 1, 2], "inertia": {"xx": "J", "yy": 0.1, "zz": 0.1, "yz": 0.11}},
        {"mass": 1, "inertia": {"xx": "J", "yy": 0, "zz": "J", "xy": 0.1}},
        {"mass": -1, "inertia": {"xx": "J", "yy": "J", "zz": "J"}},
        {"mass": "m", "inertia": {"xx": "J - J - 0.1", "yy": "J", "zz": "J"}},
    ],
    ids=str,
)
def test_a_negative_moment_beside_free_symbols(body):
    refused(body, m="free", n="free", l="free", J="free")


@pytest.mark.parametrize(
    "body",
    [
        {"mass": "m", "com": ["l", 0, 0], "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.3}},
        {"mass": 1, "inertia": {"xx": 0.1, "yy": 0.1, "zz": 0.3, "xy": "J"}},
        {"mass": 1, "inertia": {"xx": "J", "yy": "J", "zz": 0.3, "xy": 0.2}},
        {"mass": 1, "inertia": {"xx": 0.2, "yy": 0.2, "zz": 0.2, "xy": 0.11, "yz": "J"}},
        {"mass": 1, "inertia": {"xx": 0.1, "yy": 0.3, "zz": 0.3, "xy": 0.12, "yz": "J"}},
    ],
    ids=str,
)
def test_the_triangle_inequality_beside_free_symbols(body):
    warned(body, m="free", l="free", J="free")


@pytest.mark.parametrize(
    "body",
    [
        {"mass": "m", "com": ["l", 0, 0], "inertia": {"xx": "J", "yy": "m*l**2/12", "zz": "m*l**2/12"}},
        {"mass": "m", "com": ["l", 0, 0], "inertia": {"xx": 0, "yy": 0.1, "zz": 0.1}},
        {"mass": "m", "com": ["l", 0, 0], "inertia": {"xx": "J - m*l**2", "yy": 0.1, "zz": "J"}},
        {"mass": "m", "inertia": {"xx": "J", "yy": "2*J", "zz": 0.1, "xy": 0.05, "xz": "J"}},
    ],
    ids=str,
)
def test_what_free_symbols_decide_is_left_to_them(body):
    accepted(body, m="free", l="free", J="free")


# ---- identified parameters ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", bundled_robots())
def test_rounding_of_a_parameter_vector_is_no_impossible_body(name):
    """A point mass of floats is one but for the last digit: its robot has no more warnings than the first."""
    robot = Robot.load(name)
    assert robot.with_parameters(robot.parameters).warnings == robot.warnings


def test_an_impossible_parameter_vector_is_told_from_rounding():
    robot = quietly(lambda: Robot.from_dict(table({"mass": 4, "com": [1.3, -2.1, 0.7]})))
    values = np.array(robot.parameters)
    assert robot.with_parameters(values).warnings == robot.warnings
    values[13 + 4] -= 1e-10
    assert any("principal moments" in text for text in robot.with_parameters(values).warnings)
