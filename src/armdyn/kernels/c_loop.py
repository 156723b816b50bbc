"""Loops as C99: one function for one instance, no allocation, no dependency but libm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import TypeAlias

from armdyn.kernels.c import CSource, assembled, check_constants, comment_block, definition, provenance
from armdyn.program import loops
from armdyn.program.extent import rows_of
from armdyn.program.program import Program

Place: TypeAlias = tuple[str, str]  # an array, and where in it


def loop_source(
    title: str,
    prefix: str,
    loop: loops.Loop,
    scalar: str = "double",
    meanings: Mapping[str, str] | None = None,
) -> CSource:
    """`void PREFIX_LOOP(counts, arguments, callbacks, context)` in "double" or "float".

    An argument is an array of rows one after the other. `meanings` says in the header what counts, arguments
    and callbacks are, by their names.
    """
    declaration, functions = loop_parts(prefix, loop, scalar, meanings)
    return assembled(provenance(title, [], scalar), prefix, [declaration], functions)


def loop_parts(
    prefix: str, loop: loops.Loop, scalar: str = "double", meanings: Mapping[str, str] | None = None
) -> tuple[str, list[str]]:
    """The declaration of a loop's function, and all functions it consists of."""
    called = dict.fromkeys(s.program for s in loop.statements if isinstance(s, loops.Call | loops.Each))
    programs = {name: _plain(loop.programs[name]) for name in called}
    for name, program in programs.items():
        check_constants(name, program, scalar)
    printer = Printer(loop, prefix, scalar)
    own = f"{prefix}_{loop.name}"
    functions = [f"static {definition(own, name, p, scalar)}" for name, p in programs.items()]
    return f"{_documented(loop, meanings or {})}{printer.prototype};\n", [*functions, printer.function()]


def _plain(program: Program) -> Program:
    """A program with inputs in0, in1, … of which none is empty: C has no empty arrays."""
    inputs = tuple((f"in{k}", size) for k, (_, size) in enumerate(program.inputs) if size)
    return replace(program, inputs=inputs, outputs=tuple(y for y in program.outputs if prod(y[1])))


def _documented(loop: loops.Loop, meanings: Mapping[str, str]) -> str:
    lines = [f"{count.name}: {meanings.get(count.name, 'a count')}" for count in loop.counts]
    rows = rows_of(loop)
    for argument in loop.arguments:
        kind = "read and written" if argument.written else "read"
        meaning = meanings.get(argument.name, "numbers")
        lines.append(f"{argument.name}[{rows[argument.name]}][{argument.columns}]: {meaning} ({kind})")
    for name, ask in _asks(loop).items():
        sizes = ", ".join(str(part.size) for part in ask.inputs)
        lines.append(
            f"{name}: {meanings.get(name, 'a function of yours')} "
            f"(context, an integer, arrays of {sizes} in, an array of {ask.output.size} out)"
        )
    if loop.asks:
        lines.append("context: handed on to these functions as it is")
    return comment_block(lines)


def _asks(loop: loops.Loop) -> dict[str, loops.Ask]:
    """What is asked for, each with the first statement that asks; all must give it the same."""
    found: dict[str, loops.Ask] = {}
    for ask in loop.statements:
        if isinstance(ask, loops.Ask):
            first = found.setdefault(ask.name, ask)
            if _sizes(first) != _sizes(ask):
                raise ValueError(
                    f"{loop.name}: '{ask.name}' is asked with {_sizes(first)} and {_sizes(ask)} numbers"
                )
    return found


def _sizes(ask: loops.Ask) -> list[int]:
    return [part.size for part in (*ask.inputs, ask.output)]


