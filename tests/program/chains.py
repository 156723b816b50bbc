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
