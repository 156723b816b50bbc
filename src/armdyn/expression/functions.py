"""The functions an algorithm may apply to a scalar, whatever the scalar is.

A scalar that is not a plain number (an exact polynomial, a dual number, later a recording scalar) brings
its own `cos`, `sin`, `sign`, … as methods; numbers and arrays take NumPy's. The integer 0, which stands for
what is zero in any scalar, stays exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from armdyn.expression.expression import Atom, Expression


def cos(x: Any) -> Any:
    if type(x) is int and x == 0:
        return 1
    return x.cos() if hasattr(x, "cos") else np.cos(x)


def sin(x: Any) -> Any:
    if type(x) is int and x == 0:
        return 0
    return x.sin() if hasattr(x, "sin") else np.sin(x)


def sqrt(x: Any) -> Any:
    return x.sqrt() if hasattr(x, "sqrt") else np.sqrt(x)


def sign(x: Any) -> Any:
    """sign(0) = 0."""
    if type(x) is int and x == 0:
        return 0
    return x.sign() if hasattr(x, "sign") else np.sign(x)


def smooth_sign(x: Any, width: Any) -> Any:
    """tanh(x/width), which is the sign from about three widths on; the sign itself where the width is 0.

    Of arrays, the widths may differ and some be 0.
    """
    if type(x) is int and x == 0:
        return 0
    if isinstance(width, np.ndarray):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(width > 0, np.tanh(x / width), np.sign(x))
    if isinstance(width, int | float) and width == 0:
        return sign(x)
    if hasattr(x, "smooth_sign"):
        return x.smooth_sign(width)
    ratio = x / width
    return ratio.tanh() if hasattr(ratio, "tanh") else np.tanh(ratio)


def bell(x: Any, width: Any) -> Any:
    """exp(−(x/width)²): 1 at zero, 1/e at the width."""
    if type(x) is int and x == 0:
        return 1
    if hasattr(x, "bell"):
        return x.bell(width)
    ratio = x / width
    exponent = -(ratio * ratio)
    return exponent.exp() if hasattr(exponent, "exp") else np.exp(exponent)


def load(torque: Any, joint: int) -> Any:
    """|τ| of the torque that a joint (counted from 0) transmits."""
    return torque.load(joint) if hasattr(torque, "load") else abs(torque)


def select(x: Any, a: Any, b: Any) -> Any:
    """a where x is positive, else b."""
    return x.select(a, b) if hasattr(x, "select") else np.where(x > 0, a, b)[()]


def half(x: Any) -> Any:
    """x/2; an even integer stays an integer, so that exact scalars never meet a float."""
    return x // 2 if isinstance(x, int) and x % 2 == 0 else x / 2


def larger(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    if hasattr(a, "maximum"):
        return a.maximum(b)
    return b.maximum(a) if hasattr(b, "maximum") else max(a, b)


def over_scalars(x: Expression, symbols: Mapping[str, Any]) -> Any:
    """The expression over any scalar that its symbols are given in; such as one that records."""
    total: Any = 0
    for monomial, coefficient in x.terms:
        term: Any = int(coefficient) if coefficient.denominator == 1 else float(coefficient)
        for atom, exponent in monomial:
            factor = _scalar(atom, symbols)
            for _ in range(abs(exponent)):
                term = term * factor if exponent > 0 else term / factor
        total = total + term
    return total


def _scalar(atom: Atom, symbols: Mapping[str, Any]) -> Any:
    if atom.kind == "symbol":
        return symbols[atom.name]
    if atom.argument is None:
        return math.pi
    argument = over_scalars(atom.argument, symbols)
    functions = {"sqrt": sqrt, "cos": cos, "sin": sin, "abs": abs}
    return functions[atom.kind](argument) if atom.kind in functions else 1 / argument
