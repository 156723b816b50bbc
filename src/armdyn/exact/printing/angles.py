"""Sums of angles of parallel axes: c_2 c_3 − s_2 s_3 is printed c_23, and 1 − c_2² is printed s_2².

A polynomial in the cosines and sines of a run of parallel joints can be written in other angles: any set of
partial sums q_i + … + q_j that spans the run. For each coefficient the shortest form is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import flint

from armdyn.exact.engine.ring import Poly, Ring
from armdyn.expression import Expression
from armdyn.model.mechanism import FIXED_BASE, Mechanism
from armdyn.model.vector import apply, apply_transposed

Interval = tuple[int, int]  # joints of a run from the first to the last index, both included
Trig = tuple[str, tuple[int, ...], int]  # ("c" or "s", joints summed, exponent)
Small = dict[tuple[int, ...], Fraction]  # exponents of s_1 … s_g, c_1 … c_g -> coefficient
_ALL_BASES_UP_TO = 3


def parallel_runs(exact: Mechanism, joints: Sequence[str]) -> list[tuple[int, ...]]:
    """Runs of consecutive revolute joints with parallel, equally directed axes; single joints too.

    Where joints are related, cosines belong to coordinates, and each is a run of its own.
    """
    if exact.rows:
        return [(i,) for i, joint in enumerate(joints) if joint == "revolute"]
    runs: list[list[int]] = []
    run_of: dict[int, list[int]] = {}
    for i, body in enumerate(exact.bodies):
        if body.joint != "revolute":
            continue
        run = run_of.get(body.parent)
        if run is not None and run[-1] == body.parent and _parallel(exact, i):
            run.append(i)
        else:
            run = [i]
            runs.append(run)
        run_of[i] = run
    return [tuple(run) for run in runs]


def _parallel(exact: Mechanism, i: int) -> bool:
    body = exact.bodies[i]
    if body.parent == FIXED_BASE:
        return False
    parent = exact.bodies[body.parent]
    here = apply(body.R_before, body.axis)
    there = apply_transposed(parent.R_after, parent.axis)
    return all(Expression.of(a) == Expression.of(b) for a, b in zip(here, there, strict=True))


class AngleSums:
    """Writes the trigonometric part of polynomials of a ring in the shortest sums of angles."""

    def __init__(self, ring: Ring, runs: list[tuple[int, ...]]) -> None:
        self.ring = ring
        self.runs = [(run, [ring.index[f"{k}{j + 1}"] for k in "sc" for j in run]) for run in runs]

    def terms(self, poly: Poly) -> Iterator[tuple[Fraction, tuple[int, ...], tuple[Trig, ...]]]:
        """(coefficient, exponents with the trigonometric ones zero, trigonometric factors)."""
        found: dict[tuple[tuple[int, ...], tuple[Trig, ...]], Fraction] = {
            (m, ()): c for m, c in poly.terms().items()
        }
        for run, indices in self.runs:
            split: dict[tuple[tuple[int, ...], tuple[Trig, ...]], Small] = {}
            for (monomial, trig), coefficient in found.items():
                rest = list(monomial)
                for k in indices:
                    rest[k] = 0
                inside = tuple(monomial[k] for k in indices)
                split.setdefault((tuple(rest), trig), {})[inside] = coefficient
            found = {}
            for (outer, trig), small in split.items():
                for factors, coefficient in _shortest(run, small):
                    key = (outer, trig + factors)
                    found[key] = found.get(key, Fraction(0)) + coefficient
        for (rest_exponents, factors), coefficient in found.items():
            if coefficient:
                yield coefficient, rest_exponents, factors


def _shortest(run: tuple[int, ...], small: Small) -> list[tuple[tuple[Trig, ...], Fraction]]:
    lead = next(iter(small.values()))
    normalized = tuple((m, c / lead) for m, c in small.items())
    return [(factors, c * lead) for factors, c in _shortest_normalized(run, normalized)]


@cache
def _shortest_normalized(
    run: tuple[int, ...], small: tuple[tuple[tuple[int, ...], Fraction], ...]
) -> tuple[tuple[tuple[Trig, ...], Fraction], ...]:
    """The shortest form over all bases of the run; ties go to the simpler angles."""
    run, poly = _used_part(run, dict(small))
    if not run:
        return (((), next(iter(poly.values()))),)
    candidates: list[tuple[tuple[int, int], int, tuple[Interval, ...], Small]] = []
    for basis in _bases(len(run)):
        for form in _with_either_square(_rewritten(poly, basis), len(run)):
            used = [(b - a + 1) * e for m in form for (a, b), e in zip(basis * 2, m, strict=True) if e]
            candidates.append(((len(form), sum(used)), len(candidates), basis, form))
    _, _, basis, form = min(candidates, key=lambda c: (c[0], c[1]))
    return tuple((_factors(run, basis, m), c) for m, c in form.items())


def _used_part(run: tuple[int, ...], small: Small) -> tuple[tuple[int, ...], Small]:
    """The joints from the first to the last that occur, and the polynomial in these only."""
    g = len(run)
    used = [i for i in range(g) if any(m[i] or m[g + i] for m in small)]
    if not used:
        return (), small
    a, b = used[0], used[-1] + 1
    return run[a:b], {m[a:b] + m[g + a : g + b]: c for m, c in small.items()}


def _factors(
    run: tuple[int, ...], basis: tuple[Interval, ...], exponents: tuple[int, ...]
) -> tuple[Trig, ...]:
    g = len(run)
    found = []
    for i, (a, b) in enumerate(basis):
        joints = run[a : b + 1]
        if exponents[g + i]:
            found.append(("c", joints, exponents[g + i]))
        if exponents[i]:
            found.append(("s", joints, exponents[i]))
    return tuple(sorted(found, key=lambda t: (t[1], t[0])))


@cache
def _bases(g: int) -> tuple[tuple[Interval, ...], ...]:
    """Sets of g intervals that span g angles: spanning trees on the g + 1 partial sums.

    For long runs only the plain angles and the sums from either end.
    """
    plain = tuple((i, i) for i in range(g))
    if g > _ALL_BASES_UP_TO:
        return (plain, tuple((0, i) for i in range(g)), tuple((i, g - 1) for i in range(g)))
    intervals = [(a, b) for a in range(g) for b in range(a, g)]
    trees = [t for t in combinations(intervals, g) if _spans(t, g)]
    return (plain, *(t for t in trees if t != plain))


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
def _substitution(g: int, basis: tuple[Interval, ...]) -> tuple[Any, ...]:
    """sin and cos of the plain angles as polynomials in those of the basis."""
    context, gens, _ = _context(g)
    pairs = []
    for i in range(g):
        c, s = context.constant(1), context.constant(0)
        for k, sign in _path(basis, i, i + 1):
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


def _rewritten(small: Small, basis: tuple[Interval, ...]) -> Small:
    g = len(basis)
    if all(a == b for a, b in basis):
        return small
    context, _, relations = _context(g)
    poly = context.from_dict({m: flint.fmpq(c.numerator, c.denominator) for m, c in small.items()})
    poly = poly.compose(*_substitution(g, basis))
    for relation in relations:
        _, poly = divmod(poly, relation)
    return {m: Fraction(int(c.p), int(c.q)) for m, c in poly.to_dict().items()}


def _with_either_square(form: Small, g: int) -> Iterator[Small]:
    """The form as it is, and with c² replaced by 1 − s² for the angles where that shortens it."""
    yield form
    for i in range(g):
        other = _cosines_squared_out(form, i, g)
        if len(other) < len(form):
            form = other
    yield form


def _cosines_squared_out(form: Small, i: int, g: int) -> Small:
    result: Small = {}
    todo = list(form.items())
    while todo:
        m, c = todo.pop()
        if m[g + i] < 2:
            result[m] = result.get(m, Fraction(0)) + c
            continue
        lower = list(m)
        lower[g + i] -= 2
        todo.append((tuple(lower), c))
        lower[i] += 2
        todo.append((tuple(lower), -c))
    return {m: c for m, c in result.items() if c}
