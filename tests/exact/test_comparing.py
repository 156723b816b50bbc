"""An entry of the equations compared with a text: what it reads, and what is left where they differ."""

import pytest

from armdyn import ArmdynError, Robot
from armdyn.expression import ExpressionError
from golden_messages import golden_error


@pytest.fixture(scope="module")
def planar():
    return Robot.load("planar").equations()


@pytest.mark.parametrize(
    "text",
    [
        "Il2 + ml2*(l2**2 + a1*l2*c2) + kr2*Im2",
        "Il2 + ml2*(l2^2 + a1*l2*cos(q2)) + kr2*Im2",
        "Il2 + ml2*(l2^2 + a1*l2*(cos(q1)*cos(q1 + q2) + sin(q1)*sin(q1 + q2))) + kr2*Im2",
        "Il2 + ml2*(l2^2 + a1*l2*sin(q2 + pi/2)) + kr2*Im2",
        "Il2 + ml2*l2^2 + ml2*a1*l2*cos(-q2) + kr2*Im2",
        "Il2 + ml2*(l2^2 + a1*l2*cos(2*q2 - q2)) + kr2*Im2",
    ],
)
def test_an_entry_and_the_ways_to_write_it(planar, text):
    assert planar.B[0, 1] == text
    assert planar.B[0, 1] - text == 0
    assert str(planar.B[0, 1] - text) == "0"
    assert str(text - planar.B[0, 1]) == "0"


def test_sums_of_angles_and_gravity(planar):
    assert planar.g[1] == "ml2*g*l2*cos(q1 + q2)"
    assert planar.g[1] == "ml2*g*l2*(cos(q1)*cos(q2) - sin(q1)*sin(q2))"
    assert planar.C[1, 0] == "ml2*a1*l2*sin(q2)*qd1"
    assert planar.christoffel[0][1][1] == "-ml2*a1*l2*sin(q2)"


def test_what_is_left_is_written_as_the_book_writes_it(planar):
    assert str(planar.B[0, 1] - "Il2 + ml2*(l2^2 + 2*a1*l2*cos(q2))") == "-ml2*a1*l2*c2 + kr2*Im2"
    assert str(planar.g[1] - "ml2*g*l2*cos(q1)*cos(q2)") == "-ml2*l2*g*s1*s2"
    assert str("1" - planar.B[1, 1] + planar.B[1, 1]) == "1"
    assert planar.B[0, 1] - planar.B[1, 1] == "ml2*a1*l2*c2 + kr2*Im2 - kr2^2*Im2"
    assert planar.B[0, 1] + "1/2" - 0.5 == planar.B[0, 1]
    assert planar.regressor[0, 0] - "a1^2*qdd1" == "a1*g*cos(q1)"


@pytest.mark.parametrize(
    "text", ["cos(q3)", "cos(q2/2)", "Il3", "cos(q1 + Il3)", "cos(99*q1)", "q1", "1/cos(q1)"]
)
def test_unknown_names_and_the_known_ones(planar, text):
    for compare in (lambda: planar.B[0, 0] == text, lambda: planar.B[0, 0] - text):
        with golden_error(ArmdynError):
            compare()


@pytest.mark.parametrize("text", ["", "(", "1 +", "9" * 10_000, "B = 1", "cos(q1, q2)", "a1 % 2"])
def test_what_is_no_expression(planar, text):
    with pytest.raises(ExpressionError):
        planar.B[0, 0] - text


def test_a_prismatic_joint_has_no_cosine():
    equations = Robot.load("pr").equations()
    with golden_error(ArmdynError):
        equations.B[0, 0] - "cos(q1)"


def test_long_sums_are_read(planar):
    """A sum of hundreds of terms, as one is pasted from another program."""
    assert planar.B[0, 0] - " + ".join(["l2*c2"] * 900) - planar.B[0, 0] == "-900*l2*c2"
