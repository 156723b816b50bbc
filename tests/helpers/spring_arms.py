"""Random arms with springs: at joints, and between points of any two links, the base and plates included."""

from __future__ import annotations

import random
from dataclasses import replace

from armdyn.expression import ZERO, Expression
from armdyn.model import RobotModel
from armdyn.model.parts import JointSpring, PointSpring
from arms import fraction, point


def sprung(model: RobotModel, seed: int, joints: bool = True, struts: int = 2) -> RobotModel:
    """The robot with springs at about half of its joints (the first always), and `struts` between points.

    The first strut has a rest length and a force, the second neither, the third a force alone.
    """
    rng = random.Random(seed)

    def exact(low: float, high: float) -> Expression:
        return Expression.of(fraction(rng, low, high))

    links = []
    for link in model.links:
        if joints and link.joint != "fixed" and (link is model.moving[0] or rng.random() < 0.5):
            link = replace(link, spring=JointSpring(exact(1, 40), exact(-1, 1)))
        links.append(link)
    names = [model.root, *(link.name for link in model.links)]
    springs = []
    for i in range(struts):
        second = rng.choice([link.name for link in model.moving])
        between = rng.choice([name for name in names if name != second]), second
        at = tuple(tuple(Expression.of(x) for x in point(rng, 2)) for _ in between)
        stiffness = ZERO if i == 2 else exact(5, 50)
        rest, force = (exact(0.1, 1) if i == 0 else ZERO), (ZERO if i == 1 else exact(-20, 20))
        springs.append(PointSpring(between, at, stiffness, rest, force, f"spring {i + 1}"))
    return replace(model, links=tuple(links), springs=tuple(springs))
