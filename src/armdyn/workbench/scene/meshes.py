"""The visual meshes of a URDF, read beside the page and hung on the bodies of the arm."""

from __future__ import annotations

import io
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from armdyn.output import one_line
from armdyn.report.findings.drawn.shapes import Mesh, ball, box, cylinder
from armdyn.workbench.bench.bench import Bench
from armdyn.workbench.errors import ViewError
from armdyn.workbench.scene.arm import path, quaternion
from armdyn.workbench.scene.frames import link_places
from armdyn.workbench.scene.visuals import Colour, Visual, Visuals, visuals_of

KINDS = (".stl", ".obj", ".dae", ".ply", ".glb", ".off")
_LARGEST = 200_000_000  # bytes of a file
_MOST = 2_000_000  # triangles of all meshes: a browser draws them
_SMOOTHED, _EDGE = 300_000, 0.5  # triangles of a mesh whose edges are kept sharp, and from which angle [rad]
_GREY: Colour = (0.72, 0.74, 0.77, 1.0)
_LISTED = 3  # names of missing files in a note


class Meshes:
    """The meshes of a robot: `known` says which there are, `handles` are those that are drawn so far."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self.known: Visuals = visuals_of(bench.given.model)
        self.handles: list[Any] = []
        self.notes: list[str] = _notes(self.known)
        self._visible = True
        self._done = threading.Event()

    @property
    def any(self) -> bool:
        """Whether there is something to draw."""
        return any(one.shape != "mesh" or one.path is not None for one in self.known.found)

    @property
    def complete(self) -> bool:
        """Whether everything that the file names is there."""
        return self.any and not self.known.missing and not self.known.wrong

    def show(self, visible: bool) -> None:
        self._visible = visible
        for handle in list(self.handles):
            handle.visible = visible

    def wait(self, seconds: float) -> bool:
        """Whether all meshes are read."""
        return self._done.wait(seconds)

    def start(self, done: Callable[[], None]) -> None:
        """Read the files in a thread of its own, then call `done`."""

        def work() -> None:
            self._bench.guard(self._read)
            self._done.set()
            self._bench.guard(done)

        threading.Thread(target=work, name="armdyn view: meshes", daemon=True).start()

    def _read(self) -> None:
        places, room = link_places(self._bench.given), _MOST
        files: dict[Path, Mesh] = {}
        failed: Counter[str] = Counter()
        for k, visual in enumerate(self.known.found):
            if self._bench.closed or (visual.shape == "mesh" and visual.path is None):
                continue
            try:
                mesh = _shape(visual, files)
            except ViewError as error:
                failed[str(error)] += 1
                continue
            room -= len(mesh.triangles)
            if room < 0:
                failed[f"there are more than {_MOST} triangles"] += 1
                continue
            self._add(k, visual, mesh, *places[visual.link])
        self.notes += [f"{_count(n)} not drawn: {why}" for why, n in failed.items()]

    def _add(self, k: int, visual: Visual, mesh: Mesh, body: int, frame: np.ndarray) -> None:
        r, g, b, opacity = visual.colour or _GREY
        pose = frame @ visual.pose
        handle = self._bench.scene.add_mesh_simple(
            f"{path(body)}/mesh_{k}",
            vertices=mesh.vertices.astype(np.float32),
            faces=mesh.triangles.astype(np.uint32),
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
        named = ", ".join(one_line(name) for name in known.missing[:_LISTED])
        more = len(known.missing) - _LISTED
        named += f" and {more} more" if more > 0 else ""
        files = "file is" if len(known.missing) == 1 else "files are"
        notes.append(f"{len(known.missing)} mesh {files} not there: {named}")
    if known.wrong:
        notes.append(f"{_count(known.wrong)} not drawn: it is not written as URDF asks")
    return notes


def _count(n: int) -> str:
    return "one visual is" if n == 1 else f"{n} visuals are"


def _shape(visual: Visual, files: dict[Path, Mesh]) -> Mesh:
    """The triangles of a visual, in its own frame."""
    zero, z = np.zeros(3), np.array([0.0, 0.0, 1.0])
    if visual.shape == "sphere":
        return ball(zero, visual.size[0], 28)
    if visual.shape == "cylinder":
        return cylinder(zero, z, visual.size[0], visual.size[1] / 2, 40)
    if visual.shape == "box":
        unit = box(zero, z, 0.5, 0.5)
        return flat(Mesh(unit.vertices * visual.size, unit.triangles))
    assert visual.path is not None
    if visual.path not in files:
        files[visual.path] = read_mesh(visual.path)
    mesh = files[visual.path]
    turned = np.prod(visual.size) < 0  # a mirror turns triangles inside out
    return Mesh(mesh.vertices * visual.size, mesh.triangles[:, ::-1] if turned else mesh.triangles)


def flat(mesh: Mesh) -> Mesh:
    """Each triangle with corners of its own, so that edges stay sharp."""
    return Mesh(mesh.vertices[mesh.triangles.ravel()], np.arange(mesh.triangles.size).reshape(-1, 3))


def read_mesh(file: Path) -> Mesh:
    """The triangles of a file, all its parts together. No other file is read, whatever it names."""
    import trimesh

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
        found: Any = trimesh.load(io.BytesIO(content), file_type=kind[1:], force="mesh", resolver=None)
        if 0 < len(found.faces) <= _SMOOTHED:
            found = trimesh.graph.smooth_shade(found, angle=_EDGE)
        vertices, triangles = np.asarray(found.vertices, float), np.asarray(found.faces, np.int64)
    except ImportError as error:
        library = "pycollada" if kind == ".dae" else (error.name or "a library")
        raise ViewError(f"{kind} files need {library}: pip install {library}") from None
    except Exception as error:  # whatever a file of any content makes a reader raise
        raise ViewError(f"a {kind} file is damaged ({type(error).__name__})") from None
    if triangles.ndim != 2 or triangles.shape[1:] != (3,) or not len(triangles):
        raise ViewError(f"a {kind} file has no triangles")
    if not np.isfinite(vertices).all():
        raise ViewError(f"a {kind} file has coordinates that are no numbers")
    return Mesh(vertices, triangles)
