"""The visual meshes of a URDF, read beside the page and hung on the bodies of the arm.

Solids are drawn first. Where all visuals of a body are drawn, they take the place of its solids; a mesh that
cannot be read leaves them.
"""

from __future__ import annotations

import io
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.transform import Rotation

from armdyn.description.foreign.xml_text import Element, parse, read
from armdyn.drawing.solids import Mesh, ball, box, cylinder
from armdyn.expression import ArmdynError
from armdyn.model.robot_model import RobotModel
from armdyn.names import one_line
from armdyn.workbench.bench import Bench
from armdyn.workbench.moment import ViewError
from armdyn.workbench.scene.arm import DrawnArm, add_mesh, path, pose_of, quaternion
from armdyn.workbench.scene.marks import link_places

# ---- what a URDF says its links look like: the <visual> elements, which the dynamics does not need --------
#
# Files are looked for where the URDF names them. `package://NAME/REST` has no address without ROS; it is
# looked for as NAME/REST and as REST in the folder of the URDF and in all folders above it.


_SIZES: dict[str, tuple[tuple[Any, ...], ...]] = {  # of a shape: attributes, how many numbers, the usual ones
    "mesh": (("scale", 3, (1.0, 1.0, 1.0)),),
    "box": (("size", 3),),
    "cylinder": (("radius", 1), ("length", 1)),
    "sphere": (("radius", 1),),
}
Colour = tuple[float, float, float, float]  # red, green, blue, opacity, from 0 to 1
_SAME = 2e-3  # rad or m: frames that differ by less are those of the file (snap=True makes angles exact)


@dataclass(frozen=True)
class Visual:
    """One shape of a link, at a pose (4, 4) in the link's frame."""

    link: str
    pose: np.ndarray
    shape: str  # mesh, box, cylinder or sphere
    size: tuple[float, ...]  # scale of a mesh, edges of a box, radius and length, radius
    name: str = ""  # how the URDF names the mesh
    path: Path | None = None  # the mesh's file; None where it is not there
    colour: Colour | None = None

    @property
    def is_there(self) -> bool:
        """Whether there is something to draw."""
        return self.shape != "mesh" or self.path is not None


