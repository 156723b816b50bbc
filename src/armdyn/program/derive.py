"""Derivatives of programs: forward (tangents), reverse (adjoints), Jacobians, Hessians.

The operation sign(x), of dry friction, has derivative zero everywhere, at its jump too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from math import prod
from typing import Any

from armdyn.program.ops import OPS
from armdyn.program.program import (
    Node,
    Program,
    Recorder,
    Shape,
    Tape,
    finished,
    inline,
    needed,
    record,
    replay,
)

_COTANGENT = "cotangent "  # how the inputs c_k of a `vector_jacobian` are called, and no others


def jacobian(program: Program, by: Sequence[str]) -> Program:
    """The program of ∂output/∂input for one vector output and the named inputs: one (m, size) output each."""
    rows = _by_adjoints(program, by)
    columns = _by_tangents(program, by)
    return rows if rows.operations <= columns.operations else columns


def tangents(program: Program, by: Sequence[str]) -> Program:
    """The program of ∂outputs/∂input, (m, size) for each named input; all outputs flattened and in a row.

    It takes a sweep forwards for each scalar of these inputs.
    """
    name, size = "+".join(name for name, _ in program.outputs), len(program.results)
    return _by_tangents(replace(program, outputs=((name, (size,)),)), by)


def vector_jacobian(program: Program, by: Sequence[str]) -> Program:
    """The program of Σ_k c_kᵀ ∂output_k/∂input for the named inputs: one (size,) output each, in one sweep.

    Its inputs are the program's, then c_k for each output, flattened row by row.
    """
    inputs = with_cotangents(program.inputs, [shape for _, shape in program.outputs])
    tape = Tape()
    values = replay(program, tape)
    start = sum(size for _, size in program.inputs)
    seeds: dict[int, Any] = {}
    for k, result in enumerate(program.results):  # several results may be one node
        c = Recorder(tape, tape.input(start + k))
        seeds[result] = seeds[result] + c if result in seeds else c
    adjoints = _adjoints(program, _local_partials(program, values), seeds)
    found = {node[1]: adjoints.get(i, 0) for i, node in enumerate(program.nodes) if node[0] == "input"}
    results = [_index(tape, found.get(k, 0)) for columns in _columns_of(program, by) for k in columns]
    sizes = dict(program.inputs)
    return finished(tape, inputs, [(f"gradient by {name}", (sizes[name],)) for name in by], results)


def with_cotangents(
    inputs: Sequence[tuple[str, int]], outputs: Sequence[Shape]
) -> tuple[tuple[str, int], ...]:
    """The inputs of a `vector_jacobian`. A product of a product has two sets of c_k, numbered on."""
    first = sum(name.startswith(_COTANGENT) for name, _ in inputs)
    return (*inputs, *((f"{_COTANGENT}{k}", prod(shape)) for k, shape in enumerate(outputs, first)))


def time_derivative(program: Program, rates: Mapping[str, str]) -> Program:
    """The program of d/dt of a program's outputs, where the named inputs change at rates that are inputs too.

    Rates that are no inputs yet follow the others, in the order in which they are named.
    """
    sizes = dict(program.inputs)
    for name, rate in rates.items():
        sizes.setdefault(rate, sizes[name])
    inputs = tuple(sizes.items())
    start = dict(zip(sizes, accumulate((0, *sizes.values())), strict=False))
    tape = Tape()
    values = replay(program, tape)
    seeds: dict[int, Any] = {
        start[name] + k: Recorder(tape, tape.input(start[rate] + k))
        for name, rate in rates.items()
        for k in range(sizes[name])
    }
    tangents = _tangents(program, _local_partials(program, values), seeds)
    results = [_index(tape, tangents.get(result, 0)) for result in program.results]
    return finished(tape, inputs, [(f"d{name}/dt", shape) for name, shape in program.outputs], results)


def split(program: Program, name: str, apart: int = 0) -> tuple[Program, Program]:
    """The part of a program that does without its last input, and the rest, which takes what that part gives.

    The inputs of the rest are these numbers, "kept", and the last input. The last `apart` outputs, which do
    not depend on it, follow "kept" as outputs of the first part; the rest has the others.
    """
    *others, last = program.inputs
    if last[0] != name:
        raise ValueError(f"'{name}' is not the last input")
    start = sum(size for _, size in others)
    moving = _moved_by(program, set(range(start, start + last[1])))
    nodes = program.nodes
    read = {a for i, node in enumerate(nodes) if moving[i] and node[0] in OPS for a in node[1:]}
    number = len(program.outputs) - apart
    outputs, early = program.outputs[:number], program.outputs[number:]
    count = sum(prod(shape) for _, shape in outputs)
    results, own = program.results[:count], program.results[count:]
    kept = [i for i in sorted(read | {*results}) if not moving[i] and nodes[i][0] != "const"]
    first = Program(tuple(others), (("kept", (len(kept),)), *early), *needed(nodes, [*kept, *own]))
    places, new = {i: k for k, i in enumerate(kept)}, dict[int, int]()
    found: list[Node] = []
    for i, node in enumerate(nodes):
        if i in places:
            node = ("input", places[i])
        elif node[0] == "input":
            node = ("input", node[1] - start + len(kept))
        elif node[0] in OPS:
            if not moving[i]:
                continue
            node = (node[0], *(new[a] for a in node[1:]))
        new[i] = len(found)
        found.append(node)
    rest = needed(found, [new[r] for r in results])
    return first, Program((("kept", len(kept)), last), outputs, *rest)


def _columns_of(program: Program, by: Sequence[str]) -> list[range]:
    """The input scalars of each named input."""
    ranges, start = {}, 0
    for name, size in program.inputs:
        ranges[name] = range(start, start + size)
        start += size
    return [ranges[name] for name in by]


def _outputs(program: Program, by: Sequence[str]) -> list[tuple[str, Shape]]:
    (name, shape) = program.outputs[0]
    sizes = dict(program.inputs)
    return [(f"d{name}/d{x}", (prod(shape), sizes[x])) for x in by]


def _by_adjoints(program: Program, by: Sequence[str]) -> Program:
    """Reverse: one sweep per output."""
    tape = Tape()
    values = replay(program, tape)
    ranges = _columns_of(program, by)
    inputs = {node[1]: i for i, node in enumerate(program.nodes) if node[0] == "input"}
    partials = _local_partials(program, values)
    zero = tape.constant(0.0)
    rows = []
    for result in program.results:
        adjoints = _adjoints(program, partials, {result: 1})
        rows.append({k: _index(tape, adjoints.get(i, 0)) for k, i in inputs.items()})
    results = [row.get(k, zero) for r in ranges for row in rows for k in r]
    return finished(tape, program.inputs, _outputs(program, by), results)


def _local_partials(program: Program, values: Sequence[Recorder]) -> list[tuple[Any, ...]]:
    """∂node/∂argument for every node, as recording scalars or numbers."""
    found: list[tuple[Any, ...]] = []
    for i, node in enumerate(program.nodes):
        if node[0] not in OPS:
            found.append(())
            continue
        arguments = [values[a] for a in node[1:]]
        found.append(tuple(p(*arguments, values[i]) for p in OPS[node[0]].partials))
    return found


def _adjoints(
    program: Program, partials: Sequence[tuple[Any, ...]], seeds: Mapping[int, Any]
) -> dict[int, Any]:
    """Σ seed · ∂result/∂node over the seeds' results, for every node that these depend on."""
    adjoints: dict[int, Any] = dict(seeds)
    for i in range(max(seeds, default=-1), -1, -1):
        bar = adjoints.get(i)
        if bar is None or program.nodes[i][0] not in OPS:
            continue
        for argument, partial in zip(program.nodes[i][1:], partials[i], strict=True):
            term = _times(partial, bar)
            if term is not None:
                adjoints[argument] = adjoints[argument] + term if argument in adjoints else term
    return adjoints


