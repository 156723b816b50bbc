"""URDF texts: a random tree in its grammar, then spoiled by numbers, attributes, elements or bytes."""

from __future__ import annotations

import copy
import random
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np

import armdyn
from armdyn import ArmdynError, PhysicsWarning, Robot

KINDS = ("revolute", "revolute", "continuous", "prismatic", "fixed", "floating")
WORDS = (
    "0", "-1", "1e-300", "1e300", "1e400", "nan", "inf", "-inf", "", " ", "x", "0x10", "1_0", "1,5", "1 2 3",
    "0 0 0", "1.5708", "1e-17 0 1", "${a}", "$(find b)", "&#0;", "9" * 500, "base", "l1", "l2", "j1", "j2",
    "revolute", "planar", "1e-320", "5e-324 0 0", "-0", "+.5", "1.", "\u202e", "3.14159 -1.57 0.7854",
)  # fmt: skip
HEADS = (
    "", "", "", "<?xml version='1.0'?>", "\n<?xml version='1.0'?>", "<!DOCTYPE robot>",
    "<!DOCTYPE r [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>", "<!DOCTYPE r SYSTEM 'file:///dev/zero'>",
    "<?xml version='1.0' encoding='latin-1'?>", "<?xml version='1.0' encoding='utf-7'?>", "\ufeff",
)  # fmt: skip


def _numbers(rng: random.Random, count: int, size: float = 1.0) -> str:
    return " ".join(f"{rng.uniform(-size, size):.{rng.randint(1, 6)}g}" for _ in range(count))


def _element(parent: ElementTree.Element, tag: str, **attributes: str) -> ElementTree.Element:
    return ElementTree.SubElement(parent, tag, attributes)


def _link(rng: random.Random, robot: ElementTree.Element, name: str) -> None:
    link = _element(robot, "link", name=name)
    if rng.random() < 0.1:
        return
    inertial = _element(link, "inertial")
    _element(inertial, "origin", xyz=_numbers(rng, 3, 0.2), rpy=_numbers(rng, 3, 3))
    _element(inertial, "mass", value=f"{rng.choice((0.001, 0.5, 20)) * rng.uniform(0.5, 2):.6g}")
    points = np.array([[rng.gauss(0, 1) for _ in range(3)] for _ in range(4)]) * 10.0 ** rng.randint(-4, 0)
    S = points.T @ points
    I = np.trace(S) * np.eye(3) - S
    if rng.random() < 0.1:
        I[rng.randrange(3), rng.randrange(3)] *= rng.choice((-1, 5, 0))
    keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
    entries = {key: f"{x:.9g}" for key, x in zip(keys, I[np.triu_indices(3)], strict=True)}
    _element(inertial, "inertia", **entries)


def _joint(rng: random.Random, robot: ElementTree.Element, i: int) -> None:
    joint = _element(robot, "joint", name=f"j{i}", type=rng.choice(KINDS[: rng.choice((5, 5, 5, 6))]))
    _element(joint, "parent", link=f"l{rng.randint(max(0, i - 3), i - 1)}")
    _element(joint, "child", link=f"l{i}")
    _element(
        joint,
        "origin",
        xyz=_numbers(rng, 3),
        rpy=rng.choice((_numbers(rng, 3, 3), "0 0 0", "1.5708 0 -3.14")),
    )
    _element(joint, "axis", xyz=rng.choice(("0 0 1", "0 -1 0", "0.7071 0.7071 0", _numbers(rng, 3))))
    _element(joint, "limit", lower="-2", upper="2", effort=rng.choice(("0", "50")), velocity="3")
    if rng.random() < 0.3:
        _element(joint, "dynamics", damping="0.1", friction=rng.choice(("0", "0.2")))
    if rng.random() < 0.15 and i > 1:
        _element(joint, "mimic", joint=f"j{rng.randint(1, i)}", multiplier=rng.choice(("-1", "0.5", "0")))


