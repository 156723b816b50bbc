"""Wavefront OBJ files: vertices and faces; polygons, indices from the end, continued lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.meshes.faces import Faces, coordinates, lines_of
from armdyn.output import one_line

# What says nothing about the surface: texture, normals, names, materials, display; points and lines.
_IGNORED = {
    *("vt", "vn", "vp", "g", "o", "s", "mg", "l", "p", "usemtl", "mtllib", "usemap", "maplib", "bevel"),
    *("c_interp", "d_interp", "lod", "shadow_obj", "trace_obj", "call", "csh"),
}


def read_obj(path: Path, source: str) -> Faces:
    """The polygons of an OBJ file."""
    points, corners, starts, lines = array("d"), array("q"), array("q", [0]), array("q")
    for number, words in _statements(path):
        key = words[0]
        try:
            if key == "v":
                points.extend(_vertex(words))
            elif key == "f":
                corners.extend(_face(words, len(points) // 3))
                starts.append(len(corners))
                lines.append(number)
            elif key not in _IGNORED and not key.startswith("#"):
                found = one_line(key)[:40]
                raise ValueError(f"unknown statement '{found}'; a surface is given by 'v' and 'f'")
        except ValueError as error:
            raise ModelError(f"{source}: line {number}: {error}") from None
    vertices = np.array(points, dtype=float).reshape(-1, 3)
    return Faces(source, vertices, np.array(corners, np.int64), np.array(starts, np.int64), np.array(lines))


def _statements(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and words of each statement. A backslash at the end of a line continues it."""
    begun: list[str] = []
    first = 0
    for number, words in lines_of(path):
        if words[-1].endswith("\\") and not words[0].startswith("#"):
            first = first or number
            begun += [word for word in (*words[:-1], words[-1][:-1]) if word]
            continue
        yield first or number, begun + words
        begun, first = [], 0
    if begun:
        yield first, begun


def _vertex(words: list[str]) -> tuple[float, float, float]:
    """x y z, perhaps a weight of 1, perhaps colours."""
    point = coordinates(words[1:])
    more = list(takewhile(lambda word: not word.startswith("#"), words[4:]))
    if len(more) in (1, 4) and more[0] not in ("1", "1.0"):
        try:
            weight = float(more[0])
        except ValueError:
            weight = 0.0
        if weight != 1:
            raise ValueError(f"the weight of a vertex of a polygon is 1, found {one_line(more[0])[:40]}")
    return point


def _face(words: list[str], known: int) -> list[int]:
    """Corners as indices from 0: i, i/t, i//n or i/t/n from 1, or from the last vertex backwards."""
    if len(words) < 4:
        raise ValueError(f"a face has at least three corners, found {len(words) - 1}")
    found = []
    for word in words[1:]:
        if word.startswith("#"):
            break
        try:
            i = int(word.partition("/")[0])
        except ValueError:
            text = one_line(word)[:40]
            raise ValueError(f"a corner is i, i/t, i//n or i/t/n, found '{text}'") from None
        if not 0 < i <= known and not 0 < -i <= known:
            raise ValueError(f"corner {i}: {known} vertices stand before this line; they count from 1 or -1")
        found.append(i - 1 if i > 0 else known + i)
    if len(found) < 3:
        raise ValueError(f"a face has at least three corners, found {len(found)}")
    return found
