"""Least time along a path: one pass back, one forth, over rows that bound the path's acceleration.

State x = ṡ², control u = s̈, constant on each of N intervals: x changes by 2Δu (Δ in s). On interval i every
row j asks low_ij ≤ u − slope_ij x ≤ high_ij, with x at the interval's start. So at given x the u allowed are
those between the largest lower and the smallest upper line, and as the gap between these is concave in x, the
x for which there are any form an interval. Going back, the interval of those x from which the end can be
reached is found; going forth, u is as large as this leaves it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any

import numpy as np

from armdyn.kernels.loop_kernel import LoopKernel
from armdyn.program import record
from armdyn.program.loops import (
    Argument,
    Block,
    Call,
    Copy,
    Count,
    Counter,
    Fetch,
    For,
    If,
    Int,
    Local,
    Loop,
    Save,
    Set,
    Slice,
    While,
)
from armdyn.program.program import Program

# ------------------------------------------------------------------------------------------------------------
# The passes as a loop, for one path or several.
#
# Row j of interval i is row i·rows + j of `slope`, `low` and `high`. `failure` is the interval at which the
# way back found no x, or −1, and the rows of the upper and the lower line there that exclude each other.


COUNT, ROWS, I, J = Count("count"), Count("rows"), Counter("i"), Counter("j")
STEP, SLOPE, LOW, HIGH, LARGEST = (Argument(name, 1) for name in ("step", "slope", "low", "high", "most"))
X, U = Argument("x", 1, written=True), Argument("u", 1, written=True)
REACH, FAILURE = Argument("reach", 2, written=True), Argument("failure", 3, written=True)

x, start, step, zero, going, lost, fine = (
    Local(name, 1) for name in ("x", "start", "step", "zero", "going", "lost", "fine")
)
reach, failure = Local("reach", 2), Local("failure", 3)  # failure: interval, upper and lower row
row, into = Local("row", 3), Local("into", 3)  # slope, low, high; `into`: the row that leads into `reach`
lines, closer = Local("lines", 2), Local("closer", 2)  # u at x of a row's upper and lower line
upper, lower = Local("upper", 4), Local("lower", 4)  # a line: u at x, slope, u at x = 0, number of its row


def passes() -> Loop:
    """The loop of both passes: back and, where that finds a way, forth."""
    back = (
        Fetch(reach[1], LARGEST, COUNT),
        Save(REACH, COUNT, reach.all),
        Set(failure[0], -1),
        Set(failure[1], -1),
        Set(failure[2], -1),
        Set(fine.all, 1),
        For(I, 0, COUNT, (If(fine.all, _back()),), backwards=True),
        Save(FAILURE, 0, failure.all),
    )
    forth = (
        Copy(x.all, reach[1]),
        Save(X, 0, x.all),
        For(I, 0, COUNT, _forth()),
    )
    return Loop(
        "least_time",
        (COUNT, ROWS),
        (STEP, SLOPE, LOW, HIGH, LARGEST, X, U, REACH, FAILURE),
        (*back, If(fine.all, forth)),
        _programs(),
    )


def _back() -> Block:
    """The x of an interval's start from which `reach` at its end can be reached."""
    none = (Set(failure[0], I), Copy(failure[1], upper[3]), Copy(failure[2], lower[3]), Set(fine.all, 0))
    some = (
        Copy(reach[1], x.all),
        Set(x.all, 0),
        *_search("up", reach[1]),
        If(lost.all, (Copy(x.all, reach[1]),)),
        Copy(reach[0], x.all),
        Save(REACH, I, reach.all),
    )
    return (*_lead_into(), Fetch(x.all, LARGEST, I), *_search("down", zero.all), If(lost.all, none, some))


def _forth() -> Block:
    """The largest u at x, and the x at the interval's end."""
    return (
        Fetch(reach.all, REACH, I + 1),
        *_lead_into(),
        Copy(start.all, x.all),
        *_search("down", zero.all),  # takes off what rounding may have added
        If(lost.all, (Copy(x.all, start.all), *_lines())),
        Save(U, I, upper[0]),
        Call("onward", (x.all, step.all, upper[0], reach.all), (x.all,)),
        Save(X, I + 1, x.all),
    )


