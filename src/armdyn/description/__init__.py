"""Text -> model: the robot file, Denavit–Hartenberg tables and frames, and the bundled robots."""

from armdyn.description.reader import DescriptionError
from armdyn.description.robot_file import bundled_robots, from_table, load

__all__ = ["DescriptionError", "bundled_robots", "from_table", "load"]
