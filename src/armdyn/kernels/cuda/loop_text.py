"""Loops as CUDA: a kernel in which each thread runs one instance, and its programs as functions beside it.

A program that is called in several places is one function, unless it is short: the same code again and again
would not fit the cache of instructions.
"""

from __future__ import annotations

from collections import Counter

from armdyn.kernels.c_loop import Place, Printer
from armdyn.kernels.cuda.text import device_function
from armdyn.program import loops

BLOCK = 128  # threads


def loop_text(name: str, loop: loops.Loop, scalar: str) -> str:
    """The kernel of a loop in "double" or "float" and the functions that it calls.

    `void NAME(long long instances, counts, arguments)`: a count is a long long. An argument is a pointer and
    its strides from row to row, from instance to instance and from column to column, in numbers.
    """
    if loop.asks:
        raise ValueError(f"{loop.name}: '{loop.asks[0]}' is a function of the caller, which CUDA cannot call")
    calls = Counter(s.program for s in loop.statements if isinstance(s, loops.Call))
    functions = [
        device_function(f"{name}_{program}", loop.programs[program], scalar, several=count > 1)
        for program, count in calls.items()
    ]
    return "\n".join([*functions, _CudaPrinter(loop, name, scalar).function()])


class _CudaPrinter(Printer):
    """C with strided arguments; `instance` is the thread's own."""

    integer = "long long"

    def __init__(self, loop: loops.Loop, name: str, scalar: str) -> None:
        super().__init__(loop, name, scalar)
        self._arguments = {argument.name for argument in loop.arguments}

    @property
    def prototype(self) -> str:
        parameters = ["const long long instances"]
        parameters += [f"const long long {count.name}" for count in self.loop.counts]
        for a in self.loop.arguments:
            parameters.append(f"{'' if a.written else 'const '}{self.scalar} *__restrict__ {a.name}")
            parameters += [f"const long long {a.name}_by_{axis}" for axis in ("row", "instance", "column")]
        return (
            f'extern "C" __global__ void __launch_bounds__({BLOCK}) {self.prefix}(\n'
            f"    {', '.join(parameters)})"
        )

    def function(self) -> str:
        self.block(self.loop.body)
        head = [
            f"    const long long instance = (long long)blockIdx.x * {BLOCK} + threadIdx.x;",
            "    if (instance >= instances) return;",
            *(f"    {a.name} += instance * {a.name}_by_instance;" for a in self.loop.arguments),
            *self.variables,
        ]
        return "\n".join([self.prototype, "{", *head, *self.lines, "}", ""])

    def function_name(self, program: str) -> str:
        return f"{self.prefix}_{program}"

    def nested(self, head: str, body: loops.Block, first: str = "") -> None:
        if head.startswith(("for", "while")):
            self.do("#pragma unroll 1")
        super().nested(head, body, first)

    def _row(self, argument: loops.Argument, row: loops.Int) -> Place:
        return argument.name, f"{self._int(row)} * {argument.name}_by_row"

    def _entry(self, place: Place, entry: str = "") -> str:
        array, k = place
        if entry and array in self._arguments:
            return f"{array}[{k} + {entry} * {array}_by_column]"
        return super()._entry(place, entry)
