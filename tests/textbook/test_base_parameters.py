"""Base parameters that the sources print: problem 7.4 of the book, and section 7 of 002."""

import pytest

from armdyn import Robot
from armdyn.expression import parse

# The planar arm of (7.82): what its terms b11, b12, b22, g1 are made of, five combinations (problem 7.4).
FIVE = (
    "Il1 + ml1*l1**2 + kr1**2*Im1 + Im2 + (mm2 + ml2)*a1**2",
    "ml1*l1 + (mm2 + ml2)*a1",
    "Il2 + ml2*l2**2",
    "ml2*l2",
    "Im2",
)
# 002: pi1 … pi9, moments and tensors about the origin of frame i − 1.
NINE = (
    "I1yy + I2yy + I3yy + a2**2*m3 + kr1**2*Im1",
    "m2*lc2 + a2*m3",
    "I2xx - I2yy - a2**2*m3",
    "I2zz + kr2**2*Im2 + a2**2*m3",
    "I3xx - I3yy",
    "m3*lc3",
    "I3zz",
    "Im2",
    "Im3",
)


def test_planar_arm_has_the_five_of_problem_7_4():
    """With link frames at their joints (modified DH) the five are the sums that stand in (7.82)."""
    base = Robot.load("planar").in_dh("mdh").base_parameters(zeros="given")
    assert base.combinations == ("Izz1 + a1**2*m2 + kr1**2*Im1", "mx1 + a1*m2", "Izz2", "mx2", "Im2")
    assert list(base.expressions) == [parse(text) for text in FIVE]


def test_planar_arm_in_standard_frames_has_combinations_of_the_same_five():
    """Frame i lies at the far end of link i, so that moments about it are differences."""
    base = Robot.load("planar").base_parameters(zeros="given")
    first, second, third, fourth, fifth = (parse(text) for text in FIVE)
    a1, a2 = parse("a1"), parse("a2")
    expected = [first - 2 * a1 * second, second, third - 2 * a2 * fourth, fourth, fifth]
    assert list(base.expressions) == expected
    assert base.absent == ("Iyy1", "Iyy2")  # which (7.83) does not list
    assert base.alone == ("Im2",)


def test_elbow_has_the_nine_of_002():
    """Eight as printed; pi4 less kr2² times pi8, which is a base parameter of its own."""
    base = Robot.load("elbow").in_dh("mdh").base_parameters(zeros="given")
    printed = [parse(text) for text in NINE]
    printed[3] = printed[3] - parse("kr2**2") * printed[7]
    assert sorted(map(str, base.expressions)) == sorted(map(str, printed))
    assert base.combinations[0] == "Izz1 + Iyy2 + Iyy3 + a2**2*m3 + kr1**2*Im1"
    assert set(base.alone) == {"Izz3", "mx3", "Im2", "Im3"}


@pytest.mark.parametrize(
    ("name", "free", "given"), [("planar", 7, 5), ("elbow", 17, 9)], ids=["planar", "elbow"]
)
def test_zeros_free_and_as_described(name, free, given):
    robot = Robot.load(name)
    assert len(robot.base_parameters()) == free
    assert len(robot.base_parameters(zeros="given")) == given
