"""The evaluator of loops: what they mean, for any number of instances at once, in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from armdyn.program.evaluate import evaluate
from armdyn.program.loops import (
    Ask,
    Block,
    Call,
    Copy,
    For,
    If,
    Int,
    Load,
    Loop,
    Part,
    Save,
    Set,
    Statement,
    While,
    integer,
)
from armdyn.program.program import Program

Mask: TypeAlias = np.ndarray | None  # (instances,): which ones take part; None: all
Run: TypeAlias = Callable[..., Sequence[np.ndarray]]  # inputs (instances, size) -> outputs, flat
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

    `run` makes a function of a program; by default the evaluator of programs.
    """
    if instances == 0:
        return
    make = run or _evaluated
    functions = {name: make(name, program) for name, program in loop.programs.items()}
    numbers = {local.name: np.zeros((instances, local.size)) for local in loop.locals}
    with np.errstate(all="ignore"):
        _Evaluation(functions, numbers, dict(counts), arguments, asked or {}).block(loop.body, None)


def _evaluated(_: str, program: Program) -> Run:
    def run(*inputs: np.ndarray) -> list[np.ndarray]:
        return [y.reshape(len(inputs[0]), -1) for y in evaluate(program, *inputs)]

    return run


class _Evaluation:
    """A loop on its way: the local arrays (instances, size) and the integers."""

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

    def block(self, statements: Block, mask: Mask) -> None:
        for statement in statements:
            self.statement(statement, mask)

    def statement(self, statement: Statement, mask: Mask) -> None:
        match statement:
            case Load(target, source, row):
                self._write(target, self.arguments[source.name][self._int(row), :, : target.size], mask)
            case Save(target, row, source):
                place = self.arguments[target.name][self._int(row), :, : source.size]
                place[:] = _merged(self._read(source), place, mask)
            case Copy(target, source):
                self._write(target, self._read(source), mask)
            case Set(target, value):
                self._write(target, np.float64(self._int(value)), mask)
            case Call(program, inputs, outputs):
                results = self.functions[program](*(self._read(part) for part in inputs))
                for part, found in zip(outputs, [np.array(y) for y in results], strict=True):
                    self._write(part, found, mask)
            case Ask(name, row, inputs, output):
                found = self.asked[name](self._int(row), *(self._read(part) for part in inputs))
                self._write(output, found, mask)
            case For():
                self._for(statement, mask)
            case While():
                self._while(statement, mask)
            case If(condition, body, otherwise):
                holds = self._read(condition)[:, 0] > 0
                for chosen, block in ((holds, body), (~holds, otherwise)):
                    inner = chosen if mask is None else mask & chosen
                    if block and inner.any():
                        self.block(block, None if inner.all() else inner)

    def _for(self, statement: For, mask: Mask) -> None:
        counted = range(self._int(statement.start), self._int(statement.stop))
        for k in reversed(counted) if statement.backwards else counted:
            self.integers[statement.counter.name] = k
            self.block(statement.body, mask)

    def _while(self, statement: While, mask: Mask) -> None:
        left = None if statement.most is None else self._int(statement.most)
        while left is None or left > 0:
            holds = self._read(statement.condition)[:, 0] > 0
            mask = holds if mask is None else mask & holds
            if not mask.any():
                return
            self.block(statement.body, mask)
            left = None if left is None else left - 1

    def _read(self, part: Part) -> np.ndarray:
        return self.numbers[part.array.name][:, part.start : part.start + part.size]

    def _write(self, part: Part, value: Any, mask: Mask) -> None:
        place = self._read(part)
        place[:] = _merged(value, place, mask)

    def _int(self, x: Int) -> int:
        return integer(x, self.integers)


def _merged(new: Any, old: np.ndarray, mask: Mask) -> Any:
    return new if mask is None else np.where(mask[:, None], new, old)
