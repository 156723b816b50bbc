"""Tables { xyz, rpy }."""

from __future__ import annotations

from armdyn.description import dh
from armdyn.description.reader import Reader
from armdyn.model.parts import Transform


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
