"""docs/gallery/by-equation.md: every equation of the texts has a call, and it gives what is printed."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from armdyn import Robot
from armdyn.exact.form import Array, Formula
from armdyn.expression import Expression

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
pytest.register_assert_rewrite("equations")
import by_equation  # noqa: E402
from equations import names  # noqa: E402
from equations.tables import TABLES  # noqa: E402

ROWS = [
    pytest.param(row, id=f"{key} {row.number} {row.what}") for key, table in TABLES.items() for row in table
]


def value(row):
    return eval(row.call, dict(vars(names)))


def test_the_page_is_up_to_date():
    """If not: python docs/by_equation.py"""
    assert (DOCS / "gallery" / "by-equation.md").read_text("utf-8") == by_equation.text()


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("book", [f"7.{i}" for i in range(1, 150)]),
        ("gears", [str(i) for i in range(1, 46)]),
        ("asada", [f"5-{i}" for i in range(20, 50)]),
        ("deluca", [f"slide {i}" for i in (2, 3, 4, *range(6, 29))]),
    ],
)
def test_every_number_is_there_in_its_order(key, numbers):
    """Slides 1 and 5 of De Luca have no formula; Asadi's are by topic."""
    found = dict.fromkeys(row.number for row in TABLES[key])
    assert [number for number in found if number in numbers] == numbers
    pattern = by_equation.NUMBER.pattern
    assert [number for number in found if re.fullmatch(pattern, number) and number not in numbers] == []


@pytest.mark.parametrize("row", ROWS)
def test_call_gives_what_is_printed(row):
    row.check(value(row))


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS)
def test_check_notices_another_result(row):
    other = changed(value(row))
    with pytest.raises(AssertionError):
        row.check(other)


def changed(x):
    """A result that is a little wrong everywhere."""
    if isinstance(x, (int, float, np.ndarray)):
        return x * 1.001 + (1 if isinstance(x, int) else 1e-3)
    if isinstance(x, (Formula, Expression)):
        return x * 2 + 1
    if isinstance(x, Array):
        return Array(changed(x.rows))
    if isinstance(x, (list, tuple)):
        return type(x)(map(changed, x))
    if isinstance(x, dict):
        return {key: changed(entry) for key, entry in x.items()}
    if isinstance(x, str):
        return re.sub(r"\b(qdd?\d|g)\b", r"(2*\1)", x).replace("[0,", "[1,")
    assert isinstance(x, Robot), f"a {type(x).__name__} is not changed yet"
    return x.with_parameters(x.parameters * 1.001)
