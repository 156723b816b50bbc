"""Poses: tables { xyz, rpy }, a position, or a 4×4 matrix."""

from __future__ import annotations

from collections.abc import Mapping

from armdyn.description import dh
from armdyn.description.reader import Reader, Symbols
from armdyn.expression import shown
from armdyn.model.arguments import plain
from armdyn.model.parts import Transform
from armdyn.model.vector import IDENTITY


def read_pose(reader: Reader, required: bool = False) -> Transform:
    """xyz, and the orientation: rpy, or a rotation by its matrix where angles would not be exact."""
    xyz = reader.vector("xyz") if required else reader.vector("xyz", [0, 0, 0])
    rpy = reader.vector("rpy", [0, 0, 0])
    T = dh.frame(xyz, rpy)
    if "rotation" in reader:
        if "rpy" in reader:
            reader.fail("rotation", "given beside rpy; one of them is allowed")
        T = Transform(reader.rotation("rotation"), xyz)
    reader.asked.add("rotation")
    reader.finish()
    return T


def read_place(value: object, source: str, name: str, symbols: Symbols) -> Transform:
    """A pose from what a caller gives: a table { xyz, rpy }, [x, y, z], or a 4×4 matrix as `pose` returns it.

    The matrix has to be a rigid transform, up to rounding: 1e-9 in R Rᵀ and in its last row.
    """
    if isinstance(value, Mapping):
        return read_pose(Reader(value, source, name, symbols))
    given = plain(value)
    rows = [plain(row) for row in given] if isinstance(given, (list, tuple)) else []
    sizes = [len(row) if isinstance(row, (list, tuple)) else 0 for row in rows]
    if sizes == [4, 4, 4, 4]:
        R, p = [[*row[:3]] for row in rows[:3]], [row[3] for row in rows[:3]]
        reader = Reader({"xyz": p, "rotation": R, "last": rows[3]}, source, name, symbols)
        last = [x.value(reader.values) for x in reader.numbers("last", 4)]
        if max(abs(x - y) for x, y in zip(last, (0, 0, 0, 1), strict=True)) > 1e-9:
            reader.fail("", f"not a rigid transform: its last row is {shown(rows[3])}, not 0 0 0 1")
        return Transform(reader.rotation("rotation"), reader.vector("xyz"))
    reader = Reader({"xyz": rows}, source, name, symbols)
    if sizes != [0, 0, 0]:
        reader.fail("", f"expected {{xyz: …, rpy: …}}, [x, y, z] or a 4×4 matrix, found {shown(value)}")
    return Transform(IDENTITY, reader.vector("xyz"))
