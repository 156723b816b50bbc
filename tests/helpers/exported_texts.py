"""Robots as the texts of foreign files, and what these cannot say."""

from armdyn.description.writing import export
from armdyn.model import RobotModel
from armdyn.remarks import notes_of


def urdf_text(model: RobotModel) -> tuple[str, tuple[str, ...]]:
    """The robot as URDF, and one sentence for each thing that URDF cannot say."""
    found = export(model, ".urdf")
    return found.text, notes_of(found.remarks)


def mjcf_text(model: RobotModel) -> tuple[str, tuple[str, ...]]:
    """The same as MJCF."""
    found = export(model, ".xml")
    return found.text, notes_of(found.remarks)
