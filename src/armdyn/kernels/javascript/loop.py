"""Loops as JavaScript: one function for one instance, and its programs beside it."""

from __future__ import annotations

from armdyn.kernels.c_loop import Printer
from armdyn.kernels.javascript.program import function_text
from armdyn.program import loops


def loop_text(name: str, loop: loops.Loop) -> str:
    """`function NAME(counts, arguments, functions to ask, context)`, and functions NAME_… that it calls.

    An argument is an array of rows one after the other; those that are written are changed. A function to ask
    is called as `ask(context, row, inputs, output)`, and writes its output.
    """
    called = dict.fromkeys(s.program for s in loop.statements if isinstance(s, loops.Call | loops.Each))
    programs = [function_text(f"{name}_{program}", loop.programs[program]) for program in called]
    return "\n".join([*programs, _JavaScriptPrinter(loop, name, "").function()])


class _JavaScriptPrinter(Printer):
    """C with the declarations of JavaScript."""

    integer = small = "let"

    @property
    def prototype(self) -> str:
        parameters = [count.name for count in self.loop.counts]
        parameters += [argument.name for argument in self.loop.arguments]
        parameters += [*self.loop.asks, "context"] if self.loop.asks else []
        return f"function {self.prefix}({', '.join(parameters)})"

    def function(self) -> str:
        self.block(self.loop.body)
        return "\n".join([f"{self.prototype} {{", *self.variables, *self.lines, "}", ""])

    @property
    def variables(self) -> list[str]:
        arrays = [f"    {self.array(f'{x.name}_', x.size)}" for x in self.loop.locals if x.size]
        return arrays + [f"    let index_{name} = 0;" for name in self.counters]

    def function_name(self, program: str) -> str:
        return f"{self.prefix}_{program}"

    def array(self, name: str, size: int) -> str:
        return f"const {name} = new Float64Array({size});"

    def pointer(self, part: loops.Part) -> str:
        array, start = self._at(part)
        whole = part.start == 0 and part.size == part.array.size
        return array if whole else f"{array}.subarray({start}, {part.start + part.size})"

    def converted(self, integer: str) -> str:
        return integer
