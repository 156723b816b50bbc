"""The torques of a motion, also by cause, with the loads at each instant."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from armdyn.analysis import Contributions, contributions
from armdyn.motion.loads import Loaded
from armdyn.motion.trajectory import Samples
from armdyn.robot import Robot


def torques_along(loaded: Loaded, at: Samples, wrench: Any = None) -> np.ndarray:
    """`inverse_dynamics` (N, n) at the samples of a motion, each with its own robot."""

    def torques(robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        return np.asarray(robot.inverse_dynamics(q, qd, qdd, wrench))

    return loaded.evaluate(torques, at.t, at.q, at.qd, at.qdd)


def contributions_along(
    loaded: Loaded, at: Samples, wrench: Any = None, rows: np.ndarray | None = None, **options: Any
) -> Contributions:
    """`contributions` at the samples of a motion, or at some `rows` of them, each with its own robot."""
    before = np.append(np.diff(at.t) == 0, False)
    chosen = np.arange(len(at.t)) if rows is None else rows
    found: dict[str, Any] = {}
    for mask, robot in loaded.groups(at.t[chosen], before[chosen]):
        few = chosen[mask]
        part = contributions(robot, at.q[few], at.qd[few], at.qdd[few], wrench, **options)
        for f in fields(part):
            value = getattr(part, f.name)
            if isinstance(value, np.ndarray):
                found.setdefault(f.name, np.empty((len(chosen), *value.shape[1:])))[mask] = value
            else:
                found[f.name] = value
    return Contributions(**found)
