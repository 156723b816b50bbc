"""Timing laws r(t), as motions of one joint: checked and inverted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from armdyn.motion.checks import check
from armdyn.motion.errors import MotionError
from armdyn.motion.trajectories.motion import Motion, Side, States
from armdyn.motion.trajectories.trajectory import Trajectory

Law: TypeAlias = Callable[[np.ndarray], Any]  # times (N,) -> r, ṙ, r̈
CHECKED = 1000  # intervals at whose ends a law is checked
AGREES = 0.01  # of the range of r and of the largest rate: how nearly they must be integrals of the others
RESTS = 1e-13  # of the largest rate: smaller ones are set to zero, as at the ends of a cosine
MEETS = 1e-9  # of the duration: how nearly a law must begin and end where it should


def timing_law(law: Trajectory | Law, duration: float | None, end: float) -> Motion:
    """A law as it may be given, checked: `end` is the duration of the motion it times."""
    if isinstance(law, Trajectory):
        if law.n != 1 or duration is not None:
            raise MotionError("law: a trajectory of one joint, which has its own duration, is expected")
        _largest_rate(law.motion, end)
        return law.motion
    if not callable(law):
        raise MotionError(
            f"law: expected a Trajectory of one joint or a function, found {type(law).__name__}"
        )
    if duration is None:
        raise MotionError("duration: none found; a law that is a function needs one")
    T = check.positive_time("duration", duration)
    given = Motion(1, T, _OfFunction(law, 0.0).evaluate)
    top = _largest_rate(given, end)
    _check_derivatives(given, end)
    return Motion(1, T, _OfFunction(law, RESTS * top).evaluate)


def inverse(law: Motion, r: np.ndarray) -> np.ndarray:
    """The times (N,) at which a law has the values r (N,): Newton's method within a bracket."""
    grid = np.linspace(0.0, law.duration, CHECKED + 1)
    values = law.evaluate(grid, "after")[0][:, 0]
    cell = np.searchsorted(values, r, side="right").clip(1, CHECKED)
    low, high = grid[cell - 1], grid[cell]
    t = np.interp(r, values, grid)
    for _ in range(100):
        value, rate, _ = (x[:, 0] for x in law.evaluate(t, "after"))
        low, high = np.where(value <= r, t, low), np.where(value >= r, t, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = t - (value - r) / rate
        inside = (newton >= low) & (newton <= high)
        following = np.where(inside, newton, (low + high) / 2)
        moved, t = np.abs(following - t).max(initial=0.0), following
        if moved <= 1e-15 * law.duration:
            break
    return np.where(r <= 0, 0.0, np.where(r >= values[-1], law.duration, t))


@dataclass(frozen=True)
class _OfFunction:
    """A user's function as a motion of one joint: arrays of the right shape."""

    law: Law
    least: float  # rates up to this are set to zero

    def evaluate(self, t: np.ndarray, side: Side) -> States:
        found = self.law(t)
        if not isinstance(found, (tuple, list)) or len(found) != 3:
            raise MotionError("law: the function must give three arrays: r, its rate and the rate's change")
        arrays = [check.floats("law", x, "real numbers for r, its rate and the rate's change") for x in found]
        try:
            r, rate, change = (np.broadcast_to(x, t.shape)[:, None] for x in arrays)
        except ValueError:
            shapes = ", ".join(str(x.shape) for x in arrays)
            raise MotionError(
                f"law: for times of shape {t.shape} the function gave shapes {shapes}"
            ) from None
        return r, np.where(np.abs(rate) <= self.least, 0.0, rate), change


def _on_grid(law: Motion) -> tuple[np.ndarray, ...]:
    """Times (N,) and r, ṙ, r̈ there."""
    t = np.linspace(0.0, law.duration, CHECKED + 1)
    return t, *(x[:, 0] for x in law.evaluate(t, "after"))


def _largest_rate(law: Motion, end: float) -> float:
    """The largest rate of a law; one that does not begin, end or increase as it must is refused."""
    t, r, rate, change = _on_grid(law)
    for name, values in (("r", r), ("its rate", rate), ("the rate's change", change)):
        if not np.isfinite(values).all():
            raise MotionError(f"law: {name} is not finite at t = {t[~np.isfinite(values)][0]:.6g} s")
    for found, expected, where in ((r[0], 0.0, "begin"), (r[-1], end, "end")):
        if abs(found - expected) > MEETS * end:
            raise MotionError(f"law: r must {where} with {expected:.9g} s, found {found:.9g} s")
    falling = np.flatnonzero(np.diff(r) <= 0)
    still = np.flatnonzero(rate[1:-1] <= 0) + 1
    wrong = np.concatenate([falling, still])
    if wrong.size:
        raise MotionError(f"law: r must increase strictly, but does not at t = {t[wrong.min()]:.6g} s")
    return float(rate.max())


def _check_derivatives(law: Motion, end: float) -> None:
    """Refuse a function whose rates are not derivatives: the torques would not belong to any real motion."""
    t, r, rate, change = _on_grid(law)
    for name, integral, of, size in (
        ("its rate is not the derivative of r", r, rate, end),
        ("the rate's change is not the derivative of the rate", rate, change, np.abs(rate).max()),
    ):
        sums = np.append(0.0, np.cumsum((of[1:] + of[:-1]) / 2) * t[1])
        differs = np.abs(integral - integral[0] - sums) > AGREES * size + t[1] * np.abs(of).max()
        if differs.any():
            raise MotionError(f"law: {name}; they differ from t = {t[differs][0]:.6g} s on")
