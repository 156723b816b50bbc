"""What Python callers hand over: numbers, lists of numbers, words; each refused by the argument's name."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from armdyn.expression import Expression, ExpressionError, expression
from armdyn.model.errors import ModelError
from armdyn.model.vector import Vector, vector

LARGEST = 10**300  # of a number in an expression
_MOST = 10_000  # entries of an array that are looked at one by one


def plain(value: object) -> Any:
    """A NumPy array or a pandas column as a list, an array of no axes as its number; all else as it is."""
    if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, np.ndarray) and value.size <= _MOST:
        return value.tolist()
    return value


class _Short(reprlib.Repr):
    """Python's texts, of which only the beginning is made: a small list can stand in others many times."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxdict = self.maxset = self.maxfrozenset = 20
        self.maxstring = self.maxlong = 400

    def repr_instance(self, x: object, level: int) -> str:
        return repr(x)


_SHORT = _Short()


def shown(value: object) -> str:
    """A value as it is quoted in a message: short, and there whatever its own text does."""
    if isinstance(value, int) and value.bit_length() > 1000:  # Python prints no integer of too many digits
        return f"an integer of {int(value.bit_length() * math.log10(2)) + 1} digits or so"
    try:
        text = " ".join(_SHORT.repr(value).split())
    except Exception:  # a list too deep or with such an integer in it, a class of one's own
        return f"a value of type {type(value).__name__} that cannot be shown"
    return text if len(text) <= 60 else text[:57] + "..."


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
    """A list, a tuple or an array of numbers; as many as `count` says."""
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
    """The parser's words for a text; for anything else what was found, in a form that can be shown."""
    if isinstance(value, str):
        return str(error)
    return f"expected a finite number or an expression, found {shown(value)}"
