"""The fastest profile x(s) = ṡ² of a path under its limits.

Without viscous friction one pass gives it. With it, √x in the rows is replaced by its tangent at the profile
found last, and passes follow each other until the profile stays where it is: it then is the fastest under the
limits themselves, among its neighbours. As the admissible speeds at a place may fall into several intervals,
there may be others, on the other side of a gap. So where there are gaps two beginnings are tried: the given
motion scaled linearly, and the fastest profile under relaxed limits, which are tightened step by step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armdyn.motion.least_time.passes import PathPass, path_pass
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.least_time.rows import PathLimits, linear_rows
from armdyn.motion.timing.rates import largest_rate

SAME = 1e-9  # of the top speed: a profile that moves less stays
PASSES = 60
WITHIN = 1e-5  # of a limit: what a profile may exceed at the points
RELAXED = (1.0, 1.5, 2.0, 4.0, 10.0, 100.0)  # times the limits, until there is a way
SLOWER = 20  # times that a beginning may be halved in speed
LEVELS = 64  # speeds looked at for gaps


class NoWay(Exception):
    """No profile was found; the pass that found none says where."""

    def __init__(self, found: PathPass) -> None:
        super().__init__(found.failed)
        self.found = found


def best_profile(grid: PathGrid, limits: PathLimits, known: np.ndarray | None = None) -> np.ndarray:
    """x at the ends of the intervals (N + 1,); `known` (N, 5) is the best one, from another grid."""
    if not limits.has_viscous:
        return _passed(limits, None)
    if known is not None:
        try:
            return _converged(limits, known)
        except NoWay:
            pass
    return _searched(grid, limits)


def _searched(grid: PathGrid, limits: PathLimits) -> np.ndarray:
    """The best profile of those that the beginnings lead to."""
    profiles: list[np.ndarray] = []
    failure: NoWay | None = None
    for begin in (_from_scaled, _from_relaxed):
        if profiles and not has_gaps(limits, profiles[0]):
            break
        try:
            x = begin(grid, limits)
        except NoWay as problem:
            failure = problem
            continue
        if _excess(limits, x) <= WITHIN:
            profiles.append(x)
    if not profiles:
        raise failure or NoWay(path_pass(linear_rows(limits)))
    return min(profiles, key=lambda x: duration(limits, x))


def duration(limits: PathLimits, x: np.ndarray) -> float:
    """The time a profile takes [s]."""
    y = np.sqrt(x)
    with np.errstate(divide="ignore"):
        return float(np.sum(limits.ahead[:, 4] / (y[1:] + y[:-1])))


def at_points(limits: PathLimits, x: np.ndarray) -> np.ndarray:
    """x at the points of the intervals (N, 5), from those at their ends (N + 1,)."""
    share = limits.ahead / limits.ahead[:, 4:]
    return np.asarray(np.maximum(x[:-1, None] + share * np.diff(x)[:, None], 0.0))


def scaled_profile(grid: PathGrid, limits: PathLimits) -> tuple[np.ndarray, float]:
    """The given motion's own profile (N, 5), scaled linearly in time to meet the limits at the points.

    And the rate, how many times faster than given; 0, with the profile as it is, where there is none.
    """
    x, u = grid.speed**2, grid.change
    rest = limits.c - (limits.low + limits.high) / 2
    torque = [limits.a * u[..., None] + limits.b * x[..., None], limits.v * grid.speed[..., None], rest]
    speed = [np.zeros_like(x), grid.speed, np.zeros_like(x)]
    A, B, C = (np.concatenate([y.ravel(), z.ravel()]) for y, z in zip(torque, speed, strict=True))
    bound = np.concatenate([((limits.high - limits.low) / 2).ravel(), np.sqrt(limits.inner).ravel()])
    rate = largest_rate(A, B, C, bound, np.inf).value
    return (x * rate**2, rate) if 0 < rate < np.inf else (x, 0.0)


def _passed(limits: PathLimits, x: np.ndarray | None) -> np.ndarray:
    """The profile of one pass with tangents at x (N, 5)."""
    found = path_pass(linear_rows(limits, x))
    if found.failed >= 0:
        raise NoWay(found)
    return found.x


def _converged(limits: PathLimits, x: np.ndarray, passes: int = PASSES, slower: int = 0) -> np.ndarray:
    """The profile at which repeated passes from a first one (N, 5) end.

    Tangents at a profile far too fast forbid the slow ones: up to `slower` times it may be halved instead.
    """
    for _ in range(passes):
        while True:
            try:
                found = _passed(limits, x)
                break
            except NoWay:
                if slower <= 0:
                    raise
                x, slower = x / 4, slower - 1
        following = at_points(limits, found)
        moved = np.abs(np.sqrt(following) - np.sqrt(x)).max()
        x = following
        if moved <= SAME * np.sqrt(x.max()):
            break
    return found


def _from_scaled(grid: PathGrid, limits: PathLimits) -> np.ndarray:
    return _converged(limits, scaled_profile(grid, limits)[0])


def _from_relaxed(grid: PathGrid, limits: PathLimits) -> np.ndarray:
    """From a profile of wider limits, which are then tightened in steps that are halved where they fail."""
    for wider in RELAXED:
        relaxed = _times(limits, wider)
        try:
            x = _converged(relaxed, at_points(limits, _passed(relaxed, None)), slower=SLOWER)
            break
        except NoWay as problem:
            failure = problem
    else:
        raise failure
    exponent, step = 1.0, 0.25
    while wider > 1 and exponent > 0:
        goal = max(exponent - step, 0.0)
        try:
            passes = PASSES if goal == 0 else 3
            x = _converged(_times(limits, wider**goal), at_points(limits, x), passes, slower=2)
            exponent = goal
        except NoWay:
            step /= 2
            if step < 0.01:
                raise
    return x


def _times(limits: PathLimits, factor: float) -> PathLimits:
    return replace(limits, low=factor * limits.low, high=factor * limits.high)


def _excess(limits: PathLimits, x: np.ndarray) -> float:
    return float(limits.excess(at_points(limits, x), np.diff(x) / limits.ahead[:, 4]).max())


def has_gaps(limits: PathLimits, x: np.ndarray) -> bool:
    """Whether at some place speeds are admissible that have inadmissible ones below them.

    A sample of speeds, up to twice the profile's largest, is looked at in the middle of every interval.
    """
    y = 2 * np.sqrt(x.max()) * np.arange(LEVELS) / (LEVELS - 1)
    a, b, v, c, low, high = (
        z[:, 2, :, None] for z in (limits.a, limits.b, limits.v, limits.c, limits.low, limits.high)
    )
    rest = b * y**2 + v * y + c  # (N, m, LEVELS)
    least = max(1e-9 * np.abs(a).max(initial=0.0), 1e-200)
    per = 1 / np.where(np.abs(a) < least, np.copysign(least, a), a)
    one, other = (low - rest) * per, (high - rest) * per
    open_ = np.maximum(one, other).min(1) >= np.minimum(one, other).max(1)
    return bool((open_[:, 1:] & ~open_[:, :-1]).any())
