"""The visual meshes of a URDF, read beside the page and hung on the bodies of the arm.

Solids are drawn first. Where all visuals of a body are drawn, they take the place of its solids; a mesh that
cannot be read leaves them.
"""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from armdyn.output import one_line
from armdyn.report.findings.drawn.shapes import Mesh, ball, box, cylinder
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.errors import ViewError
from armdyn.workbench.scene.arm import Arm, path, quaternion
from armdyn.workbench.scene.frames import link_places
from armdyn.workbench.scene.visuals import Colour, Visual, Visuals, visuals_of

KINDS = (".stl", ".obj", ".dae", ".ply", ".glb", ".off")
_LARGEST = 200_000_000  # bytes of a file
_MOST = 2_000_000  # triangles of all meshes: a browser draws them
_EDGE = 0.5  # rad: triangles that meet at more than this have an edge between them
_COLOURS = 32  # of one geometry; a file with more of them, such as a scan, is drawn in its main one
_GREY: Colour = (0.72, 0.74, 0.77, 1.0)
_LISTED = 3  # names of files in a note


@dataclass(frozen=True)
class Part:
    """Triangles of one colour; None: the file says none."""

    mesh: Mesh
    colour: Colour | None = None


class Meshes:
    """The meshes of a robot: `known` says which there are, `handles` are those that are drawn so far."""

    def __init__(self, bench: Bench, arm: Arm) -> None:
        self._bench, self._arm = bench, arm
        self.known: Visuals = visuals_of(bench.given.model)
        self.handles: list[Any] = []
        self.notes: list[str] = _notes(self.known)
        self._visible = True
        self._covered: set[int] = set()  # bodies whose visuals are all drawn
        self._done = threading.Event()

    @property
    def any(self) -> bool:
        """Whether there is something to draw."""
        return any(one.shape != "mesh" or one.path is not None for one in self.known.found)

    def show(self, visible: bool) -> None:
        self._visible = visible
        for handle in list(self.handles):
            handle.visible = visible
        self._arm.cover(self._covered if visible else ())

    def wait(self, seconds: float) -> bool:
        """Whether all meshes are read."""
        return self._done.wait(seconds)

    def start(self, done: Callable[[], None]) -> None:
        """Read the files in a thread of its own, then call `done`; what could not be drawn is told."""

        def work() -> None:
            self._bench.guard(self._read)
            self._done.set()
            self._bench.guard(done)
            if self.notes:
                self._bench.tell_all("Meshes", "; ".join(self.notes), "orange")

        threading.Thread(target=work, name="armdyn view: meshes", daemon=True).start()

    def _read(self) -> None:
        places, room = link_places(self._bench.given), _MOST
        left = Counter(places[visual.link][0] for visual in self.known.found)
        left.update(places[link][0] for link in self.known.wrong)
        files: dict[Path, tuple[Part, ...]] = {}
        failed: dict[str, list[str]] = {}
        for k, visual in enumerate(self.known.found):
            if self._bench.closed or (visual.shape == "mesh" and visual.path is None):
                continue
            try:
                parts = _parts(visual, files)
            except ViewError as error:
                failed.setdefault(str(error), []).append(Path(visual.name).name)
                continue
            room -= sum(len(part.mesh.triangles) for part in parts)
            if room < 0:
                failed.setdefault(f"there are more than {_MOST} triangles", []).append(Path(visual.name).name)
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
            self._cover({body for body in self._arm.bodies if not left[body]})

    def _cover(self, bodies: set[int]) -> None:
        self._covered |= bodies
        if self._visible:
            self._arm.cover(self._covered)

    def _add(self, name: str, visual: Visual, part: Part, body: int, frame: np.ndarray) -> None:
        r, g, b, opacity = visual.colour or part.colour or _GREY
        pose = frame @ visual.pose
        handle = self._bench.scene.add_mesh_simple(
            f"{path(body)}/{name}",
            vertices=part.mesh.vertices.astype(np.float32),
            faces=part.mesh.triangles.astype(np.uint32),
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
        named = _listed(known.missing)
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


def _parts(visual: Visual, files: dict[Path, tuple[Part, ...]]) -> tuple[Part, ...]:
    """The triangles of a visual, in its own frame."""
    zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    if visual.shape == "sphere":
        return (Part(ball(zero, visual.size[0], 28)),)
    if visual.shape == "cylinder":
        return (Part(cylinder(zero, z, visual.size[0], visual.size[1] / 2, 40)),)
    if visual.shape == "box":
        unit = box(zero, z, 0.5, 0.5)
        return (Part(smoothed(unit.vertices * visual.size, unit.triangles)),)
    assert visual.path is not None
    if visual.path not in files:
        files[visual.path] = read_mesh(visual.path)
    turned = np.prod(visual.size) < 0  # a mirror turns triangles inside out
    return tuple(
        Part(
            Mesh(part.mesh.vertices * visual.size, part.mesh.triangles[:, :: -1 if turned else 1]),
            part.colour,
        )
        for part in files[visual.path]
    )


def smoothed(vertices: np.ndarray, triangles: np.ndarray) -> Mesh:
    """Triangles that share corners where they meet smoothly, and have corners of their own at edges.

    A page takes the mean of the normals at a shared corner: so round things look round and edges stay sharp.
    """
    points = np.unique(vertices.astype(np.float32), axis=0, return_inverse=True)[1].reshape(-1)[triangles]
    a, b, c = vertices[triangles].transpose(1, 0, 2)
    normals = np.cross(b - a, c - a)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    # Corner k of triangle f has the number 3f + k, and so has the side from it to the next corner.
    here = np.arange(points.size)
    after = here.reshape(-1, 3)[:, [1, 2, 0]].ravel()
    ends = np.stack([points.ravel(), points.ravel()[after]])
    low = np.where(ends[0] <= ends[1], here, after)
    side = ends.min(0).astype(np.int64) * (points.max() + 1) + ends.max(0)
    order = np.argsort(side, kind="stable")
    one, other = order[:-1], order[1:]
    cosines = np.einsum("ij,ij->i", normals[one // 3], normals[other // 3])
    met = (side[one] == side[other]) & (cosines > np.cos(_EDGE))
    one, other = one[met], other[met]
    high = here + after - low
    pairs = np.concatenate([[low[one], low[other]], [high[one], high[other]]], axis=1)
    graph = coo_array((np.ones(pairs.shape[1], bool), tuple(pairs)), shape=(points.size,) * 2)
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


def read_mesh(file: Path) -> tuple[Part, ...]:
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
    for node in scene.graph.nodes_geometry:
        pose, name = scene.graph[node]
        geometry = scene.geometry[name]
        if not isinstance(geometry, trimesh.Trimesh) or not len(geometry.faces):
            continue
        vertices = np.asarray(geometry.vertices, float) @ pose[:3, :3].T + pose[:3, 3]
        faces = np.asarray(geometry.faces, np.int64)
        turned = np.linalg.det(pose[:3, :3]) < 0
        for colour, chosen in _colours(geometry):
            yield vertices, faces[chosen][:, :: -1 if turned else 1], colour


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


def _together(pieces: list[Piece]) -> Iterator[Part]:
    """One part for each colour."""
    for colour in dict.fromkeys(colour for _, _, colour in pieces):
        vertices: list[np.ndarray] = []
        triangles, count = [], 0
        for points, faces, own in pieces:
            if own == colour:
                vertices.append(points)
                triangles.append(faces + count)
                count += len(points)
        yield Part(smoothed(np.concatenate(vertices), np.concatenate(triangles)), colour)
