"""Base parameters as tables call them: labels are their combinations, and long ones end in time."""

import pickle
import re

import numpy as np
import pytest

from armdyn import Robot
from arms import bundled, in_suites

NAMES = (
    "planar",
    "rp",
    "scara",
    "puma560",
    "panda",
    "parallelogram",
    "palletizer",
    "four_bar",
    "elastic_link",
)
_POWERS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")


def value(label, names):
    """A label, computed."""
    text = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: "**" + found[0].translate(_POWERS), label)
    return eval(text.replace("·", "*").replace("−", "-"), {"__builtins__": {}}, names)


@pytest.mark.parametrize("name", in_suites(NAMES, few=("planar", "rp", "scara", "parallelogram", "four_bar")))
@pytest.mark.parametrize("route", ["numeric", None])
def test_label_is_the_base_parameter_of_any_parameters(name, route):
    robot = bundled(name)
    base = robot.base_parameters(friction=True, route=route)
    x = np.random.default_rng(0).uniform(1, 2, len(robot.parameters))
    known = {k: float(v) for k, v in robot.symbols.items()} | dict(zip(robot.parameter_names, x, strict=True))
    found = [value(label, known) for label in base.labels(np.inf)]
    sizes = np.abs(base.matrix) @ np.abs(x)
    np.testing.assert_array_less(np.abs(found - base.matrix @ x), 5e-4 * sizes)  # numbers have four digits
    assert [label.split(" ")[0] for label in base.labels()] == list(base.leading)
    alone = [label for label, row in zip(base.labels(), base.grouping.rows, strict=True) if len(row) == 1]
    assert sorted(alone) == sorted(base.alone)


def test_labels_of_the_textbook_arm_are_in_its_symbols_whichever_way_they_were_found():
    arm = Robot.load("planar")
    expected = (
        "Izz1 − a1²·m1 − a1²·m2 + kr1²·Im1",
        "mx1 + a1·m1 + a1·m2",
        "my1",
        "Izz2 − a2²·m2",
        "mx2 + a2·m2",
    )
    for route in ("exact", "numeric"):
        base = arm.base_parameters(route=route)
        assert base.labels()[:5] == expected
        assert pickle.loads(pickle.dumps(base)).labels() == base.labels()
    assert arm.base_parameters(route="numeric").combinations[3] == "Izz2 - m2"


def test_labels_have_numbers_where_symbols_have_special_values():
    """Without gravity fewer combinations show than for any g: exact ones would be of another arm."""
    arm = Robot.load("planar").with_symbols(g=0)
    base = arm.base_parameters(route="numeric")
    assert len(base) < len(Robot.load("planar").base_parameters())
    assert base.labels()[0] == "Izz1 + 2·mx1 + m1 + m2 + 10000·Im1"


def test_wide_labels_end_after_a_term():
    base = bundled("puma560").base_parameters(route="numeric")
    for width in (1, 8, 15, 40):
        for label, whole in zip(base.labels(width), base.labels(np.inf), strict=True):
            if label == whole:
                continue
            kept = label.removesuffix(" …")
            assert whole.startswith(kept + " ")
            assert len(label) <= width or " " not in kept  # the leading parameter is always there
    assert base.labels()[0] == "Iyy1 + Iyy2 − a2²·m2 + Izz3 − 2·d3·my3 …"
