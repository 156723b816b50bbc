"""The volume that a mesh file encloses, its centroid and its second moments.

trimesh reads the files and integrates. The checks are ours: it would merge vertices that are close, and turn
faces over. Vertices are the same where their coordinates are equal, exactly; every edge then belongs to two
faces, which pass it in opposite directions.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.names import one_line, shown

SUFFIXES = (".stl", ".obj")
MAX_BYTES = 1_000_000_000
LARGEST = 1e30  # of a coordinate: its fifth power is still a float
_HEAD, _TRIANGLE = 84, 50  # bytes of a binary STL file: any text and the number of triangles; a triangle
_STATEMENT = re.compile(r"^[ \t]*([vf])[ \t]([^#\n]*)", re.MULTILINE)
_WRONG_CORNER = re.compile(r"^f .*?(?<= )([^1-9 ]\S*)", re.MULTILINE)
_ZERO = 1e-12  # of area times size: a volume that rounding could leave
_TRIES = 5  # corners at which it is asked whether a shell lies inside others


# ---- reading -----------------------------------------------------------------------------------------------


def mesh_file(path: str | Path) -> tuple[Path, str]:
    """The path of a file with a known suffix and a sensible size, and its name for messages."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"mesh: expected a path to an STL or OBJ file, found {shown(path)}")
    found, source = Path(path), one_line(str(path))
    if found.suffix.lower() not in SUFFIXES:
        allowed = ", ".join(SUFFIXES)
        raise ModelError(f"{source}: found the suffix '{one_line(found.suffix)}'; allowed: {allowed}")
    try:
        reason = "it is no file" if found.exists() else "there is no such file"
        size = found.stat().st_size if found.is_file() else None
    except (OSError, ValueError) as error:  # a name that no file can have
        reason, size = getattr(error, "strerror", None) or str(error), None
    if size is None:
        raise ModelError(f"{source}: cannot read the mesh: {reason}")
    if size > MAX_BYTES:
        raise ModelError(f"{source}: the mesh has {size} bytes; up to {MAX_BYTES} are allowed")
    return found, source


