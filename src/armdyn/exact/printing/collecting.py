"""Collecting the terms of a sum as the book does.

By mass, m_{ℓ2}(a_1² + …); by gravity and angle, (…) g c_1; by what moves, (…)(ϑ̈_1 + ϑ̈_2) and (…)(ϑ̇_1 + ϑ̇_2)².
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import NamedTuple

from armdyn.exact.printing.angles import Factors, Trig
from armdyn.exact.printing.names import Roles

_MOTION = re.compile(r"(qdd?|sgnm?|bell|absr)\d+(_to_\d+|(_\d+)*)")


class Term(NamedTuple):
    """A product: a rational number, generators by name, trigonometric factors."""

    coefficient: Fraction
    factors: Factors
    trig: tuple[Trig, ...] = ()


class Product(NamedTuple):
    """A term with sums in it: one of constants in front of the angles, one of motion (to a power) behind."""

    term: Term
    inner: tuple[Product, ...] = ()
    motion: tuple[Product, ...] = ()
    power: int = 1


@cache
def is_motion(name: str) -> bool:
    """True if a generator is a velocity, an acceleration, a sign or another function that friction has."""
    return bool(_MOTION.fullmatch(name))


class Collector:
    """Collects sums in the symbols of one description."""

    def __init__(self, roles: Roles) -> None:
        self.roles = roles
        self._rank = cache(roles.rank)

    def collect(self, terms: list[Term]) -> list[Product]:
        still = [t for t in terms if not any(is_motion(name) for name, _ in t.factors)]
        moving = [t for t in terms if any(is_motion(name) for name, _ in t.factors)]
        return self._still(still) + self._moving(moving)

    # ---- terms without motion --------------------------------------------------------------------------

    def _still(self, terms: list[Term]) -> list[Product]:
        by_angle = all(t.trig for t in terms) or not any(self._masses(t) for t in terms)
        groups: dict[object, list[Term]] = {}
        for term in sorted(terms, key=self._order):
            groups.setdefault(self._still_key(term, by_angle), []).append(term)
        return [p for group in groups.values() for p in self._bracketed(group)]

    def _masses(self, term: Term) -> list[tuple[str, int]]:
        return [f for f in term.factors if f[0] in self.roles.masses]

    def _still_key(self, term: Term, by_angle: bool) -> object:
        """Gravity by angle; without masses, or where all terms have angles, by angle; else by mass."""
        if any(name in self.roles.gravity for name, _ in term.factors):
            return ("gravity", tuple(f for f in term.factors if f[0] in self.roles.gravity), term.trig)
        if by_angle:
            return ("angle", term.trig)
        masses = self._masses(term)
        return ("mass", masses[0]) if masses and masses[0][1] == 1 else ("alone", term)

    def _bracketed(self, group: list[Term]) -> list[Product]:
        """The factors that terms share, times the sum of the rest."""
        if len(group) == 1:
            return [Product(group[0])]
        group = sorted(group, key=lambda t: t.coefficient < 0)  # ℓ_1 − a_1 rather than −(a_1 − ℓ_1)
        outside, inner = _shared(group)
        products = tuple(Product(t) for t in sorted(inner, key=lambda t: (t.coefficient < 0, self._order(t))))
        if outside == Term(Fraction(1), ()):
            return list(products)
        return [Product(outside, products)]

    # ---- terms with motion -----------------------------------------------------------------------------

    def _moving(self, terms: list[Term]) -> list[Product]:
        speeds: dict[tuple[Factors, tuple[Trig, ...]], dict[Factors, Fraction]] = {}
        for t in sorted(terms, key=self._order):
            constants = tuple(f for f in t.factors if not is_motion(f[0]))
            motion = tuple(f for f in t.factors if is_motion(f[0]))
            poly = speeds.setdefault((constants, t.trig), {})
            poly[motion] = poly.get(motion, Fraction(0)) + t.coefficient
        merged: dict[object, tuple[tuple[Product, ...], int, list[Term]]] = {}
        for (constants, trig), poly in speeds.items():
            for coefficient, motion_sum, power in self._motion_sums(poly):
                key = (motion_sum, power, trig)
                entry = merged.setdefault(key, (motion_sum, power, []))
                entry[2].append(Term(coefficient, constants, trig))
        found = [self._with_motion(motion, power, outside) for motion, power, outside in merged.values()]
        return [p for products in found for p in products]

    def _with_motion(self, motion: tuple[Product, ...], power: int, outside: list[Term]) -> list[Product]:
        if len(outside) == 1:
            term = outside[0]
            if term == Term(Fraction(1), ()) and power == 1:
                return list(motion)
            return [Product(term, (), motion, power)]
        shared, rest = _shared(outside)
        return [Product(shared, tuple(self._still(rest)), motion, power)]

    def _motion_sums(self, poly: dict[Factors, Fraction]) -> list[tuple[Fraction, tuple[Product, ...], int]]:
        """Coefficient, sum and power: a perfect square, or sums of terms with coefficients of one size."""
        square = _square_root(poly)
        if square is not None:
            c, signs = square
            terms = [Term(s, ((name, 1),)) for name, s in signs]
            return [(c, tuple(Product(t) for t in terms), 2)]
        sizes: dict[Fraction, list[Term]] = {}
        for motion, c in poly.items():
            sizes.setdefault(abs(c), []).append(Term(c, motion))
        sums = []
        for group in sizes.values():
            content, inner = _shared([Term(t.coefficient, t.factors) for t in group])
            common = [Product(Term(Fraction(1), content.factors), tuple(Product(t) for t in inner))]
            alone = [Product(Term(Fraction(1), group[0].factors))]
            plain = [Product(t) for t in inner]
            chosen = alone if len(group) == 1 else common if content.factors else plain
            sums.append((content.coefficient, tuple(chosen), 1))
        return sums

    # ---- order -----------------------------------------------------------------------------------------

    def _order(self, term: Term) -> tuple[object, ...]:
        """Key to sort terms: gravity by its angle; else in the description's order; then simple first."""
        roles = self.roles
        names = [name for name, _ in term.factors]
        measured = [
            roles.order.get(name, -1)
            for name in names
            if name in roles.masses or name in roles.inertias or name[0] == "#"
        ]
        return (
            sorted([self._rank(name) for name in names if is_motion(name)]),
            [joints for _, joints, _ in term.trig] if any(n in roles.gravity for n in names) else [],
            min(measured, default=10**6),
            sum(e for _, _, e in term.trig),
            sorted([(self._rank(name), -e) for name, e in term.factors]),
            term.trig,
        )


