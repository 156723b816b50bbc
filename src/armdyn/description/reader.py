"""Tables of robot files: parsed within bounds, and read key by key with errors that name file and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cached_property
from numbers import Number
from typing import Any, NoReturn

from armdyn.description.frames import unit_vector
from armdyn.description.source import BadNumber, DescriptionError
from armdyn.expression import ZERO, Expression, ExpressionError, parse, shown
from armdyn.model.errors import LARGEST, plain, rotation_problem
from armdyn.model.vector import Matrix, Vector, vector
from armdyn.names import one_line

LONGEST = 20_000  # characters of an expression; bodies turned and shifted by symbols fill some thousands
_REQUIRED = object()
Symbols = dict[str, Expression | None]  # declared names and their values, None while free


class Reader:
    """One table: hands out its entries as exact numbers, and complains about what was not asked for."""

    def __init__(self, table: object, source: str, path: str, symbols: Symbols) -> None:
        self.source, self.path, self.symbols = source, path, symbols
        if not isinstance(table, Mapping):
            self.fail("", f"expected a table, found {shown(table)}")
        self.table: Mapping[Any, Any] = table
        self.asked: set[str] = set()

    @cached_property
    def values(self) -> dict[str, Expression]:
        return {name: value for name, value in self.symbols.items() if value is not None}

    def fail(self, key: str, message: str) -> NoReturn:
        where = ".".join(one_line(part)[:100] for part in (self.path, key) if part)
        text = one_line(f"{where}: {message}" if where else message)
        raise DescriptionError(f"{self.source}: {text}")

    def __contains__(self, key: str) -> bool:
        """Whether a key is given; it is one of those allowed then."""
        self.asked.add(key)
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
        if not isinstance(value, str) or isinstance(value, BadNumber) or not value.strip():
            self.fail(key, f"expected a text, found {shown(value)}")
        return value

    def choice(self, key: str, options: Iterable[str], default: object = _REQUIRED) -> Any:
        allowed = ", ".join(f'"{o}"' for o in options)
        value = self.raw(key, default, f"one of {allowed}")
        if not isinstance(value, str) or value not in options:
            self.fail(key, f"found {shown(value)}; allowed: {allowed}")
        return value

    def number(self, key: str, default: object = _REQUIRED) -> Expression:
        return self.expression(key, self.raw(key, default, "a number or an expression in the symbols"))

    def expression(self, key: str, value: object) -> Expression:
        if type(value) is int and 0 <= value <= 1:  # most entries
            return Expression.of(value)
        if isinstance(value, BadNumber):
            self.fail(key, f"expected a number between 1e-300 and 1e300, found {value[:40]}")
        value = plain(value)
        if not isinstance(value, (str, Number, Expression)):
            self.fail(key, f"expected a number or an expression, found {shown(value)}")
        try:
            text = value if isinstance(value, str) else None
            found = Expression.of(value) if text is None else parse(text, self.symbols, LONGEST)
        except ExpressionError as error:
            self.fail(key, str(error))
        symbols = found.symbols()
        if unknown := sorted(symbols - self.symbols.keys()):
            self.fail(key, f"unknown symbol '{unknown[0]}'; declared: {', '.join(self.symbols) or 'none'}")
        if any(abs(coefficient) > LARGEST for _, coefficient in found.terms):
            self.fail(key, "a number in it is larger than 1e300")
        if symbols <= self.values.keys():
            try:
                found.value(self.values)
            except ExpressionError as error:
                self.fail(key, str(error))
        return found

    def numbers(self, key: str, count: int, default: object = _REQUIRED) -> list[Expression]:
        return self._entries(key, plain(self.raw(key, default, f"a list of {count} numbers")), count)

    def _entries(self, key: str, value: object, count: int) -> list[Expression]:
        if not isinstance(value, (list, tuple)) or len(value) != count:
            self.fail(key, f"expected a list of {count} numbers, found {shown(value)}")
        return [self.expression(f"{key}[{i}]", x) for i, x in enumerate(value)]

    def vector(self, key: str, default: object = _REQUIRED) -> Vector:
        return vector(self.numbers(key, 3, default))

    def matrix(self, key: str) -> Matrix:
        """Three rows of three numbers."""
        value = plain(self.raw(key, example="three rows of three numbers"))
        if not isinstance(value, (list, tuple)) or len(value) != 3:
            self.fail(key, f"expected three rows of three numbers, found {shown(value)}")
        return vector(vector(self._entries(f"{key}[{i}]", row, 3)) for i, row in enumerate(value))

    def rotation(self, key: str) -> Matrix:
        """Three rows of three numbers; where they have values, those of a rotation."""
        R = self.matrix(key)
        if problem := rotation_problem(R, self.values):
            self.fail(key, problem)
        return R

    def flag(self, key: str, default: bool) -> bool:
        value = self.raw(key, default)
        if not isinstance(value, bool):
            self.fail(key, f"expected true or false, found {shown(value)}")
        return value

    def direction(self, key: str) -> Vector:
        """Three numbers, made a unit vector."""
        entries = self.numbers(key, 3)
        if any(x.number and not Fraction(1, 10**100) < abs(x.number) < 10**100 for x in entries):
            self.fail(key, "a direction is three numbers between 1e-100 and 1e100, or zero")
        squares = sum((x * x for x in entries), ZERO)
        norm = squares.number
        if norm is None:
            self.fail(key, f"a direction has three numbers, found {', '.join(map(str, entries))}")
        if norm == 0:
            self.fail(key, "found [0, 0, 0]; a direction must not be zero")
        return unit_vector(entries)

    def sub(self, key: str) -> Reader:
        """A sub-table; an absent one reads as empty."""
        return Reader(
            self.raw(key, {}), self.source, ".".join(p for p in (self.path, key) if p), self.symbols
        )

    def finish(self) -> None:
        """Complain about keys nobody asked for."""
        for key in self.table:
            if key not in self.asked:
                name = key if isinstance(key, str) else shown(key)
                self.fail(name, f"unknown key; allowed here: {', '.join(sorted(self.asked))}")

    def names(self) -> list[str]:
        """All keys, where any text may be one."""
        for key in self.table:
            if not isinstance(key, str):
                self.fail("", f"expected a table whose keys are texts, found {shown(key)}")
            self.asked.add(key)
        return list(self.table)
