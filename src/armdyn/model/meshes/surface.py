"""Faces -> a closed surface of triangles, or an error that says where it is not closed.

Vertices are the same where their coordinates are equal, exactly: there is no tolerance. Every edge then
belongs to two faces, which pass it in opposite directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armdyn.model.meshes.faces import LARGEST, Faces

_PLANAR = 1e-3  # of a polygon's size: how far its corners may lie from a plane, as files print few digits


@dataclass(frozen=True)
class Surface:
    """A closed surface whose triangles run anticlockwise where they are seen from outside."""

    faces: Faces
    points: np.ndarray  # (P, 3), no two of them equal
    triangles: np.ndarray  # (T, 3) indices of points
    face: np.ndarray  # (T,) the face that a triangle belongs to
    neighbours: tuple[np.ndarray, np.ndarray]  # pairs of faces with a common edge
    collapsed: int  # faces left out because corners of theirs are equal: they have no area

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lowest and highest coordinates; points that no triangle has do not count."""
        used = np.zeros(len(self.points), dtype=bool)
        used[self.triangles] = True
        return self.points[used].min(axis=0), self.points[used].max(axis=0)


def closed_surface(faces: Faces) -> Surface:
    """The triangles of a surface that is closed and whose faces agree on where outside is."""
    if not len(faces):
        faces.fail("the mesh has no faces")
    points, corners = _merged(faces.vertices, faces.corners)
    sizes = np.diff(faces.starts)
    face = np.repeat(np.arange(len(faces)), sizes)
    following = np.arange(1, len(corners) + 1)
    following[faces.starts[1:] - 1] = faces.starts[:-1]
    edges = corners != corners[following]  # others lead from a point to itself
    whole = np.bincount(face[edges], minlength=len(faces)) >= 3
    edges &= whole[face]
    if not whole.any():
        faces.fail(f"all of its {len(faces)} faces have equal corners; a face has three different ones")
    neighbours = _neighbours(faces, points, corners[edges], corners[following][edges], face[edges])
    polygons = np.flatnonzero(whole & (sizes > 3))
    if polygons.size:
        _check_planar(faces, points, corners, polygons)
    triangles, of_face = _fans(corners, faces.starts, whole)
    found = Surface(faces, points, triangles, of_face, neighbours, int((~whole).sum()))
    low, high = found.bounds
    if (size := (high - low).max()) < 1 / LARGEST:  # its moments would be rounded to zero
        faces.fail(f"the mesh is {size:.2g} large; at least {1 / LARGEST:g} is expected")
    return found


def _merged(vertices: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points that all differ, and the corners as indices of them."""
    placed = vertices + 0.0  # -0.0 becomes 0.0
    order = np.lexsort(placed.T)
    placed = placed[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (placed[1:] != placed[:-1]).any(axis=1)
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return placed[new], index[corners]


def _neighbours(
    faces: Faces, points: np.ndarray, start: np.ndarray, end: np.ndarray, face: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of faces with a common edge; edges with another number of faces or one direction are refused."""
    key = np.minimum(start, end) * len(points) + np.maximum(start, end)
    order = np.argsort(key, kind="stable")
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    uses = np.diff(first, append=len(key))

    def refuse(bad: np.ndarray, what: str) -> None:
        """Complain about the first of these edges, by its place in the file."""
        if bad.size:
            edge = order[first[bad]].min()
            ends = " to ".join("({:.9g} {:.9g} {:.9g})".format(*points[i[edge]]) for i in (start, end))
            n = len(bad)
            said = f"{n} edge{'s' if n > 1 else ''} {what.format(verb='belong' if n > 1 else 'belongs')}"
            at = "the first" if n > 1 else "it"
            faces.fail(
                f"{said}; {at} goes from {ends}, {faces.place(face[edge])}. In a closed mesh each edge "
                "belongs to two faces, which pass it in opposite directions; vertices are the same where "
                "their coordinates are exactly equal"
            )

    refuse(np.flatnonzero(uses == 1), "{verb} to one face only, so the mesh is open")
    refuse(np.flatnonzero(uses > 2), "{verb} to more than two faces")
    a, b = order[first], order[first + 1]
    refuse(np.flatnonzero(start[a] == start[b]), "{verb} to two faces that disagree on where outside is")
    return face[a], face[b]


def _check_planar(faces: Faces, points: np.ndarray, corners: np.ndarray, polygons: np.ndarray) -> None:
    """Polygons of more than three corners must be flat: else their triangles could be chosen in two ways."""
    counts = np.diff(faces.starts)[polygons]
    first = np.cumsum(counts) - counts
    of = np.repeat(np.arange(len(polygons)), counts)
    p = points[corners[np.arange(len(of)) + (faces.starts[polygons] - first)[of]]]
    p = p - (np.add.reduceat(p, first) / counts[:, None])[of]
    following = np.arange(1, len(of) + 1)
    following[first + counts - 1] = first
    normal = np.add.reduceat(np.cross(p, p[following]), first)  # Newell's: twice the area
    length = np.linalg.norm(normal, axis=1)
    size = np.maximum.reduceat(np.linalg.norm(p, axis=1), first)
    off = np.maximum.reduceat(np.abs(np.einsum("ij,ij->i", p, normal[of])), first)  # times the length
    for k in np.flatnonzero(off > _PLANAR * size * length)[:1]:
        faces.fail(
            f"{faces.place(polygons[k])}: a corner lies {off[k] / length[k]:.2g} outside the plane of the "
            f"others, up to {_PLANAR:g} of the face's size ({size[k]:.2g}) is allowed; "
            "divide it into triangles"
        )


def _fans(corners: np.ndarray, starts: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each polygon as triangles around its first corner.

    Where a flat polygon is not convex some of them are turned over, and what they cover too much cancels.
    """
    sizes = np.where(whole, np.diff(starts) - 2, 0)
    of_face = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(of_face)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begin = starts[:-1][of_face]
    second = begin + within + 1
    return np.stack([corners[begin], corners[second], corners[second + 1]], axis=1), of_face