def _times(a: Any, b: Any) -> Any:
    """a·b, None for zero."""
    if (isinstance(a, int) and a == 0) or (isinstance(b, int) and b == 0):
        return None
    return a * b


def _index(tape: Tape, x: Any) -> int:
    return x.index if isinstance(x, Recorder) else tape.constant(x)


def _by_tangents(program: Program, by: Sequence[str]) -> Program:
    """Forward: one sweep per input scalar."""
    tape = Tape()
    values = replay(program, tape)
    partials = _local_partials(program, values)
    ranges = _columns_of(program, by)
    columns = {k: _tangents(program, partials, {k: 1}) for r in ranges for k in r}
    results = [
        _index(tape, columns[k].get(result, 0)) for r in ranges for result in program.results for k in r
    ]
    return finished(tape, program.inputs, _outputs(program, by), results)


def _tangents(
    program: Program, partials: Sequence[tuple[Any, ...]], seeds: Mapping[int, Any]
) -> dict[int, Any]:
    """Rates of change of the nodes, by node, where inputs change at the rates `seeds`, by their places."""
    tangents: dict[int, Any] = {}
    for i, node in enumerate(program.nodes):
        if node[0] == "input" and node[1] in seeds:
            tangents[i] = seeds[node[1]]
        if node[0] not in OPS:
            continue
        total: Any = None
        for argument, partial in zip(node[1:], partials[i], strict=True):
            if argument in tangents:
                term = _times(partial, tangents[argument])
                if term is not None:
                    total = term if total is None else total + term
        if total is not None:
            tangents[i] = total
    return tangents


