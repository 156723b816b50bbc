"""Text -> model: the robot file, DH tables and frames, the bundled robots; and what looks wrong in one.

The names are found when first used: a list of the bundled robots does not wait for what reads them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from armdyn.description.bundled import bundled_robots, bundled_text
    from armdyn.description.plausibility import physics_warnings
    from armdyn.description.reader import DescriptionError
    from armdyn.description.robot_file import from_table, load

_HOMES = {
    "DescriptionError": "reader",
    "bundled_robots": "bundled",
    "bundled_text": "bundled",
    "from_table": "robot_file",
    "load": "robot_file",
    "physics_warnings": "plausibility",
}

__all__ = ["DescriptionError", "bundled_robots", "bundled_text", "from_table", "load", "physics_warnings"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
