"""Least time along a path: one pass back, one forth, over rows that bound the path's acceleration.

State x = ṡ², control u = s̈, constant on each of N intervals: x changes by 2Δu (Δ in s). On interval i every
row j asks low_ij ≤ u − slope_ij x ≤ high_ij, with x at the interval's start. So at given x the u allowed are
those between the largest lower and the smallest upper line, and as the gap between these is concave in x, the
x for which there are any form an interval. Going back, the interval of those x from which the end can be
reached is found; going forth, u is as large as this leaves it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from armdyn.kernels import cache as objects
from armdyn.kernels.backends import get_backend
from armdyn.kernels.llvm.machine import compile_ir, load_object, loaded, lock, toolchain
from armdyn.kernels.loops.path_pass_ir import path_pass_ir

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
    """The passes, compiled; by `path_pass_reference` where functions are evaluated instead."""
    if get_backend() == "evaluator":
        return path_pass_reference(rows)
    count, m = rows.slope.shape
    x, u, reach = np.zeros(count + 1), np.zeros(count), np.zeros((count + 1, 2))
    where = np.full(2, -1, np.int64)
    given = [
        np.ascontiguousarray(array, float)
        for array in (rows.step, rows.slope, rows.low, rows.high, rows.most)
    ]
    expected = [(count,), *[(count, m)] * 3, (count + 1,)]
    if [array.shape for array in given] != expected:
        raise ValueError(f"rows of shapes {[array.shape for array in given]}; expected {expected}")
    failed = _compiled()(count, m, *(array.ctypes.data for array in (*given, x, u, reach, where)))
    return PathPass(x, u, reach, failed, int(where[0]), int(where[1]))


@cache
def _compiled() -> Any:
    """The machine code, from the cache on disk where it is there."""
    key = objects.digest_of("path_pass", objects.code_digest(), toolchain())
    name = f"path_pass_{key[:24]}"
    with lock():
        addresses = loaded([name])
        if addresses is None:
            code = objects.read(key)
            if code is None:
                code = compile_ir(path_pass_ir(name))
                objects.write(key, code)
            addresses = load_object(code, [name])
    whole, pointer = ctypes.c_int64, ctypes.c_void_p
    return ctypes.CFUNCTYPE(whole, whole, whole, *[pointer] * 9)(addresses[0])


def path_pass_reference(rows: PathRows) -> PathPass:
    """The passes in plain Python: what the compiled ones are measured against."""
    count = len(rows.slope)
    x, u, reach = np.zeros(count + 1), np.zeros(count), np.zeros((count + 1, 2))
    reach[count, 1] = rows.most[count]
    for i in range(count - 1, -1, -1):
        lines = _lines(rows, i, reach[i + 1])
        top, upper, lower = _down(*lines, float(rows.most[i]))
        if top < 0:
            return PathPass(x, u, reach, i, upper, lower)
        reach[i] = _up(*lines, top), top
    x[0] = reach[0, 1]
    for i in range(count):
        slope, low, high = _lines(rows, i, reach[i + 1])
        here, _, _ = _down(slope, low, high, float(x[i]))  # takes off what rounding may have added
        here = float(x[i]) if here < 0 else here
        u[i] = np.min(high + slope * here)
        x[i + 1] = min(max(here + rows.step[i] * u[i], reach[i + 1, 0]), reach[i + 1, 1])
    return PathPass(x, u, reach, -1, -1, -1)


def _lines(rows: PathRows, i: int, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slope, low and high of the rows of an interval and of the row that leads into `reach`."""
    step = rows.step[i]
    return (
        np.append(rows.slope[i], -1 / step),
        np.append(rows.low[i], reach[0] / step),
        np.append(rows.high[i], reach[1] / step),
    )


def _down(slope: np.ndarray, low: np.ndarray, high: np.ndarray, x: float) -> tuple[float, int, int]:
    """The largest x not above the given one that has a u, or −1; and the rows met last.

    Newton's method on the concave gap: a step leads to where the two rows that exclude each other meet, and
    passes over no x that has a u.
    """
    while True:
        j, k = int(np.argmin(high + slope * x)), int(np.argmax(low + slope * x))
        if high[j] + slope[j] * x >= low[k] + slope[k] * x:
            return x, j, k
        tilt = slope[j] - slope[k]
        meet = (low[k] - high[j]) / tilt if tilt < 0 else -1.0
        if meet < 0:
            return -1.0, j, k
        if not meet < x:
            return x, j, k
        x = meet


def _up(slope: np.ndarray, low: np.ndarray, high: np.ndarray, top: float) -> float:
    """The least x that has a u; there is one, `top`."""
    x = 0.0
    while True:
        j, k = int(np.argmin(high + slope * x)), int(np.argmax(low + slope * x))
        tilt = slope[j] - slope[k]
        if high[j] + slope[j] * x >= low[k] + slope[k] * x or tilt <= 0:
            return x
        meet = (low[k] - high[j]) / tilt
        if not x < meet:
            return x
        if meet >= top:
            return top
        x = meet
