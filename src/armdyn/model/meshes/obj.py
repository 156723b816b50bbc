"""Wavefront OBJ files: vertices and faces; polygons, indices from the end, continued lines."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.meshes.faces import Faces, coordinates
from armdyn.output import one_line

# What says nothing about the surface: texture, normals, names, materials, display; points and lines.
_IGNORED = frozenset(
    b"vt vn vp g o s mg l p usemtl mtllib usemap maplib bevel c_interp d_interp lod shadow_obj trace_obj "
    b"call csh".split()
)


def read_obj(path: Path, source: str) -> Faces:
    """The polygons of an OBJ file."""
    points, corners, starts, lines = array("d"), array("q"), array("q", [0]), array("q")
    with path.open("rb") as file:
        for number, words in _statements(file):
            key = words[0]
            try:
                if key == b"v":
                    points.extend(_vertex(words))
                elif key == b"f":
                    corners.extend(_face(words, len(points) // 3))
                    starts.append(len(corners))
                    lines.append(number)
                elif key not in _IGNORED and not key.startswith(b"#"):
                    found = one_line(key.decode("utf-8", "replace"))[:40]
                    raise ValueError(f"unknown statement '{found}'; a surface is given by 'v' and 'f'")
            except ValueError as error:
                raise ModelError(f"{source}: line {number}: {error}") from None
    vertices = np.array(points, dtype=float).reshape(-1, 3)
    return Faces(source, vertices, np.array(corners, np.int64), np.array(starts, np.int64), np.array(lines))


def _statements(file: BinaryIO) -> Iterator[tuple[int, list[bytes]]]:
    """Line number and words of each statement. A backslash at the end of a line continues it."""
    begun: list[bytes] = []
    first = 0
    for number, line in enumerate(file, 1):
        words = line.split()
        if words and words[-1].endswith(b"\\") and not words[0].startswith(b"#"):
            first = first or number
            begun += [word for word in (*words[:-1], words[-1][:-1]) if word]
            continue
        if begun:
            words, begun = begun + words, []
        if words:
            yield first or number, words
        first = 0
    if begun:
        yield first, begun


def _vertex(words: list[bytes]) -> tuple[float, float, float]:
    """x y z, perhaps a weight of 1, perhaps colours."""
    point = coordinates(words[1:])
    if len(words) in (5, 8) and words[4] not in (b"1", b"1.0"):
        try:
            weight = float(words[4])
        except ValueError:
            weight = 0.0
        if weight != 1:
            found = one_line(words[4].decode("utf-8", "replace"))[:40]
            raise ValueError(f"the weight of a vertex of a polygon is 1, found {found}")
    return point


def _face(words: list[bytes], known: int) -> list[int]:
    """Corners as indices from 0: i, i/t, i//n or i/t/n from 1, or from the last vertex backwards."""
    if len(words) < 4:
        raise ValueError(f"a face has at least three corners, found {len(words) - 1}")
    found = []
    for word in words[1:]:
        if word.startswith(b"#"):
            break
        try:
            i = int(word.partition(b"/")[0])
        except ValueError:
            text = one_line(word.decode("utf-8", "replace"))[:40]
            raise ValueError(f"a corner is i, i/t, i//n or i/t/n, found '{text}'") from None
        if not 0 < i <= known and not 0 < -i <= known:
            raise ValueError(f"corner {i}: {known} vertices stand before this line; they count from 1 or -1")
        found.append(i - 1 if i > 0 else known + i)
    if len(found) < 3:
        raise ValueError(f"a face has at least three corners, found {len(found)}")
    return found