@dataclass(frozen=True)
class Visuals:
    """All visuals of a file, and the links of those that could not be understood."""

    found: tuple[Visual, ...]
    wrong: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of mesh files that are not there."""
        return tuple(dict.fromkeys(one.name for one in self.found if not one.is_there))


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
        if element.tag == "material" and (colour := _material_colour(element)) is not None
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
        before, after = (
            pose_of([[model.number(x) for x in row] for row in T.R], [model.number(x) for x in T.p])
            for T in (link.before, link.after)
        )
        if np.abs(before - wanted).max() > _SAME or np.abs(after - np.eye(4)).max() > _SAME:
            return False
    return True


def _visual(element: Element, link: str, materials: dict[str, Colour], source: Path) -> Iterator[Visual]:
    pose, colour = _origin(element), None
    for material in element.all("material")[:1]:
        colour = _material_colour(material) or materials.get(material.attributes.get("name", ""))
    for geometry in element.all("geometry")[:1]:
        for shape in geometry.children:
            if shape.tag not in _SIZES:
                raise ViewError(f"<{shape.tag}> is no shape")
            sizes = (_numbers(shape, *asked) for asked in _SIZES[shape.tag])
            size = tuple(x for numbers in sizes for x in numbers)
            name = shape.attributes.get("filename", "") if shape.tag == "mesh" else ""
            yield Visual(link, pose, shape.tag, size, name, mesh_file(name, source), colour)


def mesh_file(name: str, source: Path) -> Path | None:
    """Where a mesh is that a URDF file names; None where it is not there."""
    parts = urlsplit(name) if "://" in name else None
    if parts is None or parts.scheme == "file":
        rest = [name if parts is None else parts.path]
    elif parts.scheme in ("package", "model"):
        rest = [f"{parts.netloc}{parts.path}", parts.path.lstrip("/")]
    else:
        return None  # nothing is fetched
    for folder in source.resolve().parents:
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
    for origin in element.all("origin")[:1]:
        rpy, xyz = (_numbers(origin, name, 3, (0.0,) * 3) for name in ("rpy", "xyz"))
        return pose_of(Rotation.from_euler("xyz", rpy).as_matrix(), xyz)
    return np.eye(4)


def _material_colour(material: Element) -> Colour | None:
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


# ---- the visual meshes of a URDF, read beside the page and hung on the bodies of the arm ------------------


KINDS = (".stl", ".obj", ".dae", ".ply", ".glb", ".off")
_LARGEST = 200_000_000  # bytes of a file
_MOST = 2_000_000  # triangles of all meshes: a browser draws them
_EDGE = 0.5  # rad: triangles that meet at more than this have an edge between them
_COLOURS = 32  # of one geometry; a file with more of them, such as a scan, is drawn in its main one
_GREY: Colour = (0.72, 0.74, 0.77, 1.0)
_LISTED = 3  # names of files in a note


@dataclass(frozen=True)
class MeshPart:
    """Triangles of one colour; None: the file says none."""

    mesh: Mesh
    colour: Colour | None = None


class VisualMeshes:
    """The meshes of a robot: `known` says which there are, `handles` are those that are drawn so far."""

    def __init__(self, bench: Bench, arm: DrawnArm) -> None:
        self._bench, self._arm = bench, arm
        self.known: Visuals = visuals_of(bench.given.model)
        self.handles: list[Any] = []
        self.notes: list[str] = _notes(self.known)
        self._visible = True
        self._covered: set[int] = set()  # bodies whose visuals are all drawn

    @property
    def any(self) -> bool:
        return any(one.is_there for one in self.known.found)

    def show(self, visible: bool) -> None:
        self._visible = visible
        for handle in list(self.handles):
            handle.visible = visible
        self._arm.cover(self._covered if visible else ())

    def start(self, done: Callable[[], None]) -> None:
        """Read the files in a thread of its own, then call `done`; what could not be drawn is told."""

        def work() -> None:
            self._bench.guard(self._read)
            self._bench.guard(done)
            if self.notes:
                self._bench.tell_all("Meshes", "; ".join(self.notes), "orange")

        threading.Thread(target=work, name="armdyn view: meshes", daemon=True).start()

    def _read(self) -> None:
        places, room = link_places(self._bench.given), _MOST
        left = Counter(places[visual.link][0] for visual in self.known.found)
        left.update(places[link][0] for link in self.known.wrong)
        files: dict[Path, tuple[MeshPart, ...]] = {}
        failed: dict[str, list[str]] = {}
        for k, visual in enumerate(self.known.found):
            if self._bench.closed or not visual.is_there:
                continue
            try:
                parts = _parts(visual, files)
                room -= sum(len(part.mesh.triangles) for part in parts)
                if room < 0:
                    raise ViewError(f"there are more than {_MOST} triangles")
            except ViewError as error:
                failed.setdefault(str(error), []).append(Path(visual.name).name)
                continue
            body, frame = places[visual.link]
            for i, part in enumerate(parts):
                self._add(f"mesh_{k}_{i}" if i else f"mesh_{k}", visual, part, body, frame)
            left[body] -= 1
            if not left[body]:
                self._cover({body})
        self.notes += [
            f"{_count(len(names))} not drawn ({_listed(names)}): {why}" for why, names in failed.items()
        ]
        if self.handles:  # what the file says no looks of has none
            self._cover({x.body for x in self._arm.drawn.solids if not left[x.body]})

    def _cover(self, bodies: set[int]) -> None:
        self._covered |= bodies
        if self._visible:
            self._arm.cover(self._covered)

    def _add(self, name: str, visual: Visual, part: MeshPart, body: int, frame: np.ndarray) -> None:
        r, g, b, opacity = visual.colour or part.colour or _GREY
        pose = frame @ visual.pose
        handle = add_mesh(
            self._bench,
            f"{path(body)}/{name}",
            part.mesh,
            color=(round(255 * r), round(255 * g), round(255 * b)),
            opacity=None if opacity >= 1 else float(opacity),
            side="double",
            position=pose[:3, 3],
            wxyz=quaternion(pose[:3, :3]),
            visible=self._visible,
        )
        self.handles.append(handle)
        handle.visible = self._visible  # it may have been switched while it was read


def _notes(known: Visuals) -> list[str]:
    notes = []
    if known.missing:
        named = _listed([PurePosixPath(x).name for x in known.missing])
        files = "file is" if len(known.missing) == 1 else "files are"
        notes.append(f"{len(known.missing)} mesh {files} not there: {named}")
    if known.wrong:
        notes.append(f"{_count(len(known.wrong))} not drawn: not written as URDF asks")
    return notes


def _listed(names: Sequence[str]) -> str:
    """Some names, each once."""
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    return ", ".join(one_line(name) for name in found[:_LISTED]) + more


def _count(n: int) -> str:
    return "one visual is" if n == 1 else f"{n} visuals are"


def _parts(visual: Visual, files: dict[Path, tuple[MeshPart, ...]]) -> tuple[MeshPart, ...]:
    """The triangles of a visual, in its own frame."""
    zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    if visual.shape == "sphere":
        return (MeshPart(ball(zero, visual.size[0], 28)),)
    if visual.shape == "cylinder":
        return (MeshPart(cylinder(zero, z, visual.size[0], visual.size[1] / 2, 40)),)
    if visual.shape == "box":
        unit = box(zero, z, 0.5, 0.5)
        return (MeshPart(smoothed(unit.vertices * visual.size, unit.triangles)),)
    assert visual.path is not None
    if visual.path not in files:
        files[visual.path] = read_mesh(visual.path)
    turned = np.prod(visual.size) < 0  # a mirror turns triangles inside out
    return tuple(
        MeshPart(
            Mesh(part.mesh.vertices * visual.size, part.mesh.triangles[:, :: -1 if turned else 1]),
            part.colour,
        )
        for part in files[visual.path]
    )


def smoothed(vertices: np.ndarray, triangles: np.ndarray) -> Mesh:
    """Triangles that share corners where they meet smoothly, and have corners of their own at edges.

    A page takes the mean of the normals at a shared corner: so round things look round and edges stay sharp.
    """
    from trimesh import Trimesh

    _, first, which = np.unique(vertices.astype(np.float32), axis=0, return_index=True, return_inverse=True)
    whole: Any = Trimesh(vertices[first], which.reshape(-1)[triangles], process=False)
    smooth = whole.face_adjacency_angles < _EDGE
    pairs, edges = whole.face_adjacency[smooth], whole.face_adjacency_edges[smooth]
    # Corner k of triangle f has the number 3f + k. At the ends of an edge those of its triangles become one.
    at_end = whole.faces[pairs][:, :, None] == edges[:, None, :, None]
    both = (3 * pairs[:, :, None] + at_end.argmax(-1)).transpose(0, 2, 1).reshape(-1, 2)
    graph = coo_array((np.ones(len(both), bool), tuple(both.T)), shape=(triangles.size,) * 2)
    count, corner = connected_components(graph, directed=False)
    found = np.empty((count, 3))
    found[corner] = vertices[triangles.ravel()]
    return Mesh(found, corner.reshape(-1, 3))


# ---- files -------------------------------------------------------------------------------------------------


class Materials:
    """The one kind of file that a mesh file may name: the materials of an OBJ file, beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str) -> bytes:
        file = self._folder / Path(name).name
        if file.suffix.lower() != ".mtl" or not file.is_file() or file.stat().st_size > _LARGEST:
            raise FileNotFoundError(name)
        return file.read_bytes()

    __getitem__ = get  # trimesh asks in both ways


