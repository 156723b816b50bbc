"""Long programs in parts that registers can hold: each part computes some of the results from the inputs.

What several parts need is computed in each of them. That costs less than memory: a value that registers
cannot hold goes there and back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from armdyn.program.ops import OPS
from armdyn.program.program import Program, needed

MOST = 6  # parts
SPILL = 40  # operations that a value beyond the registers costs
# How many values alive a thread's 255 registers hold, as `most_alive` counts them: the compiler computes some
# of them later or twice (seen with CUDA 13 on programs of the Panda).
REGISTERS = {"double": 155, "float": 310}


@dataclass(frozen=True)
class Part:
    """A program with all inputs and outputs of a longer one, but some of its results.

    `places` says which of the longer program's results they are.
    """

    program: Program
    places: tuple[int, ...]


def parts_of(program: Program, scalar: str, staged: bool = False) -> list[Part]:
    """The number of parts with the least work, what registers cannot hold included.

    A part has results that are known at about the same time: those have the most in common. Results that are
    `staged` stay together: a part would have few neighbours to store at a time, which costs more than memory.
    """
    limit = REGISTERS[scalar]
    found = [_part(program, range(len(program.results)))]
    if staged or most_alive(program) <= limit:
        return found
    fixed = [k for k, r in enumerate(program.results) if program.nodes[r][0] == "const"]
    known = sorted(set(range(len(program.results))) - set(fixed), key=program.results.__getitem__)
    ways = [found]
    for m in range(2, min(MOST, len(known)) + 1):
        edges = [len(known) * k // m for k in range(m + 1)]
        groups = [known[a:b] for a, b in pairwise(edges)]
        groups[0] += fixed
        ways.append([_part(program, sorted(group)) for group in groups])
    return min(ways, key=lambda parts: sum(_work(part, limit) for part in parts))


def _work(part: Part, limit: int) -> int:
    return part.program.operations + SPILL * max(0, most_alive(part.program) - limit)


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
