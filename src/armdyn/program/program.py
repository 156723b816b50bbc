"""Programs: flat straight-line code with named inputs and outputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

from armdyn.program.ops import OPS
from armdyn.program.tape import Node, Recorder, Tape

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Program:
    """Nodes in an order in which arguments come first; outputs name nodes by index, flattened row by row."""

    inputs: tuple[tuple[str, int], ...]  # name and number of scalars
    outputs: tuple[tuple[str, Shape], ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of operations by kind."""
        return dict(sorted(Counter(node[0] for node in self.nodes if node[0] in OPS).items()))

    @property
    def operations(self) -> int:
        """Additions, subtractions, multiplications, divisions and other arithmetic, trigonometry apart."""
        return sum(n for op, n in self.counts.items() if op not in ("sin", "cos", "neg"))

    def __str__(self) -> str:
        """One line a node: what is computed from what."""
        names = [f"{name}[{k}]" for name, size in self.inputs for k in range(size)]
        lines = [f"program {', '.join(f'{name}({size})' for name, size in self.inputs)}"]
        for i, node in enumerate(self.nodes):
            if node[0] == "const":
                lines.append(f"  %{i} = {node[1]!r}")
            elif node[0] == "input":
                lines.append(f"  %{i} = {names[node[1]]}")
            else:
                lines.append(f"  %{i} = {node[0]} " + " ".join(f"%{a}" for a in node[1:]))
        start = 0
        for name, shape in self.outputs:
            size = prod(shape)
            lines.append(f"  {name}{list(shape)} = " + " ".join(f"%{r}" for r in self.results[start:][:size]))
            start += size
        return "\n".join(lines)


def record(
    function: Callable[..., Any],
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Shape]],
) -> Program:
    """Run a function on recording scalars: one list per input, nested lists per output in return."""
    tape = Tape()
    arguments, k = [], 0
    for _, size in inputs:
        arguments.append([Recorder(tape, tape.input(k + i)) for i in range(size)])
        k += size
    values = function(*arguments)
    results = []
    for (name, shape), value in zip(outputs, values if len(outputs) > 1 else (values,), strict=True):
        flat = list(_flat(value))
        if len(flat) != prod(shape):
            raise ValueError(f"output {name}: expected {prod(shape)} scalars, found {len(flat)}")
        results += [x.index if isinstance(x, Recorder) else tape.constant(x) for x in flat]
    return finished(tape, inputs, outputs, results)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def finished(
    tape: Tape,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Shape]],
    results: Sequence[int],
) -> Program:
    """The program of some nodes of a tape."""
    return Program(tuple(inputs), tuple(outputs), *needed(tape.nodes, results))


def needed(nodes: Sequence[Node], results: Sequence[int]) -> tuple[tuple[Node, ...], tuple[int, ...]]:
    """Nodes without those that the results do not need, in the same order; and the results among them."""
    used = [False] * len(nodes)
    for r in results:
        used[r] = True
    for i in range(len(nodes) - 1, -1, -1):
        if used[i] and nodes[i][0] in OPS:
            for a in nodes[i][1:]:
                used[a] = True
    new: dict[int, int] = {}
    found: list[Node] = []
    for i, node in enumerate(nodes):
        if used[i]:
            new[i] = len(found)
            found.append((node[0], *(new[a] for a in node[1:])) if node[0] in OPS else node)
    return tuple(found), tuple(new[r] for r in results)


def inline(program: Program, columns: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Run a program on scalars, one list per input; one flat list per output."""
    inputs = [x for column in columns for x in column]
    values: list[Any] = []
    for node in program.nodes:
        if node[0] == "const":
            values.append(node[1])
        elif node[0] == "input":
            values.append(inputs[node[1]])
        else:
            values.append(_applied(node[0], [values[a] for a in node[1:]]))
    results, start = [], 0
    for _, shape in program.outputs:
        results.append([values[r] for r in program.results[start : start + prod(shape)]])
        start += prod(shape)
    return results


def _applied(op: str, arguments: list[Any]) -> Any:
    recorder = next((x for x in arguments if isinstance(x, Recorder)), None)
    if recorder is None:
        return float(OPS[op].value(*arguments))
    tape = recorder.tape
    indices = [x.index if isinstance(x, Recorder) else tape.constant(x) for x in arguments]
    return Recorder(tape, tape.apply(op, *indices))


def replay(program: Program, tape: Tape) -> list[Recorder]:
    """Record a program's nodes again on a tape; its inputs are the tape's."""
    values: list[Recorder] = []
    for node in program.nodes:
        if node[0] == "const":
            index = tape.constant(node[1])
        elif node[0] == "input":
            index = tape.input(node[1])
        else:
            index = tape.apply(node[0], *(values[a].index for a in node[1:]))
        values.append(Recorder(tape, index))
    return values
