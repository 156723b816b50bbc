"""Arms whose numbers of base parameters are known, with and without rotors, in general geometry otherwise."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from armdyn import Robot
from arms import cloud, fraction

H = "pi/2"
# Per joint: kind, a, alpha, d; theta is 0. Lengths are symbols, "0" is zero. Standard DH but for MODIFIED.
TABLES: dict[str, list[tuple[str, str, Any, str]]] = {
    "planar 2R, gravity in the plane": [("revolute", "a1", 0, "0"), ("revolute", "a2", 0, "0")],
    "planar 2R, no gravity": [("revolute", "a1", 0, "0"), ("revolute", "a2", 0, "0")],
    "PUMA 560": [
        ("revolute", "0", H, "0"),
        ("revolute", "a2", 0, "0"),
        ("revolute", "a3", "-pi/2", "d3"),
        ("revolute", "0", H, "d4"),
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", 0, "0"),
    ],
    "UR5": [
        ("revolute", "0", H, "d1"),
        ("revolute", "a2", 0, "0"),
        ("revolute", "a3", 0, "0"),
        ("revolute", "0", H, "d4"),
        ("revolute", "0", "-pi/2", "d5"),
        ("revolute", "0", 0, "d6"),
    ],
    "Stanford RRPRRR": [
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", H, "d2"),
        ("prismatic", "0", 0, "0"),
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", H, "0"),
        ("revolute", "0", 0, "0"),
    ],
    "iiwa / LWR 7R": [
        ("revolute", "0", H, "0"),
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", "-pi/2", "d3"),
        ("revolute", "0", H, "0"),
        ("revolute", "0", H, "d5"),
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", 0, "0"),
    ],
    "Panda 7R": [
        ("revolute", "0", 0, "d1"),
        ("revolute", "0", "-pi/2", "0"),
        ("revolute", "0", H, "d3"),
        ("revolute", "a4", H, "0"),
        ("revolute", "-a4", "-pi/2", "d5"),
        ("revolute", "0", H, "0"),
        ("revolute", "a7", H, "0"),
    ],
    "SCARA RRPR": [
        ("revolute", "a1", 0, "0"),
        ("revolute", "a2", 0, "0"),
        ("prismatic", "0", 0, "0"),
        ("revolute", "0", 0, "0"),
    ],
    "Cartesian PPP": [
        ("prismatic", "0", "-pi/2", "0"),
        ("prismatic", "0", "-pi/2", "0"),  # theta -pi/2: the third axis is across both
        ("prismatic", "0", 0, "0"),
    ],
}
THETA = {("Cartesian PPP", 1): "-pi/2"}
MODIFIED = ("Panda 7R",)
GRAVITY = {"planar 2R, gravity in the plane": [0, "-g", 0], "planar 2R, no gravity": [0, 0, 0]}
ROTORS = ("none", "reflected", "parallel", "turned")  # the columns of the table of counts
AXES = (
    *([0, 0, 1], ["2/3", "-1/3", "2/3"], ["6/7", "2/7", "-3/7"], ["-4/9", "8/9", "1/9"]),
    *(["2/11", "6/11", "9/11"], ["12/13", "-4/13", "3/13"], ["-2/15", "5/15", "14/15"]),
)
TURNED = ["2/7", "3/7", "6/7"]  # a unit vector in no special direction


def known_arm(name: str, rotors: str) -> Robot:
    """An arm of the table of counts; rotor i sits on link i − 1, axis along the joint or turned."""
    if name.startswith("generic"):
        return _generic(int(name.split()[1].removesuffix("R")), rotors)
    rng = random.Random(name)
    symbols: dict[str, Any] = {"g": 9.81}
    links = []
    for i, (joint, a, alpha, d) in enumerate(TABLES[name]):
        for length in {a.removeprefix("-"), d} - {"0"}:
            symbols.setdefault(length, float(fraction(rng, 0.2, 0.7)))
        link = {"name": f"link {i + 1}", "joint": joint, "a": a, "alpha": alpha, "d": d}
        link["theta"] = THETA.get((name, i), 0)
        links.append(link | cloud(rng) | _motor(symbols, i, rotors))
    convention = "mdh" if name in MODIFIED else "dh"
    return _robot(name, convention, GRAVITY.get(name, [0, 0, "-g"]), rotors, symbols, links)


def _generic(n: int, rotors: str) -> Robot:
    """Axes and lengths in no special position, but for the first axis, which is vertical."""
    rng = random.Random(n)
    symbols: dict[str, Any] = {"g": 9.81}
    links = []
    for i in range(n):
        axis = AXES[i]
        origin = {"xyz": [fraction(rng, 0.1, 0.6) for _ in range(3)], "rpy": [0, 0, 0]}
        link = {"name": f"link {i + 1}", "joint": "revolute", "origin": origin, "axis": axis}
        links.append(link | cloud(rng) | _motor(symbols, i, rotors))
    return _robot(f"generic {n}R", "frames", [0, 0, "-g"], rotors, symbols, links)


def _motor(symbols: dict[str, Any], i: int, rotors: str) -> dict[str, Any]:
    if rotors == "none":
        return {}
    symbols[f"k{i + 1}"] = 50 + 7 * i
    motor: dict[str, Any] = {"gear": f"k{i + 1}", "inertia": Fraction(1 + i, 1000)}
    return {"motor": motor | ({"axis": TURNED} if rotors == "turned" else {})}


def _robot(name: str, convention: str, gravity: Any, rotors: str, symbols: Any, links: Any) -> Robot:
    model = {"parallel": "exact", "turned": "exact"}.get(rotors, rotors)
    table = {"name": name, "convention": convention, "gravity": gravity, "rotors": model}
    return Robot.from_dict({**table, "symbols": symbols, "link": links})
