"""The arms of the benchmarks: no friction, reflected rotors (armature), so that every peer can have them."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from armdyn import Robot

# Period 5: what a joint costs does not depend on where in the chain it is.
_AXES = ([0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])
_TURNS = (["pi/2", 0, 0], [0, 0, 0], [0, "-pi/2", 0], [0, 0, "pi/2"], [0, 0, 0])


def arm(name: str) -> Robot:
    """A bundled robot by name, or "chain30": a generated one of 30 joints."""
    if name.startswith("chain"):
        return chain(int(name.removeprefix("chain")))
    return Robot.load(name).with_rotors("reflected")


def chain(n: int) -> Robot:
    """n revolute joints about mixed axes; all offsets, moments and tensor entries different from zero."""
    rng = random.Random(3)
    links = [_link(rng, i) for i in range(n)]
    return Robot.from_dict(
        {"name": f"chain of {n}", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}
    )


def dual_arm(joints: int = 7) -> Robot:
    """Two arms on a torso that turns: the first link of `chain` and twice the next ones, as branches."""
    links = [{**_link(random.Random(3), 0), "name": "torso", "parent": "base"}]
    for side in ("left", "right"):
        rng, parent = random.Random(side), "torso"
        for i in range(1, joints + 1):
            name = f"{side} {i}"
            links.append({**_link(rng, i), "name": name, "parent": parent})
            parent = name
    name = f"dual arm of 1 + 2 times {joints}"
    return Robot.from_dict({"name": name, "convention": "frames", "gravity": [0, 0, -9.81], "link": links})


def _link(rng: random.Random, i: int) -> dict[str, Any]:
    def number(low: float, high: float) -> float:
        return round(rng.uniform(low, high), 4)

    points = np.array([[number(-0.2, 0.2) for _ in range(3)] for _ in range(5)])  # a cloud: a possible tensor
    points -= points.mean(axis=0)
    mass = number(1, 4)
    tensor = mass / 5 * (np.sum(points**2) * np.eye(3) - points.T @ points)
    keys = {"xx": (0, 0), "xy": (0, 1), "xz": (0, 2), "yy": (1, 1), "yz": (1, 2), "zz": (2, 2)}
    return {
        "name": f"link {i + 1}",
        "joint": "revolute",
        "origin": {"xyz": [number(0.05, 0.3) for _ in range(3)], "rpy": _TURNS[i % 5]},
        "axis": _AXES[i % 5],
        "mass": mass,
        "com": [number(-0.1, 0.1) for _ in range(3)],
        "inertia": {key: round(float(tensor[at]), 6) for key, at in keys.items()},
    }


def states(robot: Robot, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, q̇ and q̈ (or τ), (rows, n) each."""
    rng = np.random.default_rng(7)
    q, qd, qdd = (rng.uniform(-limit, limit, (rows, robot.n)) for limit in (3.0, 2.0, 5.0))
    return q, qd, qdd