def _transmission(rng: random.Random, robot: ElementTree.Element, i: int) -> None:
    transmission = _element(robot, "transmission", name=f"t{i}")
    _element(transmission, "joint", name=f"j{i}")
    actuator = _element(transmission, "actuator", name=f"m{i}")
    _element(actuator, "mechanicalReduction").text = rng.choice(("1", "-100", "0", "3.5"))
    _element(actuator, "rotor_inertia").text = rng.choice(("1e-4", "0", "-1e-5"))


def document(rng: random.Random) -> ElementTree.Element:
    """A tree of one to eight links."""
    robot = ElementTree.Element("robot", {"name": "r"})
    count = rng.randint(1, 8)
    _link(rng, robot, "l0")
    for i in range(1, count + 1):
        _link(rng, robot, f"l{i}")
        _joint(rng, robot, i)
        if rng.random() < 0.15:
            _transmission(rng, robot, i)
    return robot


def spoil_tree(rng: random.Random, robot: ElementTree.Element) -> None:
    """One change of the document as a tree."""
    parents = [element for element in robot.iter() if len(element)]
    parent = rng.choice(parents)
    i = rng.randrange(len(parent))
    child = parent[i]
    kind = rng.randrange(6)
    if kind == 0:
        parent.remove(child)
    elif kind == 1:
        parent.insert(rng.randint(0, len(parent)), child)  # twice
    elif kind == 2:
        rng.choice(parents).append(copy.deepcopy(child))
    elif kind == 3 and child.attrib:
        del child.attrib[rng.choice(sorted(child.attrib))]
    elif kind == 4:
        child.tag = rng.choice(
            ("link", "joint", "inertial", "mimic", "origin", "xacro:x", "gazebo", "loop_joint")
        )
    elif child.attrib:
        child.attrib[rng.choice(sorted(child.attrib))] = rng.choice(WORDS)


def spoil_bytes(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(data))
        j = min(len(data), i + rng.choice((1, 1, 2, 30)))
        new = (bytes([rng.randrange(256)]), b"", data[i:j] * 2, b"<", b"-", b"e", b"&#x110000;", b"</link>")
        data = data[:i] + rng.choice(new) + data[j:]
    return data


def urdf_case(number: int) -> str:
    rng = random.Random(f"urdf {number}")
    robot = document(rng)
    whole = rng.random() < 0.2
    for _ in range(0 if whole else rng.choice((0, 1, 1, 2, 4))):
        spoil_tree(rng, robot)
    if len(list(robot.iter())) > 5000:
        return "refused"
    text = ElementTree.tostring(robot, "unicode").replace("><", ">\n<")
    data = text.encode("utf-8", "surrogatepass")
    if not whole:
        data = rng.choice(HEADS).encode() + data
        data = spoil_bytes(rng, data) if rng.random() < 0.3 else data
    options = {"repair": rng.random() < 0.3, "snap": rng.random() < 0.3}
    if rng.random() < 0.2:
        options["tip"] = f"l{rng.randint(0, 4)}"
    if rng.random() < 0.1:
        options["lock"] = {rng.choice(("j1", "l2")): rng.choice((0, 0.5, "pi/3", "x", None))}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        path = Path(folder) / "robot.urdf"
        path.write_bytes(data)
        loaded = Robot.load(path, **options)
        physics = any(w.category is PhysicsWarning for w in told)
    return _checked(loaded, physics, rng)


def _checked(robot: Robot, warned: bool, rng: random.Random) -> str:
    """A robot that was not warned of moves as matter does."""
    hash(robot)
    try:
        with armdyn.backend("evaluator"):
            q = np.array([rng.uniform(-2, 2) for _ in range(robot.n)])
            B, g = robot.inertia(q), robot.gravity(q)
    except ArmdynError:
        return "refused"
    if warned:
        return "accepted"
    if not (np.isfinite(B).all() and np.isfinite(g).all()):
        return f"impossible body: numbers that are not finite: {B}, {g}"
    scale = 1 / np.sqrt(np.abs(np.diag(B)))
    values = np.linalg.eigvalsh(B * np.outer(scale, scale))
    return "accepted" if values[0] > -1e-9 else f"impossible body: {values}"
