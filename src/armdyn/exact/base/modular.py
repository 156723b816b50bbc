"""The matrix of the energies at random values of the constants, modulo a large prime.

A choice of values that respects the relations between constants (sin² + cos² = 1, √2² = 2) is a map of rings:
columns that are independent there are independent. What is dependent there is dependent everywhere but with
a probability of about 1e-17 for each dependence; `dependence` proves it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import flint

from armdyn.exact.base.rows import Row
from armdyn.exact.engine.ring import Ring
from armdyn.expression import Atom

Numbers: TypeAlias = dict[int, int]  # by column, what is not zero
_FIRST = 2**61  # primes are sought from here


class Image:
    """Values of the constants modulo a prime."""

    def __init__(self, ring: Ring, seed: int) -> None:
        self.ring = ring
        self._random = random.Random(seed)
        roots = [int(x) for a in ring.constants if a.kind == "sqrt" for x in _radicand(a)]
        start = _FIRST + 2 * self._random.randrange(2**60)
        self.prime = next(p for p in _primes(start) if all(_is_square(x, p) for x in roots))
        self.values: dict[int, int] = {}
        for atom in sorted(ring.constants, key=lambda a: a.kind == "abs"):  # of what is known by then
            if str(atom) in ring.index and ring.index[str(atom)] not in self.values:
                self._choose(atom)

    def _choose(self, atom: Atom) -> None:
        p, index = self.prime, self.ring.index
        if atom.kind in ("cos", "sin"):
            t = self._random.randrange(2, p - 1)
            below = pow(1 + t * t, -1, p)
            pair = {"cos": (1 - t * t) * below % p, "sin": 2 * t * below % p}
            for kind, value in pair.items():
                name = str(Atom(kind, atom.name, atom.argument))
                if name in index:
                    self.values[index[name]] = value
        elif atom.kind == "sqrt":
            above, below = _radicand(atom)
            square = above * pow(below, -1, p) % p
            self.values[index[str(atom)]] = pow(square, (p + 1) // 4, p)
        elif atom.kind == "abs" and atom.argument is not None:
            self.values[index[str(atom)]] = self(self.ring.constant(atom.argument).p)
        else:
            self.values[index[str(atom)]] = self._random.randrange(2, p - 1)

    def __call__(self, x: Any) -> int:
        """The value of a FLINT polynomial in the constants."""
        p, total = self.prime, 0
        for exponents, c in x.to_dict().items():
            term = int(c.p) * pow(int(c.q), -1, p) if c.q != 1 else int(c.p)
            for i, e in enumerate(exponents) if any(exponents) else ():
                if e:
                    term = term * pow(self.values[i], int(e), p) % p
            total += term
        return total % p

    def of_rows(self, rows: Sequence[Row]) -> list[Numbers]:
        """The matrix, modulo the prime."""
        return [{p: self(x) for p, x in row.items()} for row in rows]

    def echelon(self, rows: Sequence[Numbers], columns: Sequence[int]) -> dict[int, Numbers]:
        """For each column that depends on those before it, its coefficients in those that do not."""
        place = {p: k for k, p in enumerate(columns)}
        entries = [0] * (len(rows) * len(columns))
        for r, row in enumerate(rows):
            for p, x in row.items():
                entries[r * len(columns) + place[p]] = x
        reduced, rank = flint.nmod_mat(len(rows), len(columns), entries, self.prime).rref()
        found: dict[int, Numbers] = {}
        pivots: list[int] = []
        for k, column in enumerate(columns):
            if len(pivots) < rank and int(reduced[len(pivots), k]):
                pivots.append(column)
                continue
            coefficients = {p: int(reduced[r, k]) for r, p in enumerate(pivots)}
            found[column] = {p: c for p, c in coefficients.items() if c}
        return found


def _radicand(atom: Atom) -> tuple[int, int]:
    number = atom.argument.number if atom.argument is not None else None
    assert number is not None, "roots are of numbers"
    return number.numerator, number.denominator


def _primes(start: int) -> Iterator[int]:
    """Primes that are 3 modulo 4, in which roots are powers."""
    p = start | 3
    while True:
        if flint.fmpz(p).is_prime():
            yield p
        p += 4


def _is_square(x: int, p: int) -> bool:
    return x % p == 0 or pow(x, (p - 1) // 2, p) == 1
