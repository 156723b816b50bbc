"""The closed parts of a surface: none inside out, and none inside another whose volume counts already."""

from __future__ import annotations

import numpy as np

from armdyn.model.meshes.surface import Surface

_ZERO = 1e-12  # of area times size: a volume that rounding could leave
_TRIES = 5  # corners at which it is asked whether a shell lies inside others


def check_shells(surface: Surface) -> None:
    """Refuse shells without volume, inside out, or within another one.

    A shell that is inside out is a hollow, and right, exactly where it lies within another one. Shells that
    cut through each other are not found.
    """
    shell, count = _shells(surface)
    corners = [surface.points[surface.triangles[:, k]] for k in range(3)]
    low, high = _bounds(corners, shell, count)
    volume, area = _volumes(corners, shell, (low + high) / 2)
    inside_out = volume < 0
    flat = np.abs(volume) <= _ZERO * area * (high - low).max(axis=1)
    for s in np.flatnonzero(flat)[:1]:
        surface.faces.fail(f"{_named(surface, shell, s, count)} has no volume")
    if count == 1:
        if inside_out[0]:
            surface.faces.fail(
                f"the mesh is inside out (its volume is {volume[0]:.4g}): the corners of a face run "
                "anticlockwise seen from outside. Turn its faces over in the program that made it; "
                "they are not turned here, as a mirrored mesh looks the same"
            )
        return
    for s in range(count):
        around = np.flatnonzero((low <= low[s]).all(axis=1) & (high >= high[s]).all(axis=1))
        depth = _depth(corners, shell, s, around[around != s])
        if inside_out[s] and depth != 1:
            surface.faces.fail(
                f"{_named(surface, shell, s, count)} is inside out (its volume is {volume[s]:.4g}) and "
                "is no hollow of another part; the corners of a face run anticlockwise seen from outside"
            )
        if not inside_out[s] and depth:
            surface.faces.fail(
                f"{_named(surface, shell, s, count)} lies inside another part: its volume would count twice"
            )


def _shells(surface: Surface) -> tuple[np.ndarray, int]:
    """Of each triangle the number of its shell, and how many there are."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    a, b = surface.neighbours
    n = len(surface.faces)
    _, label = connected_components(coo_array((np.ones(len(a), np.int8), (a, b)), shape=(n, n)), False)
    found, shell = np.unique(label[surface.face], return_inverse=True)
    return shell, len(found)


def _bounds(corners: list[np.ndarray], shell: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(shell, kind="stable")
    first = np.searchsorted(shell[order], np.arange(count))
    low = np.minimum.reduceat(np.minimum(np.minimum(*corners[:2]), corners[2])[order], first)
    high = np.maximum.reduceat(np.maximum(np.maximum(*corners[:2]), corners[2])[order], first)
    return low, high


def _volumes(
    corners: list[np.ndarray], shell: np.ndarray, middle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Volume and area of each shell."""
    a, b, c = (p - middle[shell] for p in corners)
    volume = np.bincount(shell, np.einsum("ij,ij->i", a, np.cross(b, c))) / 6
    area = np.bincount(shell, np.linalg.norm(np.cross(b - a, c - a), axis=1)) / 2
    return volume, area


def _depth(corners: list[np.ndarray], shell: np.ndarray, s: int, around: np.ndarray) -> int:
    """How many shells a shell lies in, hollows counted -1, by the winding numbers of its corners.

    A corner on the surface of another shell does not tell; 0 if none of some corners does.
    """
    if not around.size:
        return 0
    own = np.flatnonzero(shell == s)
    others = np.isin(shell, around)
    a, b, c = (p[others] for p in corners)
    for point in corners[0][own[:: max(len(own) // _TRIES, 1)]][:_TRIES]:
        w = _winding(a - point, b - point, c - point)
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


def _named(surface: Surface, shell: np.ndarray, s: int, count: int) -> str:
    if count == 1:
        return "the mesh"
    first = int(surface.face[np.flatnonzero(shell == s)[0]])
    return f"one of its {count} parts, that of {surface.faces.place(first)},"
