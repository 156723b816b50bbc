"""Every [[closure]]: a linear relation between joints, or a joint that closes a loop."""

from __future__ import annotations

from armdyn.description.bodies.pose import read_pose
from armdyn.description.mechanisms.ends import read_between, two_ends
from armdyn.description.reader import Reader
from armdyn.model.closures.loops import LOOP_JOINTS, Loop
from armdyn.model.closures.relations import Relation
from armdyn.model.parts import Transform

_EITHER = 'relation = { "link 3" = 1, "link 1" = -1 } or between = ["link 3", "link 5"]'


def read_closures(top: Reader) -> tuple[tuple[Relation, ...], tuple[Loop, ...]]:
    """The relations Σ c_j q_j = offset and the loops, each in the order of the file."""
    entries = top.raw("closure", [])
    if not isinstance(entries, (list, tuple)):
        top.fail("closure", "expected one [[closure]] table per relation or loop")
    relations, loops = [], []
    for i, entry in enumerate(entries):
        reader = Reader(entry, top.source, f"closure[{i + 1}]", top.symbols)
        if "relation" in reader and "between" in reader:
            reader.fail("between", "given beside relation; one of them is allowed")
        if "relation" in reader:
            relations.append(_relation(reader))
        elif "between" in reader:
            loops.append(_loop(reader))
        else:
            reader.fail("", f"neither relation nor between is given; one of them is needed: {_EITHER}")
        reader.finish()
    return tuple(relations), tuple(loops)


def _relation(reader: Reader) -> Relation:
    table = reader.sub("relation")
    coefficients = tuple((name, table.number(name)) for name in table.names())
    return Relation(coefficients, reader.number("offset", 0))


def _loop(reader: Reader) -> Loop:
    between = read_between(reader)
    joint = reader.choice("joint", LOOP_JOINTS)
    at = (Transform(), Transform())
    if "at" in reader:
        a, b = (
            read_pose(Reader(end, reader.source, f"{reader.path}.at[{i}]", reader.symbols))
            for i, end in enumerate(two_ends(reader, "two tables { xyz, rpy }"))
        )
        at = (a, b)
    reader.asked.add("at")
    return Loop(between, at, joint)
