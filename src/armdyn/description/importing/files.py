"""An XML text or file -> RobotModel, by what its root element says it is."""

from __future__ import annotations

from pathlib import Path

from armdyn.description.importing.assembly import model_of
from armdyn.description.importing.options import Options
from armdyn.description.importing.tree import RawTree
from armdyn.description.importing.urdf import read_urdf
from armdyn.description.importing.xml_text import Document, parse
from armdyn.model.robot_model import RobotModel


def from_xml(content: str | bytes, source: str, options: Options) -> RobotModel:
    """A robot from a text (str) or from the content of a file (bytes), in URDF or MJCF."""
    document = parse(content, source, tolerant=options.repair)
    folder = Path(source).parent if isinstance(content, bytes) else None
    tree = _read(document, source, folder, options)
    tree.is_file = isinstance(content, bytes)
    for text in document.tolerated:
        tree.remarks.warn(text)
    return model_of(tree, options)


def _read(document: Document, source: str, folder: Path | None, options: Options) -> RawTree:
    root = document.root
    if root.tag == "robot":
        return read_urdf(root, source, options)
    if root.tag == "mujoco":
        from armdyn.description.importing.mjcf.reader import read_mjcf  # rarely needed

        return read_mjcf(root, source, folder, options)
    raise root.error("not a robot: the root element is <robot> (URDF) or <mujoco> (MJCF)")
