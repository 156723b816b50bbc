"""URDF texts: a random tree in its grammar, then spoiled by numbers, attributes, elements or bytes."""

from __future__ import annotations

import copy
import random
import xml.etree.ElementTree as ElementTree

import numpy as np

from fuzz.xml_files import WORDS, read_case

KINDS = ("revolute", "revolute", "continuous", "prismatic", "fixed", "floating")


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


def urdf_case(number: int) -> str:
    rng = random.Random(f"urdf {number}")
    return read_case(rng, document(rng), spoil_tree, "robot.urdf", "l", spoiled_bytes=0.3)
