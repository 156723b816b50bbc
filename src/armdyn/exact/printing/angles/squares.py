"""Cosines or sines: what is written c² or 1 − s², whichever makes a polynomial shorter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Small = dict[tuple[int, ...], Any]  # exponents of s_1 … s_g, c_1 … c_g -> coefficient, a number of FLINT
Trig = tuple[str, tuple[int, ...], int]  # ("c" or "s", joints summed, exponent)


def with_either_square(form: Small, g: int) -> Iterator[Small]:
    """The form as it is, and with c² replaced by 1 − s² for the angles where that shortens it."""
    yield form
    for i in range(g):
        other = _cosines_squared_out(form, i, g)
        if len(other) < len(form):
            form = other
    yield form


def _cosines_squared_out(form: Small, i: int, g: int) -> Small:
    if all(m[g + i] < 2 for m in form):
        return form
    result: Small = {}
    todo = list(form.items())
    while todo:
        m, c = todo.pop()
        if m[g + i] < 2:
            result[m] = result.get(m, 0) + c
            continue
        lower = list(m)
        lower[g + i] -= 2
        todo.append((tuple(lower), c))
        lower[i] += 2
        todo.append((tuple(lower), -c))
    return {m: c for m, c in result.items() if c}
