"""Random arms with every term of friction, and the same friction computed by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from armdyn import Robot
from armdyn.expression import Expression
from armdyn.model import RobotModel
from arms import fraction, models, plans, table_of


def further(rng: random.Random, negative: bool = True) -> dict[str, Any]:
    """Stribeck, cubic and load friction; coefficients of the first two of any sign."""
    sign = rng.choice([-1, 1]) if negative else 1
    return {
        "stribeck": {"level": sign * fraction(rng, 0.1, 1), "velocity": fraction(rng, 0.2, 2)},
        "cubic": sign * fraction(rng, 0.01, 0.3, 100),
        "load": fraction(rng, 0.05, 0.4, 100),
    }


def rubbing_table(plan: Any) -> dict[str, Any]:
    """An arm whose joints have every term of friction; Coulomb friction outweighs a negative level."""
    rng, table = random.Random(plan.seed + 7), table_of(plan)
    for link in table["link"]:
        if link["joint"] != "fixed":
            terms = further(rng)
            link["friction"] = {
                "viscous": 3,
                "coulomb": Fraction(3, 2),
                "offset": fraction(rng, -1, 1),
            } | terms
            link["limits"] = {"velocity": 3}
    return table


def rubbing(n: Any = (1, 4), **choices: Any) -> st.SearchStrategy[Robot]:
    return plans(n, **choices).map(lambda plan: Robot.from_dict(rubbing_table(plan)))


def rubbing_models(n: Any = (1, 2), **choices: Any) -> st.SearchStrategy[RobotModel]:
    """With rational rotations, for exact equations."""

    def with_friction(model: RobotModel) -> RobotModel:
        rng = random.Random(len(model.links))
        links = []
        for link in model.links:
            if link.joint != "fixed":
                terms = further(rng)
                stribeck = terms["stribeck"]
                terms["stribeck"] = stribeck["level"]
                velocity = Expression.of(stribeck["velocity"])
                link = replace(link, friction=link.friction.replaced(terms, velocity))
            links.append(link)
        return replace(model, links=tuple(links))

    return models(n, **choices).map(with_friction)


def of_kind(robot: Robot, *symbols: str) -> np.ndarray:
    """Which parameters are of these kinds (p,)."""
    return np.array([name.rstrip("0123456789") in symbols for name in robot.parameter_names])


def without_friction(robot: Robot) -> Robot:
    rubs = np.array([name.startswith("F") for name in robot.parameter_names])
    return robot.with_parameters(np.where(rubs, 0.0, robot.parameters))


def friction_by_hand(robot: Robot, qd: np.ndarray, rigid: np.ndarray) -> np.ndarray:
    """All friction (..., n) of joints whose motors are not coupled, from the numbers of the description."""
    total = np.zeros(qd.shape)
    number = robot.model.number
    for j, link in enumerate(robot.model.moving):
        f, v, s = link.friction, qd[..., j], np.sign(qd[..., j])
        forward, backward = (number(x) for x in f.coulomb)
        total[..., j] += number(f["viscous"]) * v + number(f["offset"]) + number(f["cubic"]) * v**3
        total[..., j] += np.where(v > 0, forward, np.where(v < 0, backward, 0))
        total[..., j] += number(f["stribeck"]) * np.exp(-((v / number(f.stribeck_velocity)) ** 2)) * s
        total[..., j] += number(f["load"]) * np.abs(rigid[..., j]) * s
        if link.motor is not None:
            k, g = number(link.motor.gear), link.motor.friction
            forward, backward = (number(x) for x in g.coulomb)
            total[..., j] += k * k * number(g["viscous"]) * v
            total[..., j] += k * np.where(k * v > 0, forward, np.where(k * v < 0, backward, 0))
    return total
