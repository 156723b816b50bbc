"""Assembly modes: all postures that close the loops at given coordinates, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from armdyn.expression import Expression
from armdyn.model.errors import ModelError
from armdyn.model.robot_model import RobotModel
from armdyn.robot.loops.assembly import Assembly
from armdyn.robot.loops.closing import CLOSED, Closed
from armdyn.robot.related import Related

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
