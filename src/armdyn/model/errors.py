"""Errors and warnings about the parts of a robot, and checks of exact numbers, lists of them, and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armdyn.expression import ArmdynError, Expression, ExpressionError, expression, shown
from armdyn.model.vector import IDENTITY, Matrix, Vector, cross, dot, multiply, transpose, vector


class ModelError(ArmdynError):
    """The parts do not fit together, or one of them is impossible."""


class PhysicsWarning(UserWarning):
    """The numbers are valid but look wrong: a body that cannot exist, wrong units, missing inertia."""


LARGEST = 10**300  # of a number in an expression
_MOST = 10_000  # entries of an array that is made a list
_NOT_ROTATION = 1e-9  # of R Rᵀ; matrices in printed digits are further off


def plain(value: object) -> Any:
    """A NumPy array or a pandas column as a list, a 0-d array as its number; anything else unchanged."""
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.size <= _MOST:
        return value.tolist()
    return value


def is_nested(value: object) -> bool:
    """True for a list of lists, or an array of two dimensions."""
    entries = plain(value)
    return isinstance(entries, (list, tuple)) and any(
        isinstance(x, (list, tuple, np.ndarray)) for x in entries
    )


def number(name: str, value: object) -> Expression:
    """A number or an expression in text."""
    try:
        found = expression(plain(value))
    except ExpressionError as error:
        raise ModelError(f"{name}: {_reason(value, error)}") from None
    if any(abs(coefficient) > LARGEST for _, coefficient in found.terms):
        raise ModelError(f"{name}: a number in it is larger than 1e300")
    return found


def numbers(name: str, value: object, count: int | None = None) -> list[Expression]:
    """A list, a tuple or an array of `count` numbers."""
    entries = plain(value)
    wanted = "a list of numbers" if count is None else f"{count} numbers"
    if isinstance(value, np.ndarray) and value.ndim > 1:
        raise ModelError(f"{name}: expected {wanted}, found an array of shape {value.shape}")
    if not isinstance(entries, (list, tuple)):
        raise ModelError(f"{name}: expected {wanted}, found {shown(value)}")
    if count is not None and len(entries) != count:
        raise ModelError(f"{name}: expected {wanted}, found {len(entries)}")
    return [number(f"{name}[{i}]", x) for i, x in enumerate(entries)]


def three(name: str, value: object) -> Vector:
    return vector(numbers(name, value, 3))


def rotation_problem(R: Matrix, values: Mapping[str, Expression], most: float = _NOT_ROTATION) -> str | None:
    """Words for a matrix that is not a rotation; None if it is one or has free symbols.

    `most`: how far R Rᵀ may be from the identity.
    """
    if any(not Expression.of(x).symbols() <= values.keys() for row in R for x in row):
        return None
    M = vector(vector(Expression.of(x).value(values) for x in row) for row in R)
    product = multiply(M, transpose(M))
    error = max(abs(product[i][j] - IDENTITY[i][j]) for i in range(3) for j in range(3))
    if error > most:
        what = f"R Rᵀ differs from the identity by {error:.2g}"
    elif dot(cross(M[0], M[1]), M[2]) < 0:
        what = "its determinant is -1"
    else:
        return None
    return (
        f"not a rotation: {what}; the rows of a rotation have length one and are perpendicular to each "
        "other, and the third is the cross product of the others"
    )


def at_least_zero(name: str, value: object) -> Expression:
    """A number that may be a symbol but is not negative."""
    found = number(name, value)
    if found.number is not None and found.number < 0:
        raise ModelError(f"{name}: expected zero or a positive number, found {found}")
    return found


def word(name: str, value: object, allowed: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ModelError(f"{name}: found {shown(value)}; allowed: {', '.join(map(repr, allowed))}")
    return value


def table(name: str, value: object, allowed: Sequence[str]) -> dict[str, Any]:
    """A mapping with no other keys than those allowed; None is an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ModelError(f"{name}: expected a table with entries {', '.join(allowed)}, found {shown(value)}")
    for key in value:
        if key not in allowed:
            found = key if isinstance(key, str) else shown(key)
            raise ModelError(f"{name}: unknown entry '{found}'; allowed: {', '.join(allowed)}")
    return dict(value)


def _reason(value: object, error: ExpressionError) -> str:
    """The parser's message for a text; for anything else, what was expected and found."""
    if isinstance(value, str):
        return str(error)
    return f"expected a finite number or an expression, found {shown(value)}"
