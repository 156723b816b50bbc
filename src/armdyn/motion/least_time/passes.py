"""Least time along a path: one pass back, one forth, over rows that bound the path's acceleration.

State x = ṡ², control u = s̈, constant on each of N intervals: x changes by 2Δu (Δ in s). On interval i every
row j asks low_ij ≤ u − slope_ij x ≤ high_ij, with x at the interval's start. So at given x the u allowed are
those between the largest lower and the smallest upper line, and as the gap between these is concave in x, the
x for which there are any form an interval. Going back, the interval of those x from which the end can be
reached is found; going forth, u is as large as this leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.motion.least_time.passes_loop import passes

MOST = 1e18  # x beyond which a path takes no time: stands for infinity


@dataclass(frozen=True)
class PathRows:
    """The rows of N intervals."""

    step: np.ndarray  # (N,) 2Δ
    slope: np.ndarray  # (N, M)
    low: np.ndarray  # (N, M)
    high: np.ndarray  # (N, M)
    most: np.ndarray  # (N + 1,) upper bound of x, 0 where the path has to be at rest


@dataclass(frozen=True)
class PathPass:
    """x at the N + 1 ends of intervals and u on them, if `failed` is negative.

    Otherwise going back found no x at interval `failed`, where the rows `upper` and `lower` exclude each
    other (M stands for the row that says which x can reach the end).
    """

    x: np.ndarray  # (N + 1,)
    u: np.ndarray  # (N,)
    reach: np.ndarray  # (N + 1, 2) least and largest x from which the end can be reached
    failed: int
    upper: int
    lower: int


def path_pass(rows: PathRows) -> PathPass:
    """Both passes along one path."""
    count, m = rows.slope.shape
    given = {field.name: np.ascontiguousarray(getattr(rows, field.name), float) for field in fields(rows)}
    shapes, expected = [y.shape for y in given.values()], [(count,), *[(count, m)] * 3, (count + 1,)]
    if shapes != expected:
        raise ValueError(f"rows of shapes {shapes}; expected {expected}")
    sizes = {"x": (count + 1, 1), "u": (count, 1), "reach": (count + 1, 2), "failure": (1, 3)}
    found = {name: np.zeros((k, 1, columns)) for name, (k, columns) in sizes.items()}
    arguments = {name: y.reshape(-1, 1, 1) for name, y in given.items()}
    _kernel()(1, {"count": count, "rows": m}, {**arguments, **found})
    failed, upper, lower = (int(k) for k in found["failure"].ravel())
    return PathPass(found["x"].ravel(), found["u"].ravel(), found["reach"][:, 0], failed, upper, lower)


@cache
def _kernel() -> LoopKernel:
    return LoopKernel(passes())
