"""Programs: flat straight-line code with named inputs and outputs, recorded by a scalar on a tape."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import prod
from operator import add, mul, neg, sub
from typing import Any, TypeVar

import numpy as np

from armdyn.program.ops import OPS

# ------------------------------------------------------------------------------------------------------------
# Algebraic rules, tried before an operation is recorded.
#
# A rule looks at the arguments and returns the node to use instead, or None. They are exact in real
# arithmetic and never add operations; a product with a constant zero is zero, whatever the other factor.


def add_zero(t: Tape, a: int, b: int) -> int | None:
    """x + 0 = x."""
    return b if t.is_constant(a, 0.0) else a if t.is_constant(b, 0.0) else None


def add_negative(t: Tape, a: int, b: int) -> int | None:
    """x + (−y) = x − y."""
    if t.op(b) == "neg":
        return t.apply("sub", a, t.args(b)[0])
    if t.op(a) == "neg":
        return t.apply("sub", b, t.args(a)[0])
    return None


def add_difference(t: Tape, a: int, b: int) -> int | None:
    """x + (y − x) = y."""
    if t.op(b) == "sub" and t.args(b)[1] == a:
        return t.args(b)[0]
    if t.op(a) == "sub" and t.args(a)[1] == b:
        return t.args(a)[0]
    return None


def subtract_zero(t: Tape, a: int, b: int) -> int | None:
    """x − 0 = x, 0 − x = −x, x − x = 0."""
    if t.is_constant(b, 0.0):
        return a
    if t.is_constant(a, 0.0):
        return t.apply("neg", b)
    return t.constant(0.0) if a == b else None


def subtract_negative(t: Tape, a: int, b: int) -> int | None:
    """x − (−y) = x + y and (−x) − y = −(x + y)."""
    if t.op(b) == "neg":
        return t.apply("add", a, t.args(b)[0])
    if t.op(a) == "neg":
        return t.apply("neg", t.apply("add", t.args(a)[0], b))
    return None


def subtract_difference(t: Tape, a: int, b: int) -> int | None:
    """x − (x − y) = y, (x + y) − x = y."""
    if t.op(b) == "sub" and t.args(b)[0] == a:
        return t.args(b)[1]
    if t.op(a) == "add" and b in t.args(a):
        first, second = t.args(a)
        return second if first == b else first
    return None


def multiply_constant(t: Tape, a: int, b: int) -> int | None:
    """0·x = 0, 1·x = x, (−1)·x = −x."""
    for c, x in ((a, b), (b, a)):
        value = t.value(c)
        if value == 0.0:
            return t.constant(0.0)
        if value == 1.0:
            return x
        if value == -1.0:
            return t.apply("neg", x)
    return None


def multiply_negative(t: Tape, a: int, b: int) -> int | None:
    """(−x)·y = −(x·y), and c·(−x) = (−c)·x for a constant c."""
    if t.op(a) != "neg" and t.op(b) != "neg":
        return None
    if t.op(a) != "neg":
        a, b = b, a
    inner = t.args(a)[0]
    value = t.value(b)
    if value is not None:
        return t.apply("mul", t.constant(-value), inner)
    return t.apply("neg", t.apply("mul", inner, b))


def multiply_constants(t: Tape, a: int, b: int) -> int | None:
    """c·(d·x) = (c d)·x."""
    for c, x in ((a, b), (b, a)):
        value = t.value(c)
        if value is not None and t.op(x) == "mul":
            for d, y in (t.args(x), t.args(x)[::-1]):
                inner = t.value(d)
                if inner is not None:
                    return t.apply("mul", t.constant(value * inner), y)
    return None


def divide_constant(t: Tape, a: int, b: int) -> int | None:
    """x / c = x·(1/c), 0 / x = 0."""
    value = t.value(b)
    if value is not None and abs(value) > 1e-300:
        return t.apply("mul", a, t.constant(1.0 / value))
    return t.constant(0.0) if t.is_constant(a, 0.0) else None


def negate_negative(t: Tape, a: int) -> int | None:
    """−(−x) = x, −(x − y) = y − x, −(c·x) = (−c)·x."""
    if t.op(a) == "neg":
        return t.args(a)[0]
    if t.op(a) == "sub":
        x, y = t.args(a)
        return t.apply("sub", y, x)
    if t.op(a) == "mul":
        for c, x in (t.args(a), t.args(a)[::-1]):
            value = t.value(c)
            if value is not None:
                return t.apply("mul", t.constant(-value), x)
    return None


def cosine_of_negative(t: Tape, a: int) -> int | None:
    """cos(−x) = cos x."""
    return t.apply("cos", t.args(a)[0]) if t.op(a) == "neg" else None


def sine_of_negative(t: Tape, a: int) -> int | None:
    """sin(−x) = −sin x."""
    return t.apply("neg", t.apply("sin", t.args(a)[0])) if t.op(a) == "neg" else None


RULES: dict[str, tuple[Callable[..., int | None], ...]] = {
    "add": (add_zero, add_negative, add_difference),
    "sub": (subtract_zero, subtract_negative, subtract_difference),
    "mul": (multiply_constant, multiply_negative, multiply_constants),
    "div": (divide_constant,),
    "neg": (negate_negative,),
    "cos": (cosine_of_negative,),
    "sin": (sine_of_negative,),
}


# ------------------------------------------------------------------------------------------------------------
# The tape and its scalar.


Node = tuple[Any, ...]  # ("const", value), ("input", k) or (operation, argument, …)
EXACT: dict[str, Callable[..., float]] = {"add": add, "sub": sub, "mul": mul, "neg": neg}  # of floats


class Tape:
    """Nodes in the order they were first needed; the same operation on the same arguments is one node."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}
        self._applied: dict[Node, int] = {}  # operations that were asked for, and the node of each

    def _node(self, node: Node) -> int:
        index = self._index.get(node)
        if index is None:
            index = len(self.nodes)
            self.nodes.append(node)
            self._index[node] = index
        return index

    def constant(self, value: float) -> int:
        return self._node(("const", float(value) + 0.0))  # −0.0 is 0.0

    def input(self, k: int) -> int:
        return self._node(("input", k))

    def op(self, i: int) -> str:
        return self.nodes[i][0]  # type: ignore[no-any-return]

    def args(self, i: int) -> tuple[int, ...]:
        return self.nodes[i][1:]

    def value(self, i: int) -> float | None:
        """The value of a constant node."""
        node = self.nodes[i]
        return node[1] if node[0] == "const" else None

    def is_constant(self, i: int, value: float) -> bool:
        return self.nodes[i] == ("const", value)

    def apply(self, op: str, *args: int) -> int:
        """The node of an operation, by the rules where one applies; commutative arguments in tape order."""
        asked = (op, *args)
        found = self._applied.get(asked)
        if found is None:
            found = self._applied[asked] = self._new(op, args)
        return found

    def _new(self, op: str, args: tuple[int, ...]) -> int:
        nodes = self.nodes
        for a in args:
            if nodes[a][0] != "const":
                break
        else:
            values = [nodes[a][1] for a in args]
            if op in EXACT:
                return self.constant(EXACT[op](*values))
            with np.errstate(all="ignore"):
                return self.constant(float(OPS[op].value(*values)))
        for rule in RULES.get(op, ()):
            replaced = rule(self, *args)
            if replaced is not None:
                return replaced
        if OPS[op].commutative and args[0] > args[1]:
            args = (args[1], args[0])
        return self._node((op, *args))


