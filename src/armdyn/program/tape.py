"""Recording: a hash-consed list of operations, and the scalar that writes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from armdyn.program.ops import OPS
from armdyn.program.rules import RULES

Node = tuple[Any, ...]  # ("const", value), ("input", k) or (operation, argument, …)


class Tape:
    """Nodes in the order they were first needed; the same operation on the same arguments is one node."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._index: dict[Node, int] = {}

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
        nodes = self.nodes
        if all(nodes[a][0] == "const" for a in args):
            with np.errstate(all="ignore"):
                return self.constant(float(OPS[op].value(*(nodes[a][1] for a in args))))
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

    def sign(self) -> Recorder:
        return self._apply("sign", self.index)

    def minimum(self, x: Any) -> Recorder:
        return self._apply("min", self.index, self._other(x))

    def maximum(self, x: Any) -> Recorder:
        return self._apply("max", self.index, self._other(x))

    def select(self, a: Any, b: Any) -> Recorder:
        """a where this is positive, else b."""
        return self._apply("select", self.index, self._other(a), self._other(b))
