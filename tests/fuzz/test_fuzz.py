"""Spoiled input of every kind is accepted or refused: no crash, no hang, no exception that is not ours."""

import pytest

pytest.importorskip("resource")  # memory is bounded with it: not on Windows

from fuzz.cases import CASES
from fuzz.watch import watch

QUICK = {
    "descriptions": 50,
    "URDF files": 40,
    "MJCF files": 30,
    "expressions": 100,
    "arrays": 100,
    "CSV files": 50,
    "logs": 50,
    "command lines": 12,
}
LONG = {
    "descriptions": 3000,
    "URDF files": 10_000,
    "MJCF files": 5000,
    "expressions": 20_000,
    "arrays": 20_000,
    "CSV files": 10_000,
    "logs": 5000,
    "command lines": 600,
}


def check(name, count):
    if name == "MJCF files":
        pytest.importorskip("mujoco")
    tally = watch(CASES[name], count)
    assert tally.tried == count
    assert not tally.bad, "\n".join(tally.findings[:10])
    assert tally.counts["refused"] > 0.05 * count  # the cases are as wrong as they are meant to be,
    assert tally.counts["accepted"] > 0.01 * count  # and not so wrong that only the first check is met


@pytest.mark.parametrize("name", CASES)
def test_some_spoiled_input(name):
    check(name, QUICK[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_much_spoiled_input(name):
    check(name, LONG[name])
