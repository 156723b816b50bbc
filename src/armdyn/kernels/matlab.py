"""Programs and loops as functions of MATLAB and GNU Octave, without any toolbox.

An input of n numbers is a matrix (n, N): a column is one state, and N states are one call. Inputs with one
column stand beside those with N. Results are (n, N), matrices (rows, columns, N).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import inf, prod
from textwrap import wrap

import numpy as np

from armdyn.kernels.c import Words
from armdyn.names import MATLAB_KEYWORDS, one_line, unused
from armdyn.program import loops
from armdyn.program.evaluate import evaluate
from armdyn.program.program import Program

_WIDTH = 100
_SPELLED = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} .* {1}",
    "div": "{0} ./ {1}",
    "neg": "-{0}",
    "select": "chosen({0}, {1}, {2})",
}
_CHOSEN = """
function r = chosen(c, a, b)
  none = zeros(size(c + a + b));  % all of one size
  a = a + none;
  r = b + none;
  r(c + none > 0) = a(c + none > 0);
end
"""
_TAKEN = MATLAB_KEYWORDS | {"ans", "chosen", "eps", "i", "inf", "j", "n", "nan", "pi"}  # and names used here


def identifier(text: str) -> str:
    """A name of MATLAB from any name."""
    found = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_").lower()[:48].rstrip("_") or "robot"
    return f"robot_{found}" if found[0].isdigit() or found in _TAKEN else found


def variable(name: str) -> str:
    """The variable of an input or symbol."""
    return unused(re.sub(r"\W", "_", name, flags=re.ASCII), _TAKEN)


def comment(lines: Sequence[str]) -> str:
    """Lines of a comment; long ones go on in the next, indented."""
    folded = [part for line in lines for part in wrap(one_line(line), _WIDTH, subsequent_indent="    ")]
    return "".join(f"% {line}\n" for line in folded)


def number(value: float) -> str:
    """A constant: the shortest digits that are this number."""
    if value != value:
        return "NaN"
    if value in (inf, -inf):
        return "Inf" if value > 0 else "(-Inf)"
    text = repr(float(value)).removesuffix(".0")
    return f"({text})" if text.startswith("-") else text


def matrix(values: np.ndarray) -> str:
    """A matrix from its rows (rows, columns)."""
    rows = (", ".join(number(float(x)) for x in row) for row in values)
    return "[" + "; ...\n  ".join(rows) + "]"


def _spelled(op: str, *arguments: str) -> str:
    if op in _SPELLED:
        return _SPELLED[op].format(*arguments)
    return f"{op}({', '.join(arguments)})"


def _results(program: Program) -> list[str]:
    count = len(program.outputs)
    return ["out"] if count == 1 else [f"out{k + 1}" for k in range(count)]


def function_text(
    package: str, name: str, program: Program, words: Words, joints: Sequence[str], title: str
) -> str:
    """The file of a function, with shapes, units and operation counts in its help."""
    inputs, results = [variable(x) for x, _ in program.inputs], _results(program)
    given = f"[{', '.join(results)}]" if len(results) > 1 else results[0]
    call = f"{name}({', '.join(inputs)})"
    lines = [f"{given} = {package}.{call}: of {title}; N states are N columns"]
    for x, (key, size) in zip(inputs, program.inputs, strict=True):
        lines.append(f"{x} ({size}, N): {words.inputs[key]}")
    for y, (_, shape), meaning in zip(results, program.outputs, words.results[name], strict=True):
        sizes = ", ".join(map(str, shape or (1,)))
        lines.append(f"{y} ({sizes}, N): {meaning.replace(', row by row', '')}")
    lines += [f"joint {i + 1}: {joint}" for i, joint in enumerate(joints)]
    counts = ", ".join(f"{n} {op}" for op, n in program.counts.items())
    lines.append(f"operations: {counts or 'none'}")
    checks = "".join(
        f"  if size({x}, 1) ~= {size}\n"
        f"    error('armdyn:size', '{x}: found %d rows; {size} are expected', size({x}, 1));\n  end\n"
        for x, (_, size) in zip(inputs, program.inputs, strict=True)
    )
    body = _body(program, inputs, results)
    return f"function {given} = {call}\n{comment(lines)}{checks}{body}end\n{_further(program)}"


def _further(*programs: Program) -> str:
    """Functions that programs of a file call."""
    return _CHOSEN if any(node[0] == "select" for x in programs for node in x.nodes) else ""


def _body(program: Program, inputs: Sequence[str], results: Sequence[str]) -> str:
    """Statements from inputs (n, N) to results."""
    used = {node[1] for node in program.nodes if node[0] == "input"}
    places = [(x, k + 1) for x, (_, size) in zip(inputs, program.inputs, strict=True) for k in range(size)]
    lines = [f"x{i} = {x}({k}, :);" for i, (x, k) in enumerate(places) if i in used]
    computed: list[str] = []

    def apply(op: str, *arguments: str) -> str:
        name = f"v{len(computed)}"
        computed.append(f"{name} = {_spelled(op, *arguments)};")
        return name

    values = program.values([f"x{i}" for i in range(len(places))], apply, number)
    columns = ", ".join(f"size({x}, 2)" for x in inputs)
    lines += [*computed, f"n = max([{columns}]);"]
    for y, (_, shape), entries in zip(results, program.outputs, values, strict=True):
        lines.append(f"{y} = zeros({prod(shape)}, n);")
        lines += [f"{y}({k}, :) = {x};" for k, x in zip(_by_columns(shape), entries, strict=True) if x != "0"]
        if len(shape) > 1:
            lines.append(f"{y} = reshape({y}, {', '.join(map(str, shape))}, n);")
    return "".join(f"  {line}\n" for line in lines)


def _by_columns(shape: tuple[int, ...]) -> list[int]:
    """For each entry, row by row, its place, from 1, column by column."""
    order = np.arange(1, prod(shape) + 1).reshape(shape, order="F")
    return [int(k) for k in order.ravel()]


def test_text(
    package: str, programs: Mapping[str, Program], given: Mapping[str, np.ndarray], assembly: str
) -> str:
    """A script that compares every function with values computed by armdyn, at three states in one call.

    `given` are inputs (n,) by name that are not to be random.
    """
    lines = [f"function test_{package}()", "  bad = 0;", assembly]
    for name, program in programs.items():
        rng = np.random.default_rng(7)
        states = [
            np.tile(given[x], (3, 1)) if x in given else rng.uniform(-1, 1, (3, size))
            for x, size in program.inputs
        ]
        rows = [evaluate(program, *(x[k] for x in states)) for k in range(3)]
        results = _results(program)
        for k, x in enumerate(states):
            lines.append(f"  in{k} = {matrix(np.asarray(x).T)};")
        arguments = ", ".join(f"in{k}" for k in range(len(states)))
        lines.append(f"  [{', '.join(results)}] = {package}.{name}({arguments});")
        for k, (y, (_, shape)) in enumerate(zip(results, program.outputs, strict=True)):
            order = np.argsort(_by_columns(shape))
            expected = np.stack([np.ravel(row[k])[order] for row in rows], axis=-1)
            lines.append(f"  bad = bad + differs('{name} {y}', {y}, {matrix(expected)});")
    lines += [
        "  if bad > 0",
        f"    error('armdyn:test', '{package}: %d results differ', bad);",
        "  end",
        "end",
        "",
        "function bad = differs(name, found, expected)",
        "  found = reshape(found, size(expected));",
        "  bad = any(~(abs(found(:) - expected(:)) <= 1e-12 * max([1; abs(expected(:))])));",
        "  if bad",
        "    fprintf('%s: FAILED\\n', name);",
        "  else",
        "    fprintf('%s: ok\\n', name);",
        "  end",
        "end",
    ]
    return "\n".join(line for line in lines if line) + "\n"


# ------------------------------------------------------------------------------------------------------------
# Loops without counts: one function, and its programs as functions of the same file.


def loop_text(name: str, loop: loops.Loop, help_lines: Sequence[str]) -> str:
    """The file of `[written arguments] = NAME(arguments that are read)`, all columns."""
    read = [a.name for a in loop.arguments if not a.written]
    written = [a for a in loop.arguments if a.written]
    head = [f"function [{', '.join(a.name for a in written)}] = {name}({', '.join(read)})"]
    head += [f"  {a.name} = zeros({a.columns}, 1);" for a in written]
    head += [f"  {x.name}_ = zeros({x.size}, 1);" for x in loop.locals if x.size]
    head[1:1] = comment(help_lines).splitlines()
    body = [f"  {line}" for line in _block(loop.body)]
    called = dict.fromkeys(s.program for s in loop.statements if isinstance(s, loops.Call))
    parts = [_part(x, loop.programs[x]) for x in called]
    return "\n".join([*head, *body, "end", *parts]) + _further(*(loop.programs[x] for x in called))


def _part(name: str, program: Program) -> str:
    inputs = [f"in{k}" for k in range(len(program.inputs))]
    results = [f"out{k}" for k in range(len(program.outputs))]
    head = f"\nfunction [{', '.join(results)}] = {name}({', '.join(inputs)})\n"
    return f"{head}{_body(program, inputs, results)}end\n"


def _block(body: loops.Block) -> Iterator[str]:
    for statement in body:
        match statement:
            case loops.Fetch(target, source, 0):
                yield f"{_part_of(target)} = {source.name}(1:{target.size}, 1);"
            case loops.Save(argument, 0, part):
                yield f"{argument.name}(1:{part.size}, 1) = {_part_of(part)};"
            case loops.Copy(target, source):
                yield f"{_part_of(target)} = {_part_of(source)};"
            case loops.Set(target, value):
                yield f"{_part_of(target)} = {loops.spelled(value, str)};"
            case loops.Call(program, inputs, outputs):
                given, found = (", ".join(map(_part_of, parts)) for parts in (inputs, outputs))
                yield f"[{found}] = {program}({given});"
            case loops.While(condition, inner, most):
                yield f"for left = 1:{loops.spelled(most, str)}" if most is not None else "while true"
                yield f"  if ~({_part_of(condition)} > 0), break; end"
                yield from (f"  {line}" for line in _block(inner))
                yield "end"
            case _:
                raise NotImplementedError(f"{type(statement).__name__} in MATLAB")


def _part_of(part: loops.Slice) -> str:
    return f"{part.array.name}_({part.start + 1}:{part.start + part.size})"