# ------------------------------------------------------------------------------------------------------------
# Hessians, in one sweep backwards ("edge pushing": R. M. Gower, M. P. Mello, Optimization Methods and
# Software 27(2), 2012).
#
# Before node i is reached, the output is a function of the nodes up to i alone. Its second derivatives by
# pairs of these are kept, each pair once, as they are symmetric. With node i = f(a, b, …) they become
# derivatives by the nodes before it: pairs with i are pushed on to the arguments of f, and the adjoint of i
# times the second derivatives of f is added to pairs of arguments.


def hessian(program: Program, by: Sequence[str]) -> Program:
    """The program of ∂²output/∂x∂x of a scalar output, (m, m); x: the named inputs, one after the other."""
    tape = Tape()
    values = replay(program, tape)
    partials = _local_partials(program, values)
    columns = [k for columns in _columns_of(program, by) for k in columns]
    moving = _moved_by(program, set(columns))
    adjoints = _adjoints(program, partials, {program.results[0]: 1})
    pairs = _Pairs(len(program.nodes))
    for i in range(program.results[0], -1, -1):
        operation, *arguments = program.nodes[i]
        if operation not in OPS or not moving[i]:
            continue
        slopes = [(a, p) for a, p in zip(arguments, partials[i], strict=True) if moving[a]]
        pairs.push(i, slopes)
        if i in adjoints:
            for j, k, bend in _bends(operation, [values[a] for a in arguments]):
                a, b = arguments[j], arguments[k]
                if moving[a] and moving[b]:
                    pairs.add(a, b, _between(_times(bend, adjoints[i]), a == b and k < j))
    places = {node[1]: i for i, node in enumerate(program.nodes) if node[0] == "input"}
    entries = [pairs.get(places.get(a), places.get(b)) for a in columns for b in columns]
    outputs = [(f"second derivatives of {program.outputs[0][0]}", (len(columns), len(columns)))]
    return finished(tape, program.inputs, outputs, [_index(tape, x) for x in entries])


def _moved_by(program: Program, columns: set[int]) -> list[bool]:
    """Which nodes depend on some of the input scalars."""
    found: list[bool] = []
    for node in program.nodes:
        if node[0] in OPS:
            found.append(any(found[a] for a in node[1:]))
        else:
            found.append(node[0] == "input" and node[1] in columns)
    return found


class _Pairs:
    """Second derivatives by pairs of nodes: those of a node and itself or others before it."""

    def __init__(self, nodes: int) -> None:
        self._rows: list[dict[int, Any]] = [{} for _ in range(nodes)]

    def add(self, a: int, b: int, x: Any) -> None:
        """Adds x to ∂²/∂a∂b and ∂²/∂b∂a, which are one number if a is b; None is zero."""
        if x is not None:
            row, other = self._rows[max(a, b)], min(a, b)
            row[other] = row[other] + x if other in row else x

    def push(self, i: int, slopes: Sequence[tuple[int, Any]]) -> None:
        """Takes away the pairs of node i, the last that has some, in favour of those of its arguments."""
        row, self._rows[i] = self._rows[i], {}
        own = row.pop(i, None)
        for j, x in row.items():
            for a, p in slopes:
                self.add(a, j, _between(_times(p, x), a == j))
        if own is not None:
            for k, (a, p) in enumerate(slopes):
                x = _times(p, own)
                for j, (b, r) in enumerate(slopes[: k + 1]):
                    self.add(a, b, _between(None if x is None else _times(r, x), a == b and j < k))

    def get(self, a: int | None, b: int | None) -> Any:
        """∂²/∂a∂b; zero if one of them is no node."""
        return 0 if a is None or b is None else self._rows[max(a, b)].get(min(a, b), 0)


def _between(x: Any, same: bool) -> Any:
    """A derivative by two arguments, which counts twice if they are the same node."""
    return x + x if same and x is not None else x


def _bends(operation: str, arguments: Sequence[Recorder]) -> Iterator[tuple[int, int, Any]]:
    """j, k ≤ j and ∂²node/∂argument_j∂argument_k, where this is not zero."""
    program = _bend(operation)
    size = len(arguments)
    zero = [program.nodes[r] == ("const", 0.0) for r in program.results]
    if not all(zero):
        (entries,) = inline(program, [arguments])
        for j in range(size):
            for k in range(j + 1):
                if not zero[size * j + k]:
                    yield j, k, entries[size * j + k]


@cache
def _bend(operation: str) -> Program:
    """The program of an operation's second derivatives, from the first of its row."""
    row = OPS[operation]

    def slopes(x: Sequence[Recorder]) -> list[Any]:
        tape = x[0].tape
        value = Recorder(tape, tape.apply(operation, *(a.index for a in x)))
        return [p(*x, value) for p in row.partials]

    first = record(slopes, [("x", row.arity)], [("slopes", (row.arity,))])
    return _by_tangents(first, ["x"])
