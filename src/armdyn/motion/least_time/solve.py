"""The fastest profile x(s) = ṡ² of a path under its limits.

Without viscous friction one pass gives it. With it, √x in the rows is replaced by its tangent at the profile
found last, and passes follow each other until the profile stays where it is: it then is the fastest under the
limits themselves, among its neighbours. The first tangents are those of the fastest motion without viscous
friction, made slower until a profile follows from them. The same holds for all friction that depends on speed
in another way.
"""

from __future__ import annotations

import numpy as np

from armdyn.motion.least_time.passes import PathPass, path_pass
from armdyn.motion.least_time.rows import PathLimits, linear_rows

SAME = 1e-9  # of the top speed: a profile that changes less has converged
PASSES = 60
SLOWER = 20  # times that the first profile may be halved in speed


class NoWay(Exception):
    """No profile was found; the pass that found none says where."""

    def __init__(self, found: PathPass) -> None:
        super().__init__(found.failed)
        self.found = found


def best_profile(limits: PathLimits, known: np.ndarray | None = None) -> np.ndarray:
    """x at the ends of the intervals (N + 1,); `known` (N, 5) is the best one, from another grid."""
    if limits.is_linear:
        return _passed(limits, None)
    if known is not None:
        try:
            return _converged(limits, known)
        except NoWay:
            pass
    first = limits.at_points(_passed(limits, None))
    for _ in range(SLOWER):
        try:
            return _converged(limits, first)
        except NoWay:
            first = first / 4  # tangents at a profile far too fast forbid the slow ones
    return _converged(limits, first)


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
