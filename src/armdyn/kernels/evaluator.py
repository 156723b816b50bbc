"""The backend "evaluator": what defines the meaning of a program also runs it. Nothing is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from armdyn.kernels.arrays import FLOAT32, FLOAT64, checked_inputs, checked_out
from armdyn.kernels.specification import Specification
from armdyn.program.evaluate import evaluate
from armdyn.program.evaluate_loop import evaluate_loop
from armdyn.program.program import Program, Shape


class Evaluated:
    """A kernel run by the evaluator."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification

    def quick(self, *arrays: Any) -> None:
        """Nothing is quick here."""

    def get_ready(self) -> None:
        """Nothing has to be made."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        kernel = self.specification
        inputs, batch = checked_inputs(kernel.name, kernel.inputs, arrays)
        dtype = FLOAT32 if all(x.dtype == FLOAT32 for x in inputs) else FLOAT64
        targets = (None,) * len(kernel.outputs) if out is None else checked_out(out, batch, kernel.outputs)
        results = [y.astype(dtype) for y in _evaluated(kernel, inputs, batch)]
        for k, target in enumerate(targets):
            if target is not None:
                np.copyto(target, results[k], casting="same_kind")
                results[k] = target
        if len(results) > 1:
            return tuple(results)
        return results[0][()] if out is None else results[0]


def _evaluated(kernel: Specification, inputs: Sequence[np.ndarray], batch: Shape) -> Sequence[np.ndarray]:
    """The outputs (..., *shape)."""
    body = kernel.body
    if isinstance(body, Program):
        return evaluate(body, *inputs)
    rows = prod(batch)
    arrays = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape(1, rows, -1).astype(float) for x in inputs]
    arrays += [np.zeros((1, rows, prod(shape))) for shape in kernel.outputs]
    evaluate_loop(body, rows, {}, dict(zip([x.name for x in body.arguments], arrays, strict=True)))
    return [x.reshape(batch + shape) for x, shape in zip(arrays[len(inputs) :], kernel.outputs, strict=True)]
