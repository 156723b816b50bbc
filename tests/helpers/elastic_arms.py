"""Random arms with elastic joints, and a single one whose motion is known."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from armdyn import Robot
from armdyn.expression import ZERO, Expression
from armdyn.model import RobotModel
from arms import Plan, fraction, model_of, plans, table_of


def made_elastic(model: RobotModel, seed: int, damped: bool = True, dry: bool = True) -> RobotModel:
    """The robot with most of its motors behind springs, at least one of them, some of these with dampers."""
    rng = random.Random(seed)
    driven = [link.name for link in model.moving if link.motor is not None]
    if not driven:
        return model
    chosen = {rng.choice(driven), *(name for name in driven if rng.random() < 0.6)}
    links = []
    for link in model.links:
        if link.name in chosen:
            assert link.motor is not None
            friction = link.motor.friction
            level = friction["coulomb"] if dry else ZERO
            motor = replace(
                link.motor,
                stiffness=Expression.of(fraction(rng, 20, 400, 2)),
                damping=Expression.of(fraction(rng, 0.1, 2)) if damped and rng.random() < 0.5 else ZERO,
                friction=friction.replaced({"coulomb": level, "asymmetry": 0}),
            )
            link = replace(link, motor=motor)
        links.append(link)
    return replace(model, links=tuple(links))


def elastic_robots(n: Any = (1, 4), seed: int = 0, **choices: Any) -> st.SearchStrategy[Robot]:
    """Arms as a file has them, with motors on any carriers and rows of several motors, some elastic."""

    def make(plan: Plan) -> Robot:
        return Robot(made_elastic(Robot.from_dict(table_of(plan)).model, plan.seed + seed))

    return plans(n, **{"motors": "any", **choices}).map(make)


def elastic_models(n: Any = (1, 2), **choices: Any) -> st.SearchStrategy[RobotModel]:
    """The same with rational rotations, for exact equations."""
    return plans(n, **{"motors": "parent", **choices}).map(
        lambda plan: made_elastic(model_of(plan), plan.seed)
    )


def single(
    stiffness: Any = 100, damping: Any = 0, gravity: bool = False, motor_friction: Any = None, **others: Any
) -> Robot:
    """A link on one elastic joint, in a plane, with its motor on the base: two inertias and a spring."""
    link = {
        "name": "link",
        "joint": "revolute",
        "origin": {"xyz": [0, 0, 0]},
        "axis": [0, 0, 1],
        "mass": 2,
        "com": [Fraction(3, 10), 0, 0],
        "inertia": {"zz": Fraction(1, 50), "xx": Fraction(1, 50), "yy": Fraction(1, 50)},
        "motor": {
            "gear": 50,
            "inertia": Fraction(1, 25000),
            "stiffness": stiffness,
            "damping": damping,
            "friction": motor_friction or {},
        },
        **others,
    }
    table = {
        "name": "single",
        "convention": "frames",
        "gravity": [0, Fraction(-981, 100) if gravity else 0, 0],
        "link": [link],
    }
    return Robot.from_dict(table)


def two_links(damping: Any = (0, 0), stiffness: Any = (900, 500), **motor: Any) -> Robot:
    """Two links in a vertical plane on elastic joints; the second motor rides on the first link."""
    links = []
    for i, (k, d) in enumerate(zip(stiffness, damping, strict=True)):
        links.append(
            {
                "name": f"link {i + 1}",
                "joint": "revolute",
                "origin": {"xyz": [Fraction(2, 5) if i else 0, 0, 0]},
                "axis": [0, 0, 1],
                "mass": 3 - i,
                "com": [Fraction(1, 5), Fraction(1, 50), 0],
                "inertia": {"xx": Fraction(1, 50), "yy": Fraction(1, 25), "zz": Fraction(1, 20)},
                "friction": {"viscous": Fraction(1, 10)},
                "motor": {
                    "gear": 60,
                    "inertia": Fraction(1, 20000),
                    "mass": Fraction(1, 2),
                    "stiffness": k,
                    "damping": d,
                    "friction": {"viscous": Fraction(1, 5000)},
                    **motor,
                },
            }
        )
    gravity = [0, Fraction(-981, 100), 0]
    return Robot.from_dict({"name": "two", "convention": "frames", "gravity": gravity, "link": links})


def geared_wrist(coupling: Any = 40, of_base: Any = 0, friction: Any = None, **limits: Any) -> Robot:
    """Two links in a plane; the second motor drives a bevel gear that rolls on the first link.

    The first joint is elastic, the second rigid unless the first motor is coupled to it.
    """
    robot = two_links().with_rotors("reflected")
    first, second = robot.to_dict()["link"]
    first["motor"] |= {"coupling": {"link 2": of_base}} if of_base else {}
    second["motor"] |= {"coupling": {"link 1": coupling}, "limits": limits}
    if not of_base:
        del second["motor"]["stiffness"]
        second["friction"] = friction or second["friction"]
    return Robot.from_dict(robot.to_dict() | {"link": [first, second]})
