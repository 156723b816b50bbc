"""Logs in text files: columns under a line of names, separated by commas, semicolons, tabs or blanks."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from armdyn.identification.checks import check
from armdyn.identification.errors import IdentificationError
from armdyn.identification.logs.files.columns import Column
from armdyn.output import one_line

_MISSING = {"", "nan", "na", "n/a", "null", "none", "-"}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_LOOKED_AT = 100  # rows before the last one whose lengths tell whether it was cut


@dataclass(frozen=True)
class _Head:
    names: tuple[str, ...]
    delimiter: str | None  # None: blanks
    lines: int  # of the file before the first row of numbers


@dataclass(frozen=True)
class CsvSource:
    """A text file. Lines that begin with # are comments; names may stand in the last one of them."""

    path: Path
    delimiter: str | None = None
    decimal: str = "."
    constants: dict[str, Any] = field(default_factory=dict)
    _head: _Head = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check.one_of("decimal", self.decimal, ".", ",")
        if self.delimiter is not None:
            check.one_of("delimiter", self.delimiter, ",", ";", "\t", " ")
        with self._opened() as file:
            object.__setattr__(self, "_head", self._read_head(file))

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(Column(name) for name in self._head.names)

    def count(self, columns: Sequence[Column]) -> int:
        """By reading the file once, in little memory."""
        with self._opened() as file:
            return sum(1 for _ in self._rows(file, []))

    def claimed(self, columns: Sequence[Column]) -> int:
        return 0

    def quick(self, rows: int) -> bool:
        return False

    def pieces(
        self, columns: Sequence[Column], size: int, notes: list[str], start: int = 0
    ) -> Iterator[list[np.ndarray]]:
        place = {name: k for k, name in enumerate(self._head.names)}
        picked = [place[column.name] for column in columns]
        with self._opened() as file:
            rows = islice(self._rows(file, notes), start, None)
            while piece := list(islice(rows, size)):
                table = self._numbers(piece, picked)
                yield [table[:, k] for k in range(len(picked))]

    # ---- inside ----------------------------------------------------------------------------------------

    def _rows(self, file: TextIO, notes: list[str]) -> Iterator[tuple[int, str]]:
        """Rows of numbers with the numbers of their lines."""
        numbered = islice(enumerate(file, 1), self._head.lines, None)
        return self._whole_rows(((i, line) for i, line in numbered if _counts(line)), notes)

    @contextmanager
    def _opened(self) -> Iterator[TextIO]:
        try:
            with self.path.open(encoding="utf-8-sig", newline=None) as file:
                yield file
        except IdentificationError:
            raise
        except UnicodeDecodeError:
            raise IdentificationError(f"{self.path}: this is not a text file in UTF-8") from None
        except (OSError, ValueError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            raise IdentificationError(f"{self.path}: cannot be read: {reason}") from None

    def _read_head(self, file: TextIO) -> _Head:
        comment = ""
        for number, line in enumerate(file, 1):
            if not _counts(line):
                comment = line.strip().lstrip("#") if line.strip() else comment
                continue
            sign = self.delimiter or _delimiter(line)
            delimiter = None if sign == " " else sign
            names = [name.strip() for name in self._cells(line, number, delimiter)]
            counting = [str(k) for k in range(len(names))]
            if names != counting and any(_number(self._decimal_point(name)) is not None for name in names):
                above = [name.strip() for name in comment.split(delimiter)]
                names = above if len(above) == len(names) else counting
                number -= 1
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise IdentificationError(f"{self.path}: column '{one_line(twice[0])[:60]}' appears twice")
            return _Head(tuple(names), delimiter, number)
        raise IdentificationError(f"{self.path}: the file is empty; a line of column names is expected")

    def _cells(self, line: str, number: int, delimiter: str | None) -> list[str]:
        if delimiter is None:
            return line.split()
        try:
            return next(csv.reader([line], delimiter=delimiter, strict=True, skipinitialspace=True))
        except (csv.Error, StopIteration) as problem:
            raise IdentificationError(f"{self.path}: line {number}: {problem}") from None

    def _decimal_point(self, cell: str) -> str:
        return cell.replace(",", ".") if self.decimal == "," else cell

    def _numbers(self, rows: list[tuple[int, str]], picked: list[int]) -> np.ndarray:
        """(rows, picked): quickly where all is regular, else row by row."""
        delimiter, width = self._head.delimiter, len(self._head.names)
        lines = [self._decimal_point(line) if delimiter != "," else line for _, line in rows]
        if delimiter is None:
            regular = all(len(line.split()) == width for line in lines)
        else:
            regular = all(line.count(delimiter) == width - 1 and '"' not in line for line in lines)
        if regular:
            try:
                return np.loadtxt(lines, delimiter=delimiter, usecols=picked, comments=None, ndmin=2)
            except ValueError:
                pass  # a cell that is empty or no number: found below
        return np.array([self._row(number, line, picked) for number, line in rows])

    def _row(self, number: int, line: str, picked: list[int]) -> list[float]:
        cells, names = self._cells(line, number, self._head.delimiter), self._head.names
        if len(cells) != len(names):
            raise IdentificationError(
                f"{self.path}: line {number}: {len(names)} columns are expected, found {len(cells)}"
            )
        found = []
        for k in picked:
            value = _number(self._decimal_point(cells[k]))
            if value is None and cells[k].strip().lower() in _MISSING:
                value = float("nan")
            if value is None:
                cell = one_line(cells[k])[:60]
                hint = "; for decimal commas give decimal=','" if _DECIMAL_COMMA.fullmatch(cell) else ""
                where = f"{self.path}: line {number}: column {one_line(names[k])[:60]}"
                raise IdentificationError(f"{where}: found '{cell}'; a number is expected{hint}")
            found.append(value)
        return found

    def _whole_rows(self, rows: Iterator[tuple[int, str]], notes: list[str]) -> Iterator[tuple[int, str]]:
        """The rows, without the last of the file where its end is missing."""
        held, recent = None, deque[str](maxlen=_LOOKED_AT + 1)
        for row in rows:
            if held is not None:
                yield held
            held = row
            recent.append(row[1])
        if held is None:
            return
        if len(recent) > 1 and self._is_cut(held, list(recent)):
            notes.append(f"line {held[0]}, the last of the file, is cut off and was left out")
        else:
            yield held

    def _is_cut(self, last: tuple[int, str], recent: list[str]) -> bool:
        """Whether the last row lacks cells, or its last number may lack digits.

        Without an end of the line it is trusted only if the numbers above it have no more digits.
        """
        number, line = last
        try:
            cells = self._cells(line, number, self._head.delimiter)
        except IdentificationError:
            return not line.endswith("\n")
        if len(cells) < len(self._head.names):
            return True
        if line.endswith("\n"):
            return False
        *others, own = (len(re.split(r"[,;\s]", text.strip())[-1]) for text in recent)
        return _number(self._decimal_point(cells[-1])) is None or own < max(others)


def _counts(line: str) -> bool:
    text = line.lstrip()
    return bool(text) and not text.startswith("#")


def _delimiter(line: str) -> str:
    return next((sign for sign in "\t;," if sign in line), " ")


def _number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None
