"""Loops as CUDA: a kernel in which each thread runs one instance, and its programs as functions beside it.

A long program that is called in several places would not fit the cache of instructions if it were there again
and again. Where a block has the same call several times, as the stages of a Runge–Kutta step do, the call is
made in turns of a loop, in each of which something else follows it: then all numbers stay in registers.
Otherwise such a program is a function of its own, and its arguments go through memory.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from armdyn.kernels.c_loop import Place, Printer
from armdyn.kernels.cuda.text import device_function, is_short
from armdyn.program import loops

BLOCK = 128  # threads
UNROLLED = 128  # numbers: copied one by one, so that registers can hold the arrays


def loop_text(name: str, loop: loops.Loop, scalar: str) -> str:
    """The kernel of a loop in "double" or "float" and the functions that it calls.

    `void NAME(long long instances, counts, arguments)`: a count is a long long. An argument is a pointer and
    its strides from row to row, from instance to instance and from column to column, in numbers.
    """
    if loop.asks:
        raise ValueError(f"{loop.name}: '{loop.asks[0]}' is a function of the caller, which CUDA cannot call")
    printer = _CudaPrinter(loop, name, scalar)
    kernel = printer.function()
    functions = [
        device_function(f"{name}_{program}", loop.programs[program], scalar, several=count > 1)
        for program, count in printer.calls.items()
    ]
    return "\n".join([*functions, kernel])


class _CudaPrinter(Printer):
    """C with strided arguments; `instance` is the thread's own."""

    integer = "long long"

    def __init__(self, loop: loops.Loop, name: str, scalar: str) -> None:
        super().__init__(loop, name, scalar)
        self._arguments = {argument.name for argument in loop.arguments}
        self.calls: Counter[str] = Counter()  # how often programs are called in the text

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
        self.calls[program] += 1
        return f"{self.prefix}_{program}"

    def block(self, statements: loops.Block) -> None:
        turning = next((s for s in statements if self._in_turns(s, statements)), None)
        if turning is None:
            super().block(statements)
            return
        places = [k for k, s in enumerate(statements) if s == turning]
        super().block(statements[: places[0]])
        turn = self._name("turn")
        self.do("#pragma unroll 1")
        self.do(f"for (int {turn} = 0; {turn} < {len(places)}; ++{turn}) {{")
        self.depth += 1
        self.statement(turning)
        for k, (start, end) in enumerate(pairwise(places)):
            self.nested(f"{'else ' * (k > 0)}if ({turn} == {k})", statements[start + 1 : end])
        self.depth -= 1
        self.do("}")
        self.block(statements[places[-1] + 1 :])

    def _in_turns(self, statement: loops.Statement, block: loops.Block) -> bool:
        """Whether it calls a long program, and the block has just this call more than once."""
        return (
            isinstance(statement, loops.Call)
            and not is_short(self.loop.programs[statement.program])
            and block.count(statement) > 1
        )

    def nested(self, head: str, body: loops.Block, first: str = "") -> None:
        if head.startswith(("for", "while")):
            self.do("#pragma unroll 1")
        super().nested(head, body, first)

    def _copy(self, target: Place, source: Place, size: int) -> None:
        if 1 < size <= UNROLLED:
            self.do("#pragma unroll")
        super()._copy(target, source, size)

    def _row(self, argument: loops.Argument, row: loops.Int) -> Place:
        return argument.name, f"{self._int(row)} * {argument.name}_by_row"

    def _entry(self, place: Place, entry: str = "") -> str:
        array, k = place
        if entry and array in self._arguments:
            return f"{array}[{k} + {entry} * {array}_by_column]"
        return super()._entry(place, entry)
