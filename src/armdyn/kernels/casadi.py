"""CasADi: a program as a `casadi.Function` of scalar expressions (SX), which CasADi differentiates."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from armdyn.kernels.kernel import Kernel
from armdyn.program.program import Shape

try:
    import casadi
except ModuleNotFoundError as problem:
    raise ModuleNotFoundError('robot.casadi needs CasADi: pip install "armdyn[casadi]"') from problem

OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "neg": lambda a: -a,
    "sin": casadi.sin,
    "cos": casadi.cos,
    "sqrt": casadi.sqrt,
    "exp": casadi.exp,
    "tanh": casadi.tanh,
    "abs": casadi.fabs,
    "sign": casadi.sign,
    "min": lambda a, b: casadi.if_else(a < b, a, b),  # of two that are equal, the second
    "max": lambda a, b: casadi.if_else(a > b, a, b),
    "select": lambda condition, a, b: casadi.if_else(condition > 0, a, b),
}


def casadi_function(kernel: Kernel, names: Sequence[str]) -> Any:
    """The function of a kernel's program: columns in; matrices of the outputs' shapes out, by these names."""
    program, name = kernel.program, kernel.specification.name
    inputs = [casadi.SX.sym(_word(key), size) for key, size in program.inputs]
    values = program.values(
        [column for x in inputs for column in casadi.vertsplit(x)],
        lambda op, *arguments: OPERATIONS[op](*arguments),
        casadi.SX,
    )
    outputs = [_matrix(x, shape) for x, (_, shape) in zip(values, program.outputs, strict=True)]
    taken = [_word(key) for key, _ in program.inputs]
    return casadi.Function(name, inputs, outputs, taken, [_word(key) for key in names])


def _word(name: str) -> str:
    """A name as CasADi allows it: letters, digits, and single underscores between them."""
    return re.sub("[^A-Za-z0-9]+", "_", name).strip("_")


def _matrix(values: Sequence[Any], shape: Shape) -> Any:
    """Scalars, row by row, as a matrix; of a vector, as a column; several matrices one below the other.

    CasADi counts along columns.
    """
    column = casadi.vertcat(*values)
    *rows, columns = shape if len(shape) > 1 else (*shape, 1)
    return casadi.reshape(column, columns, prod(rows)).T
