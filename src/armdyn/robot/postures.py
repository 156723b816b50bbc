"""Postures of a robot with loops: random ones, within limits and not nearly singular, and assembly modes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from armdyn.expression import Expression
from armdyn.model.errors import ModelError
from armdyn.model.parts import Link
from armdyn.model.robot_model import RobotModel
from armdyn.robot.assembly import Assembly, Related
from armdyn.robot.closing import CLOSED, Closed

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


# ------------------------------------------------------------------------------------------------------------
# Assembly modes: all postures that close the loops at given coordinates, and the choice of one.


STARTS = 512  # random ones, from which postures are sought
SAME = 1e-6  # of a turn or of the robot's size: postures nearer than this are one


def assembly_modes(assembly: Assembly, q: np.ndarray) -> np.ndarray:
    """All positions (modes, positions) found that close the loops at q (n,), sorted; revolute within ±π.

    They are sought from many random postures: of a planar loop both are found; a mode of a spatial mechanism
    that few postures lead to may be missed.
    """
    model = assembly.model
    closed, free = Closed.of(model), list(model.mechanism.free)
    random = np.random.default_rng(2)
    starts = random.uniform(-np.pi, np.pi, (STARTS, closed.positions)) * closed.units
    starts[:, free] = q
    y, state = assembly.sought(np.broadcast_to(q, (STARTS, len(q))), starts)
    gap, _, upright = closed(y)
    fine = (state[:, 0] == 0) & (np.abs(gap).max(1) < 100 * CLOSED) & (upright > 0).all(1)
    turning = np.array([link.joint == "revolute" for link in model.positions])
    turning[free] = False
    return _different(_within_half_a_turn(y[fine], turning), turning, closed.units)


def _within_half_a_turn(y: np.ndarray, turning: np.ndarray) -> np.ndarray:
    wrapped = np.pi - (np.pi - y) % (2 * np.pi)
    return np.where(turning, wrapped, y)


def _different(y: np.ndarray, turning: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Each posture once, in the order of their numbers."""
    found: list[np.ndarray] = []
    for row in y[np.lexsort(np.round(y / units, 6).T[::-1])]:
        gaps = [np.where(turning, _angle(row - other), row - other) / units for other in found]
        if not any(np.abs(gap).max() < SAME for gap in gaps):
            found.append(row)
    return np.array(found).reshape(-1, y.shape[1])


def _angle(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.pi - (np.pi - x) % (2 * np.pi))


def near_positions(model: RobotModel, positions: Mapping[str, Expression]) -> RobotModel:
    """The robot assembled where coordinates stand at these positions, by link, in the mode that it is in."""
    assembly = Assembly(model)
    q = np.array(assembly.reference, float)
    for i, link in enumerate(model.coordinates):
        if link.name in positions:
            q[i] = model.number(positions[link.name])
    return with_posture(model, Related.of(model).positions(assembly(q)).tolist())


def with_posture(model: RobotModel, joints: Sequence[float]) -> RobotModel:
    """The robot whose loops are assembled near positions of all its moving joints."""
    given = np.asarray(joints, float)
    if given.shape != (len(model.moving),) or not np.isfinite(given).all():
        raise ModelError(
            f"posture: expected {len(model.moving)} finite numbers, one for each moving joint, "
            f"found {given.shape if given.shape != (len(model.moving),) else given.tolist()}"
        )
    guesses = {link.name: Expression.of(float(x)) for link, x in zip(model.moving, given, strict=True)}
    links = tuple(
        replace(link, guess=guesses[link.name]) if link.name in guesses else link for link in model.links
    )
    return replace(model, links=links, choice=None)