def read_mesh(file: Path) -> tuple[MeshPart, ...]:
    """The triangles of a file, those of one colour together."""
    kind = file.suffix.lower()
    if kind not in KINDS:
        raise ViewError(f"meshes are {', '.join(KINDS)}; found {kind or 'a file without an ending'}")
    try:
        if file.stat().st_size > _LARGEST:
            raise ViewError(f"a mesh file has at most {_LARGEST} bytes")
        content = file.read_bytes()
    except OSError as error:
        raise ViewError(f"a mesh file cannot be read: {error.strerror or type(error).__name__}") from None
    try:
        pieces = list(_pieces(content, kind, file.parent))
        if not all(np.isfinite(vertices).all() for vertices, _, _ in pieces):
            raise ViewError(f"a {kind} file has coordinates that are no numbers")
        parts = tuple(_together(pieces))
    except ImportError as error:
        library = "pycollada" if kind == ".dae" else (error.name or "a library")
        raise ViewError(f"{kind} files need {library}: pip install {library}") from None
    except ViewError:
        raise
    except Exception as error:  # whatever a file of any content makes a reader raise
        raise ViewError(f"a {kind} file is damaged ({type(error).__name__})") from None
    if not parts:
        raise ViewError(f"a {kind} file has no triangles")
    return parts


Piece = tuple[np.ndarray, np.ndarray, Colour | None]  # vertices, triangles


def _pieces(content: bytes, kind: str, folder: Path) -> Iterator[Piece]:
    """The geometries of a file where it places them, by colour."""
    import trimesh  # takes a while

    materials: Any = Materials(folder)
    scene: Any = trimesh.load_scene(io.BytesIO(content), file_type=kind[1:], resolver=materials)
    for geometry in scene.dump():
        if isinstance(geometry, trimesh.Trimesh) and len(geometry.faces):
            vertices, faces = np.asarray(geometry.vertices, float), np.asarray(geometry.faces, np.int64)
            for colour, chosen in _colours(geometry):
                yield vertices, faces[chosen], colour


def _colours(geometry: Any) -> Iterator[tuple[Colour | None, Any]]:
    """The colours of a geometry, each with the triangles that have it."""
    visual, everywhere = geometry.visual, slice(None)
    if visual.kind == "texture":
        yield _colour(visual.material.main_color), everywhere
    elif visual.kind is None:
        yield None, everywhere
    else:
        colours, which = np.unique(np.asarray(visual.face_colors), axis=0, return_inverse=True)
        if len(colours) > _COLOURS:
            yield _colour(visual.main_color), everywhere
            return
        for k, colour in enumerate(colours):
            yield _colour(colour), which.reshape(-1) == k


def _colour(rgba: np.ndarray) -> Colour:
    r, g, b, a = (float(x) / 255 for x in rgba)
    return r, g, b, a


def _together(pieces: list[Piece]) -> Iterator[MeshPart]:
    """One part for each colour."""
    from trimesh.util import append_faces

    for colour in dict.fromkeys(colour for _, _, colour in pieces):
        own = [(vertices, faces) for vertices, faces, found in pieces if found == colour]
        yield MeshPart(smoothed(*append_faces(*zip(*own, strict=True))), colour)
