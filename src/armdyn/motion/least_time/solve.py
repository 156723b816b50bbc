"""The fastest profile x(s) = ṡ² of a path under its limits.

Without viscous friction one pass gives it. With it, √x in the rows is replaced by its tangent at the profile
found last, and passes follow each other until the profile stays where it is: it then is the fastest under the
limits themselves, among its neighbours. The first tangents are those of the given motion scaled linearly; if
no profile follows from them, of the fastest motion without viscous friction, made slower until one does.
"""

from __future__ import annotations

import numpy as np

from armdyn.motion.least_time.passes import PathPass, path_pass
from armdyn.motion.least_time.path import PathGrid
from armdyn.motion.least_time.rows import PathLimits, linear_rows
from armdyn.motion.timing.rates import largest_rate

SAME = 1e-9  # of the top speed: a profile that changes less has converged
PASSES = 60
SLOWER = 20  # times that the first profile may be halved in speed


class NoWay(Exception):
    """No profile was found; the pass that found none says where."""

    def __init__(self, found: PathPass) -> None:
        super().__init__(found.failed)
        self.found = found


def best_profile(grid: PathGrid, limits: PathLimits, known: np.ndarray | None = None) -> np.ndarray:
    """x at the ends of the intervals (N + 1,); `known` (N, 5) is the best one, from another grid."""
    if not limits.has_viscous:
        return _passed(limits, None)
    for first in (known, scaled_profile(grid, limits)):
        if first is not None:
            try:
                return _converged(limits, first)
            except NoWay:
                pass
    first = limits.at_points(_passed(limits, None))
    for _ in range(SLOWER):
        try:
            return _converged(limits, first)
        except NoWay:
            first = first / 4  # tangents at a profile far too fast forbid the slow ones
    return _converged(limits, first)


def scaled_profile(grid: PathGrid, limits: PathLimits) -> np.ndarray:
    """The given motion's own profile (N, 5), scaled linearly in time to meet the limits at the points.

    As it is where no rate meets them.
    """
    x, u = grid.speed**2, grid.change
    rest = limits.c - (limits.low + limits.high) / 2
    torque = [limits.a * u[..., None] + limits.b * x[..., None], limits.v * grid.speed[..., None], rest]
    speed = [np.zeros_like(x), grid.speed, np.zeros_like(x)]
    A, B, C = (np.concatenate([y.ravel(), z.ravel()]) for y, z in zip(torque, speed, strict=True))
    bound = np.concatenate([((limits.high - limits.low) / 2).ravel(), np.sqrt(limits.inner).ravel()])
    rate = largest_rate(A, B, C, bound, np.inf).value
    return np.asarray(x * rate**2 if 0 < rate < np.inf else x)


def _passed(limits: PathLimits, x: np.ndarray | None) -> np.ndarray:
    """The profile of one pass with tangents at x (N, 5)."""
    found = path_pass(linear_rows(limits, x))
    if found.failed >= 0:
        raise NoWay(found)
    return found.x


def _converged(limits: PathLimits, x: np.ndarray) -> np.ndarray:
    """The profile at which repeated passes from a first one (N, 5) end."""
    for _ in range(PASSES):
        found = _passed(limits, x)
        following = limits.at_points(found)
        moved = np.abs(np.sqrt(following) - np.sqrt(x)).max()
        x = following
        if moved <= SAME * np.sqrt(x.max()):
            break
    return found
