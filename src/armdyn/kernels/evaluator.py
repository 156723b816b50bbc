"""The backend "evaluator": what defines the meaning of a program also runs it. Nothing is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armdyn.kernels.arrays import FLOAT32, FLOAT64, checked_inputs, checked_out
from armdyn.kernels.specification import Specification
from armdyn.program.evaluate import evaluate


class Evaluated:
    """A kernel run by the evaluator."""

    def __init__(self, specification: Specification) -> None:
        self.specification = specification

    def quick(self, *arrays: Any) -> None:
        """Nothing is quick here."""

    def __call__(self, arrays: Sequence[Any], out: Any) -> Any:
        kernel = self.specification
        inputs, batch = checked_inputs(kernel.name, kernel.inputs, arrays)
        dtype = FLOAT32 if all(x.dtype == FLOAT32 for x in inputs) else FLOAT64
        targets = (None,) * len(kernel.outputs) if out is None else checked_out(out, batch, kernel.outputs)
        results = [y.astype(dtype) for y in evaluate(kernel.program, *inputs)]
        for k, target in enumerate(targets):
            if target is not None:
                np.copyto(target, results[k], casting="same_kind")
                results[k] = target
        if len(results) > 1:
            return tuple(results)
        return results[0][()] if out is None else results[0]
