"""Models from text: the robot file, DH tables and frames, the bundled robots; and what looks wrong in one.

Order: source, frames, dh_form, dh_table, plausibility, foreign/, reader, robot_file, changing, writing/,
difference.
"""

from armdyn.description.source import DescriptionError, ExportWarning, bundled_robots, bundled_table

__all__ = ["DescriptionError", "ExportWarning", "bundled_robots", "bundled_table"]
