"""Random robots of every kind that a robot file can hold, and those that are made from them.

`arms` has arms for the dynamics; here the description itself is what is random: conventions, symbols with
and without values, expressions, relations, base, names, limits, matrices, and bodies that no matter can form.
"""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model import Inertia, Relation, RobotModel, Transform
from arms import KEYS, Plan, cloud, plans, point, quietly, rational_transform, table_of

SYMBOLS: dict[str, Any] = {
    "g": 9.81,
    "L": Fraction(1, 3),
    "m": 2.5,
    "al": "pi/7",
    "w": "sqrt(2)/2",
    "h": 1e-05,
    "x": "free",
    "k": "free",
}
ANGLES = [
    0,
    "pi/2",
    "-pi/2",
    "pi",
    "pi/6",
    "-3*pi/4",
    "al",
    "al - pi/2",
    "x",
    "2*al + x",
    Fraction(3, 10),
    -1.25,
    "0.3*pi - 0.2",
    "cos(x) - pi/5",
]
LENGTHS = [0, 0.4318, "L", "2*L - h", "x/3", "w", "-L*w", Fraction(-1, 7), "abs(x)", "1/(1 + x)", "k**-2"]
NAMES = [
    'a "quoted" name',
    "back\\slash",
    "tab\there",
    "π – Gelenk",
    "[brackets] # and more",
    "a.b.c",
    "#",
    "new\nline",
]


def varied_table(plan: Plan) -> dict[str, Any]:
    """A plan as the table of a robot file, with everything that a robot file can say."""
    rng = random.Random(f"kinds {plan.seed}")
    table = table_of(plan)
    table["symbols"] = dict(SYMBOLS)
    table["convention"] = rng.choice(["frames", "frames", "dh", "mdh"])
    table["gravity"] = rng.choice([[0, 0, "-g"], ["g/3", 0.1, "x"], [0, 0, 0]])
    names = {part.name: f"{part.name} {rng.choice(NAMES)}" for part in plan.parts if rng.random() < 0.3}
    if rng.random() < 0.5:
        names["base"] = rng.choice(["world", "pedestal", 'the "floor"'])
        table["base"] = {"name": names["base"]}
    if rng.random() < 0.5:
        table.setdefault("base", {}).update(_pose(rng))
    if rng.random() < 0.5:
        table["tool"] = _pose(rng)
    for link in table["link"]:
        _vary_link(rng, link, table["convention"], names)
    table["tip"] = names.get(table["tip"], table["tip"])
    moving = [link["name"] for link in table["link"] if link["joint"] != "fixed"]
    if len(moving) > 1 and rng.random() < 0.5:
        table["closure"] = _closures(rng, moving)
    root = table.get("base", {}).get("name", "base")
    ends = [root, *(link["name"] for link in table["link"])]
    table["spring"] = [_spring(rng, ends, i) for i in range(rng.choice([0, 0, 1, 2]))]
    return table


def _spring(rng: random.Random, ends: list[str], i: int) -> dict[str, Any]:
    """A spring between points of two links."""
    at = [[rng.choice(LENGTHS) for _ in range(3)] for _ in range(2)]
    numbers = rng.choice(
        [{"stiffness": 3, "rest": "L"}, {"force": "-m"}, {"stiffness": "k**2", "rest": 0.1, "force": "x"}]
    )
    named = {"name": f"spring {i} {rng.choice(NAMES)}"} if rng.random() < 0.5 else {}
    return named | {"between": rng.sample(ends, 2), "at": at} | numbers


def _pose(rng: random.Random) -> dict[str, Any]:
    xyz = [rng.choice(LENGTHS) for _ in range(3)]
    if rng.random() < 0.3:
        R = rational_transform(rng).R
        return {"xyz": xyz, "rotation": [[str(x) for x in row] for row in R]}
    return {"xyz": xyz, "rpy": [rng.choice(ANGLES) for _ in range(3)]}


def _vary_link(rng: random.Random, link: dict[str, Any], convention: str, names: dict[str, str]) -> None:
    link |= {
        "name": names.get(link["name"], link["name"]),
        "parent": names.get(link["parent"], link["parent"]),
    }
    if rng.random() < 0.3:
        link["joint_name"] = f"joint of {link['name']}"
    if convention == "frames":
        link["origin"] = _pose(rng)
        if rng.random() < 0.2:
            link["after"] = _pose(rng)
    else:
        del link["origin"]
        link.pop("axis", None)
        link |= {"a": rng.choice(LENGTHS), "d": rng.choice(LENGTHS)}
        link |= {"alpha": rng.choice(ANGLES), "theta": rng.choice(ANGLES)}
    del link["com"]
    link |= _body(rng)
    motor = link.get("motor")
    if motor:
        motor["carrier"] = names.get(motor["carrier"], motor["carrier"])
        motor["coupling"] = {names.get(name, name): c for name, c in motor["coupling"].items()}
        motor |= {
            "gear": rng.choice([motor["gear"], "100*w", "-3*L"]),
            "torque_constant": rng.choice([1, 0.3, "L"]),
        }
        motor.setdefault("axis", rng.choice([[0, 0, 1], [1, 1, 0], [1, -2, 3], [0.6, 0, 0.8]]))
    if link["joint"] != "fixed":
        _vary_joint(rng, link)
    if link["joint"] != "fixed" and rng.random() < 0.5:
        limits = {
            "position": ["-pi/3", "3*L"],
            "velocity": 2.5,
            "acceleration": 10,
            "jerk": "1/7",
            "torque": "m",
        }
        link["limits"] = {key: x for key, x in limits.items() if rng.random() < 0.6}


