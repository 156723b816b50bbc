"""Programs and loops as JavaScript: functions of arrays, without any dependency.

Numbers are doubles, as in C. Sines and cosines are those of the browser, which may differ in the last place.
"""

from __future__ import annotations

from math import inf, prod

from armdyn.kernels.c import LoopPrinter, straight_line
from armdyn.program import loops
from armdyn.program.ops import OPS
from armdyn.program.program import Program

_OWN = {
    "sin": "Math.sin({0})",
    "cos": "Math.cos({0})",
    "sqrt": "Math.sqrt({0})",
    "exp": "Math.exp({0})",
    "tanh": "Math.tanh({0})",
    "abs": "Math.abs({0})",
}  # what C spells otherwise


def function_text(name: str, program: Program) -> str:
    """`function NAME(inputs, outputs)`: each an array; the outputs, row by row, are written.

    Inputs are in0, in1, … and outputs out0, out1, …; empty ones are left out. Outputs may not overlap inputs.
    """
    inputs = [f"in{k}" for k, (_, size) in enumerate(program.inputs) if size]
    outputs = [f"out{k}" for k, (_, shape) in enumerate(program.outputs) if prod(shape)]
    places = [f"in{k}[{j}]" for k, (_, size) in enumerate(program.inputs) for j in range(size)]
    names = [f"out{k}" for k in range(len(program.outputs))]
    lines = straight_line(program, places, names, "const", number, _spelled)
    body = "".join(f"  {line}\n" for line in lines)
    return f"function {name}({', '.join([*inputs, *outputs])}) {{\n{body}}}\n"


def _spelled(op: str, *arguments: str) -> str:
    return (_OWN.get(op) or OPS[op].c).format(*arguments, f="")


def number(value: float) -> str:
    """A constant as JavaScript writes it: the shortest digits that are this number."""
    if value != value:
        return "NaN"
    if value in (inf, -inf):
        return "Infinity" if value > 0 else "(-Infinity)"
    text = repr(float(value))
    text = text.removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


# ------------------------------------------------------------------------------------------------------------
# Loops: one function for one instance, and its programs beside it.


def loop_text(name: str, loop: loops.Loop) -> str:
    """`function NAME(counts, arguments, functions to ask, context)`, and functions NAME_… that it calls.

    An argument is an array of rows one after the other; those that are written are changed. A function to ask
    is called as `ask(context, row, inputs, output)`, and writes its output.
    """
    called = dict.fromkeys(s.program for s in loop.statements if isinstance(s, loops.Call | loops.Each))
    programs = [function_text(f"{name}_{program}", loop.programs[program]) for program in called]
    return "\n".join([*programs, _JavaScriptPrinter(loop, name, "").function()])


class _JavaScriptPrinter(LoopPrinter):
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

    def pointer(self, part: loops.Slice) -> str:
        array, start = self._at(part)
        whole = part.start == 0 and part.size == part.array.size
        return array if whole else f"{array}.subarray({start}, {part.start + part.size})"

    def converted(self, integer: str) -> str:
        return integer