def _read(path: Path, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (V, 3) and triangles (T, 3) of a file, as trimesh reads them."""
    try:
        import trimesh
    except ImportError:
        raise ModelError(f'{source}: meshes need trimesh: pip install "armdyn[mesh]"') from None
    suffix = path.suffix.lower()
    try:
        data = path.read_bytes()
        prepared = _obj(data) if suffix == ".obj" else _stl(data)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "string or file could not be read to its end")  # NumPy's
            found = trimesh.load_mesh(prepared, file_type=suffix[1:], process=False)
        vertices, faces = np.array(found.vertices, float), np.array(found.faces, np.int64)
        if len(faces) and (vertices.shape[1:] != (3,) or faces.max() >= len(vertices)):
            raise ValueError("a vertex has three coordinates, and a face has vertices of the file")
    except OSError as error:
        raise ModelError(f"{source}: cannot read the mesh: {error.strerror or error}") from None
    except Exception as error:  # whatever strangers' files make trimesh stumble over
        raise ModelError(f"{source}: cannot read the mesh: {one_line(str(error))[:200]}") from None
    if not len(faces):
        raise ModelError(f"{source}: the mesh has no faces")
    bad = np.flatnonzero(~(np.abs(vertices) <= LARGEST).all(axis=1))  # also where one is NaN
    if bad.size:
        raise ModelError(
            f"{source}: a coordinate is a number up to {LARGEST:g}, found {_point(vertices[bad[0]])}"
        )
    return vertices, faces


def _stl(data: bytes) -> Any:
    """A binary file as it is; a text without a mark of UTF-8, with the ends of lines that trimesh expects."""
    count = int.from_bytes(data[80:_HEAD], "little")
    if len(data) >= _HEAD and len(data) == _HEAD + _TRIANGLE * count:
        return io.BytesIO(data)
    text = _text(data)
    if text.lstrip()[:5].lower() != "solid" or "\0" in text[:_HEAD]:
        begin = one_line(text[:40])
        raise ValueError(
            f"a binary STL file has {_HEAD} bytes and {_TRIANGLE} for each triangle ({count} by its count), "
            f"and a text begins with 'solid'; found {len(data)} bytes that begin with '{begin}'"
        )
    return io.StringIO(text)


def _obj(data: bytes) -> io.StringIO:
    """Its vertices and faces alone: no weights, colours, textures, normals, materials of other files."""
    statements = _STATEMENT.findall(_text(data).replace("\\\n", " "))
    lines = [
        "v " + " ".join(rest.split()[:3])
        if key == "v"
        else "f " + " ".join(re.sub(r"/\S*", "", rest).split())
        for key, rest in statements
    ]
    text = "\n".join(lines)
    if wrong := _WRONG_CORNER.search(text):  # trimesh counts from the end of the file, not of what was read
        found = one_line(wrong[1])[:40]
        raise ValueError(f"a corner of a face is the number of a vertex, from 1 on, found '{found}'")
    return io.StringIO(text)


def _text(data: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace").read()


# ---- a closed surface --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ClosedSurface:
    """A closed surface whose triangles run anticlockwise where they are seen from outside."""

    source: str
    points: np.ndarray  # (P, 3), no two of them equal
    triangles: np.ndarray  # (T, 3) indices of points
    neighbours: tuple[np.ndarray, np.ndarray]  # pairs of triangles with a common edge
    collapsed: int  # triangles left out because corners of theirs are equal: they have no area

    @property
    def corners(self) -> np.ndarray:
        """(T, 3, 3)"""
        return np.asarray(self.points[self.triangles])

    def fail(self, message: str) -> NoReturn:
        raise ModelError(f"{self.source}: {message}")


def closed_surface(source: str, vertices: np.ndarray, faces: np.ndarray) -> ClosedSurface:
    """The triangles of a surface that is closed and whose faces agree on where outside is."""
    points, index = _merged(vertices)
    triangles = index[faces]
    a, b, c = triangles.T
    whole = (a != b) & (b != c) & (c != a)
    if not whole.any():
        raise ModelError(f"{source}: all of its faces have equal corners; a face has three different ones")
    triangles = triangles[whole]
    found = ClosedSurface(
        source, points, triangles, _neighbours(source, points, triangles), int((~whole).sum())
    )
    if (size := np.ptp(found.corners, axis=(0, 1)).max()) < 1 / LARGEST:  # moments would be rounded to zero
        found.fail(f"the mesh is {size:.2g} large; at least {1 / LARGEST:g} is expected")
    return found


def _merged(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points that all differ, and for each vertex the index of its point."""
    placed = vertices + 0.0  # -0.0 becomes 0.0
    order = np.lexsort(placed.T)
    placed = placed[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (placed[1:] != placed[:-1]).any(axis=1)
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return placed[new], index


def _neighbours(source: str, points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of triangles with a common edge; edges of more or fewer, or in one direction, are refused."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    key = np.minimum(start, end) * len(points) + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    uses = np.diff(first, append=len(key))

    def refuse(bad: np.ndarray, what: str) -> None:
        """Complain about the first of these edges, by its place in the file."""
        if bad.size:
            edge = order[first[bad]].min()
            n, ends = len(bad), f"{_point(points[start[edge]])} to {_point(points[end[edge]])}"
            said = f"{n} edge{'s' if n > 1 else ''} {what.format(verb='belong' if n > 1 else 'belongs')}"
            raise ModelError(
                f"{source}: {said}; {'the first' if n > 1 else 'it'} goes from {ends}. In a closed mesh each "
                "edge belongs to two faces, which pass it in opposite directions; vertices are the same "
                "where their coordinates are exactly equal"
            )

    refuse(np.flatnonzero(uses == 1), "{verb} to one face only, so the mesh is open")
    refuse(np.flatnonzero(uses > 2), "{verb} to more than two faces")
    a, b = order[first], order[first + 1]
    refuse(np.flatnonzero(start[a] == start[b]), "{verb} to two faces that disagree on where outside is")
    return a // 3, b // 3


def _point(x: np.ndarray) -> str:
    return "({:.9g} {:.9g} {:.9g})".format(*x)


# ---- its parts: none inside out, and none inside another whose volume counts already -----------------------


def check_shells(surface: ClosedSurface) -> None:
    """Refuse shells without volume, inside out, or within another one.

    A shell that is inside out is a hollow, and right, exactly where it lies within another one. Shells that
    cut through each other are not found.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = surface.neighbours
    n = len(surface.triangles)
    count, label = connected_components(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n)), False)
    order = np.argsort(label, kind="stable")
    shells = np.split(surface.corners[order], np.searchsorted(label[order], np.arange(1, count)))
    low, high = (np.array([f(f(x, axis=0), axis=0) for x in shells]) for f in (np.min, np.max))
    for s, corners in enumerate(shells):
        volume, area = _size(corners - (low[s] + high[s]) / 2)
        name = (
            "the mesh"
            if count == 1
            else f"one of its {count} parts, with a corner at {_point(corners[0, 0])},"
        )
        if abs(volume) <= _ZERO * area * (high[s] - low[s]).max():
            surface.fail(f"{name} has no volume")
        if count == 1 and volume < 0:
            surface.fail(
                f"the mesh is inside out (its volume is {volume:.4g}): the corners of a face run "
                "anticlockwise seen from outside. Turn its faces over in the program that made it; "
                "they are not turned here, as a mirrored mesh looks the same"
            )
        around = np.flatnonzero((low <= low[s]).all(axis=1) & (high >= high[s]).all(axis=1))
        depth = _depth(corners[:, 0], [shells[k] for k in around if k != s])
        if volume < 0 and depth != 1:
            surface.fail(
                f"{name} is inside out (its volume is {volume:.4g}) and is no hollow of another part; the "
                "corners of a face run anticlockwise seen from outside"
            )
        if volume > 0 and depth:
            surface.fail(f"{name} lies inside another part: its volume would count twice")


def _size(corners: np.ndarray) -> tuple[float, float]:
    """Volume and area."""
    a, b, c = (corners[:, k] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6), float(area)


def _depth(points: np.ndarray, around: list[np.ndarray]) -> int:
    """How many shells a shell lies in, hollows counted -1, by the winding numbers of some corners of it.

    A corner on the surface of another shell does not tell; 0 if none does.
    """
    if around:
        others = np.concatenate(around)
        for point in points[:: max(len(points) // _TRIES, 1)][:_TRIES]:
            w = _winding(*(others[:, k] - point for k in range(3)))
            if abs(w - round(w)) < 0.01:
                return round(w)
    return 0


def _winding(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """Solid angle of triangles seen from the origin, by 4π (van Oosterom and Strackee, 1983)."""
    la, lb, lc = (np.linalg.norm(p, axis=1) for p in (a, b, c))
    if min(la.min(), lb.min(), lc.min()) == 0:
        return 0.5
    below = la * lb * lc
    for p, q, length in ((a, b, lc), (b, c, la), (c, a, lb)):
        below = below + np.einsum("ij,ij->i", p, q) * length
    return float(np.arctan2(np.einsum("ij,ij->i", a, np.cross(b, c)), below).sum() / (2 * np.pi))


# ---- the volume it encloses --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Volume:
    """The volume that a closed mesh encloses, in the file's unit."""

    source: str
    triangles: int
    collapsed: int  # faces without area, left out
    size: float
    centroid: np.ndarray  # (3,)
    spread: np.ndarray  # (3, 3): ∫ x xᵀ dV / V about the centroid


def enclosed_volume(path: str | Path) -> Volume:
    """Read an STL or OBJ file, check that its surface is closed, and integrate over what it encloses.

    Integrated about the middle of the body, then about its centroid: far bodies keep their digits.
    """
    file, source = mesh_file(path)
    surface = closed_surface(source, *_read(file, source))
    check_shells(surface)
    from trimesh.triangles import mass_properties  # an extra: `_read` says where it is missing

    corners = surface.corners
    low, high = corners.min(axis=(0, 1)), corners.max(axis=(0, 1))
    size, centre = (high - low).max(), (low + high) / 2
    centre = centre + size * mass_properties((corners - centre) / size, skip_inertia=True).center_mass
    found = mass_properties((corners - centre) / size)
    tensor = np.asarray(found.inertia) / found.volume
    spread = np.trace(tensor) / 2 * np.eye(3) - tensor
    return Volume(
        source,
        len(surface.triangles),
        surface.collapsed,
        float(found.volume * size**3),
        centre + size * np.asarray(found.center_mass),
        spread * size**2,
    )
