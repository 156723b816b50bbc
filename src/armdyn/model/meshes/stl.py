"""STL files, binary and as text. Normals and attributes are not used: the order of corners says the side."""

from __future__ import annotations

from array import array
from codecs import BOM_UTF8
from pathlib import Path

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.meshes.faces import LARGEST, Faces, coordinates, lines_of
from armdyn.output import one_line

_HEAD, _TRIANGLE = 84, 50  # bytes: 80 of any text and the number of triangles; a triangle
_RECORD = np.dtype([("normal", "<f4", 3), ("corners", "<f4", 9), ("attribute", "<u2")])
_FACET = ("facet", "outer", "vertex", "vertex", "vertex", "endloop", "endfacet")


def read_stl(path: Path, source: str) -> Faces:
    """The triangles of an STL file.

    It is binary where its size is the one that its count of triangles asks for. Else, a file that begins
    with "solid" and holds no zero byte near its beginning is a text.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
        count = int.from_bytes(head[80:84], "little")
        binary = len(head) == _HEAD and size == _HEAD + _TRIANGLE * count
        if not binary and head.removeprefix(BOM_UTF8).lstrip()[:5].lower() == b"solid" and b"\0" not in head:
            return _text(path, source)
        if len(head) < _HEAD:
            raise ModelError(f"{source}: an STL file has at least {_HEAD} bytes, found {len(head)}")
        if not binary and b"\0" not in head:
            begin = one_line(head.decode(errors="replace").strip())[:40]
            raise ModelError(f"{source}: a text STL file begins with 'solid', found '{begin}'")
        if not binary:
            what = "is cut off" if size < _HEAD + _TRIANGLE * count else "goes on after its triangles"
            raise ModelError(
                f"{source}: the file {what}: {count} triangles take {_HEAD + _TRIANGLE * count} bytes, "
                f"found {size}"
            )
        records = np.fromfile(file, _RECORD, count)
    vertices = records["corners"].astype(float).reshape(-1, 3)
    bad = np.flatnonzero(~(np.abs(vertices) <= LARGEST).all(axis=1))
    if bad.size:
        x, y, z = vertices[bad[0]]
        raise ModelError(
            f"{source}: face {bad[0] // 3 + 1}: a coordinate is a number up to {LARGEST:g}, "
            f"found {x:g} {y:g} {z:g}"
        )
    return _triangles(source, vertices, None)


def _text(path: Path, source: str) -> Faces:
    """solid, then facets of seven lines each, then endsolid; one solid or several."""
    points, lines = array("d"), array("q")
    within, position, number = False, 0, 0
    for number, words in lines_of(path):
        key = words[0].lower()
        if key == "vertex" and within and _FACET[position] == key:
            try:
                points.extend(coordinates(words[1:]))
                if len(words) > 4:
                    raise ValueError(f"expected three coordinates, found {len(words) - 1}")
            except ValueError as error:
                raise ModelError(f"{source}: line {number}: {error}") from None
            position += 1
        elif within and key == _FACET[position]:
            if position == 0:
                lines.append(number)
            position = (position + 1) % len(_FACET)
        elif position == 0 and key == ("endsolid" if within else "solid"):
            within = not within
        else:
            wanted = _FACET[position] if within else "solid"
            found = one_line(words[0])[:40]
            or_end = " or 'endsolid'" if within and not position else ""
            raise ModelError(
                f"{source}: line {number}: expected '{wanted}'{or_end}, found '{found}' (a facet is "
                "'facet normal', 'outer loop', three times 'vertex', 'endloop', 'endfacet')"
            )
    if within:
        raise ModelError(f"{source}: line {number}: the file is cut off: it ends without 'endsolid'")
    return _triangles(source, np.frombuffer(points).reshape(-1, 3), np.array(lines, dtype=np.int64))


def _triangles(source: str, vertices: np.ndarray, lines: np.ndarray | None) -> Faces:
    count = len(vertices)
    return Faces(source, vertices, np.arange(count), np.arange(0, count + 1, 3), lines)
