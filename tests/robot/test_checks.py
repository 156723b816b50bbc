"""Checks of input: what is given back, and the message of what is refused, with the folder's own error."""

import numpy as np
import pytest

from armdyn import ArmdynError, Robot
from armdyn.robot.checks import Checks


class Wrong(ArmdynError):
    pass


check = Checks(Wrong)
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
POSE = np.block([[TURN, np.array([[1.0], [2], [3]])], [np.zeros((1, 3)), np.ones((1, 1))]])


def test_what_is_right_comes_back_in_the_form_wanted():
    np.testing.assert_array_equal(check.numbers("x", [[1, 2]], 2), [[1.0, 2.0]])
    np.testing.assert_array_equal(check.wide("x", 2, 3), [2.0, 2.0, 2.0])
    np.testing.assert_array_equal(check.posture("q", 0.5), [0.5])
    np.testing.assert_allclose(check.pose("T", np.round(POSE + 1e-8, 7)), POSE, atol=1e-7)
    assert check.per_joint("x", 1, 2) == [1.0, 1.0]
    assert check.positive("x", np.float64(2)) == 2.0
    assert check.whole_number("x", np.int64(3), least=1) == 3
    assert check.robot(Robot.load("pr")).n == 2
    assert check.one_of("word", "a", "a", "b") is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check.numbers("x", [1, np.nan]), r"x: expected finite numbers, found nan at \(1,\)"),
        (lambda: check.numbers("x", np.inf), r"x: expected finite numbers, found inf$"),
        (lambda: check.numbers("x", [1, 2], 3), r"x: expected \(\.\.\., 3\), found \(2,\)"),
        (lambda: check.numbers("x", "one"), r"x: expected numbers, found 'one'"),
        (lambda: check.wide("x", [1, 2], 3), r"x: expected one number or \(\.\.\., 3\), found \(2,\)"),
        (lambda: check.number("x", [1]), r"x: expected one number, found \[1\]"),
        (lambda: check.positive("x", 0), r"x: found 0; a positive number is expected"),
        (lambda: check.positive_time("x", -1), r"x: found -1 s; a positive time is expected"),
        (lambda: check.whole_number("x", 0, least=1), r"x: found 0; a whole number, 1 or more, is expected"),
        (lambda: check.whole_number("x", True), r"x: found True"),
        (lambda: check.one_of("x", "c", "a", "b"), r"x: found 'c'; allowed: 'a', 'b'"),
        (lambda: check.posture("q", [1, 2], 3), r"q: expected \(3,\), one number per joint, found \(2,\)"),
        (lambda: check.per_joint("x", [1, 2], 3), r"x: expected one number or \(3,\), one per joint"),
        (lambda: check.point("p", [1, 2]), r"p: expected \(3,\), three coordinates, found \(2,\)"),
        (lambda: check.rotation("R", -TURN), r"R: expected a rotation matrix \(3, 3\)"),
        (lambda: check.pose("T", POSE[:3]), r"T: expected a pose \(4, 4\)"),
        (lambda: check.pose("T", 2 * POSE), r"T: expected a pose"),
        (lambda: check.robot("puma560"), r"robot: expected a Robot, found str"),
        (lambda: check.fit_together((2,), a=np.ones((3, 1))), r"a \(3, 1\), with leading axes \(2,\)"),
    ],
)
def test_what_is_wrong_is_refused_with_what_was_expected_and_found(call, message):
    with pytest.raises(Wrong, match=message):
        call()


def test_an_overflow_is_an_error_like_any_other():
    with pytest.raises(Wrong, match="too large or too small"), check.computable():
        np.float64(1e300) * np.float64(1e300)
