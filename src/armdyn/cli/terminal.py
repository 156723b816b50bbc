"""Tables on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from armdyn.output import one_line


class _Terminal(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # rich would end the program here


def _console(width: int | None = None) -> Console:
    return _Terminal(width=width, markup=False, emoji=False, highlight=False)


def terminal() -> Console:
    console = _console()
    return console if console.is_terminal else _console(max(console.width, 140))


def table_of(*headings: str) -> Table:
    """A table whose cells are folded in a narrow terminal, never cut."""
    table = Table()
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def add_row(table: Table, *cells: str | Text) -> None:
    """A row whose texts are shown as they are: a name may hold what rich takes for markup."""
    table.add_row(*(Text(one_line(cell)) if isinstance(cell, str) else cell for cell in cells))
