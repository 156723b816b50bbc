"""What the fuzzers of URDF and MJCF share: odd words and heads, spoiled bytes, reading and checking."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np

import armdyn
from armdyn import ArmdynError, PhysicsWarning, Robot

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
Spoil = Callable[[random.Random, ElementTree.Element], None]
_MOST_ELEMENTS = 5000  # spoiling can double a document again and again


def spoil_bytes(rng: random.Random, data: bytes) -> bytes:
    for _ in range(rng.randint(1, 3)):
        i = rng.randrange(len(data))
        j = min(len(data), i + rng.choice((1, 1, 2, 30)))
        new = (bytes([rng.randrange(256)]), b"", data[i:j] * 2, b"<", b"-", b"e", b"&#x110000;", b"</link>")
        data = data[:i] + rng.choice(new) + data[j:]
    return data


def read_case(
    rng: random.Random, root: ElementTree.Element, spoil: Spoil, name: str, link: str, spoiled_bytes: float
) -> str:
    """Spoil a document, write it to a file of this name and read it, some with options.

    `link` begins the names of its links; a share `spoiled_bytes` is spoiled as bytes, too.
    """
    whole = rng.random() < 0.2
    for _ in range(0 if whole else rng.choice((0, 1, 1, 2, 4))):
        spoil(rng, root)
    if len(list(root.iter())) > _MOST_ELEMENTS:
        return "refused"
    data = ElementTree.tostring(root, "unicode").replace("><", ">\n<").encode("utf-8", "surrogatepass")
    if not whole:
        data = rng.choice(HEADS).encode() + data
        data = spoil_bytes(rng, data) if rng.random() < spoiled_bytes else data
    options = {"repair": rng.random() < 0.3, "snap": rng.random() < 0.3}
    if rng.random() < 0.2:
        options["tip"] = f"{link}{rng.randint(0, 4)}"
    if rng.random() < 0.1:
        options["lock"] = {rng.choice(("j1", f"{link}2")): rng.choice((0, 0.5, "pi/3", "x", None))}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        path = Path(folder) / name
        path.write_bytes(data)
        os.mkfifo(path.with_name("pipe.xml"))
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
