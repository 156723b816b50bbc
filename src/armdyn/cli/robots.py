"""The verb robots. It reads robot files as tables only, and imports neither NumPy nor the rest of armdyn."""

from __future__ import annotations

from armdyn.cli.terminal import add_row, table_of, terminal
from armdyn.description import bundled_robots, bundled_table


def robots() -> None:
    """List the bundled robots."""
    table = table_of("name", "robot", "joints", "rotors")
    for name in bundled_robots():
        robot = bundled_table(name)  # not loaded: a list of names does not wait for exact numbers
        kinds = "".join({"revolute": "R", "prismatic": "P"}.get(link["joint"], "") for link in robot["link"])
        motors = any("motor" in link for link in robot["link"])
        add_row(table, name, robot["name"], kinds, robot.get("rotors", "exact") if motors else "no motors")
    terminal().print(table)
