"""The evaluator: it defines what a program means."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from armdyn.program.ops import OPS
from armdyn.program.program import Program


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
