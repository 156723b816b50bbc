"""Long programs in parts that registers can hold: each part computes some of the results from the inputs.

What several parts need is computed in each of them. That costs less than memory: a value that registers
cannot hold goes there and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from armdyn.program.ops import OPS
from armdyn.program.program import Program, needed

REGISTERS = {
    "double": 112,
    "float": 230,
}  # values that a thread can hold, beside addresses


@dataclass(frozen=True)
class Part:
    """A program with all inputs and outputs of a longer one, but some of its results.

    `places` says which of the longer program's results they are.
    """

    program: Program
    places: tuple[int, ...]


def parts_of(program: Program, scalar: str) -> list[Part]:
    """One part if registers hold the program."""
    return [_part(program, range(len(program.results)))]


def _part(program: Program, chosen: Sequence[int]) -> Part:
    nodes, results = needed(program.nodes, [program.results[k] for k in chosen])
    return Part(replace(program, nodes=nodes, results=results), tuple(chosen))


def most_alive(program: Program) -> int:
    """How many values are needed at once at most, if each is computed when it stands there, and kept.

    Results are stored at once and constants take no place.
    """
    last: dict[int, int] = {}
    for i, node in enumerate(program.nodes):
        if node[0] in OPS:
            last |= dict.fromkeys(node[1:], i)
    ends: dict[int, list[int]] = {}
    for i, end in last.items():
        ends.setdefault(end, []).append(i)
    alive, most = 0, 0
    for i, node in enumerate(program.nodes):
        alive += node[0] != "const"
        most = max(most, alive)
        alive -= sum(program.nodes[j][0] != "const" for j in ends.get(i, ()))
        alive -= i not in last and node[0] != "const"
    return most
