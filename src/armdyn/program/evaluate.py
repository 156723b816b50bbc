"""The evaluator: it defines what a program means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np

from armdyn.program.ops import OPS
from armdyn.program.program import Program

Run: TypeAlias = Callable[..., Sequence[np.ndarray]]  # inputs (N, size) -> outputs, flat


def evaluate(program: Program, *inputs: Any) -> tuple[np.ndarray, ...]:
    """Outputs for inputs with a leading batch shape: (..., size) each in, (..., *shape) each out."""
    arrays = [np.asarray(x, dtype=float) for x in inputs]
    for (name, size), x in zip(program.inputs, arrays, strict=True):
        if x.shape[-1:] != (size,):
            raise ValueError(f"{name}: expected shape (..., {size}), found {x.shape}")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    columns = [x[..., k] for x in arrays for k in range(x.shape[-1])]
    with np.errstate(all="ignore"):
        values = _values(program, columns)
    results, start = [], 0
    for _, shape in program.outputs:
        size = prod(shape)
        out = np.empty((*batch, size))
        for k in range(size):
            out[..., k] = values[program.results[start + k]]
        results.append(out.reshape(batch + shape))
        start += size
    return tuple(results)


def _values(program: Program, columns: Sequence[Any]) -> list[Any]:
    values: list[Any] = []
    for node in program.nodes:
        if node[0] == "const":
            values.append(node[1])
        elif node[0] == "input":
            values.append(columns[node[1]])
        else:
            values.append(OPS[node[0]].value(*(values[a] for a in node[1:])))
    return values


def as_function(program: Program) -> Run:
    """The same as a Python function, for programs that run often, as in loops: one line a node.

    Inputs are (N, size), outputs flat (N, size); nothing is checked.
    """
    places = [f"x{j}[:, {k}]" for j, (_, size) in enumerate(program.inputs) for k in range(size)]
    lines = [f"def run({', '.join(f'x{j}' for j in range(len(program.inputs)))}):"]
    for i, node in enumerate(program.nodes):
        if node[0] in OPS:
            value = f"{node[0]}({', '.join(f'v{a}' for a in node[1:])})"
        else:
            value = f"float({str(node[1])!r})" if node[0] == "const" else places[node[1]]
        lines.append(f"    v{i} = {value}")
    start = 0
    for k, (_, shape) in enumerate(program.outputs):
        lines.append(f"    y{k} = empty((len(x0), {prod(shape)}))")
        lines += [f"    y{k}[:, {j}] = v{program.results[start + j]}" for j in range(prod(shape))]
        start += prod(shape)
    lines.append(f"    return [{', '.join(f'y{k}' for k in range(len(program.outputs)))}]")
    names: dict[str, Any] = {"empty": np.empty, **{op: row.value for op, row in OPS.items()}}
    exec("\n".join(lines), names)
    found: Run = names["run"]
    return found
