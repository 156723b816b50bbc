"""Writes models: the robot file, URDF and MJCF, by the suffix of the file's name."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from armdyn.description.source import DescriptionError, ExportWarning
from armdyn.expression import shown
from armdyn.files import write_whole
from armdyn.model.robot_model import RobotModel
from armdyn.names import one_line
from armdyn.remarks import Remark, warn

_WRITERS = {".toml": "toml", ".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}  # modules with `export(model)`
SUFFIXES = tuple(_WRITERS)


@dataclass(frozen=True)
class Export:
    """A robot as the text of a file; a remark for each thing that its format cannot say."""

    text: str
    remarks: tuple[Remark, ...] = ()


def export(model: RobotModel, suffix: str) -> Export:
    """A robot in the format of a suffix."""
    found: Export = import_module(f"{__name__}.{_WRITERS[suffix]}").export(model)
    return found


def save(model: RobotModel, path: str | Path) -> Path:
    """Write a robot in the format of the path's suffix; a warning for each thing the format cannot say."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"expected a path, found {shown(path)}")
    suffix = Path(path).suffix.lower()
    if suffix not in _WRITERS:
        allowed = ", ".join(f"{name} ({module})" for name, module in _WRITERS.items())
        raise DescriptionError(
            f"cannot save '{one_line(str(path))}': found the suffix '{one_line(suffix)}'; "
            f"allowed: {allowed}, .fmu (export_fmu)"
        )
    found = export(model, suffix)
    written = write_whole(path, found.text, DescriptionError)
    warn([replace(remark, place=str(path)) for remark in found.remarks], ExportWarning, 3)
    return written
