"""Writes models: the robot file, URDF and MJCF, by the suffix of the file's name."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from armdyn.description.source import DescriptionError, ExportWarning
from armdyn.expression import shown
from armdyn.files import write_whole
from armdyn.model.robot_model import RobotModel
from armdyn.names import one_line
from armdyn.remarks import Remark, warn

# The module and the function that writes a format. A function gives the text, or the text and notes: one
# sentence for each thing that the format cannot say.
_WRITERS = {
    ".toml": ("toml", "toml_text"),
    ".urdf": ("urdf", "urdf_text"),
    ".xml": ("mjcf", "mjcf_text"),
    ".mjcf": ("mjcf", "mjcf_text"),
}
SUFFIXES = tuple(_WRITERS)


def save(model: RobotModel, path: str | Path) -> Path:
    """Write a robot in the format of the path's suffix; a warning for each thing the format cannot say."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"expected a path, found {shown(path)}")
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        allowed = ", ".join(f"{name} ({module})" for name, (module, _) in _WRITERS.items())
        raise DescriptionError(
            f"cannot save '{one_line(str(path))}': found the suffix '{one_line(suffix)}'; allowed: {allowed}"
        )
    text, notes = _written(model, suffix)
    written = write_whole(path, text, DescriptionError)
    warn([Remark(note, "warning", str(path)) for note in notes], ExportWarning, 3)
    return written


def _written(model: RobotModel, suffix: str) -> tuple[str, tuple[str, ...]]:
    module, name = _WRITERS[suffix]
    writer: Callable[[RobotModel], str | tuple[str, tuple[str, ...]]]
    writer = getattr(import_module(f"{__name__}.{module}"), name)
    found = writer(model)
    return (found, ()) if isinstance(found, str) else found
