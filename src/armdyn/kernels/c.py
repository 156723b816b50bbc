"""Programs and loops as functions of C99, without allocation; `c_package.py` makes packages of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from textwrap import wrap
from typing import TypeAlias

import numpy as np

from armdyn.expression import ArmdynError
from armdyn.kernels import c_math
from armdyn.names import one_line
from armdyn.program import loops
from armdyn.program.loops import rows_of
from armdyn.program.ops import OPS
from armdyn.program.program import Program

_WIDTH = 100
_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int
    long register restrict return short signed sizeof static struct switch typedef union unsigned void
    volatile while
    alignas alignof asm bool complex constexpr false fortran imaginary noreturn nullptr static_assert
    thread_local true typeof typeof_unqual
    and bitand bitor catch class compl delete export friend mutable namespace new not operator or private
    protected public template this throw try typename using virtual xor
    char8_t char16_t char32_t concept const_cast consteval constinit co_await co_return co_yield decltype
    dynamic_cast explicit reinterpret_cast requires static_cast typeid wchar_t and_eq not_eq or_eq xor_eq
    main test
    all clean depend edit_cache help install package rebuild_cache
    cdecl far huge i386 interface linux near pascal small stderr stdin stdout unix
"""  # C, later C and C++, the test program, CMake's own targets, and macros that systems have
_HEADERS = """
    assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg
    stdatomic stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar
    wchar wctype aux con nul prn
"""  # NAME.h would hide a standard header; the last line cannot name files on Windows
_TAKEN = frozenset(f"{_KEYWORDS} {_HEADERS}".split())
_LONGEST = 48  # characters of a prefix: it begins the names of files and functions


def identifier(text: str) -> str:
    """A C identifier from any name."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()[:_LONGEST].rstrip("_") or "robot"
    device = re.fullmatch("(com|lpt)[0-9]", found)  # cannot name files on Windows either
    return f"robot_{found}" if found[0].isdigit() or found in _TAKEN or device else found


@dataclass(frozen=True)
class Words:
    """Words of the header: the meaning of each input, and of each function's outputs, by name."""

    inputs: Mapping[str, str]
    results: Mapping[str, Sequence[str]]


def comment_block(lines: Sequence[str]) -> str:
    """Lines of a comment; long ones go on in the next, indented."""
    folded = [part for line in lines for part in wrap(commented(line), _WIDTH, subsequent_indent="    ")]
    return "/*\n" + "".join(f" * {line}\n" for line in folded) + " */\n"


def commented(text: str) -> str:
    """A text as one line of a C comment, without what could end it: joined lines, trigraphs, "*/"."""
    line = one_line(text).replace("\\", "/")
    return re.sub(r"\?(?=\?)|\*(?=/)|/(?=\*)", r"\g<0> ", line)


def check_constants(name: str, program: Program, scalar: str) -> None:
    """Refuse constants that overflow the type: C cannot write them."""
    for node in program.nodes:
        if node[0] == "const" and not fits(node[1], scalar):
            raise ArmdynError(f"{name}: the constant {node[1]!r} cannot be written as a {scalar} of C")


def fits(value: float, scalar: str) -> bool:
    return bool(np.isfinite(_rounded(value, scalar)))


def _rounded(value: float, scalar: str) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value)) if scalar == "float" else value


def output_names(program: Program) -> list[tuple[str, int]]:
    labels = ["out"] if len(program.outputs) == 1 else [f"out{k + 1}" for k in range(len(program.outputs))]
    return [(label, prod(shape)) for label, (_, shape) in zip(labels, program.outputs, strict=True)]


def input_names(program: Program) -> list[tuple[str, int]]:
    return [(name.replace(".", "_"), size) for name, size in program.inputs]


def prototype(prefix: str, name: str, program: Program, scalar: str) -> str:
    arguments = [f"const {scalar} {x}[{size}]" for x, size in input_names(program)]
    arguments += [f"{scalar} {x}[{size}]" for x, size in output_names(program)]
    return f"void {prefix}_{name}({', '.join(arguments)})"


def definition(prefix: str, name: str, program: Program, scalar: str, math: str | None = None) -> str:
    """The function of a program: its results may not overlap its inputs.

    `math` is the prefix of functions of `c_math.py`, which it calls in the place of libm's.
    """
    body = _statements(program, scalar, math)
    return "\n".join([prototype(prefix, name, program, scalar), "{", *body, "}", ""])


def _statements(program: Program, scalar: str, math: str | None) -> Iterator[str]:
    used = {node[1] for node in program.nodes if node[0] == "input"}
    start = 0
    for x, size in input_names(program):
        if not used & set(range(start, start + size)):
            yield f"    (void){x};"
        start += size
    suffix = "f" if scalar == "float" else ""
    places = [f"{x}[{k}]" for x, size in input_names(program) for k in range(size)]
    names = [x for x, _ in output_names(program)]
    for line in straight_line(
        program,
        places,
        names,
        f"const {scalar}",
        lambda value: number(value, scalar),
        lambda op, *arguments: (
            OPS[op].c.format(*arguments, f=suffix)
            if math is None or op not in c_math.FUNCTIONS
            else f"{math}_{op}({', '.join(arguments)})"
        ),
    ):
        yield f"    {line}"


