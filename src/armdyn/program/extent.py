"""How far a loop goes: its operations and the rows it uses, from the integers it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from armdyn.program.loops import (
    Block,
    Call,
    Combined,
    Count,
    Counter,
    Each,
    For,
    If,
    Int,
    Load,
    Loop,
    Save,
    While,
)

Range = tuple[int, int]  # the least and the largest value
_MANY = 1000  # of each count, where formulas are looked for


@dataclass(frozen=True)
class Extent:
    """What one instance takes, at most: but the body of a `While` counts once."""

    operations: int
    rows: Mapping[str, Range]  # of each argument; as if counters were independent of each other


def extent(loop: Loop, counts: Mapping[str, int]) -> Extent:
    """Of a loop that is given these counts."""
    walk = _Walk(loop, {name: (count, count) for name, count in counts.items()})
    return Extent(walk.operations(loop.body), walk.rows)


def rows_of(loop: Loop) -> dict[str, str]:
    """How many rows each argument has, as a formula in the counts: "1", "rows", "2*rows*every + 1".

    A formula is a sum of products in which a count stands at most once. Its coefficients are differences
    between what large counts take.
    """
    names = [count.name for count in loop.counts]

    def taken(more: tuple[str, ...]) -> Mapping[str, Range]:
        return extent(loop, {name: _MANY + (name in more) for name in names}).rows

    products = [p for size in range(len(names) + 1) for p in combinations(names, size)]
    rows = {more: taken(more) for more in products}
    found = {}
    for argument in loop.arguments:
        needed = {more: ranges.get(argument.name, (0, 0))[1] + 1 for more, ranges in rows.items()}
        terms: dict[tuple[str, ...], int] = {}
        for product in reversed(products):
            parts = [p for p in products if set(p) <= set(product)]
            slope = sum((-1) ** (len(product) - len(p)) * needed[p] for p in parts)
            larger = [(p, c) for p, c in terms.items() if set(p) > set(product)]
            terms[product] = slope - sum(c * _MANY ** (len(p) - len(product)) for p, c in larger)
        found[argument.name] = _written(terms)
    return found


def _written(terms: Mapping[tuple[str, ...], int]) -> str:
    """A sum of products with their coefficients, as text."""
    text = ""
    for names, c in terms.items():
        if c:
            factors = [str(abs(c))] * (abs(c) != 1 or not names) + list(names)
            text += f" {'-' if c < 0 else '+'} {'*'.join(factors)}"
    return text.removeprefix(" + ").strip() or "0"


class _Walk:
    """A walk over the statements, once each; counters stand for all their values."""

    def __init__(self, loop: Loop, known: dict[str, Range]) -> None:
        self.loop, self.known, self.rows = loop, known, dict[str, Range]()

    def operations(self, block: Block) -> int:
        total = 0
        for statement in block:
            match statement:
                case Call(program):
                    total += self.loop.programs[program].operations
                case Each(program, columns):
                    total += columns * self.loop.programs[program].operations
                case Load(source=argument, row=row) | Save(target=argument, row=row):
                    low, high = self._range(row)
                    least, most = self.rows.get(argument.name, (low, high))
                    self.rows[argument.name] = min(low, least), max(high, most)
                case For(counter, start, stop, body):
                    first, last = self._range(start)[0], self._range(stop)[1] - 1
                    if first <= last:
                        self.known[counter.name] = first, last
                        total += (last - first + 1) * self.operations(body)
                case While(body=body):
                    total += self.operations(body)
                case If(body=body, otherwise=otherwise):
                    total += max(self.operations(body), self.operations(otherwise))
        return total

    def _range(self, x: Int) -> Range:
        match x:
            case Combined(op, a, b):
                (a0, a1), (b0, b1) = self._range(a), self._range(b)
                if op == "mul":
                    products = (a0 * b0, a0 * b1, a1 * b0, a1 * b1)
                    return min(products), max(products)
                return (a0 + b0, a1 + b1) if op == "add" else (a0 - b1, a1 - b0)
            case Count(name) | Counter(name):
                return self.known[name]
            case _:
                return x, x
