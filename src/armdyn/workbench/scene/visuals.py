"""What a URDF says its links look like: the <visual> elements, which the dynamics does not need.

Files are looked for where the URDF names them. `package://NAME/REST` has no address without ROS; it is looked
for as NAME/REST and as REST in the folder of the URDF and in all folders above it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import numpy as np

from armdyn.description.importing.xml_text import Element, parse, read
from armdyn.expression import ArmdynError
from armdyn.model.robot_model import RobotModel
from armdyn.workbench.errors import ViewError

Shape = Literal["mesh", "box", "cylinder", "sphere"]
Colour = tuple[float, float, float, float]  # red, green, blue, opacity, from 0 to 1
_SAME = 2e-3  # rad or m: frames that differ by less are those of the file (snap=True makes angles exact)


@dataclass(frozen=True)
class Visual:
    """One shape of a link, at a pose (4, 4) in the link's frame."""

    link: str
    pose: np.ndarray
    shape: Shape
    size: tuple[float, ...]  # scale of a mesh, edges of a box, radius and length, radius
    name: str = ""  # how the URDF names the mesh
    path: Path | None = None  # the mesh's file; None where it is not there
    colour: Colour | None = None


@dataclass(frozen=True)
class Visuals:
    """All visuals of a file, and the links of those that could not be understood."""

    found: tuple[Visual, ...]
    wrong: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of mesh files that are not there."""
        return tuple(
            dict.fromkeys(one.name for one in self.found if one.shape == "mesh" and one.path is None)
        )


def visuals_of(model: RobotModel) -> Visuals:
    """The visuals of the URDF that a model came from; none where it came from elsewhere.

    A model whose frames are no longer those of the file, such as that of `in_dh`, has none.
    """
    root = _root(model.source)
    if root is None or not _same_frames(model, root):
        return Visuals((), ())
    materials = {
        element.attributes.get("name", ""): colour
        for element in root.walk()
        if element.tag == "material" and (colour := _colour(element)) is not None
    }
    known = {model.root, *model.index}
    found, wrong = list[Visual](), list[str]()
    for link in root.all("link"):
        if link.attributes.get("name") not in known:
            continue
        for element in link.all("visual"):
            try:
                found += list(_visual(element, link.attributes["name"], materials, Path(model.source)))
            except (ViewError, ValueError):
                wrong.append(link.attributes["name"])
    return Visuals(tuple(found), tuple(wrong))


def _root(source: str) -> Element | None:
    """The root of a URDF file."""
    if not source:
        return None
    try:
        content = read(Path(source))
        if b"<robot" not in content:
            return None
        root = parse(content, source, tolerant=True).root
    except (OSError, ValueError, ArmdynError):
        return None
    return root if root.tag == "robot" else None


def _same_frames(model: RobotModel, root: Element) -> bool:
    """Whether moving links stand in their parents as the file says."""
    origins = {
        child.attributes.get("link"): (parent.attributes.get("link"), joint)
        for joint in root.all("joint")
        for child in joint.all("child")[:1]
        for parent in joint.all("parent")[:1]
    }
    for link in model.moving:
        parent, joint = origins.get(link.name, (None, None))
        if parent != link.parent or joint is None:
            return False
        try:
            wanted = _origin(joint)
        except (ViewError, ValueError):
            return False
        given, after = np.eye(4), np.eye(4)
        for pose, T in ((given, link.before), (after, link.after)):
            pose[:3, :3] = [[model.number(x) for x in row] for row in T.R]
            pose[:3, 3] = [model.number(x) for x in T.p]
        if np.abs(given - wanted).max() > _SAME or np.abs(after - np.eye(4)).max() > _SAME:
            return False
    return True


def _visual(element: Element, link: str, materials: dict[str, Colour], source: Path) -> Iterator[Visual]:
    pose, colour = _origin(element), None
    for material in element.all("material")[:1]:
        colour = _colour(material) or materials.get(material.attributes.get("name", ""))
    for geometry in element.all("geometry")[:1]:
        for shape in geometry.children:
            if shape.tag == "mesh":
                name = shape.attributes.get("filename", "")
                size = _numbers(shape, "scale", 3, (1.0, 1.0, 1.0))
                yield Visual(link, pose, "mesh", size, name, mesh_file(name, source), colour)
            elif shape.tag == "box":
                yield Visual(link, pose, "box", _numbers(shape, "size", 3), colour=colour)
            elif shape.tag == "cylinder":
                size = (*_numbers(shape, "radius", 1), *_numbers(shape, "length", 1))
                yield Visual(link, pose, "cylinder", size, colour=colour)
            elif shape.tag == "sphere":
                yield Visual(link, pose, "sphere", _numbers(shape, "radius", 1), colour=colour)
            else:
                raise ViewError(f"<{shape.tag}> is no shape")


def mesh_file(name: str, source: Path) -> Path | None:
    """Where a mesh is that a URDF file names; None where it is not there."""
    parts = urlsplit(name) if "://" in name else None
    if parts is None or parts.scheme == "file":
        rest = [name if parts is None else parts.path]
    elif parts.scheme in ("package", "model"):
        rest = [f"{parts.netloc}{parts.path}", parts.path.lstrip("/")]
    else:
        return None  # nothing is fetched
    folders = [source.resolve().parent, *source.resolve().parent.parents]
    for folder in folders:
        for one in filter(None, rest):
            try:
                path = folder / one.replace("\\", os.sep)
                if path.is_file():
                    return path
            except (OSError, ValueError):
                return None
    return None


def _origin(element: Element) -> np.ndarray:
    """(4, 4) of <origin>: fixed axes roll, pitch, yaw."""
    pose = np.eye(4)
    for origin in element.all("origin")[:1]:
        (a, b, c), zero = _numbers(origin, "rpy", 3, (0.0,) * 3), (0.0,) * 3
        (sa, sb, sc), (ca, cb, cc) = np.sin([a, b, c]), np.cos([a, b, c])
        pose[:3, :3] = [
            [cc * cb, cc * sb * sa - sc * ca, cc * sb * ca + sc * sa],
            [sc * cb, sc * sb * sa + cc * ca, sc * sb * ca - cc * sa],
            [-sb, cb * sa, cb * ca],
        ]
        pose[:3, 3] = _numbers(origin, "xyz", 3, zero)
    return pose


def _colour(material: Element) -> Colour | None:
    for element in material.all("color")[:1]:
        try:
            r, g, b, a = np.clip(_numbers(element, "rgba", 4), 0.0, 1.0).tolist()
        except (ViewError, ValueError):
            return None
        return r, g, b, a
    return None


def _numbers(
    element: Element, attribute: str, count: int, default: tuple[float, ...] | None = None
) -> tuple[float, ...]:
    text = element.attributes.get(attribute)
    if text is None and default is not None:
        return default
    found = tuple(float(x) for x in (text or "").split())
    if len(found) != count or not np.isfinite(found).all() or np.abs(found).max() > 1e6:
        raise ViewError(f"{element.where}: {attribute}: expected {count} numbers")
    return found
