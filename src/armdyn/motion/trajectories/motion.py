"""`Motion`: what a trajectory is made of, a function of time and where its acceleration jumps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass
from types import MethodType
from typing import Any, Literal, TypeAlias

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.loads import Carried, check_loads

Side: TypeAlias = Literal["before", "after"]
States: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]
Evaluate: TypeAlias = Callable[[np.ndarray, Side], States]

STEP = 1e-3  # s, between samples where nothing else is said
MOST_SAMPLES = 20_000_000  # more would fill the memory, and are a step too small by mistake


@dataclass(frozen=True, eq=False)
class Motion:
    """Positions, velocities, accelerations of n joints from 0 to `duration`.

    `evaluate(t, side)` takes t (N,) within [0, duration] and gives three arrays (N, n); where the
    acceleration jumps, `side` says whether the value just before or just after the instant is meant (at 0
    and at the end there is only one). `knots` are the instants at which some derivative jumps, those of the
    acceleration included; between them the motion is smooth. `evaluate` is a method of data, not a closure,
    so that a motion can be pickled and compared.

    `dwells` are rests that are wanted, from start to end [s]: timing keeps how long they last. `loads` are
    what the arm carries and when; instants at which they change are among the `jumps`: torques jump there.
    """

    n: int
    duration: float  # s
    evaluate: Evaluate = field(repr=False)
    jumps: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    label: str = "motion"
    knots: np.ndarray = field(default_factory=lambda: np.zeros(0), repr=False)
    dwells: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    loads: tuple[Carried, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.duration) and self.duration > 0):
            raise MotionError(f"duration: found {self.duration:g} s; a motion takes a positive time")
        object.__setattr__(self, "duration", float(self.duration))
        loads = check_loads(self.loads, self.duration)
        object.__setattr__(self, "loads", loads)
        changes = [t for one in loads for t in (one.start, one.end)]
        object.__setattr__(self, "jumps", self._inner(np.append(self.jumps, changes)))
        object.__setattr__(self, "knots", self._inner(np.append(self.knots, self.jumps)))

    def _inner(self, instants: np.ndarray) -> np.ndarray:
        """Sorted, each once, without the ends; read-only."""
        found = np.unique(np.asarray(instants, float))
        found = found[(found > 0) & (found < self.duration)]
        found.flags.writeable = False
        return found


def same(a: Any, b: Any) -> bool:
    """Whether two motions, or parts of them, are made of the same numbers."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b)
    if isinstance(a, MethodType):
        return a.__func__ is b.__func__ and same(a.__self__, b.__self__)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if is_dataclass(a):
        return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    return bool(a == b)


def sample_times(duration: float, step: float) -> np.ndarray:
    """0, step, 2 step, … and the end."""
    wanted = duration / check.positive_time("step", step) * (1 - 1e-12)
    if wanted > MOST_SAMPLES:
        raise MotionError(
            f"step: found {step:g} s; {duration:g} s would be {wanted:.2g} samples, and at most "
            f"{MOST_SAMPLES:.0e} are made"
        )
    count = int(np.ceil(wanted))
    return np.append(np.arange(count) * step, duration)
