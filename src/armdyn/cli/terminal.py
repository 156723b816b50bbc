"""Tables on the terminal, and the verb `robots`, which shows one.

It reads robot files as tables only. Nothing here imports NumPy: a list of names does not wait for it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from math import isfinite
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

from armdyn.description.source import KINDS, bundled_table
from armdyn.names import one_line

Column: TypeAlias = tuple[str, Sequence[str | Text]]  # a heading and cells


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the program here


def _console(width: int | None = None) -> Console:
    return _Terminal(width=width, markup=False, emoji=False, highlight=False)


def terminal() -> Console:
    console = _console()
    return console if console.is_terminal else _console(max(console.width, 140))


def table_of(headings: Iterable[str], rows: Iterable[Iterable[str | Text]] = ()) -> Table:
    """A table whose cells are folded in a narrow terminal, never cut."""
    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        add_row(table, *row)
    return table


def table_by_columns(*columns: Column) -> Table:
    """A table of columns; one in which nothing stands is left out."""
    shown = [(heading, cells) for heading, cells in columns if any(cells)]
    return table_of([heading for heading, _ in shown], zip(*(cells for _, cells in shown), strict=True))


def figures(numbers: Iterable[float], beyond: Container[int] = (), digits: int = 6) -> list[Text]:
    """Cells of numbers; those whose places are in `beyond` exceed their limits and are marked."""
    cells = [f"{x:.{digits}g}" for x in numbers]
    return [Text(f"{x} !", style="bold red") if i in beyond else Text(x) for i, x in enumerate(cells)]


def limit_cells(limits: Iterable[float]) -> Sequence[str]:
    """Cells of limits, empty where there is none."""
    return [f"{x:.6g}" if isfinite(x) else "" for x in limits]


def add_row(table: Table, *cells: str | Text) -> None:
    """A row whose texts are shown as they are: a name may hold what rich takes for markup."""
    table.add_row(*(Text(one_line(cell)) if isinstance(cell, str) else cell for cell in cells))


def robots() -> None:
    """List the bundled robots, by kind."""
    table = table_of(("name", "joints", "rotors", "robot"))
    for kind, names in KINDS.items():
        add_row(table, "", "", "", Text(kind, style="bold"))
        for name, words in names.items():
            add_row(table, name, *_cells(name), words)
        table.add_section()
    terminal().print(table)


def _cells(name: str) -> tuple[str, str]:
    """Kinds of joints and the rotor model; not loaded: a list of names does not wait for exact numbers."""
    robot = bundled_table(name)
    kinds = "".join({"revolute": "R", "prismatic": "P"}.get(link["joint"], "") for link in robot["link"])
    motors = any("motor" in link for link in robot["link"])
    return kinds, robot.get("rotors", "exact") if motors else "no motors"
