"""A loop as a function of arrays: by the evaluator, or compiled."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from armdyn.kernels.kernel import Kernel
from armdyn.program.evaluate_loop import Asked, Run, evaluate_loop
from armdyn.program.loops import Loop
from armdyn.program.program import Program


class LoopKernel:
    """A loop, for any number of instances; compiled when first used."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop

    def __call__(
        self,
        instances: int,
        counts: Mapping[str, int],
        arguments: Mapping[str, np.ndarray],
        asked: Mapping[str, Asked] | None = None,
    ) -> None:
        """Run it; arrays (rows, instances or 1, columns) that it writes are changed in place."""
        evaluate_loop(self.loop, instances, counts, arguments, asked, self._function)

    @cached_property
    def _kernels(self) -> dict[str, Run]:
        return {name: _kernel(name, program) for name, program in self.loop.programs.items()}

    def _function(self, name: str, program: Program) -> Run:
        return self._kernels[name]


def _kernel(name: str, program: Program) -> Run:
    """A program as a function of its inputs (instances, size) that gives its outputs, flat."""
    kernel = Kernel.of(name, program)

    def run(*inputs: np.ndarray) -> list[np.ndarray]:
        found = kernel(*inputs)
        return [y.reshape(len(inputs[0]), -1) for y in (found if len(program.outputs) > 1 else (found,))]

    return run
