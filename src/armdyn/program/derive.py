"""Derivatives of programs: forward (tangents), reverse (adjoints), Jacobians by the cheaper of the two.

The operation sign(x), of dry friction, has derivative zero everywhere, at its jump too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from armdyn.program.ops import OPS
from armdyn.program.program import Program, Recorder, Shape, Tape, finished, replay

_COTANGENT = "cotangent "  # how the inputs c_k of a `vector_jacobian` are called, and no others


def jacobian(program: Program, by: Sequence[str]) -> Program:
    """The program of ∂output/∂input for one vector output and the named inputs: one (m, size) output each."""
    rows = _by_adjoints(program, by)
    columns = _by_tangents(program, by)
    return rows if rows.operations <= columns.operations else columns


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
