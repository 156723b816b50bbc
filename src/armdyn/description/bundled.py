"""The robots that come with the package, as tables."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from armdyn.description import toml_text


def bundled_robots() -> list[str]:
    """The names of the robots that come with the package."""
    folder = resources.files("armdyn.description") / "robots"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def bundled_table(name: str) -> dict[str, Any]:
    """The robot file of a bundled robot."""
    file = resources.files("armdyn.description") / "robots" / f"{name}.toml"
    return toml_text.parse(file.read_text("utf-8"), name)
