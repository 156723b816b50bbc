"""Springs of a robot file: `spring` of a link, and every [[spring]] between points of two links."""

from __future__ import annotations

from armdyn.description.mechanisms.ends import read_between, two_ends
from armdyn.description.reader import Reader
from armdyn.model.springs import NO_SPRING, JointSpring, PointSpring
from armdyn.model.vector import Vector, vector


def read_joint_spring(reader: Reader) -> JointSpring:
    """{ stiffness, rest } of a link's table."""
    if "spring" not in reader:
        reader.asked.add("spring")
        return NO_SPRING
    table = reader.sub("spring")
    spring = JointSpring(table.number("stiffness"), table.number("rest", 0))
    table.finish()
    return spring


def read_springs(top: Reader) -> tuple[PointSpring, ...]:
    """Every [[spring]], in the order of the file."""
    entries = top.raw("spring", [])
    if not isinstance(entries, (list, tuple)):
        top.fail("spring", "expected one [[spring]] table per spring between points of two links")
    return tuple(
        _spring(Reader(entry, top.source, f"spring[{i + 1}]", top.symbols)) for i, entry in enumerate(entries)
    )


def _spring(reader: Reader) -> PointSpring:
    name = reader.text("name") if "name" in reader else ""
    between = read_between(reader)
    a, b = (_point(reader, i, end) for i, end in enumerate(two_ends(reader, "two points [x, y, z]")))
    if "stiffness" not in reader and "force" not in reader:
        reader.fail("", "neither stiffness nor force is given; at least one of them is needed")
    if "rest" in reader and "stiffness" not in reader:
        reader.fail("rest", "given without stiffness, to which it belongs")
    spring = PointSpring(
        between,
        (a, b),
        stiffness=reader.number("stiffness", 0),
        rest=reader.number("rest", 0),
        force=reader.number("force", 0),
        name=name,
    )
    reader.asked.add("name")
    reader.finish()
    return spring


def _point(reader: Reader, i: int, end: object) -> Vector:
    inner = Reader({f"at[{i}]": end}, reader.source, reader.path, reader.symbols)
    return vector(inner.numbers(f"at[{i}]", 3))
