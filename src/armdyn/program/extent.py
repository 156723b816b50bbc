"""How far a loop goes: its operations and the rows it uses, from the integers it is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from armdyn.program.loops import Block, Call, Combined, Count, Counter, For, If, Int, Load, Loop, Save, While

Range = tuple[int, int]  # the least and the largest value


@dataclass(frozen=True)
class Extent:
    """What one instance takes, at most: but the body of a `While` counts once."""

    operations: int
    rows: Mapping[str, Range]  # of each argument; as if counters were independent of each other


def extent(loop: Loop, counts: Mapping[str, int]) -> Extent:
    """Of a loop that is given these counts."""
    walk = _Walk(loop, {name: (count, count) for name, count in counts.items()})
    return Extent(walk.operations(loop.body), walk.rows)


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
