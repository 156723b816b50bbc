"""The robots that come with the package, as text."""

from __future__ import annotations

from importlib import resources
from pathlib import Path


def bundled_robots() -> list[str]:
    """The names of the robots that come with the package."""
    folder = resources.files("armdyn.description") / "robots"
    return sorted(Path(f.name).stem for f in folder.iterdir() if f.name.endswith(".toml"))


def bundled_text(name: str) -> str:
    """The robot file of a bundled robot."""
    return (resources.files("armdyn.description") / "robots" / f"{name}.toml").read_text("utf-8")
