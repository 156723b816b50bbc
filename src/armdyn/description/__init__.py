"""Models from text: the robot file, DH tables and frames, the bundled robots; and what looks wrong in one.

Order: source, frames, dh_form, dh_table, plausibility, foreign/, reader, robot_file, changing, writing/,
difference.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from armdyn.description.source import DescriptionError, ExportWarning, bundled_robots, bundled_table

if TYPE_CHECKING:
    from armdyn.description.plausibility import payload_problem, physics_warnings
    from armdyn.description.robot_file import from_table, load, read_place

__all__ = [
    "DescriptionError",
    "ExportWarning",
    "bundled_robots",
    "bundled_table",
    "from_table",
    "load",
    "payload_problem",
    "physics_warnings",
    "read_place",
]

_HOMES = {
    "from_table": "robot_file",
    "load": "robot_file",
    "payload_problem": "plausibility",
    "physics_warnings": "plausibility",
    "read_place": "robot_file",
}


def __getattr__(name: str) -> Any:
    """Imports names that need NumPy when they are first used: a list of robots does not wait for it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'armdyn.description' has no attribute '{name}'")
    return getattr(import_module(f"armdyn.description.{_HOMES[name]}"), name)