def _vary_joint(rng: random.Random, link: dict[str, Any]) -> None:
    """Springs, elastic transmissions, passive joints, guesses."""
    if rng.random() < 0.3:
        link["spring"] = rng.choice(
            [{"stiffness": 3}, {"stiffness": "m", "rest": "-al"}, {"stiffness": "k**2"}]
        )
    if rng.random() < 0.3:
        link["guess"] = rng.choice(["pi/4", 0.3, "x", "-L"])
    if "motor" in link and rng.random() < 0.3:
        link["motor"] |= rng.choice([{"stiffness": 1e4}, {"stiffness": "m*k**2", "damping": "L"}])
        friction = link["motor"].get("friction", {})
        if isinstance(friction.get("coulomb"), list):  # a motor with a coordinate of its own takes one value
            friction["coulomb"] = friction["coulomb"][0]
    elif rng.random() < 0.2:
        link["actuated"] = False


def _body(rng: random.Random) -> dict[str, Any]:
    body = cloud(rng)
    if rng.random() < 0.3:
        return body
    scale = rng.choice(["m", "m/3", "(1 + m)", "m*k**2", "(m + x**2)"])
    inertia = {key: f"{scale}*({x})" for key, x in body["inertia"].items()}
    by_com = {
        "mass": f"{scale}*({body['mass']})",
        "com": [rng.choice(LENGTHS) for _ in range(3)],
        "inertia": inertia,
    }
    if rng.random() < 0.7:
        return by_com
    return {"mass": "x**2", "first_moment": ["x*L/50", "m/500", 0], "inertia": {"about": "origin", **inertia}}


def _closures(rng: random.Random, moving: list[str]) -> list[dict[str, Any]]:
    first, second, *rest = rng.sample(moving, len(moving))
    relations = [{"relation": {first: rng.choice([1, -2, "2 + w"]), second: rng.choice([1, "-L", "1/7"])}}]
    if rng.random() < 0.5:
        relations[0]["offset"] = rng.choice(["pi/4", 0.1, "L"])
    if len(rest) > 1 and rng.random() < 0.5:
        relations.append({"relation": {rest[0]: 1, rest[1]: -1, second: "x"}})
    return relations


# ---- robots made from them ---------------------------------------------------------------------------------


def changed(robot: Robot, seed: int) -> Robot:
    """A robot made from another, in one of the ways there are."""
    rng = random.Random(f"changed {seed}")
    way = rng.choice(
        ["given", "symbolic", "free", "payload", "symbol", "values", "identified", "model", "rotors"]
    )
    body = cloud(rng)
    link = rng.choice([None, *robot.model.index])
    match way:
        case "symbolic" | "free":
            return robot.symbolic("given" if way == "symbolic" else "free")
        case "payload" if link or robot.model.tip != robot.model.root:
            return robot.with_payload(body["mass"], body["com"], body["inertia"], link)
        case "symbol" if link or robot.model.tip != robot.model.root:
            tensor = {key: f"I{key}" for key in KEYS}
            return robot.with_payload("mp", ["px", 0, "pz"], tensor, link)
        case "values":
            return quietly(lambda: robot.with_symbols(L=rng.choice([0.25, "1/11"]), x="3*m", w=None))
        case "identified":
            return Robot(identified(robot.model, rng))
        case "model":
            return Robot(turned(robot.model, rng))
        case "rotors":
            return robot.with_rotors(rng.choice(["none", "reflected"]))
    return robot


def identified(model: RobotModel, rng: random.Random) -> RobotModel:
    """With bodies as identification finds them: any numbers, also first moments without mass."""

    def number() -> Expression:
        return Expression.of(round(rng.uniform(-1, 1), rng.choice([2, 16])))

    links = [replace(link, inertia=Inertia.of([number() for _ in range(10)])) for link in model.links]
    links[0] = replace(links[0], inertia=Inertia.of([Expression.of(0), *(number() for _ in range(9))]))
    return replace(model, links=tuple(links), derived=rng.random() < 0.5)


def turned(model: RobotModel, rng: random.Random) -> RobotModel:
    """With rational rotations on both sides of each joint, and another base."""
    links = [
        replace(link, before=rational_transform(rng, link.before.p), after=rational_transform(rng))
        for link in model.links
    ]
    base = rng.choice([Transform(), rational_transform(rng, point(rng))])
    return replace(model, links=tuple(links), base=base, tip=rng.choice([model.root, model.tip]))


def with_relation(model: RobotModel) -> RobotModel:
    """Its last two joints coupled one to one."""
    *_, a, b = (link.name for link in model.moving)
    return replace(model, relations=(Relation(((b, Expression.of(1)), (a, Expression.of(Fraction(1, 3))))),))


def kinds(n: int | tuple[int, int] = (1, 5)) -> st.SearchStrategy[Robot]:
    """Robots of every kind."""
    return st.tuples(plans(n, rotors=("exact", "reflected", "none")), st.integers(0, 2**32 - 1)).map(
        lambda drawn: changed(quietly(lambda: Robot.from_dict(varied_table(drawn[0]))), drawn[1])
    )
