"""Timing laws r(t): checked, evaluated on either side of a jump, and inverted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.checks import positive_time
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.motion import Motion, Side, States
from armdyn.motion.trajectories.trajectory import Trajectory

Law: TypeAlias = Callable[[np.ndarray], Any]  # times (N,) -> r, ṙ, r̈
CHECKED = 1000  # intervals at whose ends a law is checked
AGREES = 0.01  # of the range of r and of the largest rate: how nearly they must be integrals of the others
RESTS = 1e-13  # of the largest rate: smaller ones are set to zero, as at the ends of a cosine
MEETS = 1e-9  # of the duration: how nearly a law must begin and end where it should


@dataclass(frozen=True)
class Timing:
    """A law r(t) from r(0) = 0 to r(duration) = `end`, strictly increasing between."""

    evaluate: Callable[[np.ndarray, Side], tuple[np.ndarray, np.ndarray, np.ndarray]]
    duration: float  # s
    end: float  # s of the motion it times
    jumps: np.ndarray  # where r̈ jumps [s]
    least: float = 0.0  # rates up to this are set to zero

    def __call__(self, t: np.ndarray, side: Side = "after") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """r, ṙ, r̈ at times (N,)."""
        r, rate, change = self.evaluate(t, side)
        return r.clip(0.0, self.end), np.where(np.abs(rate) <= self.least, 0.0, rate), change

    def inverse(self, r: np.ndarray) -> np.ndarray:
        """The times (N,) at which the law has the values r (N,): Newton's method within a bracket."""
        grid = np.linspace(0.0, self.duration, CHECKED + 1)
        values = self(grid)[0]
        cell = np.searchsorted(values, r, side="right").clip(1, CHECKED)
        low, high = grid[cell - 1], grid[cell]
        t = np.interp(r, values, grid)
        for _ in range(100):
            value, rate, _ = self(t)
            low, high = np.where(value <= r, t, low), np.where(value >= r, t, high)
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = t - (value - r) / rate
            inside = (newton >= low) & (newton <= high)
            following = np.where(inside, newton, (low + high) / 2)
            moved, t = np.abs(following - t).max(initial=0.0), following
            if moved <= 1e-15 * self.duration:
                break
        return np.where(r <= 0, 0.0, np.where(r >= self.end, self.duration, t))


def timing_law(law: Trajectory | Law, duration: float | None, end: float) -> Timing:
    """A law as it may be given, checked: `end` is the duration of the motion it times."""
    if isinstance(law, Trajectory):
        if law.n != 1 or duration is not None:
            raise MotionError("law: a trajectory of one joint, which has its own duration, is expected")
        timing = Timing(_OfJoint(law.motion).evaluate, law.duration, end, law.jumps)
    elif callable(law):
        if duration is None:
            raise MotionError("duration: none found; a law that is a function needs one")
        timing = Timing(_OfFunction(law).evaluate, positive_time("duration", duration), end, np.zeros(0))
    else:
        raise MotionError(
            f"law: expected a Trajectory of one joint or a function, found {type(law).__name__}"
        )
    top = _check(timing)
    if isinstance(law, Trajectory):
        return timing
    _check_derivatives(timing)
    return replace(timing, least=RESTS * top)


@dataclass(frozen=True)
class _OfJoint:
    """The motion of one joint as a law."""

    motion: Motion

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        r, rate, change = (x[:, 0] for x in self.motion.evaluate(t, side))
        return r, rate, change


@dataclass(frozen=True)
class _OfFunction:
    """A user's function as a law: arrays of the right shape."""

    law: Law

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        found = self.law(t)
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise MotionError("law: the function must give three arrays: r, its rate and the rate's change")
        arrays = [np.asarray(x) for x in found]
        if any(x.dtype.kind not in "iuf" for x in arrays):
            kinds = ", ".join(str(x.dtype) for x in arrays)
            raise MotionError(f"law: the function must give real numbers, found {kinds}")
        try:
            r, rate, change = (np.broadcast_to(x.astype(float), t.shape) for x in arrays)
        except ValueError:
            shapes = ", ".join(str(np.shape(x)) for x in found)
            raise MotionError(
                f"law: for times of shape {t.shape} the function gave shapes {shapes}"
            ) from None
        return r, rate, change


def _check(timing: Timing) -> float:
    """Refuse a law that does not begin, end or increase as it must; its largest rate."""
    t = np.linspace(0.0, timing.duration, CHECKED + 1)
    r, rate, change = timing.evaluate(t, "after")
    for name, values in (("r", r), ("its rate", rate), ("the rate's change", change)):
        if not np.isfinite(values).all():
            raise MotionError(f"law: {name} is not finite at t = {t[~np.isfinite(values)][0]:.6g} s")
    for found, expected, where in ((r[0], 0.0, "begin"), (r[-1], timing.end, "end")):
        if abs(found - expected) > MEETS * timing.end:
            raise MotionError(f"law: r must {where} with {expected:.9g} s, found {found:.9g} s")
    falling = np.flatnonzero(np.diff(r) <= 0)
    still = np.flatnonzero(rate[1:-1] <= 0) + 1
    wrong = np.concatenate([falling, still])
    if wrong.size:
        raise MotionError(f"law: r must increase strictly, but does not at t = {t[wrong.min()]:.6g} s")
    return float(rate.max())


def _check_derivatives(timing: Timing) -> None:
    """Refuse a function whose rates are not derivatives: its torques would not belong to any real motion."""
    t = np.linspace(0.0, timing.duration, CHECKED + 1)
    r, rate, change = timing.evaluate(t, "after")
    for name, integral, of, size in (
        ("its rate is not the derivative of r", r, rate, timing.end),
        ("the rate's change is not the derivative of the rate", rate, change, np.abs(rate).max()),
    ):
        sums = np.append(0.0, np.cumsum((of[1:] + of[:-1]) / 2) * t[1])
        differs = np.abs(integral - integral[0] - sums) > AGREES * size + t[1] * np.abs(of).max()
        if differs.any():
            raise MotionError(f"law: {name}, as is seen at t = {t[differs][0]:.6g} s")