class Printer:
    """Writes the function: local arrays are NAME_, counters index_NAME."""

    integer = "long"
    small = "int"  # what counts the entries of an array

    def __init__(self, loop: loops.Loop, prefix: str, scalar: str) -> None:
        self.loop, self.prefix, self.scalar = loop, prefix, scalar
        self.lines: list[str] = []
        self.depth = 1
        self._names = 0

    @property
    def prototype(self) -> str:
        parameters = [f"long {count.name}" for count in self.loop.counts]
        parameters += [f"{'' if a.written else 'const '}{self.scalar} *{a.name}" for a in self.loop.arguments]
        for name, ask in _asks(self.loop).items():
            inputs = f"const {self.scalar} *, " * len(ask.inputs)
            parameters.append(f"void (*{name})(void *, long, {inputs}{self.scalar} *)")
        if self.loop.asks:
            parameters.append("void *context")
        return f"void {self.prefix}_{self.loop.name}({', '.join(parameters) or 'void'})"

    def function(self) -> str:
        self.block(self.loop.body)
        body = "\n".join(self.lines)
        names = [count.name for count in self.loop.counts] + [a.name for a in self.loop.arguments]
        names += [f"index_{name}" for name in self.counters]
        unread = [name for name in names if not re.search(rf"\b{name}\b(?! = )", body)]
        head = [*self.variables, *(f"    (void){name};" for name in unread)]
        return "\n".join([self.prototype, "{", *head, body, "}", ""])

    @property
    def counters(self) -> list[str]:
        found = (s.counter.name for s in self.loop.statements if isinstance(s, loops.For))
        return list(dict.fromkeys(found))

    @property
    def variables(self) -> list[str]:
        """Local arrays and counters."""
        arrays = [f"    {self.scalar} {x.name}_[{x.size}] = {{0}};" for x in self.loop.locals if x.size]
        return arrays + [f"    {self.integer} index_{name} = 0;" for name in self.counters]

    def function_name(self, program: str) -> str:
        return f"{self.prefix}_{self.loop.name}_{program}"

    def array(self, name: str, size: int) -> str:
        """The declaration of an array of numbers."""
        return f"{self.scalar} {name}[{size}];"

    def pointer(self, part: loops.Part) -> str:
        """A part of a local array as an argument."""
        array, k = self._at(part)
        return array if k == "0" else f"{array} + {k}"

    def converted(self, integer: str) -> str:
        """An integer as a number."""
        return f"({self.scalar}){integer}"

    def do(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def block(self, statements: loops.Block) -> None:
        for statement in statements:
            self.statement(statement)

    def nested(self, head: str, body: loops.Block, first: str = "") -> None:
        self.do(head + " {")
        self.depth += 1
        if first:
            self.do(first)
        self.block(body)
        self.depth -= 1
        self.do("}")

    def statement(self, statement: loops.Statement) -> None:
        match statement:
            case loops.Load(target, source, row):
                self._copy(self._at(target), self._row(source, row), target.size)
            case loops.Save(argument, row, part):
                self._copy(self._row(argument, row), self._at(part), part.size)
            case loops.Copy(target, source):
                self._copy(self._at(target), self._at(source), target.size)
            case loops.Set(target, value):
                self.do(f"{self._number(target)} = {self.converted(self._int(value))};")
            case loops.Call(program, inputs, outputs):
                self._call(f"{self.function_name(program)}(", inputs, outputs)
            case loops.Each():
                self._each(statement)
            case loops.Ask(name, row, inputs, output):
                self._call(f"{name}(context, {self._int(row)}, ", inputs, (output,))
            case loops.For():
                self._for(statement)
            case loops.While(condition, body, most):
                head = f"while ({self._number(condition)} > 0)"
                if most is not None:
                    k = self._name("left")
                    head = (
                        f"for ({self.integer} {k} = {self._int(most)}; "
                        f"{k} > 0 && {self._number(condition)} > 0; --{k})"
                    )
                self.nested(head, body)
            case loops.If(condition, body, otherwise):
                self.nested(f"if ({self._number(condition)} > 0)", body)
                if otherwise:
                    self.nested("else", otherwise)

    def _for(self, statement: loops.For) -> None:
        k, end = self._name("k"), self._name("end")
        start, stop = self._int(statement.start), self._int(statement.stop)
        counter = f"index_{statement.counter.name} = {k}"
        if statement.backwards:
            head = f"for ({self.integer} {k} = {stop}, {end} = {start}; {k} > {end}; --{k})"
            self.nested(head, statement.body, f"{counter} - 1;")
        else:
            head = f"for ({self.integer} {k} = {start}, {end} = {stop}; {k} < {end}; ++{k})"
            self.nested(head, statement.body, f"{counter};")

    def _call(self, head: str, inputs: tuple[loops.Part, ...], outputs: tuple[loops.Part, ...]) -> None:
        """Results that would overwrite what is still read, or each other, go by way of other arrays."""
        given = [self.pointer(part) for part in inputs if part.size]
        parts = [part for part in outputs if part.size]
        apart = {
            k: self._name("result")
            for k, part in enumerate(parts)
            if loops.overlaps(part, (*inputs, *parts[:k]))
        }
        results = [apart.get(k) or self.pointer(part) for k, part in enumerate(parts)]
        call = f"{head}{', '.join([*given, *results])});"
        if not apart:
            self.do(call)
            return
        self.do("{")
        self.depth += 1
        for k, name in apart.items():
            self.do(self.array(name, parts[k].size))
        self.do(call)
        for k, name in apart.items():
            self._copy(self._at(parts[k]), (name, "0"), parts[k].size)
        self.depth -= 1
        self.do("}")

    def _each(self, each: loops.Each) -> None:
        """Columns go by way of arrays of their own."""
        read, written = (
            [(part, self._name("column")) for part in parts if part.size]
            for parts in (each.matrices, each.results)
        )
        k, columns = self._name("k"), each.columns
        self.do(f"for ({self.integer} {k} = 0; {k} < {columns}; ++{k}) {{")
        self.depth += 1
        for part, array in (*read, *written):
            self.do(self.array(array, part.size // columns))
        for part, array in read:
            of, start = self._at(part)
            self._entries(f"{array}[%]", f"{of}[{start} + {columns} * % + {k}]", part.size // columns)
        given = [self.pointer(part) for part in each.inputs if part.size]
        arguments = ", ".join([*given, *(array for _, array in (*read, *written))])
        self.do(f"{self.function_name(each.program)}({arguments});")
        for part, array in written:
            to, start = self._at(part)
            self._entries(f"{to}[{start} + {columns} * % + {k}]", f"{array}[%]", part.size // columns)
        self.depth -= 1
        self.do("}")

    def _entries(self, target: str, source: str, size: int) -> None:
        """Entry by entry; % stands for its number."""
        entry = self._name("entry")
        self.do(f"for ({self.small} {entry} = 0; {entry} < {size}; ++{entry})")
        self.do(f"    {target.replace('%', entry)} = {source.replace('%', entry)};")

    def _copy(self, target: Place, source: Place, size: int) -> None:
        if size == 1:
            self.do(f"{self._entry(target)} = {self._entry(source)};")
        elif size:
            entry = self._name("entry")
            self.do(f"for ({self.small} {entry} = 0; {entry} < {size}; ++{entry})")
            self.do(f"    {self._entry(target, entry)} = {self._entry(source, entry)};")

    def _entry(self, place: Place, entry: str = "") -> str:
        """A number at a place, or so many after it."""
        array, k = place
        return f"{array}[{k} + {entry}]" if entry else f"{array}[{k}]"

    def _number(self, part: loops.Part) -> str:
        return f"{part.array.name}_[{part.start}]"

    def _at(self, part: loops.Part) -> Place:
        return f"{part.array.name}_", str(part.start)

    def _row(self, argument: loops.Argument, row: loops.Int) -> Place:
        return argument.name, self._int(row if argument.columns == 1 else row * argument.columns)

    def _int(self, x: loops.Int) -> str:
        counts = {count.name for count in self.loop.counts}
        return loops.spelled(x, lambda name: name if name in counts else f"index_{name}")

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"
