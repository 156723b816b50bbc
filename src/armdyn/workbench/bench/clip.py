"""What can be played: a motion, a simulated run, a recorded log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.trajectories.loads import Carried
from armdyn.motion.trajectories.trajectory import Trajectory

States: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Clip:
    """States (n,) at every time from 0 to `duration` [s], and the charts that go with them.

    `charts` are functions of a subject, a joint and a wrench, by title. `loads` is what the arm carries.
    `wrench` is what the tip exerts on its surroundings at a time (6,), where the clip says so; without it the
    wrench that is set in the page stays.
    """

    name: str
    duration: float
    at: Callable[[float], States]
    charts: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    loads: tuple[Carried, ...] = ()
    wrench: Callable[[float], np.ndarray | None] | None = None


def of_motion(motion: Trajectory, charts: Mapping[str, Callable[..., Any]]) -> Clip:
    return Clip(motion.motion.label, motion.duration, motion, charts, motion.loads)


def of_samples(t: np.ndarray, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> Callable[[float], States]:
    """States at instants t (N,) of increasing time, linear in between; t[0] is the time 0."""
    start = float(t[0])

    def at(time: float) -> States:
        k = int(np.clip(np.searchsorted(t, time + start, side="right") - 1, 0, len(t) - 2))
        span = float(t[k + 1] - t[k])
        part = min(max((time + start - float(t[k])) / span, 0.0), 1.0) if span > 0 else 0.0
        q_, qd_, qdd_ = ((1 - part) * x[k] + part * x[k + 1] for x in (q, qd, qdd))
        return q_, qd_, qdd_

    return at
