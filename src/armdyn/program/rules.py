"""Algebraic rules: what recording an operation may be replaced by.

A rule looks at the arguments and returns the node to use instead, or None. They are exact in real arithmetic
and never add operations; a product with a constant zero is zero, whatever the other factor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from armdyn.program.tape import Tape

Rule = Callable[["Tape", int, int], int | None]
UnaryRule = Callable[["Tape", int], int | None]


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
