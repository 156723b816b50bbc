"""The operations a program is made of: one row each, with value, derivative and spelling.

A new operation is one row here; `llvm` is either an instruction of LLVM or the name of a routine that
`kernels/llvm` provides, `c` a C expression ({f} is the suffix of libm's float functions).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Partial = Callable[
    ..., Any
]  # of the arguments and the result: ∂result/∂argument, as recording scalars or numbers


@dataclass(frozen=True)
class Op:
    """An operation: its value, its derivatives, and its spelling in backends."""

    value: Callable[..., Any]
    partials: tuple[Partial, ...]
    llvm: str
    c: str
    commutative: bool = False

    @property
    def arity(self) -> int:
        return len(self.partials)


def _nothing(*_: Any) -> int:
    return 0


def _select(condition: Any, a: Any, b: Any) -> Any:
    return np.where(np.asarray(condition) > 0, a, b)


OPS: dict[str, Op] = {
    "add": Op(np.add, (lambda a, b, r: 1, lambda a, b, r: 1), "fadd", "{0} + {1}", commutative=True),
    "sub": Op(np.subtract, (lambda a, b, r: 1, lambda a, b, r: -1), "fsub", "{0} - {1}"),
    "mul": Op(np.multiply, (lambda a, b, r: b, lambda a, b, r: a), "fmul", "{0} * {1}", commutative=True),
    "div": Op(np.divide, (lambda a, b, r: 1 / b, lambda a, b, r: -r / b), "fdiv", "{0} / {1}"),
    "neg": Op(np.negative, (lambda a, r: -1,), "fneg", "-{0}"),
    "sin": Op(np.sin, (lambda a, r: a.cos(),), "sin", "sin{f}({0})"),
    "cos": Op(np.cos, (lambda a, r: -a.sin(),), "cos", "cos{f}({0})"),
    "sqrt": Op(np.sqrt, (lambda a, r: 1 / (2 * r),), "sqrt", "sqrt{f}({0})"),
    "exp": Op(np.exp, (lambda a, r: r,), "exp", "exp{f}({0})"),
    "tanh": Op(np.tanh, (lambda a, r: 1 - r * r,), "tanh", "tanh{f}({0})"),
    "abs": Op(np.abs, (lambda a, r: a.sign(),), "abs", "fabs{f}({0})"),
    "sign": Op(np.sign, (_nothing,), "sign", "({0} > 0 ? 1 : {0} < 0 ? -1 : {0})"),
    "min": Op(
        np.minimum,
        (lambda a, b, r: (b - a).select(1, 0), lambda a, b, r: (b - a).select(0, 1)),
        "min",
        "({0} < {1} || {0} != {0} ? {0} : {1})",
    ),
    "max": Op(
        np.maximum,
        (lambda a, b, r: (a - b).select(1, 0), lambda a, b, r: (a - b).select(0, 1)),
        "max",
        "({0} > {1} || {0} != {0} ? {0} : {1})",
    ),
    "select": Op(  # the second argument where the first is positive, else the third
        _select,
        (_nothing, lambda c, a, b, r: c.select(1, 0), lambda c, a, b, r: c.select(0, 1)),
        "select",
        "({0} > 0 ? {1} : {2})",
    ),
}
