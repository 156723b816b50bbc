"""`Motion`: what a trajectory is made of, a function of time and where its acceleration jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from armdyn.motion.errors import MotionError

Side: TypeAlias = Literal["before", "after"]
States: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Evaluate: TypeAlias = Callable[[np.ndarray, Side], States]


@dataclass(frozen=True)
class Motion:
    """Positions, velocities, accelerations of n joints from 0 to `duration`.

    `evaluate(t, side)` takes t (N,) within [0, duration] and gives three arrays (N, n); where the
    acceleration jumps, `side` says whether the value just before or just after the instant is meant (at 0
    and at the end there is only one).
    """

    n: int
    duration: float  # s
    evaluate: Evaluate = field(repr=False)
    jumps: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    label: str = "motion"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise MotionError(f"duration: found {self.duration:g} s; a motion takes a positive time")
        inner = np.unique(np.asarray(self.jumps, float))
        object.__setattr__(self, "jumps", inner[(inner > 0) & (inner < self.duration)])
        object.__setattr__(self, "duration", float(self.duration))
