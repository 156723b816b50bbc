"""Chains of any length."""

import numpy as np

from armdyn import Robot


def chain(n, seed=0):
    """n revolute joints, nothing zero."""
    rng = np.random.default_rng(seed)

    def number(low, high):
        return round(float(rng.uniform(low, high)), 3)

    links = [
        {
            "name": f"link {i}",
            "joint": "revolute",
            "a": number(0.1, 0.5),
            "alpha": number(0.3, 1.3),
            "d": number(0.1, 0.3),
            "theta": 0,
            "mass": number(1, 3),
            "com": [number(-0.2, 0.2) for _ in range(3)],
            "inertia": {key: number(0.01, 0.02) for key in ("xy", "xz", "yz")}
            | {key: number(0.1, 0.2) for key in ("xx", "yy", "zz")},
        }
        for i in range(n)
    ]
    return Robot.from_dict(
        {"name": f"chain {n}", "convention": "dh", "gravity": [1, 2, -9.81], "link": links}
    )


def plain_chain(n):
    """n revolute joints about x, y and z, with quarter turns between them; all offsets and bodies differ."""
    rng = np.random.default_rng(1)
    axes = ([0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1])
    turns = (["pi/2", 0, 0], [0, 0, 0], [0, "-pi/2", 0], [0, 0, "pi/2"], [0, 0, 0])

    def numbers(low, high, count=3):
        return [round(float(x), 3) for x in rng.uniform(low, high, count)]

    links = []
    for i in range(n):
        moments = [*numbers(0.1, 0.12), *numbers(0.01, 0.02)]
        tensor = dict(zip(("xx", "yy", "zz", "xy", "xz", "yz"), moments, strict=True))
        place = {"axis": axes[i % 5], "origin": {"xyz": numbers(0.1, 0.3), "rpy": turns[i % 5]}}
        body = {"mass": 1.5, "com": numbers(0.05, 0.1), "inertia": tensor}
        links.append({"name": f"link {i}", "joint": "revolute", **place, **body})
    table = {"name": f"chain {n}", "convention": "frames", "gravity": [0, 0, -9.81], "link": links}
    return Robot.from_dict(table)
