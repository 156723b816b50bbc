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
    return toml_text.parse(bundled_text(name), name)


def bundled_text(name: str) -> str:
    """The same as text, with its comments."""
    return (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
