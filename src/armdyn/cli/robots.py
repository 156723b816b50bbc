"""The verb robots. It reads robot files as tables only, and imports neither NumPy nor the rest of armdyn."""

from __future__ import annotations

from rich.text import Text

from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.description.source import KINDS, bundled_table


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