def _lead_into() -> Block:
    return Fetch(step.all, STEP, I), Call("into", (step.all, reach.all), (into.all,))


def _search(way: str, end: Slice) -> Block:
    """The nearest x on the way to `end` that has a u, or `lost`.

    Newton's method on the concave gap: a step leads to where the two rows that exclude each other meet, and
    passes over no x that has a u. It ends with `upper` and `lower` at the x found.
    """
    step = Call(way, (x.all, end, upper.all, lower.all), (x.all, going.all, lost.all))
    return Set(going.all, 1), While(going.all, (*_lines(), step))


def _lines() -> Block:
    """The smallest upper and the largest lower line at x."""
    k = I * ROWS + J
    look = (
        Fetch(row[0], SLOPE, k),
        Fetch(row[1], LOW, k),
        Fetch(row[2], HIGH, k),
        Call("look", (x.all, row.all, upper[0], lower[0]), (lines.all, closer.all)),
        If(closer[0], _take(upper, lines[0], row, 2, J)),
        If(closer[1], _take(lower, lines[1], row, 1, J)),
    )
    return (
        Call("lines", (x.all, into.all), (lines.all,)),
        *_take(upper, lines[0], into, 2, ROWS),
        *_take(lower, lines[1], into, 1, ROWS),
        For(J, 0, ROWS, look),
    )


def _take(line: Local, u: Slice, row: Local, bound: int, number: Int) -> Block:
    return Copy(line[0], u), Copy(line[1], row[0]), Copy(line[2], row[bound]), Set(line[3], number)


def _programs() -> dict[str, Program]:
    at = [("x", 1), ("row", 3)]
    search = [("x", 1), ("end", 1), ("upper", 4), ("lower", 4)]
    onward = [("x", 1), ("step", 1), ("u", 1), ("reach", 2)]
    next_ = [("x", (1,)), ("going", (1,)), ("lost", (1,))]
    return {
        "into": record(_into, [("step", 1), ("reach", 2)], [("row", (3,))]),
        "lines": record(_two_lines, at, [("lines", (2,))]),
        "look": record(_look, [*at, ("upper", 1), ("lower", 1)], [("lines", (2,)), ("closer", (2,))]),
        "down": record(partial(_newton, -1), search, next_),
        "up": record(partial(_newton, 1), search, next_),
        "onward": record(_onward, onward, [("x", (1,))]),
    }


def _into(step: Any, reach: Any) -> Any:
    return [-1 / step[0], reach[0] / step[0], reach[1] / step[0]]


def _two_lines(x: Any, row: Any) -> Any:
    """The upper and the lower line of a row, at x."""
    slope, low, high = row
    return [high + slope * x[0], low + slope * x[0]]


def _look(x: Any, row: Any, upper: Any, lower: Any) -> Any:
    """The lines of a row, and whether they are closer than those known."""
    a, b = _two_lines(x, row)
    return [a, b], [upper[0] - a, b - lower[0]]


def _newton(sign: int, x: Any, end: Any, upper: Any, lower: Any) -> Any:
    """x, or where the lines meet on the way to `end`; whether to go on from there; whether there is no x."""
    tilt = upper[1] - lower[1]
    meet = (lower[2] - upper[2]) / tilt
    closed, opens = lower[0] - upper[0], sign * tilt
    outside, ahead = sign * (meet - end[0]), sign * (meet - x[0])
    lost = closed.select(opens.select(outside.select(1, 0), 1), 0)
    going = closed.select(opens.select(outside.select(0, ahead.select(1, 0)), 0), 0)
    return [going.select(meet, x[0])], [going], [lost]


def _onward(x: Any, step: Any, u: Any, reach: Any) -> Any:
    free = x[0] + step[0] * u[0]
    raised = (reach[0] - free).select(reach[0], free)
    return [(raised - reach[1]).select(reach[1], raised)]


# ------------------------------------------------------------------------------------------------------------
# The passes, called with arrays.


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
    """Result of both passes along one path."""
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
