"""MJCF texts: a random document in its grammar, then spoiled by numbers, attributes, elements or bytes."""

from __future__ import annotations

import copy
import random
import xml.etree.ElementTree as ElementTree

from fuzz.xml_files import WORDS, read_case
from random_mjcf import document

TAGS = (
    "body", "joint", "freejoint", "geom", "inertial", "frame", "replicate", "composite", "flexcomp",
    "include", "attach", "plugin", "default", "site", "equality", "weld", "connect", "tendon", "spatial",
    "fixed", "motor", "muscle", "option", "compiler", "flag", "keyframe", "size", "worldbody", "mujoco",
    "damper", "lengthrange",
)  # fmt: skip
ATTRIBUTES = (
    "type", "pos", "quat", "axis", "range", "ref", "stiffness", "springref", "gravcomp", "armature",
    "class", "childclass", "mass", "diaginertia", "fullinertia", "size", "fromto", "gear", "joint",
    "joint1", "polycoef", "count", "offset", "file", "density", "viscosity", "inertiafromgeom",
    "settotalmass", "balanceinertia", "boundmass", "eulerseq", "angle", "coordinate", "mocap",
    "fluidshape", "tendon", "site", "njmax", "memory", "springdamper", "limited", "actuatorfrcrange",
    "forcerange", "group", "inertiagrouprange", "shellinertia", "springlength", "anchor", "relpose",
    "torquescale", "body1", "body2", "site1", "site2", "active",
)  # fmt: skip
VALUES = (
    *WORDS, "ball", "free", "slide", "mesh", "hfield", "sdf", "plane", "true", "false", "auto",
    "1000000000", "world", "b0", "b1", "1 1 1", "1 1 5", "-1 -1 -1", "0 0 0 0", "1 0 0 0", "xyzzy",
    "main", "a", "2", "3", "robot.xml", "../robot.xml", "/etc/passwd", "ellipsoid", "0 5", "1 2 3 4 5 6",
    "0.1 1 0 0 0", "0 1 1 0 0", "1e200 1e200 0 0", "1e-200 0 1e-200", "0 1e154 0 0", "inf 0 0",
    "1e160 1 0 0 1e160 0", "1e-17 1e-17 1e-17 1e-17", ".", "/dev/zero", "pipe.xml",
)  # fmt: skip


def spoil_tree(rng: random.Random, root: ElementTree.Element) -> None:
    """One change of the document as a tree."""
    parents = [element for element in root.iter() if len(element)]
    parent = rng.choice(parents)
    child = parent[rng.randrange(len(parent))]
    kind = rng.randrange(7)
    if kind == 0:
        parent.remove(child)
    elif kind == 1:
        rng.choice(parents).append(copy.deepcopy(child))
    elif kind == 2 and child.attrib:
        del child.attrib[rng.choice(sorted(child.attrib))]
    elif kind == 3:
        child.tag = rng.choice(TAGS)
    elif kind == 4:
        ElementTree.SubElement(parent, rng.choice(TAGS), {rng.choice(ATTRIBUTES): rng.choice(VALUES)})
    elif kind == 5:
        child.attrib[rng.choice(ATTRIBUTES)] = rng.choice(VALUES)
    elif child.attrib:
        child.attrib[rng.choice(sorted(child.attrib))] = rng.choice(VALUES)


def mjcf_case(number: int) -> str:
    rng = random.Random(f"mjcf {number}")
    return read_case(rng, document(rng), spoil_tree, "robot.xml", "b", spoiled_bytes=0.2)