class Recorder:
    """A scalar that records what is done with it."""

    __slots__ = ("index", "tape")
    __array_ufunc__ = None

    def __init__(self, tape: Tape, index: int) -> None:
        self.tape, self.index = tape, index

    def _other(self, x: Any) -> int:
        return x.index if isinstance(x, Recorder) else self.tape.constant(x)

    def _apply(self, op: str, *args: int) -> Recorder:
        return Recorder(self.tape, self.tape.apply(op, *args))

    def __add__(self, x: Any) -> Recorder:
        return self._apply("add", self.index, self._other(x))

    __radd__ = __add__

    def __sub__(self, x: Any) -> Recorder:
        return self._apply("sub", self.index, self._other(x))

    def __rsub__(self, x: Any) -> Recorder:
        return self._apply("sub", self._other(x), self.index)

    def __mul__(self, x: Any) -> Recorder:
        return self._apply("mul", self.index, self._other(x))

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Recorder:
        return self._apply("div", self.index, self._other(x))

    def __rtruediv__(self, x: Any) -> Recorder:
        return self._apply("div", self._other(x), self.index)

    def __neg__(self) -> Recorder:
        return self._apply("neg", self.index)

    def __abs__(self) -> Recorder:
        return self._apply("abs", self.index)

    def cos(self) -> Recorder:
        return self._apply("cos", self.index)

    def sin(self) -> Recorder:
        return self._apply("sin", self.index)

    def sqrt(self) -> Recorder:
        return self._apply("sqrt", self.index)

    def exp(self) -> Recorder:
        return self._apply("exp", self.index)

    def tanh(self) -> Recorder:
        return self._apply("tanh", self.index)

    def sign(self) -> Recorder:
        return self._apply("sign", self.index)

    def minimum(self, x: Any) -> Recorder:
        return self._apply("min", self.index, self._other(x))

    def maximum(self, x: Any) -> Recorder:
        return self._apply("max", self.index, self._other(x))

    def select(self, a: Any, b: Any) -> Recorder:
        """a where this is positive, else b."""
        return self._apply("select", self.index, self._other(a), self._other(b))


# ------------------------------------------------------------------------------------------------------------
# Programs: what is left of a tape, with names.


Shape = tuple[int, ...]
T = TypeVar("T")
SHORT = 200  # operations