def _shared(group: list[Term]) -> tuple[Term, list[Term]]:
    """The part that all terms have in common (with size and sign of the first), and the rest of each."""
    factors, trig = set(group[0].factors), set(group[0].trig)
    for term in group[1:]:
        factors &= set(term.factors)
        trig &= set(term.trig)
    sizes = {abs(t.coefficient) for t in group}
    content = sizes.pop() if len(sizes) == 1 else Fraction(1)
    content = -content if all(t.coefficient < 0 for t in group) or group[0].coefficient < 0 else content
    rest = [
        Term(
            t.coefficient if content == 1 else t.coefficient / content,
            tuple([f for f in t.factors if f not in factors]) if factors else t.factors,
            tuple([f for f in t.trig if f not in trig]) if trig else t.trig,
        )
        for t in group
    ]
    outside = Term(
        content,
        tuple(f for f in group[0].factors if f in factors),
        tuple(f for f in group[0].trig if f in trig),
    )
    return outside, rest


def _square_root(poly: dict[Factors, Fraction]) -> tuple[Fraction, list[tuple[str, Fraction]]] | None:
    """c and signs with Σ = c (Σ ±v)², or None."""
    squares = [(m[0][0], c) for m, c in poly.items() if len(m) == 1 and m[0][1] == 2]
    if len(squares) < 2 or len({c for _, c in squares}) != 1:
        return None
    c = squares[0][1]
    names = [name for name, _ in squares]
    first = names[0]
    signs = {first: Fraction(1)}
    for name in names[1:]:
        cross = poly.get(((first, 1), (name, 1)), poly.get(((name, 1), (first, 1))))
        if cross is None or abs(cross) != 2 * abs(c):
            return None
        signs[name] = cross / (2 * c)
    expected: dict[frozenset[str], Fraction] = {
        frozenset((a, b)): 2 * c * signs[a] * signs[b] for a in names for b in names if a != b
    }
    found = {frozenset(n for n, _ in m): x for m, x in poly.items() if len(m) == 2}
    if found != expected or len(poly) != len(squares) + len(expected):
        return None
    return c, [(name, signs[name]) for name in names]
