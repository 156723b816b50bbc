"""Random postures of a robot with loops: closed, within the limits of its joints, not nearly singular."""

from __future__ import annotations

import numpy as np

from armdyn.model.errors import ModelError
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel
from armdyn.robot.loops.assembly import Assembly
from armdyn.robot.related import Related

ROUNDS = 40
LEGS = 6  # parts in which the way to a posture is gone once more
MARGIN = 1e-6  # squared sine of a joint that follows against the others: less is nearly singular
STEEP = (
    20.0  # rad per rad, or of the robot's size: a posture in which a joint moves faster is nearly singular
)
SHRINK = 0.8  # of how far coordinates go, after a round in which few postures were found


def random_postures(assembly: Assembly, rng: np.random.Generator, count: int) -> np.ndarray:
    """Coordinates (count, n) about those of the first posture, drawn alike where the loops can be closed."""
    model = assembly.model
    kinds = np.array([link.joint == "revolute" for link in model.coordinates])
    reach = np.where(kinds, np.pi, assembly.size)
    low, high = (np.array([_limits(model, link)[k] for link in model.coordinates]) for k in (0, 1))
    found = np.zeros((0, model.n))
    for _ in range(ROUNDS):
        x = assembly.reference + rng.uniform(-reach, reach, (2 * count, model.n))
        x = x[((x >= low) & (x <= high)).all(1)]
        x = x[can_be(assembly, x)]
        found = np.concatenate([found, x])
        if len(found) >= count:
            return found[:count]
        if len(x) < count / 4:
            reach = reach * SHRINK
    raise ModelError(
        f"{model.name}: of {ROUNDS * 2 * count} random postures only {len(found)} close its loops within the "
        f"limits of its joints; {count} are needed"
    )


def can_be(assembly: Assembly, q: np.ndarray) -> np.ndarray:
    """(N,): whether loops close at q (N, n), not nearly singular, with all joints that follow in range."""
    model, units = assembly.model, assembly.units
    found = assembly.closes(q, MARGIN, LEGS)
    if not found.any():
        return found
    own = [link.name for link in model.coordinates]
    limits = [(-np.inf, np.inf) if link.name in own else _limits(model, link) for link in model.moving]
    low, high = np.array(limits).T
    x = q[found]
    joints = Related.of(model).positions(assembly(x))
    steep = np.abs(assembly.rates(x) / units[:, None] * units[list(model.mechanism.free)]).max((1, 2))
    found[found] = (steep < STEEP) & ((joints >= low) & (joints <= high)).all(1)
    return found


def _limits(model: RobotModel, link: Link) -> tuple[float, float]:
    found = link.limits.position
    return (-np.inf, np.inf) if found is None else (model.number(found[0]), model.number(found[1]))
