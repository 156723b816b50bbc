"""Angles of joints that are related: c_1 c_2 + s_1 s_2 is printed cos(ϑ_2 − ϑ_1), 2 c_1² − 1 as cos(2 ϑ_1).

There the angles of links are whole multiples of coordinates, added and subtracted. A polynomial in cosines
and sines is a sum of cosines and sines of such angles in one way only. For each coefficient the shortest is
taken of that form, of products, and of products in which pairs such as c_1 c_2 + s_1 s_2 are one cosine.

A sum of angles is the tuple of its joints: one stands there as often as it counts, ~j instead of j where it
is subtracted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import flint

from armdyn.exact.engine.runs import Run
from armdyn.exact.printing.angles.squares import Small, Trig, with_either_square

Written = list[tuple[tuple[Trig, ...], Any]]
Angle = tuple[int, ...]  # how often each coordinate of a run is in it
Wave = tuple[str, Angle]  # ("c" or "s", angle)
_MOST = 8  # factors of a monomial that is split into waves: 2^8 of them at most


def in_multiples(run: Run, small: Small, summed: bool = False) -> Written:
    """A polynomial in the cosines and sines of a run; there are none of sums among these generators."""
    assert not summed
    lead = next(iter(small.values()))
    normalized = tuple((m, c / lead) for m, c in small.items())
    return [(factors, c * lead) for factors, c in _shortest(run, normalized)]


@cache
def _shortest(run: Run, small: tuple[tuple[tuple[int, ...], Any], ...]) -> Written:
    products = with_either_square(dict(small), len(run))
    forms: list[Written] = [[(_factors(run, m), c) for m, c in form.items()] for form in products]
    forms.append(_in_pairs(run, dict(small)))
    if all(sum(m) <= _MOST for m, _ in small):
        forms.append(_in_waves(run, small))
    return min(forms, key=len)  # the first of those that are equally short


def _factors(run: Run, exponents: tuple[int, ...], *further: Trig) -> tuple[Trig, ...]:
    g = len(run)
    found = [(kind, (j,), exponents[at * g + i]) for i, j in enumerate(run) for at, kind in enumerate("sc")]
    return tuple(sorted((*(f for f in found if f[2]), *further), key=lambda t: (t[1], t[0])))


def _joints(run: Run, angle: Angle) -> tuple[int, ...]:
    return tuple(x for j, k in zip(run, angle, strict=True) for x in [j if k > 0 else ~j] * abs(k))


# ---- pairs -----------------------------------------------------------------------------------------------


def _in_pairs(run: Run, form: Small) -> Written:
    """Products, with c_a c_b ∓ s_a s_b as cos(ϑ_b ± ϑ_a), and s_b c_a ± c_b s_a as sin(ϑ_b ± ϑ_a)."""
    g, left, found = len(run), dict(form), Written()
    for m, c in form.items():
        for a, b, x, y in _two_factors(m, g):
            partner = list(m)
            for i, kind in ((a, x), (b, y)):
                partner[kind * g + i] -= 1
                partner[(1 - kind) * g + i] += 1
            other = left.get(tuple(partner))
            if m not in left or other is None or other not in (c, -c):
                continue
            del left[m], left[tuple(partner)]
            rest = list(m)
            rest[x * g + a] -= 1
            rest[y * g + b] -= 1
            cosine, added = x == y, (other == c) != (x == y)
            first = c if cosine or y == 0 else other  # the coefficient of c_a c_b, or of s_b c_a
            if cosine and x == 0:
                first = other
            joints = (run[a] if added else ~run[a], run[b])
            found.append((_factors(run, tuple(rest), ("c" if cosine else "s", joints, 1)), first))
    return [*((_factors(run, m), c) for m, c in left.items()), *found]


def _two_factors(exponents: tuple[int, ...], g: int) -> Iterator[tuple[int, int, int, int]]:
    """Coordinates a < b of which a monomial has factors, and the kinds of these: 0 a sine, 1 a cosine."""
    for a in range(g):
        for b in range(a + 1, g):
            for x in (0, 1):
                for y in (0, 1):
                    if exponents[x * g + a] and exponents[y * g + b]:
                        yield a, b, x, y


# ---- waves -----------------------------------------------------------------------------------------------


def _in_waves(run: Run, small: tuple[tuple[tuple[int, ...], Any], ...]) -> Written:
    """A sum of cosines and sines of multiples."""
    waves: dict[Wave, Any] = {}
    for m, c in small:
        for wave, value in _split(m).items():
            waves[wave] = waves.get(wave, 0) + c * value
    return [
        (((kind, _joints(run, angle), 1),) if any(angle) else (), c)
        for (kind, angle), c in waves.items()
        if c
    ]


@cache
def _split(exponents: tuple[int, ...]) -> dict[Wave, Any]:
    """Π s_i^a c_i^b as a sum of cosines and sines: cos x cos y = ½ cos(x + y) + ½ cos(x − y) and so on."""
    g, half = len(exponents) // 2, flint.fmpq(1, 2)
    found: dict[Wave, Any] = {("c", (0,) * g): flint.fmpq(1)}
    factors = [(i % g, "s" if i < g else "c") for i, e in enumerate(exponents) for _ in range(e)]
    for i, factor in factors:
        further: dict[Wave, Any] = {}
        for wave, c in found.items():
            for step in (1, -1):
                key, sign = _product(wave, i, factor, step)
                further[key] = further.get(key, 0) + sign * c * half
        found = further
    return found


def _product(wave: Wave, i: int, factor: str, step: int) -> tuple[Wave, int]:
    """One of the two waves of a wave times cos ϑ_i or sin ϑ_i: that of its angle + step·ϑ_i, with its sign.

    cos x sin y = ½ sin(x + y) − ½ sin(x − y) and sin x sin y = ½ cos(x − y) − ½ cos(x + y).
    """
    kind, angle = wave
    moved = tuple(k + step * (n == i) for n, k in enumerate(angle))
    sign = 1
    if factor == "s":
        sign = step if kind == "c" else -step
        kind = "s" if kind == "c" else "c"
    last = next((k for k in reversed(moved) if k), 0)
    if kind == "s":
        sign = sign if last > 0 else -sign if last < 0 else 0
    if last < 0:  # written with its last coordinate added: cos(ϑ_2 − ϑ_1)
        moved = tuple(-k for k in moved)
    return (kind, moved), sign
