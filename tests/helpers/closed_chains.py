"""Robots with loops for the tests: a four-bar, a five-bar, and random spatial closed chains.

A random loop is a random tree at a random posture, with a frame on each of two links where they meet there.
So one closed posture is known. Bodies, motors, friction and springs are those of `arms.py`.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from armdyn import Robot
from armdyn.robot.assembly import LoopError
from arms import Part, _link, fraction, point, unit_vector

ROWS = {"revolute": 5, "spherical": 3, "fixed": 6}


def bar(name: str, parent: str, length: float, x: float, **more: Any) -> dict[str, Any]:
    """A bar along x that turns about z, with a full tensor; `more` are further keys of its link."""
    inertia = {"xx": 0.01, "yy": 0.05 * length, "zz": 0.05 * length + 0.005}
    inertia |= {"xy": 0.002, "xz": 0.001, "yz": -0.001}
    return {
        "name": name,
        "parent": parent,
        "joint": "revolute",
        "origin": {"xyz": [x, 0, 0], "rpy": [0, 0, 0]},
        "axis": [0, 0, 1],
        "mass": 2 * length,
        "com": [length / 2, 0.02, 0.01],
        "inertia": inertia,
        **more,
    }


def four_bar_table(**crank: Any) -> dict[str, Any]:
    """Crank 0.3, coupler 0.9, rocker 0.7, ground 1.0 m; the crank turns all the way round."""
    return {
        "name": "four-bar",
        "convention": "frames",
        "gravity": [0, -9.81, 0],
        "link": [
            bar("crank", "base", 0.3, 0, guess=1.0, **crank),
            bar("coupler", "crank", 0.9, 0.3, guess=-0.5, actuated=False),
            bar("rocker", "base", 0.7, 1.0, guess=2.0, actuated=False),
        ],
        "closure": [
            {
                "between": ["coupler", "rocker"],
                "at": [{"xyz": [0.9, 0, 0]}, {"xyz": [0.7, 0, 0]}],
                "joint": "revolute",
            }
        ],
        "tip": "coupler",
    }


def four_bar(**crank: Any) -> Robot:
    """`crank`: further keys of the driven link."""
    return Robot.from_dict(four_bar_table(**crank))


def five_bar_table(**driven: Any) -> dict[str, Any]:
    """Two driven arms of 0.4 m, 0.3 m apart, whose forearms of 0.5 m meet; the tip is where they meet."""
    return {
        "name": "five-bar",
        "convention": "frames",
        "gravity": [0, -9.81, 0],
        "link": [
            bar("left arm", "base", 0.4, 0, guess=2.2, **driven),
            bar("left forearm", "left arm", 0.5, 0.4, guess=-1.0, actuated=False),
            bar("right arm", "base", 0.4, 0.3, guess=0.9, **driven),
            bar("right forearm", "right arm", 0.5, 0.4, guess=1.0, actuated=False),
        ],
        "closure": [
            {
                "between": ["left forearm", "right forearm"],
                "at": [{"xyz": [0.5, 0, 0]}, {"xyz": [0.5, 0, 0]}],
                "joint": "revolute",
            }
        ],
        "tip": "left forearm",
        "tool": {"xyz": [0.5, 0, 0]},
    }


def five_bar(**driven: Any) -> Robot:
    """`driven`: further keys of both driven links."""
    return Robot.from_dict(five_bar_table(**driven))


# ---- random ------------------------------------------------------------------------------------------------


def random_loop(seed: int, n: int = 2, friction: bool = True, motors: bool = True) -> Robot:
    """A random spatial closed chain with n coordinates; its guess is a posture that closes it.

    Drawn again where that posture is nearly singular: differences there are not accurate.
    """
    while True:
        robot = Robot.from_dict(random_loop_table(seed, n, friction, motors))
        if np.abs(robot.assembly.rates(reference(robot))).max() < 5:
            return robot
        seed += 1000


def random_loop_table(seed: int, n: int = 2, friction: bool = True, motors: bool = True) -> dict[str, Any]:
    """The same as the table of a robot file."""
    rng = random.Random(seed)
    kind = rng.choice(list(ROWS))
    table, posture = _tree(rng, ROWS[kind] + n, n, friction, motors)
    driven = [{key: x for key, x in link.items() if key != "actuated"} for link in table["link"]]
    tree = Robot.from_dict(table | {"tip": "a end", "link": driven})  # nothing closes the passive joints yet
    T_a, T_b = (tree.pose(posture, link) for link in ("a end", "b end"))
    F_a = _transform(point(rng), _rotation(rng))
    turned = _rotation(rng) if kind == "spherical" else np.eye(3)
    if kind == "revolute":
        angle = rng.uniform(-3, 3)
        turned = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    F_b = np.linalg.inv(T_b) @ T_a @ F_a @ _transform((0, 0, 0), turned)
    frames = [{"xyz": F[:3, 3].tolist(), "rpy": _rpy(F[:3, :3])} for F in (F_a, F_b)]
    table["closure"] = [{"between": ["a end", "b end"], "at": frames, "joint": kind}]
    moving = [link for link in table["link"] if link["joint"] != "fixed"]
    for link, y in zip(moving, posture, strict=True):
        link["guess"] = float(y)
    return table


def _tree(
    rng: random.Random, joints: int, n: int, friction: bool, motors: bool
) -> tuple[dict[str, Any], np.ndarray]:
    """A trunk of one joint or none, two branches on it, a plate at the end of each; and a posture."""
    trunk = rng.random() < 0.5
    names = ["trunk"] if trunk else []
    count = joints - len(names)
    split = rng.randint(2, count - 1)
    branches = {"a": split, "b": count - split}
    plan = [("trunk", "base", "revolute")] if trunk else []
    root = "trunk" if trunk else "base"
    for side, size in branches.items():
        parent = root
        for i in range(size):
            joint = "prismatic" if i and rng.random() < 0.15 else "revolute"
            plan.append((f"{side} {i + 1}", parent, joint))
            parent = f"{side} {i + 1}"
        plan.append((f"{side} end", parent, "fixed"))
    moving = [name for name, _, joint in plan if joint != "fixed"]
    driven = [moving[0], *rng.sample(moving[1:], n - 1)]
    links = []
    for name, parent, joint in plan:
        wants = motors and name in driven
        carrier = rng.choice(["base", parent, *moving]) if wants and rng.random() < 0.8 else None
        others = [x for x in moving if x != name]
        coupled = tuple(rng.sample(others, 1)) if carrier and rng.random() < 0.4 else ()
        part = Part(name, parent, joint, carrier, coupled, friction and rng.random() < 0.6)
        origin = {"xyz": point(rng), "rpy": [fraction(rng, -1.5, 1.5, 10) for _ in range(3)]}
        link = _link(rng, part, origin, unit_vector(rng))
        if joint != "fixed" and name not in driven:
            link["actuated"] = False
            if rng.random() < 0.3:
                link["spring"] = {"stiffness": fraction(rng, 1, 20), "rest": fraction(rng, -1, 1)}
        links.append(link)
    table = {
        "name": "random loop",
        "convention": "frames",
        "gravity": [fraction(rng, -10, 10) for _ in range(3)],
        "rotors": "exact",
        "tip": rng.choice([name for name, _, _ in plan]),
        "tool": {"xyz": point(rng), "rpy": [fraction(rng, -1.5, 1.5, 10) for _ in range(3)]},
        "link": links,
    }
    return table, np.array([rng.uniform(-1.5, 1.5) for _ in moving])


def _rotation(rng: random.Random) -> np.ndarray:
    quaternion = np.array([rng.gauss(0, 1) for _ in range(4)])
    w, x, y, z = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def _transform(p: Any, R: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, [float(x) for x in p]
    return T


def _rpy(R: np.ndarray) -> list[float]:
    pitch = np.arctan2(-R[2, 0], np.hypot(R[0, 0], R[1, 0]))
    return [float(np.arctan2(R[2, 1], R[2, 2])), float(pitch), float(np.arctan2(R[1, 0], R[0, 0]))]


def reference(robot: Robot) -> np.ndarray:
    """The coordinates (n,) of the closed posture that the robot begins with."""
    choice = robot.model.choice
    assert choice is not None
    return np.array(choice.posture)[list(choice.free)]


def closed_states(
    robot: Robot, rng: np.random.Generator, rows: int = 4, reach: float = 0.15
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇, q̈ (rows, n) near the first posture, where loops close and no speed is near zero."""
    found, steep = [], 6.0
    while len(found) < rows:
        q = reference(robot) + rng.uniform(-reach, reach, robot.n)
        try:
            S = robot.assembly.rates(q)
        except LoopError:
            reach *= 0.9
            continue
        if np.abs(S).max() < steep:  # away from singular postures
            found.append(q)
        reach, steep = 0.99 * reach, 1.02 * steep
    q = np.array(found)
    qd = rng.uniform(0.2, 1, q.shape) * rng.choice([-1, 1], q.shape)
    return q, qd, rng.uniform(-3, 3, q.shape)