@dataclass(frozen=True)
class Program:
    """Nodes in an order in which arguments come first; outputs name nodes by index, flattened row by row."""

    inputs: tuple[tuple[str, int], ...]  # name and number of scalars
    outputs: tuple[tuple[str, Shape], ...]
    nodes: tuple[Node, ...]
    results: tuple[int, ...]

    @cached_property
    def counts(self) -> dict[str, int]:
        """Numbers of operations by kind."""
        return dict(sorted(Counter(node[0] for node in self.nodes if node[0] in OPS).items()))

    @property
    def operations(self) -> int:
        """Additions, subtractions, multiplications, divisions and other arithmetic, trigonometry apart."""
        return sum(n for op, n in self.counts.items() if op not in ("sin", "cos", "neg"))

    def __str__(self) -> str:
        """One line a node: what is computed from what."""
        names = [f"{name}[{k}]" for name, size in self.inputs for k in range(size)]
        lines = [f"program {', '.join(f'{name}({size})' for name, size in self.inputs)}"]
        for i, node in enumerate(self.nodes):
            if node[0] == "const":
                lines.append(f"  %{i} = {node[1]!r}")
            elif node[0] == "input":
                lines.append(f"  %{i} = {names[node[1]]}")
            else:
                lines.append(f"  %{i} = {node[0]} " + " ".join(f"%{a}" for a in node[1:]))
        labels = [f"%{i}" for i in range(len(self.nodes))]
        for (name, shape), results in zip(self.outputs, self.by_output(labels), strict=True):
            lines.append(f"  {name}{list(shape)} = " + " ".join(results))
        return "\n".join(lines)

    def by_output(self, values: Sequence[T]) -> list[list[T]]:
        """What stands for the results among what stands for the nodes: one flat list per output."""
        found = iter([values[r] for r in self.results])
        return [list(islice(found, prod(shape))) for _, shape in self.outputs]

    def values(
        self,
        inputs: Sequence[Any],
        apply: Callable[..., Any],
        constant: Callable[[float], Any] = lambda value: value,
    ) -> list[list[Any]]:
        """The results by output: `inputs` are the scalars, `apply(operation, *arguments)` computes."""
        found: list[Any] = []
        for node in self.nodes:
            if node[0] == "const":
                found.append(constant(node[1]))
            elif node[0] == "input":
                found.append(inputs[node[1]])
            else:
                found.append(apply(node[0], *(found[a] for a in node[1:])))
        return self.by_output(found)


def is_short(program: Program) -> bool:
    """True if a loop has the program's operations in place of a call, which would cost more than it saves."""
    return sum(program.counts.values()) <= SHORT


def record(
    function: Callable[..., Any],
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Shape]],
) -> Program:
    """Run a function on recording scalars: one list per input, nested lists per output in return."""
    tape = Tape()
    arguments, k = [], 0
    for _, size in inputs:
        arguments.append([Recorder(tape, tape.input(k + i)) for i in range(size)])
        k += size
    values = function(*arguments)
    results = []
    for (name, shape), value in zip(outputs, values if len(outputs) > 1 else (values,), strict=True):
        flat = list(_flat(value))
        if len(flat) != prod(shape):
            raise ValueError(f"output {name}: expected {prod(shape)} scalars, found {len(flat)}")
        results += [x.index if isinstance(x, Recorder) else tape.constant(x) for x in flat]
    return finished(tape, inputs, outputs, results)


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def finished(
    tape: Tape,
    inputs: Sequence[tuple[str, int]],
    outputs: Sequence[tuple[str, Shape]],
    results: Sequence[int],
) -> Program:
    """The program of some nodes of a tape."""
    return Program(tuple(inputs), tuple(outputs), *needed(tape.nodes, results))


def needed(nodes: Sequence[Node], results: Sequence[int]) -> tuple[tuple[Node, ...], tuple[int, ...]]:
    """Nodes without those that the results do not need, in the same order; and the results among them."""
    used = [False] * len(nodes)
    for r in results:
        used[r] = True
    for i in range(len(nodes) - 1, -1, -1):
        if used[i] and nodes[i][0] in OPS:
            for a in nodes[i][1:]:
                used[a] = True
    new: dict[int, int] = {}
    found: list[Node] = []
    for i, node in enumerate(nodes):
        if used[i]:
            new[i] = len(found)
            found.append((node[0], *(new[a] for a in node[1:])) if node[0] in OPS else node)
    return tuple(found), tuple(new[r] for r in results)


def inline(program: Program, columns: Sequence[Sequence[Any]]) -> list[list[Any]]:
    """Run a program on scalars, one list per input; one flat list per output."""
    return program.values([x for column in columns for x in column], _applied)


def _applied(op: str, *arguments: Any) -> Any:
    recorder = next((x for x in arguments if isinstance(x, Recorder)), None)
    if recorder is None:
        return float(OPS[op].value(*arguments))
    tape = recorder.tape
    indices = [x.index if isinstance(x, Recorder) else tape.constant(x) for x in arguments]
    return Recorder(tape, tape.apply(op, *indices))


def replay(program: Program, tape: Tape) -> list[Recorder]:
    """Record a program's nodes again on a tape; its inputs are the tape's."""
    values: list[Recorder] = []
    for node in program.nodes:
        if node[0] == "const":
            index = tape.constant(node[1])
        elif node[0] == "input":
            index = tape.input(node[1])
        else:
            index = tape.apply(node[0], *(values[a].index for a in node[1:]))
        values.append(Recorder(tape, index))
    return values
