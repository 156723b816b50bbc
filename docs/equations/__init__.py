"""The equations of five texts by their numbers: the call that gives each, and a check that it does.

`tables.py` has a table for each text, `names.py` the names that calls use. `python docs/by_equation.py`
writes docs/gallery/by-equation.md, and tests/docs/test_by_equation.py runs every call and every check.
`own.py` has what checks compare with: computations in NumPy and SymPy that share no code with armdyn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

Check = Callable[[Any], None]  # takes what the call gives; raises AssertionError unless it is what is printed


@dataclass(frozen=True)
class Row:
    """An equation: its number in the text, what it is, the call, the check."""

    number: str
    what: str
    call: str
    check: Check


@dataclass
class Table:
    """The equations of one text, by section."""

    title: str
    about: str
    counted: str = "number"  # what its equations are found by
    sections: dict[str, list[Row]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Row]:
        return (row for rows in self.sections.values() for row in rows)

    def section(self, title: str) -> None:
        """A new section, for the rows that follow."""
        self.sections[title] = []

    def row(self, number: str, what: str, call: str) -> Callable[[Check], Check]:
        """A row whose check is the function below it."""

        def add(check: Check) -> Check:
            self.sections[list(self.sections)[-1]].append(Row(number, what, call, check))
            return check

        return add

    def printed(self, number: str, what: str, call: str, formula: Any) -> None:
        """A row whose result equals the printed formula: for all values of the symbols, if it has some."""

        def check(found: Any) -> None:
            assert found == formula, f"{found} is not {formula}"

        self.row(number, what, call)(check)