def straight_line(
    program: Program,
    inputs: Sequence[str],
    outputs: Sequence[str],
    declared: str,
    number: Callable[[float], str],
    spelled: Callable[..., str],
) -> Iterator[str]:
    """A program's operations, one variable `declared` for each, then its outputs: C or JavaScript.

    `inputs` are the places of its scalars, `outputs` the names of arrays.
    """
    values: list[str] = []
    for i, node in enumerate(program.nodes):
        if node[0] == "const":
            values.append(number(node[1]))
        elif node[0] == "input":
            values.append(inputs[node[1]])
        else:
            yield f"{declared} v{i} = {spelled(node[0], *(values[a] for a in node[1:]))};"
            values.append(f"v{i}")
    for name, results in zip(outputs, program.by_output(values), strict=True):
        for j, value in enumerate(results):
            yield f"{name}[{j}] = {value};"


def number(value: float, scalar: str) -> str:
    """A constant as C writes it."""
    text = repr(_rounded(value, scalar))
    if "e" not in text and "." not in text:
        text += ".0"
    text += "f" if scalar == "float" else ""
    return f"({text})" if text.startswith("-") else text


def constant_array(scalar: str, name: str, values: np.ndarray, kind: str = "static const") -> str:
    """The definition of an array of numbers."""
    body = "\n            ".join(_rows(values, scalar))
    return f"{kind} {scalar} {name}[{len(values)}] = {{\n            {body}}};"


def initializer(
    prefix: str, name: str, values: Sequence[float] | np.ndarray, scalar: str, meaning: str
) -> str:
    """A macro PREFIX_NAME that an array can begin with: a constant that nobody uses would be a warning."""
    body = " \\\n    ".join(_rows(values, scalar))
    return f"{comment_block([meaning])}#define {prefix.upper()}_{name.upper()} {{ \\\n    {body} }}\n"


def _rows(values: Sequence[float] | np.ndarray, scalar: str) -> list[str]:
    """Numbers with commas between them, in lines."""
    lines, line = [], ""
    for text in (number(float(v), scalar).strip("()") for v in values):
        if len(line) + len(text) > _WIDTH:
            lines.append(line.rstrip())
            line = ""
        line += f"{text}, "
    return [*lines, line.rstrip(", ")]


# ------------------------------------------------------------------------------------------------------------
# Loops: one function for one instance.


Place: TypeAlias = tuple[str, str]  # an array, and where in it


def loop_parts(
    prefix: str,
    loop: loops.Loop,
    scalar: str = "double",
    meanings: Mapping[str, str] | None = None,
    math: str | None = None,
) -> tuple[str, list[str]]:
    """The declaration of a loop's function, and all functions it consists of.

    `void PREFIX_LOOP(counts, arguments, callbacks, context)`, in "double" or "float". An argument is an array
    of rows one after the other. `meanings` says in the header what counts, arguments and callbacks are, by
    their names.
    """
    programs = called_programs(loop)
    for name, program in programs.items():
        check_constants(name, program, scalar)
    printer = LoopPrinter(loop, prefix, scalar)
    own = f"{prefix}_{loop.name}"
    functions = [f"static {definition(own, name, p, scalar, math)}" for name, p in programs.items()]
    return f"{_documented_loop(loop, meanings or {})}{printer.prototype};\n", [*functions, printer.function()]


def called_programs(loop: loops.Loop) -> dict[str, Program]:
    """The programs that a loop calls, by name, as C has them."""
    called = dict.fromkeys(s.program for s in loop.statements if isinstance(s, loops.Call | loops.Each))
    return {name: _plain(loop.programs[name]) for name in called}


def _plain(program: Program) -> Program:
    """A program with inputs in0, in1, … of which none is empty: C has no empty arrays."""
    inputs = tuple((f"in{k}", size) for k, (_, size) in enumerate(program.inputs) if size)
    return replace(program, inputs=inputs, outputs=tuple(y for y in program.outputs if prod(y[1])))


def _documented_loop(loop: loops.Loop, meanings: Mapping[str, str]) -> str:
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
    """Functions that the loop asks, by name, each as the first statement that asks it.

    All statements that ask a function must give it the same sizes.
    """
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


class LoopPrinter:
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

    def pointer(self, part: loops.Slice) -> str:
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
            case loops.Fetch(target, source, row):
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

    def _call(self, head: str, inputs: tuple[loops.Slice, ...], outputs: tuple[loops.Slice, ...]) -> None:
        """Lines of a call; results that would overwrite inputs, or each other, go by way of other arrays."""
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
        """Lines of an `Each`: columns go by way of arrays of their own."""
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
        """Lines, entry by entry; % stands for the entry's number."""
        entry = self._name("entry")
        self.do(f"for ({self.small} {entry} = 0; {entry} < {size}; ++{entry}) {{")
        self.do(f"    {target.replace('%', entry)} = {source.replace('%', entry)};")
        self.do("}")

    def _copy(self, target: Place, source: Place, size: int) -> None:
        if size == 1:
            self.do(f"{self._entry(target)} = {self._entry(source)};")
        elif size:
            entry = self._name("entry")
            self.do(f"for ({self.small} {entry} = 0; {entry} < {size}; ++{entry}) {{")
            self.do(f"    {self._entry(target, entry)} = {self._entry(source, entry)};")
            self.do("}")

    def _entry(self, place: Place, entry: str = "") -> str:
        """A number at a place, or so many after it."""
        array, k = place
        return f"{array}[{k} + {entry}]" if entry else f"{array}[{k}]"

    def _number(self, part: loops.Slice) -> str:
        return f"{part.array.name}_[{part.start}]"

    def _at(self, part: loops.Slice) -> Place:
        return f"{part.array.name}_", str(part.start)

    def _row(self, argument: loops.Argument, row: loops.Int) -> Place:
        return argument.name, self._int(row if argument.columns == 1 else row * argument.columns)

    def _int(self, x: loops.Int) -> str:
        counts = {count.name for count in self.loop.counts}
        return loops.spelled(x, lambda name: name if name in counts else f"index_{name}")

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind}_{self._names}"
