"""mass, com and inertia of a link's table: by numbers, or by a mesh file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from armdyn.description.bodies.pose import read_pose
from armdyn.description.reader import Reader
from armdyn.expression import Expression
from armdyn.model.arguments import plain
from armdyn.model.errors import ModelError
from armdyn.model.inertia import TENSOR_KEYS, Inertia, Tensor, asymmetry, matrix_tensor, tensor
from armdyn.model.meshes.body import Shape, shape
from armdyn.model.vector import scale
from armdyn.output import one_line

_OF_MESH = ("mesh", "density", "scale", "origin")


@dataclass(frozen=True)
class Meshes:
    """Where the paths of meshes begin, and a note for each mesh read."""

    folder: Path = Path()
    notes: list[str] = field(default_factory=list)


def read_body(reader: Reader, meshes: Meshes) -> Inertia:
    """The body of a link: by a mesh where `inertia` names one, else by numbers."""
    raw = reader.raw("inertia", {})
    by_mesh = isinstance(raw, Mapping) and "mesh" in raw
    return _by_mesh(reader, meshes) if by_mesh else _by_numbers(reader)


def _by_numbers(reader: Reader) -> Inertia:
    """The body: mass, com and the tensor about it, or first moment and tensor about the frame's origin."""
    mass = reader.number("mass", 0)
    by_moment = "first_moment" in reader
    if by_moment and "com" in reader:
        reader.fail("first_moment", "given beside com; one of them is allowed")
    place = reader.vector("first_moment" if by_moment else "com", [0, 0, 0])
    reader.asked.update(("com", "first_moment"))
    nonzero = any(not Expression.of(x).is_zero for x in place)
    if mass.is_zero and nonzero and not by_moment:
        reader.fail("com", "given, but the mass is 0 or missing")
    about, entries = _tensor(reader)
    if by_moment and nonzero and about == "com":
        if mass.is_zero:
            reader.fail("inertia.about", 'without mass there is no centre of mass; allowed: "origin"')
        place = Inertia(mass, place).com
    elif by_moment:
        return Inertia(mass, place, entries)
    return (
        Inertia.at_com(mass, place, entries) if about == "com" else Inertia(mass, scale(mass, place), entries)
    )


def _tensor(reader: Reader) -> tuple[str, Tensor]:
    """What the tensor is about, and its entries: by name, as a symmetric 3×3 matrix or as six numbers."""
    raw = plain(reader.raw("inertia", {}))
    if isinstance(raw, (list, tuple)):
        if len(raw) == 6:
            return "com", tensor(reader.numbers("inertia", 6))
        M = reader.matrix("inertia")
        if found := asymmetry(M):
            reader.fail("inertia", f"expected a symmetric matrix, but {found}")
        return "com", matrix_tensor(M)
    table = reader.sub("inertia")
    about: str = table.choice("about", ("com", "origin"), "com")
    entries = tensor(table.number(key, 0) for key in TENSOR_KEYS)
    for key in _OF_MESH:
        if key in table:
            table.fail(key, "given without mesh, the path of an STL or OBJ file")
    table.asked.add("mesh")
    table.finish()
    return about, entries


def _by_mesh(reader: Reader, meshes: Meshes) -> Inertia:
    """inertia = { mesh, density, scale, origin }: the mesh gives com and tensor, and mass by its density."""
    table = reader.sub("inertia")
    reader.asked.update(("mass", "com", "first_moment"))
    for key in ("com", "first_moment"):
        if key in reader:
            reader.fail(key, "given beside inertia.mesh, which gives it")
    for key in ("about", *TENSOR_KEYS):
        if key in table:
            table.fail(key, f"given beside mesh, which gives it; allowed here: {', '.join(_OF_MESH)}")
    if ("density" in table) == ("mass" in reader):
        found = "found both" if "mass" in reader else "missing"
        table.fail("density", f"{found}; a mesh needs its density or the link's mass, one of them")
    density = table.number("density") if "density" in table else None
    mass = reader.number("mass") if "mass" in reader else None
    length = table.number("scale", 1)
    T = read_pose(table.sub("origin"))
    table.asked.add("density")
    name = table.text("mesh")
    table.finish()
    sources = ((table, "density", density), (reader, "mass", mass), (table, "scale", length))
    for where, key, x in sources:
        if x is not None and x.symbols() <= reader.values.keys() and x.value(reader.values) <= 0:
            where.fail(key, f"expected a positive number, found {x}")
    try:
        solid = shape(meshes.folder / name)
        body = solid.inertia(density, mass, length, T.R, T.p)
    except (ModelError, ValueError) as error:
        table.fail("mesh", str(error))
    meshes.notes.append(_note(reader.path, name, solid))
    return body


def _note(where: str, name: str, found: Shape) -> str:
    """What files that are written from the robot say: they have the numbers, not the mesh."""
    without = f"; {found.collapsed} faces have no area" if found.collapsed else ""
    size = f"{found.triangles} triangles{without}"
    return one_line(f"{where}: com and inertia were computed from the mesh '{name}' ({size})")
