"""The verb robots. It reads the files without loading the robots: a list does not wait for exact numbers."""

from __future__ import annotations

import tomllib

from armdyn.cli.console import add_row, table_of, terminal
from armdyn.description.bundled import bundled_robots, bundled_text


def robots() -> None:
    """List the bundled robots."""
    table = table_of("name", "robot", "joints", "rotors")
    for name in bundled_robots():
        robot = tomllib.loads(bundled_text(name))
        kinds = "".join({"revolute": "R", "prismatic": "P"}.get(link["joint"], "") for link in robot["link"])
        motors = any("motor" in link for link in robot["link"])
        add_row(table, name, robot["name"], kinds, robot.get("rotors", "exact") if motors else "no motors")
    terminal().print(table)
