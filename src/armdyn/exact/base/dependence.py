"""Which columns depend on those before them, with coefficients that are proved.

An image modulo a prime says which columns are independent and which of them each other column needs. A few of
the simplest rows give the coefficients exactly; all rows confirm them, as identities of polynomials.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armdyn.exact.base.field import Field, Quotient
from armdyn.exact.base.modular import Image, Numbers
from armdyn.exact.base.rows import Row
from armdyn.exact.engine.ring import Ring
from armdyn.expression import ArmdynError, Expression

_IMAGES = 5  # tries, of which already the second is never needed

Dependence = dict[int, dict[int, Expression]]


def dependence(ring: Ring, rows: Sequence[Row], columns: Sequence[int]) -> Dependence:
    """For each column that is a combination of earlier independent ones, the combination: y_j = Σ x_k y_k."""
    field = Field(ring)
    for seed in range(_IMAGES):
        image = Image(ring, seed)
        values = image.of_rows(rows)
        found: Dependence = {}
        for j, support in image.echelon(values, columns).items():
            pairs = zip(rows, values, strict=True)
            touched = [(row, x) for row, x in pairs if j in row or support.keys() & row]
            solved = _solved(field, image.prime, touched, j, list(support))
            if solved is None:
                break
            found[j] = {k: field.expression(x) for k, x in solved.items()}
        else:
            return found
    raise ArmdynError("base parameters: the constants of this robot's geometry could not be told apart")


def _solved(
    field: Field, prime: int, rows: Sequence[tuple[Row, Numbers]], j: int, unknown: Sequence[int]
) -> dict[int, Quotient] | None:
    """The coefficients of column j, None if they do not hold in all rows."""
    chosen = _simplest(prime, rows, {*unknown, j}, unknown)
    system = [{k: field.of(row[k]) for k in (*unknown, j) if k in row} for row in chosen]
    found = _eliminated(system, j, unknown)
    return found if found is not None and _holds(field, [row for row, _ in rows], j, found) else None


def _simplest(
    prime: int, rows: Sequence[tuple[Row, Numbers]], wanted: set[int], unknown: Sequence[int]
) -> list[Row]:
    """As many rows as unknowns, independent and as short as can be."""

    def length(pair: tuple[Row, Numbers]) -> tuple[int, int]:
        entries = [len(x) for k, x in pair[0].items() if k in wanted]
        return len(entries), sum(entries)

    chosen: list[Row] = []
    reduced: list[tuple[int, Numbers]] = []  # rows with a leading one, by column
    for row, numbers in sorted(rows, key=length):
        if len(chosen) == len(unknown):
            break
        values = {k: numbers[k] for k in unknown if k in numbers}
        for lead, other in reduced:
            if factor := values.get(lead, 0):
                for k, x in other.items():
                    values[k] = (values.get(k, 0) - factor * x) % prime
        first = next((k for k, x in values.items() if x), None)
        if first is not None:
            inverse = pow(values[first], -1, prime)
            reduced.append((first, {k: x * inverse % prime for k, x in values.items() if x}))
            chosen.append(row)
    return chosen


def _eliminated(
    system: list[dict[int, Quotient]], j: int, unknown: Sequence[int]
) -> dict[int, Quotient] | None:
    """Gauss and Jordan, the shortest entry first."""
    left = set(unknown)
    done: list[tuple[int, dict[int, Quotient]]] = []
    open_rows = list(system)
    while left:
        entries = [
            (len(row), x.size, r, k) for r, row in enumerate(open_rows) for k, x in row.items() if k in left
        ]
        if not entries:
            return None
        _, _, r, k = min(entries)
        row = open_rows.pop(r)
        pivot = row[k]
        row = {c: x / pivot for c, x in row.items()}
        open_rows = [_reduced(other, row, k) for other in open_rows]
        done = [(c, _reduced(other, row, k)) for c, other in done]
        done.append((k, row))
        left.remove(k)
    return {k: row[j] for k, row in done if j in row}


def _reduced(other: dict[int, Quotient], row: dict[int, Quotient], k: int) -> dict[int, Quotient]:
    """A row without unknown k."""
    if k not in other:
        return other
    factor = other[k]
    found = dict(other)
    for c, x in row.items():
        change = factor * x
        found[c] = found[c] - change if c in found else change.field.of(-change.above, change.below)
    return {c: x for c, x in found.items() if x}


def _holds(field: Field, rows: Sequence[Row], j: int, found: dict[int, Quotient]) -> bool:
    """Whether Σ x_k y_k = y_j in every row, multiplied by the common denominator."""
    ring = field.ring
    below: Any = ring.one.p
    for x in found.values():
        below = below * divmod(x.below, below.gcd(x.below))[0]
    above = {k: x.above * divmod(below, x.below)[0] for k, x in found.items()}
    for row in rows:
        total = ring.context.constant(0)
        for k in above.keys() & row.keys():
            total = total + above[k] * row[k]
        if j in row:
            total = total - below * row[j]
        if not ring.reduce(total).is_zero():
            return False
    return True
