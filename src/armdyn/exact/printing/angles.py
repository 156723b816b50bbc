"""Sums of angles, where they make formulas shorter: c_2 c_3 − s_2 s_3 is printed c_23, and 1 − c_2² is s_2².

A polynomial in the cosines and sines of a run of parallel joints can be written in other angles: any set of
partial sums q_i + … + q_j that spans the run. For each coefficient the shortest form is taken. One more form
is in no single set of angles: each pair c_a c_b + s_a s_b of sums from the run's start is one cosine, that of
their difference.

Whether the ring has the cosines of single angles or those of sums (`exact/runs.py`), a run is a list of
*blocks*: joints that only occur together count as one angle. Trying all sets of angles takes a time that
grows exponentially with the blocks, so it is done for few of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import flint

from armdyn.exact.ring import Poly, Ring
from armdyn.exact.runs import Run, picking

# ------------------------------------------------------------------------------------------------------------
# Cosines or sines: c² or 1 − s², whichever makes a polynomial shorter.


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


# ------------------------------------------------------------------------------------------------------------
# Angles of joints that are related: c_1 c_2 + s_1 s_2 is printed cos(ϑ_2 − ϑ_1), 2 c_1² − 1 as cos(2 ϑ_1).
#
# There the angles of links are whole multiples of coordinates, added and subtracted. A polynomial in cosines
# and sines is a sum of cosines and sines of such angles in one way only. For each coefficient the shortest
# is taken of that form, of products, and of products in which pairs such as c_1 c_2 + s_1 s_2 are one
# cosine.
#
# A sum of angles is the tuple of its joints: one stands there as often as it counts, ~j instead of j where
# it is subtracted.


WrittenInMultiples = list[tuple[tuple[Trig, ...], Any]]
Angle = tuple[int, ...]  # how often each coordinate of a run is in it
Wave = tuple[str, Angle]  # ("c" or "s", angle)
_MOST = 8  # factors of a monomial that is split into waves: 2^8 of them at most


@cache
def in_multiples(
    run: Run, small: tuple[tuple[tuple[int, ...], Any], ...], summed: bool
) -> WrittenInMultiples:
    """A polynomial in the cosines and sines of a run; there are none of sums among these generators."""
    assert not summed
    products = with_either_square(dict(small), len(run))
    forms: list[WrittenInMultiples] = [
        [(_factors_of_run(run, m), c) for m, c in form.items()] for form in products
    ]
    forms.append(_in_pairs(run, dict(small)))
    if all(sum(m) <= _MOST for m, _ in small):
        forms.append(_in_waves(run, small))
    return min(forms, key=len)  # the first of those that are equally short


def _factors_of_run(run: Run, exponents: tuple[int, ...], *further: Trig) -> tuple[Trig, ...]:
    g = len(run)
    found = [(kind, (j,), exponents[at * g + i]) for i, j in enumerate(run) for at, kind in enumerate("sc")]
    return tuple(sorted((*(f for f in found if f[2]), *further), key=lambda t: (t[1], t[0])))


def _joints(run: Run, angle: Angle) -> tuple[int, ...]:
    return tuple(x for j, k in zip(run, angle, strict=True) for x in [j if k > 0 else ~j] * abs(k))


# ---- pairs -----------------------------------------------------------------------------------------------


def _in_pairs(run: Run, form: Small) -> WrittenInMultiples:
    """Products, with c_a c_b ∓ s_a s_b as cos(ϑ_b ± ϑ_a), and s_b c_a ± c_b s_a as sin(ϑ_b ± ϑ_a)."""
    g, left, found = len(run), dict(form), WrittenInMultiples()
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
            found.append((_factors_of_run(run, tuple(rest), ("c" if cosine else "s", joints, 1)), first))
    return [*((_factors_of_run(run, m), c) for m, c in left.items()), *found]


def _two_factors(exponents: tuple[int, ...], g: int) -> Iterator[tuple[int, int, int, int]]:
    """Coordinates a < b of which a monomial has factors, and the kinds of these: 0 a sine, 1 a cosine."""
    for a in range(g):
        for b in range(a + 1, g):
            for x in (0, 1):
                for y in (0, 1):
                    if exponents[x * g + a] and exponents[y * g + b]:
                        yield a, b, x, y


# ---- waves -----------------------------------------------------------------------------------------------


def _in_waves(run: Run, small: tuple[tuple[tuple[int, ...], Any], ...]) -> WrittenInMultiples:
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


# ------------------------------------------------------------------------------------------------------------
# Sums of angles of parallel axes.


Interval = tuple[int, int]  # blocks of a run from the first to the last index, both included
Factors = tuple[tuple[str, int], ...]  # generators by name, exponents
Factor = tuple[str, Interval, int]  # ("c" or "s", blocks summed, exponent)
Written = tuple[tuple[tuple[Factor, ...], Any], ...]
_ALL_BASES_UP_TO = 3


class AngleSums:
    """Writes the trigonometric part of polynomials of a ring in the shortest sums of angles."""

    def __init__(self, ring: Ring, runs: list[Run]) -> None:
        within = {j for run in ring.related for j in run}
        runs = [*ring.related, *(run for run in runs if not within & set(run))]
        self.runs = runs
        self._written = [in_multiples if run in ring.related else _shortest for run in runs]
        self._summed = [len(ring.summed[run[-1]]) > 1 for run in runs]
        inside = [[ring.index[names[j]] for names in (ring.sines, ring.cosines) for j in run] for run in runs]
        self._inside = [picking(indices) for indices in inside]
        trig = {k for indices in inside for k in indices}
        rest = [k for k in range(len(ring.names)) if k not in trig]
        self._rest, self._names = picking(rest), [ring.names[k] for k in rest]
        self._factors: dict[tuple[int, ...], Factors] = {}

    def terms(self, poly: Poly) -> Iterator[tuple[Fraction, Factors, tuple[Trig, ...]]]:
        """(coefficient, factors without cosines and sines, cosines and sines)."""
        found: dict[tuple[Any, ...], Any] = {
            (self._rest(m), (), *[inside(m) for inside in self._inside]): c
            for m, c in poly.p.to_dict().items()
        }
        for run, summed, written in zip(self.runs, self._summed, self._written, strict=True):
            split: dict[tuple[Any, ...], Small] = {}
            for (rest, trig, inside, *others), coefficient in found.items():
                split.setdefault((rest, trig, *others), {})[inside] = coefficient
            found = {}
            for (rest, trig, *others), small in split.items():
                lead = next(iter(small.values()))
                normalized = tuple([(m, c / lead) for m, c in small.items()])
                for factors, c in written(run, normalized, summed):
                    key, coefficient = (rest, trig + factors, *others), c * lead
                    found[key] = found[key] + coefficient if key in found else coefficient
        for (rest, trig), c in found.items():
            if c:
                yield Fraction(int(c.p), int(c.q)), self._named(rest), trig

    def _named(self, exponents: tuple[int, ...]) -> Factors:
        if exponents not in self._factors:
            pairs = zip(self._names, exponents, strict=True)
            self._factors[exponents] = tuple((name, e) for name, e in pairs if e)
        return self._factors[exponents]


@cache
def _shortest(
    run: Run, small: tuple[tuple[tuple[int, ...], Any], ...], summed: bool
) -> list[tuple[tuple[Trig, ...], Any]]:
    """A polynomial in the generators of a run; `summed`: they are those of the sums from its start."""
    blocks, part = _used_sums(run, dict(small)) if summed else _used_part(run, dict(small))
    if not blocks:
        return [((), c) for c in part.values()]
    written = _shortest_written(len(blocks), summed, tuple(part.items()))
    return [(_joined(blocks, factors), c) for factors, c in written]


def _joined(blocks: list[Run], factors: tuple[Factor, ...]) -> tuple[Trig, ...]:
    found = [(kind, sum(blocks[a : b + 1], ()), e) for kind, (a, b), e in factors]
    return tuple(sorted(found, key=lambda t: (t[1], t[0])))


def _used_part(run: Run, small: Small) -> tuple[list[Run], Small]:
    """The joints from the first to the last that occur, and the polynomial in these only."""
    g = len(run)
    used = [i for i in range(g) if any(m[i] or m[g + i] for m in small)]
    if not used:
        return [], small
    a, b = used[0], used[-1] + 1
    return [(j,) for j in run[a:b]], {m[a:b] + m[g + a : g + b]: c for m, c in small.items()}


def _used_sums(run: Run, small: Small) -> tuple[list[Run], Small]:
    """The sums that occur, what each adds to the one before it, and the polynomial in these only."""
    g = len(run)
    used = [i for i in range(g) if any(m[i] or m[g + i] for m in small)]
    blocks = [run[a + 1 : b + 1] for a, b in zip([-1, *used], used, strict=False)]
    return blocks, {tuple(m[k + i] for k in (0, g) for i in used): c for m, c in small.items()}


@cache
def _shortest_written(g: int, summed: bool, small: tuple[tuple[tuple[int, ...], Any], ...]) -> Written:
    """The shortest form over all bases of g blocks; ties go to the simpler angles."""
    poly = dict(small)
    candidates: list[Written] = []
    for basis in _bases(g, summed):
        forms = with_either_square(_rewritten(poly, basis, summed), g)
        candidates += [tuple((_factors(basis, m), c) for m, c in form.items()) for form in forms]
    if g > 1:
        candidates.append(_differences(_rewritten(poly, _from_start(g), summed), g))
    return min(candidates, key=_length)  # the first of those that are equally short


def _length(written: Written) -> tuple[int, int]:
    return len(written), sum((b - a + 1) * e for factors, _ in written for _, (a, b), e in factors)


def _factors(basis: tuple[Interval, ...], exponents: tuple[int, ...]) -> tuple[Factor, ...]:
    g = len(basis)
    sines = [("s", interval, exponents[i]) for i, interval in enumerate(basis)]
    cosines = [("c", interval, exponents[g + i]) for i, interval in enumerate(basis)]
    return tuple(f for f in (*sines, *cosines) if f[2])


def _plain(g: int) -> tuple[Interval, ...]:
    return tuple((i, i) for i in range(g))


def _from_start(g: int) -> tuple[Interval, ...]:
    return tuple((0, i) for i in range(g))


@cache
def _bases(g: int, summed: bool) -> tuple[tuple[Interval, ...], ...]:
    """Sets of g intervals that span g angles: spanning trees on the g + 1 partial sums.

    For many blocks only the plain angles and the sums from either end; in a ring of sums only those from the
    start, because other angles would make it exponentially longer.
    """
    if g > _ALL_BASES_UP_TO:
        others = () if summed else (_plain(g), tuple((i, g - 1) for i in range(g)))
        return (*others[:1], _from_start(g), *others[1:])
    intervals = [(a, b) for a in range(g) for b in range(a, g)]
    trees = [t for t in combinations(intervals, g) if _spans(t, g)]
    return (_plain(g), *(t for t in trees if t != _plain(g)))


def _spans(basis: tuple[Interval, ...], g: int) -> bool:
    component = list(range(g + 1))
    for a, b in basis:
        x, y = component[a], component[b + 1]
        if x == y:
            return False
        component = [x if c == y else c for c in component]
    return True


@cache
def _context(g: int) -> tuple[Any, tuple[Any, ...], list[Any]]:
    names = [f"s{i}" for i in range(g)] + [f"c{i}" for i in range(g)]
    context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.degrevlex)
    gens = context.gens()
    return context, gens, [gens[i] ** 2 + gens[g + i] ** 2 - 1 for i in range(g)]


@cache
def _substitution(g: int, basis: tuple[Interval, ...], summed: bool) -> tuple[Any, ...]:
    """sin and cos of the angles of the ring as polynomials in those of the basis."""
    context, gens, _ = _context(g)
    pairs = []
    for i in range(g):
        c, s = context.constant(1), context.constant(0)
        for k, sign in _path(basis, 0 if summed else i, i + 1):
            ck, sk = gens[g + k], sign * gens[k]
            c, s = c * ck - s * sk, s * ck + c * sk
        pairs.append((s, c))
    return (*(s for s, _ in pairs), *(c for _, c in pairs))


def _path(basis: tuple[Interval, ...], start: int, end: int) -> list[tuple[int, int]]:
    """Basis angles, with signs, that lead from one partial sum to another."""
    todo: list[tuple[int, list[tuple[int, int]]]] = [(start, [])]
    seen = {start}
    while todo:
        node, path = todo.pop()
        if node == end:
            return path
        for k, (a, b) in enumerate(basis):
            for x, y, sign in ((a, b + 1, 1), (b + 1, a, -1)):
                if x == node and y not in seen:
                    seen.add(y)
                    todo.append((y, [*path, (k, sign)]))
    raise AssertionError("a basis spans its run")


def _rewritten(small: Small, basis: tuple[Interval, ...], summed: bool) -> Small:
    g = len(basis)
    if basis == (_from_start(g) if summed else _plain(g)):
        return small
    context, _, relations = _context(g)
    poly = context.from_dict(small)
    poly = poly.compose(*_substitution(g, basis, summed))
    for relation in relations:
        _, poly = divmod(poly, relation)
    return dict(poly.to_dict())


def _differences(form: Small, g: int) -> Written:
    """A form in sums from the start with k(c_a c_b + s_a s_b) as a cosine, k(c_a s_b − s_a c_b) as a sine."""
    left = dict(form)
    found: list[tuple[tuple[Factor, ...], Any]] = []
    for m, c in form.items():
        used = [i for i, e in enumerate(m) if e == 1]
        if len(used) != 2 or sum(m) != 2 or m not in left or used[0] % g == used[1] % g:
            continue
        (x, a), (y, b) = sorted((divmod(i, g) for i in used), key=lambda kind: kind[1])  # x, y: 0 is a sine
        kind, sign = ("c", 1) if x == y else ("s", -1)
        partner = [0] * (2 * g)
        partner[(1 - x) * g + a] = partner[(1 - y) * g + b] = 1
        if left.get(tuple(partner)) == sign * c:
            del left[m], left[tuple(partner)]
            value = c if kind == "c" or y == 0 else -c  # y is a sine: c_a s_b − s_a c_b = sin(φ_b − φ_a)
            found.append((((kind, (a + 1, b), 1),), value))
    rest = list(with_either_square(left, g))[-1]
    return (*((_factors(_from_start(g), m), c) for m, c in rest.items()), *found)
