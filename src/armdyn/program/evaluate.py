"""The evaluator: it defines what a program, and a loop around programs, means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from math import prod
from types import CodeType
from typing import Any, TypeAlias

import numpy as np

from armdyn.program.loops import (
    Ask,
    Block,
    Call,
    Copy,
    Each,
    Fetch,
    For,
    If,
    Int,
    Loop,
    Save,
    Set,
    Slice,
    Statement,
    While,
    spelled,
)
from armdyn.program.ops import OPS
from armdyn.program.program import Program

Run: TypeAlias = Callable[..., Sequence[np.ndarray]]  # inputs (N, size) -> outputs, flat


def evaluate(program: Program, *inputs: Any) -> tuple[np.ndarray, ...]:
    """Outputs for inputs with a leading batch shape: (..., size) each in, (..., *shape) each out."""
    arrays = [np.asarray(x, dtype=float) for x in inputs]
    for (name, size), x in zip(program.inputs, arrays, strict=True):
        if x.shape[-1:] != (size,):
            raise ValueError(f"{name}: expected shape (..., {size}), found {x.shape}")
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in arrays))
    columns = [x[..., k] for x in arrays for k in range(x.shape[-1])]
    with np.errstate(all="ignore"):
        values = program.values(columns, lambda op, *arguments: OPS[op].value(*arguments))
    results = []
    for (_, shape), entries in zip(program.outputs, values, strict=True):
        out = np.empty((*batch, prod(shape)))
        for k, value in enumerate(entries):
            out[..., k] = value
        results.append(out.reshape(batch + shape))
    return tuple(results)


def as_function(program: Program) -> Run:
    """The same as a Python function, for programs that run often, as in loops: one line a node.

    Inputs are (N, size), outputs flat (N, size); nothing is checked.
    """
    places = [f"x{j}[:, {k}]" for j, (_, size) in enumerate(program.inputs) for k in range(size)]
    lines = [f"def run({', '.join(f'x{j}' for j in range(len(program.inputs)))}):"]
    for i, node in enumerate(program.nodes):
        if node[0] in OPS:
            value = f"{node[0]}({', '.join(f'v{a}' for a in node[1:])})"
        else:
            value = f"float({str(node[1])!r})" if node[0] == "const" else places[node[1]]
        lines.append(f"    v{i} = {value}")
    for k, results in enumerate(program.by_output(range(len(program.nodes)))):
        lines.append(f"    y{k} = empty((len(x0), {len(results)}))")
        lines += [f"    y{k}[:, {j}] = v{r}" for j, r in enumerate(results)]
    lines.append(f"    return [{', '.join(f'y{k}' for k in range(len(program.outputs)))}]")
    names: dict[str, Any] = {"empty": np.empty, **{op: row.value for op, row in OPS.items()}}
    exec("\n".join(lines), names)
    found: Run = names["run"]
    return found


# ------------------------------------------------------------------------------------------------------------
# Loops, for any number of instances at once, in NumPy. Each statement becomes, once, a function of the mask
# of instances that take part; then these functions are called.


Mask: TypeAlias = np.ndarray | None  # (instances,): which ones take part; None: all
Action: TypeAlias = Callable[[Mask], None]
Asked: TypeAlias = Callable[..., Any]  # an integer and parts (instances, size) -> (instances or 1, size)


def evaluate_loop(
    loop: Loop,
    instances: int,
    counts: Mapping[str, int],
    arguments: Mapping[str, np.ndarray],
    asked: Mapping[str, Asked] | None = None,
    run: Callable[[str, Program], Run] | None = None,
) -> None:
    """Run a loop; `arguments` (rows, instances or 1, columns) that it writes are changed in place.

    `run` makes a function of a program; by default one that calls NumPy for every operation.
    """
    if instances == 0:
        return
    functions = {name: (run or _function)(name, program) for name, program in loop.programs.items()}
    numbers = {local.name: np.zeros((instances, local.size)) for local in loop.locals}
    action = _Actions(functions, numbers, dict(counts), arguments, asked or {}).block(loop.body)
    with np.errstate(all="ignore"):
        action(None)


def _function(_: str, program: Program) -> Run:
    return as_function(program)


class _Actions:
    """Statements as functions that work on the local arrays (instances, size) and the integers."""

    def __init__(
        self,
        functions: Mapping[str, Run],
        numbers: dict[str, np.ndarray],
        integers: dict[str, int],
        arguments: Mapping[str, np.ndarray],
        asked: Mapping[str, Asked],
    ) -> None:
        self.functions, self.numbers, self.integers = functions, numbers, integers
        self.arguments, self.asked = arguments, asked

    def block(self, statements: Block) -> Action:
        actions = [self.statement(statement) for statement in statements]

        def run(mask: Mask) -> None:
            for action in actions:
                action(mask)

        return run

    def statement(self, statement: Statement) -> Action:
        match statement:
            case Fetch(target, source, row):
                rows, k, to = (
                    self.arguments[source.name][:, :, : target.size],
                    self._int(row),
                    self._at(target),
                )
                return lambda mask: _write(to, rows[k()], mask)
            case Save(argument, row, part):
                rows, k, x = self.arguments[argument.name][:, :, : part.size], self._int(row), self._at(part)
                return lambda mask: _write(rows[k()], x, mask)
            case Copy(target, part):
                to, x = self._at(target), self._at(part)
                return lambda mask: _write(to, x, mask)
            case Set(target, value):
                to, k = self._at(target), self._int(value)
                return lambda mask: _write(to, np.float64(k()), mask)
            case Call():
                return self._call(statement)
            case Each():
                return self._each(statement)
            case Ask(name, row, inputs, output):
                to, k, given = self._at(output), self._int(row), [self._at(part) for part in inputs]
                return lambda mask: _write(to, self.asked[name](k(), *given), mask)
            case For():
                return self._for(statement)
            case While():
                return self._while(statement)
            case If():
                return self._if(statement)

    def _call(self, statement: Call) -> Action:
        function = self.functions[statement.program]
        inputs, outputs = (
            [self._at(part) for part in parts] for parts in (statement.inputs, statement.outputs)
        )

        def run(mask: Mask) -> None:
            for to, found in zip(outputs, function(*inputs), strict=True):
                _write(to, found, mask)

        return run

    def _each(self, statement: Each) -> Action:
        """All columns of all instances at once."""
        function, columns = self.functions[statement.program], statement.columns
        inputs, matrices, results = (
            [self._at(part) for part in parts]
            for parts in (statement.inputs, statement.matrices, statement.results)
        )

        def run(mask: Mask) -> None:
            given = [x.repeat(columns, axis=0) for x in inputs]
            given += [_swapped(x, columns).reshape(len(x) * columns, -1) for x in matrices]
            for to, found in zip(results, function(*given), strict=True):
                rows = found.shape[1]
                _write(to, _swapped(found.reshape(len(to), -1), rows).reshape(to.shape), mask)

        return run

    def _for(self, statement: For) -> Action:
        start, stop, body = self._int(statement.start), self._int(statement.stop), self.block(statement.body)

        def run(mask: Mask) -> None:
            counted = range(start(), stop())
            for k in reversed(counted) if statement.backwards else counted:
                self.integers[statement.counter.name] = k
                body(mask)

        return run

    def _while(self, statement: While) -> Action:
        condition, body = self._at(statement.condition)[:, 0], self.block(statement.body)
        most = None if statement.most is None else self._int(statement.most)

        def run(mask: Mask) -> None:
            left = -1 if most is None else max(most(), 0)
            while left != 0:
                mask = _both(mask, condition > 0)
                if not _where(mask, body):
                    return
                left -= 1

        return run

    def _if(self, statement: If) -> Action:
        condition = self._at(statement.condition)[:, 0]
        body, otherwise = self.block(statement.body), self.block(statement.otherwise)

        def run(mask: Mask) -> None:
            holds = condition > 0
            _where(_both(mask, holds), body)
            if statement.otherwise:
                _where(_both(mask, ~holds), otherwise)

        return run

    def _at(self, part: Slice) -> np.ndarray:
        return self.numbers[part.array.name][:, part.start : part.start + part.size]

    def _int(self, x: Int) -> Callable[[], int]:
        code = _code("lambda: " + spelled(x, lambda name: f"known[{name!r}]"))
        return eval(code, {"known": self.integers})  # type: ignore[no-any-return]


@cache
def _code(text: str) -> CodeType:
    return compile(text, "<integer>", "eval")


def _swapped(x: np.ndarray, columns: int) -> np.ndarray:
    """Matrices (instances, rows · columns), transposed: (instances, columns, rows)."""
    return x.reshape(len(x), -1, columns).swapaxes(1, 2)


def _both(mask: Mask, other: np.ndarray) -> np.ndarray:
    return other if mask is None else mask & other


def _where(mask: np.ndarray, action: Action) -> bool:
    """Act for the instances of a mask; returns whether there are any."""
    count = int(np.count_nonzero(mask))
    if count:
        action(None if count == len(mask) else mask)
    return count > 0


def _write(place: np.ndarray, value: Any, mask: Mask) -> None:
    if mask is None:
        place[...] = value
    else:
        np.copyto(place, value, where=mask[:, None])
