"""Sums of angles of parallel axes: c_2 c_3 − s_2 s_3 is printed c_23, and 1 − c_2² is printed s_2².

A polynomial in the cosines and sines of a run of parallel joints can be written in other angles: any set of
partial sums q_i + … + q_j that spans the run. For each coefficient the shortest form is taken. One more form
is in no single set of angles: each pair c_a c_b + s_a s_b of sums from the run's start is one cosine, that of
their difference.

Whether the ring has the cosines of single angles or those of sums (`engine.runs`), a run is a list of
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

from armdyn.exact.engine.ring import Poly, Ring
from armdyn.exact.engine.runs import Run, picking
from armdyn.exact.printing.angles.multiples import in_multiples
from armdyn.exact.printing.angles.squares import Small, Trig, with_either_square

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
                for factors, coefficient in written(run, small, summed):
                    key = (rest, trig + factors, *others)
                    found[key] = found[key] + coefficient if key in found else coefficient
        for (rest, trig), c in found.items():
            if c:
                yield Fraction(int(c.p), int(c.q)), self._named(rest), trig

    def _named(self, exponents: tuple[int, ...]) -> Factors:
        if exponents not in self._factors:
            pairs = zip(self._names, exponents, strict=True)
            self._factors[exponents] = tuple((name, e) for name, e in pairs if e)
        return self._factors[exponents]


def _shortest(run: Run, small: Small, summed: bool) -> list[tuple[tuple[Trig, ...], Any]]:
    """A polynomial in the generators of a run; `summed`: they are those of the sums from its start."""
    lead = next(iter(small.values()))
    normalized = tuple([(m, c / lead) for m, c in small.items()])
    return [(factors, c * lead) for factors, c in _in_joints(run, normalized, summed)]


@cache
def _in_joints(
    run: Run, small: tuple[tuple[tuple[int, ...], Any], ...], summed: bool
) -> list[tuple[tuple[Trig, ...], Any]]:
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
