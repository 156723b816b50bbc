"""A table of a robot file, read key by key, with errors that name file, key, finding and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn

from armdyn.description.direction import unit_vector
from armdyn.expression import ZERO, ArmdynError, Expression, ExpressionError, expression
from armdyn.model.vector import Vector, vector

_REQUIRED = object()
Symbols = dict[str, Expression | None]  # declared names and their values, None while free


class DescriptionError(ArmdynError):
    """A robot description is wrong; the message names file, key, finding and what is allowed."""


class BadNumber(str):
    """A literal that is a float to TOML but no finite number: nan, inf, 1e999."""


class Reader:
    """One table: hands out its entries as exact numbers, and complains about what was not asked for."""

    def __init__(self, table: object, source: str, path: str, symbols: Symbols) -> None:
        self.source, self.path, self.symbols = source, path, symbols
        if not isinstance(table, Mapping):
            self.fail("", f"expected a table, found {_show(table)}")
        self.table: Mapping[str, Any] = table
        self.asked: set[str] = set()

    @cached_property
    def values(self) -> dict[str, Expression]:
        return {name: value for name, value in self.symbols.items() if value is not None}

    def fail(self, key: str, message: str) -> NoReturn:
        where = ".".join(part for part in (self.path, key) if part)
        raise DescriptionError(f"{self.source}: {where}: {message}" if where else f"{self.source}: {message}")

    def __contains__(self, key: str) -> bool:
        return key in self.table

    def raw(self, key: str, default: object = _REQUIRED, example: str = "") -> Any:
        self.asked.add(key)
        if key in self.table:
            return self.table[key]
        if default is _REQUIRED:
            self.fail(key, f"missing{'; ' + example if example else ''}")
        return default

    def text(self, key: str, default: object = _REQUIRED) -> str:
        value = self.raw(key, default)
        if not isinstance(value, str) or not value.strip():
            self.fail(key, f"expected a text, found {_show(value)}")
        return value

    def choice(self, key: str, options: Iterable[str], default: object = _REQUIRED) -> Any:
        allowed = ", ".join(f'"{o}"' for o in options)
        value = self.raw(key, default, f"one of {allowed}")
        if not isinstance(value, str) or value not in options:
            self.fail(key, f"found {_show(value)}; allowed: {allowed}")
        return value

    def number(self, key: str, default: object = _REQUIRED) -> Expression:
        return self.expression(key, self.raw(key, default, "a number or an expression in the symbols"))

    def expression(self, key: str, value: object) -> Expression:
        if isinstance(value, BadNumber):
            self.fail(key, f"expected a number between 1e-300 and 1e300, found {value}")
        try:
            found = expression(value, self.symbols)
        except ExpressionError as error:
            self.fail(key, str(error))
        if any(abs(coefficient) > 10**300 for _, coefficient in found.terms):
            self.fail(key, "a number in it is larger than 1e300")
        if found.symbols() <= self.values.keys():
            try:
                found.value(self.values)
            except ExpressionError as error:
                self.fail(key, str(error))
        return found

    def numbers(self, key: str, count: int, default: object = _REQUIRED) -> list[Expression]:
        value = self.raw(key, default, f"a list of {count} numbers")
        if not isinstance(value, (list, tuple)) or len(value) != count:
            self.fail(key, f"expected a list of {count} numbers, found {_show(value)}")
        return [self.expression(f"{key}[{i}]", x) for i, x in enumerate(value)]

    def vector(self, key: str, default: object = _REQUIRED) -> Vector:
        return vector(self.numbers(key, 3, default))

    def direction(self, key: str) -> Vector:
        """Three numbers, made a unit vector."""
        entries = self.numbers(key, 3)
        if any(x.number and not Fraction(1, 10**100) < abs(x.number) < 10**100 for x in entries):
            self.fail(key, "a direction is three numbers between 1e-100 and 1e100, or zero")
        squares = sum((x * x for x in entries), ZERO)
        norm = squares.number
        if norm is None:
            self.fail(key, f"a direction is three numbers, found {', '.join(map(str, entries))}")
        if norm == 0:
            self.fail(key, "found [0, 0, 0]; a direction is not zero")
        return unit_vector(entries)

    def sub(self, key: str) -> Reader:
        """A sub-table; an absent one reads as empty."""
        return Reader(
            self.raw(key, {}), self.source, ".".join(p for p in (self.path, key) if p), self.symbols
        )

    def finish(self) -> None:
        """Complain about keys nobody asked for."""
        unknown = [key for key in self.table if key not in self.asked]
        if unknown:
            self.fail(str(unknown[0]), f"unknown key; allowed here: {', '.join(sorted(self.asked))}")


def _show(value: object) -> str:
    if isinstance(value, Fraction):
        return str(float(value))
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
