"""Text -> model: the robot file, DH tables and frames, the bundled robots; and what looks wrong in one."""

from armdyn.description.bundled import bundled_robots, bundled_table
from armdyn.description.plausibility import physics_warnings
from armdyn.description.reader import DescriptionError
from armdyn.description.robot_file import from_table, load

__all__ = ["DescriptionError", "bundled_robots", "bundled_table", "from_table", "load", "physics_warnings"]
